/*
 * Products in precision fast where a processor has no units for bytes: of words of 16 bits, whose products are added
 * in pairs (vpmaddwd).  32 elements of a column under one scale are rounded to 2^-16 of the largest, weights never; the
 * sum of a group is exact.  That is as fast as bytes would be, which would have to lend their signs to one another, and
 * 256 times as near.
 *
 * For types of blocks whose rows are as in a file: those in lanes have products of their own (planes/).  16 rows of
 * weights are a strip: a vector has two elements of each of eight rows, which meet two of a column in every lane.
 *
 * Compiled once, for AVX2.
 */
#ifndef CPU_WORDS_H
#define CPU_WORDS_H

#include "../ops/gemm.h"
#include "../units/lines.h"

#define TILE 4    /* columns: 8 sums, and what they are made of, in 16 registers    */
#define PANEL 512 /* elements of k: a strip's words and a tile's stay in the nearest cache */
#define LEAST 5   /* columns from which on strips pay                                  */

/*
 * A packed column is its groups one after another.  A group: 32 numbers, the scale, and where there are minima the sum
 * of the elements that meet one, of 32 or twice of 16.
 */
static inline int64_t words_group_bytes(int parts, bool minima)
{
    return 2 * GROUP + 4 + (minima ? 4 * parts : 0);
}

/* Columns c0 .. c1 - 1, each at its place from `out` on. */
void cpu_words_pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out);

/* A panel of a strip. */
typedef struct words_strip {
    uint8_t *lines; /* 64 bytes for each two elements of k */
    float *d, *m;   /* STRIP of each for each group           */
} words_strip;
#define ROOM_ROW (PANEL + 64)
#define WORDS_ROOM (ROOM_ROW * STRIP) /* bytes of `room` */

/* Rows m .. m + rows - 1 (at most STRIP; the rest are whatever was there), elements k0 .. k0 + kc - 1; `room` is for
 * their bytes before they are exchanged. */
void cpu_words_strip(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, uint8_t *room,
                     const words_strip *to);

#endif
