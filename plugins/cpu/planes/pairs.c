/*
 * Weights in lanes times columns in planes (planes.h) by products of small matrices, two rows of eight bytes by two columns
 * of eight (NEON with i8mm).  A panel's lines are put side by side in pairs: eight elements of two rows are a register, and
 * eight of two columns another, whose product is four sums.  These are the sums that dot products give, and it goes on with
 * them as there, so that results are the same bits.  Few columns are left to dot products.
 *
 * By count, exact, 16 rows, 2 columns and 32 elements: 96 products, 24 exchanges of sums and what puts these together, 56
 * operations, where dot products are 192 and 56.
 */
#include "config.h"

#include "run.h"

extern const cpu_interleaved cpu_planes_neondot;

#define PAIRS (STRIP / 2)               /* of rows                        */
#define STEPS (GROUP / 8)               /* eight elements, of a group     */
#define STEP_BYTES (8 * STRIP)

/* -- lines ----------------------------------------------------------------------------------------- */

/* Two lines become a step: of each register of rows the first two rows' words of both lines, then
 * those of the other two.  Numbers lose their bias, or are given it back. */
CPU_INLINE void pair_lines(uint8_t *step, int bias)
{
    uint32x4_t first[VECTORS], second[VECTORS];
    CPU_UNROLL
    for (int r = 0; r < VECTORS; r++) {
        first[r] = vreinterpretq_u32_u8(vsubq_u8(vld1q_u8(step + 16 * r), vdupq_n_u8((uint8_t)bias)));
        second[r] = vreinterpretq_u32_u8(vsubq_u8(vld1q_u8(step + LINE + 16 * r), vdupq_n_u8((uint8_t)bias)));
    }
    CPU_UNROLL
    for (int r = 0; r < VECTORS; r++) {
        vst1q_u8(step + 32 * r, vreinterpretq_u8_u32(vzip1q_u32(first[r], second[r])));
        vst1q_u8(step + 32 * r + 16, vreinterpretq_u8_u32(vzip2q_u32(first[r], second[r])));
    }
}

static void pair_all(uint8_t *lines, int64_t bytes, int bias)
{
    for (int64_t i = 0; i < bytes; i += STEP_BYTES)
        pair_lines(lines + i, bias);
}

/* A group's lines as they were. */
static void unpair(const uint8_t *steps, int bias, uint8_t *lines)
{
    for (int s = 0; s < STEPS; s++, steps += STEP_BYTES, lines += STEP_BYTES)
        for (int r = 0; r < VECTORS; r++) {
            const uint32x4_t a = vreinterpretq_u32_u8(vld1q_u8(steps + 32 * r));
            const uint32x4_t b = vreinterpretq_u32_u8(vld1q_u8(steps + 32 * r + 16));
            const uint8x16_t raise = vdupq_n_u8((uint8_t)bias);
            vst1q_u8(lines + 16 * r, vaddq_u8(vreinterpretq_u8_u32(vuzp1q_u32(a, b)), raise));
            vst1q_u8(lines + LINE + 16 * r, vaddq_u8(vreinterpretq_u8_u32(vuzp2q_u32(a, b)), raise));
        }
}

/* -- tiles ----------------------------------------------------------------------------------------- */

#define MOST_PAIRS ((TILE + 1) / 2) /* of columns */

/* Steps of a part: sums of pairs of rows and pairs of columns, of which the last may be a column twice. */
CPU_INLINE void multiply_pairs(const uint8_t *steps, const tile_columns *x, const int first, const int n, const int planes,
                               const int cols, int32x4_t s[PAIRS][MOST_PAIRS][EXACT])
{
    CPU_UNROLL
    for (int i = 0; i < n; i++) {
        int8x16_t b[MOST_PAIRS][EXACT];
        CPU_UNROLL
        for (int c = 0; c < cols; c += 2)
            CPU_UNROLL
            for (int p = 0; p < planes; p++) {
                const int at = GROUP * p + 8 * (first + i);
                b[c / 2][p] = vcombine_s8(vld1_s8((const int8_t *)x->packed[c] + at),
                                          vld1_s8((const int8_t *)x->packed[c + 1 < cols ? c + 1 : c] + at));
            }
        CPU_UNROLL
        for (int r = 0; r < PAIRS; r++) {
            const int8x16_t a = vld1q_s8((const int8_t *)steps + (first + i) * STEP_BYTES + 16 * r);
            CPU_UNROLL
            for (int c = 0; c < cols; c += 2)
                CPU_UNROLL
                for (int p = 0; p < planes; p++)
                    s[r][c / 2][p] = vmmlaq_s32(i ? s[r][c / 2][p] : vdupq_n_s32(0), a, b[c / 2][p]);
        }
    }
}

/* Those of column c and register r, as dot products would have given them. */
CPU_INLINE void column_sums(int32x4_t s[PAIRS][MOST_PAIRS][EXACT], const int r, const int c, const int planes, vi *sums)
{
    CPU_UNROLL
    for (int p = 0; p < planes; p++) {
        const int32x4_t a = s[2 * r][c / 2][p], b = s[2 * r + 1][c / 2][p];
        sums[p] = (vi)(c % 2 ? vuzp2q_s32(a, b) : vuzp1q_s32(a, b));
    }
}

/* Elements of a column that are set apart, with the numbers as they were. */
static __attribute__((noinline)) void add_those_apart(const uint8_t *steps, uint32_t apart, const int begin, const int end,
                                                      const part_factors f, const planes_form form, int bias,
                                                      const tile_columns *x, int c, vf sum[VECTORS])
{
    uint8_t lines[GROUP * STRIP];
    unpair(steps, bias, lines);
    for (int r = 0; r < VECTORS; r++) {
        const vf d = scale_of_part(f, r, form.joint);
        sum[r] = meet_apart(apart, begin, end, lines + 4 * ROWS * r, d,
                            form.minima ? v_load(f.m + r * ROWS) : d * -(float)bias, x->g, x->first + c, x->k, sum[r]);
    }
}

CPU_INLINE void meet_part(const uint8_t *steps, const tile_columns *x, const int p, const part_factors f,
                          const planes_form form, int bias, const int planes, const int cols, joint_sums joint,
                          span_apart *apart, vf sum[TILE][VECTORS])
{
    const int n = STEPS / form.parts, each = GROUP / form.parts;
    int32x4_t s[PAIRS][MOST_PAIRS][EXACT];
    multiply_pairs(steps, x, p * n, n, planes, cols, s);
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        CPU_UNROLL
        for (int r = 0; r < VECTORS; r++) {
            vi sums[EXACT];
            column_sums(s, r, c, planes, sums);
            sum[c][r] = add_sum(sums, x->packed[c], p, factors_of_vector(f, r), form, bias, planes, joint[r][c], sum[c][r]);
        }
        uint32_t bits = 0;
        if (planes > 1)
            memcpy(&bits, x->packed[c] + parts_of(form, planes).apart, 4);
        if (__builtin_expect(bits != 0, 0))
            add_those_apart(steps, bits, p * each, (p + 1) * each, f, form, bias, x, c, sum_apart(apart, c));
    }
}

CPU_INLINE void meet_panel(const strip_panel *w, int64_t groups, const planes_form form, int bias, const int planes,
                           const int cols, const tile_columns *given, const strip_ask *ask, vf sum[TILE][VECTORS])
{
    const bool in_spans = planes > 1;
    tile_columns own = {.g = given->g, .first = given->first, .k = given->k};
    span_sums span;
    joint_sums joint;
    span_apart apart;
    if (in_spans)
        begin_span(span, joint, &apart, cols);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        own.packed[c] = given->packed[c];
    for (int64_t i = 0; i < groups; i++) {
        ask_next(ask, i);
        CPU_UNROLL
        for (int p = 0; p < form.parts; p++) {
            const int64_t factor = (i * form.parts + p) * STRIP;
            const part_factors f = factors_from(&w->factors, factor, i / (SPAN / GROUP));
            meet_part(w->lines + i * GROUP * STRIP, &own, p, f, form, bias, planes, cols, joint, &apart,
                      in_spans ? span : sum);
        }
        next_group(&own, planes_group_bytes(form, planes), cols);
        if (in_spans && ends_span(i, groups)) {
            end_span(span, joint, &apart, w->factors.by + i / (SPAN / GROUP) * STRIP, &own, form, cols, sum);
            begin_span(span, joint, &apart, cols);
        }
    }
}

#define TILES(name, group, raised, minima, factors)                                                                    \
    static void tile_##name(const strip_panel *w, int64_t groups, int bias, int planes, int cols, tile_columns *x,     \
                            const strip_ask *ask, vf sum[TILE][VECTORS])                                               \
    {                                                                                                                  \
        EACH_WAY(EXACT_COLS, FAST_COLS,                                                                                \
                 meet_panel(w, groups, FORM_OF(group, raised, minima, factors), bias, P, C, x, ask, sum));             \
    }
LINES_FORMS(TILES)

/* -- all ------------------------------------------------------------------------------------------- */

static void run_rows(const cpu_gemm *g, int planes, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (left_to(&cpu_planes_neondot, false, g, planes, m0, m1, scratch))
        return;
    planes_run w = run_of(g, planes, scratch);
    w.prepare = pair_all;
    run_panels(&w, m0, m1);
}

PRODUCTS(exact, EXACT)
PRODUCTS(fast, 1)

const cpu_interleaved cpu_planes_pairs = {
    .exact = {scratch_bytes_exact, packed_bytes_exact, pack_exact, rows_exact, grain, column_bytes_exact},
    .fast = {scratch_bytes_fast, packed_bytes_fast, pack_fast, rows_fast, grain, column_bytes_fast},
    .types = 0 LANES_TYPES(EU_LANES_BIT),
};
