/*
 * An engine older than the plugin: it offers fewer services.  The plugin calls none that is
 * not there, says so instead of opening, and opens where all that it calls are there.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plugin.h"

#include "../tap.h"

static char said[256];

static int fail(eng_host *host, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(eng_host *host, int status, const char *format, ...)
{
    va_list args;
    (void)host;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    return status;
}

static void check(const eng_plugin_descriptor *d, size_t size, bool opens)
{
    const eng_services services = {.size = (uint32_t)size, .fail = fail};
    eng_plugin_state *plugin = NULL;

    said[0] = '\0';
    int status = d->calls->open(&services, &plugin);
    bool good = opens ? status == ENG_OK && plugin
                      : status == ENG_ERR_UNSUPPORTED && !plugin && strstr(said, "libengine") != NULL;
    tap_check(good, "%lu of %lu bytes of services: %s", (unsigned long)size, (unsigned long)sizeof services,
              status == ENG_OK ? "opened" : said);
    if (status == ENG_OK)
        d->calls->close(plugin);
}

int main(void)
{
    const char *build = getenv("top_builddir");
    char path[4096];

    snprintf(path, sizeof path, "%s/plugins/meta/.libs/meta.so", build ? build : ".");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const eng_plugin_descriptor *d = module ? dlsym(module, "meta_LTX_eng_plugin_descriptor") : NULL;
    if (!d) {
        printf("1..0 # SKIP %s is not there: modules have another name here\n", path);
        return 0;
    }
    check(d, sizeof(eng_services), true);
    check(d, sizeof(eng_services) + 64, true);
    check(d, offsetof(eng_services, parallel_wait), false);
    check(d, offsetof(eng_services, parallel_start), false);
    check(d, offsetof(eng_services, axis_name), false);
    dlclose(module);
    return tap_end(NULL);
}
