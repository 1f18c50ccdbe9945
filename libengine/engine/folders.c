/* The folders of the installation and of the user. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"

/* mkdir -p; the folder is the user's alone. */
static bool make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = 0;
        int failed = mkdir(path, 0700);
        int error = errno;
        *c = '/';
        if (failed && error != EEXIST)
            return false;
    }
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && access(path, W_OK | X_OK) == 0;
}

static const char *home_variable(const char *name)
{
#ifdef HAVE_SECURE_GETENV
    const char *value = secure_getenv(name);
#else
    const char *value = getenv(name);
#endif
    return value && *value == '/' ? value : NULL;
}

const char *eng_cache_dir(eng_host *host)
{
    eng_context *context = host->context;
    eu_arena *memory = &context->options.memory;
    const char *set = eng_options_value(&context->options, "engine.cache_dir");
    const char *xdg = home_variable("XDG_CACHE_HOME"), *home = home_variable("HOME");
    char *path = NULL;

    pthread_mutex_lock(&context->options.lock); /* the arena's too */
    if (set && *set)
        path = *set == '/' ? eu_arena_format(memory, "%s/%s", set, host->name) : NULL;
    else if (xdg)
        path = eu_arena_format(memory, "%s/%s/%s", xdg, PACKAGE, host->name);
    else if (home)
        path = eu_arena_format(memory, "%s/.cache/%s/%s", home, PACKAGE, host->name);
    pthread_mutex_unlock(&context->options.lock);

    pthread_mutex_lock(&host->lock);
    if (path && host->cache_dir && strcmp(host->cache_dir, path) == 0)
        path = host->cache_dir; /* made before */
    else if (path && !make_folders(path))
        path = NULL;
    host->cache_dir = path;
    pthread_mutex_unlock(&host->lock);
    if (!path)
        eng_log(&context->base, ENG_LOG_INFO, host->name, "no cache folder: %s", set && *set ? set : strerror(errno));
    return path;
}

const char *eng_data_dir(eng_context *context)
{
    const char *set = eng_options_value(&context->options, "engine.data_dir");
    return set && *set ? set : PKGDATADIR;
}
