/* Folders of the user. */
#ifndef LIBENGINE_UTIL_FOLDERS_H
#define LIBENGINE_UTIL_FOLDERS_H

#include <stdbool.h>

#include "text.h"

/* The path of folder `name` of what may be thrown away: in `set` (an absolute path; NULL, "": not given), or where the XDG base
 * directory specification has it.  false: there is none, as errno says. */
bool eu_cache_path(const char *set, const char *name, eu_text *path);
/* Makes it and those around it, for the user alone, where they are not there.  false: it cannot be written to, as errno says. */
bool eu_make_folder(char *path);

#endif
