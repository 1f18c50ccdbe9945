/*
 * The gated delta rule.  The columns of a head's state are independent of one
 * another: a unit of work is a block of columns of one head of one sequence.
 * Up to FEW tokens go one by one, BLOCK columns kept in the first-level cache from
 * the sequence's first token to its last; more in chunks (delta_chunks.c).
 */
#include "delta.h"

#define FEW 16
#define BLOCK DELTA_BLOCK
#if CPU_REGISTERS == 32
#define AT_ONCE 8 /* columns in one pass over the keys: what the registers hold */
#else
#define AT_ONCE 4
#endif

typedef struct gdn_unit {
    delta_unit of;
    int64_t s;      /* keys                                                  */
    int64_t padded; /* rounded up to whole vectors, the rest being zero      */
    float *m;       /* [columns][padded]                                     */
    float *k, *q, *decay, *decayed_k;
} gdn_unit;

static int64_t padded_keys(int64_t s)
{
    return (s + CPU_VL - 1) / CPU_VL * CPU_VL;
}

/* What has chunks by a matrix unit, in precision fast; NULL: nothing. */
static const cpu_delta_unit *unit_for(const cpu_task *task)
{
    const cpu_delta_unit *unit = task->node->precision == ENG_PRECISION_FAST ? task->variant->delta : NULL;
    return unit && unit->takes(task->in[0]->ne[0], task->in[3]->ne[0] == 1) ? unit : NULL;
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    const cpu_delta_unit *unit = unit_for(task);
    int64_t s = task->in[0]->ne[0], p = padded_keys(s);
    size_t few = floats(BLOCK * p) + 4 * floats(p);
    size_t many = unit ? unit->scratch_bytes(s) : CPU_V(cpu_delta_chunks_scratch)(s);
    return few > many ? few : many;
}

static void load_state(const gdn_unit *u, const cpu_tensor *state, int64_t row)
{
    const bool there = pool_has(state, row);
    if (!there || u->padded != u->s || u->of.columns < BLOCK)
        memset(u->m, 0, (size_t)(BLOCK * u->padded) * sizeof *u->m);
    if (there)
        for (int64_t c = 0; c < u->of.columns; c++)
            memcpy(u->m + c * u->padded, pool_column(state, u->of.column + c, u->of.head, row),
                   (size_t)u->s * sizeof *u->m);
}

static void save_state(const gdn_unit *u, const cpu_tensor *state, int64_t row)
{
    if (pool_has(state, row))
        for (int64_t c = 0; c < u->of.columns; c++)
            memcpy(pool_column(state, u->of.column + c, u->of.head, row), u->m + c * u->padded,
                   (size_t)u->s * sizeof *u->m);
}

/*
 * One token, AT_ONCE columns: with decay a (per key or one for all),
 * d = beta (v - m.(a k)); m = a m + d k; o = m.q / sqrt(s).
 */
CPU_INLINE void step(const gdn_unit *u, float *m, const float *v, float beta, float decay, const bool per_key,
                     float scale, float *o)
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
    const cpu_tensor *g = task->in[3];
    const float *gate = head_vector(g, u->of.head, t);
    memcpy(u->q, head_vector(task->in[0], u->of.qk_head, t), (size_t)u->s * sizeof(float));
    memcpy(u->k, head_vector(task->in[1], u->of.qk_head, t), (size_t)u->s * sizeof(float));
    if (g->ne[0] == 1)
        return expf(*gate);
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

/* Tokens one by one, up to BLOCK columns. */
static void run_tokens(const cpu_task *task, const gdn_unit *u, int64_t begin, int64_t end)
{
    const cpu_tensor *beta = task->in[4], *state = task->in[5], *dst = task->in[7];
    const int64_t snapshots = delta_snapshots(task);
    float scale = (float)(1 / sqrt((double)u->s));
    bool per_key = task->in[3]->ne[0] > 1;
    load_state(u, state, pool_index(task->in[6], u->of.seq, 0));
    for (int64_t t = begin; t < end; t++) {
        float decay = load_token(task, u, t);
        float b = tail_f32(beta->data + u->of.head * beta->nb[0] + t * beta->nb[1]);
        const float *value = head_vector(task->in[2], u->of.head, t) + u->of.column;
        float *out = head_vector(task->out[0], u->of.head, t) + u->of.column;
        for (int64_t c = 0; c < u->of.columns; c += AT_ONCE) {
            float x[AT_ONCE] = {0}, y[AT_ONCE];
            size_t bytes = (size_t)(u->of.columns - c < AT_ONCE ? u->of.columns - c : AT_ONCE) * sizeof *x;
            memcpy(x, value + c, bytes);
            if (per_key)
                step(u, u->m + c * u->padded, x, b, 1, true, scale, y);
            else
                step(u, u->m + c * u->padded, x, b, decay, false, scale, y);
            memcpy(out + c, y, bytes);
        }
        int64_t back = end - 1 - t;
        if (back < snapshots)
            save_state(u, state, pool_index(dst, back, u->of.seq));
    }
}

/* The unit's columns, block by block. */
static void run_few(const cpu_task *task, const delta_unit *of, int64_t begin, int64_t end, uint8_t *scratch)
{
    gdn_unit u = {.of = *of, .s = of->s, .padded = padded_keys(of->s)};
    u.m = take_floats(&scratch, BLOCK * u.padded);
    float **const vectors[] = {&u.k, &u.q, &u.decay, &u.decayed_k};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = take_floats(&scratch, u.padded);
        memset(*vectors[i], 0, (size_t)u.padded * sizeof(float));
    }
    for (int64_t c = 0; c < of->columns; c += BLOCK) {
        u.of.column = of->column + c;
        u.of.columns = of->columns - c < BLOCK ? of->columns - c : BLOCK;
        run_tokens(task, &u, begin, end);
    }
}

static void run_unit(const cpu_task *task, const delta_unit *u, int64_t begin, int64_t end, uint8_t *scratch)
{
    if (end - begin > FEW)
        CPU_V(cpu_delta_chunks)(task, u, begin, end, scratch);
    else if (end > begin)
        run_few(task, u, begin, end, scratch);
}

/* Some units of a sequence: one, or what a matrix unit takes. */
static void run_units(const cpu_task *task, const delta_unit *u, int64_t n, int64_t sequences, uint8_t *scratch)
{
    const cpu_tensor *o = task->out[0];
    int64_t t0, t1;
    pool_tokens(task->in[8], u->seq, o->ne[2], &t0, &t1);
    for (int64_t i = 0; i < n && u->seq == 0; i++)
        zero_tokens(o, u[i].head, u->column, u->columns, 0, t0);
    const cpu_delta_unit *unit = unit_for(task);
    if (t1 - t0 > FEW && unit)
        unit->run(task, u, n, t0, t1, scratch);
    else
        for (int64_t i = 0; i < n; i++)
            run_unit(task, &u[i], t0, t1, scratch);
    for (int64_t i = 0; i < n && u->seq == sequences - 1; i++)
        zero_tokens(o, u[i].head, u->column, u->columns, t1, o->ne[2]);
}

static void run_gated_delta_net(const cpu_task *task, cpu_run *run)
{
    const int64_t heads = task->in[2]->ne[1], qk_heads = task->in[0]->ne[1], sequences = task->in[6]->ne[0];
    const int64_t s = task->in[0]->ne[0], together = unit_for(task) ? CPU_DELTA_HEADS : 1;
    int64_t blocks = (s + BLOCK - 1) / BLOCK, each = blocks, begin, end;
    /* narrower units where there are few heads: each column is the same whatever the unit is */
    while (each > 1 && sequences * heads * ((blocks + each - 1) / each) < 4 * run->threads)
        each = (each + 1) / 2;
    const int64_t parts = each ? (blocks + each - 1) / each : 0, per_seq = heads * parts;
    if (sequences == 0) {
        zero_all(run, task->out[0]);
        return;
    }
    cpu_share(run, sequences * per_seq, 1, &begin, &end);
    unsigned before = flush_begin();
    for (int64_t unit = begin, n; unit < end; unit += n) {
        delta_unit u[CPU_DELTA_HEADS];
        for (n = 0; n < (parts == 1 ? together : 1) && unit + n < end && (unit + n) / per_seq == unit / per_seq; n++) {
            const int64_t head = (unit + n) % per_seq / parts, column = (unit + n) % parts * each * BLOCK;
            const int64_t qk_head = head / (heads / qk_heads); /* heads that share keys one after another */
            u[n] = (delta_unit){.s = s, .seq = unit / per_seq, .qk_head = qk_head, .column = column,
                                .head = task->node->ip[ENG_GDN_GROUPED] ? head : head % (heads / qk_heads) * qk_heads + qk_head,
                                .columns = s - column < each * BLOCK ? s - column : each * BLOCK};
        }
        run_units(task, u, n, sequences, run->scratch);
    }
    flush_end(before);
}

CPU_DEFINE_WITH(gated_delta_net, run_gated_delta_net, thread_bytes, NULL)
