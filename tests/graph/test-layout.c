/* Views of any layout, builders taken back, parameters of glu. */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "fixture.h"

/* -- layouts ---------------------------------------------------------------------- */

static eng_value layout_of(fixture *f, eng_value x, const int64_t *ne, const int64_t *nb, int64_t offset)
{
    return eng_view(f->graph, x, ne, nb, 3, offset);
}

START_TEST(layouts)
{
    static const struct {
        int64_t ne[3], nb[3], offset;
        const char *why; /* NULL: fine */
    } cases[] = {
        {{8, 4, 1}, {4, 32, 0}, 0, NULL},          {{4, 8, 1}, {32, 4, 0}, 0, NULL},
        {{3, 5, 2}, {4, 4, 64}, 20, NULL},         {{8, 2, 3}, {4, 0, 0}, 96, NULL},
        {{8, 0, 1}, {4, 32, 0}, 128, NULL},        {{9, 4, 1}, {4, 32, 0}, 0, "must stay within"},
        {{8, 4, 1}, {4, 32, 0}, 4, "must stay within"},      {{8, 4, 1}, {4, 33, 0}, 0, "multiple"},
        {{8, 4, 1}, {4, -32, 0}, 96, "multiple"},  {{8, 2, 1}, {4, 32, 0}, 2, "offset"},
        {{8, 2, 1}, {4, 32, 0}, -4, "offset"},     {{8, -1, 1}, {4, 32, 0}, 0, "negative"},
        {{2, INT64_MAX / 4, 2}, {4, INT64_MAX / 8 * 4, 8}, 0, "must stay within"}, {{2, INT64_MAX / 4, 2}, {4, 8, 8}, 0, "must stay within"},
        {{INT64_C(1) << 61, 8, 1}, {0, 0, 0}, 0, "62 bits"}, {{0, INT64_MAX, INT64_MAX}, {4, 0, 0}, 0, "62 bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
        eng_value y = layout_of(&f, x, cases[i].ne, cases[i].nb, cases[i].offset);
        if (cases[i].why) {
            fixture_error(&f, y, cases[i].why);
        } else {
            const eng_tensor *t = eng_graph_get(f.graph, y);
            ck_assert_msg(t != NULL, "%s", eng_last_error());
            ck_assert_int_eq(t->root, x);
            ck_assert_int_eq(t->offset, cases[i].offset);
            for (int d = 0; d < 3; d++)
                ck_assert(t->ne[d] == cases[i].ne[d] && (t->ne[d] < 2 || t->nb[d] == cases[i].nb[d]));
        }
        fixture_end(&f);
    }
}
END_TEST

/* Also of an empty tensor: what counts elements multiplies the extents beside the zero. */
START_TEST(extents_of_nothing)
{
    for (int large = 0; large < 2; large++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, -1, 0);
        eng_value y = eng_reshape(f.graph, x, (int64_t[]){large ? INT64_MAX : 1000, 0, 5}, 3);
        if (large)
            fixture_error(&f, y, "62 bits");
        else
            fixture_shape(&f, y, 1000, 0, 5, 1);
        fixture_end(&f);
    }
}
END_TEST

/* Through a view whose elements overlap nothing is written; strides may come in any order. */
START_TEST(overlapping_views_are_not_written)
{
    static const struct {
        int64_t ne[3], nb[3];
        bool apart;
    } cases[] = {
        {{8, 4, 1}, {4, 32, 0}, true},  {{4, 8, 1}, {32, 4, 0}, true},   {{4, 2, 2}, {4, 64, 16}, true},
        {{8, 4, 1}, {4, 28, 0}, false}, {{8, 2, 1}, {4, 0, 0}, false},   {{4, 2, 2}, {4, 16, 16}, false},
        {{2, 3, 2}, {8, 16, 4}, true},  {{3, 3, 2}, {8, 16, 4}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
        eng_value y = layout_of(&f, x, cases[i].ne, cases[i].nb, 0), copy = eng_cont(f.graph, y);
        int status = eng_store_value(f.graph, y, copy);
        if (cases[i].apart) {
            ck_assert_msg(status == ENG_OK, "%d: %s", (int)i, eng_last_error());
        } else {
            ck_assert_int_eq(status, ENG_ERR_INVALID);
            fixture_error(&f, ENG_BAD_VALUE, "overlap");
        }
        fixture_end(&f);
    }
}
END_TEST

START_TEST(layouts_of_blocks)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_Q8_0, "x", NULL, 96, 4, 0);
    const eng_tensor *t = eng_graph_get(f.graph, layout_of(&f, x, (int64_t[]){64, 2, 1}, (int64_t[]){34, 204, 0}, 34));
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->nb[1], 204);
    fixture_error(&f, layout_of(&f, x, (int64_t[]){64, 2, 1}, (int64_t[]){68, 204, 0}, 0), "follow one another");
    fixture_end(&f);
    fixture_begin(&f, 0);
    x = fixture_tensor(&f, ENG_TYPE_Q8_0, "x", NULL, 96, 4, 0);
    fixture_error(&f, layout_of(&f, x, (int64_t[]){48, 2, 1}, (int64_t[]){34, 102, 0}, 0), "multiple of the 32");
    fixture_end(&f);
    fixture_begin(&f, 0);
    x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
    eng_value turned = eng_permute(f.graph, x, (int[]){1, 0}, 2);
    fixture_error(&f, layout_of(&f, turned, (int64_t[]){4, 2, 1}, (int64_t[]){4, 16, 0}, 0), "contiguous");
    fixture_end(&f);
}
END_TEST

/* -- taking back ------------------------------------------------------------------ */

START_TEST(builders_can_be_undone)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
    eng_value kept = eng_scale(f.graph, x, 2, 0);
    eng_mark mark = eng_graph_mark(f.graph);
    eng_value gone = eng_add(f.graph, kept, fixture_tensor(&f, ENG_TYPE_F32, "b", NULL, 8, 0));
    eng_mark later = eng_graph_mark(f.graph);
    ck_assert_int_ge(gone, 0);
    fixture_error(&f, eng_top_k(f.graph, kept, 9), "k must be from 1 to 8, got 9");
    ck_assert_int_eq(eng_graph_undo(f.graph, mark), ENG_OK);
    ck_assert_ptr_null(eng_graph_get(f.graph, gone));
    ck_assert_int_eq(eng_graph_undo(f.graph, later), ENG_ERR_INVALID);
    for (int k = 0; k < 3; k++) {
        eng_mark other = mark;
        *(uint32_t *[]){&other.n_tensors, &other.n_nodes, &other.n_bindings}[k] += 1;
        ck_assert_int_eq(eng_graph_undo(f.graph, other), ENG_ERR_INVALID);
    }
    eng_value after = eng_sum_rows(f.graph, kept);
    fixture_shape(&f, after, 1, 4, 1, 1);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
    ck_assert_int_eq(eng_graph_view(f.graph)->n_nodes, 2);
    ck_assert_int_eq(eng_graph_view(f.graph)->n_bindings, 1);
    ck_assert_int_eq(eng_graph_undo(f.graph, mark), ENG_ERR_STATE);
    ck_assert_int_eq(eng_graph_undo(NULL, mark), ENG_ERR_INVALID);
    fixture_end(&f);
}
END_TEST

/* An error from before the mark is none of what is taken back. */
START_TEST(earlier_errors_stay)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
    fixture_error(&f, eng_top_k(f.graph, x, 9), "k must be from 1 to 8, got 9");
    eng_mark mark = eng_graph_mark(f.graph);
    eng_add(f.graph, x, x);
    ck_assert_int_eq(eng_graph_undo(f.graph, mark), ENG_OK);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_ERR_INVALID);
    fixture_end(&f);
}
END_TEST

START_TEST(glu_takes_its_parameters)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
    eng_glu_params p;
    eng_glu_defaults(&p);
    p.swapped = 1;
    p.limit = 5;
    eng_glu(f.graph, x, ENG_NO_VALUE, ENG_GLU_SWIGLU_OAI, &p);
    eng_glu(f.graph, x, x, ENG_GLU_SWIGLU_OAI, NULL);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
    const eng_node *first = eng_subgraph_node(eng_graph_view(f.graph), 0), *second = first + 1;
    ck_assert(first->ip[ENG_GLU_SWAPPED] == 1 && first->fp[ENG_GLU_LIMIT] == 5 && first->fp[ENG_GLU_ALPHA] == 1.702);
    ck_assert(second->ip[ENG_GLU_SWAPPED] == 0 && second->fp[ENG_GLU_LIMIT] == 7);
    fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layout");
    TCase *tc = tcase_create("layout");
    tcase_add_test(tc, layouts);
    tcase_add_test(tc, extents_of_nothing);
    tcase_add_test(tc, overlapping_views_are_not_written);
    tcase_add_test(tc, layouts_of_blocks);
    tcase_add_test(tc, builders_can_be_undone);
    tcase_add_test(tc, earlier_errors_stay);
    tcase_add_test(tc, glu_takes_its_parameters);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
