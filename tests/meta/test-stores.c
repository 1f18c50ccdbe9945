/*
 * Stores that come and go.  What is split follows the shares of what there is, not of
 * what there was; and a plan runs with stores made before it, after it, in any order,
 * wherever their tensors lie, and whoever has joined the device since.
 *
 *   y = w x + bias;  state = state + y (in place);  out = 2 state
 *
 * All numbers are small and whole: results are exact in any order of sums.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"

static eng_context *context;

/* -- shares ---------------------------------------------------------------------- */

enum { COARSE = 2, FINE = 3000, RANKS = 3, MOST_RANKS = 4 };

/* A store with one weight of `extent` units of 40 bytes along an axis. */
static eng_store *one_weight(eng_device *device, const char *axis, int64_t extent, int64_t unit, const char *bad)
{
    rig_dim d;
    eng_dim dims[] = {{0}, rig_axis(&d, eng_context_axis(context, axis), extent, 1)};
    eng_store_tensor t[] = {
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {unit / 4, extent}, .name = "w", .dims = dims},
        {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {1}, .name = "nowhere", .device = bad},
    };
    return rig_make_store(device, t, bad ? 2 : 1);
}

static void weights_of(eng_device *device, uint64_t *bytes)
{
    for (uint32_t r = 0; r < MOST_RANKS; r++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        bytes[r] = eng_device_leaf(device, r, &info, &stats) == ENG_OK ? stats.bytes_weights : 0;
    }
}

enum { ALONE, GONE, NEVER_MADE, THERE };

/* An axis of two units cannot follow three equal shares.  While it is there, an axis of many
 * units (120000 bytes) makes up for it as far as it can; when it is gone, or never was, there is
 * nothing to make up for. */
static const struct shares_case {
    const char *name;
    int first;           /* what became of the coarse one                            */
    int64_t unit;        /* of the coarse one, bytes                                 */
    uint64_t want[RANKS]; /* of both                                                 */
} shares_cases[] = {
    {"alone", ALONE, 0, {40000, 40000, 40000}},
    {"after one that is gone", GONE, 30000, {40000, 40000, 40000}},
    {"after one that could not be made", NEVER_MADE, 30000, {40000, 40000, 40000}},
    {"beside one that is there", THERE, 30000, {60000, 60000, 60000}},
    {"beside one too large to make up for", THERE, 300000, {300000, 300000, 120000}},
};

static void check_shares(const struct shares_case *c)
{
    eng_device *device = NULL;
    eng_store *first = NULL, *second = NULL;
    uint64_t bytes[MOST_RANKS] = {0};
    bool good = eng_device_open(context, "cpu/3", &device) == ENG_OK;

    if (good && c->first != ALONE) {
        first = one_weight(device, "coarse", COARSE, c->unit, c->first == NEVER_MADE ? "nowhere:7" : NULL);
        good = (first == NULL) == (c->first == NEVER_MADE);
    }
    if (c->first == GONE) {
        eng_store_destroy(first);
        first = NULL;
    }
    good = good && (second = one_weight(device, "fine", FINE, 40, NULL)) != NULL;
    if (good)
        weights_of(device, bytes);
    for (uint32_t r = 0; r < RANKS; r++)
        good = good && bytes[r] + 40 >= c->want[r] && bytes[r] <= c->want[r] + 40;
    tap_check(good, "a store %s: %lu, %lu and %lu bytes on ranks of equal shares", c->name, (unsigned long)bytes[0],
              (unsigned long)bytes[1], (unsigned long)bytes[2]);
    eng_store_destroy(first);
    eng_store_destroy(second);
    eng_device_close(device);
}

/* An axis of two units cannot follow three equal shares, and the few cells of a first cache could
 * make up for it.  A second cache has many more of the same cells, and its shares count. */
static void check_caches(void)
{
    enum { PERIOD = 64, FEW = 1, MANY = 500 };
    eng_device *device = NULL;
    eng_store *stores[3] = {NULL};
    bool good = eng_device_open(context, "cpu/3", &device) == ENG_OK &&
                (stores[0] = one_weight(device, "coarse", COARSE, 30000, NULL)) != NULL;

    for (int i = 1; i < 3 && good; i++) {
        int64_t periods = i == 1 ? FEW : MANY;
        eng_factor factors[] = {{.extent = periods, .axis = ENG_AXIS_NONE},
                                {.extent = PERIOD, .axis = eng_context_axis(context, "cell")}};
        eng_segment segment = {.n_factors = 2, .factors = factors};
        eng_dim dims[] = {{0}, {.n_segments = 1, .segments = &segment}};
        eng_store_tensor t = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_CACHE, .ne = {8, periods * PERIOD},
                              .name = "cache", .dims = dims};
        good = (stores[i] = rig_make_store(device, &t, 1)) != NULL;
    }
    for (uint32_t r = 0; r < RANKS && good; r++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        const uint64_t period = 32 * (FEW + MANY), cells = PERIOD / RANKS;
        good = eng_device_leaf(device, r, &info, &stats) == ENG_OK && stats.bytes_cache >= period * cells &&
               stats.bytes_cache <= period * (cells + 1);
        if (!good)
            printf("# rank %u: %lu bytes of caches\n", r, (unsigned long)stats.bytes_cache);
    }
    tap_check(good, "caches of few and of many cells follow the shares, not what weights have left");
    for (int i = 0; i < 3; i++)
        eng_store_destroy(stores[i]);
    eng_device_close(device);
}

/* A cache of rows of 3 in so many periods of 5 cells, two layers of them. */
static eng_store *periods_of_five(eng_device *device, int64_t periods)
{
    eng_factor factors[] = {{.extent = periods, .axis = ENG_AXIS_NONE},
                            {.extent = 5, .axis = eng_context_axis(context, "fifth")}};
    eng_segment segment = {.n_factors = 2, .factors = factors};
    eng_dim dims[] = {{0}, {.n_segments = 1, .segments = &segment}, {0}};
    eng_store_tensor t = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_CACHE, .ne = {3, periods * 5, 2}, .dims = dims};
    return rig_make_store(device, &t, 1);
}

/* Ranges of bytes that begin and end anywhere, against a copy on the host. */
static void check_ranges(const char *name)
{
    enum { PERIODS = 9, FLOATS = 3 * 5 * PERIODS * 2, RANGES = 2000 };
    static float host[FLOATS], data[FLOATS];
    eng_device *device = NULL;
    eng_store *store = NULL;
    bool good = eng_device_open(context, name, &device) == ENG_OK &&
                (store = periods_of_five(device, PERIODS)) != NULL &&
                eng_store_write(store, 0, 0, sizeof host, host) == ENG_OK;
    uint32_t seed = 1;
    int n = 0;

    for (; n < RANGES && good; n++) {
        seed = seed * 1664525u + 1013904223u;
        size_t from = (seed >> 8) % FLOATS, count = 1 + (seed >> 4) % (n % 2 ? 20 : FLOATS);
        count = count < FLOATS - from ? count : FLOATS - from;
        for (size_t i = 0; i < count; i++)
            host[from + i] = (float)(n * 7 + (int)i);
        good = eng_store_write(store, 0, from * 4, count * 4, host + from) == ENG_OK;
        from = (seed >> 12) % FLOATS;
        count = FLOATS - from < count ? FLOATS - from : count;
        memset(data, 0xff, sizeof data);
        good = good && eng_store_read(store, 0, from * 4, count * 4, data) == ENG_OK &&
               memcmp(data, host + from, count * 4) == 0;
    }
    tap_check(good, "%d ranges of a cache in periods written and read, %s", n, name);
    eng_store_destroy(store);
    eng_device_close(device);
}

/* One cell after another, as a sequence is copied: what that costs does not grow with the cache. */
static void check_single_cells(void)
{
    enum { PERIODS = 1 << 19, CELLS = 20000, SECONDS = 4 };
    eng_device *device = NULL;
    eng_store *store = NULL;
    float row[3] = {1, 2, 3};
    bool good = eng_device_open(context, "cpu/2", &device) == ENG_OK &&
                (store = periods_of_five(device, PERIODS)) != NULL;
    clock_t begin = clock();
    int n = 0;

    for (; n < CELLS && good && clock() - begin < SECONDS * CLOCKS_PER_SEC; n++)
        good = eng_store_write(store, 0, (uint64_t)n * 97 * sizeof row, sizeof row, row) == ENG_OK;
    tap_check(good && n == CELLS, "%d of %d cells written one by one in %d s", n, CELLS, SECONDS);
    eng_store_destroy(store);
    eng_device_close(device);
}

/* What is about the cells of a cache is cut like it, if its blocks allow: 48 and 16 of 64 cells are
 * no blocks of 32.  Bytes of it on the second rank. */
static uint64_t about_cells(eng_type type)
{
    rig_dim d;
    const eng_dim cells = rig_axis(&d, eng_context_axis(context, "cell"), 64, 1);
    eng_store_tensor cache = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_CACHE, .ne = {8, 64}, .name = "cache",
                              .dims = (eng_dim[]){{0}, cells}};
    eng_store_tensor about = {.type = type, .rank = 2, .use = ENG_USE_INPUT, .ne = {64, 4}, .name = "about",
                              .dims = (eng_dim[]){cells, {0}}};
    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    eng_device *device = NULL;
    eng_store *caches = NULL, *store = NULL;
    uint64_t bytes = 0;

    if (eng_device_open(context, "cpu/2@3:1", &device) == ENG_OK &&
        (caches = rig_make_store(device, &cache, 1)) != NULL && (store = rig_make_store(device, &about, 1)) != NULL &&
        eng_device_leaf(device, 1, &info, &stats) == ENG_OK)
        bytes = stats.bytes_io;
    else
        printf("# %s\n", eng_last_error());
    eng_store_destroy(store);
    eng_store_destroy(caches);
    eng_device_close(device);
    return bytes;
}

static void check_about_cells(void)
{
    uint64_t elements = about_cells(ENG_TYPE_F16), blocks = about_cells(ENG_TYPE_Q8_0);
    tap_check(elements == 4 * 16 * 2 && blocks == 4 * 2 * 34,
              "an input about cells, of 16 in 64 on the second rank: %lu bytes as f16, %lu in blocks of 32",
              (unsigned long)elements, (unsigned long)blocks);
}

/* Rows of 96 in blocks of 32 are three units.  That is enough for two or three ranks; over four
 * they are replicated, and an f32 tensor that has the axis too is split by elements. */
static void check_units(const char *name, uint32_t ranks)
{
    rig_dim d;
    const eng_dim along = rig_axis(&d, eng_context_axis(context, "width"), 96, 1), none = {0};
    eng_store_tensor t[] = {
        {.type = ENG_TYPE_Q8_0, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {96, 30}, .dims = (eng_dim[]){along, none}},
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {30, 96}, .dims = (eng_dim[]){none, along}},
    };
    const uint64_t blocks = 3 * 34 * 30, floats = 96 * 30 * 4;
    eng_device *device = NULL;
    eng_store *store = NULL;
    uint64_t bytes[MOST_RANKS] = {0}, all = 0;
    bool good = eng_device_open(context, name, &device) == ENG_OK && (store = rig_make_store(device, t, 2)) != NULL;

    if (good)
        weights_of(device, bytes);
    for (uint32_t r = 0; r < ranks; r++)
        all += bytes[r];
    good = good && all == (ranks <= 3 ? blocks : ranks * blocks) + floats;
    tap_check(good, "three units of blocks, %s: %lu bytes in all", name, (unsigned long)all);
    eng_store_destroy(store);
    eng_device_close(device);
}

/* A store that cannot be made leaves nothing behind: no partition of elements where the next
 * one has blocks, and no guest. */
static void check_failed_store(void)
{
    rig_dim d;
    const eng_dim along = rig_axis(&d, eng_context_axis(context, "width"), 96, 1), none = {0};
    eng_store_tensor bad[] = {
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {96, 30}, .dims = (eng_dim[]){along, none}},
        {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {8}, .device = "cpu/7.6"},
        {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {8}, .device = "nosuch"},
    };
    eng_store_tensor t = {.type = ENG_TYPE_Q8_0, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {96, 30},
                          .dims = (eng_dim[]){along, none}};
    eng_device_info info = {.size = sizeof info};
    eng_device *device = NULL;
    eng_store *failed = NULL, *store = NULL;
    uint64_t bytes[MOST_RANKS] = {0};

    bool good = eng_device_open(context, "cpu/3@2:1:1", &device) == ENG_OK &&
                (failed = rig_make_store(device, bad, 3)) == NULL &&
                eng_device_leaf(device, 3, &info, NULL) == ENG_ERR_NOTFOUND &&
                (store = rig_make_store(device, &t, 1)) != NULL;
    if (good)
        weights_of(device, bytes);
    tap_check(good && bytes[0] + bytes[1] + bytes[2] == 3 * 34 * 30,
              "blocks after a store of elements that failed: %lu bytes",
              (unsigned long)(bytes[0] + bytes[1] + bytes[2]));
    eng_store_destroy(failed);
    eng_store_destroy(store);
    eng_device_close(device);
}

/* An axis of 96: rows of that many elements, or of 3 blocks. */
static eng_store *width_of(eng_device *device, uint32_t type)
{
    rig_dim d;
    eng_dim dims[] = {rig_axis(&d, eng_context_axis(context, "width"), 96, 1), {0}};
    eng_store_tensor t = {.type = type, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {96, 30}, .name = "w", .dims = dims};
    return rig_make_store(device, &t, 1);
}

/* Blocks on an axis that an f32 tensor has cut between them: whole on every rank beside that tensor, but split when it
 * is gone. */
static void check_gone_store(bool gone)
{
    const uint64_t blocks = 3 * 34 * 30, floats = 96 * 30 * 4;
    eng_device *device = NULL;
    eng_store *first = NULL, *second = NULL;
    uint64_t bytes[MOST_RANKS] = {0};
    bool good = eng_device_open(context, "cpu/3@2:1:1", &device) == ENG_OK &&
                (first = width_of(device, ENG_TYPE_F32)) != NULL;

    if (gone) {
        eng_store_destroy(first);
        first = NULL;
    }
    good = good && (second = width_of(device, ENG_TYPE_Q8_0)) != NULL;
    if (good)
        weights_of(device, bytes);
    tap_check(good && bytes[0] + bytes[1] + bytes[2] == (gone ? blocks : 3 * blocks + floats),
              "blocks %s a store of elements that is %s: %lu bytes", gone ? "after" : "beside",
              gone ? "gone" : "there", (unsigned long)(bytes[0] + bytes[1] + bytes[2]));
    eng_store_destroy(first);
    eng_store_destroy(second);
    eng_device_close(device);
}

/* A store that comes again is split as it was, and a plan is good for it; so it is after one that was split otherwise. */
static void check_again(void)
{
    eng_device_stats stats = {.size = sizeof stats};
    rig r;
    bool good = rig_open(&r, context, "cpu/3@2:1:1", 0) && (r.store = width_of(r.device, ENG_TYPE_F32)) != NULL;

    if (good) {
        eng_value w = eng_graph_tensor(r.graph, 0, r.store, 0);
        eng_graph_keep(r.graph, eng_scale(r.graph, w, 2, 0));
        good = eng_graph_seal(r.graph) == ENG_OK && eng_plan_create(r.device, r.graph, &r.plan) == ENG_OK;
    }
    for (int i = 0; i < 4 && good; i++) {
        good = eng_instance_create(r.plan, &r.store, 1, &r.instance) == ENG_OK;
        eng_instance_destroy(r.instance);
        r.instance = NULL;
        eng_store_destroy(r.store);
        r.store = i % 2 ? NULL : width_of(r.device, ENG_TYPE_Q8_0); /* on the same axis meanwhile */
        eng_store_destroy(r.store);
        good = good && (r.store = width_of(r.device, ENG_TYPE_F32)) != NULL;
    }
    good = good && eng_device_get_stats(r.device, &stats) == ENG_OK;
    tap_check(good && stats.plans_built == 1, "a store that comes again: %lu plans built", (unsigned long)stats.plans_built);
    rig_close(&r);
}

/* -- one plan, several stores -------------------------------------------------------- */

enum { K = 24, M = 10, COLS = 3, RUNS = 2 };
enum { W, BIAS, STATE, X, OUT, TENSORS };
enum { SPLIT, WHOLE, ON_LAST, ON_GUEST, PLACES };

static const struct composition {
    const char *name, *last;
} compositions[] = {{"cpu/2", "cpu/2.1"}, {"cpu/3@2:0:1", "cpu/3.2"}, {"cpu@1", "cpu"}};

static float number(int tensor, int at, int salt)
{
    return (float)((at * 7 + tensor * 5 + salt * 3) % 11 - 5);
}

static void lie(eng_store_tensor *t, int place, const char *last)
{
    t->axis = place == WHOLE ? ENG_AXIS_WHOLE : ENG_AXIS_NONE;
    t->device = place == ON_LAST ? last : place == ON_GUEST ? "cpu/7.6" : NULL;
}

/* place: of the weight; the state is elsewhere. */
static eng_store *make_store(eng_device *device, int place, const char *last)
{
    rig_dim m;
    eng_dim dm = rig_axis(&m, eng_context_axis(context, "m"), M, 1);
    eng_store_tensor t[TENSORS] = {
        [W] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, M}, .dims = (eng_dim[]){{0}, dm}},
        [BIAS] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {M}, .dims = &dm},
        [STATE] = {.rank = 2, .use = ENG_USE_STATE, .ne = {M, COLS}, .dims = (eng_dim[]){dm, {0}}},
        [X] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {K, COLS}},
        [OUT] = {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {M, COLS}, .dims = (eng_dim[]){dm, {0}}},
    };
    float data[K * M];

    lie(&t[W], place, last);
    lie(&t[STATE], (place + 1) % PLACES, last);
    eng_store *store = rig_make_store(device, t, TENSORS);
    for (uint32_t i = W; i <= X && store; i++) {
        for (int j = 0; j < K * M; j++)
            data[j] = number((int)i, j, place);
        if (eng_store_write(store, i, 0, eng_store_bytes(store, i), data) != ENG_OK) {
            eng_store_destroy(store);
            store = NULL;
        }
    }
    return store;
}

static bool build(rig *r)
{
    eng_value in[TENSORS];
    eng_graph *g = r->graph;

    rig_values(r, in, TENSORS);
    eng_value y = eng_add(g, eng_mul_mat(g, in[W], in[X]), in[BIAS]);
    eng_store_value(g, in[STATE], eng_add(g, in[STATE], y));
    eng_store_value(g, in[OUT], eng_scale(g, in[STATE], 2, 0));
    return eng_graph_seal(g) == ENG_OK && eng_plan_create(r->device, g, &r->plan) == ENG_OK;
}

/* After so many runs. */
static bool is_right(eng_store *store, int salt, int runs)
{
    float out[M * COLS];

    memset(out, 0xff, sizeof out);
    if (eng_store_read(store, OUT, 0, sizeof out, out) != ENG_OK)
        return false;
    for (int c = 0; c < COLS; c++) {
        for (int m = 0; m < M; m++) {
            float y = number(BIAS, m, salt);
            for (int k = 0; k < K; k++)
                y += number(W, m * K + k, salt) * number(X, c * K + k, salt);
            float want = 2 * (number(STATE, c * M + m, salt) + (float)runs * y);
            if (!(out[c * M + m] == want)) {
                (void)eng_fail(ENG_ERR_INTERNAL, "element %d of column %d is %g, not %g", m, c, (double)out[c * M + m],
                               (double)want);
                return false;
            }
        }
    }
    return true;
}

/* Stores of all places in an order; the plan is made of the one that came `of`-th, at once
 * or after all of them. */
static bool run_order(const struct composition *c, int first, int step, int of, bool at_once)
{
    eng_store *stores[PLACES] = {NULL};
    eng_instance *instances[PLACES] = {NULL};
    int place[PLACES];
    rig r;
    bool good = rig_open(&r, context, c->name, 0);

    for (int i = 0; i < PLACES && good; i++) {
        place[i] = (first + i * step) % PLACES;
        good = (stores[i] = make_store(r.device, place[i], c->last)) != NULL;
        r.store = stores[of];
        if (good && i == (at_once ? of : PLACES - 1))
            good = build(&r);
    }
    r.store = NULL;
    good = good && eng_queue_create(r.device, &r.queue) == ENG_OK;
    for (int i = 0; i < PLACES && good; i++)
        good = eng_instance_create(r.plan, &stores[i], 1, &instances[i]) == ENG_OK;
    for (int run = 1; run <= RUNS; run++) {
        for (int i = 0; i < PLACES && good; i++) {
            r.instance = instances[i];
            good = rig_run(&r, NULL, 0) && is_right(stores[i], place[i], run);
        }
    }
    if (!good)
        printf("# %s, first %d, step %d, plan of %d%s: %s\n", c->name, first, step, of, at_once ? " at once" : "",
               eng_last_error());
    r.instance = NULL;
    for (int i = 0; i < PLACES; i++)
        eng_instance_destroy(instances[i]);
    for (int i = 0; i < PLACES; i++)
        eng_store_destroy(stores[i]);
    rig_close(&r);
    return good;
}

static void check_orders(const struct composition *c)
{
    int bad = 0, runs = 0;

    for (int first = 0; first < PLACES; first++)
        for (int step = 1; step < PLACES; step += 2)
            for (int of = 0; of < PLACES; of++)
                for (int at_once = 0; at_once < 2; at_once++, runs++)
                    bad += !run_order(c, first, step, of, at_once);
    tap_check(bad == 0, "a plan with stores made before and after it, %s: %d of %d orders wrong", c->name, bad, runs);
}

/* A guest came and went: the store that was there before knows nothing of it. */
static void check_guest_gone(const struct composition *c, bool placed)
{
    rig r;
    eng_placement p = {.size = sizeof p, .kind = ENG_PLACE_SINGLE, .device = "cpu/7.6"};
    eng_store *guest = NULL;
    bool good = rig_open(&r, context, c->name, 0) && (r.store = make_store(r.device, SPLIT, c->last)) != NULL &&
                (guest = make_store(r.device, ON_GUEST, c->last)) != NULL;

    eng_store_destroy(guest);
    if (good && placed)
        good = eng_graph_place(r.graph, eng_graph_tensor(r.graph, 0, r.store, X), &p) == ENG_OK;
    good = good && build(&r) && eng_instance_create(r.plan, &r.store, 1, &r.instance) == ENG_OK &&
           eng_queue_create(r.device, &r.queue) == ENG_OK && rig_run(&r, NULL, 0) && is_right(r.store, SPLIT, 1);
    tap_check(good, "a store older than a guest%s, %s: %s", placed ? " that its input is wanted on" : "", c->name,
              good ? "right" : eng_last_error());
    rig_close(&r);
}

/* The older of two stores lacks its input on a guest, where the younger one has it: one plan
 * serves both, whichever it was made of. */
static void check_older(const struct composition *c, bool of_older)
{
    rig r;
    eng_placement p = {.size = sizeof p, .kind = ENG_PLACE_SINGLE, .device = "cpu/7.6"};
    eng_store *stores[3] = {NULL}; /* the guest's is between them */
    bool good = rig_open(&r, context, c->name, 0);

    for (int i = 0; i < 3 && good; i++)
        good = (stores[i] = make_store(r.device, i == 1 ? ON_GUEST : SPLIT, c->last)) != NULL;
    r.store = stores[of_older ? 0 : 2];
    good = good && eng_graph_place(r.graph, eng_graph_tensor(r.graph, 0, r.store, X), &p) == ENG_OK && build(&r) &&
           eng_queue_create(r.device, &r.queue) == ENG_OK;
    for (int i = 0; i < 3 && good; i++) {
        int which = of_older ? i : 2 - i;
        good = eng_instance_create(r.plan, &stores[which], 1, &r.instance) == ENG_OK && rig_run(&r, NULL, 0) &&
               is_right(stores[which], which == 1 ? ON_GUEST : SPLIT, 1);
        eng_instance_destroy(r.instance);
        r.instance = NULL;
    }
    tap_check(good, "a plan of the %s of two stores, an input on a guest in one, %s: %s",
              of_older ? "older" : "younger", c->name, good ? "right" : eng_last_error());
    r.store = NULL;
    for (int i = 0; i < 3; i++)
        eng_store_destroy(stores[i]);
    rig_close(&r);
}

/* -- ranks that fail -------------------------------------------------------------- */

/* A rank that has no room for its part is named, with its device's reason. */
static void check_no_room(void)
{
    eng_device *device = NULL;
    eng_error e = {.size = sizeof e};
    bool good = eng_context_set_option(context, "null.memory", "100000") == ENG_OK &&
                eng_device_open(context, "null/2@1:3", &device) == ENG_OK;
    eng_store *fits = good ? one_weight(device, "n", 100, 1000, NULL) : NULL;
    eng_store *too_large = fits ? one_weight(device, "n", 200, 1000, NULL) : NULL;

    good = fits && !too_large && eng_last_error_info(&e) == ENG_OK && e.status == ENG_ERR_NOMEM &&
           strstr(eng_last_error(), "null/2.1, rank 1 of null/2@1:3") &&
           strstr(eng_last_error(), "null.memory: 100000");
    if (!good)
        printf("# %s\n", eng_last_error());
    eng_store_destroy(too_large);
    eng_store_destroy(fits);
    eng_device_close(device);
    eng_context_set_option(context, "null.memory", "0");
    tap_check(good, "a rank without room for its part is named, and says why");
    device = NULL;
    good = eng_device_open(context, "null+nosuch", &device) == ENG_ERR_NOTFOUND && !device &&
           strstr(eng_last_error(), "'nosuch'");
    tap_check(good, "nor is there a device with a rank that is not there");
}

int main(void)
{
    if (!(context = tap_begin()))
        return 1;
    for (size_t i = 0; i < sizeof shares_cases / sizeof *shares_cases; i++)
        check_shares(&shares_cases[i]);
    check_caches();
    check_ranges("cpu/2");
    check_ranges("cpu/3@3:0:1");
    check_ranges("cpu/4@1:2:1:1");
    check_single_cells();
    check_about_cells();
    check_units("cpu/2", 2);
    check_units("cpu/3", 3);
    check_units("cpu/4", 4);
    check_failed_store();
    check_gone_store(false);
    check_gone_store(true);
    check_again();
    check_no_room();
    for (size_t i = 0; i < sizeof compositions / sizeof *compositions; i++) {
        check_orders(&compositions[i]);
        check_guest_gone(&compositions[i], false);
        check_guest_gone(&compositions[i], true);
        check_older(&compositions[i], true);
        check_older(&compositions[i], false);
    }
    return tap_end(context);
}
