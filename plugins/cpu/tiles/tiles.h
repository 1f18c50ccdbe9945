/*
 * Products by a processor's matrix unit (AMX, Intel's Architecture Instruction Set Extensions): eight registers of up to
 * 16 rows of 64 bytes, tiles, and an instruction that multiplies two of them and adds to a third.  C[m][n] += A[m] B[n]:
 * a row of A is a column of activations, and a column of B a row of weights, so that a line of C is 16 rows side by
 * side, as they are in the registers of avx512.
 *
 * planes.c: weights in lanes (planes/), whose sums of bytes are exact, so that results are the bits that avx512vnni has.
 * bf16.c: weights of bf16.  rounded.c: in precision fast those of all other types, rounded to bf16.
 *
 * A process asks the system for permission before its first tile (device/machine.c).  A thread says how large its tiles
 * are before it uses them, and gives them back at the end of a call, or the system would keep 8 KiB of them at every
 * change of threads.  What the instructions are given is in assembler: some compilers' functions for it do not say that
 * they read memory.
 */
#ifndef CPU_TILES_H
#define CPU_TILES_H

#include <stdbool.h>
#include <stdint.h>

#define TILE_ROWS 16
#define TILE_LINE 64 /* bytes */

/* How large tiles are, as ldtilecfg reads it. */
typedef struct tile_shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} tile_shapes;

static inline void tile_shape(tile_shapes *s, int tile, int rows, int bytes)
{
    s->palette = 1;
    s->rows[tile] = (uint8_t)rows;
    s->bytes[tile] = (uint16_t)bytes;
}

static inline void tiles_configure(const tile_shapes *s)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*s) : "memory");
}

static inline void tiles_release(void)
{
    __asm__ volatile("tilerelease" : : : "memory");
}

/* Tiles are numbers written out; lines `stride` bytes apart. */
#define TILE_LOAD(t, from, stride)                                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(from), "r"((int64_t)(stride)) : "memory")
#define TILE_STORE(t, to, stride)                                                                                      \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(to), "r"((int64_t)(stride)) : "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
/* Of bytes with a sign; the second without; of bf16. */
#define TILE_BYTES(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define TILE_BYTES_UNSIGNED(c, a, b) __asm__ volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define TILE_BF16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")

#endif
