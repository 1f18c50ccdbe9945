/*
 * Ranks that have no part of a tensor, in every exchange: axes of two and three units over
 * five ranks.  y = w x and z = 2 y are forced to every pair of placements, the result goes
 * to tensors that lie in different ways; small and large, on memory that the host reaches
 * and on memory that it does not, run after run.  All numbers are small and whole, so
 * results are exact.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { K = 12, M = 2, C = 3, RUNS = 2 };
enum { W, X, OUT_M, OUT_C, OUT, TENSORS };
enum { REPLICATED, BY_M, BY_C, PARTIAL, FIRST, LAST, GUEST, KINDS };

/* Elements of a unit of m and of c. */
typedef struct shape {
    int m, c;
} shape;

static const char *const exchanges[] = {"all_reduce", "reduce_scatter", "reduce",    "all_gather", "all_to_all",
                                        "gather",     "scatter",        "broadcast", "transfer"};
enum { N_EXCHANGES = sizeof exchanges / sizeof *exchanges };
static const char *const paths[] = {"in_place", "copied", "staged"};
enum { N_PATHS = sizeof paths / sizeof *paths };

static eng_context *context;
static bool met[N_EXCHANGES][N_PATHS];
static float *data, *got;

static int number(int tensor, int at)
{
    return (at * 7 + tensor * 5) % 11 - 5;
}

static bool make_store(rig *g, const shape *s)
{
    rig_dim m, c;
    const eng_dim none = {0}, dm = rig_axis(&m, eng_context_axis(context, "m"), M, s->m),
                  dc = rig_axis(&c, eng_context_axis(context, "c"), C, s->c);
    const int64_t rows = M * s->m, columns = C * s->c;
    eng_store_tensor t[TENSORS] = {
        [W] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, rows}, .dims = (eng_dim[]){none, dm}},
        [X] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {K, columns}},
        [OUT_M] = {.rank = 2, .use = ENG_USE_STATE, .ne = {rows, columns}, .dims = (eng_dim[]){dm, none}},
        [OUT_C] = {.rank = 2, .use = ENG_USE_STATE, .ne = {rows, columns}, .dims = (eng_dim[]){none, dc}},
        [OUT] = {.rank = 2, .use = ENG_USE_STATE, .ne = {rows, columns}},
    };
    bool good = rig_store(g, t, TENSORS);

    for (uint32_t i = W; i < OUT_M && good; i++) {
        for (int64_t j = 0; j < K * (rows + columns); j++)
            data[j] = (float)number((int)i, (int)j);
        good = rig_write(g, i, data);
    }
    return good;
}

static bool place(rig *g, eng_value v, int kind, const shape *s, const char *const *leaves)
{
    static const uint32_t kinds[KINDS] = {ENG_PLACE_REPLICATED, ENG_PLACE_SHARDED, ENG_PLACE_SHARDED, ENG_PLACE_PARTIAL,
                                          ENG_PLACE_SINGLE,     ENG_PLACE_SINGLE,  ENG_PLACE_SINGLE};
    rig_dim m, c;
    eng_placement p = {.size = sizeof p,
                       .kind = kinds[kind],
                       .axis = eng_context_axis(context, kind == BY_C ? "c" : "m")};
    eng_dim dims[] = {rig_axis(&m, eng_context_axis(context, "m"), M, s->m),
                      rig_axis(&c, eng_context_axis(context, "c"), C, s->c)};

    if (kind >= FIRST)
        p.device = leaves[kind - FIRST];
    eng_graph_set_axes(g->graph, v, dims, 2);
    return eng_graph_place(g->graph, v, &p) == ENG_OK;
}

static bool build(rig *g, const shape *s, const char *const *leaves, int y_kind, int z_kind)
{
    eng_value in[TENSORS];

    rig_values(g, in, TENSORS);
    eng_value y = eng_mul_mat(g->graph, in[W], in[X]), z = eng_scale(g->graph, y, 2, 0);
    for (int i = OUT_M; i <= OUT; i++)
        eng_store_value(g->graph, in[i], z);
    return place(g, y, y_kind, s, leaves) && place(g, z, z_kind, s, leaves) && rig_plan(g);
}

/* A tensor, read in three pieces that end anywhere. */
static bool read_in_pieces(rig *g, uint32_t tensor)
{
    uint64_t bytes = eng_store_bytes(g->store, tensor), ends[] = {0, bytes / 7 / 4 * 4, bytes / 2 / 4 * 4, bytes};

    memset(got, 0xff, bytes);
    for (int i = 0; i < 3; i++)
        if (eng_store_read(g->store, tensor, ends[i], ends[i + 1] - ends[i], (char *)got + ends[i]) != ENG_OK)
            return false;
    return true;
}

static bool is_right(rig *g, uint32_t tensor, const shape *s)
{
    if (!read_in_pieces(g, tensor))
        return false;
    for (int c = 0; c < C * s->c; c++) {
        for (int m = 0; m < M * s->m; m++) {
            int want = 0;
            for (int k = 0; k < K; k++)
                want += 2 * number(W, m * K + k) * number(X, c * K + k);
            if (got[c * M * s->m + m] == (float)want)
                continue;
            (void)eng_fail(ENG_ERR_INTERNAL, "tensor %u: element %d of column %d is %g, not %d", (unsigned)tensor, m, c,
                           (double)got[c * M * s->m + m], want);
            return false;
        }
    }
    return true;
}

/* -- which exchanges were met ---------------------------------------------------------- */

static bool note_exchanges(rig *g)
{
    static rig_text t;
    char kind[32], path[32];

    if (!rig_explain(g, ENG_EXPLAIN_JSON, &t))
        return false;
    for (const char *at = t.data; (at = strstr(at, "\"kind\": \"")) != NULL; at++) {
        const char *then = strstr(at, "\"path\": \"");
        if (sscanf(at, "\"kind\": \"%31[a-z_]", kind) != 1 || !then || sscanf(then, "\"path\": \"%31[a-z_]", path) != 1)
            continue;
        for (int e = 0; e < N_EXCHANGES; e++)
            for (int p = 0; p < N_PATHS; p++)
                met[e][p] |= strcmp(kind, exchanges[e]) == 0 && strcmp(path, paths[p]) == 0;
    }
    return true;
}

/* -- every pair ------------------------------------------------------------------------ */

static bool run_pair(const char *device, const char *const *leaves, const shape *s, int y_kind, int z_kind)
{
    rig g;
    bool good = rig_open(&g, context, device, 0) && make_store(&g, s) && build(&g, s, leaves, y_kind, z_kind) &&
                note_exchanges(&g);

    for (int run = 0; run < RUNS && good; run++) {
        good = rig_run(&g, NULL, 0);
        for (uint32_t i = OUT_M; i <= OUT && good; i++)
            good = is_right(&g, i, s);
    }
    if (!good)
        printf("# %s, %d then %d: %s\n", device, y_kind, z_kind, eng_last_error());
    rig_close(&g);
    return good;
}

static void check_device(const char *device, const char *const *leaves, const shape *s, bool staged)
{
    int bad = 0;

    if (eng_context_set_option(context, "fault.staged", staged ? "1" : "0") != ENG_OK)
        bad++;
    for (int y = 0; y < KINDS; y++)
        for (int z = 0; z < KINDS; z++)
            bad += !run_pair(device, leaves, s, y, z);
    tap_check(bad == 0, "%d x %d, %s%s: %d of %d pairs wrong", M * s->m, C * s->c, device, staged ? ", staged" : "",
              bad, KINDS * KINDS);
}

int main(void)
{
    static const char five[] = "fault:0+fault:1+fault:2+fault:3+fault:4";
    static const char uneven[] = "fault:0+fault:1+fault:2+fault:3@1:0:30:2";
    static const char *const leaves[][3] = {{"fault:0", "fault:4", "fault:5"}, {"fault:0", "fault:3", "fault:5"}};
    static const shape shapes[] = {{4, 3}, {150, 24}};

    data = malloc(1 << 20);
    got = malloc(1 << 20);
    if (!data || !got || !(context = rig_fault_context("cpu/5.0,cpu/5.1,cpu/5.2,cpu/5.3,cpu/5.4,cpu/7.6")))
        return 1;
    for (int staged = 0; staged < 2; staged++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            check_device(five, leaves[0], &shapes[i], staged);
            check_device(uneven, leaves[1], &shapes[i], staged);
        }
    }
    for (int e = 0; e < N_EXCHANGES; e++)
        tap_check((met[e][0] || met[e][1]) && met[e][2], "met: %s,%s%s%s", exchanges[e], met[e][0] ? " in place" : "",
                  met[e][1] ? " copied" : "", met[e][2] ? " staged" : "");
    free(data);
    free(got);
    return tap_end(context);
}
