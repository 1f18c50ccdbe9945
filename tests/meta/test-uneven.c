/*
 * Ranks that round differently: devices of two kinds, and parts of one OpenCL device that have not as many compute units, by
 * which sums are shared out.  Where elements are equal but for last bits, what jumps is not the same on one rank as on
 * another, and must all the same be the same for all: each rank has a part of the table and adds what is its own.
 *
 *   o = attention to all cells alike, so that each channel is the mean of the same numbers in another order;
 *   out = table[argmax(o)]
 *   sums = (step(o - o of the channel before) to each of 8 channels) times a row of 8 ones
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { WIDTH = 64, CELLS = 4096, TOKENS = 4, COLUMNS = 8, STEPS = (WIDTH - 1) * TOKENS };
enum { Q, K, V, POS, TABLE, ONES, OUT, SUMS, TENSORS };

static eng_context *context;

/* Small numbers of any bits. */
static float number(int at)
{
    return (float)((uint32_t)at * 2654435761u >> 8 & 0xffff) / 65536 - 0.3f;
}

static bool fill(rig *g)
{
    static float zeros[WIDTH * CELLS], values[WIDTH * CELLS], table[COLUMNS * WIDTH];
    static const int32_t pos[TOKENS];

    for (int e = 0; e < WIDTH; e++)
        for (int i = 0; i < CELLS; i++)
            values[e + i * WIDTH] = number((i * (2 * e + 1) + 17 * e) % CELLS);
    for (int i = 0; i < COLUMNS * WIDTH; i++)
        table[i] = 1;
    return rig_write(g, Q, zeros) && rig_write(g, K, zeros) && rig_write(g, V, values) && rig_write(g, POS, pos) &&
           rig_write(g, TABLE, table) && rig_write(g, ONES, table);
}

/* Of [WIDTH, TOKENS]: 8 channels for each step. */
static eng_value steps(eng_graph *g, eng_value o)
{
    eng_value s = eng_unary(g, eng_sub(g, eng_slice(g, o, 0, 1, WIDTH - 1), eng_slice(g, o, 0, 0, WIDTH - 1)), ENG_UNARY_STEP);
    return eng_repeat(g, eng_reshape(g, s, (int64_t[]){1, STEPS}, 2), (int64_t[]){COLUMNS, STEPS}, 2);
}

static bool build(rig *g)
{
    rig_dim rows, columns;
    const eng_dim by_rows[] = {{0}, rig_axis(&rows, eng_context_axis(context, "vocab"), WIDTH, 1)};
    const eng_dim by_columns[] = {rig_axis(&columns, eng_context_axis(context, "ffn"), COLUMNS, 1), {0}};
    eng_store_tensor t[TENSORS] = {
        [Q] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_INPUT, .ne = {WIDTH, 1, TOKENS}},
        [K] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_CACHE, .ne = {WIDTH, CELLS, 1}},
        [V] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_CACHE, .ne = {WIDTH, CELLS, 1}},
        [POS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {TOKENS}},
        [TABLE] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {COLUMNS, WIDTH}, .dims = by_rows},
        [ONES] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {COLUMNS, 1}, .dims = by_columns},
        [SUMS] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {1, STEPS}},
        [OUT] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {COLUMNS, TOKENS}},
    };
    eng_attention_params p;
    eng_value in[TENSORS];

    if (!rig_store(g, t, TENSORS) || !fill(g))
        return false;
    rig_values(g, in, TENSORS);
    eng_attention_defaults(&p);
    p.causal = 0;
    p.pos = in[POS];
    eng_value o = eng_attention(g->graph, in[Q], in[K], in[V], &p);
    o = eng_reshape(g->graph, o, (int64_t[]){WIDTH, TOKENS}, 2);
    eng_store_value(g->graph, in[OUT], eng_get_rows(g->graph, in[TABLE], eng_argmax(g->graph, o)));
    eng_store_value(g->graph, in[SUMS], eng_mul_mat(g->graph, in[ONES], steps(g->graph, o)));
    return rig_plan(g);
}

/* Every row is of ones: whoever adds a row, there is one; and all 8 or none of a step's channels are 1. */
static void check(const char *name)
{
    float out[COLUMNS * TOKENS] = {0}, sums[STEPS] = {0};
    int rows = 0, torn = 0;
    rig g;

    if (!rig_open(&g, context, name, 0)) {
        tap_check(true, "%s # SKIP it does not open: %s", name, eng_last_error());
        rig_close(&g);
        return;
    }
    bool good = build(&g) && rig_run(&g, NULL, 0) && rig_read(&g, OUT, out) && rig_read(&g, SUMS, sums);
    for (int i = 0; i < COLUMNS * TOKENS; i++)
        rows += out[i] != 1;
    for (int i = 0; i < STEPS; i++)
        torn += sums[i] != 0 && sums[i] != COLUMNS;
    tap_check(good && rows == 0, "%s: rows of a table by argmax, %g of them: %s", name, out[0],
              good ? "run" : eng_last_error());
    tap_check(good && torn == 0, "%s: steps, %d of %d of which are not the same for all", name, torn, STEPS);
    rig_close(&g);
}

int main(void)
{
    setenv("POCL_MAX_PTHREAD_COUNT", "4", 0); /* so that PoCL has thirds that are not alike */
    if (!(context = tap_begin()))
        return 1;
    check("opencl:0/2");
    check("cpu+opencl:0");
    check("opencl:0/3");
    check("opencl:0+opencl:0/4.1");
    return tap_end(context);
}
