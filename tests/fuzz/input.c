/* The input in the forms that targets want. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "fuzz.h"

char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    if (!text)
        exit(99);
    if (n)
        memcpy(text, data, n);
    text[n] = 0;
    return text;
}

const char *fuzz_file(const uint8_t *data, size_t n)
{
    static char path[64];
    static int file = -1;
    if (file < 0) {
        /* the process keeps it open, and it is gone with it */
        char name[] = "/tmp/engine-fuzz-XXXXXX";
        file = mkstemp(name);
        if (file < 0 || unlink(name) != 0) {
            perror(name);
            exit(99);
        }
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || (n && pwrite(file, data, n, 0) != (ssize_t)n)) {
        perror("the input's file");
        exit(99);
    }
    return path;
}
