/* Random programs: blocks of several ops, as models have them. */
#include "config.h"

#include <string.h>

#include "generator.h"

int pg_state(generator *g, const int64_t *ne, uint32_t rank)
{
    return pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, ne, rank);
}

int pg_indices(generator *g, const int64_t *ne, uint32_t rank, int64_t below)
{
    int ref = pg_add_tensor(g, ENG_TYPE_I32, ENG_USE_INPUT, ne, rank);
    pg_tensor_of(g, ref)->below = below;
    return ref;
}

/* Keys and values written into caches and attended to. */
int pg_attention(generator *g)
{
    static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0};
    int64_t d = 32, kvh = (int64_t[]){1, 2, 3, 4, 6, 8}[pg_pick(g, 6)], group = 1 + pg_pick(g, 3), cells = 16, t = 5;
    int64_t q_ne[] = {d, kvh * group, t}, new_ne[] = {d, kvh, t}, c_ne[] = {d, cells, kvh};
    uint32_t kt = types[pg_pick(g, 4)], vt = types[pg_pick(g, 4)];
    int q = pg_state(g, q_ne, 3), fresh = pg_state(g, new_ne, 3);
    int k = pg_add_tensor(g, kt, ENG_USE_CACHE, c_ne, 3), v = pg_add_tensor(g, vt, ENG_USE_CACHE, c_ne, 3);
    int ids = pg_indices(g, &t, 1, cells), pos = pg_indices(g, &t, 1, cells);
    int64_t heads = kvh * group;
    int sinks = pg_pick(g, 2) ? pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, &heads, 1) : -1;
    int64_t swap[] = {0, 2, 1, 3, 4, 5, 6, 7}, ip[] = {-1, 0, 1, 0};
    double fp[] = {0.2, 0, 0};
    int in[ENG_MAX_INPUTS] = {q, k, v, pos, -1, -1, -1, -1, sinks, -1};

    pg_tensor_of(g, ids)->distinct = true;
    if (pg_pick(g, 2)) /* heads named as models do */
        for (int i = 0; i < 4; i++) {
            pg_tensor *w = pg_tensor_of(g, (int[]){q, fresh, k, v}[i]);
            memset(w->dims, 0, sizeof w->dims);
            for (int a = 0; a < PG_N_AXES; a++) {
                int dim = i < 2 ? 1 : 2;
                if (pg_axes[a].extent != kvh)
                    continue;
                w->dims[dim].n_segs = 1;
                w->dims[dim].segs[0].n = i == 0 ? 2 : 1;
                w->dims[dim].segs[0].axis[0] = a + 1;
                w->dims[dim].segs[0].extent[0] = kvh;
                w->dims[dim].segs[0].extent[1] = group;
            }
        }
    int rows_k = OPI(ENG_OP_PERMUTE, swap, fresh);
    OP(ENG_OP_SET_ROWS, k, rows_k, ids);
    int64_t negative[] = {ENG_UNARY_NEG};
    int u = OPI(ENG_OP_UNARY, negative, fresh), rows_v = OPI(ENG_OP_PERMUTE, swap, u);
    OP(ENG_OP_SET_ROWS, v, rows_v, ids);
    return pg_add_op(g, ENG_OP_ATTENTION, in, 10, ip, 4, fp, 3);
}

static void heads_of(pg_tensor *t, int dim, int64_t rep, int64_t heads, bool grouped)
{
    memset(t->dims, 0, sizeof t->dims);
    for (int a = 0; a < PG_N_AXES; a++) {
        if (pg_axes[a].extent != heads)
            continue;
        t->dims[dim].n_segs = 1;
        t->dims[dim].segs[0].n = 2;
        t->dims[dim].segs[0].axis[grouped ? 0 : 1] = a + 1;
        t->dims[dim].segs[0].extent[grouped ? 0 : 1] = heads;
        t->dims[dim].segs[0].extent[grouped ? 1 : 0] = rep;
    }
}

int pg_delta_net(generator *g)
{
    int64_t s = 16, h = (int64_t[]){2, 3, 4, 8}[pg_pick(g, 4)], r = 1 + pg_pick(g, 3), t = 6, b = 2;
    int64_t slots = 1 + pg_pick(g, 2);
    int64_t qk[] = {s, h, t}, vv[] = {s, r * h, t}, st[] = {s, s, r * h, 6}, ht[] = {r * h, t};
    int64_t b1[] = {b + 1}, d2[] = {2, b};
    int64_t ip[] = {pg_pick(g, 2), slots}, one[] = {1, r * h, t};
    double eps[] = {1e-6};
    bool named = pg_pick(g, 2);
    int q = pg_state(g, qk, 3), k = pg_state(g, qk, 3);
    int v = pg_state(g, vv, 3), gate = pg_state(g, one, 3);
    int beta = pg_state(g, ht, 2), state = pg_state(g, st, 4);
    int src = pg_indices(g, &b, 1, 2), dst = pg_indices(g, d2, 2, -4); /* rows read: 0, 1; written: 2 .. 5 */
    int cu = pg_indices(g, b1, 1, t);

    pg_tensor_of(g, gate)->offset = -0.5f;
    pg_tensor_of(g, gate)->scale = 0.4f;
    pg_tensor_of(g, beta)->offset = 0.5f;
    pg_tensor_of(g, beta)->scale = 0.4f;
    pg_tensor_of(g, dst)->distinct = true;
    pg_tensor_of(g, cu)->ascending = true;
    if (named) {
        heads_of(pg_tensor_of(g, q), 1, 1, h, false);
        heads_of(pg_tensor_of(g, k), 1, 1, h, false);
        heads_of(pg_tensor_of(g, v), 1, r, h, ip[0]);
        heads_of(pg_tensor_of(g, gate), 1, r, h, ip[0]);
        heads_of(pg_tensor_of(g, beta), 0, r, h, ip[0]);
        heads_of(pg_tensor_of(g, state), 2, r, h, ip[0]);
    }
    q = OPF(ENG_OP_L2_NORM, eps, q);
    k = OPF(ENG_OP_L2_NORM, eps, k);
    return OPI(ENG_OP_GATED_DELTA_NET, ip, q, k, v, gate, beta, state, src, dst, cu);
}

int pg_convolution(generator *g)
{
    int64_t h = (int64_t[]){24, 48, 20}[pg_pick(g, 3)], t = 6, b = 2, taps = 4;
    int64_t x_ne[] = {h, t}, w_ne[] = {taps, h}, s_ne[] = {taps - 1, h, 6}, d2[] = {2, b}, b1 = b + 1;
    int64_t ip[] = {1 + pg_pick(g, 2)};
    int x = pg_state(g, x_ne, 2), w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, w_ne, 2);
    int state = pg_state(g, s_ne, 3), src = pg_indices(g, &b, 1, 2);
    int dst = pg_indices(g, d2, 2, -4), cu = pg_indices(g, &b1, 1, t);

    pg_tensor_of(g, dst)->distinct = true;
    pg_tensor_of(g, cu)->ascending = true;
    if (pg_pick(g, 2)) /* the state cut as the channels are */
        pg_tensor_of(g, state)->dims[1] = pg_tensor_of(g, w)->dims[1] = pg_tensor_of(g, x)->dims[0];
    return OPI(ENG_OP_SSM_CONV, ip, x, w, state, src, dst, cu);
}

/* A value read, written over in part and read again: copies must not outlive writes. */
int pg_in_place(generator *g, int x)
{
    const eng_tensor *t = pg_get(g, x);
    int64_t ne[ENG_MAX_RANK], swap[ENG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    int d = (int)pg_pick(g, 3), e = (int)pg_pick(g, 3);

    memcpy(ne, t->ne, sizeof ne);
    if (ne[4] != 1 || pg_count_of(t) > MAX_ELEMENTS / 4)
        return pg_unary(g, x);
    int64_t part[] = {d, ne[d] * pg_pick(g, 2), ne[d]};
    ne[d] *= 2;
    swap[d] = e; /* the state's dimensions in another order */
    swap[e] = d;
    int64_t kept[ENG_MAX_RANK];
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

