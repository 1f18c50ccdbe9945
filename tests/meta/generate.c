/* Random programs: ops chosen one by one among those that fit the values there are. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "generator.h"

const pg_axis pg_axes[PG_N_AXES] = {{"a", 6}, {"b", 4}, {"c", 3}, {"d", 8}, {"e", 5}, {"f", 2}};

uint64_t pg_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t pg_pick(generator *g, int64_t n)
{
    return (int64_t)(pg_random(&g->state) % (uint64_t)n);
}

/* -- values ------------------------------------------------------------------------ */

static eng_value value(const generator *g, int ref)
{
    return ref == -1 ? ENG_NO_VALUE : ref < 0 ? g->bound[-2 - ref] : g->values[ref];
}

const eng_tensor *pg_get(const generator *g, int ref)
{
    return eng_graph_get(g->graph, value(g, ref));
}

int64_t pg_count_of(const eng_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        n *= t->ne[d];
    return n;
}

/* -- tensors ------------------------------------------------------------------------- */

/* One segment's factors: an axis that divides the extent, something around it. */
static void random_segment(generator *g, pg_tensor *t, int d, uint32_t s, int64_t extent)
{
    int first = (int)pg_pick(g, PG_N_AXES);
    for (int k = 0; k < PG_N_AXES; k++) {
        int a = (first + k) % PG_N_AXES;
        int64_t e = pg_axes[a].extent, rest = extent / e, outer = 1;
        if (extent % e)
            continue;
        for (int64_t f = 2 + pg_pick(g, 3); f > 1; f--)
            if (rest % f == 0 && pg_pick(g, 2))
                outer = f;
        uint32_t n = 0;
        if (outer > 1) {
            t->dims[d].segs[s].axis[n] = 0;
            t->dims[d].segs[s].extent[n++] = outer;
        }
        t->dims[d].segs[s].axis[n] = a + 1;
        t->dims[d].segs[s].extent[n++] = e;
        if (rest / outer > 1) {
            t->dims[d].segs[s].axis[n] = 0;
            t->dims[d].segs[s].extent[n++] = rest / outer;
        }
        t->dims[d].segs[s].n = n;
        return;
    }
    t->dims[d].segs[s].n = 1;
    t->dims[d].segs[s].axis[0] = 0;
    t->dims[d].segs[s].extent[0] = extent;
}

static void random_axes(generator *g, pg_tensor *t)
{
    for (uint32_t d = 0; d < t->rank; d++) {
        if (pg_pick(g, 4) == 0 || t->ne[d] < 2)
            continue;
        uint32_t n = t->ne[d] % 2 == 0 && pg_pick(g, 4) == 0 ? 2 : 1;
        t->dims[d].n_segs = n;
        random_segment(g, t, (int)d, 0, t->ne[d] / n);
        for (uint32_t s = 1; s < n; s++)
            t->dims[d].segs[s] = t->dims[d].segs[0];
    }
}

/* A new tensor, known to the scratch graph through a store of its own. */
int pg_add_tensor(generator *g, uint32_t type, uint32_t use, const int64_t *ne, uint32_t rank)
{
    uint32_t i = g->p->n_tensors;
    pg_tensor *t = &g->p->tensors[i];
    eng_store_tensor s = {.size = sizeof s, .type = type, .use = use, .rank = rank, .layer = -1};

    memset(t, 0, sizeof *t);
    t->type = type;
    t->use = use;
    t->rank = rank;
    t->scale = 1;
    t->seed = pg_random(&g->state);
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        t->ne[d] = s.ne[d] = d < rank ? ne[d] : 1;
    snprintf(t->name, sizeof t->name, "t%u", (unsigned)i);
    s.name = t->name;
    if (use != ENG_USE_INPUT)
        random_axes(g, t);
    if (g->p->overrides && use != ENG_USE_INPUT && pg_pick(g, 3) == 0)
        t->forced = 1 + (int)pg_pick(g, 3);
    if (eng_store_create(g->device, &s, 1, &g->stores[i]) != ENG_OK)
        return -1;
    g->bound[i] = eng_graph_tensor(g->graph, i, g->stores[i], 0);
    g->p->n_tensors++;
    return -2 - (int)i;
}

pg_tensor *pg_tensor_of(generator *g, int ref)
{
    return &g->p->tensors[-2 - ref];
}

static int add_indices(generator *g, int64_t n0, int64_t n1, int64_t below)
{
    int ref = pg_add_tensor(g, ENG_TYPE_I32, ENG_USE_INPUT, (int64_t[]){n0, n1}, 2);
    pg_tensor_of(g, ref)->below = below;
    return ref;
}

/* -- ops --------------------------------------------------------------------------------- */

int pg_add_op(generator *g, uint32_t op, const int *in, uint32_t n_in, const int64_t *ip, uint32_t n_ip,
                  const double *fp, uint32_t n_fp)
{
    pg_op *o = &g->p->ops[g->p->n_ops];
    eng_value operands[ENG_MAX_INPUTS];

    memset(o, 0, sizeof *o);
    o->op = op;
    o->n_in = n_in;
    o->n_ip = n_ip;
    o->n_fp = n_fp;
    for (uint32_t i = 0; i < n_in; i++) {
        o->in[i] = in[i];
        operands[i] = value(g, in[i]);
    }
    if (n_ip)
        memcpy(o->ip, ip, n_ip * sizeof *ip);
    if (n_fp)
        memcpy(o->fp, fp, n_fp * sizeof *fp);
    g->values[g->p->n_ops] = eng_graph_op(g->graph, op, operands, n_in, ip, n_ip, fp, n_fp, NULL);
    return (int)g->p->n_ops++;
}
static int contiguous(generator *g, int x)
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

static int rows(generator *g, int x)
{
    return pg_get(g, x)->nb[0] == 4 ? x : contiguous(g, x);
}

/* A float value of the program: one of the last, or any. */
static int some(generator *g)
{
    for (int tries = 0; tries < 50; tries++) {
        int n = (int)g->p->n_ops, back = pg_pick(g, 3) ? 6 : n;
        if (n == 0 || pg_pick(g, 12) == 0) {
            int t = -2 - (int)pg_pick(g, g->p->n_tensors);
            if (pg_tensor_of(g, t)->type == ENG_TYPE_F32 && pg_tensor_of(g, t)->use != ENG_USE_OUTPUT)
                return t;
            continue;
        }
        int k = n - 1 - (int)pg_pick(g, back < n ? back : n);
        if (g->values[k] >= 0 && pg_get(g, k)->type == ENG_TYPE_F32 && g->p->ops[k].op != ENG_OP_SET_ROWS &&
            g->p->ops[k].op != ENG_OP_STORE)
            return k;
    }
    return -2;
}

int pg_unary(generator *g, int x)
{
    static const int64_t kinds[] = {ENG_UNARY_SILU, ENG_UNARY_GELU, ENG_UNARY_SIGMOID, ENG_UNARY_TANH, ENG_UNARY_NEG};
    int64_t ip[] = {kinds[pg_pick(g, 5)]};
    x = rows(g, x);
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
    const eng_tensor *t = pg_get(g, x);
    int64_t ne[ENG_MAX_RANK];

    if (op != ENG_OP_DIV && pg_pick(g, 2)) { /* another value of the same shape */
        for (int tries = 0; tries < 20; tries++) {
            int y = some(g);
            if (memcmp(pg_get(g, y)->ne, pg_get(g, x)->ne, sizeof ne) == 0)
                return OP(op, x, y);
        }
    }
    t = pg_get(g, x);
    for (int d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = pg_pick(g, 3) ? t->ne[d] : 1;
    uint32_t use = pg_pick(g, 2) ? ENG_USE_WEIGHT : ENG_USE_INPUT;
    int y = pg_add_tensor(g, ENG_TYPE_F32, use, ne, 4);
    if (op == ENG_OP_DIV) {
        pg_tensor_of(g, y)->offset = 2;
        pg_tensor_of(g, y)->scale = 0.5f;
    }
    return OP(op, x, y);
}

static int product(generator *g, int x)
{
    static const int64_t rows_of[] = {24, 48, 12, 30, 16, 7, 96, 64};
    static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0};
    x = rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    int64_t k = t->ne[0], p = t->ne[2], q = t->ne[3];
    uint32_t type = types[pg_pick(g, 5)];
    if (k % 32)
        type = pg_pick(g, 2) ? ENG_TYPE_F32 : ENG_TYPE_F16;
    if (pg_pick(g, 4) == 0 && p > 1) { /* batched or broadcast over groups */
        for (int64_t f = p; f > 1; f--)
            if (p % f == 0 && pg_pick(g, 2))
                p = f;
    } else {
        p = q = 1;
    }
    if (t->ne[3] % q || t->ne[2] % p || t->ne[4] != 1)
        return pg_unary(g, x);
    uint32_t use = ENG_USE_WEIGHT | (p == 1 && pg_pick(g, 2) ? ENG_USE_MATRIX : 0);
    int64_t ne[] = {k, rows_of[pg_pick(g, 8)], p, q};
    int w = pg_add_tensor(g, type, use, ne, 4);
    pg_tensor_of(g, w)->scale = 0.3f;
    return bounded(g, OP(ENG_OP_MUL_MAT, w, x));
}

static int product_of_values(generator *g, int x)
{
    x = rows(g, x);
    for (int tries = 0; tries < 30; tries++) {
        int a = some(g);
        const eng_tensor *s = pg_get(g, a), *t = pg_get(g, x);
        if (s->ne[0] == t->ne[0] && s->nb[0] == 4 && s->ne[4] == 1 && t->ne[4] == 1 && t->ne[2] % s->ne[2] == 0 &&
            t->ne[3] % s->ne[3] == 0 && s->ne[1] * pg_count_of(t) / t->ne[0] < MAX_ELEMENTS)
            return bounded(g, OP(ENG_OP_MUL_MAT, a, x));
    }
    return pg_unary(g, x);
}

int pg_norm(generator *g, int x)
{
    double eps[] = {1e-5};
    x = rows(g, x);
    int64_t n = pg_get(g, x)->ne[0];
    switch (pg_pick(g, 5)) {
    case 0:
        return OPF(ENG_OP_L2_NORM, eps, x);
    case 1: {
        int w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, &n, 1);
        int b = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, &n, 1);
        return OPF(ENG_OP_NORM, eps, x, w, b);
    }
    case 2: {
        double fp[] = {0.5, 0};
        return n > 200 || pg_get(g, x)->ne[4] != 1 ? pg_unary(g, x) : OPF(ENG_OP_SOFT_MAX, fp, x);
    }
    case 3: {
        int64_t ip[] = {1};
        while (n % (ip[0] * 2) == 0 && ip[0] < 64 && pg_pick(g, 4))
            ip[0] *= 2;
        return OPI(ENG_OP_HADAMARD, ip, x);
    }
    default: {
        int w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, &n, 1);
        return OPF(ENG_OP_RMS_NORM, eps, x, w);
    }
    }
}

static int group_norm(generator *g, int x)
{
    int64_t ip[] = {1 + pg_pick(g, 3)};
    double fp[] = {1e-5};
    if (ip[0] > pg_get(g, x)->ne[2])
        ip[0] = pg_get(g, x)->ne[2];
    x = rows(g, x);
    if (pg_get(g, x)->ne[4] != 1)
        return pg_unary(g, x);
    return pg_add_op(g, ENG_OP_GROUP_NORM, &x, 1, ip, 1, fp, 1);
}

static int reshape(generator *g, int x)
{
    int64_t ne[ENG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    x = contiguous(g, x);
    const eng_tensor *t = pg_get(g, x);
    int64_t left = pg_count_of(t);
    if (pg_pick(g, 2)) { /* split or join neighbours: what models do */
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
        int y = some(g), d = 0;
        const eng_tensor *s = pg_get(g, x), *t = pg_get(g, y);
        while (d < ENG_MAX_RANK && (d == ip[0] || s->ne[d] == t->ne[d]))
            d++;
        if (d == ENG_MAX_RANK && pg_count_of(s) + pg_count_of(t) < MAX_ELEMENTS) {
            x = rows(g, x);
            return OPI(ENG_OP_CONCAT, ip, x, rows(g, y));
        }
    }
    return pg_unary(g, x);
}

static int resize(generator *g, int x)
{
    int64_t ip[16] = {0};
    if (pg_count_of(pg_get(g, x)) > MAX_ELEMENTS / 4)
        return slice(g, x);
    x = rows(g, x);
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

static int glu(generator *g, int x)
{
    static const int64_t kinds[] = {ENG_GLU_REGLU, ENG_GLU_GEGLU, ENG_GLU_SWIGLU};
    int64_t ip[] = {kinds[pg_pick(g, 3)], pg_pick(g, 2)};
    x = rows(g, x);
    if (pg_get(g, x)->ne[0] % 2 == 0 && pg_pick(g, 2))
        return OPI(ENG_OP_GLU, ip, x);
    int y = pg_unary(g, x);
    ip[1] = 0;
    return OPI(ENG_OP_GLU, ip, x, y);
}

static int rows_by_index(generator *g, int x)
{
    x = rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    if (pg_pick(g, 2) || t->ne[4] != 1) { /* a table of its own */
        int64_t ne[] = {24 << pg_pick(g, 2), 30};
        int table = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, ne, 2);
        return OP(ENG_OP_GET_ROWS, table, add_indices(g, 5, 1, 30));
    }
    int64_t v = t->ne[1], ne[] = {1 + pg_pick(g, 6), t->ne[2], t->ne[3]};
    int ids = pg_add_tensor(g, ENG_TYPE_I32, ENG_USE_INPUT, ne, 3);
    pg_tensor_of(g, ids)->below = v;
    return OP(ENG_OP_GET_ROWS, x, ids);
}

static int experts(generator *g, int x)
{
    x = rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    if (t->ne[3] != 1 || t->ne[4] != 1 || t->ne[1] > 8 || t->ne[2] > 32)
        return pg_unary(g, x);
    int64_t u = t->ne[1] == 1 ? 1 + pg_pick(g, 3) : t->ne[1], ne[] = {t->ne[0], pg_pick(g, 2) ? 24 : 20, 4};
    int64_t tokens = t->ne[2];
    int w = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_WEIGHT, ne, 3);
    pg_tensor_of(g, w)->scale = 0.3f;
    return bounded(g, OP(ENG_OP_MUL_MAT_ID, w, x, add_indices(g, u, tokens, 4)));
}

static int scale(generator *g, int x)
{
    double fp[] = {0.5 + (double)pg_pick(g, 3) * 0.4, pg_pick(g, 3) ? 0 : 0.25};
    return OPF(ENG_OP_SCALE, fp, rows(g, x));
}

static int sum_rows(generator *g, int x)
{
    double fp[] = {0.1, 0};
    x = OP(ENG_OP_SUM_ROWS, rows(g, x));
    return OPF(ENG_OP_SCALE, fp, x);
}

static int rope(generator *g, int x)
{
    x = rows(g, x);
    const eng_tensor *t = pg_get(g, x);
    if (t->ne[0] % 2 || t->ne[4] != 1)
        return pg_unary(g, x);
    int64_t ip[] = {t->ne[0], pg_pick(g, 2) ? ENG_ROPE_NEOX : ENG_ROPE_NORMAL}, n = t->ne[2];
    double fp[] = {10000, 1, 0, 1, 32, 1};
    int in[] = {x, pg_add_tensor(g, ENG_TYPE_I32, ENG_USE_INPUT, &n, 1)};
    pg_tensor_of(g, in[1])->below = 50;
    return pg_add_op(g, ENG_OP_ROPE, in, 2, ip, 2, fp, 6);
}

/* -- programs ---------------------------------------------------------------------------------- */

static void one_more(generator *g)
{
    int x = some(g);
    if (pg_count_of(pg_get(g, x)) > MAX_ELEMENTS)
        x = slice(g, x);
    switch (pg_pick(g, 24)) {
    case 0: case 1: case 2:
        product(g, x);
        return;
    case 3:
        product_of_values(g, x);
        return;
    case 4: case 5:
        binary(g, x);
        return;
    case 6: case 7:
        pg_norm(g, x);
        return;
    case 8: case 9:
        reshape(g, x);
        return;
    case 10:
        permute(g, x);
        return;
    case 11:
        slice(g, x);
        return;
    case 12:
        concat(g, x);
        return;
    case 13:
        resize(g, x);
        return;
    case 14:
        glu(g, x);
        return;
    case 15:
        rows_by_index(g, x);
        return;
    case 16:
        experts(g, x);
        return;
    case 17:
        scale(g, g->p->n_ops && pg_pick(g, 2) ? product(g, x) : x);
        return;
    case 18:
        sum_rows(g, x);
        return;
    case 19:
        rope(g, x);
        return;
    case 20:
        group_norm(g, x);
        return;
    case 21:
        switch (pg_pick(g, 5)) {
        case 0: pg_attention(g); return;
        case 3: case 4: pg_in_place(g, x); return;
        case 1: pg_delta_net(g); return;
        default: pg_convolution(g); return;
        }
    default:
        pg_unary(g, x);
        return;
    }
}

/* Results go to outputs; values that could be huge are bounded first. */
static void store_some(generator *g, uint32_t n)
{
    uint32_t made = g->p->n_ops;
    for (uint32_t i = 0; i < n; i++) {
        int x = i == 0 && made ? (int)made - 1 : some(g);
        if (x < 0 || (uint32_t)x >= made || g->values[x] < 0 || pg_get(g, x)->type != ENG_TYPE_F32 ||
            g->p->ops[x].op == ENG_OP_SET_ROWS)
            continue;
        const eng_tensor *t = pg_get(g, x);
        int64_t ne[ENG_MAX_RANK];
        memcpy(ne, t->ne, sizeof ne);
        int out = pg_add_tensor(g, ENG_TYPE_F32, ENG_USE_OUTPUT, ne, ENG_MAX_RANK);
        OP(ENG_OP_STORE, out, x);
    }
}

bool pg_make(eng_context *context, uint64_t seed, uint32_t nodes, uint32_t keep, bool overrides, pg_program *p)
{
    static const int64_t first[][3] = {{24, 5, 1}, {48, 4, 1}, {64, 7, 1}, {96, 3, 1}, {12, 6, 4}, {32, 8, 2}};
    generator gen = {.p = p, .context = context, .state = seed * 77 + 5}, *g = &gen;
    bool good = false;

    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->overrides = overrides;
    if (eng_device_open(context, "cpu", &g->device) != ENG_OK || eng_graph_create(context, 0, &g->graph) != ENG_OK)
        goto end;
    for (int i = 0; i < 4; i++) {
        const int64_t *ne = first[pg_pick(g, 6)];
        pg_add_tensor(g, ENG_TYPE_F32, i < 2 ? ENG_USE_INPUT : ENG_USE_STATE, ne, 3);
    }
    while (p->n_ops < nodes && p->n_ops < keep && p->n_tensors < PG_MAX_TENSORS - 40) {
        one_more(g);
        if (g->values[p->n_ops - 1] == ENG_BAD_VALUE)
            break;
    }
    store_some(g, 8);
    good = eng_graph_seal(g->graph) == ENG_OK;
end:
    eng_graph_destroy(g->graph);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        eng_store_destroy(g->stores[i]);
    eng_device_close(g->device);
    return good;
}
