/* Memory that ends all at once, and allocation that tells why it failed. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

/* Tells of what was asked for in vain. */
static void *told(void *memory, size_t count, size_t bytes)
{
    if (!memory)
        eng_fail_code(ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1, "out of memory for %zu x %zu bytes", count, bytes);
    return memory;
}

void *lm_calloc(size_t count, size_t bytes)
{
    return told(eu_zeroed(count, bytes), count, bytes);
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

void *lm_alloc(eu_arena *m, size_t count, size_t bytes)
{
    return told(eu_arena_array(m, count, bytes), count, bytes);
}

char *lm_format(eu_arena *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = told(eu_arena_vformat(m, format, args), strlen(format), 1);
    va_end(args);
    return text;
}
