#include "config.h"

#include <stdint.h>

#include "array.h"

void *eu_grow(void *at, size_t *room, size_t want, size_t entry)
{
    if (want <= *room)
        return at;
    size_t most = SIZE_MAX / 2 / entry, more = *room < most / 2 ? *room + *room / 2 + 8 : most;
    if (more < want)
        more = want;
    void *moved = more <= most ? realloc(at, more * entry) : NULL;
    if (!moved)
        return at;
    *room = more;
    return moved;
}

void *eu_zeroed(size_t n, size_t entry)
{
    bool nothing = n == 0 || entry == 0;
    return !nothing && n > SIZE_MAX / entry ? NULL : calloc(nothing ? 1 : n, nothing ? 1 : entry);
}
