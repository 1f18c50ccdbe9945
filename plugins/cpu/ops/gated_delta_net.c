/*
 * The gated delta rule.  The columns of a head's state are independent of one
 * another: a unit of work is a block of columns of one head of one sequence,
 * kept in the first-level cache from the sequence's first token to its last.
 */
#include "op.h"

#define BLOCK 32 /* columns of a unit                                        */
#if CPU_VL == 16
#define AT_ONCE 8 /* columns in one pass over the keys: what the registers hold */
#else
#define AT_ONCE 4
#endif

typedef struct gdn_unit {
    int64_t s;      /* keys                                                  */
    int64_t padded; /* rounded up to whole vectors, the rest being zero      */
    int64_t head, qk_head, seq, column, columns;
    float *m;       /* [columns][padded]                                     */
    float *k, *q, *decay, *decayed_k;
} gdn_unit;

static int64_t padded_keys(int64_t s)
{
    return (s + CPU_VL - 1) / CPU_VL * CPU_VL;
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    int64_t p = padded_keys(task->in[0]->ne[0]);
    return floats(BLOCK * p) + 4 * floats(p);
}

static int32_t index_in(const cpu_tensor *t, int64_t i, int64_t j)
{
    return (int32_t)index_at(t, t->data + i * t->nb[0] + j * t->nb[1]);
}

static float *pool_column(const cpu_tensor *state, const gdn_unit *u, int64_t column, int64_t row)
{
    return (float *)(state->data + column * state->nb[1] + u->head * state->nb[2] + row * state->nb[3]);
}

static void load_state(const gdn_unit *u, const cpu_tensor *state, int64_t row)
{
    bool there = row >= 0 && row < state->ne[3];
    if (!there || u->padded != u->s || u->columns < BLOCK)
        memset(u->m, 0, (size_t)(BLOCK * u->padded) * sizeof *u->m);
    if (there)
        for (int64_t c = 0; c < u->columns; c++)
            memcpy(u->m + c * u->padded, pool_column(state, u, u->column + c, row), (size_t)u->s * sizeof *u->m);
}

static void save_state(const gdn_unit *u, const cpu_tensor *state, int64_t row)
{
    if (row >= 0 && row < state->ne[3])
        for (int64_t c = 0; c < u->columns; c++)
            memcpy(pool_column(state, u, u->column + c, row), u->m + c * u->padded, (size_t)u->s * sizeof *u->m);
}

/*
 * One token, AT_ONCE columns: with decay a (per key or one for all),
 * d = beta (v - m.(a k)); m = a m + d k; o = m.q / sqrt(s).
 */
CPU_INLINE void step(const gdn_unit *u, float *m, const float *v, float beta, float decay, const bool per_key, float scale,
                     float *o)
{
    int64_t n = u->padded;
    vf dot[AT_ONCE], d[AT_ONCE];
    CPU_UNROLL
    for (int c = 0; c < AT_ONCE; c++)
        dot[c] = (vf){0};
    const float *k = per_key ? u->decayed_k : u->k;
    for (int64_t i = 0; i < n; i += CPU_VL) {
        vf key = v_load(k + i);
        CPU_UNROLL
        for (int c = 0; c < AT_ONCE; c++)
            dot[c] = v_fma(v_load(m + c * n + i), key, dot[c]);
    }
    float x[AT_ONCE];
    for (int c = 0; c < AT_ONCE; c += 4)
        v_sum4(dot + c, x + c);
    CPU_UNROLL
    for (int c = 0; c < AT_ONCE; c++) {
        d[c] = v_set1(beta * (v[c] - (per_key ? x[c] : decay * x[c])));
        dot[c] = (vf){0};
    }
    vf all = v_set1(decay);
    for (int64_t i = 0; i < n; i += CPU_VL) {
        vf key = v_load(u->k + i), query = v_load(u->q + i), a = per_key ? v_load(u->decay + i) : all;
        CPU_UNROLL
        for (int c = 0; c < AT_ONCE; c++) {
            vf y = v_fma(d[c], key, a * v_load(m + c * n + i));
            v_store(m + c * n + i, y);
            dot[c] = v_fma(y, query, dot[c]);
        }
    }
    for (int c = 0; c < AT_ONCE; c += 4)
        v_sum4(dot + c, x + c);
    for (int c = 0; c < AT_ONCE; c++)
        o[c] = x[c] * scale;
}

/* The token's q, k and gate, padded. */
static float load_token(const cpu_task *task, const gdn_unit *u, int64_t t)
{
    const cpu_tensor *q = task->in[0], *k = task->in[1], *g = task->in[3];
    const uint8_t *gate = g->data + u->head * g->nb[1] + t * g->nb[2];
    memcpy(u->q, q->data + u->qk_head * q->nb[1] + t * q->nb[2], (size_t)u->s * sizeof(float));
    memcpy(u->k, k->data + u->qk_head * k->nb[1] + t * k->nb[2], (size_t)u->s * sizeof(float));
    if (g->ne[0] == 1)
        return expf(tail_f32(gate));
    memcpy(u->decay, gate, (size_t)u->s * sizeof(float));
    for (int64_t i = 0; i < u->padded; i += CPU_VL) {
        vf a = v_exp(v_load(u->decay + i));
        v_store(u->decay + i, a);
        v_store(u->decayed_k + i, a * v_load(u->k + i));
    }
    for (int64_t i = u->s; i < u->padded; i++)
        u->decay[i] = 0;
    return 0;
}

static void run_tokens(const cpu_task *task, const gdn_unit *u, int64_t begin, int64_t end)
{
    const cpu_tensor *v = task->in[2], *g = task->in[3], *beta = task->in[4], *state = task->in[5], *dst = task->in[7];
    const cpu_tensor *o = task->out[0];
    int64_t slots = task->node->ip[ENG_GDN_SLOTS];
    float scale = (float)(1 / sqrt((double)u->s));
    bool per_key = g->ne[0] > 1;
    load_state(u, state, index_in(task->in[6], u->seq, 0));
    for (int64_t t = begin; t < end; t++) {
        float decay = load_token(task, u, t);
        float b = tail_f32(beta->data + u->head * beta->nb[0] + t * beta->nb[1]);
        const float *value = (const float *)(v->data + u->head * v->nb[1] + t * v->nb[2]) + u->column;
        float *out = (float *)(o->data + u->head * o->nb[1] + t * o->nb[2]) + u->column;
        for (int64_t c = 0; c < u->columns; c += AT_ONCE) {
            float x[AT_ONCE] = {0}, y[AT_ONCE];
            size_t bytes = (size_t)(u->columns - c < AT_ONCE ? u->columns - c : AT_ONCE) * sizeof *x;
            memcpy(x, value + c, bytes);
            if (per_key)
                step(u, u->m + c * u->padded, x, b, 1, true, scale, y);
            else
                step(u, u->m + c * u->padded, x, b, decay, false, scale, y);
            memcpy(out + c, y, bytes);
        }
        int64_t back = end - 1 - t;
        if (back < slots && back < dst->ne[0])
            save_state(u, state, index_in(dst, back, u->seq));
    }
}

/* Tokens that belong to no sequence give zeros. */
static void zero_tokens(const cpu_tensor *o, const gdn_unit *u, int64_t begin, int64_t end)
{
    for (int64_t t = begin; t < end; t++)
        memset((float *)(o->data + u->head * o->nb[1] + t * o->nb[2]) + u->column, 0,
               (size_t)u->columns * sizeof(float));
}

/* All sequences for one block of columns of one head. */
static void run_unit(const cpu_task *task, gdn_unit *u, int64_t sequences, int64_t first_seq, int64_t last_seq)
{
    const cpu_tensor *cu = task->in[8], *o = task->out[0];
    int64_t tokens = o->ne[2];
    for (u->seq = first_seq; u->seq < last_seq; u->seq++) {
        int64_t t0 = index_in(cu, u->seq, 0), t1 = index_in(cu, u->seq + 1, 0);
        t0 = t0 < 0 ? 0 : t0 < tokens ? t0 : tokens;
        t1 = t1 < t0 ? t0 : t1 < tokens ? t1 : tokens;
        if (u->seq == 0)
            zero_tokens(o, u, 0, t0);
        if (t1 > t0)
            run_tokens(task, u, t0, t1);
        if (u->seq == sequences - 1)
            zero_tokens(o, u, t1, tokens);
    }
}

static void run_gated_delta_net(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *q = task->in[0], *v = task->in[2];
    int64_t heads = v->ne[1], qk_heads = q->ne[1], sequences = task->in[6]->ne[0], begin, end;
    uint8_t *scratch = run->scratch;
    gdn_unit u = {.s = q->ne[0], .padded = padded_keys(q->ne[0])};
    u.m = take_floats(&scratch, BLOCK * u.padded);
    u.k = take_floats(&scratch, u.padded);
    u.q = take_floats(&scratch, u.padded);
    u.decay = take_floats(&scratch, u.padded);
    u.decayed_k = take_floats(&scratch, u.padded);
    memset(u.k, 0, (size_t)u.padded * sizeof(float));
    memset(u.q, 0, (size_t)u.padded * sizeof(float));
    memset(u.decay, 0, (size_t)u.padded * sizeof(float));
    int64_t blocks = (u.s + BLOCK - 1) / BLOCK, per_seq = heads * blocks;
    cpu_share(run, sequences * per_seq, 1, &begin, &end);
    unsigned before = flush_begin();
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t seq = unit / per_seq;
        u.head = unit % per_seq / blocks;
        u.qk_head = task->node->ip[ENG_GDN_GROUPED] ? u.head / (heads / qk_heads) : u.head % qk_heads;
        u.column = unit % blocks * BLOCK;
        u.columns = u.s - u.column < BLOCK ? u.s - u.column : BLOCK;
        run_unit(task, &u, sequences, seq, seq + 1);
    }
    flush_end(before);
}

CPU_DEFINE_WITH(gated_delta_net, run_gated_delta_net, thread_bytes, NULL)
