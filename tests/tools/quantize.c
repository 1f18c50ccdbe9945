/* Programs of the build folder and files, for the tests of engine-quantize. */
#include "config.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "quantize.h"

char said[65536];

const char *folder(const char *variable)
{
    const char *value = getenv(variable);

    return value ? value : ".";
}

int run(const char *format, ...)
{
    char command[8192];
    va_list args;
    int n = snprintf(command, sizeof command, "%s/", folder("top_builddir"));

    va_start(args, format);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    strcat(command, " 2>&1");
    FILE *pipe = popen(command, "r");
    ck_assert(pipe != NULL);
    size_t used = fread(said, 1, sizeof said - 1, pipe);
    said[used] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void runs(int status, int expected)
{
    ck_assert_msg(status == expected, "exit status %d instead of %d: %s", status, expected, said);
}

void says(const char *text)
{
    ck_assert_msg(strstr(said, text) != NULL, "\"%s\" does not say \"%s\"", said, text);
}

const char *model(void)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/tests/data/tiny-hybrid-f16.gguf", folder("top_srcdir"));
    return path;
}

eng_gguf *opened(const char *path)
{
    eng_gguf *g = NULL;

    ck_assert_msg(eng_gguf_open(path, &g) == ENG_OK, "%s", eng_last_error());
    return g;
}

uint32_t type_of(const eng_gguf *g, const char *name)
{
    const eng_gguf_tensor *t = eng_gguf_tensor_find(g, name);

    ck_assert_msg(t != NULL, "no tensor %s", name);
    return t->type;
}

void clean(void)
{
    unlink(OUT);
    unlink(OTHER);
}

char *contents(const char *path, long *n)
{
    FILE *f = fopen(path, "rb");

    ck_assert(f && fseek(f, 0, SEEK_END) == 0 && (*n = ftell(f)) > 0);
    char *data = malloc((size_t)*n);
    rewind(f);
    ck_assert(data && fread(data, 1, (size_t)*n, f) == (size_t)*n);
    fclose(f);
    return data;
}
