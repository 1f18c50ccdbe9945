/* Shapes, views, errors and axes of graphs under construction. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

START_TEST(shapes)
{
    fixture f;
    fixture_begin(&f, 1);
    eng_value a = fixture_tensor(&f, ENG_TYPE_Q4_0, "a", NULL, 64, 7, 2, 3, 0);
    eng_value b = fixture_tensor(&f, ENG_TYPE_F32, "b", NULL, 64, 5, 4, 3, 0);
    fixture_shape(&f, eng_mul_mat(f.graph, a, b), 7, 5, 4, 3);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 10, 3, 0);
    fixture_shape(&f, eng_sum_rows(f.graph, x), 1, 3, 1, 1);
    fixture_shape(&f, eng_argmax(f.graph, x), 3, 1, 1, 1);
    fixture_shape(&f, eng_top_k(f.graph, x, 4), 4, 3, 1, 1);
    fixture_shape(&f, eng_glu(f.graph, x, ENG_NO_VALUE, ENG_GLU_SWIGLU, NULL), 5, 3, 1, 1);
    fixture_shape(&f, eng_concat(f.graph, x, x, 1), 10, 6, 1, 1);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
    fixture_end(&f);
}
END_TEST

START_TEST(attention_shape)
{
    fixture f;
    fixture_begin(&f, 1);
    eng_attention_params p;
    eng_attention_defaults(&p);
    eng_value q = fixture_tensor(&f, ENG_TYPE_F32, "q", NULL, 64, 8, 5, 0);
    eng_value k = fixture_tensor(&f, ENG_TYPE_Q8_0, "k", NULL, 64, 100, 2, 0);
    eng_value v = fixture_tensor(&f, ENG_TYPE_Q4_0, "v", NULL, 32, 100, 2, 0);
    p.pos = fixture_tensor(&f, ENG_TYPE_I32, "pos", NULL, 5, 0);
    p.kv_param = 0;
    fixture_shape(&f, eng_attention(f.graph, q, k, v, &p), 32, 8, 5, 1);
    p.kv_param = 1;
    fixture_error(&f, eng_attention(f.graph, q, k, v, &p), "plan parameters");
    fixture_end(&f);
}
END_TEST

/* Runs of cells, and of rows, that cannot be. */
START_TEST(runs)
{
    static const int64_t good[][2] = {{0, 0}, {1, 1}, {3, 3}, {3, 40}};
    static const int64_t bad[][2] = {{1, 0}, {0, 4}, {5, 4}, {-1, 4}, {1, -4}, {1, INT64_MAX / 99}, {99, INT64_MAX}};
    static const int64_t ranges[][3] = {{-1, 3, 8}, {4, 3, 8}, {0, 9, 8}, {0, 1, -1}};
    for (size_t i = 0; i < sizeof good / sizeof *good + sizeof bad / sizeof *bad; i++) {
        fixture f;
        fixture_begin(&f, 0);
        bool ok = i < sizeof good / sizeof *good;
        const int64_t *run = ok ? good[i] : bad[i - sizeof good / sizeof *good];
        eng_attention_params p;
        eng_attention_defaults(&p);
        eng_value q = fixture_tensor(&f, ENG_TYPE_F32, "q", NULL, 64, 8, 5, 0);
        eng_value k = fixture_tensor(&f, ENG_TYPE_F32, "k", NULL, 64, 100, 2, 0);
        p.pos = fixture_tensor(&f, ENG_TYPE_I32, "pos", NULL, 5, 0);
        p.run = run[0];
        p.period = run[1];
        eng_value o = eng_attention(f.graph, q, k, k, &p);
        if (ok)
            fixture_shape(&f, o, 64, 8, 5, 1);
        else
            fixture_error(&f, o, run[1] > 4 ? "must fit 63 bits" : "must be 0, or 0 < run <= period, got ");
        fixture_end(&f);
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_I32, "x", NULL, 5, 0);
        fixture_error(&f, eng_graph_op(f.graph, ENG_OP_REBASE, &x, 1, ranges[i], 3, NULL, 0, NULL),
                      "begin and end must be a range of every period");
        fixture_end(&f);
    }
}
END_TEST

START_TEST(errors_name_op_tensors_and_rule)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value a = fixture_tensor(&f, ENG_TYPE_F32, "weights", NULL, 64, 7, 0);
    eng_value b = fixture_tensor(&f, ENG_TYPE_F32, "input", NULL, 63, 5, 0);
    eng_value bad = eng_mul_mat(f.graph, a, b);
    fixture_error(&f, bad, "mul_mat");
    fixture_error(&f, bad, "weights f32[64,7]");
    fixture_error(&f, bad, "a[k,m,p,q]");
    /* a failed operand fails its consumers and keeps the first error */
    fixture_error(&f, eng_add(f.graph, bad, a), "mul_mat");
    fixture_end(&f);
}
END_TEST

/* Names that are too long, and what tells of them, end with a whole character. */
START_TEST(long_names)
{
    fixture f;
    char name[400] = "";
    for (int i = 0; i < 130; i++)
        strcat(name, "\xe2\x82\xac");
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 0);
    eng_graph_name(f.graph, x, "%s", name);
    const char *kept = eng_graph_get(f.graph, x)->name;
    ck_assert_uint_eq(strlen(kept), 126);
    f.graph->tensors[x].name = name; /* a store's may be of any length */
    fixture_error(&f, eng_top_k(f.graph, x, 9), "k must be");
    for (const char *at = eng_last_error(), *end = at + strlen(at); at < end; at += eu_utf8_length(at, (size_t)(end - at)))
        ck_assert_uint_gt(eu_utf8_length(at, (size_t)(end - at)), 0);
    fixture_end(&f);
}
END_TEST

/* The device is not to blame for the root of what is negative. */
START_TEST(bad_eps)
{
    static const double bad[] = {-1e-6, -INFINITY, INFINITY, NAN};
    for (int i = 0; i < 5 * 4; i++) {
        fixture f;
        fixture_begin(&f, 0);
        double eps = i < 4 * 4 ? bad[i % 4] : 0;
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 2, 0), y;
        switch (i < 4 * 4 ? i / 4 : i % 4) {
        case 0: y = eng_rms_norm(f.graph, x, ENG_NO_VALUE, eps); break;
        case 1: y = eng_norm(f.graph, x, ENG_NO_VALUE, ENG_NO_VALUE, eps); break;
        case 2: y = eng_l2_norm(f.graph, x, eps); break;
        default: y = eng_group_norm(f.graph, x, 2, eps); break;
        }
        if (i < 4 * 4)
            fixture_error(&f, y, "eps must be a number that is not negative");
        else
            fixture_shape(&f, y, 8, 4, 2, 1);
        fixture_end(&f);
    }
}
END_TEST

START_TEST(inout_needs_a_bound_tensor)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value a = fixture_tensor(&f, ENG_TYPE_F32, "a", NULL, 8, 4, 0);
    eng_value ids = fixture_tensor(&f, ENG_TYPE_I32, "ids", NULL, 4, 0);
    eng_value sum = eng_add(f.graph, a, a);
    ck_assert_int_eq(eng_set_rows(f.graph, sum, a, ids), ENG_ERR_INVALID);
    fixture_error(&f, ENG_BAD_VALUE, "bound tensor");
    fixture_end(&f);
}
END_TEST

/* What may share bytes with what is written is copied before; what lies beside it, or is of another tensor, is not. */
START_TEST(what_is_written_is_not_read)
{
    static const struct { int64_t to, from, rows; uint32_t nodes; } cases[] = {{1, 0, 7, 2}, {0, 1, 7, 2}, {4, 0, 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value a = fixture_tensor(&f, ENG_TYPE_F32, "a", NULL, 8, 8, 0);
        eng_value b = fixture_tensor(&f, ENG_TYPE_F32, "b", NULL, 8, 8, 0);
        eng_value to = eng_slice(f.graph, a, 1, cases[i].to, cases[i].rows);
        eng_value from = eng_slice(f.graph, a, 1, cases[i].from, cases[i].rows);
        eng_value ids = fixture_tensor(&f, ENG_TYPE_I32, "ids", NULL, cases[i].rows, 0);
        const uint32_t views = f.graph->n_nodes;
        ck_assert_int_eq(eng_store_value(f.graph, to, from), ENG_OK);
        ck_assert_int_eq(f.graph->n_nodes, views + cases[i].nodes);
        ck_assert_int_eq(eng_set_rows(f.graph, to, from, ids), ENG_OK);
        ck_assert_int_eq(f.graph->n_nodes, views + 2 * cases[i].nodes);
        ck_assert_int_eq(eng_store_value(f.graph, a, b), ENG_OK);
        ck_assert_int_eq(f.graph->n_nodes, views + 2 * cases[i].nodes + 1);
        fixture_end(&f);
    }
}
END_TEST

START_TEST(missing_operands_are_told)
{
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) {
        const eng_op_info *info = eng_op_get(op);
        fixture f;
        if (!info || op == ENG_OP_EXTERN)
            continue;
        fixture_begin(&f, 1);
        fixture_error(&f, eng_graph_op(f.graph, op, NULL, 0, NULL, 0, NULL, 0, NULL), "must be given");
        fixture_end(&f);
    }
}
END_TEST

START_TEST(inputs_are_not_written_in_place)
{
    for (int view = 0; view < 2; view++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value a = fixture_tensor(&f, ENG_TYPE_F32, "a", NULL, 8, 4, 0);
        f.tensors[f.store.n] = f.tensors[0];
        f.tensors[f.store.n].name = "x";
        f.tensors[f.store.n].use = ENG_USE_INPUT;
        eng_value x = eng_graph_tensor(f.graph, 0, &f.store, f.store.n++);
        if (view)
            x = eng_reshape(f.graph, x, (int64_t[]){8, 4}, 2);
        ck_assert_int_eq(eng_store_value(f.graph, x, a), ENG_ERR_INVALID);
        fixture_error(&f, ENG_BAD_VALUE, "must not be an input, got x");
        fixture_error(&f, ENG_BAD_VALUE, "ENG_USE_STATE");
        fixture_end(&f);
    }
}
END_TEST

START_TEST(views)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 24, 5, 0);
    eng_value part = eng_slice(f.graph, x, 0, 8, 8);
    const eng_tensor *t = eng_graph_get(f.graph, part);
    ck_assert_int_eq(t->offset, 32);
    ck_assert_int_eq(t->nb[1], 96);
    ck_assert_int_eq(t->root, x);
    eng_value heads = eng_reshape(f.graph, part, (int64_t[]){4, 2, 5}, 3); /* cuts rows: no copy needed */
    t = eng_graph_get(f.graph, heads);
    ck_assert_int_eq(t->nb[1], 16);
    ck_assert_int_eq(t->nb[2], 96);
    eng_value turned = eng_permute(f.graph, heads, (int[]){0, 2, 1}, 3);
    fixture_shape(&f, turned, 4, 5, 2, 1);
    t = eng_graph_get(f.graph, turned);
    ck_assert_int_eq(t->nb[1], 96);
    fixture_error(&f, eng_reshape(f.graph, part, (int64_t[]){40}, 1), "cont");
    fixture_end(&f);
}
END_TEST

/* -- axes ------------------------------------------------------------------------- */

enum { KV = 1, GROUPS = 0, FFN = 2, KH = 3 };

static bool has_axis(const fixture *f, eng_value v, int dim, uint32_t axis, int64_t extent)
{
    const eng_tensor *t = eng_graph_get(f->graph, v);
    ck_assert_ptr_nonnull(t);
    if (t->dims == NULL || (uint32_t)dim >= t->rank)
        return false;
    for (uint32_t s = 0; s < t->dims[dim].n_segments; s++) {
        bool found = false;
        for (uint32_t i = 0; i < t->dims[dim].segments[s].n_factors; i++)
            found = found || (t->dims[dim].segments[s].factors[i].axis == axis &&
                              t->dims[dim].segments[s].factors[i].extent == extent);
        if (!found)
            return false;
    }
    return t->dims[dim].n_segments > 0;
}

START_TEST(axes_through_attention)
{
    fixture f;
    fixture_begin(&f, 0);
    /* attn_q rows: kv_head, group, query|gate, d */
    eng_factor rows[] = {FACTOR(KV, 2), FACTOR(GROUPS, 3), FACTOR(0, 2), FACTOR(0, 16)};
    eng_segment segment = {.n_factors = 4, .factors = rows};
    eng_dim dims[2] = {{0}, {.n_segments = 1, .segments = &segment}};
    eng_value w = fixture_tensor(&f, ENG_TYPE_F32, "attn_q", dims, 32, 192, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 32, 5, 0);
    eng_value qg = eng_mul_mat(f.graph, w, x);
    ck_assert(has_axis(&f, qg, 0, KV, 2));
    eng_value heads = eng_reshape(f.graph, qg, (int64_t[]){32, 6, 5}, 3);
    ck_assert(has_axis(&f, heads, 1, KV, 2));
    eng_value q = eng_slice(f.graph, heads, 0, 0, 16);
    ck_assert(has_axis(&f, q, 1, KV, 2));
    eng_value flat = eng_reshape(f.graph, eng_cont(f.graph, q), (int64_t[]){96, 5}, 2);
    ck_assert(has_axis(&f, flat, 0, KV, 2));
    eng_value four = eng_reshape(f.graph, flat, (int64_t[]){8, 2, 6, 5}, 4);
    ck_assert(has_axis(&f, four, 2, KV, 2));
    /* four rows of 24, two for each kv head: still a shard each */
    ck_assert(has_axis(&f, eng_reshape(f.graph, flat, (int64_t[]){24, 4, 5}, 3), 1, KV, 2));
    /* three rows of 32 cut the second head: the axis is lost */
    eng_value lost = eng_reshape(f.graph, flat, (int64_t[]){32, 3, 5}, 3);
    ck_assert(!has_axis(&f, lost, 0, KV, 2) && !has_axis(&f, lost, 1, KV, 2));
    fixture_end(&f);
}
END_TEST

START_TEST(axes_through_fused_segments)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_factor q[] = {FACTOR(KH, 2), FACTOR(0, 8)}, v[] = {FACTOR(0, 3), FACTOR(KH, 2), FACTOR(0, 8)};
    eng_segment segments[] = {{.n_factors = 2, .factors = q},
                              {.n_factors = 2, .factors = q},
                              {.n_factors = 3, .factors = v}};
    eng_dim dims[2] = {{0}, {.n_segments = 3, .segments = segments}};
    eng_value w = fixture_tensor(&f, ENG_TYPE_F32, "attn_qkv", dims, 32, 80, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 32, 5, 0);
    eng_value qkv = eng_mul_mat(f.graph, w, x);
    ck_assert(has_axis(&f, qkv, 0, KH, 2));
    eng_value value = eng_slice(f.graph, qkv, 0, 32, 48);
    ck_assert(has_axis(&f, value, 0, KH, 2));
    eng_value heads = eng_reshape(f.graph, value, (int64_t[]){8, 6, 5}, 3);
    ck_assert(has_axis(&f, heads, 1, KH, 2));
    /* a cut inside a segment loses the axis */
    ck_assert(!has_axis(&f, eng_slice(f.graph, qkv, 0, 0, 24), 0, KH, 2));
    fixture_end(&f);
}
END_TEST

START_TEST(axes_through_glu_and_down)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_factor ffn[] = {FACTOR(FFN, 10)};
    eng_segment both[] = {{.n_factors = 1, .factors = ffn}, {.n_factors = 1, .factors = ffn}};
    eng_dim up[2] = {{0}, {.n_segments = 2, .segments = both}}, plain[2] = {{0}, {.n_segments = 1, .segments = both}};
    eng_value fused = fixture_tensor(&f, ENG_TYPE_F32, "gate_up", up, 32, 20, 0);
    eng_value single = fixture_tensor(&f, ENG_TYPE_F32, "up", plain, 32, 10, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 32, 5, 0);
    eng_value halves = eng_glu(f.graph, eng_mul_mat(f.graph, fused, x), ENG_NO_VALUE, ENG_GLU_SWIGLU, NULL);
    ck_assert(has_axis(&f, halves, 0, FFN, 10));
    /* one operand, one plain segment: halves are not shards */
    eng_value wrong = eng_glu(f.graph, eng_mul_mat(f.graph, single, x), ENG_NO_VALUE, ENG_GLU_SWIGLU, NULL);
    ck_assert(!has_axis(&f, wrong, 0, FFN, 10));
    /* an axis in a part of the segments only cuts nothing */
    eng_value mixed = eng_concat(f.graph, halves, x, 0);
    ck_assert(!has_axis(&f, mixed, 0, FFN, 10));
    /* elementwise with an anonymous operand keeps it; broadcast too */
    ck_assert(has_axis(&f, eng_mul(f.graph, halves, fixture_tensor(&f, ENG_TYPE_F32, "s", NULL, 1, 5, 0)), 0, FFN, 10));
    fixture_end(&f);
}
END_TEST

START_TEST(axes_and_blocks)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_factor small[] = {FACTOR(KV, 4), FACTOR(0, 16)}, large[] = {FACTOR(KV, 4), FACTOR(0, 32)};
    eng_segment s[] = {{.n_factors = 2, .factors = small}, {.n_factors = 2, .factors = large}};
    eng_dim a[1] = {{.n_segments = 1, .segments = &s[0]}}, b[1] = {{.n_segments = 1, .segments = &s[1]}};
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", a, 64, 0);
    eng_value y = fixture_tensor(&f, ENG_TYPE_F32, "y", b, 128, 0);
    ck_assert(!has_axis(&f, eng_quantize(f.graph, x, ENG_TYPE_Q8_0, 0), 0, KV, 4)); /* blocks would straddle heads */
    ck_assert(has_axis(&f, eng_quantize(f.graph, y, ENG_TYPE_Q8_0, 0), 0, KV, 4));
    fixture_end(&f);
}
END_TEST

START_TEST(one_head_keeps_its_axis)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_factor rows[] = {FACTOR(KV, 1), FACTOR(0, 16)};
    eng_segment s = {.n_factors = 2, .factors = rows};
    eng_dim dims[2] = {{0}, {.n_segments = 1, .segments = &s}};
    eng_value w = fixture_tensor(&f, ENG_TYPE_F32, "attn_k", dims, 32, 16, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 32, 5, 0);
    eng_value k = eng_reshape(f.graph, eng_mul_mat(f.graph, w, x), (int64_t[]){16, 1, 5}, 3);
    ck_assert(has_axis(&f, k, 1, KV, 1));
    ck_assert(has_axis(&f, eng_permute(f.graph, k, (int[]){0, 2, 1}, 3), 2, KV, 1));
    fixture_end(&f);
}
END_TEST

START_TEST(equal_graphs)
{
    fixture f[3];
    for (int i = 0; i < 3; i++) {
        fixture_begin(&f[i], 0);
        eng_value x = fixture_tensor(&f[i], ENG_TYPE_F32, "x", NULL, 8, 4, 0);
        eng_scale(f[i].graph, x, i == 2 ? 3 : 2, 0);
        ck_assert_int_eq(eng_graph_seal(f[i].graph), ENG_OK);
    }
    const eng_subgraph *a = eng_graph_view(f[0].graph), *b = eng_graph_view(f[1].graph),
                       *c = eng_graph_view(f[2].graph);
    ck_assert_uint_eq(eng_graph_hash(a), eng_graph_hash(b));
    ck_assert(eng_graph_same(a, b));
    ck_assert(!eng_graph_same(a, c));
    for (int i = 0; i < 3; i++)
        fixture_end(&f[i]);
}
END_TEST

/* Each cause of a refused placement has its text, which names the value; all but one too late fail at the seal. */
START_TEST(precisions)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value a = fixture_tensor(&f, ENG_TYPE_F32, "a", NULL, 8, 8, 0),
              x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 2, 0);
    eng_value y = eng_mul_mat(f.graph, a, x);
    ck_assert_int_eq(eng_graph_precision(f.graph, ENG_PRECISION_FAST), ENG_OK);
    y = eng_add(f.graph, y, eng_mul_mat(f.graph, a, y));
    ck_assert_int_eq(eng_graph_precision(f.graph, ENG_PRECISION_EXACT), ENG_OK);
    eng_mul_mat(f.graph, a, y);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
    static const uint32_t expected[] = {ENG_PRECISION_EXACT, ENG_PRECISION_FAST, ENG_PRECISION_EXACT,
                                        ENG_PRECISION_EXACT};
    for (uint32_t i = 0; i < 4; i++) /* mul_mat, mul_mat, add (which has none), mul_mat */
        ck_assert_uint_eq(eng_subgraph_node(eng_graph_view(f.graph), i)->precision, expected[i]);
    ck_assert_int_eq(eng_graph_precision(f.graph, ENG_PRECISION_FAST), ENG_ERR_STATE);
    ck_assert_int_eq(eng_graph_precision(NULL, ENG_PRECISION_FAST), ENG_ERR_INVALID);
    ck_assert_str_eq(eng_precision_name(ENG_PRECISION_EXACT), "exact");
    ck_assert_str_eq(eng_precision_name(ENG_PRECISION_FAST), "fast");
    ck_assert_str_eq(eng_precision_name(ENG_PRECISIONS), "");
    fixture_end(&f);
    fixture_begin(&f, 0);
    ck_assert_int_eq(eng_graph_precision(f.graph, ENG_PRECISIONS), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_ERR_INVALID);
    fixture_end(&f);
}
END_TEST

/* What is expected, and what was given instead. */
START_TEST(refusals_are_told)
{
    enum { X = 1, XX };
    static const struct {
        uint32_t op;
        int n_in; /* x f32[8,4], twice */
        int64_t ip[ENG_MAX_RANK];
        const char *text;
    } wrong[] = {
        {ENG_OP_UNARY, X, {99}, "unary: kind must be one of ENG_UNARY_*, got 99; operands: x = x f32[8,4]"},
        {ENG_OP_GLU, X, {-1}, "kind must be one of ENG_GLU_*, got -1"},
        {ENG_OP_CONCAT, XX, {9}, "dim must be from 0 to 7, got 9"},
        {ENG_OP_REPEAT, X, {8, 6, 1, 1, 1, 1, 1, 1}, "dimension 1 must become a multiple of 4, got 6"},
        {ENG_OP_RESHAPE, X, {8, 3, 1, 1, 1, 1, 1, 1}, "the new extents must have the 32 elements of x, got 24"},
        {ENG_OP_PERMUTE, X, {0, 0, 2, 3}, "the dimensions must be a permutation of 0 to 7, got 0 in place 1"},
        {ENG_OP_SLICE, X, {1, 3, 2}, "the slice must be within the 4 of dimension 1, got 2 from number 3 on"},
        {ENG_OP_TOP_K, X, {0}, "k must be from 1 to 8, got 0"},
        {ENG_OP_GROUP_NORM, X, {2}, "groups must be from 1 to the 1 channels, got 2"},
        {ENG_OP_HADAMARD, X, {3}, "group must be a power of two up to 4096 that divides dimension 0, got 3"},
        {ENG_OP_CPY, X, {-1}, "must be one of ENG_TYPE_*, got -1"},
        {ENG_OP_CPY, X, {(INT64_C(1) << 32) + ENG_TYPE_F16}, "must be one of ENG_TYPE_*, got 4294967297"},
        {ENG_OP_GET_ROWS, XX, {0}, "the type of operand ids must be i32 or i64, got f32"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fixture f;
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0), in[] = {x, x};
        const int64_t *ip = wrong[i].ip;
        eng_value y = eng_graph_op(f.graph, wrong[i].op, in, (uint32_t)wrong[i].n_in, ip, ENG_MAX_RANK, NULL, 0, NULL);
        fixture_error(&f, y, wrong[i].text);
        fixture_end(&f);
    }
}
END_TEST

START_TEST(wrong_placements_are_told)
{
    static const struct {
        eng_placement place;
        const char *text;
    } wrong[] = {
        {{.size = sizeof(eng_placement), .kind = 77}, "x: the placement's kind must be one of ENG_PLACE_*, got 77"},
        {{.size = sizeof(eng_placement), .kind = ENG_PLACE_SHARDED, .axis = 999},
         "must stand in its dimensions, got number 999"},
        {{.size = sizeof(eng_placement), .kind = ENG_PLACE_SINGLE},
         "x: the single device that it is kept on must be named"},
    };
    fixture f;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fixture_begin(&f, 0);
        eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
        ck_assert_int_eq(eng_graph_place(f.graph, x, &wrong[i].place), ENG_ERR_INVALID);
        fixture_error(&f, ENG_BAD_VALUE, wrong[i].text);
        fixture_end(&f);
    }
    eng_placement good = {.size = sizeof good, .kind = ENG_PLACE_REPLICATED};
    fixture_begin(&f, 0);
    ck_assert_int_eq(eng_graph_place(f.graph, 7, &good), ENG_ERR_INVALID);
    fixture_error(&f, ENG_BAD_VALUE, "value 7");
    fixture_end(&f);
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
    ck_assert_int_eq(eng_graph_place(f.graph, x, &good), ENG_OK);
    ck_assert_int_eq(eng_graph_seal(f.graph), ENG_OK);
    ck_assert_int_eq(eng_graph_place(f.graph, x, &good), ENG_ERR_STATE);
    ck_assert_msg(strstr(eng_last_error(), "sealed: x ") != NULL, "%s", eng_last_error());
    fixture_end(&f);
}
END_TEST

static void count_bytes(void *ctx, const char *text)
{
    *(size_t *)ctx += strlen(text);
}

START_TEST(dumps)
{
    fixture f;
    fixture_begin(&f, 0);
    eng_value x = fixture_tensor(&f, ENG_TYPE_F32, "x", NULL, 8, 4, 0);
    eng_rms_norm(f.graph, eng_scale(f.graph, x, 2, 0), ENG_NO_VALUE, 1e-6);
    size_t text = 0, dot = 0;
    ck_assert_int_eq(eng_graph_dump(f.graph, ENG_EXPLAIN_TEXT, count_bytes, &text), ENG_OK);
    ck_assert_int_eq(eng_graph_dump(f.graph, ENG_EXPLAIN_GRAPHVIZ, count_bytes, &dot), ENG_OK);
    ck_assert_int_eq(eng_graph_dump(f.graph, ENG_EXPLAIN_JSON, count_bytes, &dot), ENG_ERR_UNSUPPORTED);
    ck_assert(text > 100 && dot > 100);
    fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tc = tcase_create("graph");
    tcase_add_test(tc, shapes);
    tcase_add_test(tc, attention_shape);
    tcase_add_test(tc, runs);
    tcase_add_test(tc, errors_name_op_tensors_and_rule);
    tcase_add_test(tc, long_names);
    tcase_add_test(tc, bad_eps);
    tcase_add_test(tc, inout_needs_a_bound_tensor);
    tcase_add_test(tc, what_is_written_is_not_read);
    tcase_add_test(tc, missing_operands_are_told);
    tcase_add_test(tc, inputs_are_not_written_in_place);
    tcase_add_test(tc, views);
    tcase_add_test(tc, axes_through_attention);
    tcase_add_test(tc, axes_through_fused_segments);
    tcase_add_test(tc, axes_through_glu_and_down);
    tcase_add_test(tc, axes_and_blocks);
    tcase_add_test(tc, one_head_keeps_its_axis);
    tcase_add_test(tc, equal_graphs);
    tcase_add_test(tc, refusals_are_told);
    tcase_add_test(tc, wrong_placements_are_told);
    tcase_add_test(tc, precisions);
    tcase_add_test(tc, dumps);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
