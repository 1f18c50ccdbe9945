/*
 * The gated delta rule in chunks by tiles, in precision fast: the sums of ops/delta_chunks.c, of which products are by tiles
 * with factors rounded to bf16, of the state's, too, while the state that goes from chunk to chunk stays f32.  Heads have one
 * gate for all keys: with one for each a decay is no factor of a product.
 *
 * With S, G(t) and A(t, s) as there, and c the scale of queries,
 *     d    = beta (v - G (k S)) + L d        L(t, s) = -beta(t) A(t, s) k(t) . k(s), s < t
 *     o    = c G (q S) + P d                 P(t, s) = c A(t, s) q(t) . k(s), s <= t
 *     S    = G(n) S + k' (A(n, .) d)
 * so that keys and queries are rounded and multiplied with one another once for all heads that share them.  L is below the
 * diagonal, so d is known 16 tokens by 16: what tokens of blocks before bring is a product, and within a block one token after
 * another brings its own in f32.
 *
 * By count, a chunk of 64 tokens of a head of 128: 464 products of 16 cycles, and 96 once for all heads, beside some 8,000
 * operations of registers; token by token the state alone has 49,000 multiply-adds of these.
 */
#include "config.h"

#include "../cpu.h"
#include "../ops/delta_state.h"
#include "meet.h"
#include "variant.h"

#define CHUNK 64
#define BLOCK TILE_ROWS /* tokens that are solved one after another */
#define BLOCKS (CHUNK / BLOCK)
#define WIDE DELTA_WIDE /* columns of a strip: two tiles of lines; s is a multiple, and so are a unit's */
_Static_assert(WIDE == TILE_STEP, "keys of whole tiles are columns of whole strips");
#define SQUARE (CHUNK * CHUNK)
#define LINES_OF_D (CHUNK * WIDE * 2)

typedef struct delta_work {
    const cpu_task *task;
    const delta_unit *u;
    int64_t s, strips;
    int64_t first, n, rows; /* tokens of the chunk; and zeros, up to whole tiles */
    float *state;           /* [strip][key][WIDE]                                */
    /* of heads that share keys: bf16 as [token][key]; keys as lines of two each, and as [key][token]; products with keys,
     * [CHUNK][CHUNK] */
    uint8_t *k, *q, *key_lines, *across;
    float *kk, *qk;
    /* bf16: L of blocks before, P; lines: of the state, of d, of d times decays until the chunk's end */
    uint8_t *before, *upto, *state_lines, *d_lines, *end_lines;
    float *near;            /* [CHUNK][BLOCK]: L within a block                                          */
    float *d, *from_state, *from_chunk; /* [strip][CHUNK][WIDE]: keys times the state, then d; parts of o */
    float scale;            /* c */
    _Alignas(64) float beta[CHUNK], a[CHUNK], since_begin[CHUNK], until_end[CHUNK];
} delta_work;

/* Scratch, of which `used` bytes are taken; where it is NULL they are counted. */
typedef struct delta_scratch {
    uint8_t *at;
    size_t used;
} delta_scratch;

static uint8_t *take_bytes(delta_scratch *scratch, int64_t n)
{
    uint8_t *at = scratch->at ? scratch->at + scratch->used : NULL;
    scratch->used += cpu_aligned((size_t)n);
    return at;
}

static float *take_some(delta_scratch *scratch, int64_t n)
{
    return (float *)(void *)take_bytes(scratch, n * (int64_t)sizeof(float));
}

static void take_work(delta_work *w, int64_t s, int64_t strips, delta_scratch *scratch)
{
    uint8_t **const rows[] = {&w->k, &w->q, &w->key_lines, &w->across};
    float **const results[] = {&w->d, &w->from_state, &w->from_chunk};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = take_bytes(scratch, CHUNK * s * 2);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        *results[i] = take_some(scratch, strips * CHUNK * WIDE);
    w->kk = take_some(scratch, SQUARE);
    w->qk = take_some(scratch, SQUARE);
    w->near = take_some(scratch, CHUNK * BLOCK);
    w->before = take_bytes(scratch, SQUARE * 2);
    w->upto = take_bytes(scratch, SQUARE * 2);
    w->state_lines = take_bytes(scratch, strips * s * WIDE * 2);
    w->d_lines = take_bytes(scratch, strips * LINES_OF_D);
    w->end_lines = take_bytes(scratch, strips * LINES_OF_D);
}

static bool takes(int64_t s, bool one_gate)
{
    return one_gate && s > 0 && s % TILE_STEP == 0;
}

static size_t scratch_bytes(int64_t s)
{
    const int64_t strips = s / WIDE;
    delta_scratch all = {NULL, 0};
    delta_work w;
    take_work(&w, s, strips, &all);
    for (int i = 0; i < CPU_DELTA_HEADS; i++)
        take_some(&all, strips * s * WIDE);
    return all.used;
}

/* -- products -------------------------------------------------------------------------------- */

/* Rows of keys or queries; of L, P or [key][token]. */
static tile_rows rows_of_keys(const delta_work *w, const uint8_t *x)
{
    return (tile_rows){x, w->s * 2, TILE_LINE};
}
static tile_rows rows_of_tokens(const uint8_t *x, int64_t row)
{
    return (tile_rows){x + row * CHUNK * 2, CHUNK * 2, TILE_LINE};
}

/* A strip's lines, of so many rows. */
static tile_lines lines_of(const uint8_t *x, int64_t strip, int64_t rows)
{
    return (tile_lines){x + strip * rows * WIDE * 2, TILE_BYTES_ALL, 2 * TILE_BYTES_ALL};
}

/* Rows of a pair of tiles from t on, at most as many as there are. */
static int64_t pair_from(const delta_work *w, int64_t t)
{
    return w->rows - t < 2 * TILE_ROWS ? w->rows - t : 2 * TILE_ROWS;
}

/* -- keys and queries ------------------------------------------------------------------------ */

static void load_rows(const delta_work *w, const cpu_tensor *x, uint8_t *to)
{
    const int64_t line = w->s * 2;
    for (int64_t t = 0; t < w->n; t++) {
        const float *from = head_vector(x, w->u->qk_head, w->first + t);
        for (int64_t i = 0; i < w->s; i += TILE_STEP)
            _mm512_storeu_si512(to + t * line + 2 * i, rounded_row(from + i));
    }
    memset(to + w->n * line, 0, (size_t)((w->rows - w->n) * line));
}

/* Two lines, of two keys each of 16 tokens and the next 16, as those keys' rows. */
CPU_INLINE void put_across(const uint8_t *line, const uint8_t *next, uint8_t *to)
{
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 22,
                                          20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi16(1));
    const __m512i a = _mm512_loadu_si512(line), b = next ? _mm512_loadu_si512(next) : _mm512_setzero_si512();
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(a, even, b));
    _mm512_storeu_si512(to + CHUNK * 2, _mm512_permutex2var_epi16(a, odd, b));
}

static void turn_keys(const delta_work *w)
{
    const int64_t line = w->s * 2;
    for (int64_t i = 0; i < w->s; i += TILE_STEP) {
        uint8_t *tiles = w->key_lines + i / TILE_STEP * BLOCKS * TILE_BYTES_ALL;
        for (int64_t t = 0; t < w->rows; t += TILE_ROWS)
            transpose_vl((const float *)(const void *)(w->k + t * line + 2 * i), line / 4,
                         (float *)(void *)(tiles + t / TILE_ROWS * TILE_BYTES_ALL), TILE_LINE / 4);
        for (int64_t t = 0; t < w->rows; t += 2 * TILE_ROWS, tiles += 2 * TILE_BYTES_ALL)
            for (int64_t j = 0; j < TILE_ROWS; j++)
                put_across(tiles + j * TILE_LINE, t + TILE_ROWS < w->rows ? tiles + TILE_BYTES_ALL + j * TILE_LINE : NULL,
                           w->across + (i + 2 * j) * CHUNK * 2 + t * 2);
    }
}

/* Each row's product with the keys of its own token and those before, and of some behind. */
static void dots_with_keys(const delta_work *w, const uint8_t *x, float *to)
{
    for (int64_t t = 0; t < w->rows; t += 2 * TILE_ROWS)
        for (int64_t i = 0; i <= t; i += 2 * TILE_ROWS)
            meet_all(rows_of_keys(w, x + t * w->s * 2), pair_from(w, t),
                     (tile_lines){w->key_lines + i / TILE_ROWS * TILE_BYTES_ALL, TILE_BYTES_ALL, BLOCKS * TILE_BYTES_ALL}, 2,
                     w->s / TILE_STEP, to + t * CHUNK + i, CHUNK, false);
}

static void prepare_keys(const delta_work *w)
{
    load_rows(w, w->task->in[1], w->k);
    load_rows(w, w->task->in[0], w->q);
    turn_keys(w);
    begin_tiles();
    dots_with_keys(w, w->k, w->kk);
    dots_with_keys(w, w->q, w->qk);
    tiles_release();
}

/* -- decays ------------------------------------------------------------------------------------ */

/* Since the chunk began, until it ends; those of tokens that there are not are 1. */
static void load_decays(delta_work *w)
{
    const cpu_tensor *gate = w->task->in[3], *beta = w->task->in[4];
    float product = 1;
    for (int64_t t = 0; t < CHUNK; t++) {
        const int64_t token = w->first + t;
        w->a[t] = t < w->n ? *head_vector(gate, w->u->head, token) : 0;
        w->beta[t] = t < w->n ? tail_f32(beta->data + w->u->head * beta->nb[0] + token * beta->nb[1]) : 0;
    }
    for (int64_t t = 0; t < CHUNK; t += CPU_VL)
        v_store(w->a + t, v_exp(v_load(w->a + t)));
    for (int64_t t = 0; t < CHUNK; t++)
        w->since_begin[t] = product *= w->a[t];
    product = 1;
    for (int64_t t = CHUNK - 1; t >= 0; t--) {
        w->until_end[t] = product;
        product *= w->a[t];
    }
}

/* A token's rows of L and P: products times decays and a factor.  Of its own block L stays f32, of tokens before it, and P has
 * its own token, too; of what is behind, zeros as far as a product goes. */
CPU_INLINE void put_row(const delta_work *w, int64_t t, const vf decay[BLOCKS])
{
    const int64_t block = t / BLOCK, lane = t % BLOCK;
    const float *kk = w->kk + t * CHUNK, *qk = w->qk + t * CHUNK;
    uint8_t *before = w->before + t * CHUNK * 2, *upto = w->upto + t * CHUNK * 2;
    const __m512 beta = _mm512_set1_ps(-w->beta[t]), scale = _mm512_set1_ps(w->scale);
    for (int64_t b = 0; b < block; b++) {
        const __m512 x = _mm512_mul_ps((__m512)decay[b], _mm512_loadu_ps(kk + b * BLOCK));
        const __m512 y = _mm512_mul_ps((__m512)decay[b], _mm512_loadu_ps(qk + b * BLOCK));
        _mm256_storeu_si256((__m256i *)before + b, (__m256i)_mm512_cvtneps_pbh(_mm512_mul_ps(x, beta)));
        _mm256_storeu_si256((__m256i *)upto + b, (__m256i)_mm512_cvtneps_pbh(_mm512_mul_ps(y, scale)));
    }
    const __m512 own = (__m512)decay[block];
    const __m512 x = _mm512_maskz_mul_ps((__mmask16)((1 << lane) - 1), own, _mm512_loadu_ps(kk + block * BLOCK));
    const __m512 y = _mm512_maskz_mul_ps((__mmask16)((2 << lane) - 1), own, _mm512_loadu_ps(qk + block * BLOCK));
    _mm512_storeu_ps(w->near + t * BLOCK, _mm512_mul_ps(x, beta));
    _mm256_storeu_si256((__m256i *)upto + block, (__m256i)_mm512_cvtneps_pbh(_mm512_mul_ps(y, scale)));
    _mm256_storeu_si256((__m256i *)before + block, _mm256_setzero_si256());
    if (block % 2)
        return;
    _mm256_storeu_si256((__m256i *)before + block + 1, _mm256_setzero_si256());
    _mm256_storeu_si256((__m256i *)upto + block + 1, _mm256_setzero_si256());
}

static void put_rows(const delta_work *w)
{
    vf decay[BLOCKS] = {{0}};
    for (int64_t t = 0; t < w->n; t++) {
        const int64_t block = t / BLOCK;
        for (int64_t b = 0; b <= block; b++)
            decay[b] *= w->a[t];
        decay[block] = (vf)_mm512_mask_mov_ps((__m512)decay[block], (__mmask16)(1 << t % BLOCK), _mm512_set1_ps(1));
        put_row(w, t, decay);
    }
    const size_t missing = (size_t)(w->rows - w->n);
    memset(w->before + w->n * CHUNK * 2, 0, missing * CHUNK * 2);
    memset(w->upto + w->n * CHUNK * 2, 0, missing * CHUNK * 2);
    memset(w->near + w->n * BLOCK, 0, missing * BLOCK * sizeof *w->near);
}

/* -- strips ------------------------------------------------------------------------------- */

static float *strip_of(float *x, int64_t strip, int64_t rows)
{
    return x + strip * rows * WIDE;
}

/* The state as lines of two keys each; then it decays. */
static void state_to_lines(const delta_work *w)
{
    const vf whole = v_set1(w->since_begin[CHUNK - 1]);
    for (int64_t i = 0; i < w->strips * w->s; i += 2)
        CPU_UNROLL
        for (int h = 0; h < 2; h++) {
            float *at = w->state + i * WIDE + h * CPU_VL;
            const vf x = v_load(at), y = v_load(at + WIDE);
            _mm512_storeu_si512(w->state_lines + (i / TILE_STEP * 2 + h) * TILE_BYTES_ALL + i % TILE_STEP / 2 * TILE_LINE,
                                rounded_pairs((__m512)x, (__m512)y));
            v_store(at, x * whole);
            v_store(at + WIDE, y * whole);
        }
}

/* Products with the state. */
static void meet_state(const delta_work *w)
{
    begin_tiles();
    for (int64_t p = 0; p < w->strips; p++) {
        const tile_lines state = lines_of(w->state_lines, p, w->s);
        meet_all(rows_of_keys(w, w->k), w->rows, state, 2, w->s / TILE_STEP, strip_of(w->d, p, CHUNK), WIDE, false);
        meet_all(rows_of_keys(w, w->q), w->rows, state, 2, w->s / TILE_STEP, strip_of(w->from_state, p, CHUNK), WIDE, false);
    }
    tiles_release();
}

/* What is known of d before any token brings its own. */
static void begin_d(const delta_work *w)
{
    for (int64_t t = 0; t < w->n; t++) {
        const float *v = head_vector(w->task->in[2], w->u->head, w->first + t) + w->u->column;
        const vf beta = v_set1(w->beta[t]), since = v_set1(w->since_begin[t]);
        for (int64_t i = 0; i < w->strips * WIDE; i += CPU_VL) {
            float *d = strip_of(w->d, i / WIDE, CHUNK) + t * WIDE + i % WIDE;
            v_store(d, beta * (v_load(v + i) - since * v_load(d)));
        }
    }
    for (int64_t p = 0; p < w->strips; p++)
        memset(strip_of(w->d, p, CHUNK) + w->n * WIDE, 0, (size_t)((w->rows - w->n) * WIDE) * sizeof *w->d);
}

/* A block of tokens of a strip, to which only its own is left to be added. */
static void solve_block(const delta_work *w, int64_t strip, int64_t block)
{
    const float *near = w->near + block * BLOCK * BLOCK, *until = w->until_end + block * BLOCK;
    for (int h = 0; h < 2; h++) {
        const float *d = strip_of(w->d, strip, CHUNK) + block * BLOCK * WIDE + h * CPU_VL;
        const int64_t to = strip * LINES_OF_D + (block / 2 * 2 + h) * TILE_BYTES_ALL + block % 2 * (TILE_BYTES_ALL / 2);
        vf x[BLOCK];
        CPU_UNROLL
        for (int t = 0; t < BLOCK; t++)
            x[t] = v_load(d + t * WIDE);
        CPU_UNROLL
        for (int s = 0; s + 1 < BLOCK; s++)
            CPU_UNROLL
            for (int t = s + 1; t < BLOCK; t++)
                x[t] = v_fma(v_set1(near[t * BLOCK + s]), x[s], x[t]);
        CPU_UNROLL
        for (int t = 0; t < BLOCK; t += 2) {
            _mm512_storeu_si512(w->d_lines + to + t / 2 * TILE_LINE, rounded_pairs((__m512)x[t], (__m512)x[t + 1]));
            _mm512_storeu_si512(w->end_lines + to + t / 2 * TILE_LINE,
                                rounded_pairs((__m512)(x[t] * until[t]), (__m512)(x[t + 1] * until[t + 1])));
        }
    }
}

/* What tokens of blocks before bring. */
static void meet_before(const delta_work *w, int64_t block)
{
    begin_tiles();
    for (int64_t p = 0; p < w->strips; p++)
        meet_all(rows_of_tokens(w->before, block * BLOCK), BLOCK, lines_of(w->d_lines, p, CHUNK), 2, (block + 1) / 2,
                 strip_of(w->d, p, CHUNK) + block * BLOCK * WIDE, WIDE, true);
    tiles_release();
}

static void solve(const delta_work *w)
{
    /* tokens to come are met by zeros, and must be numbers */
    memset(w->d_lines, 0, (size_t)(w->strips * LINES_OF_D));
    memset(w->end_lines, 0, (size_t)(w->strips * LINES_OF_D));
    for (int64_t b = 0; b * BLOCK < w->rows; b++) {
        if (b)
            meet_before(w, b);
        for (int64_t p = 0; p < w->strips; p++)
            solve_block(w, p, b);
    }
}

/* Products with d. */
static void meet_d(const delta_work *w)
{
    begin_tiles();
    for (int64_t p = 0; p < w->strips; p++) {
        for (int64_t t = 0; t < w->rows; t += 2 * TILE_ROWS)
            meet_all(rows_of_tokens(w->upto, t), pair_from(w, t), lines_of(w->d_lines, p, CHUNK), 2, t / TILE_STEP + 1,
                     strip_of(w->from_chunk, p, CHUNK) + t * WIDE, WIDE, false);
        meet_all(rows_of_tokens(w->across, 0), w->s, lines_of(w->end_lines, p, CHUNK), 2,
                 (w->rows + TILE_STEP - 1) / TILE_STEP, strip_of(w->state, p, w->s), WIDE, true);
    }
    tiles_release();
}

static void give_results(const delta_work *w)
{
    for (int64_t t = 0; t < w->n; t++) {
        float *o = head_vector(w->task->out[0], w->u->head, w->first + t) + w->u->column;
        const vf since = v_set1(w->scale * w->since_begin[t]);
        for (int64_t i = 0; i < w->strips * WIDE; i += CPU_VL) {
            const int64_t at = i / WIDE * CHUNK * WIDE + t * WIDE + i % WIDE;
            v_store(o + i, v_fma(since, v_load(w->from_state + at), v_load(w->from_chunk + at)));
        }
    }
}

/* -- all --------------------------------------------------------------------------------------- */

static void run_chunk(delta_work *w, bool same_keys)
{
    w->rows = (w->n + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    if (!same_keys)
        prepare_keys(w);
    load_decays(w);
    put_rows(w);
    state_to_lines(w);
    meet_state(w);
    begin_d(w);
    solve(w);
    meet_d(w);
    give_results(w);
}

static void run(const cpu_task *task, const delta_unit *units, int64_t n, int64_t begin, int64_t end, uint8_t *scratch)
{
    delta_work w = {.task = task, .s = units->s, .strips = delta_strips(units), .scale = (float)(1 / sqrt((double)units->s))};
    const int64_t snapshots = delta_snapshots(task);
    float *states[CPU_DELTA_HEADS];
    delta_scratch all = {scratch, 0};
    take_work(&w, w.s, w.strips, &all);
    for (int64_t i = 0; i < n; i++) {
        states[i] = take_some(&all, w.strips * w.s * WIDE);
        delta_load(task, &units[i], states[i], pool_index(task->in[6], units->seq, 0));
    }
    for (w.first = begin; w.first < end; w.first += w.n) {
        w.n = delta_chunk(w.first, end, snapshots, CHUNK);
        const int64_t back = end - (w.first + w.n);
        for (int64_t i = 0; i < n; i++) {
            w.u = &units[i];
            w.state = states[i];
            run_chunk(&w, i && units[i].qk_head == units[i - 1].qk_head);
            if (back < snapshots)
                delta_save(task, w.u, w.state, pool_index(task->in[7], back, w.u->seq));
        }
    }
}

const cpu_delta_unit cpu_tiles_delta = {takes, scratch_bytes, run};
