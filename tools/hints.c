#include "config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hints.h"
#include "libengine/util/util.h"

extern char **environ;

const char *hint_option(const char *given, const struct option *options)
{
    static char text[96];
    char name[64];
    const char *near = NULL;
    unsigned best = UINT_MAX;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    given = name + strspn(name, "-");
    for (; options->name; options++)
        if (eu_nearer(given, options->name, &best))
            near = options->name;
    snprintf(text, sizeof text, near ? " (did you mean --%s?)" : "", near ? near : "");
    return text;
}

/* ENGINE_NAME_...: of the plugin? */
static bool is_of(const char *variable, const char *plugin)
{
    variable += strlen("ENGINE_");
    for (; *plugin; plugin++, variable++)
        if (toupper((unsigned char)*plugin) != *variable && (isalnum((unsigned char)*plugin) || *variable != '_'))
            return false;
    return *variable == '_';
}

void tell_unread(const char *program, const char *const *known, size_t n_known, const char *const *loaded,
                 size_t n_loaded)
{
    for (char **e = environ; e && *e; e++) {
        char name[64];
        const char *near = NULL;
        unsigned best = UINT_MAX;
        bool read = strncmp(*e, "ENGINE_", 7) != 0 || strcspn(*e, "=") >= sizeof name, owned = false;
        if (read)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
        for (size_t i = 0; i < n_known && !read; i++) {
            read = strcmp(name, known[i]) == 0;
            if (eu_nearer(name + 7, known[i] + 7, &best))
                near = known[i];
        }
        for (size_t i = 0; i < n_loaded && !read; i++)
            owned |= is_of(name, loaded[i]);
        if (!read && (near || owned))
            fprintf(stderr, "%s: note: nothing reads the variable %s%s%s%s\n", program, name,
                    near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    }
}

void tell_unread_of(const char *program, eng_context *context)
{
    eng_option_info option = {.size = sizeof option};
    eng_plugin_info plugin = {.size = sizeof plugin};
    const char **known = NULL, **loaded = NULL;
    size_t known_room = 0, loaded_room = 0;
    uint32_t n = 0, m = 0;
    for (; eng_context_option(context, n, &option) == ENG_OK && eu_reserve(known, known_room, (size_t)n + 1); n++)
        known[n] = option.environment;
    for (uint32_t i = 0;
         eng_context_plugin(context, i, &plugin) == ENG_OK && eu_reserve(loaded, loaded_room, (size_t)m + 1); i++)
        if (plugin.status == ENG_PLUGIN_LOADED)
            loaded[m++] = plugin.name;
    tell_unread(program, known, n, loaded, m);
    free(known);
    free(loaded);
}
