/* Placement of scratch memory: nothing that lives at once overlaps, and reuse pays.  Results that need no place of their own. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "libengine/plan/build.h"

#define NODES 200

typedef struct span {
    uint32_t first, last;
} span;

static span life_of(const eng_subgraph *g, int32_t owner)
{
    span s = {UINT32_MAX, 0};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_node *n = eng_subgraph_node(g, i);
        bool touches = false;
        for (int k = 0; k < ENG_MAX_INPUTS; k++)
            touches = touches || (n->in[k] >= 0 && eng_subgraph_tensor(g, n->in[k])->root == owner);
        for (int k = 0; k < ENG_MAX_OUTPUTS; k++)
            touches = touches || (n->out[k] >= 0 && eng_subgraph_tensor(g, n->out[k])->root == owner);
        if (touches && s.first == UINT32_MAX)
            s.first = i;
        if (touches)
            s.last = i;
    }
    return s;
}

static void random_graph(fixture *f, unsigned seed)
{
    eng_value pool[NODES + 1];
    srand(seed);
    fixture_begin(f, 0);
    pool[0] = fixture_tensor(f, ENG_TYPE_F32, "x", NULL, 40, 6, 0);
    for (int i = 1; i <= NODES; i++) {
        eng_value a = pool[i - 1 - rand() % (i < 8 ? i : 8)];
        eng_value flat = eng_reshape(f->graph, a, (int64_t[]){40, 6}, 2);
        pool[i] = rand() % 3 ? eng_scale(f->graph, flat, 2, 0)
                             : eng_add(f->graph, flat, pool[i - 1 - rand() % (i < 8 ? i : 8)]);
        ck_assert_int_ge(pool[i], 0);
    }
    ck_assert_int_eq(eng_graph_seal(f->graph), ENG_OK);
}

/* Does b's first node end a's life, and may it work in place? */
static bool handed_over(const eng_subgraph *g, int32_t a, int32_t b, span x, span y)
{
    const eng_node *n = eng_subgraph_node(g, y.first);
    if (x.last != y.first || n->out[0] != b)
        return false;
    for (int k = 0; k < eng_op_get(n->op)->n_in; k++)
        if (n->in[k] == a && eng_op_get(n->op)->in[k].in_place)
            return true;
    return false;
}

START_TEST(no_overlap)
{
    fixture f;
    random_graph(&f, (unsigned)_i + 1);
    const eng_subgraph *g = eng_graph_view(f.graph);
    eng_tensor *t = (eng_tensor *)g->tensors;
    uint64_t sum = 0, size = eng_place(g, t, 64, &sum);
    ck_assert_uint_ne(size, UINT64_MAX);
    ck_assert_uint_lt(size, sum / 4);
    uint32_t in_places = 0;
    span *lives = calloc(g->n_tensors, sizeof *lives);
    ck_assert_ptr_nonnull(lives);
    for (uint32_t a = 0; a < g->n_tensors; a++)
        lives[a] = life_of(g, (int32_t)a);
    for (uint32_t a = 0; a < g->n_tensors; a++)
        for (uint32_t b = 0; b < a; b++) {
            if (t[a].root != (int32_t)a || t[b].root != (int32_t)b || t[a].binding >= 0 || t[b].binding >= 0)
                continue;
            span x = lives[a], y = lives[b];
            bool meet = x.first <= y.last && y.first <= x.last;
            bool overlap = t[a].arena_offset < t[b].arena_offset + t[b].bytes &&
                           t[b].arena_offset < t[a].arena_offset + t[a].bytes;
            bool in_place = (handed_over(g, (int32_t)a, (int32_t)b, x, y) ||
                             handed_over(g, (int32_t)b, (int32_t)a, y, x)) &&
                            t[a].arena_offset == t[b].arena_offset;
            in_places += overlap && meet && in_place;
            ck_assert_msg(!(meet && overlap && !in_place), "tensors %u and %u share memory while both live", a, b);
            ck_assert_uint_eq(t[a].arena_offset % 64, 0);
            ck_assert_uint_le(t[a].arena_offset + t[a].bytes, size);
        }
    ck_assert_uint_gt(in_places, 0);
    free(lives);
    fixture_end(&f);
}
END_TEST

/* A result takes an operand's place if that dies there, is as large, is no input of the host and is seen once. */
START_TEST(in_place)
{
    static const struct {
        const char *name;
        bool shared;
    } cases[] = {{"dies", true},
                 {"is read again", false},
                 {"is seen through a view, too", false},
                 {"is smaller", false}};
    for (int i = 0; i < 4; i++) {
        fixture f;
        uint64_t sum;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 40, 40, 0);
        eng_value wide = eng_scale(f.graph, x, 2, 0), row = eng_sum_rows(f.graph, x);
        eng_value a = i == 3 ? row : wide;
        eng_value b = i == 2 ? eng_add(f.graph, a, eng_permute(f.graph, a, (int[]){1, 0}, 2))
                     : i == 3 ? eng_mul(f.graph, x, a) : eng_scale(f.graph, a, 3, 0);
        eng_add(f.graph, b, i == 1 ? a : x);
        ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
        const eng_subgraph *g = eng_graph_view(f.graph);
        eng_tensor *t = (eng_tensor *)g->tensors;
        eng_place(g, t, 64, &sum);
        ck_assert_msg((t[a].arena_offset == t[b].arena_offset) == cases[i].shared, "an operand that %s", cases[i].name);
        fixture_end(&f);
    }
}
END_TEST

/* A result is made where it is stored, if that is an output and nobody can tell. */
START_TEST(direct)
{
    static const struct {
        const char *what;
        bool goes;
    } cases[] = {{"right behind its maker", true},
                 {"behind a view of another tensor", true},
                 {"of what another node reads", false},
                 {"with a node between", false},
                 {"that lies otherwise", false},
                 {"to a state", false},
                 {"whose maker reads an output", false},
                 {"of a stored tensor", false}};
    for (int i = 0; i < 8; i++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 40, 40, 0);
        eng_value o = fixture_tensor(&f, ENG_TYPE_F32, "o", NULL, 40, 40, 0);
        eng_value p = fixture_tensor(&f, ENG_TYPE_F32, "p", NULL, 40, 40, 0);
        eng_value y = eng_scale(f.graph, i == 6 ? p : x, 2, 0);
        if (i == 1)
            eng_permute(f.graph, x, (int[]){1, 0}, 2);
        if (i == 3)
            eng_scale(f.graph, x, 3, 0);
        ck_assert_int_eq(eng_store_value(f.graph, i == 4 ? eng_permute(f.graph, o, (int[]){1, 0}, 2) : o, i == 7 ? x : y),
                         ENG_OK);
        if (i == 2)
            eng_scale(f.graph, y, 4, 0);
        ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
        eng_subgraph g = *eng_graph_view(f.graph);
        eng_tensor *t = (eng_tensor *)g.tensors;
        const uint32_t nodes = g.n_nodes;
        t[o].use = i == 5 ? ENG_USE_STATE : ENG_USE_OUTPUT;
        t[p].use = i == 6 ? ENG_USE_OUTPUT : ENG_USE_WEIGHT;
        ck_assert(eng_make_direct(&g, t, (eng_node *)g.nodes));
        ck_assert_msg((g.n_nodes < nodes) == cases[i].goes, "a store %s", cases[i].what);
        ck_assert_int_eq(t[y].root, cases[i].goes ? o : y);
        for (uint32_t k = 0; k < g.n_nodes && cases[i].goes; k++)
            ck_assert_uint_ne(eng_subgraph_node(&g, k)->op, ENG_OP_STORE);
        fixture_end(&f);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *tc = tcase_create("place");
    tcase_add_loop_test(tc, no_overlap, 0, 5);
    tcase_add_test(tc, in_place);
    tcase_add_test(tc, direct);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
