#include "config.h"

#include <stddef.h>
#include <stdlib.h>

#include "pattern.h"

#define DEPTH 64

/* Behind what begins with '[' at `at`. */
static const char *skip_set(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    if (*at == ']')
        at++;
    while (*at && *at != ']') {
        if (*at == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=')) {
            char kind = at[1];
            for (at += 2; *at && !(at[0] == kind && at[1] == ']');)
                at++;
            at += *at ? 2 : 0;
        } else {
            at++;
        }
    }
    return *at ? at + 1 : at;
}

/* What is repeated, so often; the bound ends at *at. */
static unsigned long repeated(unsigned long places, const char **at)
{
    char *end;
    unsigned long least = strtoul(*at + 1, &end, 10), most = least;
    if (*end == ',')
        most = strtoul(end + 1, &end, 10);
    *at = *end ? end + 1 : end;
    most = most < least ? least + 1 : most;
    return most && places > EU_PATTERN_PLACES / most ? EU_PATTERN_PLACES + 1 : places * (most ? most : 1);
}

bool eu_pattern_is_small(const char *at)
{
    unsigned long open[DEPTH] = {0}, last = 0; /* places of the groups that are open, and of the last piece */
    size_t depth = 0;
    while (*at) {
        if (*at == '(') {
            if (++depth >= DEPTH)
                return false;
            open[depth] = last = 0;
            at++;
            continue;
        }
        if (*at == ')' && depth > 0) {
            last = open[depth--];
            open[depth] += last;
            at++;
        } else if (*at == '{') {
            open[depth] -= last;
            last = repeated(last, &at);
            open[depth] += last;
        } else if (*at == '*' || *at == '+' || *at == '?') {
            last++;
            open[depth]++;
            at++;
        } else {
            at = *at == '[' ? skip_set(at) : at + (at[0] == '\\' && at[1] ? 2 : 1);
            last = 1;
            open[depth]++;
        }
        if (open[depth] > EU_PATTERN_PLACES)
            return false;
    }
    return true;
}
