#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

unsigned remove_all(const char *folder)
{
    char path[1024];
    unsigned files = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path) == 0)
            files++;
        else
            files += remove_all(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
    return files;
}
