#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_SYS_RANDOM_H
#include <sys/random.h>
#endif

#include "map.h"

/* -- SipHash-1-3 ------------------------------------------------------------------- */

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* n <= 8 bytes as a little-endian number, whatever machine this is. */
static inline uint64_t word_at(const unsigned char *p, size_t n)
{
    uint64_t word = 0;
    while (n-- > 0)
        word = word << 8 | p[n];
    return word;
}

static inline void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

uint64_t eu_siphash(const uint64_t seed[2], const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t v[4] = {seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
                     seed[0] ^ UINT64_C(0x6c7967656e657261), seed[1] ^ UINT64_C(0x7465646279746573)};
    size_t left = bytes;
    for (; left >= 8; left -= 8, p += 8)
        absorb(v, word_at(p, 8));
    absorb(v, (uint64_t)bytes << 56 | word_at(p, left));
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* -- the seed ------------------------------------------------------------------------ */

static bool random_bytes(void *to, size_t bytes)
{
#ifdef HAVE_GETRANDOM
    if (getrandom(to, bytes, GRND_NONBLOCK) == (ssize_t)bytes)
        return true;
#endif
    FILE *f = fopen("/dev/urandom", "rbe");
    bool good = f && fread(to, 1, bytes, f) == bytes;
    if (f)
        fclose(f);
    return good;
}

/* A system without random numbers still gives addresses and times that no file knows of. */
static void choose_seed(eu_map *map)
{
    int saved = errno;
    if (!random_bytes(map->seed, sizeof map->seed)) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        map->seed[0] = (uint64_t)(uintptr_t)map ^ (uint64_t)t.tv_sec << 32 ^ (uint64_t)t.tv_nsec;
        map->seed[1] = (uint64_t)(uintptr_t)map->slots ^ (uint64_t)clock();
    }
    errno = saved;
}

/* -- the table ------------------------------------------------------------------------- */

/* The slot of the key, or the empty one where it would be.  There is one: a quarter of them is. */
static uint32_t *slot_of(const eu_map *map, const void *owner, const void *key, size_t bytes)
{
    for (size_t i = (size_t)eu_siphash(map->seed, key, bytes);; i++) {
        uint32_t *slot = &map->slots[i & (map->n_slots - 1)];
        if (*slot == 0)
            return slot;
        eu_key other = map->key_of(owner, *slot - 1);
        if (other.bytes == bytes && (bytes == 0 || memcmp(other.data, key, bytes) == 0))
            return slot;
    }
}

static bool fits(const eu_map *map, size_t n)
{
    return n <= map->n_slots / 4 * 3;
}

bool eu_map_reserve(eu_map *map, const void *owner, size_t n)
{
    if (n == 0 || fits(map, n))
        return true;
    eu_map larger = *map;
    for (larger.n_slots = 16; !fits(&larger, n) && larger.n_slots <= UINT32_MAX;)
        larger.n_slots *= 2;
    larger.slots = n < UINT32_MAX ? calloc(larger.n_slots, sizeof *larger.slots) : NULL;
    if (!larger.slots)
        return false;
    if (!map->slots)
        choose_seed(&larger);
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i]) {
            eu_key key = map->key_of(owner, map->slots[i] - 1);
            *slot_of(&larger, owner, key.data, key.bytes) = map->slots[i];
        }
    free(map->slots);
    *map = larger;
    return true;
}

uint32_t eu_map_find(const eu_map *map, const void *owner, const void *key, size_t bytes)
{
    return map->n ? *slot_of(map, owner, key, bytes) - 1 : EU_NONE; /* an empty slot: 0 - 1 */
}

bool eu_map_add(eu_map *map, const void *owner, uint32_t entry, uint32_t *first)
{
    if (!fits(map, map->n + 1) && !eu_map_reserve(map, owner, 2 * map->n + 8))
        return false;
    eu_key key = map->key_of(owner, entry);
    uint32_t *slot = slot_of(map, owner, key.data, key.bytes);
    if (*slot == 0) {
        *slot = entry + 1;
        map->n++;
    }
    *first = *slot - 1;
    return true;
}

void eu_map_free(eu_map *map)
{
    free(map->slots);
    *map = (eu_map){.key_of = map->key_of};
}
