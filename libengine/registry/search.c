/*
 * Where plugins are looked for, in this order:
 *
 *   1. the host's plugin_path
 *   2. ENGINE_PLUGIN_PATH
 *   3. libengine/<ABI> beside this library: a tree that was moved still works
 *   4. the install directory
 *
 * Never the working directory: a relative folder is refused, with a record.  In
 * a folder every NAME.so counts, in alphabetical order; nothing is opened here.
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "registry.h"

#define SUFFIX ".so"

static int is_plugin_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name), suffix = strlen(SUFFIX);
    return n > suffix && entry->d_name[0] != '.' && strcmp(entry->d_name + n - suffix, SUFFIX) == 0;
}

/* The fixed order, whatever the locale sorts by. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_file(eng_registry *registry, const char *folder, const char *file)
{
    char *path = eu_arena_format(&registry->memory, "%s/%s", folder, file);
    char *name = eu_arena_string(&registry->memory, file);
    if (!path || !name)
        return eng_fail_memory();
    name[strlen(name) - strlen(SUFFIX)] = 0;
    eng_plugin_record *record = eng_registry_add(registry, name, path);
    if (!record)
        return eng_fail_memory();
    record->folder = folder;
    return ENG_OK;
}

static bool seen_folder(const eng_registry *registry, const char *folder)
{
    for (uint32_t i = 0; i < registry->n; i++)
        if (strcmp(registry->records[i].folder, folder) == 0)
            return true;
    return false;
}

static int search_folder(eng_registry *registry, const char *folder, const char *origin)
{
    char *real = realpath(folder, NULL);
    if (!real) {
        eng_log(registry->base, ENG_LOG_INFO, "registry", "folder %s (%s) is not there: %s", folder, origin,
                strerror(errno));
        return ENG_OK;
    }
    const char *kept = eu_arena_string(&registry->memory, real);
    free(real);
    if (!kept)
        return eng_fail_memory();
    if (seen_folder(registry, kept))
        return ENG_OK;
    struct dirent **entries = NULL;
    int n = scandir(kept, &entries, is_plugin_file, by_bytes);
    if (n < 0) {
        eng_log(registry->base, ENG_LOG_INFO, "registry", "folder %s (%s) cannot be read: %s", folder, origin,
                strerror(errno));
        return ENG_OK;
    }
    eng_log(registry->base, ENG_LOG_DEBUG, "registry", "folder %s (%s): %d files", folder, origin, n);
    int status = ENG_OK;
    for (int i = 0; i < n; i++) {
        if (status >= 0)
            status = add_file(registry, kept, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int refuse_relative(eng_registry *registry, const char *folder, const char *origin)
{
    eng_plugin_record *record = eng_registry_add(registry, folder, folder);
    char *reason = eu_arena_format(&registry->memory, "'%s' in %s is a relative folder", folder, origin);
    if (!record || !reason)
        return eng_fail_memory();
    eng_registry_reject(registry, record, "file", reason,
                        "write the whole path, from '/': plugins are never taken from the working directory");
    return ENG_OK;
}

int eng_registry_search(eng_registry *registry, const char *path, const char *origin)
{
    int status = ENG_OK;
    for (const char *at = path; at && *at && status >= 0;) {
        size_t n = strcspn(at, ":");
        char *folder = eu_arena_alloc(&registry->memory, n + 1);
        if (!folder)
            return eng_fail_memory();
        memcpy(folder, at, n);
        at += n + (at[n] == ':');
        if (n == 0)
            continue;
        status = *folder == '/' ? search_folder(registry, folder, origin) : refuse_relative(registry, folder, origin);
    }
    return status;
}

int eng_registry_search_default(eng_registry *registry)
{
    static const char here = 0;
    Dl_info info;
    if (dladdr(&here, &info) && info.dli_fname && *info.dli_fname == '/') {
        char *real = realpath(info.dli_fname, NULL);
        char *slash = real ? strrchr(real, '/') : NULL;
        char *folder = slash ? eu_arena_format(&registry->memory, "%.*s/%s/%u", (int)(slash - real), real, PACKAGE,
                                                ENG_PLUGIN_ABI_MAJOR) : NULL;
        free(real);
        int status = folder ? search_folder(registry, folder, "beside the library") : ENG_OK;
        if (status < 0)
            return status;
    }
    return search_folder(registry, PLUGINDIR, "install directory");
}
