/*
 * Status codes and the text of the last failure.
 *
 * The text is kept per thread.  It is set once, by the function that first
 * knows the cause; those above it only pass the code on (or wrap the text with
 * what they know: eng_fail may be given eng_last_error() as an argument).
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base.h"

#define TEXT_BYTES 2048

static _Thread_local char last_error[TEXT_BYTES];

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
    default: return status > 0 ? "success" : "unknown status";
    }
}

const char *eng_last_error(void)
{
    return last_error;
}

int eng_vfail(int status, const char *format, va_list args)
{
    /* by way of a second buffer: an argument may be last_error itself */
    char text[TEXT_BYTES];
    int n = vsnprintf(text, sizeof text, format, args);
    if (n < 0)
        eu_copy(text, sizeof text, eng_status_name(status));
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' '; /* one line */
    memcpy(last_error, text, strlen(text) + 1);
    return status;
}

int eng_fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail(status, format, args);
    va_end(args);
    return status;
}

int eng_fail_memory(void)
{
    return eng_fail(ENG_ERR_NOMEM, "out of memory");
}
