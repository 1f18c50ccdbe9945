/*
 * What a plan says of itself must be what it does: y = w x, z = 2 y, both forced to every
 * pair of placements.  The bytes that each device is said to send are those that it
 * sends; JSON is JSON, drawings are balanced, whatever names hold; every kind of exchange
 * is met.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { K = 24, M = 40, COLS = 12 };
enum { W, X, OUT, TENSORS };
enum { REPLICATED, BY_M, BY_C, PARTIAL, FIRST, LAST, GUEST, KINDS };

static const char *const devices[] = {"cpu/2", "cpu/3@2:1:1", "cpu/2@1:0", "cpu@1"};
static const char *const exchanges[] = {"all_reduce", "reduce_scatter", "reduce", "all_gather", "all_to_all",
                                        "gather", "scatter", "broadcast", "transfer"};
#define N_EXCHANGES (sizeof exchanges / sizeof *exchanges)
static bool seen[N_EXCHANGES];

static eng_context *context;
static uint32_t axis_m, axis_c;

/* -- one plan -------------------------------------------------------------------- */

/* on: the device that keeps w whole, or NULL. */
static eng_store *make_store(eng_device *device, const char *on)
{
    rig_dim m, c;
    eng_dim none = {0}, dm = rig_axis(&m, axis_m, M, 1), dc = rig_axis(&c, axis_c, COLS, 1);
    eng_store_tensor t[TENSORS] = {
        [W] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, M}, .name = "w",
               .dims = (eng_dim[]){none, dm}, .device = on},
        [X] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {K, COLS}, .name = "x \"\\\n\x80\xc3\xa9"},
        [OUT] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {M, COLS}, .name = "out",
                 .dims = (eng_dim[]){none, dc}},
    };
    return rig_make_store(device, t, TENSORS);
}

static bool place(eng_graph *g, eng_value v, int kind, eng_device *device)
{
    static const uint32_t kinds[KINDS] = {ENG_PLACE_REPLICATED, ENG_PLACE_SHARDED, ENG_PLACE_SHARDED,
                                          ENG_PLACE_PARTIAL,    ENG_PLACE_SINGLE,  ENG_PLACE_SINGLE,
                                          ENG_PLACE_SINGLE};
    rig_dim m, c;
    eng_dim dims[] = {rig_axis(&m, axis_m, M, 1), rig_axis(&c, axis_c, COLS, 1)};
    eng_device_info first = {.size = sizeof first}, last = first;
    eng_placement p = {.size = sizeof p, .kind = kinds[kind], .axis = kind == BY_C ? axis_c : axis_m};

    for (uint32_t i = 0;; i++) {
        eng_device_info info = {.size = sizeof info};
        if (eng_device_leaf(device, i, &info, NULL) != ENG_OK)
            break;
        last = info;
        first = i ? first : info;
    }
    p.device = kind == FIRST ? first.name : kind == LAST ? last.name : "cpu/7.6";
    eng_graph_set_axes(g, v, dims, 2);
    return eng_graph_place(g, v, &p) == ENG_OK;
}

static bool build(rig *s, const char *name, int y_kind, int z_kind)
{
    eng_value in[TENSORS];

    if (!rig_open(s, context, name, 0) || !(s->store = make_store(s->device, NULL)))
        return false;
    rig_values(s, in, TENSORS);
    eng_value y = eng_mul_mat(s->graph, in[W], in[X]), z = eng_scale(s->graph, y, 2, 0);
    eng_store_value(s->graph, in[OUT], z);
    bool placed = y_kind == KINDS || (place(s->graph, y, y_kind, s->device) && place(s->graph, z, z_kind, s->device));
    return placed && rig_plan(s);
}

/* -- what it says ------------------------------------------------------------------- */

/* The numbers of every "sent": [a, b, ...] of the exchanges, summed by device. */
static void sum_sent(const char *json, uint64_t sent[ENG_MAX_RANKS])
{
    memset(sent, 0, ENG_MAX_RANKS * sizeof *sent);
    for (const char *at = json; (at = strstr(at, "\"sent\": [")) != NULL;) {
        at += strlen("\"sent\": [");
        for (int r = 0; *at && at[-1] != ']' && r < ENG_MAX_RANKS; r++) {
            char *next;
            sent[r] += strtoull(at, &next, 10);
            at = next + 1;
        }
    }
}

static bool sends_what_it_says(rig *s, const char *json)
{
    uint64_t sent[ENG_MAX_RANKS];

    sum_sent(json, sent);
    if (!rig_run(s, NULL, 0))
        return false;
    for (uint32_t r = 0;; r++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        if (eng_device_leaf(s->device, r, &info, &stats) != ENG_OK)
            return true;
        if (stats.bytes_exchanged != sent[r]) {
            printf("# %s sent %" PRIu64 " bytes, said were %" PRIu64 "\n%s", info.name, stats.bytes_exchanged, sent[r],
                   json);
            return false;
        }
    }
}

/* A drawing of a whole plan. */
static bool is_drawing(const rig_text *t)
{
    return rig_is_drawing(t) && strncmp(t->data, "digraph ", 8) == 0;
}

typedef struct verdict {
    int runs, failed;
    bool json, drawing, text, sent;
} verdict;

static void note_kinds(const char *json)
{
    for (size_t i = 0; i < N_EXCHANGES; i++) {
        char key[48];
        snprintf(key, sizeof key, "\"kind\": \"%s\"", exchanges[i]);
        seen[i] |= strstr(json, key) != NULL;
    }
}

static void check_pair(const char *device, int y_kind, int z_kind, verdict *v)
{
    static rig_text t[3];
    rig s;

    v->runs++;
    bool good = build(&s, device, y_kind, z_kind);
    for (uint32_t f = ENG_EXPLAIN_TEXT; f <= ENG_EXPLAIN_GRAPHVIZ && good; f++)
        good = rig_explain(&s, f, &t[f]);
    if (good) {
        note_kinds(t[ENG_EXPLAIN_JSON].data);
        v->json &= rig_is_json(&t[ENG_EXPLAIN_JSON]);
        v->drawing &= is_drawing(&t[ENG_EXPLAIN_GRAPHVIZ]);
        v->text &= strstr(t[ENG_EXPLAIN_TEXT].data, "placed by the graph: scale") != NULL;
        v->sent &= sends_what_it_says(&s, t[ENG_EXPLAIN_JSON].data);
    } else {
        printf("# %s, %d then %d: %s\n", device, y_kind, z_kind, eng_last_error());
        v->failed++;
    }
    rig_close(&s);
}

/* One plan bound to two stores: in one the weight is split, in the other it is kept on a guest. */
static void check_variants(const char *device)
{
    static rig_text t[3];
    rig s;
    eng_store *other = NULL;
    eng_instance *instance = NULL;
    bool good = build(&s, device, KINDS, KINDS) && (other = make_store(s.device, "cpu/7.6")) != NULL &&
                eng_instance_create(s.plan, &other, 1, &instance) == ENG_OK;

    for (uint32_t f = ENG_EXPLAIN_TEXT; f <= ENG_EXPLAIN_GRAPHVIZ && good; f++)
        good = rig_explain(&s, f, &t[f]);
    if (!good)
        printf("# %s: %s\n", device, eng_last_error());
    good = good && strstr(t[ENG_EXPLAIN_TEXT].data, "placement 1 of 2\n") &&
           strstr(t[ENG_EXPLAIN_TEXT].data, "placement 2 of 2\n") && strstr(t[ENG_EXPLAIN_TEXT].data, "on cpu/7.6") &&
           rig_is_json(&t[ENG_EXPLAIN_JSON]) && strstr(t[ENG_EXPLAIN_JSON].data, "\"kept_apart\": true") &&
           is_drawing(&t[ENG_EXPLAIN_GRAPHVIZ]) && strstr(t[ENG_EXPLAIN_GRAPHVIZ].data, "p1_r0");
    tap_check(good, "two placements of one plan, %s", device);
    eng_instance_destroy(instance);
    eng_store_destroy(other);
    rig_close(&s);
}

/* The youngest placement's bytes of weights on the first two devices. */
static uint64_t bytes_told(const char *json)
{
    uint64_t sum = 0;

    for (int i = 0; i < 2 && json; i++) {
        json = strstr(json, "\"weights\": ");
        json = json ? json + strlen("\"weights\": ") : NULL;
        sum += json ? strtoull(json, NULL, 10) : 0;
    }
    return sum;
}

/* A tensor that is bound in two slots is there once. */
static void check_bound_twice(void)
{
    static rig_text t;
    rig_dim m;
    const eng_dim none = {0}, dm = rig_axis(&m, axis_m, M, 1);
    eng_store_tensor tensors[] = {
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, M}, .name = "w", .dims = (eng_dim[]){none, dm}},
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {K, M}, .name = "out", .dims = (eng_dim[]){none, dm}},
    };
    rig r;
    bool good = rig_open(&r, context, "cpu/2", 0) && rig_store(&r, tensors, 2);

    if (good) {
        eng_value sum = eng_add(r.graph, eng_graph_tensor(r.graph, 0, r.store, 0), eng_graph_tensor(r.graph, 1, r.store, 0));
        eng_store_value(r.graph, eng_graph_tensor(r.graph, 0, r.store, 1), sum);
        good = eng_graph_seal(r.graph) == ENG_OK && eng_plan_create(r.device, r.graph, &r.plan) == ENG_OK &&
               eng_instance_create(r.plan, (eng_store *[]){r.store, r.store}, 2, &r.instance) == ENG_OK &&
               rig_explain(&r, ENG_EXPLAIN_JSON, &t);
    }
    tap_check(good && bytes_told(t.data) == K * M * 4, "a weight of %d bytes that is bound twice: %" PRIu64 " are told",
              K * M * 4, good ? bytes_told(t.data) : 0);
    rig_close(&r);
}

/* What the line of a tensor in the text says of its place. */
static void check_place(const char *device, const char *tensor, const char *place)
{
    static rig_text t;
    char line[256], name[64];
    bool found = false;
    rig s;

    bool good = build(&s, device, KINDS, KINDS) && rig_explain(&s, ENG_EXPLAIN_TEXT, &t);
    snprintf(name, sizeof name, " %s", tensor);
    for (const char *at = t.data; good && *at && !found; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        size_t length = strlen(line), end = strlen(name);
        found = length > end && strcmp(line + length - end, name) == 0 && strstr(line, place);
    }
    if (!tap_check(found, "%s is told to be '%s', %s", tensor, place, device))
        printf("# %s\n", good ? t.data : eng_last_error());
    rig_close(&s);
}

static void check_places(void)
{
    check_place("cpu/2", "w", " m, dim 1: 2 x 20 ");
    check_place("cpu/3@2:1:1", "w", " m, dim 1: 20+10+10 ");
    check_place("cpu/2", "out", " column, dim 1: 2 x 6 ");
    check_place("cpu@1", "w", " m, dim 1: 1 x 40 ");
}

/* Each format names a product that may be fast, and says of the plan whether there are any. */
static void check_precision(const char *device, eng_precision precision)
{
    static const char *const said[][3] = {
        [ENG_PRECISION_EXACT] = {"; precision: exact\n", "\"fast\": []", NULL},
        [ENG_PRECISION_FAST] = {"; precision: fast in 1 node\n", "\"mul_mat#0\"", "\\nfast\"]"},
    };
    static rig_text t[3];
    eng_value in[TENSORS];
    rig s;
    bool good = rig_open(&s, context, device, 0) && (s.store = make_store(s.device, NULL)) != NULL &&
                eng_graph_precision(s.graph, precision) == ENG_OK;

    if (good) {
        rig_values(&s, in, TENSORS);
        eng_store_value(s.graph, in[OUT], eng_mul_mat(s.graph, in[W], in[X]));
        good = rig_plan(&s);
    }
    for (uint32_t f = ENG_EXPLAIN_TEXT; f <= ENG_EXPLAIN_GRAPHVIZ && good; f++)
        good = rig_explain(&s, f, &t[f]) && (!said[precision][f] || strstr(t[f].data, said[precision][f]));
    bool named = good && strstr(t[ENG_EXPLAIN_TEXT].data, "\nfast:\n      mul_mat#0\n") != NULL;
    if (!tap_check(good && named == (precision == ENG_PRECISION_FAST), "precision %s is told, %s",
                   eng_precision_name(precision), device))
        printf("# %s\n", good ? t[ENG_EXPLAIN_TEXT].data : eng_last_error());
    rig_close(&s);
}

/* A plain device has no report on places, but this. */
static void check_plain_precision(void)
{
    static rig_text t;
    eng_value in[TENSORS];
    rig s;
    bool good = rig_open(&s, context, "cpu", 0) && (s.store = make_store(s.device, NULL)) != NULL &&
                eng_graph_precision(s.graph, ENG_PRECISION_FAST) == ENG_OK;

    if (good) {
        rig_values(&s, in, TENSORS);
        eng_store_value(s.graph, in[OUT], eng_mul_mat(s.graph, in[W], in[X]));
        good = rig_plan(&s) && rig_explain(&s, ENG_EXPLAIN_TEXT, &t) && strstr(t.data, "precision: fast in 1 node\n") &&
               strstr(t.data, "  mul_mat#0: fast\n");
    }
    tap_check(good, "precision fast is told, cpu");
    rig_close(&s);
}

static void check_device(const char *device)
{
    verdict v = {.json = true, .drawing = true, .text = true, .sent = true};

    for (int y = 0; y < KINDS; y++)
        for (int z = 0; z < KINDS; z++)
            check_pair(device, y, z, &v);
    tap_check(v.failed == 0, "every pair of placements, %s", device);
    tap_check(v.json, "JSON is JSON, %s", device);
    tap_check(v.drawing, "drawings are whole, %s", device);
    tap_check(v.text, "the text says what the graph has placed, %s", device);
    tap_check(v.sent, "what is said to be sent is sent, %s", device);
    check_variants(device);
}

int main(void)
{
    if (!(context = tap_begin()))
        return 1;
    axis_m = eng_context_axis(context, "m");
    axis_c = eng_context_axis(context, "column");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        check_device(devices[i]);
    check_places();
    check_bound_twice();
    check_precision("cpu/2", ENG_PRECISION_EXACT);
    check_precision("cpu/2", ENG_PRECISION_FAST);
    check_plain_precision();
    for (size_t i = 0; i < N_EXCHANGES; i++)
        tap_check(seen[i], "met, %s", exchanges[i]);
    return tap_end(context);
}
