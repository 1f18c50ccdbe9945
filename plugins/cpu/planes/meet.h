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

/* What the sums of a group's part are multiplied by, a strip of each; of a joint block `n`, in place of d, which is it times
 * `by` of the block. */
typedef struct part_factors {
    const float *d, *m, *by;
    const vi *n;
} part_factors;

CPU_INLINE vf scale_of_part(const part_factors f, const int r, const bool joint)
{
    return joint ? v_load(f.by + r * ROWS) * p_float(f.n[r]) : v_load(f.d + r * ROWS);
}

CPU_INLINE part_factors part_from(const part_factors f, const int64_t first)
{
    return (part_factors){f.d + first, f.m + first, f.by + first % STRIP, f.n ? f.n + first / ROWS : NULL};
}
CPU_INLINE part_factors next_part(part_factors f)
{
    return part_from(f, STRIP);
}

CPU_INLINE part_factors factors_of_vector(const part_factors f, const int r)
{
    return part_from(f, r * ROWS);
}

/* A span's sums so far, in units of columns' scales; those of its planes, which are joint. */
typedef vf span_sums[TILE][VECTORS];
typedef vi joint_sums[VECTORS][TILE][EXACT];

/* And of columns' elements that are set apart, if there are any; which are in memory, as the above should not be. */
typedef struct span_apart {
    vf sum[TILE][VECTORS];
    bool any[TILE];
} span_apart;

/* A column's sums of a vector's part p, to its span's, or, with one plane, to all; joint ones plane by plane. */
CPU_INLINE vf add_sum(const vi *s, const uint8_t *packed, const int p, const part_factors f, const planes_form form,
                      int bias, const int planes, vi *joint, vf sum)
{
    const group_parts x = parts_of(form, planes);
    if (planes_are_joint(form, planes)) {
        CPU_UNROLL
        for (int i = 0; i < EXACT; i++)
            joint[i] = p_add_times(joint[i], s[i], *f.n);
    } else {
        const vf d = v_load(f.d);
        sum = v_fma(p_whole(s, planes), planes == 1 || form.wide ? d * (vf)w_four(packed + x.factor) : d, sum);
    }
    if (!form.minima)
        return sum;
    const vf d = form.bias ? scale_of_part(f, 0, planes_are_joint(form, planes)) : (vf){0};
    const vf least = form.bias ? v_fma(d, v_set1((float)bias), v_load(f.m)) : v_load(f.m);
    return v_fma(least, (vf)w_four(packed + x.elements + 4 * p), sum);
}

/* The same of a strip. */
CPU_INLINE void add_sums(const vi s[VECTORS][TILE][EXACT], const uint8_t *packed, const int p, const int c,
                         const part_factors f, const planes_form form, int bias, const int planes, joint_sums joint,
                         vf sum[VECTORS])
{
    CPU_UNROLL
    for (int r = 0; r < VECTORS; r++)
        sum[r] = add_sum(s[r][c], packed, p, factors_of_vector(f, r), form, bias, planes, joint[r][c], sum[r]);
}

CPU_INLINE void begin_span(span_sums span, joint_sums joint, span_apart *apart, const int cols)
{
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        apart->any[c] = false;
    CPU_UNROLL
    for (int r = 0; r < VECTORS; r++)
        CPU_UNROLL
        for (int c = 0; c < cols; c++) {
            span[c][r] = apart->sum[c][r] = (vf){0};
            CPU_UNROLL
            for (int i = 0; i < EXACT; i++)
                joint[r][c][i] = (vi){0};
        }
}

/* All of a span was met, of which `x` is behind the last group: it is added to the columns' sums.  `by`: what its factors are
 * multiples of, if they are joint. */
CPU_INLINE void end_span(span_sums span, joint_sums joint, const span_apart *apart, const float *by, const tile_columns *x,
                         const planes_form form, const int cols, vf sum[TILE][VECTORS])
{
    const int64_t last = parts_of(form, EXACT).factor - planes_group_bytes(form, EXACT);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < VECTORS; r++) {
            if (form.joint)
                span[c][r] = v_fma(p_joint(joint[r][c]), v_load(by + r * ROWS), span[c][r]);
            sum[c][r] = form.wide ? sum[c][r] + span[c][r] : v_fma(span[c][r], (vf)w_four(x->packed[c] + last), sum[c][r]);
        }
    for (int c = 0; c < cols; c++)
        for (int r = 0; r < VECTORS && __builtin_expect(apart->any[c], 0); r++)
            sum[c][r] += apart->sum[c][r];
}

/* Where elements of a column that are set apart are added. */
CPU_INLINE vf *sum_apart(span_apart *apart, const int c)
{
    apart->any[c] = true;
    return apart->sum[c];
}

/* And its elements that are set apart, if there are any, with lines from `begin` to `end`. */
CPU_INLINE void add_apart(const uint8_t *apart, const lines_of write, const strip_rows *w, const int group,
                          const int begin, const int end, const tile_columns *x, const int c, const part_factors f,
                          const planes_form form, int bias, span_apart *all)
{
    uint32_t bits;
    memcpy(&bits, apart, 4);
    if (__builtin_expect(bits == 0, 1))
        return;
    vf *const sum = sum_apart(all, c);
    uint8_t written[GROUP * STRIP];
    if (write)
        write(w, group, written);
    for (int r = 0; r < VECTORS; r++) {
        const vf d = scale_of_part(f, r, form.joint);
        sum[r] = meet_apart(bits, 4 * begin, 4 * end, write ? written + 4 * ROWS * r : w->at[r].of[0], d,
                            form.minima ? v_load(f.m + r * ROWS) : d * -(float)bias, x->g, x->first + c, x->k, sum[r]);
    }
}

/* A group of a strip times those of a tile, added to `sum`: the span's, or, with one plane, all.  `write` makes its lines, if
 * `line` does not read such. */
CPU_INLINE void meet(const line_of line, const lines_of write, const strip_rows *w, const int group, part_factors f,
                     const tile_columns *x, const planes_form form, int bias, const int planes, const int cols,
                     joint_sums joint, span_apart *apart, vf sum[TILE][VECTORS])
{
    const int lines = LINES_EACH / form.parts;
    const group_parts g = parts_of(form, planes);
    CPU_UNROLL
    for (int p = 0; p < form.parts; p++, f = next_part(f)) {
        vi s[VECTORS][TILE][EXACT];
        multiply(line, w, group, p * lines, lines, x, form.bias ? g.begin + 4 * p * planes : 0, planes, cols, s);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            add_sums(s, x->packed[c], p, c, f, form, bias, planes, joint, sum[c]);
        CPU_UNROLL
        for (int c = 0; c < cols && planes > 1; c++)
            add_apart(x->packed[c] + g.apart, write, w, group, p * lines, (p + 1) * lines, x, c, f, form, bias, apart);
    }
}

#endif
