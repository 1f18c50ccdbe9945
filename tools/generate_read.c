/* engine-generate: the text of a file. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"
#include "generate.h"

int read_text(const char *path, char **text, size_t *length)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    if (!f)
        return eng_fail(ENG_ERR_IO, "%s cannot be opened" ENG_CAUSE "%s", path, strerror(errno));
    const char *name = f == stdin ? "standard input" : path;
    char piece[16384];
    eu_text buffer = {0};
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        eu_text_add_bytes(&buffer, piece, n);
    int bad = ferror(f) ? errno : 0;
    if (f != stdin)
        fclose(f);
    size_t n = buffer.n;
    char *read = eu_text_take(&buffer);
    if (!read)
        return eng_fail_code(EU_NO_MEMORY(name));
    if (bad) {
        free(read);
        return eng_fail(ENG_ERR_IO, "%s cannot be read" ENG_CAUSE "%s", name, strerror(bad));
    }
    *text = read;
    *length = n;
    return ENG_OK;
}
