/* engine-generate: texts that are made of those of the command line, and kept with the options. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"

#include "generate.h"

bool options_keep(options *o, char *text)
{
    char **kept = eu_grow(o->kept, &o->kept_room, (size_t)o->n_kept + 1, sizeof *kept);
    if (!kept) {
        free(text);
        return false;
    }
    o->kept = kept;
    o->kept[o->n_kept++] = text;
    return true;
}

/* The escapes of C that a shell's user writes; others stay as they are. */
static bool unescape(options *o, const char **text)
{
    static const char from[] = "ntr\\\"'", to[] = "\n\t\r\\\"'";
    char *begin = malloc(strlen(*text) + 1), *at = begin;
    for (const char *c = *text; at && *c; c++) {
        const char *known = *c == '\\' && c[1] ? strchr(from, c[1]) : NULL;
        *at++ = known ? to[known - from] : *c;
        c += known != NULL;
    }
    if (!begin)
        return false;
    *at = 0;
    *text = begin;
    return options_keep(o, begin);
}

bool options_unescape(options *o)
{
    bool done = !o->prompt || unescape(o, &o->prompt);
    for (uint32_t i = 0; i < o->sampler.n_dry_breakers && done; i++)
        done = unescape(o, &o->breakers[i]);
    for (uint32_t i = 0; i < o->n_reverse && done; i++)
        done = unescape(o, &o->reverse[i]);
    return done;
}
