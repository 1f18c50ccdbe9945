/* Random programs: how they grow, tensor by tensor and op by op. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "../matrix.h"

int64_t pg_pick(generator *g, int64_t n)
{
    return (int64_t)(pg_random(&g->state) % (uint64_t)n);
}

/* -- values ------------------------------------------------------------------------ */

static eng_value value(const generator *g, int ref)
{
    return ref == -1 ? ENG_NO_VALUE : ref < 0 ? g->bound[-2 - ref] : g->values[ref % PG_SECOND][ref / PG_SECOND];
}

const eng_tensor *pg_get(const generator *g, int ref)
{
    static const eng_tensor nothing = {.type = ENG_TYPE_F32, .ne = {1, 1, 1, 1, 1, 1, 1, 1}, .nb = {4}};
    const eng_tensor *t = eng_graph_get(g->graph, value(g, ref));
    return t ? t : &nothing; /* after an op was refused */
}

int64_t pg_count_of(const eng_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        n *= t->ne[d];
    return n;
}

/* A float value of the program: one of the last, or any. */
int pg_some(generator *g)
{
    for (int tries = 0; tries < 50; tries++) {
        int n = (int)g->p->n_ops, back = pg_pick(g, 3) ? 8 : n;
        if (n == 0 || pg_pick(g, 12) == 0) {
            int i = (int)pg_pick(g, g->p->n_tensors);
            const pg_tensor *t = &g->p->tensors[i];
            if (t->type == ENG_TYPE_F32 && (t->use & ENG_USE_MASK) != ENG_USE_OUTPUT && t->contents == PG_PLAIN &&
                !(t->use & TEST_MATRIX) && !g->wild_tensor[i] && pg_count(t) <= MAX_ELEMENTS)
                return -2 - i;
            continue;
        }
        int k = n - 1 - (int)pg_pick(g, back < n ? back : n);
        if (g->p->ops[k].out_type[0] == ENG_TYPE_F32 && !g->wild[k][0] && pg_count_of(pg_get(g, k)))
            return k;
    }
    return -2;
}

/* -- tensors ------------------------------------------------------------------------- */

/* One segment's factors: an axis that divides the extent, something around it. */
static void random_segment(generator *g, pg_dim *dim, int64_t extent)
{
    int first = (int)pg_pick(g, PG_N_AXES);
    uint32_t n = 0;
    for (int k = 0; k < PG_N_AXES; k++) {
        int a = (first + k) % PG_N_AXES;
        int64_t e = pg_axes[a].extent, rest = extent / e, outer = 1;
        if (extent % e)
            continue;
        for (int64_t f = 2 + pg_pick(g, 3); f > 1; f--)
            if (rest % f == 0 && pg_pick(g, 2))
                outer = f;
        if (outer > 1)
            dim->segs[0].extent[n++] = outer;
        dim->segs[0].axis[n] = a + 1;
        dim->segs[0].extent[n++] = e;
        if (rest / outer > 1)
            dim->segs[0].extent[n++] = rest / outer;
        dim->segs[0].n = n;
        return;
    }
    dim->n_segs = 0;
}

/* The second segment's factors in the other order: as long as the first, but cut otherwise. */
static void turn_segment(pg_dim *dim)
{
    uint32_t n = dim->segs[0].n;
    for (uint32_t f = 0; f < n; f++) {
        dim->segs[1].axis[f] = dim->segs[0].axis[n - 1 - f];
        dim->segs[1].extent[f] = dim->segs[0].extent[n - 1 - f];
    }
}

void pg_random_axes(generator *g, pg_dim *dims, const int64_t *ne, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) {
        if (pg_pick(g, 4) == 0 || ne[d] < 2)
            continue;
        memset(&dims[d], 0, sizeof dims[d]);
        dims[d].n_segs = ne[d] % 2 == 0 && pg_pick(g, 4) == 0 ? 2 : 1;
        random_segment(g, &dims[d], ne[d] / dims[d].n_segs);
        dims[d].segs[1] = dims[d].segs[0];
        if (dims[d].n_segs == 2 && pg_pick(g, 3) == 0)
            turn_segment(&dims[d]);
    }
}

/* The axis stands in one dimension only, and once in each of its segments; rows of
 * blocks are not cut. */
static bool can_be_cut(const eng_tensor *t, uint32_t axis)
{
    uint32_t found = 0;

    for (uint32_t d = 0; t->dims && d < t->rank; d++) {
        uint32_t here = 0, n = t->dims[d].n_segments;
        for (uint32_t s = 0; s < n; s++) {
            uint32_t times = 0;
            for (uint32_t f = 0; f < t->dims[d].segments[s].n_factors; f++)
                times += t->dims[d].segments[s].factors[f].axis == axis;
            if (times > 1)
                return false;
            here += times;
        }
        if (here && (here != n || (d == 0 && t->nb[0] > 8)))
            return false;
        found += here > 0;
    }
    return found == 1;
}

/* An axis along which it can be cut, or -1. */
static int some_axis(generator *g, const eng_tensor *t)
{
    for (int i = 0, first = (int)pg_pick(g, PG_N_AXES); i < PG_N_AXES; i++) {
        int axis = (first + i) % PG_N_AXES;
        if (can_be_cut(t, eng_context_axis(g->context, pg_axes[axis].name)))
            return axis;
    }
    return -1;
}

static void random_place(generator *g, pg_place *place, const eng_tensor *t)
{
    place->kind = 1 + (uint32_t)pg_pick(g, 4);
    place->device = (int)pg_pick(g, 7) - 2;
    if (place->kind == ENG_PLACE_PARTIAL && t->type != ENG_TYPE_F32)
        place->kind = ENG_PLACE_REPLICATED;
    if (place->kind != ENG_PLACE_SHARDED)
        return;
    place->axis = some_axis(g, t);
    if (place->axis < 0)
        place->kind = ENG_PLACE_SINGLE;
}

int pg_add_tensor(generator *g, uint32_t type, uint32_t use, const int64_t *ne, uint32_t rank)
{
    uint32_t i = g->p->n_tensors++;
    pg_tensor *t = &g->p->tensors[i];

    memset(t, 0, sizeof *t);
    t->type = type;
    t->use = use;
    t->rank = rank;
    t->scale = 1;
    t->seed = pg_random(&g->state);
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        t->ne[d] = d < rank ? ne[d] : 1;
    snprintf(t->name, sizeof t->name, "t%u", (unsigned)i);
    if (use != ENG_USE_INPUT || pg_pick(g, 3) == 0)
        pg_random_axes(g, t->dims, t->ne, rank);
    if (g->p->overrides && pg_pick(g, use == ENG_USE_INPUT ? 10 : 3) == 0)
        t->forced = 1 + (int)pg_pick(g, 4);
    t->store = g->p->overrides && pg_pick(g, 3) == 0;
    return -2 - (int)i;
}

/* The scratch graph knows the tensor through a store of its own. */
int pg_ready(generator *g, int ref)
{
    uint32_t i = (uint32_t)(-2 - ref);
    pg_tensor *t = &g->p->tensors[i];
    pg_axes_of axes;
    eng_store_tensor s = {.size = sizeof s, .type = t->type, .use = t->use, .rank = t->rank, .layer = -1,
                          .dims = axes.dims, .name = t->name};

    pg_make_axes(g->context, t->dims, t->rank, &axes);
    memcpy(s.ne, t->ne, sizeof s.ne);
    test_declare_matrix(&s);
    if (eng_store_create(g->device, &s, 1, &g->stores[i]) != ENG_OK || !pg_oracle_add(g->oracle, g->p, i))
        g->bad = true;
    g->bound[i] = g->stores[i] ? eng_graph_tensor(g->graph, i, g->stores[i], 0) : ENG_BAD_VALUE;
    if (g->p->placed && !g->bad && pg_pick(g, 25) == 0)
        random_place(g, &t->place, pg_get(g, ref));
    if (t->forced == 4 && (t->axis = some_axis(g, pg_get(g, ref))) < 0)
        t->forced = 1;
    return ref;
}

pg_tensor *pg_tensor_of(generator *g, int ref)
{
    return &g->p->tensors[-2 - ref];
}

int pg_state(generator *g, const int64_t *ne, uint32_t rank)
{
    return pg_ready(g, pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_STATE, ne, rank));
}

int pg_weight(generator *g, const int64_t *ne, uint32_t rank, double offset, double scale)
{
    int ref = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, ne, rank);
    pg_tensor_of(g, ref)->offset = (float)offset;
    pg_tensor_of(g, ref)->scale = (float)scale;
    return pg_ready(g, ref);
}

int pg_indices(generator *g, const int64_t *ne, uint32_t rank, int64_t below, pg_contents contents)
{
    int ref = pg_add_tensor(g, ENG_TYPE_I32, ENG_USE_INPUT, ne, rank);
    pg_tensor_of(g, ref)->below = below;
    pg_tensor_of(g, ref)->contents = contents;
    return pg_ready(g, ref);
}

/* -- ops --------------------------------------------------------------------------------- */

/* Too large, or moved too far by roundings? */
static bool is_wild(const generator *g, int ref, double *most)
{
    double *x[PG_MAX_LANES] = {NULL}, square = 0;
    const ref_tensor *t = &pg_oracle_value(g->oracle, 0, ref)->t;
    int64_t n = ref_count(t);
    bool wild = false;

    for (uint32_t l = 0; l < g->oracle->n_lanes; l++)
        x[l] = pg_oracle_value(g->oracle, l, ref)->t.data;
    for (int64_t i = 0; i < n; i++) {
        square += x[0][i] * x[0][i];
        *most = fmax(*most, fabs(x[0][i]));
        wild |= !isfinite(x[0][i]);
    }
    for (int64_t i = 0; i < n; i += t->ne[0])
        wild |= !(pg_tolerance(x, g->oracle->n_lanes, n, t->ne[0], i) <= 0.02 * sqrt(square / (double)n) + 1e-30);
    return wild || *most > 1e3;
}

/* What the oracle says of the new op's results. */
static void look(generator *g, uint32_t k)
{
    const pg_op *o = &g->p->ops[k];
    uint32_t flags = eng_op_get(o->op)->flags;

    if (!pg_oracle_step(g->oracle, g->p, k, NULL)) {
        g->bad = true;
        (void)eng_fail(ENG_ERR_INTERNAL, "%s", g->oracle->error);
        return;
    }
    for (int r = 0; r < 2; r++)
        if (o->out_type[r] == ENG_TYPE_F32 && !(flags & ENG_OPF_VIEW)) {
            double most = 0;
            g->wild[k][r] = is_wild(g, r ? PG_SECOND + (int)k : (int)k, &most);
            if (r == 0)
                g->most[k] = most;
        }
    if (flags & ENG_OPF_VIEW && o->in[0] >= 0) {
        g->wild[k][0] = g->wild[o->in[0]][0];
        g->most[k] = g->most[o->in[0]];
    } else if (flags & ENG_OPF_VIEW) {
        g->wild[k][0] = g->wild_tensor[-2 - o->in[0]];
    }
    for (uint32_t i = 0; i < o->n_in; i++) {
        if (!eng_op_get(o->op)->in[i].inout)
            continue;
        double most = 0;
        int root = pg_oracle_value(g->oracle, 0, o->in[i])->root;
        if (g->p->tensors[root].type == ENG_TYPE_F32)
            g->wild_tensor[root] = is_wild(g, -2 - root, &most);
    }
}

/* Writes into tensors that round what they are given: their contents are the tap. */
static void mark_written(generator *g, pg_op *o)
{
    for (uint32_t i = 0; i < o->n_in; i++) {
        if (!eng_op_get(o->op)->in[i].inout)
            continue;
        int root = pg_oracle_value(g->oracle, 0, o->in[i])->root;
        g->p->tensors[root].written = true;
        if (g->p->tensors[root].type != ENG_TYPE_F32 && g->p->tensors[root].type != pg_get(g, o->in[1])->type)
            o->tap = root;
        g->p->searches |= !ref_can_encode(g->p->tensors[root].type, false);
    }
}

int pg_add_op(generator *g, uint32_t op, const int *in, uint32_t n_in, const int64_t *ip, uint32_t n_ip,
              const double *fp, uint32_t n_fp)
{
    uint32_t k = g->p->n_ops++;
    pg_op *o = &g->p->ops[k];
    eng_value operands[ENG_MAX_INPUTS], *out = g->values[k];

    memset(o, 0, sizeof *o);
    o->op = op;
    o->n_in = n_in;
    o->n_ip = n_ip;
    o->n_fp = n_fp;
    o->tap = -1;
    for (uint32_t i = 0; i < n_in; i++) {
        o->in[i] = in[i];
        operands[i] = value(g, in[i]);
    }
    if (n_ip)
        memcpy(o->ip, ip, n_ip * sizeof *ip);
    if (n_fp)
        memcpy(o->fp, fp, n_fp * sizeof *fp);
    out[0] = out[1] = ENG_NO_VALUE;
    g->bad |= eng_graph_op(g->graph, op, operands, n_in, ip, n_ip, fp, n_fp, out) < 0;
    for (int r = 0; r < 2; r++) {
        const eng_tensor *t = out[r] >= 0 ? eng_graph_get(g->graph, out[r]) : NULL;
        o->out_type[r] = t ? t->type : ENG_TYPE_LIMIT;
        if (t)
            memcpy(o->out_ne[r], t->ne, sizeof t->ne);
    }
    if (!g->bad && out[0] >= 0 && pg_pick(g, 20) == 0) {
        pg_axes_of a;
        o->named = true;
        pg_random_axes(g, o->dims, o->out_ne[0], ENG_MAX_RANK);
        pg_make_axes(g->context, o->dims, ENG_MAX_RANK, &a);
        eng_graph_set_axes(g->graph, out[0], a.dims, ENG_MAX_RANK);
    }
    if (!g->bad && out[0] >= 0 && g->p->placed && pg_pick(g, 8) == 0)
        random_place(g, &o->place, eng_graph_get(g->graph, out[0]));
    if (!g->bad) {
        mark_written(g, o);
        look(g, k);
    }
    return (int)k;
}

int pg_tap(generator *g, int k)
{
    const pg_op *o = &g->p->ops[k];
    if (g->bad)
        return k;
    int out = pg_ready(g, pg_add_tensor(g, o->out_type[0], ENG_USE_OUTPUT, o->out_ne[0], ENG_MAX_RANK));
    g->p->ops[k].tap = -2 - out;
    int stored = OP(ENG_OP_STORE, out, k);
    g->p->ops[stored].for_tap = true;
    g->p->ops[stored].tap = -1;
    return k;
}

/* -- programs ---------------------------------------------------------------------------------- */

static void store_some(generator *g, uint32_t n)
{
    int made = (int)g->p->n_ops;
    for (uint32_t i = 0; i < n && !g->bad; i++) {
        int x = pg_some(g);
        if (x < 0 || x >= made)
            continue;
        int out = pg_ready(g, pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_OUTPUT, g->p->ops[x].out_ne[0], ENG_MAX_RANK));
        OP(ENG_OP_STORE, out, x);
    }
}

uint32_t pg_live_ops(const pg_program *p)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->n_ops; k++)
        n += p->ops[k].op != ENG_OP_NONE;
    return n;
}

static bool grow(generator *g, uint32_t nodes)
{
    static const int64_t first[][3] = {{24, 5, 1}, {48, 4, 1}, {64, 7, 1}, {96, 3, 1}, {12, 6, 4}, {32, 8, 2}};
    pg_program *p = g->p;

    p->overrides = pg_pick(g, 3) == 0;
    p->placed = pg_pick(g, 3) == 0;
    p->runs = 1 + (pg_pick(g, 4) == 0);
    p->twice = pg_pick(g, 4) == 0;
    p->cells = 4 + pg_pick(g, 13);
    for (int i = 0; i < 4; i++)
        pg_ready(g, pg_add_tensor(g, ENG_TYPE_F32, i < 2 ? ENG_USE_INPUT : ENG_USE_STATE, first[pg_pick(g, 6)], 3));
    while (!g->bad && p->n_ops < nodes && p->n_tensors < PG_MAX_TENSORS - 80)
        pg_one_more(g);
    store_some(g, 4 + nodes / 10);
    return eng_graph_seal(g->graph) == ENG_OK && !g->bad;
}

bool pg_make(eng_context *context, uint64_t seed, uint32_t nodes, pg_program *p)
{
    generator *g = calloc(1, sizeof *g);
    bool good = false;

    memset(p, 0, sizeof *p);
    p->seed = seed;
    if (!g)
        return false;
    g->p = p;
    g->context = context;
    g->state = seed * 77 + 5;
    g->oracle = pg_oracle_create(3, seed);
    if (g->oracle && eng_device_open(context, "cpu", &g->device) == ENG_OK &&
        eng_graph_create(context, 1, &g->graph) == ENG_OK)
        good = grow(g, nodes);
    eng_graph_destroy(g->graph);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        eng_store_destroy(g->stores[i]);
    eng_device_close(g->device);
    pg_oracle_free(g->oracle);
    free(g);
    return good;
}
