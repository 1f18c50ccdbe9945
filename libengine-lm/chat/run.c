/* Failures of a run, its limits, its memory. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "marks.h"

static bool tell(tpl_run *r, int status, const char *format, va_list args)
{
    eu_text text = {0};
    r->status = status;
    eu_text_vformat(&text, format, args);
    if (text.failed)
        r->status = eng_fail_code(EU_NO_MEMORY("a template's error"));
    else
        eng_fail(status, "the template, line %u" ENG_CAUSE "%s", r->line, eu_text_get(&text));
    eu_text_free(&text);
    return false;
}

bool tpl_fail(tpl_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(r, ENG_ERR_INVALID, format, args);
    va_end(args);
    return false;
}

bool tpl_fail_as(tpl_run *r, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(r, status, format, args);
    va_end(args);
    return false;
}

bool tpl_step(tpl_run *r, size_t n)
{
    if (n >= ENG_LM_TEMPLATE_STEPS - r->steps)
        return tpl_fail_as(r, ENG_ERR_STATE, "it takes more than %u steps", ENG_LM_TEMPLATE_STEPS);
    r->steps += n;
    return true;
}

/* C's stack is what it saves. */
#define MOST_DEPTH 1000

bool tpl_deeper(tpl_run *r)
{
    if (r->depth >= MOST_DEPTH)
        return tpl_fail_as(r, ENG_ERR_STATE, "values or calls are nested more than %d deep", MOST_DEPTH);
    r->depth++;
    return true;
}

static bool count_bytes(tpl_run *r, size_t n, size_t entry)
{
    if (n > (ENG_LM_TEMPLATE_MEMORY - r->bytes) / entry)
        return tpl_fail_as(r, ENG_ERR_STATE, "its values take more than %u bytes", ENG_LM_TEMPLATE_MEMORY);
    r->bytes += n * entry + 16;
    if (r->bytes > ENG_LM_TEMPLATE_MEMORY)
        r->bytes = ENG_LM_TEMPLATE_MEMORY;
    return true;
}

void *tpl_alloc(tpl_run *r, size_t n, size_t entry)
{
    if (!count_bytes(r, n, entry))
        return NULL;
    void *memory = eu_arena_array(&r->memory, n, entry);
    if (!memory)
        r->status = eng_fail_code(EU_NO_MEMORY("the values of a template"));
    return memory;
}

char *tpl_alloc_text(tpl_run *r, size_t n)
{
    if (!r->marks)
        return tpl_alloc(r, n, 1);
    if (!count_bytes(r, n, 1))
        return NULL;
    char *text = tpl_marks_room(r, n);
    if (!text)
        r->status = eng_fail_code(EU_NO_MEMORY("the texts of a template"));
    return text;
}

bool tpl_add(tpl_run *r, tpl_text *t, const char *at, size_t n)
{
    if (n == 0)
        return true;
    if (t == r->out && n > ENG_LM_TEMPLATE_OUTPUT - t->n)
        return tpl_fail_as(r, ENG_ERR_STATE, "its text is longer than %u bytes", ENG_LM_TEMPLATE_OUTPUT);
    if (n > t->room - t->n) {
        size_t room = 2 * t->room + n + 32;
        char *more = tpl_alloc_text(r, room);
        if (!more)
            return false;
        if (t->n) {
            memcpy(more, t->at, t->n);
            tpl_marks_copy(r, more, t->at, t->n);
        }
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->n, at, n);
    tpl_marks_copy(r, t->at + t->n, at, n);
    t->n += n;
    return tpl_step(r, n / 16);
}

bool tpl_add_word(tpl_run *r, tpl_text *t, const char *word)
{
    return tpl_add(r, t, word, strlen(word));
}

bool tpl_format(tpl_run *r, tpl_text *t, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tpl_add(r, t, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}
