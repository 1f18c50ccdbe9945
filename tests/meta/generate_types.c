/* Random programs: other types than f32, ops that choose, rows written by index. */
#include "config.h"

#include <string.h>

#include "generator.h"

static int decode(generator *g, int x)
{
    int64_t ip[] = {ENG_TYPE_F32, 0};
    return OPI(pg_pick(g, 2) ? ENG_OP_DEQUANTIZE : ENG_OP_CPY, ip, x);
}

/* x in rows of whole blocks. */
static int blocked(generator *g, int x, int64_t block)
{
    const eng_tensor *t = pg_get(g, x);
    return t->ne[0] % block ? pg_features(g, x, block * (1 + pg_pick(g, 3)), 8) : pg_rows(g, x);
}

/* Encoded, then seen in some way, then decoded or multiplied. */
int pg_encode(generator *g, int x)
{
    static const uint32_t types[] = {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0,   ENG_TYPE_Q4_1,  ENG_TYPE_Q5_0,
                                     ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL, ENG_TYPE_MXFP4, ENG_TYPE_Q8_0};
    int64_t ip[] = {types[pg_pick(g, 8)], 0}, swap[] = {0, 2, 1, 3, 4, 5, 6, 7}, dim[] = {1};
    int64_t block = 32;
    if (pg_pick(g, 12) == 0) { /* by a search */
        ip[0] = pg_pick(g, 2) ? ENG_TYPE_Q4_K : ENG_TYPE_Q6_K;
        block = 256;
        g->p->searches = true;
    }
    x = blocked(g, x, block);
    int q = pg_tap(g, OPI(pg_pick(g, 4) ? ENG_OP_QUANTIZE : ENG_OP_CPY, ip, x));
    const eng_tensor *t = pg_get(g, q);
    switch (pg_pick(g, 6)) {
    case 0:
        return decode(g, OPI(ENG_OP_PERMUTE, swap, q));
    case 1: {
        int64_t part[] = {0, block * pg_pick(g, t->ne[0] / block), block};
        return decode(g, OPI(ENG_OP_SLICE, part, q));
    }
    case 2:
        return decode(g, OPI(ENG_OP_CONCAT, dim, q, q));
    case 3:
        if (t->ne[4] == 1) {
            int64_t v = t->ne[1], ne[] = {4, t->ne[2], t->ne[3]};
            return OP(ENG_OP_GET_ROWS, q, pg_indices(g, ne, 3, v, PG_PLAIN));
        }
        return decode(g, q);
    case 4:
        if (t->ne[2] == 1 && t->ne[3] == 1 && t->ne[4] == 1) {
            int64_t ne[] = {t->ne[0], 5};
            return OP(ENG_OP_MUL_MAT, q, pg_state(g, ne, 2));
        }
        return decode(g, q);
    default:
        return decode(g, q);
    }
}

/* f16 or bf16 for a while. */
int pg_half(generator *g, int x)
{
    static const uint32_t makers[] = {ENG_OP_CPY, ENG_OP_QUANTIZE, ENG_OP_DEQUANTIZE};
    uint32_t type = pg_pick(g, 2) ? ENG_TYPE_F16 : ENG_TYPE_BF16;
    int64_t ip[] = {type, 0}, group[] = {1}, ne[ENG_MAX_RANK];
    x = pg_rows(g, x);
    int h = OPI(makers[pg_pick(g, 3)], ip, x);
    if (type == ENG_TYPE_BF16 || pg_pick(g, 2))
        pg_tap(g, h);
    const eng_tensor *t = pg_get(g, h);
    int64_t k = t->ne[0];
    switch (pg_pick(g, 5)) {
    case 0:
        while (k % (group[0] * 2) == 0 && group[0] < 32)
            group[0] *= 2;
        return OPI(ENG_OP_HADAMARD, group, h);
    case 1:
        if (t->ne[4] == 1)
            return OP(ENG_OP_MUL_MAT, pg_weight(g, (int64_t[]){k, 24}, 2, 0, 0.3), h);
        return decode(g, h);
    case 2:
        memcpy(ne, t->ne, sizeof ne);
        if (pg_count_of(t) < MAX_ELEMENTS / 2)
            ne[pg_pick(g, 3)] *= 2;
        return decode(g, OPI(ENG_OP_REPEAT, ne, h));
    case 3:
        if (t->ne[4] == 1) {
            int64_t v = t->ne[1], ids[] = {4, t->ne[2], t->ne[3]};
            return OP(ENG_OP_GET_ROWS, h, pg_indices(g, ids, 3, v, PG_PLAIN));
        }
        return decode(g, h);
    default:
        return decode(g, h);
    }
}

/* Numbers of rows, moved about before they are used. */
int pg_integers(generator *g, int x)
{
    int64_t n = 6, dim[] = {0}, f32[] = {ENG_TYPE_F32, 0}, i32[] = {ENG_TYPE_I32, 0}, i64[] = {ENG_TYPE_I64, 0};
    int64_t twice[] = {12, 1, 1, 1, 1, 1, 1, 1}, part[] = {0, 1 + pg_pick(g, 2), 4}, ne[] = {6, 12};
    int a = pg_indices(g, &n, 1, 12, PG_PLAIN);
    x = pg_features(g, x, 24, 12);
    int64_t rows = pg_get(g, x)->ne[1];
    switch (pg_pick(g, 6)) {
    case 0: { /* a table of numbers */
        int table = pg_add_tensor(g, ENG_TYPE_I32, ENG_USE_WEIGHT, ne, 2);
        pg_tensor_of(g, table)->below = rows;
        pg_ready(g, table);
        int64_t one = 1;
        a = OP(ENG_OP_GET_ROWS, table, pg_indices(g, &one, 1, 12, PG_PLAIN));
        break;
    }
    case 1:
        a = OPI(ENG_OP_CONCAT, dim, a, pg_indices(g, &n, 1, 12, PG_PLAIN));
        break;
    case 2:
        a = OPI(ENG_OP_REPEAT, twice, a);
        break;
    case 3:
        a = OPI(ENG_OP_CPY, i64, a);
        break;
    case 4: /* from whole numbers: no rounding to argue about */
        a = pg_tap(g, OPI(ENG_OP_CPY, i32, OPI(ENG_OP_CPY, f32, a)));
        break;
    default: /* from any */
        a = pg_contiguous(g, x);
        a = pg_reshape(g, a, pg_count_of(pg_get(g, a)), 1, 1, 1);
        part[1] = 0;
        a = pg_tap(g, OPI(ENG_OP_CPY, i32, OPI(ENG_OP_SLICE, part, a)));
    }
    return OP(ENG_OP_GET_ROWS, x, a);
}

int pg_argmax(generator *g, int x)
{
    int64_t f32[] = {ENG_TYPE_F32, 0}, k[] = {1 + pg_pick(g, 3)}, order[] = {pg_pick(g, 2)};
    double small[] = {0.05, 0};
    x = pg_rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    if (t->ne[4] != 1 || t->ne[0] < 3)
        return pg_unary(g, x);
    int64_t v = t->ne[0], p = t->ne[2], q = t->ne[3], ne[] = {24, v, p, q};
    if (pg_pick(g, 2)) {
        int y = pg_tap(g, pg_pick(g, 3) ? OPI(ENG_OP_TOP_K, k, x) : OPI(ENG_OP_ARGSORT, order, x));
        return OPF(ENG_OP_SCALE, small, OPI(ENG_OP_CPY, f32, y));
    }
    int y = pg_tap(g, OP(ENG_OP_ARGMAX, x));
    if (24 * v * p * q > 4 * MAX_ELEMENTS)
        return OPF(ENG_OP_SCALE, small, OPI(ENG_OP_CPY, f32, y));
    return OP(ENG_OP_GET_ROWS, pg_weight(g, ne, 4, 0, 1), y);
}

/* A part without elements, an op or two on it, and x again. */
int pg_empty(generator *g, int x)
{
    int64_t d = pg_pick(g, 4), none[] = {d, pg_pick(g, 2), 0}, dim[] = {d};
    double eps[] = {1e-5}, factor[] = {0.5, 0};
    x = pg_rows(g, x);
    int e = OPI(ENG_OP_SLICE, none, x);
    switch (pg_pick(g, 4)) {
    case 0:
        e = OPF(ENG_OP_SCALE, factor, e);
        break;
    case 1:
        e = d == 0 ? OP(ENG_OP_ADD, e, e) : OPF(ENG_OP_RMS_NORM, eps, e, -1);
        break;
    case 2:
        if (d == 0) /* sums of nothing */
            return OP(ENG_OP_SUM_ROWS, e);
        break;
    default:
        break;
    }
    e = pg_rows(g, e);
    return pg_pick(g, 2) ? OPI(ENG_OP_CONCAT, dim, x, e) : OPI(ENG_OP_CONCAT, dim, e, x);
}

int pg_rebase(generator *g)
{
    int64_t n = 9, period = pg_pick(g, 2) ? 0 : 6 + pg_pick(g, 4), ne[] = {32, 16};
    int64_t ip[] = {(period ? 0 : 3) + pg_pick(g, 4), period ? 4 + pg_pick(g, 3) : 12 + pg_pick(g, 8), period};
    int ids = OPI(ENG_OP_REBASE, ip, pg_indices(g, &n, 1, 20, PG_PLAIN));
    return OP(ENG_OP_GET_ROWS, pg_weight(g, ne, 2, 0, 1), ids);
}

/* Rows written into a pool of any type, and the pool read. */
int pg_write_rows(generator *g, int x)
{
    static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_Q8_0,
                                     ENG_TYPE_Q4_0, ENG_TYPE_Q5_1, ENG_TYPE_F32,  ENG_TYPE_F32};
    uint32_t type = pg_pick(g, 20) ? types[pg_pick(g, 8)] : ENG_TYPE_Q4_K;
    x = ref_block(type) == 1 ? pg_rows(g, x) : blocked(g, x, ref_block(type));
    const eng_tensor *t = pg_get(g, x);
    if (t->ne[4] != 1)
        return pg_unary(g, x);
    int64_t rows = t->ne[1], cells = rows + 1 + pg_pick(g, 6), ne[] = {t->ne[0], cells, t->ne[2], t->ne[3]};
    if (ne[0] * ne[1] * ne[2] * ne[3] > 3 * MAX_ELEMENTS)
        return pg_unary(g, x);
    int pool = pg_ready(g, pg_add_tensor(g, type, ENG_USE_CACHE, ne, 4));
    if (type == ENG_TYPE_F32 && pg_pick(g, 2))
        pg_norm(g, pool); /* read before it is written */
    OP(ENG_OP_SET_ROWS, pool, x, pg_indices(g, &rows, 1, cells, PG_DISTINCT));
    if (type == ENG_TYPE_F32 && pg_pick(g, 2))
        OP(ENG_OP_SET_ROWS, pool, x, pg_indices(g, &rows, 1, cells, PG_DISTINCT));
    if (pg_pick(g, 2)) {
        int64_t ids[] = {3, ne[2], ne[3]};
        return OP(ENG_OP_GET_ROWS, pool, pg_indices(g, ids, 3, cells, PG_PLAIN));
    }
    return type == ENG_TYPE_F32 ? pg_norm(g, pool) : decode(g, pool);
}
