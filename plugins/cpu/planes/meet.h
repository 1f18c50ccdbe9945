/*
 * A strip's group of 32 elements times a tile's (planes.h): what all products in planes are made of.  All that is known
 * of the type is a constant here, and what is written as loops and arrays becomes registers.
 */
#ifndef CPU_PLANES_MEET_H
#define CPU_PLANES_MEET_H

#include "lanes.h"

#define LINE (4 * STRIP) /* bytes: of all rows of a strip */

/* A tile's columns: packed, and as they are. */
typedef struct tile_columns {
    const uint8_t *packed[TILE]; /* a group (planes.h)                        */
    const cpu_gemm *g;
    int64_t first, k;            /* its first column; the group's first element */
} tile_columns;

CPU_INLINE void next_group(tile_columns *x, int64_t each, const int cols)
{
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        x->packed[c] += each;
    x->k += GROUP;
}

/* -- elements that are set apart ---------------------------------------------------------- */

static float element(const cpu_gemm *g, int64_t c, int64_t k)
{
    float x[GROUP];
    if (g->b_type == ENG_TYPE_F32)
        return ((const float *)g->b[c])[k];
    cpu_formats[g->b_type].decode(g->b[c], k, 1, x);
    return x[0];
}

/* Byte i of each lane, as it is multiplied. */
CPU_INLINE vi byte_from(vu v, int i)
{
    return PLANES_SIGNED ? (vi)(v << (24 - 8 * i)) >> 24 : (vi)(v >> 8 * i & 255);
}

/* Adds those of a part, times a vector's numbers, to a column's sums.  Lines are those of a group, of all the strip's
 * rows. */
static __attribute__((noinline)) vf meet_apart(uint32_t apart, int begin, int end, const uint8_t *lines, vf d, vf m,
                                                const cpu_gemm *g, int64_t c, int64_t k, vf sum)
{
    for (int i = begin; i < end; i++) {
        if (!(apart >> i & 1))
            continue;
        const vi number = byte_from((vu)v_loadi(lines + i / 4 * LINE), i % 4);
        const vf value = v_set1(element(g, c, k + i));
        sum = v_fma(v_fma(v_cvt(number), d, m), value, sum);
    }
    return sum;
}

/* -- a group --------------------------------------------------------------------------------- */

/* Where a strip's numbers are: in words of weights, of which a line is made, or in lines. */
typedef struct strip_rows {
    lanes_at at[VECTORS];
} strip_rows;
typedef vu (*line_of)(lanes_at block, const int group, const int line);
typedef void (*lines_of)(const strip_rows *block, int group, uint8_t *lines);

/* Lines have no gaps between groups of rows. */
CPU_INLINE vu line_written(lanes_at lines, const int group, const int line)
{
    (void)group;
    return (vu)v_loadi(lines.of[0] + line * LINE);
}

/* Products of a part's lines, from `line` on, in sums that begin with those at `begin`; 0: with none. */
CPU_INLINE void multiply(const line_of of, const strip_rows *w, const int group, const int line, const int lines,
                         const tile_columns *x, const int begin, const int planes, const int cols,
                         vi s[VECTORS][TILE][EXACT])
{
    CPU_UNROLL
    for (int l = 0; l < lines; l++) {
        vu a[VECTORS];
        CPU_UNROLL
        for (int r = 0; r < VECTORS; r++)
            a[r] = of(w->at[r], group, line + l);
        CPU_UNROLL
        for (int p = 0; p < planes; p++)
            CPU_UNROLL
            for (int c = 0; c < cols; c++) {
                const p_factor b = p_digits(x->packed[c] + GROUP * p, line + l);
                CPU_UNROLL
                for (int r = 0; r < VECTORS; r++)
                    if (l)
                        s[r][c][p] = p_add(s[r][c][p], a[r], b);
                    else
                        s[r][c][p] = p_begin(begin ? w_four(x->packed[c] + begin + 4 * p) : (vi){0}, a[r], b, begin);
            }
    }
}

/* Where the parts of a packed group are (planes.h), in bytes. */
typedef struct group_parts {
    int factor, begin, elements, apart;
} group_parts;

CPU_INLINE group_parts parts_of(const planes_form form, const int planes)
{
    group_parts g = {.factor = GROUP * planes};
    g.begin = g.factor + 4;
    g.elements = g.begin + (form.bias ? 4 * form.parts * planes : 0);
    g.apart = g.elements + (form.minima ? 4 * form.parts : 0);
    return g;
}

/* A column's sums of a vector's part p, with scales d and minima m. */
CPU_INLINE vf add_sum(const vi *s, const uint8_t *packed, const int p, const vf d, const vf m, const planes_form form,
                      int bias, const int planes, vf sum)
{
    const group_parts x = parts_of(form, planes);
    sum = v_fma(p_whole(s, planes), d * (vf)w_four(packed + x.factor), sum);
    if (!form.minima)
        return sum;
    const vf least = form.bias ? v_fma(d, v_set1((float)bias), m) : m;
    return v_fma(least, (vf)w_four(packed + x.elements + 4 * p), sum);
}

/* The same of a strip. */
CPU_INLINE void add_sums(const vi s[VECTORS][TILE][EXACT], const uint8_t *packed, const int p, const int c,
                         const float *d, const float *m, const planes_form form, int bias, const int planes,
                         vf sum[VECTORS])
{
    CPU_UNROLL
    for (int r = 0; r < VECTORS; r++)
        sum[r] = add_sum(s[r][c], packed, p, v_load(d + r * ROWS), form.minima ? v_load(m + r * ROWS) : (vf){0}, form,
                         bias, planes, sum[r]);
}

/* And its elements that are set apart, if there are any, with lines from `begin` to `end`. */
CPU_INLINE void add_apart(const uint8_t *apart, const lines_of write, const strip_rows *w, const int group,
                          const int begin, const int end, const tile_columns *x, const int c, const float *d,
                          const float *m, const planes_form form, int bias, vf sum[VECTORS])
{
    uint32_t bits;
    memcpy(&bits, apart, 4);
    if (__builtin_expect(bits == 0, 1))
        return;
    uint8_t written[GROUP * STRIP];
    if (write)
        write(w, group, written);
    for (int r = 0; r < VECTORS; r++) {
        const vf by = v_load(d + r * ROWS);
        sum[r] = meet_apart(bits, 4 * begin, 4 * end, write ? written + 4 * ROWS * r : w->at[r].of[0], by,
                            form.minima ? v_load(m + r * ROWS) : by * -(float)bias, x->g, x->first + c, x->k, sum[r]);
    }
}

/* A group of a strip times those of a tile, added to `sum`.  `write` makes its lines, if `line` does not read such. */
CPU_INLINE void meet(const line_of line, const lines_of write, const strip_rows *w, const int group, const float *d,
                     const float *m, const tile_columns *x, const planes_form form, int bias, const int planes,
                     const int cols, vf sum[TILE][VECTORS])
{
    const int lines = LINES_EACH / form.parts;
    const group_parts g = parts_of(form, planes);
    CPU_UNROLL
    for (int p = 0; p < form.parts; p++, d += NEXT, m += NEXT) {
        vi s[VECTORS][TILE][EXACT];
        multiply(line, w, group, p * lines, lines, x, form.bias ? g.begin + 4 * p * planes : 0, planes, cols, s);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            add_sums(s, x->packed[c], p, c, d, m, form, bias, planes, sum[c]);
        CPU_UNROLL
        for (int c = 0; c < cols && planes > 1; c++)
            add_apart(x->packed[c] + g.apart, write, w, group, p * lines, (p + 1) * lines, x, c, d, m, form, bias,
                      sum[c]);
    }
}

#endif
