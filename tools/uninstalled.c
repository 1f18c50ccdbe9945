/* Which build this program belongs to, if it was not installed. */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "uninstalled.h"

/* The folder that this program was built in: of config.status, with the program in it or in its .libs. */
static int build_folder(char *folder, size_t size)
{
    static const char libtools[] = "/.libs";
    char status[PATH_MAX + 16];
    ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    if (n <= 0)
        return 0;
    folder[n] = 0;
    *strrchr(folder, '/') = 0;
    size_t length = strlen(folder), more = sizeof libtools - 1;
    if (length > more && strcmp(folder + length - more, libtools) == 0)
        folder[length - more] = 0;
    snprintf(status, sizeof status, "%s/config.status", folder);
    return access(status, F_OK) == 0;
}

/* Adds FOLDER/plugins/NAME/.libs to a path if it is there; what does not fit is left out. */
static void add(char *path, size_t size, const char *folder, const char *name)
{
    size_t n = strlen(path);
    const char *gap = n ? ":" : "";
    int more = snprintf(path + n, size - n, "%s%s/plugins/%s/.libs", gap, folder, name);
    if (more < 0 || (size_t)more >= size - n || access(path + n + strlen(gap), R_OK | X_OK) != 0)
        path[n] = 0;
}

void find_uninstalled_plugins(void)
{
    char folder[PATH_MAX], plugins[PATH_MAX + 16], path[4 * PATH_MAX] = "";
    if (getenv("ENGINE_PLUGIN_PATH") || !build_folder(folder, sizeof folder))
        return;
    snprintf(plugins, sizeof plugins, "%s/plugins", folder);
    DIR *dir = opendir(plugins);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (*e->d_name != '.')
            add(path, sizeof path, folder, e->d_name);
    if (dir)
        closedir(dir);
    if (*path)
        setenv("ENGINE_PLUGIN_PATH", path, 1);
}
