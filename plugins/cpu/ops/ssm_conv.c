/*
 * Causal depthwise convolution over each sequence's tokens, preceded by a
 * window kept in a pool of rows.  Channels are shared out; a group of them
 * keeps its window in a buffer in which channels are side by side.
 */
#include "pool.h"

#define GROUP 64 /* channels at a time */

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    int64_t taps = task->in[1]->ne[0];
    return 2 * floats(taps * GROUP) + floats(task->in[0]->ne[0]);
}

/* The window of channels c0 .. c0 + n - 1 from or to a row of the pool. */
static float *window_at(const cpu_tensor *state, int64_t channel, int64_t row)
{
    return (float *)(state->data + channel * state->nb[1] + row * state->nb[2]);
}

typedef struct conv_group {
    int64_t c0, n, taps;
    float *weight; /* [tap][GROUP]                                           */
    float *window; /* [tap][GROUP]: a ring of the last `taps` inputs         */
} conv_group;

static void load_window(const conv_group *g, const cpu_tensor *state, int64_t row)
{
    memset(g->window, 0, (size_t)(g->taps * GROUP) * sizeof(float));
    if (row < 0 || row >= state->ne[2])
        return;
    for (int64_t c = 0; c < g->n; c++) {
        const float *s = window_at(state, g->c0 + c, row);
        for (int64_t j = 0; j < g->taps - 1; j++)
            g->window[j * GROUP + c] = s[j];
    }
}

/* Writes the last taps - 1 inputs, the newest being in ring place `newest`. */
static void save_window(const conv_group *g, const cpu_tensor *state, int64_t row, int64_t newest)
{
    if (row < 0 || row >= state->ne[2])
        return;
    for (int64_t c = 0; c < g->n; c++) {
        float *s = window_at(state, g->c0 + c, row);
        for (int64_t j = 0; j < g->taps - 1; j++)
            s[j] = g->window[(newest + 2 + j) % g->taps * GROUP + c];
    }
}

/* One sequence's tokens begin .. end - 1 for one group of channels. */
static void convolve(const cpu_task *task, const conv_group *g, int64_t seq, int64_t begin, int64_t end, float *buffer)
{
    const cpu_tensor *x = task->in[0], *state = task->in[2], *dst = task->in[4], *o = task->out[0];
    int64_t snapshots = pool_snapshots(task->node->ip[ENG_CONV_SLOTS], dst), newest = g->taps - 2;
    load_window(g, state, pool_index(task->in[3], seq, 0));
    for (int64_t t = begin; t < end; t++) {
        newest = (newest + 1) % g->taps;
        const float *in = cpu_row_f32(x, x->data + t * x->nb[1], buffer) + g->c0;
        float *out = out_row(o, t) + g->c0, sum[GROUP] = {0};
        memcpy(g->window + newest * GROUP, in, (size_t)g->n * sizeof *in);
        for (int64_t j = 0; j < g->taps; j++) {
            const float *w = g->weight + j * GROUP, *v = g->window + (newest + 1 + j) % g->taps * GROUP;
            for (int c = 0; c < GROUP; c++)
                sum[c] += w[c] * v[c];
        }
        memcpy(out, sum, (size_t)g->n * sizeof *out);
        int64_t back = end - 1 - t;
        if (back < snapshots)
            save_window(g, state, pool_index(dst, back, seq), newest);
    }
}

static void run_ssm_conv(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *w = task->in[1], *cu = task->in[5], *o = task->out[0];
    int64_t channels = x->ne[0], tokens = x->ne[1], sequences = task->in[3]->ne[0], begin, end;
    uint8_t *scratch = run->scratch;
    conv_group g = {.taps = w->ne[0]};
    g.weight = take_floats(&scratch, g.taps * GROUP);
    g.window = take_floats(&scratch, g.taps * GROUP);
    float *buffer = take_floats(&scratch, channels);
    memset(g.weight, 0, (size_t)(g.taps * GROUP) * sizeof(float));
    cpu_share(run, channels, GROUP, &begin, &end);
    for (g.c0 = begin; g.c0 < end; g.c0 += GROUP) {
        g.n = end - g.c0 < GROUP ? end - g.c0 : GROUP;
        for (int64_t c = 0; c < g.n; c++)
            for (int64_t j = 0; j < g.taps; j++)
                g.weight[j * GROUP + c] = tail_f32(w->data + (g.c0 + c) * w->nb[1] + j * w->nb[0]);
        int64_t covered = 0; /* tokens of no sequence give zeros */
        for (int64_t s = 0; s <= sequences; s++) {
            int64_t t0 = tokens, t1 = tokens;
            if (s < sequences)
                pool_tokens(cu, s, tokens, &t0, &t1);
            for (int64_t t = covered; t < t0; t++)
                memset(out_row(o, t) + g.c0, 0, (size_t)g.n * sizeof(float));
            if (s < sequences && t1 > t0)
                convolve(task, &g, s, t0, t1, buffer);
            covered = t1 > covered ? t1 : covered;
        }
    }
}

CPU_DEFINE_WITH(ssm_conv, run_ssm_conv, thread_bytes, NULL)
