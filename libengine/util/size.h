/* Arithmetic on sizes and extents that may overflow; structs that begin with their size. */
#ifndef LIBENGINE_UTIL_SIZE_H
#define LIBENGINE_UTIL_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/plugin.h"

/* false: the result does not fit. */
static inline bool eu_mul(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool eu_add(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/* The next multiple of `unit`, which is a power of two or not. */
static inline uint64_t eu_round_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* A device's figures for an engine whose struct may be shorter, as those before 3.1 have it: what is beyond its size is
 * left out. */
static inline void eu_give_stats(eng_device_stats *to, const eng_device_stats *own)
{
    const uint32_t size = to->size;
    memcpy(to, own, size < sizeof *own ? size : sizeof *own);
    to->size = size;
}

#endif
