/* The blocks whose values are compared: bytes drawn from a seed, with scales that are finite. */
#ifndef PEERS_BLOCKS_H
#define PEERS_BLOCKS_H

#include <stdint.h>
#include <string.h>

enum { PEERS_BLOCKS = 2048 };

/* name, number, elements and bytes of a block, where its f16 scale is (-1: upper bits of the words from byte 48 on) */
#define PEERS_TYPES(T)                                                                                                 \
    T(iq2_xxs, 16, 256, 66, 0) T(iq2_xs, 17, 256, 74, 0) T(iq3_xxs, 18, 256, 98, 0) T(iq1_s, 19, 256, 50, 0)           \
    T(iq3_s, 21, 256, 110, 0) T(iq2_s, 22, 256, 82, 0) T(iq1_m, 29, 256, 56, -1) T(tq1_0, 34, 256, 54, 52)             \
    T(tq2_0, 35, 256, 66, 64) T(q1_0, 41, 128, 18, 0) T(q2_0, 42, 64, 18, 0)

static inline void peers_fill(uint8_t *blocks, int type, int bytes, int scale)
{
    uint64_t s = (uint64_t)type;
    for (int i = 0; i < PEERS_BLOCKS * bytes; i++) {
        s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        blocks[i] = (uint8_t)(s >> 56);
    }
    for (int i = 0; i < PEERS_BLOCKS; i++) { /* no infinity and no NaN: not all bits of the exponent */
        uint8_t *b = blocks + i * bytes;
        b[scale < 0 ? 55 : scale + 1] &= 0xbf; /* the upper byte of the scale, or where its upper four bits are */
    }
}

/* FNV-1a over the bits of the values. */
static inline uint64_t peers_hash(const float *x, int64_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, 4);
        for (int k = 0; k < 4; k++)
            h = (h ^ (bits >> 8 * k & 255)) * UINT64_C(1099511628211);
    }
    return h;
}

#endif
