/* Every row of the op table parses, and says what ops.h says. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "fixture.h"
#include "libengine/util/util.h"

START_TEST(every_row_parses)
{
#define ENG_OP(id, number, name, ...)                                                                                 \
    ck_assert_msg(eng_op_get(number) != NULL, "the row of %s does not parse", #name);                                   \
    ck_assert_ptr_eq(eng_op_find(#name), eng_op_get(number));
#include "engine/ops.def"
    ck_assert_ptr_null(eng_op_get(0));
    ck_assert_ptr_null(eng_op_get(ENG_OP_LIMIT));
    ck_assert_ptr_null(eng_op_find("nonesuch"));
}
END_TEST

START_TEST(numbers_are_unique)
{
    static int seen[ENG_OP_LIMIT];
#define ENG_OP(id, number, ...) ck_assert_int_eq(seen[number]++, 0);
#include "engine/ops.def"
}
END_TEST

START_TEST(mul_mat_row)
{
    const eng_op_info *info = eng_op_get(ENG_OP_MUL_MAT);
    ck_assert_int_eq(info->n_in, 2);
    ck_assert_int_eq(info->n_out, 1);
    ck_assert_str_eq(info->letter_name[info->in[0].dims[0].letters[0]], "k");
    ck_assert_int_eq(info->letter_class[info->in[0].dims[0].letters[0]], ENG_CLASS_REDUCE);
    ck_assert_int_eq(info->in[1].dims[2].n_letters, 2);
    ck_assert_int_eq(info->in[0].dims[4].n_letters, 0);
    ck_assert(info->in[0].linear && info->in[1].linear && !info->linear_together);
    ck_assert(eng_op_get(ENG_OP_ADD)->linear_together);
}
END_TEST

START_TEST(optional_and_inout)
{
    const eng_op_info *info = eng_op_get(ENG_OP_ATTENTION);
    ck_assert_int_eq(info->n_in, 11);
    ck_assert(!info->in[3].optional && info->in[4].optional);
    ck_assert_int_eq(info->in[9].dims[0].letters[0], ENG_LETTER_PRIVATE);
    info = eng_op_get(ENG_OP_SET_ROWS);
    ck_assert(info->in[0].inout && info->n_out == 0);
    ck_assert(info->in[2].dims[1].broadcast);
}
END_TEST

/* What the columns beside the rule say. */
START_TEST(columns)
{
    const eng_op_info *info = eng_op_get(ENG_OP_ATTENTION);
    ck_assert(info->in[1].types >> ENG_TYPE_Q8_0 & 1 && !(info->in[1].types >> ENG_TYPE_Q4_K & 1));
    ck_assert(info->in[7].types == (UINT64_C(1) << ENG_TYPE_F32 | UINT64_C(1) << ENG_TYPE_F16));
    ck_assert_int_eq(info->n_ip, 8);
    ck_assert_int_eq(info->n_fp, 3);
    ck_assert_int_eq(info->n_work, 2);
    info = eng_op_get(ENG_OP_ADD);
    ck_assert_int_eq(info->in[0].strides, ENG_STRIDES_ANY);
    ck_assert(info->in[0].in_place && info->in[1].in_place);
    ck_assert_str_eq(info->expression, "x + y");
    info = eng_op_get(ENG_OP_CPY);
    ck_assert_int_eq(info->out[0].type_source, ENG_TYPE_OF_PARAM);
    ck_assert_int_eq(info->out[0].type_index, ENG_CPY_TYPE);
    ck_assert_int_eq(eng_op_get(ENG_OP_GET_ROWS)->out[0].type_source, ENG_TYPE_OF_VALUES);
    info = eng_op_get(ENG_OP_SSM_CONV);
    ck_assert_int_eq(info->in[2].strides, ENG_STRIDES_CONTIGUOUS);
    info = eng_op_get(ENG_OP_ROPE);
    ck_assert_int_eq(info->param[5].count, 4);
    ck_assert_int_eq(info->param[6].first, ENG_ROPE_BASE);
    ck_assert(info->param[6].is_float);
    ck_assert_ptr_null(info->expression);
    ck_assert_str_eq(eng_unary_name(ENG_UNARY_SGN), "sgn");
    ck_assert_str_eq(eng_unary_name(ENG_UNARY_LIMIT), "");
}
END_TEST

/* Every row's small case is one: the graph takes it, with the type that its marked operands can have. */
START_TEST(samples)
{
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) {
        const eng_op_info *info = eng_op_get(op);
        fixture f;
        eng_value in[ENG_MAX_INPUTS];
        int64_t ip[ENG_MAX_IPARAMS], ne[ENG_MAX_RANK];
        double fp[ENG_MAX_FPARAMS];
        if (!info || info->types[0] == 0)
            continue;
        fixture_begin(&f, 0);
        uint32_t asked = ENG_TYPE_F32;
        while (!(info->in[0].types >> asked & 1))
            asked = (asked + 1) % ENG_TYPE_LIMIT;
        for (uint32_t i = 0; i < info->n_in; i++) {
            eng_store_tensor *t = &f.tensors[f.store.n];
            in[i] = ENG_NO_VALUE;
            *t = (eng_store_tensor){.size = sizeof *t, .rank = ENG_MAX_RANK, .use = ENG_USE_STATE, .name = "operand"};
            if (!eu_row_sample_operand(info, i, asked, ne, &t->type))
                continue;
            memcpy(t->ne, ne, sizeof ne);
            in[i] = eng_graph_tensor(f.graph, 0, &f.store, f.store.n++);
        }
        eu_row_sample_params(info, asked, ip, fp);
        eng_graph_op(f.graph, op, in, info->n_in, ip, ENG_MAX_IPARAMS, fp, ENG_MAX_FPARAMS, NULL);
        ck_assert_msg(eng_graph_seal(f.graph) == ENG_OK, "%s: %s", info->name, eng_last_error());
        const eng_subgraph *g = eng_graph_view(f.graph);
        eu_work work = eu_row_work(info, g, eng_subgraph_node(g, 0));
        ck_assert_msg(work.bytes > 0, "%s moves no bytes", info->name);
        ck_assert_msg(eu_row_accepts(info, g, eng_subgraph_node(g, 0), NULL, 0), "%s is not accepted", info->name);
        fixture_end(&f);
    }
}
END_TEST

/* Operations and bytes of a product, of one with indices, which reads only the experts named, and of an op on a pool of states,
 * of which one is read and two are written. */
START_TEST(work)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value a = fixture_tensor(&f, ENG_TYPE_F16, "a", NULL, 64, 10, 8, 0);
    eng_value one = eng_slice(f.graph, a, 2, 0, 1), b = fixture_tensor(&f, ENG_TYPE_F32, "b", NULL, 64, 3, 0);
    eng_mul_mat(f.graph, one, b);
    eng_value ids = fixture_tensor(&f, ENG_TYPE_I32, "ids", NULL, 2, 1, 0);
    eng_mul_mat_id(f.graph, a, eng_slice(f.graph, b, 1, 0, 1), ids);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 32, 5, 0), w0 = fixture_tensor(&f, ENG_TYPE_F32, "w", NULL, 4, 32, 0);
    eng_value state = fixture_tensor(&f, ENG_TYPE_F32, "state", NULL, 3, 32, 7, 0);
    eng_value src = fixture_tensor(&f, ENG_TYPE_I32, "src", NULL, 1, 0), dst = fixture_tensor(&f, ENG_TYPE_I32, "dst", NULL, 2, 1, 0);
    eng_value cu = fixture_tensor(&f, ENG_TYPE_I32, "cu", NULL, 2, 0);
    eng_ssm_conv(f.graph, x, w0, state, src, dst, cu, 2);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
    const eng_subgraph *g = eng_graph_view(f.graph);
    eu_work w = eu_row_work(eng_op_get(ENG_OP_MUL_MAT), g, eng_subgraph_node(g, 1));
    ck_assert(w.operations == 2.0 * 64 * 10 * 3 && w.bytes == 64 * 10 * 2 + 64 * 3 * 4 + 10 * 3 * 4);
    w = eu_row_work(eng_op_get(ENG_OP_MUL_MAT_ID), g, eng_subgraph_node(g, 3));
    ck_assert(w.operations == 2.0 * 64 * 20 && w.bytes == 2 * 64 * 10 * 2 + 64 * 4 + 2 * 4 + 20 * 4);
    w = eu_row_work(eng_op_get(ENG_OP_SSM_CONV), g, eng_subgraph_node(g, 4));
    ck_assert(w.bytes == 4 * (2 * 32 * 5 + 4 * 32 + 3 * 3 * 32 + 1 + 2 + 2));
    fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optable");
    TCase *tc = tcase_create("rows");
    tcase_add_test(tc, every_row_parses);
    tcase_add_test(tc, numbers_are_unique);
    tcase_add_test(tc, mul_mat_row);
    tcase_add_test(tc, optional_and_inout);
    tcase_add_test(tc, columns);
    tcase_add_test(tc, samples);
    tcase_add_test(tc, work);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
