/* Trying: one name in some hundred lies in the slots wanted, and only the last letters change. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "colliding.h"

static uint64_t fnv(uint64_t hash, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash;
}

char (*colliding_names(uint32_t n, int fold))[COLLIDING_BYTES]
{
    char (*names)[COLLIDING_BYTES] = malloc((size_t)n * sizeof *names);
    uint64_t slots = 8;
    uint32_t found = 0;
    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    for (uint32_t i = 0; names && found < n; i++) {
        char name[COLLIDING_BYTES];
        snprintf(name, sizeof name, "blk.%08x...", i);
        uint64_t begun = fnv(0xcbf29ce484222325u, name, 12);
        for (int k = 0; k < 64 * 64 && found < n; k++) {
            name[12] = (char)('0' + k % 64);
            name[13] = (char)('0' + k / 64);
            uint64_t hash = fnv(begun, name + 12, 3);
            if (fold == 0 || ((hash ^ hash >> fold) & (slots - 1)) < 512)
                memcpy(names[found++], name, sizeof name);
        }
    }
    return names;
}
