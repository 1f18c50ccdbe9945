/*
 * The selective scan, token by token.  The channels of a head never meet: a unit of work is a block of columns of one
 * sequence, channels of one head or, where a head has but one, heads beside one another, whose states stay in the
 * first-level cache from the sequence's first token to its last.
 */
#include "pool.h"

#define BLOCK 32 /* columns of a unit, at most */
#define AHEAD 8 /* tokens */
#define AT_ONCE 4 /* in one pass over the states: their sums are added across lanes together */

typedef struct scan_unit {
    int64_t seq, head, group, channel; /* of the first column                  */
    int64_t columns;
    bool heads;        /* the columns are heads                                 */
    int64_t n, padded; /* states of a column; rounded up to whole vectors, the rest being zero */
    float *m;          /* [columns][padded]                                     */
    float *b, *c, *decay;
    float *rate;       /* [head][padded]                                        */
} scan_unit;

static int64_t padded_states(int64_t n)
{
    return (n + CPU_VL - 1) / CPU_VL * CPU_VL;
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    int64_t padded = padded_states(task->in[5]->ne[0]);
    return floats(BLOCK * padded) + 3 * floats(padded) + floats(BLOCK * padded);
}

static float *state_of(const scan_unit *u, const cpu_tensor *state, int64_t column, int64_t row)
{
    return u->heads ? pool_column(state, 0, u->head + column, row) : pool_column(state, u->channel + column, u->head, row);
}

/* The unit's columns of a token. */
static float *columns_of(const scan_unit *u, const cpu_tensor *x, int64_t token)
{
    return head_vector(x, u->head, token) + u->channel;
}

static void load_state(const scan_unit *u, const cpu_tensor *state, int64_t row)
{
    const bool there = pool_has(state, row);
    const int64_t worked = (u->columns + AT_ONCE - 1) / AT_ONCE * AT_ONCE; /* columns, with some that are not there */
    if (!there || u->padded != u->n || worked != u->columns)
        memset(u->m, 0, (size_t)(worked * u->padded) * sizeof *u->m);
    for (int64_t c = 0; there && c < u->columns; c++)
        memcpy(u->m + c * u->padded, state_of(u, state, c, row), (size_t)u->n * sizeof *u->m);
}

static void save_state(const scan_unit *u, const cpu_tensor *state, int64_t row)
{
    if (!pool_has(state, row))
        return;
    for (int64_t c = 0; c < u->columns; c++)
        memcpy(state_of(u, state, c, row), u->m + c * u->padded, (size_t)u->n * sizeof *u->m);
}

/* How the states of a column decay: all alike, each by itself and in all columns alike, or in each column by itself. */
enum decays { ALIKE, EACH, OWN };

/* AT_ONCE columns: m = decay m + (dt x) b; o = m.c.  OWN: rates of the first column, and the steps of all. */
CPU_INLINE void step(const scan_unit *u, float *m, const float *x, float decay, const float *rate, const float *dt,
                     const enum decays how, float *o)
{
    int64_t n = u->padded;
    vf in[AT_ONCE], time[AT_ONCE], sum[AT_ONCE], all = v_set1(decay);
    CPU_UNROLL
    for (int c = 0; c < AT_ONCE; c++) {
        in[c] = v_set1(x[c]);
        time[c] = v_set1(how == OWN ? dt[c] : 0);
        sum[c] = (vf){0};
    }
    for (int64_t i = 0; i < n; i += CPU_VL) {
        vf b = v_load(u->b + i), read = v_load(u->c + i), a = how == EACH ? v_load(u->decay + i) : all;
        CPU_UNROLL
        for (int c = 0; c < AT_ONCE; c++) {
            if (how == OWN)
                a = v_exp(time[c] * v_load(rate + c * n + i));
            vf y = v_fma(in[c], b, a * v_load(m + c * n + i));
            v_store(m + c * n + i, y);
            sum[c] = v_fma(y, read, sum[c]);
        }
    }
    v_sum4(sum, o);
}

/* A later token's columns, which lie far behind this one's: what takes so long to come must not stop the work. */
CPU_INLINE void ask_token(const cpu_task *task, const scan_unit *u, int64_t t)
{
    const float *x = columns_of(u, task->in[0], t), *out = columns_of(u, task->out[0], t);
    for (int64_t c = 0; c < u->columns; c += 64 / (int64_t)sizeof *x) {
        __builtin_prefetch(x + c, 0, 3);
        __builtin_prefetch(out + c, 1, 3);
    }
}

/* The token's b and c, padded. */
static void load_token(const cpu_task *task, const scan_unit *u, int64_t t)
{
    memcpy(u->b, head_vector(task->in[3], u->group, t), (size_t)u->n * sizeof(float));
    memcpy(u->c, head_vector(task->in[4], u->group, t), (size_t)u->n * sizeof(float));
}

/* A head's decay at a token: what it is if it is the same for all states; else those are there, padded. */
static float load_decay(const scan_unit *u, bool each, float dt)
{
    if (!each)
        return expf(dt * u->rate[0]);
    vf step = v_set1(dt);
    for (int64_t i = 0; i < u->padded; i += CPU_VL)
        v_store(u->decay + i, v_exp(step * v_load(u->rate + i)));
    for (int64_t i = u->n; i < u->padded; i++)
        u->decay[i] = 0;
    return 0;
}

static float dt_of(const cpu_task *task, int64_t head, int64_t t)
{
    const cpu_tensor *dts = task->in[1];
    return tail_f32(dts->data + head * dts->nb[0] + t * dts->nb[1]);
}

/* Channels of one head. */
static void scan_channels(const cpu_task *task, const scan_unit *u, int64_t t, bool each)
{
    const float dt = dt_of(task, u->head, t), decay = load_decay(u, each, dt), *x = columns_of(u, task->in[0], t);
    float *out = columns_of(u, task->out[0], t);
    for (int64_t c = 0; c < u->columns; c += AT_ONCE) {
        const int64_t n = u->columns - c < AT_ONCE ? u->columns - c : AT_ONCE;
        float in[AT_ONCE] = {0}, o[AT_ONCE];
        for (int64_t i = 0; i < n; i++)
            in[i] = dt * x[c + i];
        if (each)
            step(u, u->m + c * u->padded, in, 0, NULL, NULL, EACH, o);
        else
            step(u, u->m + c * u->padded, in, decay, NULL, NULL, ALIKE, o);
        memcpy(out + c, o, (size_t)n * sizeof *o);
    }
}

/* Heads of one channel each. */
static void scan_heads(const cpu_task *task, const scan_unit *u, int64_t t)
{
    for (int64_t c = 0; c < u->columns; c += AT_ONCE) {
        const int64_t n = u->columns - c < AT_ONCE ? u->columns - c : AT_ONCE;
        float in[AT_ONCE] = {0}, dt[AT_ONCE] = {0}, o[AT_ONCE];
        for (int64_t i = 0; i < n; i++) {
            dt[i] = dt_of(task, u->head + c + i, t);
            in[i] = dt[i] * *head_vector(task->in[0], u->head + c + i, t);
        }
        step(u, u->m + c * u->padded, in, 0, u->rate + c * u->padded, dt, OWN, o);
        for (int64_t i = 0; i < n; i++)
            *head_vector(task->out[0], u->head + c + i, t) = o[i];
    }
}

/* One sequence's tokens begin .. end - 1. */
static void scan(const cpu_task *task, const scan_unit *u, int64_t begin, int64_t end)
{
    const cpu_tensor *a = task->in[2], *state = task->in[5], *dst = task->in[7];
    const int64_t snapshots = pool_snapshots(task->node->ip[ENG_SCAN_SLOTS], dst);
    const bool each = a->ne[0] > 1;
    load_state(u, state, pool_index(task->in[6], u->seq, 0));
    for (int64_t h = 0; h < (u->heads ? u->columns : 1); h++)
        memcpy(u->rate + h * u->padded, a->data + (u->head + h) * a->nb[1], (size_t)a->ne[0] * sizeof(float));
    for (int64_t t = begin; t < end; t++) {
        if (t + AHEAD < end)
            ask_token(task, u, t + AHEAD);
        load_token(task, u, t);
        if (u->heads)
            scan_heads(task, u, t);
        else
            scan_channels(task, u, t, each);
        const int64_t back = end - 1 - t;
        if (back < snapshots)
            save_state(u, state, pool_index(dst, back, u->seq));
    }
}

/* Tokens that belong to no sequence give zeros. */
static void clear_tokens(const cpu_task *task, const scan_unit *u, int64_t begin, int64_t end)
{
    for (int64_t h = 0; h < (u->heads ? u->columns : 1); h++)
        zero_tokens(task->out[0], u->head + h, u->channel, u->heads ? 1 : u->columns, begin, end);
}

static void run_unit(const cpu_task *task, const scan_unit *u, int64_t sequences)
{
    const cpu_tensor *o = task->out[0];
    int64_t t0, t1;
    pool_tokens(task->in[8], u->seq, o->ne[2], &t0, &t1);
    if (u->seq == 0)
        clear_tokens(task, u, 0, t0);
    if (t1 > t0)
        scan(task, u, t0, t1);
    if (u->seq == sequences - 1)
        clear_tokens(task, u, t1, o->ne[2]);
}

static void run_ssm_scan(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0];
    const int64_t heads = x->ne[1], groups = task->in[3]->ne[1], per_group = groups ? heads / groups : 0,
                  sequences = task->in[6]->ne[0];
    scan_unit u = {.n = task->in[5]->ne[0]};
    uint8_t *scratch = run->scratch;
    int64_t each = BLOCK, begin, end;
    u.padded = padded_states(u.n);
    u.heads = x->ne[0] == 1 && task->in[2]->ne[0] > 1 && u.padded == u.n;
    /* what follows one another: channels of a head, or heads of a group */
    const int64_t columns = u.heads ? per_group : x->ne[0], runs = u.heads ? groups : heads;
    /* narrower units where there are few: each column is the same whatever the unit is */
    while (each > AT_ONCE && sequences * runs * ((columns + each - 1) / each) < 4 * run->threads)
        each /= 2;
    const int64_t parts = (columns + each - 1) / each, per_seq = runs * parts;
    u.m = take_floats(&scratch, BLOCK * u.padded);
    u.rate = take_floats(&scratch, BLOCK * u.padded);
    float **const vectors[] = {&u.b, &u.c, &u.decay};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = take_floats(&scratch, u.padded);
        memset(*vectors[i], 0, (size_t)u.padded * sizeof(float));
    }
    memset(u.rate, 0, (size_t)(BLOCK * u.padded) * sizeof(float));
    if (sequences == 0) {
        zero_all(run, task->out[0]);
        return;
    }
    cpu_share(run, sequences * per_seq, 1, &begin, &end);
    unsigned before = flush_begin();
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t of = unit % per_seq / parts, first = unit % parts * each;
        u.seq = unit / per_seq;
        u.head = u.heads ? of * per_group + first : of;
        u.group = u.head / per_group;
        u.channel = u.heads ? 0 : first;
        u.columns = columns - first < each ? columns - first : each;
        run_unit(task, &u, sequences);
    }
    flush_end(before);
}

CPU_DEFINE_WITH(ssm_scan, run_ssm_scan, thread_bytes, NULL)
