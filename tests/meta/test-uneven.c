/*
 * Ranks of one OpenCL device that have not as many compute units: sums may be shared out by these, and differ in their last
 * bits.  Where elements are equal but for such bits, one rank's argmax is not another's, and rows that are chosen by
 * numbers must all the same be chosen by one of them: each rank has a part of the table and adds what is its own.
 *
 *   o = attention to all cells alike, so that each channel is the mean of the same numbers in another order;
 *   out = table[argmax(o)]
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { WIDTH = 64, CELLS = 4096, TOKENS = 4, COLUMNS = 8 };
enum { Q, K, V, POS, TABLE, OUT, TENSORS };

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
           rig_write(g, TABLE, table);
}

static bool build(rig *g)
{
    rig_dim rows;
    const eng_dim by_rows[] = {{0}, rig_axis(&rows, eng_context_axis(context, "vocab"), WIDTH, 1)};
    eng_store_tensor t[TENSORS] = {
        [Q] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_INPUT, .ne = {WIDTH, 1, TOKENS}},
        [K] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_CACHE, .ne = {WIDTH, CELLS, 1}},
        [V] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_CACHE, .ne = {WIDTH, CELLS, 1}},
        [POS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {TOKENS}},
        [TABLE] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {COLUMNS, WIDTH}, .dims = by_rows},
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
    eng_value best = eng_argmax(g->graph, eng_reshape(g->graph, o, (int64_t[]){WIDTH, TOKENS}, 2));
    eng_store_value(g->graph, in[OUT], eng_get_rows(g->graph, in[TABLE], best));
    return rig_plan(g);
}

/* Every row is of ones: whoever adds a row, there is one. */
static void check(const char *name)
{
    float out[COLUMNS * TOKENS] = {0};
    rig g;
    bool opened = rig_open(&g, context, name, 0);
    bool good = opened && build(&g) && rig_run(&g, NULL, 0) && rig_read(&g, OUT, out);
    bool one = good;

    for (int i = 0; i < COLUMNS * TOKENS; i++)
        one = one && out[i] == 1;
    if (opened)
        tap_check(one, "%s: one row is chosen: %g of them, %s", name, out[0], good ? "run" : eng_last_error());
    else
        tap_check(true, "%s # SKIP it does not open: %s", name, eng_last_error());
    rig_close(&g);
}

int main(void)
{
    setenv("POCL_MAX_PTHREAD_COUNT", "4", 0); /* so that PoCL has thirds that are not alike */
    if (!(context = tap_begin()))
        return 1;
    check("opencl:0/2");
    check("opencl:0/3");
    check("opencl:0+opencl:0/4.1");
    return tap_end(context);
}
