/* See files.h. */
#define _POSIX_C_SOURCE 200809L
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

char *template_file(const char *name)
{
    char path[600];
    static char text[1 << 16];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/data/templates/%s", top ? top : "..", name);
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return strdup(text);
}
