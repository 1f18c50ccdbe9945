/*
 * What a plan is found by: two graphs that differ in anything that a plan is compiled for are
 * different, whatever it is, and names alone make no difference.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define PLACE(k, ...) {.size = sizeof(eng_placement), .kind = ENG_PLACE_##k, __VA_ARGS__}
#define DIM(...) {.n_segments = 1, .segments = &(const eng_segment)SEGMENT(__VA_ARGS__)}
#define SEGMENT(...)                                                                                                   \
    {.n_factors = sizeof((const eng_factor[]){__VA_ARGS__}) / sizeof(eng_factor), .factors = (const eng_factor[]){__VA_ARGS__}}

enum { P = 1, Q = 2 };

static const eng_dim by_p[] = {{0}, DIM(FACTOR(P, 4))};
static const eng_dim by_q[] = {{0}, DIM(FACTOR(Q, 4))};
static const eng_dim by_pq[] = {{0}, DIM(FACTOR(P, 2), FACTOR(Q, 2))};
static const eng_dim by_qp[] = {{0}, DIM(FACTOR(Q, 2), FACTOR(P, 2))};
static const eng_dim by_none[] = {{0}, DIM(FACTOR(0, 2), FACTOR(P, 2))};
static const eng_dim in_parts[] = {{0},
                                   {.n_segments = 2,
                                    .segments = (const eng_segment[]){SEGMENT(FACTOR(P, 2)), SEGMENT(FACTOR(P, 2))}}};

/* A graph y = op(part of x0, part of x1), z = glu(y * factor), in what a host may choose of it; no field: the usual. */
typedef struct variant {
    const char *what;
    uint32_t type;    /* of the third tensor                                     */
    uint32_t use;
    const eng_dim *dims;
    int64_t begin;    /* of the part of x                                       */
    int subtracts;    /* the op is sub and not add                              */
    int swapped;      /* its operands                                           */
    int other;        /* x2 instead of x1; they may differ in type               */
    double factor;
    uint32_t glu;
    uint32_t n_params;
    uint32_t precision;
    eng_placement place_x, place_y; /* kind 0: none                             */
} variant;

static const variant variants[] = {
    {.what = "the usual"},
    {.what = "a type", .type = ENG_TYPE_F16}, /* of x2 */
    {.what = "a use: input", .use = ENG_USE_INPUT},
    {.what = "a use: state", .use = ENG_USE_STATE},
    {.what = "a use: cache", .use = ENG_USE_CACHE},
    {.what = "no axes", .dims = (const eng_dim[]){{0}, {0}}},
    {.what = "an axis", .dims = by_q},
    {.what = "an axis for a factor without", .dims = by_none},
    {.what = "two factors", .dims = by_pq},
    {.what = "their order", .dims = by_qp},
    {.what = "segments", .dims = in_parts},
    {.what = "an offset", .begin = 4},
    {.what = "an op", .subtracts = 1},
    {.what = "the order of operands", .subtracts = 1, .swapped = 1},
    {.what = "an operand", .other = 1},
    {.what = "a real parameter", .factor = 3},
    {.what = "an integer parameter", .glu = ENG_GLU_GEGLU},
    {.what = "the number of parameters", .n_params = 2},
    {.what = "a precision", .precision = ENG_PRECISION_FAST},
    {.what = "a placement of a bound tensor", .place_x = PLACE(REPLICATED)},
    {.what = "a placement of a value", .place_y = PLACE(REPLICATED)},
    {.what = "a placement as addends", .place_y = PLACE(PARTIAL)},
    {.what = "a placement by an axis", .place_y = PLACE(SHARDED, .axis = P)},
    {.what = "two axes, a placement by the first", .dims = by_pq, .place_y = PLACE(SHARDED, .axis = P)},
    {.what = "two axes, a placement by the second", .dims = by_pq, .place_y = PLACE(SHARDED, .axis = Q)},
    {.what = "a placement on a device", .place_y = PLACE(SINGLE, .device = "a")},
    {.what = "a placement on another device", .place_y = PLACE(SINGLE, .device = "b")},
};
#define N_VARIANTS (sizeof variants / sizeof *variants)

static void place(fixture *f, eng_value v, const eng_placement *p)
{
    if (p->kind != ENG_PLACE_AUTO)
        ck_assert_msg(eng_graph_place(f->graph, v, p) == ENG_OK, "%s", eng_last_error());
}

/* The tensors' names begin with `prefix`. */
static const eng_subgraph *build(fixture *f, const variant *v, const char *prefix)
{
    char name[64];
    fixture_begin(f, v->n_params);
    eng_value x[3];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%d", prefix, i);
        f->tensors[f->store.n] = (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = i == 2 ? v->type : ENG_TYPE_F32, .rank = 2,
                                                    .use = v->use ? v->use : ENG_USE_WEIGHT,
                                                    .dims = v->dims ? v->dims : by_p, .name = strdup(name), .layer = -1,
                                                    .ne = {8, 4, 1, 1, 1, 1, 1, 1}};
        x[i] = eng_graph_tensor(f->graph, 0, &f->store, f->store.n++);
    }
    place(f, x[0], &v->place_x);
    eng_value a = eng_slice(f->graph, x[0], 0, v->begin, 4), b = eng_slice(f->graph, x[v->other ? 2 : 1], 0, 0, 4);
    eng_value first = v->swapped ? b : a, second = v->swapped ? a : b;
    eng_value y = v->subtracts ? eng_sub(f->graph, first, second) : eng_add(f->graph, first, second);
    place(f, y, &v->place_y);
    ck_assert_int_eq(eng_graph_precision(f->graph, (eng_precision)v->precision), ENG_OK);
    y = eng_mul_mat(f->graph, eng_cont(f->graph, a), y);
    eng_value z = eng_glu(f->graph, eng_scale(f->graph, y, v->factor ? v->factor : 2, 0), ENG_NO_VALUE,
                          v->glu ? v->glu : ENG_GLU_SWIGLU, NULL);
    ck_assert_msg(z >= 0 && eng_graph_seal(f->graph) == ENG_OK, "%s: %s", v->what, eng_last_error());
    return eng_graph_view(f->graph);
}

static void end(fixture *f)
{
    for (uint32_t i = 0; i < f->store.n; i++)
        free((char *)f->tensors[i].name);
    fixture_end(f);
}

START_TEST(names_make_no_difference)
{
    fixture f[2];
    const eng_subgraph *a = build(&f[0], &variants[_i], "a"), *b = build(&f[1], &variants[_i], "another name ");
    ck_assert_msg(eng_graph_hash(a) == eng_graph_hash(b), "%s: two hashes", variants[_i].what);
    ck_assert_msg(eng_graph_same(a, b), "%s: the same graph twice is taken for two", variants[_i].what);
    end(&f[0]);
    end(&f[1]);
}
END_TEST

START_TEST(all_else_does)
{
    for (size_t i = 0; i < N_VARIANTS; i++) {
        fixture f[2];
        if (i == (size_t)_i)
            continue;
        const eng_subgraph *a = build(&f[0], &variants[_i], "x"), *b = build(&f[1], &variants[i], "x");
        ck_assert_msg(!eng_graph_same(a, b), "two graphs are taken for one: %s, and %s", variants[_i].what,
                      variants[i].what);
        end(&f[0]);
        end(&f[1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key");
    TCase *tc = tcase_create("key");
    tcase_add_loop_test(tc, names_make_no_difference, 0, N_VARIANTS);
    tcase_add_loop_test(tc, all_else_does, 0, N_VARIANTS);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
