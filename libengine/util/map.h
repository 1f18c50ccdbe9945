/*
 * A hash table of the entries of some array, found by their keys: strings or any bytes.
 *
 * The table holds the entries' numbers alone.  Where an entry's key lies the owner of the array
 * tells, so that keys may lie anywhere and move; the table looks at them while it is asked.
 *
 * Places follow from SipHash-1-3 (Aumasson, Bernstein 2012) keyed with random numbers of the
 * table's own: whoever chooses the names in a file cannot choose which of them collide.
 */
#ifndef LIBENGINE_UTIL_MAP_H
#define LIBENGINE_UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EU_NONE UINT32_MAX

typedef struct eu_key {
    const void *data;
    size_t bytes;
} eu_key;

typedef eu_key (*eu_key_of)(const void *owner, uint32_t entry);

/* {.key_of = ...} is an empty table. */
typedef struct eu_map {
    eu_key_of key_of;
    uint32_t *slots; /* entry + 1; 0: none */
    size_t n_slots, n;
    uint64_t seed[2];
} eu_map;

/* Room for n entries, so that adding them cannot fail.  false: no memory. */
bool eu_map_reserve(eu_map *map, const void *owner, size_t n);
/* The entry with this key; EU_NONE: there is none. */
uint32_t eu_map_find(const eu_map *map, const void *owner, const void *key, size_t bytes);
/* Adds the entry, whose key is there already.  *first: the entry that has that key - this one,
 * or one that was added before, which stays the one that is found.  false: no memory. */
bool eu_map_add(eu_map *map, const void *owner, uint32_t entry, uint32_t *first);
void eu_map_free(eu_map *map);

uint64_t eu_siphash(const uint64_t seed[2], const void *data, size_t bytes);

#endif
