/* What makes a grammar of a schema: places and refusals. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schema_maker.h"

lm_place lm_place_inside(const lm_place *p, const char *key)
{
    lm_place q;
    size_t n = strlen(p->at);
    memcpy(q.at, p->at, n + 1);
    snprintf(q.at + n, sizeof q.at - n, "/%s", key);
    return q;
}

lm_place lm_place_at(const lm_place *p, size_t i)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", i);
    return lm_place_inside(p, number);
}

bool lm_schema_refuse(lm_maker *m, const lm_place *p, const char *format, ...)
{
    char what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!m->status)
        m->status = eng_fail(ENG_ERR_UNSUPPORTED, "JSON schema, %s" ENG_CAUSE "%s", p->at, what);
    return false;
}

bool lm_schema_no_memory(lm_maker *m)
{
    if (!m->status)
        m->status = eng_fail_code(EU_NO_MEMORY("a grammar of a JSON schema"));
    return false;
}
