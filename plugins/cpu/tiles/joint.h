/*
 * Weights in lanes whose factors are joint (planes/planes.h), times columns in planes, by tiles in exact: how columns and
 * weights are laid out for that (joint_operands.c), and how they meet (joint.c).
 *
 * An element of a block of 256 is an integer, its number times its group's, times what the block has of f32.  So rows of a
 * block are bytes to begin with: integers of up to eight bits, or a lower part of eight bits and an upper one.  Products with
 * a column's three digits are summed in a tile each until the block is done, exactly, and to the sums that dot products have,
 * which multiply each group's by its number.  Lines of tiles are full, and a tile is stored once for 256 elements, not for 32.
 */
#ifndef CPU_TILES_JOINT_H
#define CPU_TILES_JOINT_H

#include "../planes/types.h"
#include "asks.h"
#include "tiles.h"
#include "variant.h"

#define JOINT_GROUPS (SPAN / GROUP)
#define JOINT_UNITS (SPAN / 16)          /* of which a block has a number and a minimum, or half as many */
#define JOINT_LINES (SPAN / TILE_LINE)   /* tiles of a digit, or of a part of a vector's integers        */
#define JOINT_TILE (TILE_ROWS * TILE_LINE)
#define JOINT_PART INTEGERS_PART
#define JOINT_STRIPS 8                    /* that meet a tile of columns one after another                */
#define JOINT_COLUMNS 192                 /* of which results stay near                                    */

/* 16 columns' block: of each 64 elements three tiles of digits, the highest last, and what belongs to columns. */
typedef struct joint_columns {
    uint8_t digits[JOINT_LINES][EXACT][TILE_ROWS][TILE_LINE];
    float factor[TILE_ROWS], elements[JOINT_UNITS][TILE_ROWS];
    uint32_t apart[JOINT_GROUPS][TILE_ROWS];
} joint_columns;

/* A strip's block (planes/integers.h); `least` is what minima and biases are together. */
typedef struct joint_strip {
    uint8_t parts[VECTORS][2][JOINT_PART];
    float m[JOINT_UNITS * STRIP], least[JOINT_UNITS * STRIP], by[STRIP];
    vf n[JOINT_UNITS * VECTORS]; /* integers */
} joint_strip;

/* What is known of a type: units of a block, are integers bytes, are there minima, the bias of numbers. */
typedef struct joint_form {
    int units;
    bool bytes, minima;
    int bias;
} joint_form;
joint_form cpu_joint_form(uint32_t type);

/* Columns c0 .. c1 - 1 as blocks of 16 columns, one block of k behind the other; of k elements and n columns so many bytes. */
size_t cpu_joint_packed_bytes(int64_t k, int64_t n);
void cpu_joint_pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *packed);
/* Block k0 of columns c0 .. c1 - 1, which are packed one by one (planes/planes.h). */
void cpu_joint_bring(const cpu_gemm *g, const uint8_t *packed, int64_t k0, int64_t c0, int64_t c1, joint_columns *to);
/* Block k0 of rows m .. m + rows - 1; what comes next of them, or the next rows, is asked for meanwhile. */
void cpu_joint_weigh(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, bool asks, joint_strip *to);

/* From how many columns on that is faster than dot products. */
int64_t cpu_joint_least(uint32_t type);

/* Rows m0 .. m1 - 1 times all columns, packed together or one by one, with so much scratch; the calls of columns that all rows
 * meet. */
size_t cpu_joint_scratch(void);
void cpu_joint_rows(const cpu_gemm *g, const void *packed, bool together, int64_t m0, int64_t m1, uint8_t *scratch);
extern const cpu_products cpu_tiles_joint;

#endif
