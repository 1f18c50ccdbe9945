/* Random programs: blocks of several ops, as models have them. */
#include "config.h"

#include <string.h>

#include "generator.h"
#include "../matrix.h"

/* -- heads ----------------------------------------------------------------------------- */

/* The dimension is `heads` of an axis of that extent (if there is one), times `rep`, times
 * `inner`; outside: the axis is outermost. */
static void name_heads(pg_tensor *t, int dim, int64_t heads, int64_t rep, int64_t inner, bool outside)
{
    pg_dim d = {.n_segs = 1};
    uint32_t n = 0;

    for (int a = 0; a < PG_N_AXES; a++) {
        if (pg_axes[a].extent != heads)
            continue;
        if (!outside && rep > 1)
            d.segs[0].extent[n++] = rep;
        d.segs[0].axis[n] = a + 1;
        d.segs[0].extent[n++] = heads;
        if (outside && rep > 1)
            d.segs[0].extent[n++] = rep;
        if (inner > 1)
            d.segs[0].extent[n++] = inner;
        d.segs[0].n = n;
        t->dims[dim] = d;
    }
}

static void nameless(pg_tensor *t)
{
    memset(t->dims, 0, sizeof t->dims);
}

static int matrix_rows(generator *g, int x)
{
    const eng_tensor *t = pg_get(g, x);
    int64_t m = pg_count_of(t) / t->ne[0];
    return (int)(m < 5 ? m : 5);
}

/* [inner * rep * heads, rows] out of x: a product with a weight that names the heads. */
static int projection(generator *g, int x, int64_t inner, int64_t heads, int64_t rep, int64_t rows, bool outside,
                      bool named)
{
    x = pg_contiguous(g, x);
    int64_t k = pg_get(g, x)->ne[0], m = pg_count_of(pg_get(g, x)) / k, part[] = {1, 0, rows};
    x = pg_reshape(g, x, k, m, 1, 1);
    if (m > rows)
        x = OPI(ENG_OP_SLICE, part, x);
    int w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT | TEST_MATRIX, (int64_t[]){k, inner * rep * heads}, 2);
    pg_tensor_of(g, w)->scale = k > 12 ? 0.3f : 0.8f;
    if (named) {
        nameless(pg_tensor_of(g, w));
        name_heads(pg_tensor_of(g, w), 1, heads, rep, inner, outside);
    }
    return OP(ENG_OP_MUL_MAT, pg_ready(g, w), x);
}

/* [inner, rep * heads, rows] out of x, or a state of that shape. */
static int heads_of(generator *g, int x, int64_t inner, int64_t heads, int64_t rep, int64_t rows, bool outside,
                    bool named)
{
    double eps[] = {1e-5};
    if (pg_pick(g, 2)) {
        int s = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){inner, rep * heads, rows}, 3);
        if (named) {
            nameless(pg_tensor_of(g, s));
            name_heads(pg_tensor_of(g, s), 1, heads, rep, 1, outside);
        }
        return pg_ready(g, s);
    }
    x = OPF(ENG_OP_RMS_NORM, eps, projection(g, x, inner, heads, rep, rows, outside, named), -1);
    return pg_reshape(g, x, inner, rep * heads, rows, 1);
}

/* Products of different widths along the same heads, side by side, and one of them taken out
 * again or all of them used. */
int pg_fused(generator *g, int x)
{
    static const int64_t extents[] = {2, 3, 4, 5, 6, 8};
    int64_t h = extents[pg_pick(g, 6)], rows = matrix_rows(g, x), dim[] = {0};
    int64_t wide = 2 + pg_pick(g, 3), narrow = 1 + pg_pick(g, 2);
    int a = projection(g, x, wide, h, 1, rows, true, true), b = projection(g, x, narrow, h, 1, rows, true, true);
    bool first = pg_pick(g, 2);
    int y = pg_unary(g, first ? OPI(ENG_OP_CONCAT, dim, a, b) : OPI(ENG_OP_CONCAT, dim, b, a));
    int64_t part[] = {0, h * (first ? wide : narrow), h * (first ? narrow : wide)};
    if (pg_pick(g, 3))
        return pg_product(g, y);
    return pg_norm(g, OPI(ENG_OP_SLICE, part, y));
}

/* -- attention ---------------------------------------------------------------------------- */

typedef struct attention {
    int64_t d, kvh, group, cells, t;
    int64_t cell_axis; /* the caches' cells have an axis of that extent; 0: none  */
    int64_t periods;   /* so many times over                                      */
    bool named;
    int in[11];
    int64_t ip[8];
    double fp[3];
} attention;

/* Keys or values written into a cache. */
static int cache(generator *g, attention *a, int x, int ids)
{
    static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_Q8_0, ENG_TYPE_Q4_0,  ENG_TYPE_F32,
                                     ENG_TYPE_BF16, ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_IQ4_NL, ENG_TYPE_F16};
    int64_t swap[] = {0, 2, 1, 3, 4, 5, 6, 7}, first = a->ip[ENG_ATTN_FIRST], part[] = {1, first, a->cells - first};
    int fresh = heads_of(g, x, a->d, a->kvh, 1, a->t, true, a->named);
    int c = pg_add_tensor(g, types[pg_pick(g, 10)], ENG_USE_CACHE, (int64_t[]){a->d, a->cells, a->kvh}, 3);
    if (a->named) {
        nameless(pg_tensor_of(g, c));
        if (pg_pick(g, 3))
            name_heads(pg_tensor_of(g, c), 2, a->kvh, 1, 1, true);
        if (a->cell_axis)
            name_heads(pg_tensor_of(g, c), 1, a->cell_axis, a->periods, a->cells / a->cell_axis / a->periods, false);
    }
    pg_ready(g, c);
    OP(ENG_OP_SET_ROWS, c, OPI(ENG_OP_PERMUTE, swap, fresh), ids);
    return first ? OPI(ENG_OP_SLICE, part, c) : c;
}

/* What is seen: by sequence, position, mask or a table of blocks. */
static void visibility(generator *g, attention *a)
{
    int64_t s = a->cells - a->ip[ENG_ATTN_FIRST], heads = a->kvh * a->group;

    a->in[3] = pg_indices(g, &a->t, 1, a->cells, PG_PLAIN);
    switch (pg_pick(g, 5)) {
    case 0: {
        a->in[4] = pg_indices(g, &a->t, 1, 2, PG_PLAIN);
        a->in[6] = pg_indices(g, &s, 1, 2, PG_PLAIN);
        if (pg_pick(g, 2))
            a->in[5] = pg_indices(g, &s, 1, a->cells, PG_PLAIN);
        if (pg_pick(g, 2))
            a->in[ENG_ATTN_IN_CLAST] = pg_indices(g, &s, 1, 2, PG_PLAIN);
        break;
    }
    case 1: {
        uint32_t type = pg_pick(g, 2) ? ENG_TYPE_F32 : ENG_TYPE_F16;
        a->in[7] = pg_add_tensor(g, type, ENG_USE_INPUT, (int64_t[]){s, a->t}, 2);
        pg_tensor_of(g, a->in[7])->contents = PG_MASK;
        pg_ready(g, a->in[7]);
        break;
    }
    case 2:
        if (a->ip[ENG_ATTN_FIRST])
            break;
        a->in[4] = pg_indices(g, &a->t, 1, 2, PG_PLAIN);
        a->in[9] = pg_indices(g, (int64_t[]){3, 2}, 2, 4, PG_DISTINCT);
        a->ip[ENG_ATTN_BLOCK] = 4;
        break;
    default:
        break;
    }
    a->ip[ENG_ATTN_KV_PARAM] = pg_pick(g, 3) ? -1 : 0;
    a->ip[ENG_ATTN_WINDOW] = pg_pick(g, 3) ? 0 : 6;
    a->ip[ENG_ATTN_CAUSAL] = pg_pick(g, 3) > 0;
    if (!a->ip[ENG_ATTN_BLOCK] && pg_pick(g, 6) == 0) {
        a->ip[ENG_ATTN_RUN] = 1 + pg_pick(g, 4);
        a->ip[ENG_ATTN_PERIOD] = a->ip[ENG_ATTN_RUN] + pg_pick(g, 3);
    }
    a->fp[ENG_ATTN_SOFTCAP] = pg_pick(g, 4) ? 0 : 5;
    a->fp[ENG_ATTN_MAX_BIAS] = pg_pick(g, 5) ? 0 : 4;
    if (pg_pick(g, 2))
        a->in[8] = pg_weight(g, &heads, 1, 0, 1);
}

int pg_attention(generator *g, int x)
{
    attention a = {.d = 32, .cells = 16, .t = matrix_rows(g, x), .in = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                   .fp = {0.2}};

    a.kvh = (int64_t[]){1, 2, 3, 4, 6, 8}[pg_pick(g, 6)];
    a.group = 1 + pg_pick(g, 3);
    a.named = pg_pick(g, 3) > 0;
    a.cell_axis = pg_pick(g, 2) ? 0 : (int64_t[]){2, 4, 8}[pg_pick(g, 3)];
    a.periods = a.cell_axis ? 1 << pg_pick(g, a.cell_axis == 8 ? 2 : a.cell_axis == 4 ? 3 : 4) : 1;
    if (pg_pick(g, 3) == 0)
        a.ip[ENG_ATTN_FIRST] = 4;
    a.ip[ENG_ATTN_LSE] = pg_pick(g, 3) == 0;
    int ids = pg_indices(g, &a.t, 1, a.cells, PG_DISTINCT);
    a.in[0] = heads_of(g, x, a.d, a.kvh, a.group, a.t, true, a.named);
    a.in[1] = cache(g, &a, x, ids);
    a.in[2] = cache(g, &a, x, ids);
    visibility(g, &a);
    int o = pg_add_op(g, ENG_OP_ATTENTION, a.in, 11, a.ip, 8, a.fp, 3);
    if (!a.ip[ENG_ATTN_LSE] || g->bad)
        return o;
    int64_t kind[] = {ENG_UNARY_SIGMOID}; /* of -infinity too: zero */
    int weight = OPI(ENG_OP_UNARY, kind, PG_SECOND + o);
    weight = pg_reshape(g, weight, 1, a.kvh * a.group, a.t, 1);
    return OP(ENG_OP_MUL, o, weight);
}

/* -- recurrent layers ------------------------------------------------------------------------- */

/* Groups of heads, and heads in each; whether the axis has a name, and is the outer one. */
typedef struct state_heads {
    int64_t groups, each;
    bool named, outside;
} state_heads;

/* Such heads are the tensor's dimension, and it is ready. */
static void take_heads(generator *g, int tensor, int dim, const state_heads *heads)
{
    if (heads->named) {
        nameless(pg_tensor_of(g, tensor));
        name_heads(pg_tensor_of(g, tensor), dim, heads->groups, heads->each, 1, heads->outside);
    }
    pg_ready(g, tensor);
}

static void around(generator *g, int tensor, float middle)
{
    pg_tensor_of(g, tensor)->offset = middle;
    pg_tensor_of(g, tensor)->scale = 0.4f;
}

/* Of two sequences of t tokens together; rows read: 0, 1; written: 2 .. 5. */
typedef struct state_rows {
    int src, dst, cu;
} state_rows;

static state_rows rows_of(generator *g, int64_t t)
{
    const int64_t b = 2, b1 = b + 1;
    state_rows r;
    r.src = pg_indices(g, &b, 1, 2, PG_PLAIN);
    r.dst = pg_indices(g, (int64_t[]){2, b}, 2, 6, PG_STATE_ROWS);
    r.cu = pg_indices(g, &b1, 1, t, PG_ASCENDING);
    return r;
}

int pg_delta_net(generator *g, int x)
{
    int64_t s = 16, h = (int64_t[]){2, 3, 4, 8}[pg_pick(g, 4)], r = 1 + pg_pick(g, 3), t = matrix_rows(g, x);
    int64_t ip[] = {pg_pick(g, 2), 1 + pg_pick(g, 2)};
    double eps[] = {1e-6};
    bool named = pg_pick(g, 3) > 0, outside = ip[0];
    const state_heads heads = {h, r, named, outside};
    int q = heads_of(g, x, s, h, 1, t, true, named), k = heads_of(g, x, s, h, 1, t, true, named);
    int v = heads_of(g, x, s, h, r, t, outside, named);
    int gate = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){pg_pick(g, 2) ? 1 : s, r * h, t}, 3);
    int beta = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){r * h, t}, 2);
    int state = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){s, s, r * h, 6}, 4);

    around(g, gate, -0.5f);
    around(g, beta, 0.5f);
    take_heads(g, gate, 1, &heads);
    take_heads(g, beta, 0, &heads);
    take_heads(g, state, 2, &heads);
    const state_rows rows = rows_of(g, t);
    q = OPF(ENG_OP_L2_NORM, eps, q);
    k = OPF(ENG_OP_L2_NORM, eps, k);
    return OPI(ENG_OP_GATED_DELTA_NET, ip, q, k, v, gate, beta, state, rows.src, rows.dst, rows.cu);
}

int pg_scan(generator *g, int x)
{
    int64_t p = 8, n = 16, h = (int64_t[]){1, 2, 3, 4}[pg_pick(g, 4)], r = 1 + pg_pick(g, 4), t = matrix_rows(g, x);
    int64_t ip[] = {1 + pg_pick(g, 2)};
    bool named = pg_pick(g, 3) > 0;
    const state_heads heads = {h, r, named, true};
    int in = heads_of(g, x, p, h, r, t, true, named), add = heads_of(g, x, n, h, 1, t, true, named);
    int read = heads_of(g, x, n, h, 1, t, true, named);
    int dt = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){h * r, t}, 2);
    int a = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, (int64_t[]){pg_pick(g, 2) ? 1 : n, h * r}, 2);
    int state = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){n, p, h * r, 6}, 4);

    around(g, dt, 0.5f);
    around(g, a, -0.5f);
    take_heads(g, dt, 0, &heads);
    take_heads(g, a, 1, &heads);
    take_heads(g, state, 2, &heads);
    const state_rows rows = rows_of(g, t);
    return OPI(ENG_OP_SSM_SCAN, ip, in, dt, a, add, read, state, rows.src, rows.dst, rows.cu);
}

int pg_convolution(generator *g, int x)
{
    int64_t h = (int64_t[]){24, 48, 20}[pg_pick(g, 3)], b = 2, taps = 4, b1 = b + 1;
    int64_t ip[] = {1 + pg_pick(g, 2)}, t = 6;
    int in = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){h, t}, 2);
    int w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, (int64_t[]){taps, h}, 2);
    int state = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, (int64_t[]){taps - 1, h, 6}, 3);

    if (pg_pick(g, 2)) { /* the state cut as the channels are */
        pg_tensor_of(g, state)->dims[1] = pg_tensor_of(g, in)->dims[0];
        pg_tensor_of(g, w)->dims[1] = pg_tensor_of(g, in)->dims[0];
    }
    pg_ready(g, in);
    pg_ready(g, w);
    pg_ready(g, state);
    if (pg_pick(g, 2)) {
        in = pg_features(g, x, h, 6);
        t = pg_get(g, in)->ne[1];
    }
    int src = pg_indices(g, &b, 1, 2, PG_PLAIN), dst = pg_indices(g, (int64_t[]){2, b}, 2, 6, PG_STATE_ROWS);
    int cu = pg_indices(g, &b1, 1, t, PG_ASCENDING);
    return OPI(ENG_OP_SSM_CONV, ip, in, w, state, src, dst, cu);
}

/* -- others ------------------------------------------------------------------------------------- */

/* A value read, written over in part and read again: copies must not outlive writes. */
int pg_in_place(generator *g, int x)
{
    int64_t ne[ENG_MAX_RANK], kept[ENG_MAX_RANK], swap[ENG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    int d = (int)pg_pick(g, 3), e = (int)pg_pick(g, 3);

    memcpy(ne, pg_get(g, x)->ne, sizeof ne);
    if (ne[4] != 1 || pg_count_of(pg_get(g, x)) > MAX_ELEMENTS / 2)
        return pg_unary(g, x);
    int64_t part[] = {d, ne[d] * pg_pick(g, 2), ne[d]};
    ne[d] *= 2;
    swap[d] = e; /* the state's dimensions in another order */
    swap[e] = d;
    for (int i = 0; i < ENG_MAX_RANK; i++)
        kept[i] = ne[swap[i]];
    int state = pg_state(g, kept, 4), seen = OPI(ENG_OP_PERMUTE, swap, state);
    pg_norm(g, state); /* often needs it whole */
    int window = OPI(ENG_OP_SLICE, part, seen);
    if (pg_pick(g, 2))
        pg_norm(g, window);
    OP(ENG_OP_STORE, window, x);
    if (pg_pick(g, 2))
        pg_norm(g, window);
    return pg_norm(g, pg_pick(g, 2) ? state : seen);
}

static int named_weight(generator *g, const int64_t *ne, uint32_t rank, int dim, int64_t outer, int64_t extent,
                        double scale)
{
    int w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT | (pg_pick(g, 2) ? TEST_MATRIX : 0), ne, rank);
    pg_tensor_of(g, w)->scale = (float)scale;
    nameless(pg_tensor_of(g, w));
    name_heads(pg_tensor_of(g, w), dim, extent, 1, ne[dim] / outer / extent, true);
    if (outer == 2) {
        pg_tensor_of(g, w)->dims[dim].n_segs = 2; /* gate | up */
        pg_tensor_of(g, w)->dims[dim].segs[1] = pg_tensor_of(g, w)->dims[dim].segs[0];
    }
    return pg_ready(g, w);
}

/* Up, gate, down and the residual. */
int pg_feed_forward(generator *g, int x)
{
    int64_t kind[] = {ENG_GLU_SWIGLU, 0};
    double eps[] = {1e-5};
    x = pg_features(g, x, 24, 5);
    int up = named_weight(g, (int64_t[]){24, 48}, 2, 1, 2, 6, 0.3);
    int down = named_weight(g, (int64_t[]){24, 24}, 2, 0, 1, 6, 0.3);
    int h = OP(ENG_OP_MUL_MAT, up, OPF(ENG_OP_RMS_NORM, eps, x, -1));
    h = OP(ENG_OP_MUL_MAT, down, OPI(ENG_OP_GLU, kind, h, -1));
    h = pg_pick(g, 2) ? OP(ENG_OP_ADD, x, h) : OP(ENG_OP_ADD, h, x);
    return pg_pick(g, 2) ? pg_norm(g, h) : h;
}

/* A sum large enough that exchanges take other ways: in place, by chunks.  Or its long rows are
 * cut, and a norm is computed of parts of rows. */
int pg_wide(generator *g, int x)
{
    double eps[] = {1e-5};
    int64_t wide[] = {24, 3072}, part[] = {0, 6 * pg_pick(g, 256), 1536};
    int up = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, wide, 2);
    pg_tensor_of(g, up)->scale = 0.3f;
    nameless(pg_tensor_of(g, up));
    if (pg_pick(g, 2))
        name_heads(pg_tensor_of(g, up), 0, 6, 1, 4, true);
    else
        name_heads(pg_tensor_of(g, up), 1, 6, 1, 512, true);
    pg_ready(g, up);
    x = pg_contiguous(g, x);
    int64_t rows = pg_count_of(pg_get(g, x)) / pg_get(g, x)->ne[0];
    x = pg_features(g, x, 24, 32);
    x = OP(ENG_OP_MUL_MAT, up, x);
    switch (pg_pick(g, 4)) {
    case 0: x = OPF(ENG_OP_L2_NORM, eps, x); break;
    case 1: x = OPF(ENG_OP_NORM, eps, x, -1, -1); break;
    case 2: x = OPF(ENG_OP_RMS_NORM, eps, x, pg_weight(g, &wide[1], 1, 0.5, 1)); break;
    default: x = OPF(ENG_OP_RMS_NORM, eps, x, -1); break;
    }
    x = OPI(ENG_OP_SLICE, part, x);
    return pg_features(g, x, 24, rows < 8 ? rows : 8);
}

/* Between an expert's two products: 2 ff features become ff. */
static int between(generator *g, int h, int64_t ff)
{
    int64_t kind[] = {ENG_GLU_SWIGLU, 0}, half[] = {0, ff * pg_pick(g, 2), ff};
    double eps[] = {1e-5}, offset[] = {0.7, 0.2};
    switch (pg_pick(g, 6)) {
    case 0: case 4: return pg_unary(g, OPI(ENG_OP_SLICE, half, h));
    case 1: h = OPF(ENG_OP_RMS_NORM, eps, h, -1); break;
    case 2: h = OPF(ENG_OP_SCALE, offset, h); break;
    case 3: h = OP(ENG_OP_ADD, h, pg_weight(g, (int64_t[]){2 * ff}, 1, 0, 0.5)); break;
    default: break;
    }
    return OPI(ENG_OP_GLU, kind, h, -1);
}

/* A mixture of experts: a router, the experts it chooses, their weighted sum. */
int pg_experts(generator *g, int x)
{
    int64_t experts = pg_pick(g, 2) ? 8 : 4, used = 1 + pg_pick(g, 3), ff = 24, k[] = {used};
    int64_t swap[] = {1, 0, 2, 3, 4, 5, 6, 7};
    double one[] = {1, 0};
    int64_t by = pg_pick(g, 2) ? 6 : pg_pick(g, 2) ? experts : 4; /* cut along the features or the experts */
    int64_t times = by == 6 ? 1 : experts / by; /* a rank's experts: one range, or one of each four */
    x = pg_features(g, x, 24, 5);
    int64_t tokens = pg_get(g, x)->ne[1];
    int router = pg_weight(g, (int64_t[]){24, experts}, 2, 0, 0.4);
    int probs = OPF(ENG_OP_SOFT_MAX, one, OP(ENG_OP_MUL_MAT, router, x), -1, -1);
    int ids = pg_tap(g, OPI(ENG_OP_TOP_K, k, probs));
    int chosen = OP(ENG_OP_GET_ROWS, pg_reshape(g, probs, 1, experts, tokens, 1), ids);
    int up = named_weight(g, (int64_t[]){24, 2 * ff, experts}, 3, by == 6 ? 1 : 2, by == 6 ? 2 : times, by, 0.3);
    int down = named_weight(g, (int64_t[]){ff, 24, experts}, 3, by == 6 ? 0 : 2, times, by, 0.3);
    int h = OP(ENG_OP_MUL_MAT_ID, up, pg_reshape(g, x, 24, 1, tokens, 1), ids);
    h = between(g, h, ff);
    if (pg_pick(g, 4) == 0) /* other experts than before */
        ids = pg_indices(g, (int64_t[]){used, tokens}, 2, experts, PG_PLAIN);
    h = OP(ENG_OP_MUL, OP(ENG_OP_MUL_MAT_ID, down, h, ids), chosen);
    if (pg_pick(g, 2)) /* the sum over those used, in one of two ways */
        return OP(ENG_OP_SUM_ROWS, pg_contiguous(g, OPI(ENG_OP_PERMUTE, swap, h)));
    int64_t part[] = {1, 0, 1};
    int sum = OPI(ENG_OP_SLICE, part, h);
    for (part[1] = 1; part[1] < used; part[1]++)
        sum = OP(ENG_OP_ADD, sum, OPI(ENG_OP_SLICE, part, h));
    return sum;
}
