/* The folders of the installation and of the user. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

const char *eng_cache_dir(eng_host *host)
{
    eng_context *context = host->context;
    eu_arena *memory = &context->options.memory;
    const char *set = eng_options_value(&context->options, "engine.cache_dir");
    eu_text folder = {0};
    const bool named = eu_cache_path(set, host->name, &folder);
    char *path = NULL;

    pthread_mutex_lock(&host->lock);
    if (named && host->cache_dir && strcmp(host->cache_dir, folder.at) == 0) {
        path = host->cache_dir; /* made before */
    } else if (named && eu_make_folder(folder.at)) {
        pthread_mutex_lock(&context->options.lock); /* the arena's too */
        path = eu_arena_format(memory, "%s", folder.at);
        pthread_mutex_unlock(&context->options.lock);
    }
    const int error = errno;
    host->cache_dir = path;
    pthread_mutex_unlock(&host->lock);
    eu_text_free(&folder);
    if (!path)
        eng_log(&context->base, ENG_LOG_INFO, host->name, "no cache folder: %s", set && *set ? set : strerror(error));
    return path;
}

const char *eng_data_dir(eng_context *context)
{
    const char *set = eng_options_value(&context->options, "engine.data_dir");
    return set && *set ? set : PKGDATADIR;
}
