/*
 * mul_mat.  The space of the product is (m, n, r, p, s, q): row of a, column of
 * b, and the four parts of the two outer dimensions.  It is first cut where a's
 * pieces end, then where those of b and of the result do.
 */
#include "hot.h"
#include "variant.h"

enum { DIM_M = 1, DIM_N, DIM_R, DIM_P, DIM_S, DIM_Q };

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const int64_t columns = cl_ne(cl_in(g, node, 1), 1);
    const cl_variant *v = cl_variant_find(device, node, cl_in(g, node, 0), columns);
    if (!v)
        return cl_no(reason, bytes, "no kernel suits groups of %zu work-items", device->max_group);
    if (v->slow)
        return cl_slow(reason, bytes, "groups have %zu work-items, the tiles of a product need 256: the matrix is read "
                       "for each %lld of %lld columns", device->max_group, (long long)v->columns, (long long)columns);
    return ENG_SUPPORT_YES;
}

/* An operand of a launch: where it lies, or where it lies packed, and its strides. */
typedef struct operand {
    bool packed;
    uint64_t at;
    int64_t row, nb[4];
} operand;

static operand in_place(const cl_walk *part, unsigned i, unsigned dim)
{
    operand x = {.row = part->nb[i][dim]};
    memcpy(x.nb, &part->nb[i][DIM_R], sizeof x.nb);
    return x;
}

static void arg(cl_recorder *r, const cl_walk *part, unsigned i, const operand *x)
{
    if (x->packed)
        cl_arg_temporary(r, x->at);
    else
        cl_arg_walk(r, part, i);
}

/* The numbers of all kernels. */
static void numbers(cl_recorder *r, const cl_walk *part, const operand *a, const operand *b, const operand *o)
{
    cl_arg_long(r, cl_ne(eng_subgraph_tensor(r->graph, part->tensor[0]), 0));
    cl_arg_long(r, part->ne[DIM_M]);
    cl_arg_long(r, part->ne[DIM_N]);
    cl_arg_long(r, a->row);
    cl_arg_long(r, b->row);
    cl_arg_long(r, o->row);
    cl_arg_long4(r, &part->ne[DIM_R]);
    cl_arg_long4(r, a->nb);
    cl_arg_long4(r, b->nb);
    cl_arg_long4(r, o->nb);
}

/* Strides of what lies densely along (r, p, s, q), `bytes` each. */
static void dense(const cl_walk *part, int64_t bytes, int64_t nb[4])
{
    for (int i = 0; i < 4; i++) {
        nb[i] = bytes;
        bytes *= part->ne[DIM_R + i];
    }
}

static int64_t batch_of(const cl_walk *part)
{
    return part->ne[DIM_R] * part->ne[DIM_P] * part->ne[DIM_S] * part->ne[DIM_Q];
}

/* Fewer tiles than compute units have place for at once, two each, or one of the largest: so many share k, each at least LEAST_K
 * of it. */
enum { LEAST_K = 256, MOST_PARTS = 8, LARGEST = 256 * 128 };
static int64_t parts_of(const cl_device *device, const cl_variant *v, int64_t tiles, int64_t k)
{
    const int64_t place = (v->rows * v->columns < LARGEST ? 2 : 1) * (int64_t)device->compute_units;
    return !tiles ? 1 : cl_max(1, cl_min(cl_min(MOST_PARTS, place / tiles), k / LEAST_K));
}

/* Tiles on a card, and what adds up the parts of k, of which a unit is so many elements.  scales: see halves.clh. */
static void launch_parts(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options, const operand *a,
                         const operand *b, int64_t unit, int64_t scales)
{
    const int64_t m = part->ne[DIM_M], n = part->ne[DIM_N], batch = batch_of(part), columns = v->columns;
    const int64_t k = cl_ne(eng_subgraph_tensor(r->graph, part->tensor[0]), 0), units = cl_ceil(k, unit);
    const int64_t parts = parts_of(r->device, v, cl_ceil(m, v->rows) * cl_ceil(n, columns) * batch, k);
    const operand o = in_place(part, 2, DIM_N);
    operand sums = o;

    if (parts > 1) {
        sums = (operand){.packed = true, .at = cl_temporary(r, (uint64_t)(4 * m * n * batch * parts)), .row = 4 * m};
        dense(part, 4 * m * n, sums.nb);
    }
    cl_launch_variant(r, v, v->kernel, options);
    arg(r, part, 0, a);
    arg(r, part, 1, b);
    arg(r, part, 2, &sums);
    numbers(r, part, a, b, &sums);
    cl_arg_long(r, parts);
    cl_arg_long(r, cl_ceil(units, parts));
    cl_arg_long(r, 4 * m * n * batch);
    if (v->halves)
        cl_arg_long(r, scales);
    cl_size3(r, cl_ceil(m, v->rows) * (int64_t)v->group, v->group, cl_ceil(n, columns), 1, batch * parts, 1);
    if (parts == 1)
        return;
    cl_launch_variant(r, v, "mul_mat_join", options);
    cl_arg_temporary(r, sums.at);
    cl_arg_walk(r, part, 2);
    cl_arg_long(r, m);
    cl_arg_long(r, n);
    cl_arg_long(r, parts);
    cl_arg_long(r, 4 * m * n * batch);
    cl_arg_long(r, o.row);
    cl_arg_long4(r, &part->ne[DIM_R]);
    cl_arg_long4(r, o.nb);
    cl_size3(r, (uint64_t)cl_ceil(cl_ceil(m, 4), (int64_t)v->group) * v->group, v->group, (uint64_t)n, 1, (uint64_t)batch, 1);
}

static void launch_tiles(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options)
{
    const operand a = in_place(part, 0, DIM_M), b = in_place(part, 1, DIM_N);
    launch_parts(r, part, v, options, &a, &b, 16, 0);
}

/* Columns are packed by a launch of their own. */
static cl_columns columns_of(const cl_recorder *r, const cl_walk *part)
{
    cl_columns b = {.tensor = part->tensor[1], .offset = part->offset[1], .n = part->ne[DIM_N], .col = part->nb[1][DIM_N]};
    b.k = cl_ne(eng_subgraph_tensor(r->graph, part->tensor[0]), 0);
    memcpy(b.ext, &part->ne[DIM_R], sizeof b.ext);
    memcpy(b.nb, &part->nb[1][DIM_R], sizeof b.nb);
    return b;
}

static cl_packed pack(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options)
{
    const cl_columns b = columns_of(r, part);
    return cl_pack_columns(r, v, options, &b);
}

static operand packed_operand(const cl_packed *p)
{
    operand x = {.packed = true, .at = p->at, .row = p->col};
    memcpy(x.nb, p->nb, sizeof x.nb);
    return x;
}

/* Rows of the matrix packed as 16-bit numbers (halves.clh) at `at`. */
static operand pack_weights(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options, uint64_t at)
{
    const int64_t k = cl_ne(eng_subgraph_tensor(r->graph, part->tensor[0]), 0), m = part->ne[DIM_M];
    const operand from = in_place(part, 0, DIM_M);
    const int64_t ext[4] = {1, part->ne[DIM_P], 1, part->ne[DIM_Q]};
    operand to = {.packed = true, .at = at, .row = cl_halves_bytes(k)};

    to.nb[1] = m * to.row;
    to.nb[3] = to.nb[1] * part->ne[DIM_P];
    cl_launch_variant(r, v, "halves_weights", options);
    cl_arg_walk(r, part, 0);
    cl_arg_temporary(r, at);
    cl_arg_long(r, k);
    cl_arg_long(r, m);
    cl_arg_long(r, from.row);
    cl_arg_long(r, to.row);
    cl_arg_long4(r, ext);
    cl_arg_long4(r, from.nb);
    cl_arg_long4(r, to.nb);
    cl_size3(r, v->group, v->group, (uint64_t)(v->layout == EU_LANES ? m / EU_LANES : m), 1, (uint64_t)(ext[1] * ext[3]), 1);
    return to;
}

/* Of dimension dim (rows or columns) up to `each` from `first` on. */
static cl_walk stretch(const cl_walk *part, unsigned dim, int64_t first, int64_t each)
{
    cl_walk some = *part;
    some.ne[dim] = cl_min(each, part->ne[dim] - first);
    for (unsigned i = 0; i < some.n; i++)
        some.offset[i] += (uint64_t)(first * some.nb[i][dim]);
    return some;
}

/* Of the matrix so many rows at a time as take CL_MOST_HALVES packed: a cache may still have them when they are read. */
static void launch_packed(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const cl_columns columns = columns_of(r, part);
    const int64_t m = part->ne[DIM_M];
    int64_t scales;
    const cl_packed packed = cl_pack_halves(r, v, options, a->type, &columns, false, &scales);
    const operand b = packed_operand(&packed), rows = in_place(part, 0, DIM_M);
    if (cl_has_halves(v, a)) {
        launch_parts(r, part, v, options, &rows, &b, CL_HALVES_K, scales);
        return;
    }
    const int64_t row = cl_max(1, cl_halves_bytes(cl_ne(a, 0)) * part->ne[DIM_P] * part->ne[DIM_Q]);
    const int64_t each = cl_min(m, cl_max(1, CL_MOST_HALVES / row / v->rows) * v->rows);
    const uint64_t at = cl_temporary(r, (uint64_t)(each * row));
    for (int64_t first = 0; first < m; first += each) {
        const cl_walk some = stretch(part, DIM_M, first, each);
        const operand weights = pack_weights(r, &some, v, options, at);
        launch_parts(r, &some, v, options, &weights, &b, CL_HALVES_K, scales);
    }
}

/* Of the columns as many at a time. */
static void launch_halves(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const int64_t n = part->ne[DIM_N], tile = v->columns * cl_halves_column_bytes(v, a->type, cl_ne(a, 0)) * batch_of(part);
    const int64_t each = cl_max(1, CL_MOST_HALVES / cl_max(1, tile)) * v->columns;
    cl_rounds rounds = cl_rounds_begin(r);
    for (int64_t first = 0; first < n; first += each) {
        const cl_walk some = stretch(part, DIM_N, first, each);
        cl_rounds_again(r, &rounds);
        launch_packed(r, &some, v, options);
    }
    cl_rounds_end(r, &rounds);
}

/* Weights in lanes: columns are packed in planes, so many at a time as take CL_MOST_HALVES. */
enum { PLANES_K = 256 };
static void launch_planes(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const bool minima = CL_MINIMA & CL_TYPE_BIT(a->type);
    const int64_t n = part->ne[DIM_N], tile = v->columns * cl_planes_bytes(v, cl_ne(a, 0), minima) * batch_of(part);
    const int64_t each = cl_max(1, CL_MOST_HALVES / tile) * v->columns;
    cl_rounds rounds = cl_rounds_begin(r);
    const operand rows = in_place(part, 0, DIM_M);

    for (int64_t first = 0; first < n; first += each) {
        const cl_walk some = stretch(part, DIM_N, first, each);
        const cl_columns columns = columns_of(r, &some);
        cl_rounds_again(r, &rounds);
        const cl_packed packed = cl_pack_planes(r, v, options, &columns, minima);
        const operand b = packed_operand(&packed);
        launch_parts(r, &some, v, options, &rows, &b, PLANES_K, 0);
    }
    cl_rounds_end(r, &rounds);
}

/* Strips on a processor (strips.clh): every strip of rows meets as many columns as leaves each compute unit something to
 * do. */
enum { LEAST_COLS = 96, MOST_COLS = 384 };
static int64_t columns_of_strip(const cl_device *device, const cl_variant *v, int64_t n, int64_t strips)
{
    const int64_t most = cl_ceil(n, LEAST_COLS), wanted = cl_ceil(4 * (int64_t)device->compute_units, cl_max(1, strips));
    const int64_t parts = cl_max(cl_ceil(n, MOST_COLS), cl_min(most, wanted));
    return cl_ceil(cl_ceil(n, parts), cl_pack_cols(v)) * cl_pack_cols(v);
}

static void launch_strips(cl_recorder *r, const cl_walk *part, const cl_variant *v, const char *options)
{
    const int64_t n = part->ne[DIM_N], batch = batch_of(part), strips = cl_ceil(part->ne[DIM_M], v->rows);
    const int64_t each = columns_of_strip(r->device, v, n, strips * batch);
    const cl_packed packed = pack(r, part, v, options);

    cl_launch_variant(r, v, v->kernel, options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, part, i);
    const operand a = in_place(part, 0, DIM_M), b = in_place(part, 1, DIM_N), o = in_place(part, 2, DIM_N);
    numbers(r, part, &a, &b, &o);
    cl_arg_long(r, each);
    cl_arg_temporary(r, packed.at);
    cl_arg_long4(r, packed.nb);
    cl_arg_long(r, packed.col);
    cl_size3(r, strips, 1, cl_ceil(n, each), 1, batch, 1);
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const eng_tensor *b = eng_subgraph_tensor(r->graph, part->tensor[1]);
    const cl_variant *v = cl_variant_find(r->device, r->node, a, part->ne[DIM_N]);
    const int64_t m = part->ne[DIM_M], n = part->ne[DIM_N], batch = batch_of(part);
    const int64_t rows = cl_variant_rows(r->device, v, m * batch, cl_row_bytes(a));
    char options[CL_OPTIONS + 64];
    (void)ctx;

    cl_variant_options(r->device, v, a, b->type, options);
    if (v->planes || v->halves || v->parts || (v->packed && !v->several)) {
        (v->halves ? launch_halves : v->planes ? launch_planes : v->packed ? launch_strips : launch_tiles)(r, part, v, options);
        return;
    }
    const cl_packed packed = v->packed ? pack(r, part, v, options) : (cl_packed){0};
    cl_launch_variant(r, v, v->kernel, options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, part, i);
    const operand rows_of_a = in_place(part, 0, DIM_M), columns = in_place(part, 1, DIM_N), o = in_place(part, 2, DIM_N);
    numbers(r, part, &rows_of_a, &columns, &o);
    if (v->several)
        cl_arg_long(r, rows);
    if (v->packed) {
        cl_arg_temporary(r, packed.at);
        cl_arg_long4(r, packed.nb);
    }
    cl_size3(r, cl_ceil(m, rows) * (int64_t)v->group, v->group, v->columns ? cl_ceil(n, v->columns) : 1, 1, batch, 1);
}

/* Part of a that lies in one piece: now b and the result. */
static void inner(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const cl_walk *all = ctx;
    cl_walk w = *all;
    for (unsigned d = 0; d < ENG_MAX_RANK; d++) {
        if (d != DIM_M && d != DIM_P && d != DIM_Q)
            continue;
        w.ne[d] = part->ne[d];
        w.first[d] = part->first[d];
        for (unsigned i = 0; i < w.n; i++)
            w.offset[i] += (uint64_t)part->first[d] * (uint64_t)w.nb[i][d];
    }
    cl_walk_run(r, &w, ENG_MAX_RANK, launch, NULL);
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *a = cl_in(r->graph, node, 0), *b = cl_in(r->graph, node, 1), *o = cl_out(r->graph, node, 0);
    cl_walk w = {.ne = {1, cl_ne(o, 0), cl_ne(o, 1), 1, cl_ne(a, 2), 1, cl_ne(a, 3), 1}};

    w.ne[DIM_R] = cl_ne(o, 2) / cl_ne(a, 2);
    w.ne[DIM_S] = cl_ne(o, 3) / cl_ne(a, 3);
    cl_walk_operand(&w, node->in[0], cl_row_bytes(a));
    cl_walk_operand(&w, node->in[1], cl_row_bytes(b));
    cl_walk_operand(&w, node->out[0], 4);
    w.nb[0][DIM_M] = cl_nb(a, 1);
    w.nb[0][DIM_P] = cl_nb(a, 2);
    w.nb[0][DIM_Q] = cl_nb(a, 3);
    const eng_tensor *t[3] = {a, b, o};
    for (unsigned i = 1; i < 3; i++) {
        w.nb[i][DIM_N] = cl_nb(t[i], 1);
        w.nb[i][DIM_R] = cl_nb(t[i], 2);
        w.nb[i][DIM_P] = cl_nb(t[i], 2) * w.ne[DIM_R];
        w.nb[i][DIM_S] = cl_nb(t[i], 3);
        w.nb[i][DIM_Q] = cl_nb(t[i], 3) * w.ne[DIM_S];
    }
    w.nb[2][DIM_M] = 4;

    cl_walk pieces = w; /* of a alone, the dimensions that do not move it left out */
    pieces.n = 1;
    pieces.ne[DIM_N] = pieces.ne[DIM_R] = pieces.ne[DIM_S] = 1;
    return cl_walk_run(r, &pieces, ENG_MAX_RANK, inner, &w);
}

const cl_op cl_op_mul_mat = {.supports = supports, .record = record};
