/* Random programs: one op more, chosen among those that fit a value there is. */
#include "config.h"

#include <string.h>

#include "generator.h"
#include "../matrix.h"

/* -- operands as ops want them ------------------------------------------------------- */

int pg_contiguous(generator *g, int x)
{
    const eng_tensor *t = pg_get(g, x);
    int64_t ip[] = {t->type, 0}, n = 4;
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        if (t->ne[d] != 1 && t->nb[d] != n)
            return OPI(ENG_OP_CPY, ip, x);
        n *= t->ne[d];
    }
    return x;
}

int pg_rows(generator *g, int x)
{
    return pg_get(g, x)->nb[0] == 4 ? x : pg_contiguous(g, x);
}

int pg_reshape(generator *g, int x, int64_t n0, int64_t n1, int64_t n2, int64_t n3)
{
    int64_t ne[ENG_MAX_RANK] = {n0, n1, n2, n3, 1, 1, 1, 1};
    return OPI(ENG_OP_RESHAPE, ne, x);
}

int pg_features(generator *g, int x, int64_t n, int64_t rows)
{
    x = pg_contiguous(g, x);
    int64_t k = pg_get(g, x)->ne[0], m = pg_count_of(pg_get(g, x)) / k;
    x = pg_reshape(g, x, k, m, 1, 1);
    if (m > rows) {
        int64_t ip[] = {1, pg_pick(g, m - rows + 1), rows};
        x = OPI(ENG_OP_SLICE, ip, x);
    }
    int w = pg_weight(g, (int64_t[]){k, n}, 2, 0, k > 12 ? 0.3 : 0.8);
    return OP(ENG_OP_MUL_MAT, w, x);
}

/* -- functions ------------------------------------------------------------------------ */

int pg_unary(generator *g, int x)
{
    int64_t ip[] = {pg_pick(g, ENG_UNARY_LIMIT)}, square[] = {ENG_UNARY_SQR};
    double shift[] = {1, 0.5};
    if (ip[0] == ENG_UNARY_EXP && x >= 0 && x < PG_SECOND && g->most[x] > 4)
        ip[0] = ENG_UNARY_TANH;
    if (ip[0] == ENG_UNARY_STEP || ip[0] == ENG_UNARY_SGN) /* a rounding before it, and all is different */
        ip[0] = ENG_UNARY_ABS;
    x = pg_rows(g, x);
    if (ip[0] == ENG_UNARY_SQRT || ip[0] == ENG_UNARY_LOG)
        x = OPF(ENG_OP_SCALE, shift, OPI(ENG_OP_UNARY, square, x));
    return OPI(ENG_OP_UNARY, ip, x);
}

/* Half of the products go through tanh, so that values neither grow nor vanish. */
static int bounded(generator *g, int x)
{
    int64_t ip[] = {ENG_UNARY_TANH};
    return pg_pick(g, 2) ? OPI(ENG_OP_UNARY, ip, x) : x;
}

static int binary(generator *g, int x)
{
    static const uint32_t ops[] = {ENG_OP_ADD, ENG_OP_SUB, ENG_OP_MUL, ENG_OP_DIV};
    uint32_t op = ops[pg_pick(g, 4)];
    int64_t ne[ENG_MAX_RANK];

    for (int tries = 0; op != ENG_OP_DIV && pg_pick(g, 2) && tries < 20; tries++) { /* another value that fits */
        int y = pg_some(g);
        bool fits = true;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            fits &= pg_get(g, y)->ne[d] == pg_get(g, x)->ne[d] || pg_get(g, y)->ne[d] == 1;
        if (fits)
            return OP(op, x, y);
    }
    for (int d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = pg_pick(g, 3) ? pg_get(g, x)->ne[d] : 1;
    int y = pg_add_tensor(g, ENG_TYPE_F32, pg_pick(g, 2) ? ENG_USE_WEIGHT : ENG_USE_INPUT, ne, 4);
    if (op == ENG_OP_DIV) {
        pg_tensor_of(g, y)->offset = 2;
        pg_tensor_of(g, y)->scale = 0.5f;
    }
    return OP(op, x, pg_ready(g, y));
}

int pg_product(generator *g, int x)
{
    static const int64_t rows_of[] = {24, 48, 12, 30, 16, 7, 96, 64};
    static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F32,  ENG_TYPE_F32,    ENG_TYPE_F16,  ENG_TYPE_BF16,
                                     ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, ENG_TYPE_IQ4_NL, ENG_TYPE_Q5_1, ENG_TYPE_MXFP4};
    x = pg_rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    int64_t k = t->ne[0], p = t->ne[2], q = t->ne[3];
    uint32_t type = types[pg_pick(g, k % 32 ? 5 : 10)];
    if (k % 256 == 0 && pg_pick(g, 2))
        type = pg_pick(g, 2) ? ENG_TYPE_Q4_K : ENG_TYPE_Q6_K;
    if (pg_pick(g, 4) == 0 && p > 1) { /* batched or broadcast over groups */
        for (int64_t f = p; f > 1; f--)
            if (p % f == 0 && pg_pick(g, 2))
                p = f;
    } else {
        p = q = 1;
    }
    if (t->ne[3] % q || t->ne[2] % p || t->ne[4] != 1)
        return pg_unary(g, x);
    uint32_t use = ENG_USE_WEIGHT | (p == 1 && pg_pick(g, 2) ? TEST_MATRIX : 0);
    int w = pg_add_tensor(g, type, use, (int64_t[]){k, rows_of[pg_pick(g, 8)], p, q}, 4);
    pg_tensor_of(g, w)->scale = k > 12 ? 0.3f : 0.8f;
    return bounded(g, OP(ENG_OP_MUL_MAT, pg_ready(g, w), x));
}

static int product_of_values(generator *g, int x)
{
    x = pg_rows(g, x);
    for (int tries = 0; tries < 30; tries++) {
        int a = pg_some(g);
        const eng_tensor *s = pg_get(g, a), *t = pg_get(g, x);
        if (s->ne[0] == t->ne[0] && s->nb[0] == 4 && s->ne[4] == 1 && t->ne[4] == 1 && t->ne[2] % s->ne[2] == 0 &&
            t->ne[3] % s->ne[3] == 0 && s->ne[1] * pg_count_of(t) / t->ne[0] < MAX_ELEMENTS)
            return bounded(g, OP(ENG_OP_MUL_MAT, a, x));
    }
    return pg_unary(g, x);
}

/* A vector for every row, or none. */
static int row_weight(generator *g, int64_t n)
{
    return pg_pick(g, 3) ? pg_weight(g, &n, 1, 0.5, 1) : -1;
}

static int soft_max(generator *g, int x)
{
    const eng_tensor *t = pg_get(g, x);
    double fp[] = {0.5, 0};
    int mask = -1, sinks = -1;
    if (t->ne[0] > 200 || t->ne[4] != 1)
        return pg_unary(g, x);
    int64_t heads = t->ne[2];
    if (pg_pick(g, 2)) {
        int64_t ne[] = {t->ne[0], t->ne[1], pg_pick(g, 2) ? t->ne[2] : 1, pg_pick(g, 2) ? t->ne[3] : 1};
        mask = pg_add_tensor(g, pg_pick(g, 2) ? ENG_TYPE_F32 : ENG_TYPE_F16, ENG_USE_INPUT, ne, 4);
        pg_tensor_of(g, mask)->contents = PG_MASK;
        pg_ready(g, mask);
        fp[1] = pg_pick(g, 3) ? 0 : 4;
    }
    if (pg_pick(g, 3) == 0)
        sinks = pg_weight(g, &heads, 1, 0, 1);
    return OPF(ENG_OP_SOFT_MAX, fp, x, mask, sinks);
}

int pg_norm(generator *g, int x)
{
    double eps[] = {1e-5};
    x = pg_rows(g, x);
    int64_t n = pg_get(g, x)->ne[0];
    switch (pg_pick(g, 5)) {
    case 0:
        return OPF(ENG_OP_L2_NORM, eps, x);
    case 1: {
        int w = row_weight(g, n), b = row_weight(g, n);
        return OPF(ENG_OP_NORM, eps, x, w, b);
    }
    case 2:
        return soft_max(g, x);
    case 3: {
        int64_t ip[] = {1};
        while (n % (ip[0] * 2) == 0 && ip[0] < 64 && pg_pick(g, 4))
            ip[0] *= 2;
        return OPI(ENG_OP_HADAMARD, ip, x);
    }
    default: {
        int w = row_weight(g, n);
        return OPF(ENG_OP_RMS_NORM, eps, x, w);
    }
    }
}

static int group_norm(generator *g, int x)
{
    int64_t ip[] = {1 + pg_pick(g, 3)};
    double fp[] = {1e-5};
    x = pg_rows(g, x);
    if (ip[0] > pg_get(g, x)->ne[2])
        ip[0] = pg_get(g, x)->ne[2];
    if (pg_get(g, x)->ne[4] != 1)
        return pg_unary(g, x);
    return pg_add_op(g, ENG_OP_GROUP_NORM, &x, 1, ip, 1, fp, 1);
}

static int glu(generator *g, int x)
{
    int64_t ip[] = {pg_pick(g, ENG_GLU_KINDS), pg_pick(g, 2)};
    double fp[] = {1.702, 7};
    int in[2] = {pg_rows(g, x), -1};
    if (pg_get(g, in[0])->ne[0] % 2 || pg_pick(g, 2)) {
        in[1] = pg_unary(g, in[0]);
        ip[1] = 0;
    }
    return pg_add_op(g, ENG_OP_GLU, in, 2, ip, 2, fp, 2);
}

static int rope(generator *g, int x)
{
    static const int64_t modes[] = {ENG_ROPE_NORMAL, ENG_ROPE_NEOX, ENG_ROPE_MROPE, ENG_ROPE_IMROPE, ENG_ROPE_VISION};
    x = pg_rows(g, x);
    int64_t d = pg_get(g, x)->ne[0], t = pg_get(g, x)->ne[2], mode = modes[pg_pick(g, 5)];
    if (d % 2 || pg_get(g, x)->ne[4] != 1)
        return pg_unary(g, x);
    if (mode == ENG_ROPE_VISION && d % 4)
        mode = ENG_ROPE_NEOX;
    bool multi = mode != ENG_ROPE_NORMAL && mode != ENG_ROPE_NEOX;
    int64_t n = mode == ENG_ROPE_VISION ? d / 2 : d - (d > 8 && pg_pick(g, 3) == 0 ? 4 : 0);
    int64_t offset = mode == ENG_ROPE_VISION ? 0 : (d - n) * pg_pick(g, 2), quarter = n / 8;
    int64_t ip[] = {n, mode, 4096, offset, pg_pick(g, 4) == 0, quarter + 1, quarter, quarter, n / 2 - 3 * quarter - 1};
    double fp[] = {10000, pg_pick(g, 2) ? 1 : 0.5, pg_pick(g, 3) ? 0 : 1, 1, 32, 1};
    int in[] = {x, pg_indices(g, (int64_t[]){t, multi ? 4 : 1}, 2, 50, PG_PLAIN), -1};
    if (pg_pick(g, 3) == 0)
        in[2] = pg_weight(g, &d, 1, 2, 0.5);
    return pg_add_op(g, ENG_OP_ROPE, in, 3, ip, 9, fp, 6);
}

static int scale(generator *g, int x)
{
    double fp[] = {0.5 + (double)pg_pick(g, 3) * 0.4, pg_pick(g, 3) ? 0 : 0.25};
    return OPF(ENG_OP_SCALE, fp, pg_rows(g, x));
}

static int clamp(generator *g, int x)
{
    double fp[] = {-0.5 - (double)pg_pick(g, 2), 0.25 * (double)pg_pick(g, 8)};
    return OPF(ENG_OP_CLAMP, fp, pg_rows(g, x));
}

static int sum_rows(generator *g, int x)
{
    double fp[] = {0.1, 0};
    x = OP(ENG_OP_SUM_ROWS, pg_rows(g, x));
    return OPF(ENG_OP_SCALE, fp, x);
}

static int cumsum(generator *g, int x)
{
    double fp[] = {0.1, 0};
    x = OP(ENG_OP_CUMSUM, pg_rows(g, x));
    return OPF(ENG_OP_SCALE, fp, x);
}

/* -- shapes ----------------------------------------------------------------------------- */

static int reshape(generator *g, int x)
{
    int64_t ne[ENG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    x = pg_contiguous(g, x);
    const eng_tensor *t = pg_get(g, x);
    int64_t left = pg_count_of(t);
    if (pg_pick(g, 3)) { /* split or join neighbours: what models do */
        memcpy(ne, t->ne, sizeof ne);
        int d = (int)pg_pick(g, 3);
        if (ne[d + 1] > 1 && ne[3] == 1 && pg_pick(g, 2)) {
            ne[d] *= ne[d + 1];
            for (int k = d + 1; k < 3; k++)
                ne[k] = ne[k + 1];
            ne[3] = 1;
        } else if (ne[3] == 1) {
            int64_t f = 2 + pg_pick(g, 11);
            if (ne[d] % f == 0) {
                for (int k = 3; k > d + 1; k--)
                    ne[k] = ne[k - 1];
                ne[d + 1] = f;
                ne[d] /= f;
            }
        }
        return OPI(ENG_OP_RESHAPE, ne, x);
    }
    for (int d = 0; d < 3; d++) {
        int64_t f = 1 + pg_pick(g, left < 64 ? left : 64);
        while (left % f)
            f--;
        ne[d] = f;
        left /= f;
    }
    ne[3] = left;
    return OPI(ENG_OP_RESHAPE, ne, x);
}

static int permute(generator *g, int x)
{
    int64_t ip[ENG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int d = 0; d < 4; d++) {
        int e = d + (int)pg_pick(g, 4 - d);
        int64_t t = ip[d];
        ip[d] = ip[e];
        ip[e] = t;
    }
    return OPI(ENG_OP_PERMUTE, ip, x);
}

/* Any layout of its memory: some of its dimensions in another order, in steps, or overlapping. */
static int layout(generator *g, int x)
{
    int64_t ip[2 * ENG_MAX_RANK + 1] = {0}, covered = 4;
    x = pg_contiguous(g, x);
    const eng_tensor *t = pg_get(g, x);
    int64_t room = pg_count_of(t) * 4;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        ip[d] = 1;
    for (int d = 0; d < 3; d++) {
        int64_t step = 4 * (1 + pg_pick(g, d == 0 ? 2 : covered / 4 + 3));
        int64_t most = 1 + (room - covered) / step;
        ip[d] = 1 + pg_pick(g, most < 12 ? most : 12);
        ip[ENG_VIEW_NB0 + d] = step;
        covered += (ip[d] - 1) * step;
    }
    ip[ENG_VIEW_OFFSET] = 4 * pg_pick(g, (room - covered) / 4 + 1);
    return OPI(ENG_OP_VIEW, ip, x);
}

static int slice(generator *g, int x)
{
    const eng_tensor *t = pg_get(g, x);
    int64_t d = pg_pick(g, 4), n = t->ne[d], parts = 2 + pg_pick(g, 3);
    if (n < 2)
        return permute(g, x);
    int64_t ip[] = {d, 0, n};
    if (n % parts == 0) { /* one of equal parts */
        ip[1] = n / parts * pg_pick(g, parts);
        ip[2] = n / parts;
    } else {
        ip[1] = pg_pick(g, n);
        ip[2] = 1 + pg_pick(g, n - ip[1]);
    }
    return OPI(ENG_OP_SLICE, ip, x);
}

static int concat(generator *g, int x)
{
    int64_t ip[] = {pg_pick(g, 4)};
    for (int tries = 0; tries < 20; tries++) {
        int y = pg_some(g), d = 0;
        const eng_tensor *s = pg_get(g, x), *t = pg_get(g, y);
        while (d < ENG_MAX_RANK && (d == ip[0] || s->ne[d] == t->ne[d]))
            d++;
        if (d == ENG_MAX_RANK && pg_count_of(s) + pg_count_of(t) < MAX_ELEMENTS) {
            x = pg_rows(g, x);
            return OPI(ENG_OP_CONCAT, ip, x, pg_rows(g, y));
        }
    }
    return pg_unary(g, x);
}

static int resize(generator *g, int x)
{
    int64_t ip[16] = {0};
    if (pg_count_of(pg_get(g, x)) > MAX_ELEMENTS / 4)
        return slice(g, x);
    x = pg_rows(g, x);
    if (pg_pick(g, 2)) {
        int64_t ne[ENG_MAX_RANK];
        memcpy(ne, pg_get(g, x)->ne, sizeof ne);
        ne[pg_pick(g, 4)] *= 2 + pg_pick(g, 2);
        return OPI(ENG_OP_REPEAT, ne, x);
    }
    ip[pg_pick(g, 4)] = 1 + pg_pick(g, 3);
    ip[8 + pg_pick(g, 4)] = pg_pick(g, 3);
    return OPI(ENG_OP_PAD, ip, x);
}

static int rows_by_index(generator *g, int x)
{
    x = pg_rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    if (pg_pick(g, 2) || t->ne[4] != 1) { /* a table of its own */
        static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_Q8_0, ENG_TYPE_Q4_1, ENG_TYPE_Q5_0};
        int64_t ne[] = {32 << pg_pick(g, 2), 30}, n = 5;
        uint32_t use = ENG_USE_WEIGHT | (pg_pick(g, 2) ? TEST_MATRIX : 0);
        int table = pg_add_tensor(g, types[pg_pick(g, 5)], use, ne, 2);
        pg_ready(g, table);
        return OP(ENG_OP_GET_ROWS, table, pg_indices(g, &n, 1, 30, PG_PLAIN));
    }
    int64_t v = t->ne[1], ne[] = {1 + pg_pick(g, 6), t->ne[2], t->ne[3]};
    return OP(ENG_OP_GET_ROWS, x, pg_indices(g, ne, 3, v, PG_PLAIN));
}

static int products_by_index(generator *g, int x)
{
    x = pg_rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    if (t->ne[3] != 1 || t->ne[4] != 1 || t->ne[1] > 8 || t->ne[2] > 32)
        return pg_unary(g, x);
    int64_t ids[] = {t->ne[1] == 1 ? 1 + pg_pick(g, 3) : t->ne[1], t->ne[2]};
    int w = pg_weight(g, (int64_t[]){t->ne[0], pg_pick(g, 2) ? 24 : 20, 4}, 3, 0, t->ne[0] > 12 ? 0.3 : 0.8);
    int64_t m = pg_get(g, w)->ne[1];
    int y = OP(ENG_OP_MUL_MAT_ID, w, x, pg_indices(g, ids, 2, 4, PG_PLAIN));
    if (pg_pick(g, 3) == 0) { /* and their biases */
        int b = pg_weight(g, (int64_t[]){m, 4}, 2, 0, 1);
        y = OP(ENG_OP_ADD_ID, y, b, pg_indices(g, ids, 2, 4, PG_PLAIN));
    }
    return bounded(g, y);
}

/* -- the choice --------------------------------------------------------------------------- */

/* Blocks, and ops on other types. */
static void one_block(generator *g, int x)
{
    switch (pg_pick(g, 18)) {
    case 0: case 1: pg_attention(g, x); return;
    case 2: pg_pick(g, 3) ? pg_delta_net(g, x) : pg_scan(g, x); return;
    case 3: pg_convolution(g, x); return;
    case 4: case 5: pg_in_place(g, x); return;
    case 6: case 16: pg_experts(g, x); return;
    case 7: pg_encode(g, x); return;
    case 8: pg_half(g, x); return;
    case 9: pg_integers(g, x); return;
    case 10: pg_argmax(g, x); return;
    case 11: pg_rebase(g); return;
    case 12: pg_fused(g, x); return;
    case 13: pg_feed_forward(g, x); return;
    case 14: pg_pick(g, 2) ? pg_feed_forward(g, x) : pg_wide(g, x); return;
    case 15: pg_empty(g, x); return;
    default: pg_write_rows(g, x); return;
    }
}

static int tamed(generator *g, int x)
{
    double eps[] = {1e-5}, factor[] = {2 / g->most[x], 0};
    int64_t ip[] = {ENG_UNARY_TANH};
    x = pg_rows(g, x);
    switch (pg_pick(g, 3)) {
    case 0: return OPF(ENG_OP_RMS_NORM, eps, x, -1);
    case 1: return OPI(ENG_OP_UNARY, ip, x);
    default: return OPF(ENG_OP_SCALE, factor, x);
    }
}

void pg_one_more(generator *g)
{
    int x = pg_some(g);
    if (pg_count_of(pg_get(g, x)) > MAX_ELEMENTS)
        x = slice(g, x);
    if (x >= 0 && g->most[x] > 8)
        x = tamed(g, x);
    switch (pg_pick(g, 24)) {
    case 0: case 1: pg_product(g, x); return;
    case 2: product_of_values(g, x); return;
    case 3: case 4: case 5: binary(g, x); return;
    case 6: case 7: pg_pick(g, 6) ? pg_norm(g, x) : group_norm(g, x); return;
    case 8: case 9: reshape(g, x); return;
    case 10: pg_pick(g, 3) ? permute(g, x) : layout(g, x); return;
    case 11: slice(g, x); return;
    case 12: concat(g, x); return;
    case 13: resize(g, x); return;
    case 14: glu(g, x); return;
    case 15: rows_by_index(g, x); return;
    case 16: products_by_index(g, x); return;
    case 17: pg_pick(g, 4) == 0 ? clamp(g, x) : scale(g, pg_pick(g, 2) ? pg_product(g, x) : x); return;
    case 18: pg_pick(g, 3) ? sum_rows(g, x) : cumsum(g, x); return;
    case 19: rope(g, x); return;
    case 20: case 21: case 22: one_block(g, x); return;
    default: pg_unary(g, x); return;
    }
}
