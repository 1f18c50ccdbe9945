/*
 * Status codes and the last failure of a thread.
 *
 * It is set once, by the function that first knows the cause; those above it pass the
 * status on, or put before the subject what only they know (eng_fail_in).  Programs read
 * its parts (eng_last_error_info), people the text made of them; no code reads the text.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base.h"

static _Thread_local eng_failure last;
static _Thread_local unsigned words;
static _Thread_local char rendered[sizeof last.subject + sizeof last.cause + sizeof last.advice + 8];

const char *eng_version(void)
{
    return PACKAGE_VERSION;
}

const char *eng_status_name(int status)
{
    switch (status) {
    case ENG_OK: return "success";
    case ENG_ERR_INVALID: return "invalid argument";
    case ENG_ERR_NOMEM: return "out of memory";
    case ENG_ERR_UNSUPPORTED: return "not supported";
    case ENG_ERR_NOTFOUND: return "not found";
    case ENG_ERR_IO: return "input/output error";
    case ENG_ERR_FORMAT: return "malformed file";
    case ENG_ERR_ABI: return "plugin of another ABI";
    case ENG_ERR_DEVICE: return "device failure";
    case ENG_ERR_LOST: return "device lost";
    case ENG_ERR_TIMEOUT: return "timed out";
    case ENG_ERR_BUSY: return "still in use";
    case ENG_ERR_STATE: return "not possible in this state";
    case ENG_ERR_INTERNAL: return "internal error";
    case ENG_ERR_CANCELLED: return "cancelled";
    default: return status > 0 ? "success" : "unknown status";
    }
}

/* What comes from files and plugins must not steer the reader's terminal. */
static void copy_visible(char *to, size_t bytes, const char *from, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < length && at + 5 <= bytes; i++) {
        unsigned char c = (unsigned char)from[i];
        if (c >= 0x20 && c != 0x7f) {
            to[at++] = (char)c;
        } else if (c == '\n') {
            to[at++] = ' '; /* one line */
        } else if (c == *ENG_CAUSE || c == *ENG_ADVICE) { /* of a failure that is quoted in another's text */
            to[at++] = c == *ENG_CAUSE ? ':' : ';';
            to[at++] = ' ';
        } else {
            memcpy(to + at, (char[4]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
            at += 4;
        }
    }
    to[eu_utf8_cut(to, at)] = 0;
}

/* subject, cause and advice of a text with the marks ENG_CAUSE and ENG_ADVICE */
static void take_apart(eng_failure *failure, const char *text)
{
    const char *cause = strstr(text, ENG_CAUSE), *advice;
    copy_visible(failure->subject, sizeof failure->subject, text, cause ? (size_t)(cause - text) : 0);
    cause = cause ? cause + strlen(ENG_CAUSE) : text;
    advice = strstr(cause, ENG_ADVICE);
    copy_visible(failure->cause, sizeof failure->cause, cause, advice ? (size_t)(advice - cause) : strlen(cause));
    advice = advice ? advice + strlen(ENG_ADVICE) : "";
    copy_visible(failure->advice, sizeof failure->advice, advice, strlen(advice));
}

static void render(void)
{
    words++;
    snprintf(rendered, sizeof rendered, "%s%s%s%s%s", last.subject, *last.subject && *last.cause ? ": " : "",
             last.cause, *last.advice ? "; " : "", last.advice);
}

const char *eng_last_error(void)
{
    return rendered;
}

const eng_failure *eng_failure_last(void)
{
    return &last;
}

int eng_vfail(int status, uint32_t code, int32_t index, const char *format, va_list args)
{
    /* by way of a second buffer: an argument may be a part of the last failure itself.  A path alone may have 4095 bytes,
     * and what is said behind it must not be cut off with it. */
    char text[2 * 4096 + sizeof last.subject + sizeof last.cause + sizeof last.advice];
    int n = vsnprintf(text, sizeof text, format, args);
    if (n < 0)
        eu_copy(text, sizeof text, eng_status_name(status));
    last.status = status;
    last.code = code;
    last.index = index;
    take_apart(&last, text);
    render();
    return status;
}

int eng_fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail(status, ENG_CODE_NONE, -1, format, args);
    va_end(args);
    return status;
}

int eng_fail_code(int status, uint32_t code, int32_t index, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail(status, code, index, format, args);
    va_end(args);
    return status;
}

int eng_vfail_in(int status, const char *format, va_list args)
{
    char outer[2 * sizeof last.subject + 2];
    int n = vsnprintf(outer, sizeof last.subject, format, args);
    size_t length = n < 0 ? 0 : eu_utf8_cut(outer, strlen(outer));
    outer[length] = 0;
    if (*last.subject)
        snprintf(outer + length, sizeof outer - length, ": %s", last.subject);
    copy_visible(last.subject, sizeof last.subject, outer, strlen(outer));
    last.status = status;
    render();
    return status;
}

int eng_fail_in(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail_in(status, format, args);
    va_end(args);
    return status;
}

void eng_failure_clear(void)
{
    memset(&last, 0, sizeof last);
    *rendered = 0;
}

void eng_failure_save(eng_failure *failure)
{
    *failure = last;
}

int eng_failure_restore(const eng_failure *failure)
{
    last = *failure;
    render();
    return last.status;
}

unsigned eng_failure_words(void)
{
    return words;
}

int eng_answer(int status, unsigned before, const char *who, const char *call)
{
    if (status > 0)
        return eng_fail(ENG_ERR_INTERNAL,
                        "%s" ENG_CAUSE "its plugin's %s gave the status %d, expected 0 or a negative one" ENG_ADVICE
                        "report this to the plugin's author",
                        who, call, status);
    if (status < 0 && words == before)
        return eng_fail(status, "%s" ENG_CAUSE "its plugin's %s failed without a word: %s", who, call,
                        eng_status_name(status));
    return status;
}

int eng_fail_memory(void)
{
    return eng_fail_code(ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1, "out of memory");
}
