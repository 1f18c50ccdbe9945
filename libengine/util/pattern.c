/* The only file that knows PCRE2. */
#include "config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include "pattern.h"

/* Patterns for names stay far below: a search that is given up has taken less than a millisecond for each character. */
#define STEPS 20000
#define KIBIBYTES 4096

struct eu_pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    eu_pattern_state state;
};

/* Large repetitions are refused by PCRE2 itself: what is compiled has at most 64 KiB. */
static pcre2_code *compile(const char *text, char *why, size_t room)
{
    int error;
    PCRE2_SIZE at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF,
                                     &error, &at, NULL);
    if (!code) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(error, message, sizeof message);
        if (error != PCRE2_ERROR_HEAP_FAILED)
            snprintf(why, room, "%s, at character %zu", (const char *)message, (size_t)at);
    }
    return code;
}

eu_pattern *eu_pattern_create(const char *text, char *why, size_t room)
{
    *why = 0;
    pcre2_code *code = compile(text, why, room);
    if (!code)
        return NULL;
    eu_pattern *p = calloc(1, sizeof *p);
    if (!p) {
        pcre2_code_free(code);
        return NULL;
    }
    p->code = code;
    p->data = pcre2_match_data_create(1, NULL);
    p->limits = pcre2_match_context_create(NULL);
    if (!p->data || !p->limits) {
        eu_pattern_destroy(p);
        return NULL;
    }
    pcre2_set_match_limit(p->limits, STEPS);
    pcre2_set_depth_limit(p->limits, STEPS);
    pcre2_set_heap_limit(p->limits, KIBIBYTES);
    return p;
}

void eu_pattern_destroy(eu_pattern *p)
{
    if (!p)
        return;
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
}

/* With room for one pair of offsets, 0 is a find with groups. */
bool eu_pattern_found(eu_pattern *p, const char *name)
{
    if (p->state != EU_PATTERN_FINE)
        return false;
    int found = pcre2_match(p->code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, p->data, p->limits);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
        p->state = found == PCRE2_ERROR_NOMEMORY ? EU_PATTERN_NO_MEMORY : EU_PATTERN_ENDLESS;
    return found >= 0;
}

eu_pattern_state eu_pattern_get_state(const eu_pattern *p)
{
    return p->state;
}
