/* Walking a precompiled map of characters, whatever is in it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "charsmap.h"
#include "inner.h"

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int eng_charsmap_create(charsmap *map, const uint8_t *bytes, size_t n)
{
    const size_t size = n >= 4 ? word(bytes) : 0;

    if (n < 4 || size == 0 || size % 4 || size > n - 4 || size == n - 4 || bytes[n - 1] != 0)
        return eng_fail(ENG_ERR_FORMAT, "key \"tokenizer.ggml.precompiled_charsmap\" is damaged" ENG_CAUSE
                        "its %zu bytes are not a trie of %zu bytes and strings behind it", n, size);
    map->n_units = size / 4;
    map->n_strings = n - 4 - size;
    map->units = malloc(size);
    map->strings = malloc(map->n_strings);
    if (!map->units || !map->strings)
        return eng_fail_code(EU_NO_MEMORY("the tokenizer"));
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = word(bytes + 4 + 4 * i);
    memcpy(map->strings, bytes + 4 + size, map->n_strings);
    return ENG_OK;
}

void eng_charsmap_free(charsmap *map)
{
    free(map->units);
    free(map->strings);
    *map = (charsmap){0};
}

/* Of a unit: how far from it, xor, its children are; the byte that leads to it, and no byte for one that has a
 * value. */
static uint32_t offset(uint32_t unit)
{
    return unit >> 10 << ((unit & 0x200) >> 6);
}
#define LABEL 0x800000ffu
#define HAS_LEAF 0x100u
#define VALUE 0x7fffffffu

size_t eng_charsmap_longest(const charsmap *map, const char *text, size_t length, const char **becomes)
{
    size_t found = 0;

    if (!map->units)
        return 0;
    for (uint32_t i = 0, at = offset(map->units[0]); i < length; i++) {
        at ^= (uint8_t)text[i];
        if (at >= map->n_units || (map->units[at] & LABEL) != (uint8_t)text[i])
            break;
        const bool has_leaf = (map->units[at] & HAS_LEAF) != 0;
        at ^= offset(map->units[at]);
        if (!has_leaf)
            continue;
        const uint32_t value = at < map->n_units ? map->units[at] & VALUE : UINT32_MAX;
        if (value < map->n_strings) {
            *becomes = map->strings + value;
            found = i + 1;
        }
    }
    return found;
}
