/* Helpers for the structs of the public headers. */
#include "config.h"

#include <string.h>

#include "base.h"

int eng_give(void *to, const void *from, size_t from_size, const char *what)
{
    uint32_t size;
    memcpy(&size, to, sizeof size);
    if (size < 2 * sizeof size)
        return eng_fail(ENG_ERR_INVALID, "set the size field of %s to sizeof(%s) before the call", what, what);
    size_t n = size < from_size ? size : from_size;
    memcpy(to, from, n);
    memset((char *)to + n, 0, size - n);
    memcpy(to, &size, sizeof size);
    return ENG_OK;
}
