/* Folders of the user. */
#ifndef LIBENGINE_UTIL_FOLDERS_H
#define LIBENGINE_UTIL_FOLDERS_H

#include <stdbool.h>

#include "text.h"

/* Folder `name` of what may be thrown away, made if it is not there: in `set` (an absolute path; NULL, "": not given), or where the
 * XDG base directory specification has it.  false: there is none; errno says why it could not be made. */
bool eu_cache_folder(const char *set, const char *name, eu_text *path);

#endif
