/* The list of records: see registry.h. */
#include "config.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"

void eng_registry_init(eng_registry *registry, const eng_base *base)
{
    memset(registry, 0, sizeof *registry);
    registry->base = base;
}

void eng_registry_free(eng_registry *registry)
{
    free(registry->records);
    eu_arena_end(&registry->memory);
    memset(registry, 0, sizeof *registry);
}

eng_plugin_record *eng_registry_add(eng_registry *registry, const char *name, const char *path)
{
    if (!eu_reserve(registry->records, registry->room, (size_t)registry->n + 1))
        return NULL;
    eng_plugin_record *record = &registry->records[registry->n];
    *record = (eng_plugin_record){
        .name = eu_arena_string(&registry->memory, name),
        .path = eu_arena_string(&registry->memory, path),
        .status = ENG_PLUGIN_FOUND,
        .stage = "", .reason = "", .advice = "", .version = "", .description = "", .folder = "",
    };
    if (!record->name || !record->path)
        return NULL;
    registry->n++;
    return record;
}

void eng_registry_reject(eng_registry *registry, eng_plugin_record *record, const char *stage, const char *reason,
                         const char *advice)
{
    char *copy = eu_arena_string(&registry->memory, reason);
    char *advice_copy = eu_arena_string(&registry->memory, advice);
    record->status = ENG_PLUGIN_REJECTED;
    record->stage = stage;
    record->reason = copy ? copy : "out of memory";
    record->advice = advice_copy ? advice_copy : "";
    eng_log(registry->base, ENG_LOG_WARN, "registry", "plugin %s rejected (%s): %s", record->path, stage,
            record->reason);
}

/* Does the plugin match one of the patterns of the given kind: its name, or with a '/' in the pattern its path?
 * *any: there are such. */
static bool listed(const char *filter, const eng_plugin_record *record, bool deny, bool *any)
{
    bool match = false;
    *any = false;
    for (const char *at = filter; *at;) {
        size_t n = strcspn(at, ", ");
        char pattern[PATH_MAX];
        const char *from = at;
        size_t length = n;
        at += n + (at[n] != 0);
        bool denies = length && *from == '^';
        if (denies)
            from++, length--;
        if (length == 0 || length >= sizeof pattern || denies != deny)
            continue;
        memcpy(pattern, from, length);
        pattern[length] = 0;
        *any = true;
        match |= strcmp(pattern, "all") == 0 ||
                 fnmatch(pattern, strchr(pattern, '/') ? record->path : record->name, 0) == 0;
    }
    return match;
}

/* The plugin of that name that comes first: the one in use is it. */
static const eng_plugin_record *earlier(const eng_registry *registry, const eng_plugin_record *record,
                                        eng_plugin_status status)
{
    for (const eng_plugin_record *other = registry->records; other < record; other++)
        if (other->status == status && strcmp(other->name, record->name) == 0)
            return other;
    return NULL;
}

static int shadow(eng_registry *registry, eng_plugin_record *record, const eng_plugin_record *first)
{
    char *reason = eu_arena_format(&registry->memory, "%s was found earlier", first->path);
    if (!reason)
        return eng_fail_memory();
    record->status = ENG_PLUGIN_SHADOWED;
    record->reason = reason;
    record->advice = "remove one of the two, or change the order of ENGINE_PLUGIN_PATH";
    return ENG_OK;
}

void eng_registry_shadow(eng_registry *registry)
{
    for (uint32_t i = 0; i < registry->n; i++) {
        eng_plugin_record *record = &registry->records[i];
        const eng_plugin_record *first = earlier(registry, record, ENG_PLUGIN_FOUND);
        if (record->status == ENG_PLUGIN_FOUND && first)
            shadow(registry, record, first);
    }
}

/* A pattern without * and the like that names no plugin, and the name that it may have meant; false: there is none. */
static bool misspelt(const eng_registry *registry, const char *filter, char pattern[64], const char **near)
{
    for (const char *at = filter; *at;) {
        size_t n = strcspn(at, ", ");
        size_t skip = *at == '^', length = n - skip;
        unsigned best = UINT_MAX;
        bool found = length == 0 || length >= 64;
        memcpy(pattern, at + skip, found ? 0 : length);
        pattern[found ? 0 : length] = 0;
        at += n + (at[n] != 0);
        *near = NULL;
        if (found || strpbrk(pattern, "*?[/") || strcmp(pattern, "all") == 0)
            continue;
        for (uint32_t i = 0; i < registry->n && !found; i++) {
            found = strcmp(registry->records[i].name, pattern) == 0;
            if (eu_nearer(pattern, registry->records[i].name, &best))
                *near = registry->records[i].name;
        }
        if (!found)
            return true;
    }
    return false;
}

int eng_registry_select(eng_registry *registry, const char *filter)
{
    const char *advice = "change or unset ENGINE_PLUGINS", *near = NULL;
    char pattern[64];
    if (filter && registry->n && misspelt(registry, filter, pattern, &near)) {
        eng_log(registry->base, ENG_LOG_WARN, "registry", "ENGINE_PLUGINS: no plugin is called '%s'%s%s%s", pattern,
                near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
        if (near && !(advice = eu_arena_format(&registry->memory, "no plugin is called '%s': did you mean '%s'?",
                                               pattern, near)))
            return eng_fail_memory();
    }
    for (uint32_t i = 0; filter && *filter && i < registry->n; i++) {
        eng_plugin_record *record = &registry->records[i];
        bool allows, denies;
        bool allowed = listed(filter, record, false, &allows);
        bool denied = listed(filter, record, true, &denies);
        if (record->status != ENG_PLUGIN_FOUND || (!denied && (allowed || !allows)))
            continue;
        record->status = ENG_PLUGIN_DISABLED;
        record->reason = eu_arena_format(&registry->memory, "switched off by ENGINE_PLUGINS=%s", filter);
        record->advice = advice;
        if (!record->reason)
            return eng_fail_memory();
    }
    return ENG_OK;
}

void eng_registry_load(eng_registry *registry, eng_plugin_record *record)
{
    /* one that was refused shadows nothing: the next of its name gets its chance */
    const eng_plugin_record *first = earlier(registry, record, ENG_PLUGIN_LOADED);
    if (first) {
        shadow(registry, record, first);
        return;
    }
    eng_module_error error = {.stage = "", .advice = ""};
    eng_log(registry->base, ENG_LOG_DEBUG, "registry", "loading plugin %s", record->path);
    const eng_plugin_descriptor *d = eng_module_load(record->path, record->name, &error);
    if (!d || !eng_judge(d, record->name, &error)) {
        eng_registry_reject(registry, record, error.stage, error.reason, error.advice);
        return;
    }
    record->status = ENG_PLUGIN_LOADED;
    record->descriptor = d;
    record->version = d->version ? d->version : "";
    record->description = d->description ? d->description : "";
    eng_log(registry->base, ENG_LOG_INFO, "registry", "plugin %s %s loaded from %s", record->name, record->version,
            record->path);
}
