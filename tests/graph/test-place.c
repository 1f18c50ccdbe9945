/* Placement of scratch memory: nothing that lives at once overlaps, and reuse pays. */
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

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *tc = tcase_create("place");
    tcase_add_loop_test(tc, no_overlap, 0, 5);
    tcase_add_test(tc, in_place);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
