/* Shapes against counting: layouts, strides of the same elements with other extents, letters of rules. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"

static const eng_type_info f32 = {.type = 0, .block = 1, .block_bytes = 4, .name = "f32"},
                           q4 = {.type = 2, .block = 32, .block_bytes = 18, .name = "q4_0"};

static uint32_t state = 1;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

START_TEST(layouts)
{
    int64_t nb[ENG_MAX_RANK];
    uint64_t bytes;
    ck_assert(eu_shape_layout(&q4, (int64_t[]){64, 3, 5}, 3, nb, &bytes));
    ck_assert_uint_eq(bytes, 2 * 18 * 15);
    ck_assert_int_eq(nb[0], 18);
    ck_assert_int_eq(nb[1], 36);
    ck_assert_int_eq(nb[2], 108);
    ck_assert_int_eq(nb[7], 540);
    ck_assert_uint_eq(eu_shape_bytes(&q4, (int64_t[]){64, 3, 5}, 3), 540);
    ck_assert(eu_shape_layout(&f32, NULL, 0, NULL, &bytes)); /* one element */
    ck_assert_uint_eq(bytes, 4);
    ck_assert(eu_shape_layout(&f32, (int64_t[]){3, 0, 5}, 3, nb, &bytes));
    ck_assert_uint_eq(bytes, 0);
    ck_assert_int_eq(nb[2], 12); /* as of one row */
    ck_assert(!eu_shape_layout(&q4, (int64_t[]){33}, 1, NULL, NULL));
    ck_assert(!eu_shape_layout(&f32, (int64_t[]){3, -1}, 2, NULL, NULL));
    ck_assert(!eu_shape_layout(&f32, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40}, 2, NULL, NULL));
    ck_assert(!eu_shape_layout(&f32, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40, 0}, 3, NULL, NULL));
    ck_assert(!eu_shape_layout(&f32, (int64_t[]){INT64_C(1) << 60}, 1, NULL, NULL));
    ck_assert(eu_shape_layout(&f32, (int64_t[]){INT64_C(1) << 59}, 1, NULL, NULL));
    const eng_type_info dense = {.block = 256, .block_bytes = 50}; /* fewer bytes than elements */
    ck_assert(!eu_shape_layout(&dense, (int64_t[]){INT64_C(1) << 62}, 1, NULL, NULL));

    const int64_t ne[ENG_MAX_RANK] = {4, 1, 6, 1, 1, 1, 1, 1};
    ck_assert(eu_shape_layout(&f32, ne, ENG_MAX_RANK, nb, NULL));
    ck_assert(eu_shape_contiguous(&f32, ne, nb));
    nb[1] = 77; /* never steps */
    ck_assert(eu_shape_contiguous(&f32, ne, nb));
    nb[2] = 20;
    ck_assert(!eu_shape_contiguous(&f32, ne, nb));
}
END_TEST

/* Extents of a product, in up to `most` dimensions, with ones among them. */
static void split(int64_t product, uint32_t most, int64_t *ne)
{
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = 1;
    for (uint32_t d = 0; d + 1 < most; d++) {
        do
            ne[d] = 1 + random_below((uint32_t)product);
        while (product % ne[d] != 0);
        product /= ne[d];
    }
    ne[most - 1] = product;
}

/* Where element i lies. */
static int64_t place(const int64_t *ne, const int64_t *nb, int64_t i)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        at += i % ne[d] * nb[d];
        i /= ne[d];
    }
    return at;
}

/* Is there any way to see the elements with these extents?  A dimension's stride is where its second index leads. */
static bool possible(const int64_t *ne, const int64_t *nb, const int64_t *to, int64_t n)
{
    int64_t below = 1, strides[ENG_MAX_RANK];
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        strides[d] = to[d] > 1 ? place(ne, nb, below) : 0;
        below *= to[d];
    }
    for (int64_t i = 0; i < n; i++)
        if (place(to, strides, i) != place(ne, nb, i))
            return false;
    return true;
}

START_TEST(regroups)
{
    static const int64_t products[] = {1, 2, 12, 36, 60, 64, 97, 120};
    unsigned seen = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        int64_t n = products[random_below(8)], ne[ENG_MAX_RANK], to[ENG_MAX_RANK], nb[ENG_MAX_RANK],
                to_nb[ENG_MAX_RANK];
        split(n, 1 + random_below(5), ne);
        split(n, 1 + random_below(ENG_MAX_RANK), to);
        int64_t step = 4;
        uint32_t order[ENG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
        for (uint32_t swaps = random_below(3); swaps > 0; swaps--) { /* permuted ... */
            uint32_t a = random_below(5), b = random_below(5), was = order[a];
            order[a] = order[b];
            order[b] = was;
        }
        for (uint32_t d = 0; d < ENG_MAX_RANK; d++) { /* ... and with gaps */
            step += random_below(6) ? 0 : 4;
            nb[order[d]] = ne[order[d]] == 1 ? 4 * (1 + (int64_t)random_below(50)) : step;
            step *= ne[order[d]];
        }
        bool good = eu_shape_regroup(&f32, ne, nb, to, to_nb);
        ck_assert_int_eq(good, possible(ne, nb, to, n));
        for (int64_t i = 0; good && i < n; i++)
            ck_assert_int_eq(place(to, to_nb, i), place(ne, nb, i));
        seen += good;
        refused += !good;
    }
    ck_assert_uint_gt(seen, 2000);
    ck_assert_uint_gt(refused, 2000);
}
END_TEST

START_TEST(regroups_blocks)
{
    const int64_t ne[ENG_MAX_RANK] = {64, 6, 1, 1, 1, 1, 1, 1},
                  nb[ENG_MAX_RANK] = {18, 72, 432, 432, 432, 432, 432, 432};
    int64_t to_nb[ENG_MAX_RANK];
    ck_assert(eu_shape_regroup(&q4, ne, nb, (int64_t[]){32, 2, 3, 2, 1, 1, 1, 1}, to_nb));
    ck_assert_int_eq(to_nb[1], 18);
    ck_assert_int_eq(to_nb[2], 72);
    ck_assert_int_eq(to_nb[3], 216);
    ck_assert(!eu_shape_regroup(&q4, ne, nb, (int64_t[]){128, 3, 1, 1, 1, 1, 1, 1}, to_nb)); /* over a gap */
    ck_assert(!eu_shape_regroup(&q4, ne, nb, (int64_t[]){16, 24, 1, 1, 1, 1, 1, 1}, to_nb)); /* half blocks */
    ck_assert(eu_shape_regroup(&f32, (int64_t[]){4, 0, 1, 1, 1, 1, 1, 1}, nb, (int64_t[]){0, 9, 1, 1, 1, 1, 1, 1},
                               to_nb));
}
END_TEST

/* a[k, (r h)], b[k, n, ~h] -> [n, (r h), _] */
enum { K, R, H, N };
static eng_op_info op_make(void)
{
    eng_op_info op = {.n_in = 2, .n_out = 1, .n_letters = 4};
    op.in[0].dims[0] = (eng_rule_dim){.n_letters = 1, .letters = {K}};
    op.in[0].dims[1] = (eng_rule_dim){.n_letters = 2, .letters = {R, H}};
    op.in[1].dims[0] = (eng_rule_dim){.n_letters = 1, .letters = {K}};
    op.in[1].dims[1] = (eng_rule_dim){.n_letters = 1, .letters = {N}};
    op.in[1].dims[2] = (eng_rule_dim){.n_letters = 1, .broadcast = 1, .letters = {H}};
    op.out[0].dims[0] = (eng_rule_dim){.n_letters = 1, .letters = {N}};
    op.out[0].dims[1] = (eng_rule_dim){.n_letters = 2, .letters = {R, H}};
    op.out[0].dims[2] = (eng_rule_dim){.n_letters = 1, .letters = {ENG_LETTER_PRIVATE}};
    return op;
}

START_TEST(letters)
{
    eng_op_info op = op_make();
    int64_t a[ENG_MAX_RANK] = {7, 12, 1, 1, 1, 1, 1, 1}, b[ENG_MAX_RANK] = {7, 5, 3, 1, 1, 1, 1, 1};
    const int64_t *in[] = {a, b};
    int64_t extent[ENG_MAX_LETTERS], want;
    eu_rule_bind(&op, in, NULL, extent);
    ck_assert_int_eq(extent[K], 7);
    ck_assert_int_eq(extent[H], 3);
    ck_assert_int_eq(extent[R], 4);
    ck_assert_int_eq(extent[N], 5);
    ck_assert_int_eq(eu_rule_disagrees(&op.in[0], a, extent, &want), -1);
    ck_assert_int_eq(eu_rule_disagrees(&op.in[1], b, extent, &want), -1);
    ck_assert(eu_rule_extent(&op.out[0].dims[1], extent, &want));
    ck_assert_int_eq(want, 12);
    ck_assert_int_eq(eu_rule_disagrees(&op.out[0], (int64_t[]){5, 12, 99, 1, 1, 1, 1, 1}, extent, &want), -1);
    ck_assert_int_eq(eu_rule_disagrees(&op.out[0], (int64_t[]){5, 12, 99, 2, 1, 1, 1, 1}, extent, &want), 3);
    ck_assert_int_eq(want, 1);

    b[0] = 8; /* the first operand's word counts */
    eu_rule_bind(&op, in, NULL, extent);
    ck_assert_int_eq(eu_rule_disagrees(&op.in[1], b, extent, &want), 0);
    ck_assert_int_eq(want, 7);
    b[0] = 7;
    a[1] = 13; /* 13 is no multiple of 3 */
    eu_rule_bind(&op, in, NULL, extent);
    ck_assert_int_eq(eu_rule_disagrees(&op.in[0], a, extent, &want), 1);
    ck_assert_int_eq(want, 12);

    a[1] = 12;
    b[2] = 1; /* broadcast: nothing says what h is, unless a result does */
    eu_rule_bind(&op, in, NULL, extent);
    ck_assert_int_eq(extent[R] * extent[H], 1);
    ck_assert_int_eq(eu_rule_disagrees(&op.in[0], a, extent, &want), 1);
    const int64_t *out[] = {(int64_t[]){5, 12, 1, 1, 1, 1, 1, 1}};
    in[1] = NULL; /* an absent operand */
    eu_rule_bind(&op, in, out, extent);
    ck_assert_int_eq(extent[N], 5);

    extent[R] = extent[H] = INT64_C(1) << 40;
    ck_assert(!eu_rule_extent(&op.in[0].dims[1], extent, &want));
    ck_assert_int_eq(eu_rule_disagrees(&op.in[0], a, extent, &want), 1);
    ck_assert_int_eq(want, -1);
    b[2] = 0; /* no heads: nothing is divided by it */
    a[1] = 0;
    in[1] = b;
    eu_rule_bind(&op, in, NULL, extent);
    ck_assert_int_eq(extent[H], 0);
    ck_assert_int_eq(eu_rule_disagrees(&op.in[0], a, extent, &want), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shape");
    TCase *t = tcase_create("shape");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, layouts);
    tcase_add_test(t, regroups);
    tcase_add_test(t, regroups_blocks);
    tcase_add_test(t, letters);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
