/*
 * Graphs that are hard to split, by name: each is compared with the oracle's result of
 * the unsplit graph, on compositions of two to five ranks, as the device places it and with
 * each tensor and each value forced to each placement.
 *
 *     named [DEVICE]...
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

enum { F32 = ENG_TYPE_F32, F16 = ENG_TYPE_F16, I32 = ENG_TYPE_I32 };

static int weight(net *g, const char *name, uint32_t type, const int64_t *ne, uint32_t rank)
{
    return net_tensor(g, name, type, ENG_USE_WEIGHT, -0.5, 0.5, ne, rank);
}

static int input(net *g, const char *name, const int64_t *ne, uint32_t rank)
{
    return net_tensor(g, name, F32, ENG_USE_INPUT, -1, 1, ne, rank);
}

static int whole_numbers(net *g, const char *name, int64_t n, int64_t step, int64_t limit)
{
    int v = net_tensor(g, name, I32, ENG_USE_INPUT, 0, 0, &n, 1);

    for (int64_t i = 0; i < n; i++)
        net_set(g, v, i, (double)(i * step % limit));
    return v;
}

static int mul_mat(net *g, int a, int b)
{
    return net_binary_op(g, ENG_OP_MUL_MAT, a, b);
}

static int soft_max(net *g, int x, int mask, double scale)
{
    return net_op(g, ENG_OP_SOFT_MAX, NET_IN(x, mask, NET_NONE), NULL, (const double[ENG_MAX_FPARAMS]){scale, 0});
}

static int scale(net *g, int x, double by)
{
    return net_op(g, ENG_OP_SCALE, NET_IN(x), NULL, (const double[ENG_MAX_FPARAMS]){by, 0});
}

static int cont(net *g, int x)
{
    return net_op(g, ENG_OP_CPY, NET_IN(x), (const int64_t[ENG_MAX_IPARAMS]){g->v[x].type, 0}, NULL);
}

static int unary(net *g, int x, int kind)
{
    return net_op(g, ENG_OP_UNARY, NET_IN(x), (const int64_t[ENG_MAX_IPARAMS]){kind}, NULL);
}

static int glu(net *g, int a, int b)
{
    return net_op(g, ENG_OP_GLU, NET_IN(a, b), (const int64_t[ENG_MAX_IPARAMS]){ENG_GLU_SWIGLU}, NULL);
}

static int rms_norm(net *g, int x, int w)
{
    return net_op(g, ENG_OP_RMS_NORM, NET_IN(x, w), NULL, (const double[ENG_MAX_FPARAMS]){1e-6});
}

/* -- rows and channels that are cut -------------------------------------------------------- */

static void soft_max_over_the_split_axis(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(32, 45)), x = input(g, "x", NET_SHAPE(32, 3));
    net_axis(g, w, 1, "ffn:45");
    net_output(g, soft_max(g, mul_mat(g, w, x), NET_NONE, 2));
}

static void norms(net *g, int64_t rows, int64_t tokens, const char *axis)
{
    int w = weight(g, "w", F32, NET_SHAPE(32, rows)), x = input(g, "x", NET_SHAPE(32, tokens)),
        n = weight(g, "n", F32, NET_SHAPE(rows));
    net_axis(g, w, 1, axis);
    net_axis(g, n, 0, axis);
    int y = mul_mat(g, w, x);
    int a = rms_norm(g, y, n);
    int b = net_op(g, ENG_OP_NORM, NET_IN(a, n, n), NULL, (const double[ENG_MAX_FPARAMS]){1e-6});
    net_output(g, net_op(g, ENG_OP_L2_NORM, NET_IN(b), NULL, (const double[ENG_MAX_FPARAMS]){1e-6}));
}

static void norms_over_the_split_axis(net *g)
{
    norms(g, 45, 3, "ffn:45");
}

/* Long enough for each rank to sum up its own part. */
static void norms_of_long_rows(net *g)
{
    norms(g, 1501, 40, "ffn:1501");
}

static void repeat_along_the_split_axis(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(32, 7)), x = input(g, "x", NET_SHAPE(32, 3));
    net_axis(g, w, 1, "ffn:7");
    int y = mul_mat(g, w, x);
    int r = net_op(g, ENG_OP_REPEAT, NET_IN(y), (const int64_t[ENG_MAX_IPARAMS]){21, 6, 2, 1, 1, 1, 1, 1}, NULL);
    net_output(g, unary(g, r, ENG_UNARY_SILU));
}

static void group_norm_over_split_channels(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(6, 4, 11)), b = input(g, "b", NET_SHAPE(6, 4, 11, 2));
    net_axis(g, w, 2, "channel:11");
    int x = net_binary_op(g, ENG_OP_MUL, b, w);
    net_output(g, net_op(g, ENG_OP_GROUP_NORM, NET_IN(x), (const int64_t[ENG_MAX_IPARAMS]){3},
                         (const double[ENG_MAX_FPARAMS]){1e-5}));
}

static void one_input_glu_on_a_plain_split(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(32, 46)), x = input(g, "x", NET_SHAPE(32, 3));
    net_axis(g, w, 1, "ffn:46"); /* one axis across both halves */
    net_output(g, glu(g, mul_mat(g, w, x), NET_NONE));
}

static void one_input_glu_on_split_halves(net *g)
{
    int w = weight(g, "w", ENG_TYPE_Q8_0, NET_SHAPE(32, 64)), x = input(g, "x", NET_SHAPE(32, 3)),
        down = weight(g, "down", ENG_TYPE_Q4_0, NET_SHAPE(32, 10));
    net_axis(g, w, 1, "ffn:32 | ffn:32");
    net_axis(g, down, 0, "ffn:32");
    net_output(g, mul_mat(g, down, glu(g, mul_mat(g, w, x), NET_NONE)));
}

/* -- heads ------------------------------------------------------------------------------------ */

static void gated_delta_net(net *g, bool grouped)
{
    int64_t s = 8, h = 5, rep = 2, t = 7;
    const char *heads = grouped ? "k_head:5 *:2" : "*:2 k_head:5";
    int x = input(g, "x", NET_SHAPE(24, t)), wv = weight(g, "wv", F32, NET_SHAPE(24, s * h * rep)),
        wk = weight(g, "wk", F32, NET_SHAPE(24, s * h)), out = weight(g, "wo", F32, NET_SHAPE(s * h * rep, 12));
    int gate = net_tensor(g, "gate", F32, ENG_USE_INPUT, -1, -0.01, NET_SHAPE(1, h * rep, t)),
        beta = net_tensor(g, "beta", F32, ENG_USE_INPUT, 0, 1, NET_SHAPE(h * rep, t)),
        state = net_tensor(g, "state", F32, ENG_USE_STATE, -1, 1, NET_SHAPE(s, s, h * rep, 4));
    int src = whole_numbers(g, "src", 1, 1, 1), dst = net_tensor(g, "dst", I32, ENG_USE_INPUT, 0, 0, NET_SHAPE(2, 1)),
        cu = net_tensor(g, "cu", I32, ENG_USE_INPUT, 0, 0, NET_SHAPE(2));
    net_axis(g, wk, 1, "k_head:5 *:8");
    net_axis(g, wv, 1, grouped ? "k_head:5 *:16" : "*:2 k_head:5 *:8");
    net_axis(g, out, 0, grouped ? "k_head:5 *:16" : "*:2 k_head:5 *:8");
    net_axis(g, state, 2, heads);
    net_set(g, src, 0, 1);
    net_set(g, dst, 0, 2);
    net_set(g, dst, 1, 3);
    net_set(g, cu, 1, (double)t);
    int k = net_reshape(g, mul_mat(g, wk, x), s, h, t, 1);
    k = net_op(g, ENG_OP_L2_NORM, NET_IN(k), NULL, (const double[ENG_MAX_FPARAMS]){1e-6});
    int v = net_reshape(g, mul_mat(g, wv, x), s, h * rep, t, 1);
    int o = net_op(g, ENG_OP_GATED_DELTA_NET, NET_IN(k, k, v, gate, beta, state, src, dst, cu),
                   (const int64_t[ENG_MAX_IPARAMS]){grouped, 2}, NULL);
    net_output(g, mul_mat(g, out, net_reshape(g, o, s * h * rep, t, 1, 1)));
}

static void gdn_heads_grouped(net *g)
{
    gated_delta_net(g, true);
}

static void gdn_heads_tiled(net *g)
{
    gated_delta_net(g, false);
}

/* K Q, mask, soft_max, V: products of batches instead of the attention op. */
static void batched_kq(net *g)
{
    int64_t d = 8, s = 13, t = 4, kvh = 3, rep = 2;
    int wq = weight(g, "wq", F32, NET_SHAPE(24, d * kvh * rep)), x = input(g, "x", NET_SHAPE(24, t)),
        k = net_tensor(g, "k", F16, ENG_USE_CACHE, -1, 1, NET_SHAPE(d, s, kvh)),
        v = net_tensor(g, "v", F16, ENG_USE_CACHE, -1, 1, NET_SHAPE(s, d, kvh)),
        mask = net_tensor(g, "mask", F32, ENG_USE_INPUT, -2, 0, NET_SHAPE(s, t)),
        wo = weight(g, "wo", F32, NET_SHAPE(d * kvh * rep, 11));
    net_axis(g, wq, 1, "kv_head:3 *:16");
    net_axis(g, wo, 0, "kv_head:3 *:16");
    net_axis(g, k, 2, "kv_head:3");
    net_axis(g, v, 2, "kv_head:3");
    net_set(g, mask, 5, -INFINITY);
    int q = net_permute(g, net_reshape(g, mul_mat(g, wq, x), d, kvh * rep, t, 1), 0, 2, 1, 3);
    int p = soft_max(g, mul_mat(g, k, q), mask, 0.3);
    int o = net_permute(g, mul_mat(g, v, p), 0, 2, 1, 3);
    net_output(g, mul_mat(g, wo, net_reshape(g, cont(g, o), d * kvh * rep, t, 1, 1)));
}

/* A rotation that all heads share, on values split along dimension 2 or 3. */
static void rotate(net *g, bool outer)
{
    int r = weight(g, "rotation", F32, NET_SHAPE(16, 16)), b = weight(g, "b", F32, NET_SHAPE(16, 3, 5, 7));
    net_axis(g, b, 2, outer ? "*:5" : "kv_head:5");
    net_axis(g, b, 3, outer ? "layer:7" : "*:7");
    net_output(g, unary(g, mul_mat(g, r, b), ENG_UNARY_TANH));
}

static void rotation_split_on_axis_2(net *g)
{
    rotate(g, false);
}

static void rotation_split_on_axis_3(net *g)
{
    rotate(g, true);
}

struct heads {
    int64_t d, kvh, rep, t, cells;
    uint32_t type;
    const char *q_axis, *wo_axis, *kv_axis, *cell_axis;
    bool sinks, all; /* all: mask, softcap, window, sequences, cells not valid yet */
};

/* Cells in no order, of three sequences, some of nobody; token 1 is padding, token 2's sequence
 * has no cell. */
static void cells_of_sequences(net *g, const struct heads *h, int in[ENG_MAX_INPUTS])
{
    int mask = net_tensor(g, "mask", F16, ENG_USE_INPUT, -2, 0, NET_SHAPE(h->cells, h->t)),
        seq = whole_numbers(g, "seq", h->t, 1, 3), cpos = whole_numbers(g, "cpos", h->cells, 5, h->cells),
        cseq = whole_numbers(g, "cseq", h->cells, 1, 2), clast = whole_numbers(g, "clast", h->cells, 5, 3);

    net_set(g, in[3], 1, -1);
    net_set(g, cseq, 3, -1);
    for (int64_t i = 0; i < h->cells * h->t; i += 3)
        net_set(g, mask, i, -INFINITY);
    in[4] = seq;
    in[5] = cpos;
    in[6] = cseq;
    in[ENG_ATTN_IN_CLAST] = clast;
    in[7] = mask;
    g->params[1] = h->cells - 3;
}

static void attend(net *g, const struct heads *h)
{
    int64_t n = h->kvh * h->rep;
    int wq = weight(g, "wq", F32, NET_SHAPE(24, h->d * n)), x = input(g, "x", NET_SHAPE(24, h->t)),
        k = net_tensor(g, "k", h->type, ENG_USE_CACHE, -1, 1, NET_SHAPE(h->d, h->cells, h->kvh)),
        v = net_tensor(g, "v", h->type, ENG_USE_CACHE, -1, 1, NET_SHAPE(h->d, h->cells, h->kvh)),
        pos = whole_numbers(g, "pos", h->t, 1, 1000), wo = weight(g, "wo", F32, NET_SHAPE(h->d * n, 11)),
        sinks = h->sinks ? weight(g, "sinks", F32, NET_SHAPE(n)) : NET_NONE;
    for (int64_t i = 0; i < h->t; i++)
        net_set(g, pos, i, (double)(h->cells - h->t - 2 + i));
    if (h->q_axis) {
        net_axis(g, wq, 1, h->q_axis);
        net_axis(g, wo, 0, h->wo_axis);
    }
    for (int i = 0; i < 2; i++) {
        if (h->kv_axis)
            net_axis(g, i ? v : k, 2, h->kv_axis);
        if (h->cell_axis)
            net_axis(g, i ? v : k, 1, h->cell_axis);
    }
    int q = net_reshape(g, mul_mat(g, wq, x), h->d, n, h->t, 1);
    int in[ENG_MAX_INPUTS] = {q, k, v, pos, NET_NONE, NET_NONE, NET_NONE, NET_NONE, sinks, NET_NONE, NET_NONE, -2};
    if (h->all)
        cells_of_sequences(g, h, in);
    int o = net_op(g, ENG_OP_ATTENTION, in, (const int64_t[ENG_MAX_IPARAMS]){h->all ? 1 : -1, h->all ? 11 : 0, 1},
                   (const double[ENG_MAX_FPARAMS]){0.4, h->all ? 3 : 0});
    net_output(g, mul_mat(g, wo, net_reshape(g, o, h->d * n, h->t, 1, 1)));
}

static void one_kv_head_by_query_heads(net *g)
{
    attend(g, &(struct heads){16, 1, 5, 3, 17, F16, "group:5 *:16", "group:5 *:16", NULL, NULL, true, false});
}

static void one_kv_head_by_cells(net *g)
{
    attend(g, &(struct heads){32, 1, 4, 3, 17, ENG_TYPE_Q8_0, NULL, NULL, NULL, "cell:17", true, false});
}

static void cells_with_everything(net *g)
{
    attend(g, &(struct heads){32, 2, 3, 4, 23, ENG_TYPE_Q8_0, NULL, NULL, NULL, "cell:23", true, true});
}

static void heads_with_everything(net *g)
{
    attend(g, &(struct heads){16, 3, 2, 4, 23, F16, "kv_head:3 *:32", "kv_head:3 *:32", "kv_head:3", NULL, true, true});
}

static void forty_heads(net *g)
{
    attend(g, &(struct heads){16, 40, 1, 2, 9, F16, "kv_head:40 *:16", "kv_head:40 *:16", "kv_head:40", NULL, false,
                              false});
}

/* 40 heads of 80 in blocks of 32: shards are whole blocks. */
static void forty_heads_of_80_in_blocks(net *g)
{
    int w = weight(g, "w", ENG_TYPE_Q4_0, NET_SHAPE(3200, 5)), x = weight(g, "x", F32, NET_SHAPE(80, 40, 2));
    net_axis(g, w, 0, "kv_head:40 *:80");
    net_axis(g, x, 1, "kv_head:40");
    int y = net_op(g, ENG_OP_L2_NORM, NET_IN(x), NULL, (const double[ENG_MAX_FPARAMS]){1e-6});
    net_output(g, mul_mat(g, w, net_reshape(g, y, 3200, 2, 1, 1)));
}

/* -- fused tensors ---------------------------------------------------------------------------- */

static void fused_qkv(net *g)
{
    int64_t d = 8, t = 3, s = 5;
    int x = input(g, "x", NET_SHAPE(24, t)), w = weight(g, "qkv", F32, NET_SHAPE(24, 6 * d + 3 * d + 3 * d)),
        wo = weight(g, "wo", F32, NET_SHAPE(6 * d, 10)), pos = whole_numbers(g, "pos", t, 1, 100),
        ck = net_tensor(g, "k", F32, ENG_USE_CACHE, -1, 1, NET_SHAPE(d, s, 3)),
        cv = net_tensor(g, "v", F32, ENG_USE_CACHE, -1, 1, NET_SHAPE(d, s, 3)), ids = whole_numbers(g, "ids", t, 2, s);
    net_axis(g, w, 1, "kv_head:3 *:16 | kv_head:3 *:8 | kv_head:3 *:8");
    net_axis(g, wo, 0, "kv_head:3 *:16");
    net_axis(g, ck, 2, "kv_head:3");
    net_axis(g, cv, 2, "kv_head:3");
    int y = mul_mat(g, w, x);
    int q = net_reshape(g, cont(g, net_slice(g, y, 0, 0, 6 * d)), d, 6, t, 1),
        k = net_reshape(g, cont(g, net_slice(g, y, 0, 6 * d, 3 * d)), d, 3, t, 1),
        v = net_reshape(g, cont(g, net_slice(g, y, 0, 9 * d, 3 * d)), d, 3, t, 1);
    net_op(g, ENG_OP_SET_ROWS, NET_IN(ck, net_permute(g, k, 0, 2, 1, 3), ids), NULL, NULL);
    net_op(g, ENG_OP_SET_ROWS, NET_IN(cv, net_permute(g, v, 0, 2, 1, 3), ids), NULL, NULL);
    int o = net_op(g, ENG_OP_ATTENTION,
                   NET_IN(q, ck, cv, pos, NET_NONE, NET_NONE, NET_NONE, NET_NONE, NET_NONE, NET_NONE),
                   (const int64_t[ENG_MAX_IPARAMS]){-1, 0, 0, 0}, (const double[ENG_MAX_FPARAMS]){0.4, 0, 0});
    net_output(g, mul_mat(g, wo, net_reshape(g, o, 6 * d, t, 1, 1)));
}

static void fused_gate_and_up(net *g)
{
    int x = input(g, "x", NET_SHAPE(24, 3)), w = weight(g, "gate_up", F32, NET_SHAPE(24, 74)),
        down = weight(g, "down", F32, NET_SHAPE(37, 10));
    net_axis(g, w, 1, "ffn:37 | ffn:37");
    net_axis(g, down, 0, "ffn:37");
    int y = mul_mat(g, w, x);
    int a = net_slice(g, y, 0, 0, 37), b = net_slice(g, y, 0, 37, 37);
    int both = net_binary_op(g, ENG_OP_ADD, glu(g, a, b), glu(g, y, NET_NONE));
    net_output(g, mul_mat(g, down, both));
}

/* -- vocabulary and experts ------------------------------------------------------------------- */

static void vocabulary_split(net *g)
{
    int e = weight(g, "embedding", F16, NET_SHAPE(24, 101)), n = weight(g, "norm", F32, NET_SHAPE(24)),
        ids = whole_numbers(g, "ids", 5, 37, 101);
    net_axis(g, e, 1, "vocab:101");
    int x = net_binary_op(g, ENG_OP_GET_ROWS, e, ids);
    int y = mul_mat(g, e, rms_norm(g, x, n));
    net_output(g, y);
    net_output(g, net_unary_op(g, ENG_OP_ARGMAX, y));
}

static void experts(net *g, const char *gate_up, const char *down_in, const char *expert)
{
    int64_t e = 7, u = 3, t = 4, f = 10, n = 24;
    int x = input(g, "x", NET_SHAPE(n, 1, t)), up = weight(g, "up", F32, NET_SHAPE(n, f, e)),
        gate = weight(g, "gate", F32, NET_SHAPE(n, f, e)), down = weight(g, "down", F32, NET_SHAPE(f, n, e)),
        router = weight(g, "router", F32, NET_SHAPE(n, e)),
        ids = net_tensor(g, "ids", I32, ENG_USE_INPUT, 0, 0, NET_SHAPE(u, t));
    for (int64_t i = 0; i < u * t; i++)
        net_set(g, ids, i, (double)(i * 5 % e));
    int all[3] = {up, gate, down};
    for (int i = 0; i < 3; i++)
        if (expert)
            net_axis(g, all[i], 2, expert);
    if (gate_up) {
        net_axis(g, up, 1, gate_up);
        net_axis(g, gate, 1, gate_up);
        net_axis(g, down, 0, down_in);
    }
    int h = glu(g, net_op(g, ENG_OP_MUL_MAT_ID, NET_IN(gate, x, ids), NULL, NULL),
                net_op(g, ENG_OP_MUL_MAT_ID, NET_IN(up, x, ids), NULL, NULL));
    int y = net_op(g, ENG_OP_MUL_MAT_ID, NET_IN(down, h, ids), NULL, NULL);
    int p = soft_max(g, mul_mat(g, router, net_reshape(g, x, n, t, 1, 1)), NET_NONE, 1);
    int w = net_op(g, ENG_OP_GET_ROWS, NET_IN(net_reshape(g, p, 1, e, t, 1), ids), NULL, NULL);
    y = net_binary_op(g, ENG_OP_MUL, y, w);
    int sum = net_slice(g, y, 1, 0, 1);
    for (int64_t i = 1; i < u; i++)
        sum = net_binary_op(g, ENG_OP_ADD, sum, net_slice(g, y, 1, i, 1));
    net_output(g, rms_norm(g, net_binary_op(g, ENG_OP_ADD, sum, x), NET_NONE));
}

static void experts_split(net *g)
{
    experts(g, NULL, NULL, "expert:7");
}

static void experts_split_inside(net *g)
{
    experts(g, "ffn:10", "ffn:10", NULL);
}

/* -- views and ends --------------------------------------------------------------------------- */

static void slices_of_permuted_tensors(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(6, 10, 5, 3));
    net_axis(g, w, 1, "kv_head:5 *:2");
    net_axis(g, w, 2, "layer:5");
    int p = net_permute(g, w, 2, 1, 0, 3); /* layer, kv_head, 6, 3 */
    int a = net_slice(g, p, 1, 2, 7), b = net_slice(g, net_slice(g, p, 0, 1, 3), 2, 4, 2);
    net_output(g, unary(g, cont(g, a), ENG_UNARY_SILU));
    net_output(g, cont(g, b));
    net_output(g, net_slice(g, net_permute(g, a, 1, 0, 2, 3), 0, 3, 4));
}

/* Concatenation and padding along the split axis, beside the slices that undo them. */
static void concat_and_pad_of_the_split_axis(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(24, 7)), x = input(g, "x", NET_SHAPE(24, 3));
    net_axis(g, w, 1, "ffn:7");
    int y = mul_mat(g, w, x);
    int c = net_op(g, ENG_OP_CONCAT, NET_IN(y, unary(g, y, ENG_UNARY_SILU)), (const int64_t[ENG_MAX_IPARAMS]){0}, NULL);
    int p = net_op(g, ENG_OP_PAD, NET_IN(c), (const int64_t[ENG_MAX_IPARAMS]){2, 0, 0, 0, 0, 0, 0, 0, 3, 1}, NULL);
    net_output(g, p);
    net_output(g, cont(g, net_slice(g, p, 0, 5, 11)));
}

static void ends_on_a_partial_sum(net *g)
{
    int w = weight(g, "w", F32, NET_SHAPE(37, 20)), x = weight(g, "x", F32, NET_SHAPE(37, 3));
    net_axis(g, w, 0, "ffn:37");
    net_axis(g, x, 0, "ffn:37");
    int y = mul_mat(g, w, x);
    net_output(g, y);
    net_output(g, net_reshape(g, y, 5, 4, 3, 1)); /* a view of it */
    net_output(g, net_binary_op(g, ENG_OP_ADD, scale(g, y, 3), y)); /* a sum of two */
    net_output(g, net_slice(g, y, 0, 3, 9));
    net_output(g, unary(g, y, ENG_UNARY_RELU));
}

/* -- all ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*build)(net *g);
} named[] = {
    {"soft_max over the split axis", soft_max_over_the_split_axis},
    {"rms_norm, norm and l2_norm over the split axis", norms_over_the_split_axis},
    {"rms_norm, norm and l2_norm of long rows that are split", norms_of_long_rows},
    {"repeat along the split axis", repeat_along_the_split_axis},
    {"group_norm over split channels", group_norm_over_split_channels},
    {"one-input glu on a plain split", one_input_glu_on_a_plain_split},
    {"one-input glu on split halves", one_input_glu_on_split_halves},
    {"gated_delta_net with grouped heads", gdn_heads_grouped},
    {"gated_delta_net with tiled heads", gdn_heads_tiled},
    {"batched K Q without fused attention", batched_kq},
    {"A replicated, B split on axis 2", rotation_split_on_axis_2},
    {"A replicated, B split on axis 3", rotation_split_on_axis_3},
    {"one K/V head over several ranks, by query heads", one_kv_head_by_query_heads},
    {"one K/V head over several ranks, by cells", one_kv_head_by_cells},
    {"attention split along cells, with mask, sinks, softcap, window, sequences", cells_with_everything},
    {"attention split along heads, with mask, sinks, softcap, window, sequences", heads_with_everything},
    {"40 heads, also shared 1:4", forty_heads},
    {"40 heads of 80 in blocks of 32", forty_heads_of_80_in_blocks},
    {"fused QKV tensor", fused_qkv},
    {"fused gate and up tensor", fused_gate_and_up},
    {"vocabulary split", vocabulary_split},
    {"experts split", experts_split},
    {"experts split inside", experts_split_inside},
    {"slices of permuted tensors", slices_of_permuted_tensors},
    {"concat and pad of the split axis", concat_and_pad_of_the_split_axis},
    {"graphs that end on a partial sum", ends_on_a_partial_sum},
};

int main(int argc, char **argv)
{
    static const char *const usual[] = {"cpu/2",      "cpu/3",      "cpu/4",     "cpu/5",     "cpu/2@3:1",
                                        "cpu/2@7:25", "cpu/2@1:4",  "cpu/2@1:0", "cpu/4@1:5:2:2"};
    int n = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof *usual), failed = 0;
    eng_context *context = NULL;
    net *g = calloc(1, sizeof *g);

    if (!g || eng_context_create(NULL, &context) != ENG_OK) {
        printf("Bail out! no context: %s\n", eng_last_error());
        free(g);
        return 1;
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        net_tally tally = {0};
        memset(g, 0, sizeof *g);
        g->name = named[i].name;
        g->random = 20240917 + i;
        named[i].build(g);
        for (int d = 0; d < n; d++)
            net_run(g, context, argc > 1 ? argv[d + 1] : usual[d], &tally);
        net_free(g);
        printf("%s %d - %s: %d graphs on %d devices, %d failed\n", tally.failed ? "not ok" : "ok", (int)i + 1,
               named[i].name, tally.graphs, n, tally.failed);
        if (tally.failed)
            printf("#   %s\n", tally.first);
        failed += tally.failed != 0;
        fflush(stdout);
    }
    printf("1..%d\n", (int)(sizeof named / sizeof *named));
    free(g);
    eng_context_destroy(context);
    return failed != 0;
}
