/*
 * A rank whose device lacks an op, each op of the table in turn: what needs it runs on
 * another rank, also where the graph has no such op and the planner itself made it - a
 * norm of split rows is a few small ops, so is an attention along the cells of its cache -
 * and the results are those of one device.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

enum { N = 1536, ROWS = 32, EPS = 2 };                                       /* norms      */
enum { HEAD = 32, HEADS = 4, CELLS = 16, TOKENS = 3, WIDTH = HEAD * HEADS }; /* attention  */
enum { K = 24, FFN = 48, EXPERTS = 4, USED = 2, VOCAB = 20 };
enum { X, GAIN, CACHE_K, CACHE_V, Q, NEW, IDS, W_O, TABLE, IN, UP, DOWN, EXPERT_UP, EXPERT_DOWN, CHOSEN, FIRST_OUT };
enum { RMS = FIRST_OUT, L2, ATTENDED, LOOKED_UP, FED, MIXED, BEST, TENSORS };

static eng_context *context;
static float wanted[TENSORS - RMS][N * ROWS];

static eng_dim along(rig_dim *d, const char *axis, int64_t extent)
{
    return rig_axis(d, eng_context_axis(context, axis), extent, 1);
}

static bool make_store(rig *g)
{
    rig_dim d[5];
    const eng_dim none = {0}, width = along(&d[0], "width", N), cell = along(&d[1], "cell", CELLS),
                  vocab = along(&d[2], "vocab", VOCAB), ffn = along(&d[3], "ffn", FFN),
                  expert = along(&d[4], "expert", EXPERTS);
    const eng_dim row[] = {width, none}, cache[] = {none, cell, none}, table[] = {none, vocab}, up[] = {none, ffn},
                  down[] = {ffn, none}, dealt[] = {none, none, expert};
    eng_store_tensor t[TENSORS] = {
        [X] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {N, ROWS}},
        [GAIN] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {N}},
        [CACHE_K] = {.rank = 3, .use = ENG_USE_CACHE, .ne = {HEAD, CELLS, 1}, .dims = cache},
        [CACHE_V] = {.rank = 3, .use = ENG_USE_CACHE, .ne = {HEAD, CELLS, 1}, .dims = cache},
        [Q] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {HEAD, HEADS, TOKENS}},
        [NEW] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {HEAD, TOKENS, 1}},
        [IDS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {TOKENS}},
        [W_O] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {WIDTH, K}},
        [TABLE] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, VOCAB}, .dims = table},
        [IN] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {K, TOKENS}},
        [UP] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, FFN}, .dims = up},
        [DOWN] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {FFN, K}, .dims = down},
        [EXPERT_UP] = {.rank = 3, .use = ENG_USE_WEIGHT, .ne = {K, FFN, EXPERTS}, .dims = dealt},
        [EXPERT_DOWN] = {.rank = 3, .use = ENG_USE_WEIGHT, .ne = {FFN, K, EXPERTS}, .dims = dealt},
        [CHOSEN] = {.type = ENG_TYPE_I32, .rank = 2, .use = ENG_USE_INPUT, .ne = {USED, TOKENS}},
        [RMS] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .dims = row},
        [L2] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .dims = row},
        [ATTENDED] = {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {K, TOKENS}},
        [LOOKED_UP] = {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {K, TOKENS}},
        [FED] = {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {K, TOKENS}},
        [MIXED] = {.rank = 3, .use = ENG_USE_OUTPUT, .ne = {K, USED, TOKENS}},
        [BEST] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {TOKENS}},
    };
    static float data[N * ROWS];
    static const int32_t ids[] = {5, 14, 9}, chosen[] = {0, 3, 2, 1, 3, 2};
    bool good = rig_store(g, t, TENSORS);

    for (uint32_t i = X; i < FIRST_OUT && good; i++) {
        unsigned seed = i + 1;
        for (int j = 0; j < N * ROWS; j++) {
            seed = seed * 1664525u + 1013904223u;
            data[j] = (float)(seed >> 8) / 8388608.0f - 1;
        }
        good = rig_write(g, i, i == IDS ? (const void *)ids : i == CHOSEN ? (const void *)chosen : data);
    }
    return good;
}

static void norms(eng_graph *g, const eng_value *in)
{
    rig_dim d;
    eng_placement split = {.size = sizeof split, .kind = ENG_PLACE_SHARDED, .axis = eng_context_axis(context, "width")};
    eng_dim dims[] = {along(&d, "width", N), {0}};
    eng_value y = eng_scale(g, in[X], 1, 0);

    eng_graph_set_axes(g, y, dims, 2);
    eng_graph_place(g, y, &split);
    eng_store_value(g, in[RMS], eng_rms_norm(g, y, in[GAIN], 1e-6));
    eng_store_value(g, in[L2], eng_l2_norm(g, y, 1e-5));
}

static void attention(eng_graph *g, const eng_value *in)
{
    eng_attention_params p;

    eng_set_rows(g, in[CACHE_K], in[NEW], in[IDS]);
    eng_set_rows(g, in[CACHE_V], in[NEW], in[IDS]);
    eng_attention_defaults(&p);
    p.scale = 0.5;
    p.causal = false;
    p.pos = in[IDS];
    eng_value o = eng_attention(g, in[Q], in[CACHE_K], in[CACHE_V], &p);
    o = eng_reshape(g, o, (int64_t[]){WIDTH, TOKENS}, 2);
    eng_store_value(g, in[ATTENDED], eng_mul_mat(g, in[W_O], o));
}

static void others(eng_graph *g, const eng_value *in)
{
    eng_value h = eng_unary(g, eng_mul_mat(g, in[UP], in[IN]), ENG_UNARY_SILU);
    eng_value fed = eng_add(g, in[IN], eng_mul_mat(g, in[DOWN], h));
    eng_value one = eng_reshape(g, in[IN], (int64_t[]){K, 1, TOKENS}, 3);

    eng_store_value(g, in[LOOKED_UP], eng_get_rows(g, in[TABLE], in[IDS]));
    eng_store_value(g, in[FED], fed);
    eng_store_value(g, in[BEST], eng_argmax(g, fed));
    h = eng_unary(g, eng_mul_mat_id(g, in[EXPERT_UP], one, in[CHOSEN]), ENG_UNARY_SILU);
    eng_store_value(g, in[MIXED], eng_mul_mat_id(g, in[EXPERT_DOWN], h, in[CHOSEN]));
}

static bool build(rig *r)
{
    eng_value in[TENSORS];

    rig_values(r, in, TENSORS);
    norms(r->graph, in);
    attention(r->graph, in);
    others(r->graph, in);
    return rig_plan(r);
}

static bool results(rig *r, float (*out)[N * ROWS])
{
    bool good = rig_run(r, NULL, 0);

    memset(out, 0xff, sizeof wanted);
    for (uint32_t i = FIRST_OUT; i < TENSORS && good; i++)
        good = rig_read(r, i, out[i - FIRST_OUT]);
    return good;
}

/* Integers are compared as what their bits are as floats: equal. */
static bool same(rig *r, float (*got)[N * ROWS])
{
    for (uint32_t i = FIRST_OUT; i < TENSORS; i++) {
        uint64_t n = eng_store_bytes(r->store, i) / 4;
        for (uint64_t j = 0; j < n; j++) {
            float g = got[i - FIRST_OUT][j], w = wanted[i - FIRST_OUT][j];
            if (fabsf(g - w) <= 1e-4f * (1 + fabsf(w)))
                continue;
            (void)eng_fail(ENG_ERR_INTERNAL, "tensor %u [%u] is %g, not %g", (unsigned)i, (unsigned)j, (double)g,
                           (double)w);
            return false;
        }
    }
    return true;
}

/* Devices without an op: `count` from the first on. */
typedef struct lack {
    const char *device;
    int ranks, first, count;
} lack;

static bool set_lack(const lack *l, const char *op)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {{"fault.index", l->first}, {"fault.refusing", l->count}};
    char text[8];
    bool good = eng_context_set_option(context, "fault.refuse", op) == ENG_OK;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "%d", numbers[i].value);
        good = good && eng_context_set_option(context, numbers[i].name, text) == ENG_OK;
    }
    return good;
}

/* moved: how many plans say that something runs elsewhere; refused: how many there cannot be,
 * because all lack an op that the graph has.  What stores a result or a part of it must be where
 * the result is: nothing replaces it. */
static void check_lack(const lack *l, const char *op, int *moved, int *refused)
{
    static float got[TENSORS - FIRST_OUT][N * ROWS];
    static rig_text text;
    char want[48];
    rig g;

    snprintf(want, sizeof want, "planted: no %s", op);
    text.data[0] = 0;
    bool good = set_lack(l, op);
    bool made = rig_open(&g, context, l->device, 0) && make_store(&g) && build(&g);
    bool may_fail = strcmp(op, "store") == 0 || l->count == l->ranks;
    if (!made)
        good = good && may_fail && strstr(eng_last_error(), want) && strstr(eng_last_error(), "cannot run");
    else
        good = good && rig_explain(&g, ENG_EXPLAIN_TEXT, &text) && results(&g, got) && same(&g, got);
    bool elsewhere = strstr(text.data, want) != NULL;
    *moved += elsewhere;
    *refused += !made;
    tap_check(good, "no %s on %d from rank %d on, %s%s: %s", op, l->count, l->first, l->device,
              elsewhere ? ", what needs it moved" : "", good && made ? "right" : eng_last_error());
    rig_close(&g);
}

int main(void)
{
    static const char two[] = "fault:0+fault:1", three[] = "fault:0+fault:1+fault:2";
    static const lack lacks[] = {{two, 2, 0, 1},   {two, 2, 1, 1},   {three, 3, 0, 1}, {three, 3, 1, 1},
                                 {three, 3, 0, 2}, {three, 3, 1, 2}, {three, 3, 0, 3}};
    rig g;
    int moved = 0, refused = 0;

    if (!(context = rig_fault_context("cpu/3.0,cpu/3.1,cpu/3.2")))
        return 1;
    bool known = rig_open(&g, context, "cpu", 0) && make_store(&g) && build(&g) && results(&g, wanted);
    tap_check(known, "one device: %s", known ? "runs" : eng_last_error());
    rig_close(&g);
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks && known; i++)
        for (uint32_t op = 1; op < ENG_OP_LIMIT; op++)
            if (eng_op_get(op) && op != ENG_OP_EXTERN)
                check_lack(&lacks[i], eng_op_get(op)->name, &moved, &refused);
    tap_check(moved >= 80 && refused >= 15, "%d plans have given something to another rank, %d are refused", moved,
              refused);
    return tap_end(context);
}
