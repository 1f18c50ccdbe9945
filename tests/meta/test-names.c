/*
 * Names are the host's and the file's: whatever tensors, values and axes are called, reports
 * are valid JSON, drawings that end where they should, and lines of text.  Devices may be
 * spelled in several ways, and one that is spelled in another way is not a second one.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { K = 24, M = 40, COLS = 12 };
enum { W, V, X, OUT, TENSORS };

static eng_context *context;

/* -- reports ------------------------------------------------------------------------ */

/* out = 2 v (w x), everything called `name`. */
static bool build(rig *g, const char *device, const char *guest, const char *name)
{
    rig_dim m, c;
    uint32_t axis = eng_context_axis(context, name);
    eng_dim none = {0}, dm = rig_axis(&m, axis, M, 1), dc = rig_axis(&c, eng_context_axis(context, "column"), COLS, 1);
    eng_store_tensor t[TENSORS] = {
        [W] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {K, M}, .name = name,
               .dims = (eng_dim[]){none, dm}},
        [V] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {M, M}, .name = name, .device = guest},
        [X] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {K, COLS}, .name = name},
        [OUT] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {M, COLS}, .name = name,
                 .dims = (eng_dim[]){none, dc}},
    };
    eng_placement place = {.size = sizeof place, .kind = ENG_PLACE_SHARDED, .axis = axis};
    eng_value value[TENSORS];

    if (!rig_open(g, context, device, 0) || !rig_store(g, t, TENSORS))
        return false;
    rig_values(g, value, TENSORS);
    eng_value y = eng_mul_mat(g->graph, value[W], value[X]);
    eng_graph_name(g->graph, y, "%s", name);
    eng_graph_place(g->graph, y, &place);
    eng_value z = eng_scale(g->graph, eng_mul_mat(g->graph, value[V], y), 2, 0);
    eng_graph_name(g->graph, z, "%s", name);
    eng_store_value(g->graph, value[OUT], z);
    return rig_plan(g);
}

/* UTF-8 (RFC 3629) that a terminal only shows: no control characters but line breaks. */
static bool is_shown(const rig_text *t)
{
    const unsigned char *s = (const unsigned char *)t->data;

    while (*s) {
        uint32_t more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0, code = *s & (more ? 0x3fu >> more : 0x7fu);
        if ((*s < 0x20 && *s != '\n') || *s == 0x7f || (*s & 0xc0) == 0x80 || *s > 0xf7)
            return false;
        s++;
        for (uint32_t i = 0; i < more; i++, s++) {
            if ((*s & 0xc0) != 0x80)
                return false;
            code = code << 6 | (*s & 0x3fu);
        }
        if ((more == 1 && code < 0x80) || (more == 2 && code < 0x800) || (more == 3 && code < 0x10000) ||
            code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
    }
    return true;
}

static void check_name(const char *what, const char *name)
{
    static rig_text t[5];
    rig g;
    bool good = build(&g, "cpu/2", "cpu", name);

    memset(t, 0, sizeof t);
    for (uint32_t f = ENG_EXPLAIN_TEXT; f <= ENG_EXPLAIN_GRAPHVIZ && good; f++)
        good = rig_explain(&g, f, &t[f]);
    for (int dot = 0; dot < 2 && good; dot++)
        good = eng_graph_dump(g.graph, dot ? ENG_EXPLAIN_GRAPHVIZ : ENG_EXPLAIN_TEXT, rig_append, &t[3 + dot]) ==
               ENG_OK;
    if (!good)
        printf("# %s\n", eng_last_error());
    rig_close(&g);
    tap_check(good && rig_is_json(&t[ENG_EXPLAIN_JSON]), "JSON is JSON, %s", what);
    tap_check(good && rig_is_drawing(&t[ENG_EXPLAIN_GRAPHVIZ]) && rig_is_drawing(&t[4]), "drawings are whole, %s",
              what);
    for (int i = 0; i < 5; i++)
        good = good && is_shown(&t[i]);
    tap_check(good && t[0].length && t[4].length, "all is text, %s", what);
}

static void check_names(void)
{
    static char longest[5000];
    static const struct {
        const char *what, *name;
    } names[] = {
        {"quotes", "\"a\" \"b\"\""},
        {"a backslash at the end", "a\\"},
        {"backslashes and quotes", "\\\"\\\\\" -> {x} [label=\"y\"];\\"},
        {"line breaks", "a\nb\r\n"},
        {"control characters", "a\x01\x1b[31m\x7f\x1f"},
        {"no UTF-8", "a\x80\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80 b\xc3"},
        {"UTF-8", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"},
        {"percent signs", "%s%n%d"},
        {"long", longest},
    };

    for (size_t i = 0; i + 4 < sizeof longest; i += 3)
        memcpy(longest + i, "\xe2\x82\xac", 4);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_name(names[i].what, names[i].name);
}

/* -- devices -------------------------------------------------------------------------- */

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000000000"

static uint32_t ranks_of(eng_device *device)
{
    uint32_t n = 0;

    for (eng_device_info info = {.size = sizeof info}; eng_device_leaf(device, n, &info, NULL) == ENG_OK; n++)
        info.size = sizeof info;
    return n;
}

/* Stores on a guest by every spelling of its name: one guest. */
static void check_spellings(const char *what, const char *const *spellings, uint32_t n, uint32_t ranks)
{
    rig g;
    bool good = rig_open(&g, context, "cpu/2", 0);

    for (uint32_t i = 0; i < 3 * n && good; i++) {
        eng_store_tensor t = {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {M}, .device = spellings[i % n]};
        eng_store *store = rig_make_store(g.device, &t, 1);
        good = store != NULL;
        eng_store_destroy(store);
    }
    if (!good)
        printf("# %s\n", eng_last_error());
    tap_check(good && ranks_of(g.device) == ranks, "%s: %u devices", what, ranks);
    rig_close(&g);
}

/* A composition whose name is longer than that of a device can be. */
static void check_composition(void)
{
    static const char device[] = "null+null+null+null+null+null+null+null+null+null+null+null+null+null+null+cpu";
    static rig_text t;
    rig g;
    bool good = build(&g, device, NULL, "a");

    for (uint32_t f = ENG_EXPLAIN_TEXT; f <= ENG_EXPLAIN_JSON && good; f++)
        good = rig_explain(&g, f, &t) && strstr(t.data, device);
    if (!good)
        printf("# %s\n", eng_last_error());
    tap_check(good, "a long name is whole in reports");
    rig_close(&g);
}

int main(void)
{
    if (!(context = tap_begin()))
        return 1;
    check_names();
    check_spellings("a guest, spelled with many zeros", (const char *const[]){"cpu/7." ZEROS "6"}, 1, 3);
    check_spellings("a guest, spelled in three ways",
                    (const char *const[]){"cpu/" ZEROS "7." ZEROS "6", "cpu/7.6", "cpu/07.06"}, 3, 3);
    check_spellings("a leaf, spelled in three ways",
                    (const char *const[]){"cpu/002.1", "cpu/2.1", "cpu/" ZEROS "2.1"}, 3, 2);
    check_composition();
    return tap_end(context);
}
