/*
 * The algebra of cuts against sets of elements: a cut names, for each rank, some
 * elements of a tensor in an order.  Whatever the algebra says of a reshaped,
 * sliced or regrouped cut must name the very same elements.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/meta/cut/cut.h"

#define MANY 100000

static uint64_t state;
static int64_t pick(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* Elements of rank r's shard, in the shard's order; returns how many. */
static int64_t elements(const meta_cut *cut, uint32_t rank, const int64_t *ne, int64_t *list)
{
    int64_t i[ENG_MAX_RANK] = {0}, n = 0, total = 1, begin = meta_part_begin(cut->part, rank);
    int64_t length = meta_part_length(cut->part, rank);

    for (int d = 0; d < ENG_MAX_RANK; d++)
        total *= ne[d];
    for (int64_t at = 0; at < total; at++) {
        int64_t p = i[cut->dim], unit = -1;
        for (uint32_t s = 0; s < cut->n_segs; s++) {
            int64_t size = cut->segs[s].outer * cut->part->extent * cut->segs[s].inner;
            if (p < size) {
                unit = p / cut->segs[s].inner % cut->part->extent;
                break;
            }
            p -= size;
        }
        ck_assert_int_ge(unit, 0);
        if (unit >= begin && unit < begin + length)
            list[n++] = at;
        for (int d = 0; d < ENG_MAX_RANK && ++i[d] == ne[d]; d++)
            i[d] = 0;
    }
    return n;
}

static void make_partition(meta_partition *p)
{
    double shares[4];
    uint32_t n = 2 + (uint32_t)pick(3);
    memset(p, 0, sizeof *p);
    p->axis = 1;
    p->extent = 2 + pick(6);
    p->unit = 1 + pick(2);
    for (uint32_t r = 0; r < n; r++)
        shares[r] = (double)pick(4);
    shares[pick(n)] += 1;
    meta_partition_solve(p, shares, NULL, n);
    ck_assert_int_eq(p->begin[0], 0);
    ck_assert_int_eq(p->begin[n], p->extent);
    for (uint32_t r = 0; r < n; r++) {
        ck_assert_int_le(p->begin[r], p->begin[r + 1]);
        ck_assert(p->begin[r + 1] % p->unit == 0 || p->begin[r + 1] == p->extent);
        ck_assert(shares[r] > 0 || meta_part_length(p, r) == 0);
    }
}

/* A tensor of three dimensions with a cut in one of them. */
static void make_cut(const meta_partition *p, meta_cut *cut, int64_t *ne, uint32_t max_segs)
{
    memset(cut, 0, sizeof *cut);
    cut->part = p;
    cut->dim = (uint32_t)pick(3);
    for (uint32_t s = 1 + (uint32_t)pick(max_segs); s > 0; s--)
        ck_assert(meta_cut_append(cut, (meta_seg){1 + pick(3), 1 + pick(3)}));
    for (int d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = d < 3 ? 1 + pick(3) : 1;
    ne[cut->dim] = meta_cut_full(cut);
}

START_TEST(partition_shares)
{
    meta_partition p = {.extent = 40, .unit = 1};
    meta_partition_solve(&p, (double[]){1, 4}, NULL, 2);
    ck_assert_int_eq(p.begin[1], 8);
    p.extent = 8;
    meta_partition_solve(&p, (double[]){1, 1, 1}, NULL, 3);
    ck_assert_int_eq(p.begin[1], 3);
    ck_assert_int_eq(p.begin[2], 6);
    p.extent = 1;
    meta_partition_solve(&p, (double[]){1, 3}, NULL, 2);
    ck_assert_int_eq(p.begin[1], 0);
    p.extent = 7;
    meta_partition_solve(&p, (double[]){1, 0}, NULL, 2);
    ck_assert_int_eq(p.begin[1], 7);
    p.extent = 8; /* the units left over go to who is owed */
    meta_partition_solve(&p, (double[]){1, 1, 1}, (double[]){-1, 0.5, 0.5}, 3);
    ck_assert_int_eq(p.begin[1], 2);
    ck_assert_int_eq(p.begin[2], 5);
    p.extent = 100;
    p.unit = 32; /* four units, the last one short */
    meta_partition_solve(&p, (double[]){1, 1}, NULL, 2);
    ck_assert_int_eq(p.begin[1], 64);
    ck_assert_int_eq(p.begin[2], 100);
}
END_TEST

START_TEST(axes_of_dims)
{
    meta_partition p = {.axis = 7, .extent = 4, .unit = 1};
    meta_cut cut;
    eng_factor q[] = {{7, 0, 4}, {0, 0, 2}, {0, 0, 8}}, k[] = {{7, 0, 4}, {0, 0, 8}}, x[] = {{0, 0, 3}};
    eng_segment fused[] = {{3, 0, q}, {2, 0, k}, {2, 0, k}}, mixed[] = {{2, 0, k}, {1, 0, x}}, plain[] = {{1, 0, x}};
    eng_dim good[] = {{1, 0, plain}, {3, 0, fused}}, bad[] = {{1, 0, plain}, {2, 0, mixed}};
    eng_dim twice[] = {{3, 0, fused}, {3, 0, fused}};
    int64_t ne[ENG_MAX_RANK] = {3, 128, 1, 1, 1, 1, 1, 1}, wrong[ENG_MAX_RANK] = {3, 127};
    int64_t square[ENG_MAX_RANK] = {128, 128};

    meta_partition_solve(&p, (double[]){1, 1}, NULL, 2);
    ck_assert(meta_cut_from_dims(good, 2, ne, &p, &cut));
    ck_assert_uint_eq(cut.dim, 1);
    ck_assert_uint_eq(cut.n_segs, 2); /* k and v: the same set as twice k */
    ck_assert_int_eq(cut.segs[1].outer, 2);
    ck_assert_int_eq(meta_cut_local(&cut, 0), 64);
    ck_assert(!meta_cut_from_dims(good, 2, wrong, &p, &cut));
    ck_assert(!meta_cut_from_dims(bad, 2, ne, &p, &cut));
    ck_assert(!meta_cut_from_dims(twice, 2, square, &p, &cut));
    ck_assert(!meta_cut_from_dims(NULL, 2, ne, &p, &cut));
}
END_TEST

START_TEST(reshape)
{
    static int64_t a[MANY], b[MANY];
    int kept = 0;
    for (int round = 0; round < 20000; round++) {
        meta_partition p;
        meta_cut cut, other;
        int64_t ne[ENG_MAX_RANK], to[ENG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, total = 1;
        state = (uint64_t)round;
        make_partition(&p);
        make_cut(&p, &cut, ne, 2);
        for (int d = 0; d < ENG_MAX_RANK; d++)
            total *= ne[d];
        for (int64_t d = 0, left = total; d < 4; d++) {
            int64_t f = d == 3 ? left : 1 + pick(left);
            while (left % f)
                f--;
            to[d] = f;
            left /= f;
        }
        if (!meta_cut_reshape(&cut, ne, to, &other))
            continue;
        kept++;
        ck_assert_int_eq(meta_cut_full(&other), to[other.dim]);
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            int64_t n = elements(&cut, r, ne, a);
            ck_assert_int_eq(elements(&other, r, to, b), n);
            ck_assert(memcmp(a, b, (size_t)n * sizeof *a) == 0);
        }
    }
    ck_assert_int_gt(kept, 2000);
}
END_TEST

/* One cut within another dimension of the very same factors always survives. */
START_TEST(reshape_keeps_factors)
{
    meta_partition p = {.axis = 1, .extent = 8, .unit = 1};
    meta_cut heads = {.part = &p, .dim = 1, .n_segs = 1, .segs = {{1, 4}}}, flat, back;
    int64_t h[ENG_MAX_RANK] = {128, 32, 7, 1, 1, 1, 1, 1}, f[ENG_MAX_RANK] = {4096, 7, 1, 1, 1, 1, 1, 1};
    int64_t r4[ENG_MAX_RANK] = {64, 2, 32, 7, 1, 1, 1, 1};

    meta_partition_solve(&p, (double[]){1, 2}, NULL, 2);
    ck_assert(meta_cut_reshape(&heads, h, f, &flat));
    ck_assert_uint_eq(flat.dim, 0);
    ck_assert_int_eq(flat.segs[0].inner, 512);
    ck_assert(meta_cut_reshape(&flat, f, r4, &back));
    ck_assert_uint_eq(back.dim, 2);
    ck_assert(meta_cut_reshape(&back, r4, h, &flat));
    ck_assert(meta_cut_equal(&flat, &heads));
}
END_TEST

/* Of a tensor without elements no shape says where the axis stands. */
START_TEST(reshape_of_nothing)
{
    meta_partition p = {.axis = 1, .extent = 8, .unit = 1};
    meta_cut heads = {.part = &p, .dim = 1, .n_segs = 1, .segs = {{1, 1}}}, other;
    int64_t ne[ENG_MAX_RANK] = {0, 8, 1, 1, 1, 1, 1, 1}, to[ENG_MAX_RANK] = {0, 4, 2, 1, 1, 1, 1, 1};
    int64_t extents[] = {0, 8};

    meta_partition_solve(&p, (double[]){1, 1}, NULL, 2);
    ck_assert(!meta_cut_reshape(&heads, ne, to, &other));
    ck_assert_int_eq(meta_cut_to_letter(&heads, extents, 2, &other), 0);
    ck_assert_int_eq(meta_cut_to_letter(&heads, (int64_t[]){8, 0}, 2, &other), 1);
    ck_assert_int_eq(meta_cut_to_letter(&heads, (int64_t[]){8, 0, 4}, 3, &other), 1);
}
END_TEST

START_TEST(ranges)
{
    static int64_t a[MANY], b[MANY];
    int kept = 0;
    for (int round = 0; round < 20000; round++) {
        meta_partition p;
        meta_cut cut, part;
        int64_t ne[ENG_MAX_RANK], small[ENG_MAX_RANK];
        state = (uint64_t)round + 99;
        make_partition(&p);
        make_cut(&p, &cut, ne, 3);
        int64_t begin = pick(ne[cut.dim]), length = 1 + pick(ne[cut.dim] - begin);
        if (pick(2)) { /* likely ends */
            begin = cut.segs[0].inner * p.extent * pick(cut.segs[0].outer + 1);
            length = ne[cut.dim] - begin;
        }
        if (length <= 0 || !meta_cut_range(&cut, begin, length, &part))
            continue;
        kept++;
        memcpy(small, ne, sizeof small);
        small[cut.dim] = length;
        int64_t below = 1;
        for (uint32_t d = 0; d < cut.dim; d++)
            below *= ne[d];
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            int64_t n = elements(&cut, r, ne, a), m = elements(&part, r, small, b), k = 0, first = -1;
            for (int64_t i = 0; i < n; i++) { /* those of the range, renumbered */
                int64_t in = a[i] / below % ne[cut.dim], outside = a[i] / below / ne[cut.dim];
                if (in < begin || in >= begin + length)
                    continue;
                if (first < 0)
                    first = i;
                ck_assert_int_eq(b[k], a[i] % below + below * (in - begin + length * outside));
                k++;
            }
            ck_assert_int_eq(k, m);
            if (first >= 0)
                ck_assert_int_eq(first / below, meta_cut_local_position(&cut, r, begin));
        }
    }
    ck_assert_int_gt(kept, 2000);
}
END_TEST

START_TEST(letters)
{
    for (int round = 0; round < 20000; round++) {
        meta_partition p;
        meta_cut letter, dim, again;
        int64_t extents[3];
        uint32_t n = 1 + (uint32_t)pick(3), which;
        state = (uint64_t)round * 3 + 1;
        n = 1 + (uint32_t)pick(3);
        which = (uint32_t)pick(n);
        make_partition(&p);
        memset(&letter, 0, sizeof letter);
        letter.part = &p;
        letter.n_segs = 1;
        letter.segs[0] = (meta_seg){1 + pick(3), 1 + pick(3)};
        for (uint32_t i = 0; i < n; i++)
            extents[i] = i == which ? meta_cut_full(&letter) : 1 + pick(4);
        ck_assert(meta_cut_from_letter(&letter, extents, n, which, 2, &dim));
        ck_assert_int_eq(meta_cut_full(&dim), extents[0] * (n > 1 ? extents[1] : 1) * (n > 2 ? extents[2] : 1));
        ck_assert_int_eq(meta_cut_to_letter(&dim, extents, n, &again), (int)which);
        again.dim = letter.dim;
        ck_assert(meta_cut_equal(&letter, &again));
    }
}
END_TEST

/* Another cut of the same tensor: of another dimension, or of the same one otherwise. */
static void make_other(const meta_partition *p, const meta_cut *cut, int64_t *ne, meta_cut *other)
{
    int64_t n = ne[cut->dim];

    memset(other, 0, sizeof *other);
    other->part = p;
    other->n_segs = 1;
    if (n % p->extent == 0 && pick(2)) {
        other->dim = cut->dim;
        int64_t rest = n / p->extent, inner = 1 + pick(rest);
        while (rest % inner)
            inner--;
        other->segs[0] = (meta_seg){rest / inner, inner};
        return;
    }
    other->dim = (cut->dim + 1 + (uint32_t)pick(2)) % 3;
    other->segs[0] = (meta_seg){1 + pick(3), 1 + pick(3)};
    if (pick(2))
        meta_cut_append(other, (meta_seg){1 + pick(2), 4 + pick(2)});
    ne[other->dim] = meta_cut_full(other);
}

/* What the moves bring is the target's shard, all of it, and nothing beside it. */
START_TEST(moves)
{
    const eng_type_info type = {.block = 1, .block_bytes = sizeof(int64_t)};
    static int64_t source[MANY], want[MANY], got[MANY];

    state = (uint64_t)_i + 1;
    meta_partition p, q;
    meta_cut from, to;
    int64_t ne[ENG_MAX_RANK];
    make_partition(&p);
    make_partition(&q);
    make_cut(&p, &from, ne, 3);
    make_other(&q, &from, ne, &to);
    ck_assert(meta_cut_same(&from, &from) && meta_cut_same(&to, &to));
    bool same = true;
    for (uint32_t t = 0; t < 5; t++) {
        int64_t n_want = elements(&to, t, ne, want), n_got = 0;
        memset(got, 0xff, sizeof *got * (size_t)(n_want + 1));
        for (uint32_t r = 0; r < 5; r++) {
            meta_move list[200];
            uint32_t n, again;
            int64_t n_source = elements(&from, r, ne, source);
            if (r == t)
                same &= n_source == n_want && !memcmp(source, want, sizeof *want * (size_t)n_want);
            ck_assert(meta_cut_moves(ne, &type, &from, r, &to, t, list, 200, &n) && n <= 200);
            ck_assert(meta_cut_moves(ne, &type, &from, r, &to, t, NULL, 0, &again) && again == n);
            for (uint32_t i = 0; i < n; i++) {
                ck_assert_uint_eq(list[i].source, r);
                n_got += (int64_t)(meta_move_bytes(&list[i]) / sizeof *got);
                meta_move_copy(&list[i], (char *)got, (const char *)source);
            }
        }
        ck_assert_int_eq(n_got, n_want);
        ck_assert_mem_eq(got, want, sizeof *want * (size_t)n_want);
    }
    if (meta_cut_same(&from, &to))
        ck_assert(same);
}
END_TEST

START_TEST(pieces)
{
    static const eng_type_info types[] = {{.type = ENG_TYPE_F32, .block = 1, .block_bytes = 4},
                                          {.type = ENG_TYPE_Q4_0, .block = 4, .block_bytes = 3}};
    static int64_t list[MANY];
    static unsigned char seen[MANY];
    int done = 0;
    for (int round = 0; round < 5000; round++) {
        const eng_type_info *type = &types[round & 1];
        meta_partition p;
        meta_cut cut;
        int64_t ne[ENG_MAX_RANK], total = 1;
        state = (uint64_t)round * 7;
        make_partition(&p);
        make_cut(&p, &cut, ne, 3);
        if (type->block > 1 && (ne[0] % type->block || !meta_cut_aligned(&cut, type->block)))
            continue;
        done++;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            total *= ne[d];
        memset(seen, 0, sizeof seen);
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            meta_piece pc[META_MAX_SEGS];
            int64_t n = elements(&cut, r, ne, list);
            uint64_t local_bytes = (uint64_t)n / type->block * type->block_bytes, moved = 0;
            meta_cut_pieces(&cut, r, ne, type, pc);
            for (uint32_t s = 0; s < cut.n_segs; s++)
                for (uint64_t j = 0; j < pc[s].n2; j++)
                    for (uint64_t i = 0; i < pc[s].n1; i++)
                        for (uint64_t k = 0; k < pc[s].run; k += type->block_bytes) {
                            uint64_t full = pc[s].full + j * pc[s].full_s2 + i * pc[s].full_s1 + k;
                            uint64_t local = pc[s].local + j * pc[s].local_s2 + i * pc[s].local_s1 + k;
                            uint64_t e = local / type->block_bytes * type->block;
                            ck_assert_uint_lt(local, local_bytes);
                            ck_assert_uint_eq(full / type->block_bytes * type->block, (uint64_t)list[e]);
                            ck_assert(!seen[full]);
                            seen[full] = 1;
                            moved += type->block_bytes;
                        }
            ck_assert_uint_eq(moved, local_bytes);
        }
        for (uint64_t b = 0; b < (uint64_t)total / type->block * type->block_bytes; b += type->block_bytes)
            ck_assert(seen[b]);
    }
    ck_assert_int_gt(done, 2500);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("meta cuts");
    TCase *c = tcase_create("algebra");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, partition_shares);
    tcase_add_test(c, axes_of_dims);
    tcase_add_test(c, reshape);
    tcase_add_test(c, reshape_keeps_factors);
    tcase_add_test(c, reshape_of_nothing);
    tcase_add_test(c, ranges);
    tcase_add_test(c, letters);
    tcase_add_test(c, pieces);
    tcase_add_loop_test(c, moves, 0, 300);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
