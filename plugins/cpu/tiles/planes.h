/*
 * Weights in lanes times columns in planes by tiles: what a chunk of k is made into before tiles meet it (chunk.c), and
 * how these meet (planes.c).  A unit is what has one scale, 32 or 16 elements: of 16 columns a tile for each sum, and of 16
 * rows one tile.
 */
#ifndef CPU_TILES_PLANES_H
#define CPU_TILES_PLANES_H

#include "../planes/types.h"
#include "asks.h"
#include "tiles.h"
#include "variant.h"

#define GROUPS (TILES_CHUNK / GROUP)
#define SOME_STRIPS 16   /* that meet a chunk of columns one after another, of which results stay near */
#define SOME_COLUMNS 192 /* of which a chunk stays in the second-level cache                           */

/*
 * Sums of a unit: three, of a plane each, or two of TWELVE bits.  Numbers of up to four bits have room for that: 12 bits
 * are 16 times a digit of eight plus one of four, so a column's line has the digits of all elements, then those of four
 * bits, and the rows' tile 16 times the numbers, then the numbers.  Two such sums are the same whole number as three of
 * planes are, with two products, and two tiles to be stored.  Precision fast has ONE: of the only digit.
 */
#define TWELVE 2
#define ONE 1
typedef struct tile_form {
    int elements; /* of a unit                  */
    int sums;     /* EXACT, TWELVE, or ONE      */
    bool minima;  /* as planes_form has them    */
    bool raised;  /* minima of raised numbers   */
    bool wide;    /* as planes_form has it      */
} tile_form;

/* Of a packed column, planes/planes.h. */
CPU_INLINE int planes_of(const tile_form form)
{
    return form.sums == ONE ? 1 : EXACT;
}

/* Of 16 columns, behind their digits. */
typedef struct unit_numbers {
    float factor[TILE_ROWS], elements[TILE_ROWS];
    uint32_t apart[TILE_ROWS]; /* bits of the group, those of the unit */
} unit_numbers;

/* Bytes of a column's line; of a sum's tile; of all of a unit, an odd number of cache lines; of a unit's lines of a strip. */
CPU_INLINE int64_t unit_line(const tile_form form)
{
    return form.sums == TWELVE ? 2 * form.elements : form.elements;
}
CPU_INLINE int64_t unit_tile(const tile_form form)
{
    return unit_line(form) * TILE_ROWS;
}
CPU_INLINE int64_t unit_bytes(const tile_form form)
{
    return form.sums * unit_tile(form) + (int64_t)sizeof(unit_numbers);
}
CPU_INLINE int64_t unit_lines(const tile_form form)
{
    return unit_line(form) * STRIP;
}
CPU_INLINE const unit_numbers *numbers_of(const uint8_t *unit, const tile_form form)
{
    return (const unit_numbers *)(unit + form.sums * unit_tile(form));
}

/* Of results: until all of k was met they are one after another. */
typedef float results[STRIP];

#define MOST_BYTES (2 * (TWELVE * GROUP * TILE_ROWS + (int)sizeof(unit_numbers))) /* of units of 16 columns, in 32 elements */
typedef struct workspace {
    _Alignas(64) results near[SOME_STRIPS][SOME_COLUMNS];
    uint8_t columns[SOME_COLUMNS / TILE_ROWS * GROUPS * MOST_BYTES];
    uint8_t lines[GROUPS * 2 * GROUP * STRIP];
    float d[2 * GROUPS * STRIP], m[2 * GROUPS * STRIP];
} workspace;

/* Some strips, rows m .. end - 1, columns c0 .. c1 - 1, and a chunk of k. */
typedef struct tile_run {
    const cpu_gemm *g;
    planes_form given;
    tile_form form;
    bool in_units; /* the columns are packed so */
    const uint8_t *packed;
    workspace *near;
    int64_t m, end, c0, c1, k0, units;
    const uint8_t *x;    /* the chunk's units of the first 16 columns */
    int64_t next;        /* bytes to those of the next 16             */
    tile_asks *asks;     /* for columns, and for lines                */
    int *shaped;         /* for how many columns tiles are; 0: none  */
} tile_run;

/*
 * Columns as units: of 16 (or fewer, and zeros) all units of k, then those of the next 16.  Columns are packed so where all
 * rows meet all of them.  An expert's are chosen of those of many, which are packed one by one (planes/planes.h); of these a
 * chunk of k is brought together before strips meet it.
 */
size_t cpu_tiles_column_bytes(tile_form form, int64_t k);
size_t cpu_tiles_packed_bytes(tile_form form, int64_t k, int64_t n);
void cpu_tiles_pack(const cpu_gemm *g, tile_form form, int64_t c0, int64_t c1, uint8_t *packed);
void cpu_tiles_set_columns(tile_run *w);
tile_asks cpu_tiles_ask_columns(const tile_run *w); /* what comes after the chunk's */

/* The chunk of the strip that begins with row m, in lines and factors; what comes after it. */
void cpu_tiles_make_lines(const tile_run *w, int64_t m);
/* A group's as dot products meet them, of all its units. */
void cpu_tiles_lines_as_met(const tile_run *w, int64_t group, uint8_t to[GROUP * STRIP]);
tile_asks cpu_tiles_ask_lines(const tile_run *w, int64_t m);

#endif
