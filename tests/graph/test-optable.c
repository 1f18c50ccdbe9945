/* Every row of the op table parses, and says what ops.h says. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

START_TEST(every_row_parses)
{
#define ENG_OP(id, number, name_, rule, linear, flags, params, doc)                                                   \
    ck_assert_msg(eng_op_get(number) != NULL, "rule of %s does not parse", name_);                                      \
    ck_assert_ptr_eq(eng_op_find(name_), eng_op_get(number));
#include "engine/ops.def"
#undef ENG_OP
    ck_assert_ptr_null(eng_op_get(0));
    ck_assert_ptr_null(eng_op_get(ENG_OP_LIMIT));
    ck_assert_ptr_null(eng_op_find("nonesuch"));
}
END_TEST

START_TEST(numbers_are_unique)
{
    static int seen[ENG_OP_LIMIT];
#define ENG_OP(id, number, name, rule, linear, flags, params, doc) ck_assert_int_eq(seen[number]++, 0);
#include "engine/ops.def"
#undef ENG_OP
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
    ck_assert_int_eq(info->n_in, 10);
    ck_assert(!info->in[3].optional && info->in[4].optional);
    ck_assert_int_eq(info->in[9].dims[0].letters[0], ENG_LETTER_PRIVATE);
    info = eng_op_get(ENG_OP_SET_ROWS);
    ck_assert(info->in[0].inout && info->n_out == 0);
    ck_assert(info->in[2].dims[1].broadcast);
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
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
