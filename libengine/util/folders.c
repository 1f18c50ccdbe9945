#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"

/* mkdir -p */
bool eu_make_folder(char *path)
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

bool eu_cache_path(const char *set, const char *name, eu_text *path)
{
    const char *xdg = home_variable("XDG_CACHE_HOME"), *home = home_variable("HOME");
    if (set && *set) {
        if (*set == '/')
            eu_text_format(path, "%s/%s", set, name);
    } else if (xdg) {
        eu_text_format(path, "%s/%s/%s", xdg, PACKAGE, name);
    } else if (home) {
        eu_text_format(path, "%s/.cache/%s/%s", home, PACKAGE, name);
    }
    errno = path->failed ? ENOMEM : ENOENT;
    return path->n && !path->failed;
}
