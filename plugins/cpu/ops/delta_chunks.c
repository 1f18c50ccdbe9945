/*
 * The gated delta rule, many tokens: chunks of CHUNK tokens between which the state goes, and within which all is
 * products of matrices (Yang et al., Parallelizing Linear Transformers with the Delta Rule, arXiv:2406.06484; Yang,
 * Kautz, Hatamizadeh, Gated Delta Networks, arXiv:2412.06464).
 *
 * With S the state before a chunk (keys x values), A(t, s) the product of the decays of the tokens after s up to t, and
 * G(t) that of all up to t:
 *     d(t) = beta(t) (v(t) - (G(t) k(t)) S) - sum over s < t of beta(t) (k(t) . A(t, s) k(s)) d(s)
 *     o(t) = (G(t) q(t)) S + sum over s <= t of (q(t) . A(t, s) k(s)) d(s)
 *     S    = G(n) S + sum of (A(n, s) k(s)) d(s)'
 * Decays are only ever multiplied, never divided by, so that nothing is larger than the token form makes it, and A may
 * be one number or one a key.
 *
 * The sums of d have few terms and are solved one after another, as they stand.  The state lies in strips of two
 * vectors of values, each of which stays in the first-level cache while a chunk goes over it; rows of the operands,
 * which are often a multiple of 4096 bytes apart, are copied beside one another once.
 */
#include "delta.h"
#include "delta_state.h"

#define CHUNK 18 /* tokens: whole tiles; more of them cost more within a chunk than the state's update gains */
#define TILE 6   /* rows x two vectors: 12 sums                                             */
#define WIDE DELTA_WIDE
#define ROWS (CHUNK + 4) /* of a matrix: products go over four tokens at once               */

typedef struct chunk_work {
    const cpu_task *task;
    const delta_unit *u;
    int64_t stride;   /* of rows: keys rounded up to whole strips                    */
    int64_t strips;   /* of the unit                                                 */
    int64_t first, n; /* tokens of the chunk                                         */
    int64_t end;      /* of the sequence                                             */
    bool per_key;
    float scale;
    float *state;     /* [strip][key][WIDE]                                          */
    float *k, *q;     /* [token][stride]; then times the decay since the chunk began */
    float *decay;     /* [token][stride], a gate for each key                        */
    float *to_end;    /* [token][stride]: keys times the decay until the chunk ends  */
    float *whole;     /* [stride]: the decay of the chunk                            */
    float *v, *o;     /* [token][stride]                                             */
    float *sums;      /* [2][ROWS][WIDE]: keys and queries times the state           */
    float *d;         /* [token][WIDE]                                               */
    float *keys, *queries; /* [token][ROWS]: beta k(t) . A k(s); q(t) . A k(s)       */
    float beta[ROWS], a[ROWS];
} chunk_work;

static int64_t stride_of(int64_t s)
{
    return (s + WIDE - 1) / WIDE * WIDE;
}

size_t CPU_V(cpu_delta_chunks_scratch)(int64_t s)
{
    int64_t stride = stride_of(s);
    return floats(s * stride) + 6 * floats(ROWS * stride) + floats(stride) + 3 * floats(ROWS * WIDE) +
           2 * floats(ROWS * ROWS);
}

static void take_work(chunk_work *w, uint8_t *scratch)
{
    w->state = take_floats(&scratch, w->u->s * w->stride);
    float **const rows[] = {&w->k, &w->q, &w->decay, &w->to_end, &w->v, &w->o};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = take_floats(&scratch, ROWS * w->stride);
    w->whole = take_floats(&scratch, w->stride);
    w->sums = take_floats(&scratch, 2 * ROWS * WIDE);
    w->d = take_floats(&scratch, ROWS * WIDE);
    w->keys = take_floats(&scratch, ROWS * ROWS);
    w->queries = take_floats(&scratch, ROWS * ROWS);
    float *const padded[] = {w->k, w->q, w->v}; /* beyond keys and columns, and in rows that no chunk fills */
    for (size_t i = 0; i < sizeof padded / sizeof *padded; i++)
        memset(padded[i], 0, floats(ROWS * w->stride));
}

static float *strip_at(const chunk_work *w, int64_t strip)
{
    return w->state + strip * w->u->s * WIDE;
}

/* -- what all strips of a chunk need ------------------------------------------------------ */

static void load_chunk(chunk_work *w)
{
    const cpu_tensor *const *in = w->task->in;
    const delta_unit *u = w->u;
    const size_t keys = (size_t)u->s * sizeof(float);
    for (int64_t t = 0; t < w->n; t++) {
        const int64_t token = w->first + t;
        float *decay = w->decay + t * w->stride;
        memcpy(w->q + t * w->stride, head_vector(in[0], u->qk_head, token), keys);
        memcpy(w->k + t * w->stride, head_vector(in[1], u->qk_head, token), keys);
        memcpy(w->v + t * w->stride, head_vector(in[2], u->head, token) + u->column,
               (size_t)u->columns * sizeof(float));
        w->beta[t] = tail_f32(in[4]->data + u->head * in[4]->nb[0] + token * in[4]->nb[1]);
        if (!w->per_key) {
            w->a[t] = expf(*head_vector(in[3], u->head, token));
            continue;
        }
        memcpy(decay, head_vector(in[3], u->head, token), keys);
        memset(decay + u->s, 0, (size_t)(w->stride - u->s) * sizeof *decay);
        for (int64_t i = 0; i < w->stride; i += CPU_VL)
            v_store(decay + i, v_exp(v_load(decay + i)));
    }
    for (int64_t i = w->n * w->stride; i < (w->n + 3) * w->stride && w->per_key; i++)
        w->decay[i] = 1; /* tokens that there are not leave a key as it is */
}

/* A key with four tokens' keys and queries; with gates for each key it decays on the way, but not at its own token,
 * which is the first one of `own`. */
CPU_INLINE void four_tokens(const chunk_work *w, float *key, int64_t t, const bool per_key, const bool own, float *kk,
                            float *qk)
{
    const int64_t stride = w->stride;
    const float *k = w->k + t * stride, *q = w->q + t * stride, *a = w->decay + t * stride;
    vf x[4], y[4];
    CPU_UNROLL
    for (int c = 0; c < 4; c++)
        x[c] = y[c] = (vf){0};
    for (int64_t i = 0; i < stride; i += CPU_VL) {
        vf m = v_load(key + i);
        CPU_UNROLL
        for (int c = 0; c < 4; c++) {
            if (per_key && !(own && c == 0))
                m *= v_load(a + c * stride + i);
            x[c] = v_fma(m, v_load(k + c * stride + i), x[c]);
            y[c] = v_fma(m, v_load(q + c * stride + i), y[c]);
        }
        if (per_key)
            v_store(key + i, m);
    }
    v_sum4(x, kk);
    v_sum4(y, qk);
}

/* Key s with the tokens from its own on. */
CPU_INLINE void one_key(chunk_work *w, int64_t s, const bool per_key)
{
    float *key = w->to_end + s * w->stride, decay = 1;
    memcpy(key, w->k + s * w->stride, (size_t)w->stride * sizeof *key);
    for (int64_t t0 = s; t0 < w->n; t0 += 4) {
        float kk[4], qk[4];
        if (t0 == s)
            four_tokens(w, key, t0, per_key, true, kk, qk);
        else
            four_tokens(w, key, t0, per_key, false, kk, qk);
        for (int64_t t = t0; t < t0 + 4 && t < w->n; t++) {
            decay *= t > s && !per_key ? w->a[t] : 1;
            w->keys[t * ROWS + s] = w->beta[t] * (decay * kk[t - t0]);
            w->queries[t * ROWS + s] = decay * qk[t - t0];
        }
    }
    for (int64_t i = 0; i < w->stride && !per_key; i += CPU_VL)
        v_store(key + i, v_load(key + i) * decay);
}

/* Keys and queries as they meet the state before the chunk. */
static void decay_from_begin(chunk_work *w)
{
    for (int64_t i = 0; i < w->stride; i += CPU_VL) {
        vf all = v_set1(1.0f);
        for (int64_t t = 0; t < w->n; t++) {
            const int64_t at = t * w->stride + i;
            all *= w->per_key ? v_load(w->decay + at) : v_set1(w->a[t]);
            v_store(w->k + at, all * v_load(w->k + at));
            v_store(w->q + at, all * v_load(w->q + at));
        }
        v_store(w->whole + i, all);
    }
}

static void prepare_chunk(chunk_work *w)
{
    load_chunk(w);
    for (int64_t s = 0; s < w->n; s++)
        if (w->per_key)
            one_key(w, s, true);
        else
            one_key(w, s, false);
    decay_from_begin(w);
}

/* -- a strip ------------------------------------------------------------------------------- */

/* Some rows times the strip. */
CPU_INLINE void rows_tile(const float *x, int64_t stride, const float *m, int64_t keys, const int rows, float *out)
{
    vf sum[TILE][2];
    CPU_UNROLL
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (vf){0};
    for (int64_t i = 0; i < keys; i++) {
        const vf m0 = v_load(m + i * WIDE), m1 = v_load(m + i * WIDE + CPU_VL);
        CPU_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf y = v_set1(x[r * stride + i]);
            sum[r][0] = v_fma(y, m0, sum[r][0]);
            sum[r][1] = v_fma(y, m1, sum[r][1]);
        }
    }
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        v_store(out + r * WIDE, sum[r][0]);
        v_store(out + r * WIDE + CPU_VL, sum[r][1]);
    }
}

static void rows_times_strip(const chunk_work *w, const float *x, const float *m, float *out)
{
    int64_t r = 0;
    for (; r + TILE <= w->n; r += TILE)
        rows_tile(x + r * w->stride, w->stride, m, w->u->s, TILE, out + r * WIDE);
    for (; r + 2 <= w->n; r += 2)
        rows_tile(x + r * w->stride, w->stride, m, w->u->s, 2, out + r * WIDE);
    if (r < w->n)
        rows_tile(x + r * w->stride, w->stride, m, w->u->s, 1, out + r * WIDE);
}

/* d and o of all tokens, one after another. */
static void solve(const chunk_work *w, int64_t column)
{
    const vf scale = v_set1(w->scale);
    const float *from_keys = w->sums, *from_queries = w->sums + ROWS * WIDE;
    for (int64_t t = 0; t < w->n; t++) {
        const float *v = w->v + t * w->stride + column, *keys = w->keys + t * ROWS, *queries = w->queries + t * ROWS;
        const vf beta = v_set1(w->beta[t]);
        vf d[2], o[2];
        CPU_UNROLL
        for (int h = 0; h < 2; h++) {
            d[h] = beta * (v_load(v + h * CPU_VL) - v_load(from_keys + t * WIDE + h * CPU_VL));
            o[h] = v_load(from_queries + t * WIDE + h * CPU_VL);
        }
        for (int64_t s = 0; s < t; s++) {
            const vf x = v_set1(keys[s]), y = v_set1(queries[s]);
            CPU_UNROLL
            for (int h = 0; h < 2; h++) {
                const vf before = v_load(w->d + s * WIDE + h * CPU_VL);
                d[h] -= x * before;
                o[h] = v_fma(y, before, o[h]);
            }
        }
        CPU_UNROLL
        for (int h = 0; h < 2; h++) {
            v_store(w->d + t * WIDE + h * CPU_VL, d[h]);
            v_store(w->o + t * w->stride + column + h * CPU_VL, v_fma(v_set1(queries[t]), d[h], o[h]) * scale);
        }
    }
}

/* Some keys of the strip after the chunk. */
CPU_INLINE void update_tile(const chunk_work *w, int64_t i, float *m, const int rows)
{
    vf sum[TILE][2];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        const vf all = v_set1(w->whole[i + r]);
        sum[r][0] = all * v_load(m + r * WIDE);
        sum[r][1] = all * v_load(m + r * WIDE + CPU_VL);
    }
    const float *key = w->to_end + i;
    for (int64_t t = 0; t < w->n; t++, key += w->stride) {
        const vf d0 = v_load(w->d + t * WIDE), d1 = v_load(w->d + t * WIDE + CPU_VL);
        CPU_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf y = v_set1(key[r]);
            sum[r][0] = v_fma(y, d0, sum[r][0]);
            sum[r][1] = v_fma(y, d1, sum[r][1]);
        }
    }
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        v_store(m + r * WIDE, sum[r][0]);
        v_store(m + r * WIDE + CPU_VL, sum[r][1]);
    }
}

static void update_strip(const chunk_work *w, float *m)
{
    int64_t i = 0;
    for (; i + TILE <= w->u->s; i += TILE)
        update_tile(w, i, m + i * WIDE, TILE);
    for (; i + 2 <= w->u->s; i += 2)
        update_tile(w, i, m + i * WIDE, 2);
    if (i < w->u->s)
        update_tile(w, i, m + i * WIDE, 1);
}

static void ask_vector(const float *x, int64_t n)
{
    ask_for((const uint8_t *)x, 1, 0, n * (int64_t)sizeof *x, false);
}

/* With each strip, where some of the chunk's results go, and some of what the next chunk takes, are asked for: a head's
 * tokens lie far from each other. */
static void ask_tokens(const chunk_work *w, int64_t strip)
{
    const cpu_tensor *const *in = w->task->in;
    const delta_unit *u = w->u;
    for (int64_t t = strip; t < CHUNK; t += w->strips) {
        const int64_t next = w->first + w->n + t;
        const float *out = head_vector(w->task->out[0], u->head, w->first + t) + u->column;
        for (int64_t i = 0; t < w->n && i < u->columns; i += 64 / (int64_t)sizeof *out)
            __builtin_prefetch(out + i, 1, 2);
        if (next >= w->end)
            continue;
        ask_vector(head_vector(in[0], u->qk_head, next), u->s);
        ask_vector(head_vector(in[1], u->qk_head, next), u->s);
        ask_vector(head_vector(in[2], u->head, next) + u->column, u->columns);
    }
}

static void run_chunk(chunk_work *w)
{
    const cpu_tensor *o = w->task->out[0];
    prepare_chunk(w);
    for (int64_t p = 0; p < w->strips; p++) {
        float *m = strip_at(w, p);
        ask_tokens(w, p);
        rows_times_strip(w, w->k, m, w->sums);
        rows_times_strip(w, w->q, m, w->sums + ROWS * WIDE);
        solve(w, p * WIDE);
        update_strip(w, m);
    }
    for (int64_t t = 0; t < w->n; t++)
        memcpy(head_vector(o, w->u->head, w->first + t) + w->u->column,
               w->o + t * w->stride, (size_t)w->u->columns * sizeof(float));
}

void CPU_V(cpu_delta_chunks)(const cpu_task *task, const delta_unit *u, int64_t begin, int64_t end, uint8_t *scratch)
{
    chunk_work w = {.task = task, .u = u, .stride = stride_of(u->s), .strips = delta_strips(u),
                    .end = end, .per_key = task->in[3]->ne[0] > 1, .scale = (float)(1 / sqrt((double)u->s))};
    const int64_t snapshots = delta_snapshots(task);
    take_work(&w, scratch);
    delta_load(task, u, w.state, pool_index(task->in[6], u->seq, 0));
    for (w.first = begin; w.first < end; w.first += w.n) {
        w.n = delta_chunk(w.first, end, snapshots, CHUNK);
        run_chunk(&w);
        int64_t back = end - (w.first + w.n);
        if (back < snapshots)
            delta_save(task, u, w.state, pool_index(task->in[7], back, u->seq));
    }
}
