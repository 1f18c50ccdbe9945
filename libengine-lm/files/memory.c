/* Memory that ends all at once, and allocation that tells why it failed. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct lm_block {
    struct lm_block *next;
    _Alignas(16) char data[];
};

void *lm_calloc(size_t count, size_t bytes)
{
    void *p = calloc(count ? count : 1, bytes ? bytes : 1);
    if (!p)
        eng_fail(ENG_ERR_NOMEM, "no memory for %zu x %zu bytes", count, bytes);
    return p;
}

void *lm_realloc(void *old, size_t count, size_t bytes)
{
    void *p = count <= SIZE_MAX / bytes ? realloc(old, count * bytes) : NULL;
    if (!p)
        eng_fail(ENG_ERR_NOMEM, "no memory for %zu x %zu bytes", count, bytes);
    return p;
}

static int check_size(const char *who, uint32_t size, size_t least)
{
    if (size < least)
        return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE
                        "a struct's size is %u, which is less than %zu: set it to the sizeof of "
                        "the struct, or use its defaults function", who, size, least);
    return ENG_OK;
}

int lm_take(const char *who, void *ours, uint32_t size, const void *given, size_t least)
{
    uint32_t theirs;
    memcpy(&theirs, given, sizeof theirs);
    int status = check_size(who, theirs, least);
    if (status)
        return status;
    memcpy(ours, given, theirs < size ? theirs : size);
    memcpy(ours, &size, sizeof size);
    return ENG_OK;
}

int lm_give(const char *who, const void *ours, uint32_t size, void *theirs, size_t least)
{
    uint32_t room;
    memcpy(&room, theirs, sizeof room);
    int status = check_size(who, room, least);
    if (status)
        return status;
    uint32_t both = room < size ? room : size;
    memcpy(theirs, ours, both);
    memset((char *)theirs + both, 0, room - both);
    memcpy(theirs, &both, sizeof both); /* so much of it means something */
    return ENG_OK;
}

int lm_fail_more(int status, const char *cure)
{
    eng_error e = {.size = sizeof e};
    eng_last_error_info(&e);
    return eng_fail_code(status, e.code, e.index, "%s" ENG_CAUSE "%s" ENG_ADVICE "%s%s%s", e.subject, e.cause, e.advice,
                         *e.advice ? "; " : "", cure);
}

void *lm_alloc(lm_memory *m, size_t count, size_t bytes)
{
    struct lm_block *b = NULL;
    if (bytes == 0 || count <= (SIZE_MAX - sizeof *b) / bytes)
        b = calloc(1, sizeof *b + count * bytes);
    if (!b) {
        eng_fail(ENG_ERR_NOMEM, "no memory for %zu x %zu bytes", count, bytes);
        return NULL;
    }
    b->next = m->blocks;
    m->blocks = b;
    return b->data;
}

char *lm_format(lm_memory *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : lm_alloc(m, (size_t)n + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void lm_memory_end(lm_memory *m)
{
    for (struct lm_block *b = m->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    m->blocks = NULL;
}
