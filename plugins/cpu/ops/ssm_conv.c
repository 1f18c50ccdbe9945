/*
 * Causal depthwise convolution over each sequence's tokens, preceded by a window kept in a pool of rows.  Channels are
 * shared out; of a group of them the weights and the window are spread to buffers in which channels are side by side, as
 * they are in rows of x.
 */
#include "loops.h"

#include "pool.h"

#define GROUP 512   /* channels at a time: with four taps a row of each, and its weights, fit the nearest cache */
#define GRAIN 64    /* channels that threads share out */
#define USUAL 4     /* taps */
#define LATER 2     /* tokens: whose channels are asked for */

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    int64_t taps = task->in[1]->ne[0];
    return 2 * floats(taps * GROUP) + floats(2 * taps);
}

typedef struct conv_group {
    int64_t c0, n, taps;
    float *weight;    /* [tap][GROUP]                                           */
    float *window;    /* [taps - 1][GROUP]: the inputs before the first token   */
    const float **in; /* [tap]: the inputs of a token, the oldest first         */
    int64_t begin;    /* the first token                                        */
} conv_group;

/* -- numbers of a channel beside one another, and channels beside one another ------------- */

/* `each` numbers of n channels, which are `stride` floats apart. */
CPU_INLINE void spread_by(const float *from, int64_t stride, int64_t n, const int64_t each, float *to)
{
    for (int64_t c = 0; c < n; c++)
        for (int64_t j = 0; j < each; j++)
            to[j * GROUP + c] = from[c * stride + j];
}

static void spread(const float *from, int64_t stride, int64_t n, int64_t each, float *to)
{
    if (each == USUAL && stride == USUAL)
        spread_by(from, USUAL, n, USUAL, to);
    else if (each == USUAL - 1 && stride == USUAL - 1)
        spread_by(from, USUAL - 1, n, USUAL - 1, to);
    else
        spread_by(from, stride, n, each, to);
}

static float *window_at(const cpu_tensor *state, int64_t channel, int64_t row)
{
    return (float *)(state->data + channel * state->nb[1] + row * state->nb[2]);
}

static void load_window(const conv_group *g, const cpu_tensor *state, int64_t row)
{
    if (row < 0 || row >= state->ne[2])
        memset(g->window, 0, (size_t)(g->taps * GROUP) * sizeof(float));
    else if (g->taps > 1)
        spread(window_at(state, g->c0, row), state->nb[1] / 4, g->n, g->taps - 1, g->window);
}

/* The group's input of a token, or of one before the first. */
CPU_INLINE const float *input_at(const conv_group *g, const cpu_tensor *x, int64_t t)
{
    return t >= g->begin ? (const float *)(x->data + t * x->nb[1]) + g->c0
                         : g->window + (t - g->begin + g->taps - 1) * GROUP;
}

/* A number of each of the rows `in` for n channels, which are `stride` floats apart. */
CPU_INLINE void gather_by(const float *const *in, int64_t n, const int64_t each, int64_t stride, float *to)
{
    for (int64_t c = 0; c < n; c++)
        for (int64_t j = 0; j < each; j++)
            to[c * stride + j] = in[j][c];
}

/* Writes the last taps - 1 inputs, of which g->in has one more. */
static void save_window(const conv_group *g, const cpu_tensor *state, int64_t row)
{
    if (row < 0 || row >= state->ne[2])
        return;
    const int64_t stride = state->nb[1] / 4;
    float *to = window_at(state, g->c0, row);
    if (g->taps == USUAL && stride == USUAL - 1)
        gather_by(g->in + 1, g->n, USUAL - 1, USUAL - 1, to);
    else
        gather_by(g->in + 1, g->n, g->taps - 1, stride, to);
}

/* -- tokens ------------------------------------------------------------------------------- */

/* A token's channels.  What `next` has is asked for. */
CPU_INLINE void convolve_row(const conv_group *g, const int64_t taps, const float *next, float *out)
{
    const float *const *in = g->in;
    int64_t c = 0;
    for (; c + CPU_VL <= g->n; c += CPU_VL) {
        vf sum = {0};
        __builtin_prefetch(next + c, 0, 3);
        for (int64_t j = 0; j < taps; j++)
            sum = v_fma(v_load(g->weight + j * GROUP + c), v_load(in[j] + c), sum);
        v_store(out + c, sum);
    }
    for (; c < g->n; c++) {
        float sum = 0;
        for (int64_t j = 0; j < taps; j++)
            sum += g->weight[j * GROUP + c] * in[j][c];
        out[c] = sum;
    }
}

/* One sequence's tokens begin .. end - 1 for one group of channels. */
static void convolve(const cpu_task *task, conv_group *g, int64_t seq, int64_t begin, int64_t end)
{
    const cpu_tensor *x = task->in[0], *state = task->in[2], *dst = task->in[4], *o = task->out[0];
    const int64_t snapshots = pool_snapshots(task->node->ip[ENG_CONV_SLOTS], dst);
    g->begin = begin;
    load_window(g, state, pool_index(task->in[3], seq, 0));
    for (int64_t t = begin; t < end; t++) {
        float *out = out_row(o, t) + g->c0;
        const float *next = input_at(g, x, t + LATER < end ? t + LATER : t);
        for (int64_t j = 0; j < g->taps; j++)
            g->in[j] = input_at(g, x, t + 1 - g->taps + j);
        if (g->taps == USUAL)
            convolve_row(g, USUAL, next, out);
        else
            convolve_row(g, g->taps, next, out);
        const int64_t back = end - 1 - t;
        if (back < snapshots)
            save_window(g, state, pool_index(dst, back, seq));
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
    g.in = (const float **)take_floats(&scratch, 2 * g.taps);
    cpu_share(run, channels, GRAIN, &begin, &end);
    for (g.c0 = begin; g.c0 < end; g.c0 += GROUP) {
        g.n = end - g.c0 < GROUP ? end - g.c0 : GROUP;
        spread((const float *)(w->data + g.c0 * w->nb[1]), w->nb[1] / 4, g.n, g.taps, g.weight);
        int64_t covered = 0; /* tokens of no sequence give zeros */
        for (int64_t s = 0; s <= sequences; s++) {
            int64_t t0 = tokens, t1 = tokens;
            if (s < sequences)
                pool_tokens(cu, s, tokens, &t0, &t1);
            for (int64_t t = covered; t < t0; t++)
                memset(out_row(o, t) + g.c0, 0, (size_t)g.n * sizeof(float));
            if (s < sequences && t1 > t0)
                convolve(task, &g, s, t0, t1);
            covered = t1 > covered ? t1 : covered;
        }
    }
}

CPU_DEFINE_WITH(ssm_conv, run_ssm_conv, thread_bytes, NULL)
