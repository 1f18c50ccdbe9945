/* Strips of rows in lanes: met by a tile as they are, or written out as lines for many tiles. */
#ifndef CPU_PLANES_STRIPS_H
#define CPU_PLANES_STRIPS_H

#include "meet.h"

#define CHUNK SPAN /* elements whose factors are formed at once: a block or some */
#define FACTORS (CHUNK / 16 * STRIP)

/* -- one or two columns: numbers are made as they are met ------------------------------------- */

typedef void (*scales_of)(lanes_at block, float *d, float *m);
typedef vf (*joint_of)(lanes_at block, vi *n, float *m);

CPU_INLINE void zero(vf sum[TILE][VECTORS])
{
    for (int c = 0; c < TILE; c++)
        for (int r = 0; r < VECTORS; r++)
            sum[c][r] = (vf){0};
}

#define AHEAD 2560 /* bytes: far enough for the memory, and not more than a core can wait for */
#define NEAR 512   /* bytes: and for the second-level cache */

/* Factors of some blocks: of d and m as many as they have; of joint ones n, and `by`, in place of d, unless n is NULL. */
typedef struct strip_factors {
    float *d, *m, *by;
    vi *n;
} strip_factors;

CPU_INLINE part_factors factors_from(const strip_factors *f, const int64_t first, const int64_t joint_block)
{
    return (part_factors){f->d + first, f->m + first, f->by + joint_block * STRIP, f->n ? f->n + first / ROWS : NULL};
}

/* Those of the next block, which has so many. */
CPU_INLINE strip_factors behind(const strip_factors f, const int factors)
{
    const bool joint = f.n != NULL;
    return (strip_factors){f.d + factors * STRIP, f.m + factors * STRIP, joint ? f.by + STRIP : NULL,
                           joint ? f.n + factors * VECTORS : NULL};
}

CPU_INLINE void chunk_scales(const strip_rows *w, const scales_of scales, const int blocks, const int bytes,
                             const int factors, const strip_factors *f)
{
    for (int r = 0; r < VECTORS; r++)
        for (int b = 0; b < blocks; b++)
            scales(lanes_behind(w->at[r], b * bytes * EU_LANES), f->d + b * factors * STRIP + r * ROWS,
                   f->m + b * factors * STRIP + r * ROWS);
}

/* Those of a joint block. */
CPU_INLINE void joint_scales(const strip_rows *w, const joint_of numbers, const int factors, const strip_factors *f)
{
    for (int r = 0; r < VECTORS; r++) {
        vi n[SPAN / 16];
        const vf by = numbers(w->at[r], n, f->m + r * ROWS);
        v_store(f->by + r * ROWS, by);
        CPU_UNROLL
        for (int i = 0; i < factors; i++)
            f->n[i * VECTORS + r] = p_number(n[i]);
    }
}

/* To the next block. */
CPU_INLINE void next_block(strip_rows *w, const int bytes)
{
    for (int r = 0; r < VECTORS; r++)
        w->at[r] = lanes_behind(w->at[r], bytes * EU_LANES);
}

/* How far ahead is asked: to the next block at least, of which factors are needed first. */
#define AHEAD_OF(bytes) ((bytes) * EU_LANES > AHEAD ? (bytes) * EU_LANES : AHEAD)

/* From where on a block asks, `left` bytes before its rows end and the next strip's begin: behind those of the
 * strip's other rows. */
CPU_INLINE int64_t asks_from(const cpu_gemm *g, int64_t left, const int bytes)
{
    return AHEAD_OF(bytes) + (AHEAD_OF(bytes) < left ? 0 : (STRIP - EU_LANES) * g->stride);
}

/* What is asked for while a strip is met: of its groups of rows first .. end - 1, what lies `from` bytes behind that
 * which is met; 0: what comes next of the strip. */
typedef struct strip_far {
    int64_t from;
    int first, end;
} strip_far;
#define ALL_AHEAD ((strip_far){0, 0, STRIP / EU_LANES})

/* A strip that is met more than once lies in the second-level cache from the second time on.  So that the memory does not
 * rest meanwhile, each time asks for a part of the next strip; the first strip of all, for its own. */
CPU_INLINE strip_far far_of(const cpu_gemm *g, int64_t time, int64_t times, bool first)
{
    const int64_t groups = STRIP / EU_LANES;
    if (times == 1 || (first && time == 0))
        return ALL_AHEAD;
    return (strip_far){STRIP * g->stride, (int)(groups * time / times), (int)(groups * (time + 1) / times)};
}

/* Asks for a group's share, `bytes` from `far` on, since more at once are more misses than a core can have; and for `bytes` from
 * `near` on once more, which were asked for before. */
CPU_INLINE void ask_ahead(const strip_rows *w, int64_t far, int64_t near, const int bytes, int first, int end)
{
    CPU_UNROLL
    for (int r = 0; r < STRIP / EU_LANES; r++) {
        if (r >= first && r < end)
            CPU_UNROLL
            for (int i = 0; i < bytes; i += 64)
                ask_far(group_at(w->at, r) + far + i);
        CPU_UNROLL
        for (int i = 0; i < bytes; i += 64)
            __builtin_prefetch(group_at(w->at, r) + near + i, 0, 3);
    }
}

CPU_INLINE void strip_now(const line_of line, const lines_of write, const scales_of scales, const joint_of numbers,
                          const int elements, const int bytes, const int same, const planes_form form, int bias,
                          const int planes, const int cols, strip_rows w, strip_far far, tile_columns *x,
                          vf sum[TILE][VECTORS])
{
    const bool are_joint = planes_are_joint(form, planes), in_spans = planes > 1;
    const int groups = elements / GROUP, factors = groups * form.parts;
    const int64_t each = planes_group_bytes(form, planes);
    zero(sum);
    for (int64_t blocks = x->g->k / elements; blocks > 0; blocks -= CHUNK / elements) {
        const int n = blocks < CHUNK / elements ? (int)blocks : CHUNK / elements;
        float d[FACTORS], m[FACTORS], by[STRIP];
        vi integers[FACTORS / ROWS];
        const strip_factors f = {d, m, by, integers};
        span_sums span;
        joint_sums joint;
        span_apart apart;
        if (are_joint)
            joint_scales(&w, numbers, factors, &f);
        else
            chunk_scales(&w, scales, n, bytes, factors, &f);
        if (in_spans)
            begin_span(span, joint, &apart, cols);
        for (int b = 0; b < n; b++) {
            const int64_t ask = far.from ? far.from : asks_from(x->g, (blocks - b) * bytes * EU_LANES, bytes);
            for (int j = 0; j < groups; j += same) {
                CPU_UNROLL
                for (int i = 0; i < same; i++, next_group(x, each, cols)) {
                    const int first = (b * groups + j + i) * form.parts * STRIP;
                    const int share = bytes * EU_LANES / groups, begin = (j + i) * share;
                    ask_ahead(&w, ask + begin, NEAR + begin, share, far.first, far.end);
                    meet(line, write, &w, j + i, factors_from(&f, first, 0), x, form, bias, planes, cols, joint, &apart,
                         in_spans ? span : sum);
                }
            }
            next_block(&w, bytes);
        }
        if (in_spans)
            end_span(span, joint, &apart, by, x, form, cols, sum);
    }
}

/* -- more: lines ------------------------------------------------------------------------------ */

CPU_INLINE void line_store(uint8_t *p, vu line)
{
    memcpy(p, &line, sizeof line);
}

/* Where a strip of rows begins at element k0.  Where only eight are left the second eight are the first again. */
CPU_INLINE strip_rows rows_at(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0)
{
    const uint8_t *at = g->a + (m - g->row0) * g->stride + k0 / g->block * g->block_bytes * EU_LANES;
    strip_rows w;
    for (int r = 0; r < STRIP / EU_LANES; r++)
        group_put(w.at, r, rows > r * EU_LANES ? at + r * EU_LANES * g->stride : at);
    return w;
}

/* A panel of a strip.  `asked`: who meets it asks for what comes next. */
typedef struct strip_panel {
    uint8_t *lines;
    strip_factors factors;
    bool asked;
} strip_panel;

/* How its lines are written: as numbers are met by dot products, or for tiles (../tiles/planes.h), whose bytes have a sign:
 * without their bias; of those that share a scale 16 times the numbers, then the numbers. */
enum { AS_MET, LOWERED, WIDENED };

CPU_INLINE void put_line(vu line, const int l, const int how, const planes_form form, int bias, uint8_t *lines)
{
    const int lines_each = LINES_EACH / form.parts, before = how == WIDENED ? l / lines_each * lines_each : 0;
    const vu lowered = how == AS_MET ? line : (vu)((vbytes)line - (vbytes)w_all(bias));
    if (how == WIDENED)
        line_store(lines + (l + before) * LINE, w_field(lowered, -4, 0xf0));
    line_store(lines + (l + before + (how == WIDENED ? lines_each : 0)) * LINE, lowered);
}

CPU_INLINE void panel_of(const line_of line, const scales_of scales, const joint_of numbers, const int elements,
                         const int bytes, const planes_form form, const int bias, const int how, const cpu_gemm *g, int64_t k0, int64_t kc,
                         strip_rows w, const strip_panel *to)
{
    const int groups = elements / GROUP, factors = groups * form.parts;
    uint8_t *lines = to->lines;
    strip_factors f = to->factors;
    for (int64_t b = 0; b < kc / elements; b++) {
        const int64_t ask = asks_from(g, ((g->k - k0) / elements - b) * bytes * EU_LANES, bytes);
        if (form.joint && f.n)
            joint_scales(&w, numbers, factors, &f);
        else
            chunk_scales(&w, scales, 1, bytes, factors, &f);
        f = behind(f, factors);
        CPU_UNROLL
        for (int j = 0; j < groups; j++, lines += GROUP * STRIP * (how == WIDENED ? 2 : 1)) {
            const int share = bytes * EU_LANES / groups, begin = j * share;
            if (how == AS_MET && !to->asked)
                ask_ahead(&w, ask + begin, NEAR + begin, share, 0, STRIP / EU_LANES);
            CPU_UNROLL
            for (int l = 0; l < LINES_EACH; l++)
                CPU_UNROLL
                for (int r = 0; r < VECTORS; r++)
                    put_line(line(w.at[r], j, l), l, how, form, bias, lines + 4 * ROWS * r);
        }
        next_block(&w, bytes);
    }
}

/* What of the next panel a tile asks for, into the second-level cache: of each eight rows from `at` on, some bytes with
 * each of its groups. */
typedef struct strip_ask {
    const uint8_t *at[STRIP / EU_LANES];
    int64_t bytes;
} strip_ask;

CPU_INLINE void ask_next(const strip_ask *ask, int64_t group)
{
    const uint8_t *p = ask->at[group % (STRIP / EU_LANES)] + group / (STRIP / EU_LANES) * ask->bytes;
    for (int64_t b = 0; b < ask->bytes; b += 64)
        ask_far(p + b);
}

/* Of so many groups: does a span end behind that one? */
CPU_INLINE bool ends_span(int64_t group, int64_t groups)
{
    return (group + 1) % (SPAN / GROUP) == 0 || group + 1 == groups;
}

/* Columns come from the second-level cache or beyond: it is some 3 % to ask for them, or not to. */
#define ASK_COLUMNS (CPU_REGISTERS == 16)

/* The panel times a tile.  Sums and where columns are is copied, to registers. */
CPU_INLINE void panel_tile(const strip_panel *w, int64_t groups, const planes_form form, int bias, const int planes,
                           const int cols, const tile_columns *given, const strip_ask *ask,
                           vf total[TILE][VECTORS])
{
    const int each = (int)planes_group_bytes(form, planes);
    tile_columns own = {.g = given->g, .first = given->first, .k = given->k}, *const x = &own;
    const bool in_spans = planes > 1;
    vf sum[TILE][VECTORS];
    span_sums span;
    joint_sums joint;
    span_apart apart;
    if (in_spans)
        begin_span(span, joint, &apart, cols);
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        x->packed[c] = given->packed[c];
        for (int r = 0; r < VECTORS; r++)
            sum[c][r] = total[c][r];
    }
    for (int64_t i = 0; i < groups; i++) {
        strip_rows rows;
        for (int r = 0; r < VECTORS; r++)
            rows.at[r].of[0] = w->lines + i * GROUP * STRIP + 4 * ROWS * r;
        const int64_t first = i * form.parts * STRIP;
        ask_next(ask, i);
        CPU_UNROLL
        for (int c = 0; c < cols && ASK_COLUMNS; c++)
            CPU_UNROLL
            for (int b = 0; b < each; b += 64)
                __builtin_prefetch(x->packed[c] + 3 * each + b, 0, 3);
        meet(line_written, NULL, &rows, 0, factors_from(&w->factors, first, i / (SPAN / GROUP)), x, form, bias, planes, cols,
             joint, &apart, in_spans ? span : sum);
        next_group(x, each, cols);
        if (in_spans && ends_span(i, groups)) {
            end_span(span, joint, &apart, w->factors.by + i / (SPAN / GROUP) * STRIP, x, form, cols, sum);
            begin_span(span, joint, &apart, cols);
        }
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        for (int r = 0; r < VECTORS; r++)
            total[c][r] = sum[c][r];
}

#endif
