/*
 * Weights of bf16 with rows side by side (EU_STRIP, two elements of each in a word) times columns rounded to bf16, by products of
 * small matrices (NEON with bf16): two rows of four elements by two columns of four.  Two lines of words are exchanged in pairs as they
 * are loaded, so that a register has four elements of two rows; its product with those of two columns is added to four sums.
 *
 * By count, eight rows, twelve columns and four elements: 24 products beside 8 loads and exchanges of weights and 6 loads of
 * columns, where multiply-adds of floats are 96.  A single column takes no longer than reading its weights, rounded or not.
 */
#include "config.h"

/* What CFLAGS may leave out, before arm_neon.h is included (planes.h). */
#if !defined(__clang__) && !defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#if __ARM_ARCH >= 9
#pragma GCC target("arch=armv9-a+i8mm+bf16")
#else
#pragma GCC target("arch=armv8.2-a+dotprod+i8mm+bf16")
#endif
#endif

#include "../cpu.h"
#include "../ops/gemm.h"
#include "../ops/panels.h"

#include "libengine/util/util.h"

#define STEP 4             /* elements of k: of two lines                     */
#define PANEL 512          /* of k: a tile's columns of them stay near          */
#define ROWS 8             /* of a tile                                        */
#define TILE 12            /* columns: 24 registers of sums                     */
#define QUADS (ROWS / 4)   /* registers of words in a line                     */
#define LINE (4 * EU_STRIP)
#define STEP_BYTES (2 * LINE)

/* A packed pair of columns: of each step four elements of the one, then of the other; zeros for what is not there. */
static int64_t pair_bytes(int64_t k)
{
    return (k + STEP - 1) / STEP * 16;
}

/* -- columns ------------------------------------------------------------------------------------------ */

/* Four elements from k0 on, as they are packed. */
static void put_step(const cpu_gemm *g, int64_t c, int64_t k0, uint8_t *to)
{
    float buffer[STEP];
    const bfloat16x4_t four = vcvt_bf16_f32(vld1q_f32(cpu_gemm_elements(g, c, k0, STEP, buffer)));
    vst1_bf16((bfloat16_t *)to, four);
}

static void pack_column(const cpu_gemm *g, int64_t c, uint8_t *out)
{
    uint8_t *to = out + c / 2 * pair_bytes(g->k) + 8 * (c % 2);
    const bool alone = c % 2 == 0 && c + 1 == g->n;
    for (int64_t k0 = 0; k0 < g->k; k0 += STEP, to += 16) {
        put_step(g, c, k0, to);
        if (alone)
            memset(to + 8, 0, 8);
    }
}

/* -- tiles --------------------------------------------------------------------------------------------- */

/* Elements of a strip from row m on, and of columns. */
typedef struct pairs_tile {
    const uint8_t *w, *ask; /* what is asked for meanwhile, two lines a step */
    const uint8_t *x;       /* the first pair                                 */
    int64_t pair;           /* bytes from one to the next                     */
    int64_t steps;
    bool half;              /* the last step has one line of weights alone     */
    float *const *o;
    int64_t m;
    bool first;
} pairs_tile;

/* The rows' words of two lines (the second may be none) in pairs of rows. */
CPU_INLINE void load_rows(const uint8_t *w, const bool both, bfloat16x8_t a[ROWS / 2])
{
    CPU_UNROLL
    for (int q = 0; q < QUADS; q++) {
        const uint32x4_t low = vld1q_u32((const uint32_t *)w + 4 * q);
        const uint32x4_t high = both ? vld1q_u32((const uint32_t *)(w + LINE) + 4 * q) : vdupq_n_u32(0);
        a[2 * q] = vreinterpretq_bf16_u32(vzip1q_u32(low, high));
        a[2 * q + 1] = vreinterpretq_bf16_u32(vzip2q_u32(low, high));
    }
}

CPU_INLINE void step(const pairs_tile *t, int64_t i, const bool both, const int pairs, float32x4_t sum[ROWS / 2][TILE / 2])
{
    bfloat16x8_t a[ROWS / 2];
    load_rows(t->w + i * STEP_BYTES, both, a);
    CPU_UNROLL
    for (int p = 0; p < pairs; p++) {
        const bfloat16x8_t b = vld1q_bf16((const bfloat16_t *)(t->x + p * t->pair + 16 * i));
        CPU_UNROLL
        for (int r = 0; r < ROWS / 2; r++)
            sum[r][p] = vbfmmlaq_f32(sum[r][p], a[r], b);
    }
}

/* Results of four rows and a column: those there before, and more. */
CPU_INLINE void put(float *o, bool first, float32x4_t sum)
{
    vst1q_f32(o, first ? sum : vaddq_f32(vld1q_f32(o), sum));
}

CPU_INLINE void tile(const pairs_tile *t, const int cols)
{
    const int pairs = (cols + 1) / 2;
    float32x4_t sum[ROWS / 2][TILE / 2];
    CPU_UNROLL
    for (int r = 0; r < ROWS / 2; r++)
        CPU_UNROLL
        for (int p = 0; p < pairs; p++)
            sum[r][p] = vdupq_n_f32(0);
    const int64_t whole = t->steps - t->half;
    for (int64_t i = 0; i < whole; i++) {
        step(t, i, true, pairs, sum);
        ask_far(t->ask + i * STEP_BYTES);
    }
    if (t->half)
        step(t, whole, false, pairs, sum);
    CPU_UNROLL
    for (int p = 0; p < pairs; p++)
        CPU_UNROLL
        for (int q = 0; q < QUADS; q++) {
            const float32x4_t a = sum[2 * q][p], b = sum[2 * q + 1][p];
            put(t->o[2 * p] + t->m + 4 * q, t->first, vuzp1q_f32(a, b));
            if (2 * p + 1 < cols)
                put(t->o[2 * p + 1] + t->m + 4 * q, t->first, vuzp2q_f32(a, b));
        }
}

#define CASE(n) case n: tile(t, n); break;
static void tiles(const pairs_tile *t, int64_t cols)
{
    switch (cols) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
    default: break;
    }
}

/* -- all ------------------------------------------------------------------------------------------------- */

typedef struct pairs_run {
    const cpu_gemm *g;
    const uint8_t *x;
} pairs_run;

static const uint8_t *strip_at(const cpu_gemm *g, int64_t m, int64_t k0)
{
    return g->a + (m - g->row0) * g->stride + k0 / 2 * LINE;
}

static void run_panel(const void *what, const cpu_panel *p)
{
    const pairs_run *run = what;
    const cpu_gemm *g = run->g;
    const int64_t kc = g->k - p->k0 < PANEL ? g->k - p->k0 : PANEL, pair = pair_bytes(g->k);
    const uint8_t *w = strip_at(g, p->m, p->k0), *next = strip_at(g, p->next_m, p->next_k0);
    for (int64_t c = p->c0; c < p->c1; c += TILE) {
        const int64_t cols = p->c1 - c < TILE ? p->c1 - c : TILE;
        for (int64_t r = 0; r < p->rows; r += ROWS) {
            const pairs_tile t = {.w = w + 4 * r, .ask = c == p->c0 ? next + 64 * (r / ROWS) : w, .x = run->x + c / 2 * pair + p->k0 / STEP * 16,
                                  .pair = pair, .steps = (kc + STEP - 1) / STEP, .half = kc % STEP != 0, .o = g->o + c,
                                  .m = p->m + r, .first = p->k0 == 0};
            tiles(&t, cols);
        }
    }
}

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    (void)type;
    return cpu_aligned((size_t)((n + 1) / 2 * pair_bytes(k)));
}

static void pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)
{
    for (int64_t c = c0; c < c1; c++)
        pack_column(g, c, out);
}

static void rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    pairs_run run = {g, g->packed};
    if (m0 >= m1 || g->n == 0)
        return;
    if (!run.x) {
        pack(g, 0, g->n, scratch);
        run.x = scratch;
    }
    cpu_each_panel(g, m0, m1, EU_STRIP, PANEL, PANEL / STEP * 16 / 2, TILE, run_panel, &run);
}

static int64_t grain(int64_t n)
{
    (void)n;
    return EU_STRIP;
}

static bool takes(uint32_t type, uint32_t group, int64_t n)
{
    return type == ENG_TYPE_BF16 && group == EU_STRIP && n > 1;
}

const cpu_units cpu_units_pairs = {{packed_bytes, packed_bytes, pack, rows, grain, NULL}, takes, NULL};
