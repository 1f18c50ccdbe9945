/*
 * Does the conformance suite find what is wrong?  The oracle plays the device;
 * faults are planted in what it gives.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

typedef enum fault {
    NONE,
    WRONG_ROW,    /* one small row among large ones, off by its own size     */
    ONE_VALUE,    /* one value off by some hundred roundings: exact is less  */
    ONE_VALUE_FAR, /* one value off by what not even fast may be             */
    NOT_A_NUMBER, /* or a number where there is none                         */
    INFINITE,
    NEVER_WRITTEN, /* the poison is still there                              */
    UNTOUCHED,    /* a byte that must stay is changed                        */
    ZERO_STATE,   /* recurrent state lost                                    */
    NEIGHBOUR,    /* a quantised value two steps away                        */
    ANOTHER_INDEX
} fault;

struct plan {
    fault fault;
    const char *what; /* the operand it is planted in */
    uint64_t passed, failed;
    char detail[256];
    int placements;
    const char *only;              /* cell */
    bool seen[ENG_OP_LIMIT];       /* ops that had a case */
    char op[32], name[256], cell[256]; /* of the last one */
};

static void plant(void *ctx, const char *what, uint32_t type, void *bytes, uint64_t n)
{
    struct plan *p = ctx;
    float f, bad, inf = INFINITY;
    uint64_t at = n / 8 * 4;

    (void)type;
    if (n < 8 || strcmp(what, p->what) != 0)
        return;
    unsigned char *b = bytes;
    memcpy(&f, b + at, 4);
    bad = isnan(f) ? 0 : NAN;
    switch (p->fault) {
    case NONE: break;
    case WRONG_ROW: f = -f - 0.001f; memcpy(b + at, &f, 4); break;
    case ONE_VALUE: f += copysignf(2e-4f, f) * (fabsf(f) + 1); memcpy(b + at, &f, 4); break;
    case ONE_VALUE_FAR: f += copysignf(0.5f, f) * (fabsf(f) + 8); memcpy(b + at, &f, 4); break;
    case NOT_A_NUMBER: memcpy(b + at, &bad, 4); break;
    case INFINITE: memcpy(b + at, &inf, 4); break;
    case NEVER_WRITTEN: memset(b + at, 0xff, 4); break;
    case UNTOUCHED: b[n - 1] ^= 1; break;
    case ZERO_STATE: memset(bytes, 0, n); break;
    case NEIGHBOUR: b[n / 2 + 5] = (unsigned char)(b[n / 2 + 5] + 3); break;
    case ANOTHER_INDEX: b[0] ^= 1; break;
    }
}

static void count(void *ctx, const eng_conformance_result *r)
{
    struct plan *p = ctx;

    p->passed += r->outcome == ENG_CONFORMANCE_PASS;
    p->failed += r->outcome == ENG_CONFORMANCE_FAIL;
    if (r->outcome == ENG_CONFORMANCE_FAIL)
        strncpy(p->detail, r->detail, sizeof p->detail - 1);
    p->seen[eng_op_find(r->op)->op] = true;
    snprintf(p->op, sizeof p->op, "%s", r->op);
    snprintf(p->name, sizeof p->name, "%s", r->name);
    snprintf(p->cell, sizeof p->cell, "%s", r->cell ? r->cell : "");
}

static struct plan run_plan(struct plan p, const char *op, const char *filter)
{
    eng_conformance_options o = {.size = sizeof o,
                                 .quick = 1,
                                 .oracle = 1,
                                 .ops = op,
                                 .filter = filter,
                                 .placements = p.placements,
                                 .cell = p.only,
                                 .precision = p.fault == ONE_VALUE ? 1 + ENG_PRECISION_EXACT : 0,
                                 .report = count,
                                 .tamper = plant,
                                 .ctx = &p};
    eng_conformance_summary sum = {.size = sizeof sum};
    eng_context_params none = {.size = sizeof none, .flags = ENG_CONTEXT_NO_ENVIRONMENT | ENG_CONTEXT_NO_LOAD};
    eng_context *context = NULL;

    ck_assert_int_eq(eng_context_create(&none, &context), ENG_OK);
    ck_assert_int_eq(eng_conformance_run(context, NULL, &o, &sum), ENG_OK);
    ck_assert_uint_eq(sum.cells, sum.passed + sum.failed + sum.unsupported);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
    return p;
}

static struct plan run(fault f, const char *what, const char *op, const char *filter)
{
    return run_plan((struct plan){.fault = f, .what = what}, op, filter);
}

/* Every case of `op` whose name has `filter` must fail, and its text must have `text`. */
static void found(fault f, const char *what, const char *op, const char *filter, const char *text)
{
    struct plan p = run(f, what, op, filter);

    ck_assert_msg(p.failed > 0 && p.passed == 0, "fault %d in %s of %s (%s): %d found, %d missed", (int)f, what, op,
                  filter ? filter : "", (int)p.failed, (int)p.passed);
    ck_assert_msg(strstr(p.detail, text) != NULL, "'%s' does not say '%s'", p.detail, text);
}

START_TEST(the_oracle_passes)
{
    struct plan p = run(NONE, "out", NULL, NULL);

    ck_assert_msg(p.failed == 0, "%d cases fail on the oracle itself: %s", (int)p.failed, p.detail);
    ck_assert_uint_gt(p.passed, 300);
}
END_TEST

START_TEST(values)
{
    found(WRONG_ROW, "out", "mul_mat", "m=33 n=1 k=256", "should be");
    found(ONE_VALUE, "out", "rms_norm", "n=64", "should be");
    found(ONE_VALUE, "out", "mul_mat", "n=512 k=256", "should be");
    found(ONE_VALUE_FAR, "out", "mul_mat", "n=512 k=256 fast", "should be");
    found(NOT_A_NUMBER, "out", "mul_mat", "n=2 k=256", "should be");
    found(INFINITE, "out", "hadamard", "n=128 group=32", "should be");
    found(NEVER_WRITTEN, "out", "soft_max", "1024x", "should be");
    found(ANOTHER_INDEX, "out", "get_rows", "a=i32", "should be exactly");
}
END_TEST

START_TEST(memory_that_must_stay)
{
    found(UNTOUCHED, "state", "gated_delta_net", "s=64", "must not be");
    found(UNTOUCHED, "state", "ssm_conv", "taps=4", "must not be");
    found(UNTOUCHED, "state", "ssm_scan", "n=64", "must not be");
    found(NOT_A_NUMBER, "state", "gated_delta_net", "slots=0", "must not be");
}
END_TEST

START_TEST(states_and_blocks)
{
    found(ZERO_STATE, "state", "gated_delta_net", "gate=-0.1", "'state'");
    found(NEIGHBOUR, "out", "quantize", "to=q8_0 n=512", "step");
    found(NEIGHBOUR, "out", "quantize", "to=q4_0 n=512", "step");
}
END_TEST

/* Every cell of a placed run must find the fault. */
static void found_placed(fault f, const char *what, const char *op, const char *text)
{
    struct plan p = run_plan((struct plan){.fault = f, .what = what, .placements = ENG_PLACEMENTS_SAMPLE}, op, NULL);

    ck_assert_msg(p.failed > 0 && p.passed == 0, "fault %d in %s of %s, placed: %d found, %d missed (%s, %s)", (int)f,
                  what, op, (int)p.failed, (int)p.passed, p.name, p.cell);
    ck_assert_msg(strstr(p.detail, text) != NULL, "'%s' does not say '%s'", p.detail, text);
}

START_TEST(placements)
{
    struct plan p = run_plan((struct plan){.what = "out", .placements = ENG_PLACEMENTS_SAMPLE}, NULL, NULL);

    ck_assert_msg(p.failed == 0, "%d cells fail on the oracle itself: %s", (int)p.failed, p.detail);
    ck_assert_uint_gt(p.passed, 300);
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) /* every row of the op table but those that no host writes */
        ck_assert_msg(!eng_op_get(op) || p.seen[op] || (eng_op_get(op)->flags & ENG_OPF_BARRIER), "%s has no case",
                      eng_op_get(op)->name);
    found_placed(NOT_A_NUMBER, "out", "unary", "should be");
    found_placed(NEVER_WRITTEN, "out", "scale", "should be");
    found_placed(INFINITE, "out", "group_norm", "should be");
    found_placed(ONE_VALUE, "out", "scale", "should be");
    found_placed(ZERO_STATE, "dst", "store", "'dst'");
}
END_TEST

START_TEST(a_cell_alone)
{
    struct plan p = run_plan((struct plan){.what = "out", .placements = ENG_PLACEMENTS_SAMPLE}, "rope", NULL);
    struct plan again = run_plan((struct plan){.what = "out", .placements = ENG_PLACEMENTS_SAMPLE, .only = p.cell},
                                 p.op, p.name);

    ck_assert_uint_eq(again.passed, 1);
    ck_assert_str_eq(again.cell, p.cell);
}
END_TEST

START_TEST(nothing_run_is_no_success)
{
    struct plan p = {.what = "out"};
    eng_conformance_options o = {
        .size = sizeof o, .oracle = 1, .ops = "mul_mat", .filter = "no such case", .report = count, .ctx = &p};
    eng_context_params none = {.size = sizeof none, .flags = ENG_CONTEXT_NO_ENVIRONMENT | ENG_CONTEXT_NO_LOAD};
    eng_context *context = NULL;

    ck_assert_int_eq(eng_context_create(&none, &context), ENG_OK);
    ck_assert_int_eq(eng_conformance_run(context, NULL, &o, NULL), ENG_ERR_NOTFOUND);
    o.filter = NULL;
    o.ops = "no_such_op";
    ck_assert_int_eq(eng_conformance_run(context, NULL, &o, NULL), ENG_ERR_NOTFOUND);
    o.oracle = 0;
    ck_assert_int_ne(eng_conformance_run(context, "nosuchdevice", &o, NULL), ENG_OK);
    eng_context_destroy(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conformance suite");
    TCase *t = tcase_create("planted faults");

    tcase_set_timeout(t, 300);
    tcase_add_test(t, the_oracle_passes);
    tcase_add_test(t, values);
    tcase_add_test(t, memory_that_must_stay);
    tcase_add_test(t, states_and_blocks);
    tcase_add_test(t, placements);
    tcase_add_test(t, a_cell_alone);
    tcase_add_test(t, nothing_run_is_no_success);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
