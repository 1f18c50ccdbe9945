/*
 * The selective scan, token by token.  The channels of a head never meet: a unit of work is a block of channels of one
 * head of one sequence, whose states stay in the first-level cache from the sequence's first token to its last.
 */
#include "pool.h"

#define BLOCK 32 /* channels of a unit, at most */
#define AHEAD 8 /* tokens */
#define AT_ONCE 4 /* in one pass over the states: their sums are added across lanes together */

typedef struct scan_unit {
    int64_t seq, head, group, channel, channels;
    int64_t n, padded; /* states of a channel; rounded up to whole vectors, the rest being zero */
    float *m;          /* [channels][padded]                                    */
    float *b, *c, *decay, *rate;
} scan_unit;

static int64_t padded_states(int64_t n)
{
    return (n + CPU_VL - 1) / CPU_VL * CPU_VL;
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    int64_t padded = padded_states(task->in[5]->ne[0]);
    return floats(BLOCK * padded) + 4 * floats(padded);
}

static void load_state(const scan_unit *u, const cpu_tensor *state, int64_t row)
{
    const bool there = pool_has(state, row);
    const int64_t worked = (u->channels + AT_ONCE - 1) / AT_ONCE * AT_ONCE; /* channels, with some that are not there */
    if (!there || u->padded != u->n || worked != u->channels)
        memset(u->m, 0, (size_t)(worked * u->padded) * sizeof *u->m);
    for (int64_t c = 0; there && c < u->channels; c++)
        memcpy(u->m + c * u->padded, pool_column(state, u->channel + c, u->head, row), (size_t)u->n * sizeof *u->m);
}

static void save_state(const scan_unit *u, const cpu_tensor *state, int64_t row)
{
    if (!pool_has(state, row))
        return;
    for (int64_t c = 0; c < u->channels; c++)
        memcpy(pool_column(state, u->channel + c, u->head, row), u->m + c * u->padded, (size_t)u->n * sizeof *u->m);
}

/* AT_ONCE channels: m = decay m + (dt x) b; o = m.c */
CPU_INLINE void step(const scan_unit *u, float *m, const float *x, float decay, const bool each, float *o)
{
    int64_t n = u->padded;
    vf in[AT_ONCE], sum[AT_ONCE], all = v_set1(decay);
    CPU_UNROLL
    for (int c = 0; c < AT_ONCE; c++) {
        in[c] = v_set1(x[c]);
        sum[c] = (vf){0};
    }
    for (int64_t i = 0; i < n; i += CPU_VL) {
        vf b = v_load(u->b + i), read = v_load(u->c + i), a = each ? v_load(u->decay + i) : all;
        CPU_UNROLL
        for (int c = 0; c < AT_ONCE; c++) {
            vf y = v_fma(in[c], b, a * v_load(m + c * n + i));
            v_store(m + c * n + i, y);
            sum[c] = v_fma(y, read, sum[c]);
        }
    }
    v_sum4(sum, o);
}

/* The token's b, c and decay, padded: the decay if it is the same for all states. */
static float load_token(const cpu_task *task, const scan_unit *u, int64_t t, float dt)
{
    const cpu_tensor *a = task->in[2];
    memcpy(u->b, head_vector(task->in[3], u->group, t), (size_t)u->n * sizeof(float));
    memcpy(u->c, head_vector(task->in[4], u->group, t), (size_t)u->n * sizeof(float));
    if (a->ne[0] == 1)
        return expf(dt * u->rate[0]);
    vf step = v_set1(dt);
    for (int64_t i = 0; i < u->padded; i += CPU_VL)
        v_store(u->decay + i, v_exp(step * v_load(u->rate + i)));
    for (int64_t i = u->n; i < u->padded; i++)
        u->decay[i] = 0;
    return 0;
}

/* A later token's channels, which lie far behind this one's: what takes so long to come must not stop the work. */
CPU_INLINE void ask_token(const cpu_task *task, const scan_unit *u, int64_t t)
{
    const float *x = head_vector(task->in[0], u->head, t) + u->channel,
                *out = head_vector(task->out[0], u->head, t) + u->channel;
    for (int64_t c = 0; c < u->channels; c += 64 / (int64_t)sizeof *x) {
        __builtin_prefetch(x + c, 0, 3);
        __builtin_prefetch(out + c, 1, 3);
    }
}

/* One sequence's tokens begin .. end - 1. */
static void scan(const cpu_task *task, const scan_unit *u, int64_t begin, int64_t end)
{
    const cpu_tensor *dts = task->in[1], *a = task->in[2], *state = task->in[5], *dst = task->in[7];
    const int64_t snapshots = pool_snapshots(task->node->ip[ENG_SCAN_SLOTS], dst);
    const bool each = a->ne[0] > 1;
    load_state(u, state, pool_index(task->in[6], u->seq, 0));
    memcpy(u->rate, a->data + u->head * a->nb[1], (size_t)a->ne[0] * sizeof(float));
    for (int64_t t = begin; t < end; t++) {
        if (t + AHEAD < end)
            ask_token(task, u, t + AHEAD);
        const float dt = tail_f32(dts->data + u->head * dts->nb[0] + t * dts->nb[1]);
        const float decay = load_token(task, u, t, dt), *x = head_vector(task->in[0], u->head, t) + u->channel;
        float *out = head_vector(task->out[0], u->head, t) + u->channel;
        for (int64_t c = 0; c < u->channels; c += AT_ONCE) {
            const int64_t n = u->channels - c < AT_ONCE ? u->channels - c : AT_ONCE;
            float in[AT_ONCE] = {0}, o[AT_ONCE];
            for (int64_t i = 0; i < n; i++)
                in[i] = dt * x[c + i];
            if (each)
                step(u, u->m + c * u->padded, in, 0, true, o);
            else
                step(u, u->m + c * u->padded, in, decay, false, o);
            memcpy(out + c, o, (size_t)n * sizeof *o);
        }
        const int64_t back = end - 1 - t;
        if (back < snapshots)
            save_state(u, state, pool_index(dst, back, u->seq));
    }
}

static void run_unit(const cpu_task *task, const scan_unit *u, int64_t sequences)
{
    const cpu_tensor *o = task->out[0];
    int64_t t0, t1;
    pool_tokens(task->in[8], u->seq, o->ne[2], &t0, &t1);
    if (u->seq == 0)
        zero_tokens(o, u->head, u->channel, u->channels, 0, t0);
    if (t1 > t0)
        scan(task, u, t0, t1);
    if (u->seq == sequences - 1)
        zero_tokens(o, u->head, u->channel, u->channels, t1, o->ne[2]);
}

static void run_ssm_scan(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0];
    const int64_t channels = x->ne[0], heads = x->ne[1], groups = task->in[3]->ne[1], sequences = task->in[6]->ne[0];
    scan_unit u = {.n = task->in[5]->ne[0]};
    uint8_t *scratch = run->scratch;
    int64_t each = BLOCK, begin, end;
    /* narrower units where there are few heads: each channel is the same whatever the unit is */
    while (each > AT_ONCE && sequences * heads * ((channels + each - 1) / each) < 4 * run->threads)
        each /= 2;
    const int64_t parts = (channels + each - 1) / each, per_seq = heads * parts;
    u.padded = padded_states(u.n);
    u.m = take_floats(&scratch, BLOCK * u.padded);
    float **const vectors[] = {&u.b, &u.c, &u.decay, &u.rate};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = take_floats(&scratch, u.padded);
        memset(*vectors[i], 0, (size_t)u.padded * sizeof(float));
    }
    cpu_share(run, sequences * per_seq, 1, &begin, &end);
    unsigned before = flush_begin();
    for (int64_t unit = begin; unit < end; unit++) {
        u.seq = unit / per_seq;
        u.head = unit % per_seq / parts;
        u.group = u.head / (heads / groups);
        u.channel = unit % parts * each;
        u.channels = channels - u.channel < each ? channels - u.channel : each;
        run_unit(task, &u, sequences);
    }
    flush_end(before);
}

CPU_DEFINE_WITH(ssm_scan, run_ssm_scan, thread_bytes, NULL)
