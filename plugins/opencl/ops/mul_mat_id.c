/* mul_mat_id: one launch for every piece of the experts. */
#include "hot.h"
#include "rows.h"
#include "variant.h"

enum { DIM_M = 1, DIM_E = 2 };

typedef struct whole {
    const eng_tensor *a, *b, *ids, *o;
} whole;

/* See variants.c. */
static const cl_variant *variant(cl_device *device, const eng_subgraph *g, const eng_node *node)
{
    const eng_tensor *a = cl_in(g, node, 0), *o = cl_out(g, node, 0);
    const int64_t tokens = cl_ne(o, 2), even = cl_ne(o, 1) * tokens / cl_max(1, cl_ne(a, 2));
    return cl_variant_find(device, node, a, tokens <= 8 ? tokens : cl_max(9, even));
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *o = cl_out(g, node, 0), *single[] = {cl_in(g, node, 1), cl_in(g, node, 2), o};
    for (unsigned i = 0; i < 3; i++) {
        cl_split s;
        if (cl_split_of(device, g, single[i], &s) != ENG_OK || s.n > 1)
            return cl_no(reason, bytes, "'%s' does not fit one allocation of %llu bytes; raise opencl.max_alloc",
                         single[i]->name, (unsigned long long)device->max_alloc);
    }
    const cl_variant *v = variant(device, g, node);
    if (!v)
        return cl_no(reason, bytes, "no kernel suits groups of %zu work-items", device->max_group);
    if (v->slow)
        return cl_slow(reason, bytes, "groups have %zu work-items, the tiles of a product need 256: experts are read for "
                       "each of %lld tokens", device->max_group, (long long)cl_ne(o, 2));
    return ENG_SUPPORT_YES;
}

/* Tokens that a launch is for: all, or as many as leave their packed columns a size that can be had. */
typedef struct tokens {
    int64_t first, n;
} tokens;

/* Columns that a token's experts have: one for all, or each its own. */
static int64_t places_of(const whole *x)
{
    return cl_nb(x->b, 1) ? cl_ne(x->b, 1) : 1;
}

static cl_columns columns_of(const cl_recorder *r, const whole *x, tokens t)
{
    return (cl_columns){.tensor = r->node->in[1], .offset = (uint64_t)(t.first * cl_nb(x->b, 2)), .k = cl_ne(x->a, 0), .n = t.n,
                        .col = cl_nb(x->b, 2), .ext = {places_of(x), 1, 1, 1}, .nb = {cl_nb(x->b, 1)}};
}

/* Operands, then numbers, of what multiplies experts of `part`. */
static void operands(cl_recorder *r, const cl_walk *part, const whole *x, tokens t)
{
    const int32_t *in = r->node->in;
    cl_arg_walk(r, part, 0);
    cl_arg_tensor(r, in[1], (uint64_t)(t.first * cl_nb(x->b, 2)));
    cl_arg_tensor(r, in[2], (uint64_t)(t.first * cl_nb(x->ids, 1)));
    cl_arg_tensor(r, r->node->out[0], (uint64_t)(part->first[DIM_M] * 4 + t.first * cl_nb(x->o, 2)));
    cl_arg_long(r, cl_ne(x->a, 0));
    cl_arg_long(r, part->ne[DIM_M]);
    cl_arg_long(r, cl_ne(x->o, 1));
    cl_arg_long(r, t.n);
    cl_arg_long(r, part->first[DIM_E]);
    cl_arg_long(r, part->ne[DIM_E]);
    cl_arg_long(r, cl_ne(x->a, 2));
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->a, 1), cl_nb(x->a, 2)});
    cl_arg_long4(r, (int64_t[4]){cl_ne(x->b, 1) == 1 ? 0 : cl_nb(x->b, 1), cl_nb(x->b, 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->ids, 0), cl_nb(x->ids, 1)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->o, 1), cl_nb(x->o, 2)});
}

/* Strips on a processor (mul_mat_id_strips.cl): pairs of token and place sorted by expert, columns packed in that order. */
enum { MOST_NARROW = 16, MOST_PACKED = 128 << 20 };
static void launch_sorted(cl_recorder *r, const cl_walk *part, const whole *x, const cl_variant *v, const char *options)
{
    const int64_t k = cl_ne(x->a, 0), u = cl_ne(x->o, 1), count = part->ne[DIM_E], groups = cl_ceil(k, 32);
    const int64_t x_col = groups * v->packed, most = cl_max(1, MOST_PACKED / cl_max(1, x_col * u));
    const int64_t n = cl_ne(x->o, 2), each = cl_ceil(n, cl_max(1, cl_ceil(n, most))), columns = u * each + MOST_NARROW * count;
    const uint64_t list = cl_temporary(r, (uint64_t)(4 * (2 * count + 1 + columns)));
    const uint64_t packed = cl_temporary(r, (uint64_t)(columns * x_col));
    for (tokens t = {.n = each}; t.first < n; t.first += each) {
        t.n = cl_min(each, n - t.first);
        cl_launch_variant(r, v, "experts_list", options);
        cl_arg_tensor(r, r->node->in[2], (uint64_t)(t.first * cl_nb(x->ids, 1)));
        cl_arg_temporary(r, list);
        cl_arg_long(r, u);
        cl_arg_long(r, t.n);
        cl_arg_long(r, part->first[DIM_E]);
        cl_arg_long(r, count);
        cl_arg_long4(r, (int64_t[4]){cl_nb(x->ids, 0), cl_nb(x->ids, 1)});
        cl_size1(r, 1, 1);
        cl_launch_variant(r, v, "experts_pack", options);
        cl_arg_tensor(r, r->node->in[1], (uint64_t)(t.first * cl_nb(x->b, 2)));
        cl_arg_temporary(r, list);
        cl_arg_temporary(r, packed);
        cl_arg_long(r, k);
        cl_arg_long(r, u);
        cl_arg_long(r, count);
        cl_arg_long4(r, (int64_t[4]){cl_ne(x->b, 1) == 1 ? 0 : cl_nb(x->b, 1), cl_nb(x->b, 2)});
        cl_arg_long(r, x_col);
        cl_size2(r, (uint64_t)count, 1, (uint64_t)cl_ceil(groups, CL_PACK_GROUPS), 1);
        cl_launch_variant(r, v, v->kernel, options);
        operands(r, part, x, t);
        cl_arg_temporary(r, list);
        cl_arg_temporary(r, packed);
        cl_arg_long(r, x_col);
        cl_size2(r, (uint64_t)cl_ceil(part->ne[DIM_M], v->rows), 1, (uint64_t)count + 1, 1);
    }
}

/* The list of kernels/experts_list.clh, of so many experts and pairs. */
static uint64_t list_of(cl_recorder *r, int64_t experts, int64_t pairs)
{
    return cl_temporary(r, (uint64_t)(4 * (2 * experts + 2 * pairs)));
}

static void launch_list(cl_recorder *r, const cl_walk *part, const whole *x, const cl_variant *v, const char *options, tokens t,
                        uint64_t list)
{
    cl_launch_variant(r, v, "experts_list", options);
    cl_arg_tensor(r, r->node->in[2], (uint64_t)(t.first * cl_nb(x->ids, 1)));
    cl_arg_temporary(r, list);
    cl_arg_long(r, cl_ne(x->o, 1));
    cl_arg_long(r, t.n);
    cl_arg_long(r, part->first[DIM_E]);
    cl_arg_long(r, part->ne[DIM_E]);
    cl_arg_long(r, places_of(x));
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->ids, 0), cl_nb(x->ids, 1)});
    cl_size2(r, v->group, v->group, (uint64_t)part->ne[DIM_E], 1);
}

/* Weights in lanes by a matrix unit (mul_mat_id_lanes.cl): columns are packed in planes, of so many tokens at a time as take
 * CL_MOST_HALVES. */
static void launch_planes(cl_recorder *r, const cl_walk *part, const whole *x, const cl_variant *v, const char *options)
{
    const bool minima = CL_MINIMA & CL_TYPE_BIT(x->a->type);
    const int64_t n = cl_ne(x->o, 2), col = cl_gathered_bytes(v, cl_ne(x->a, 0), minima), of_token = col * places_of(x);
    const int64_t each = cl_min(n, cl_max(1, CL_MOST_HALVES / cl_max(1, of_token)));
    const uint64_t list = list_of(r, part->ne[DIM_E], cl_ne(x->o, 1) * each);
    const uint64_t at = cl_temporary(r, (uint64_t)(each * of_token));
    for (tokens t = {.n = each}; t.first < n; t.first += each) {
        t.n = cl_min(each, n - t.first);
        const cl_columns columns = columns_of(r, x, t);
        cl_pack_gathered(r, v, options, &columns, minima, at);
        launch_list(r, part, x, v, options, t, list);
        cl_launch_variant(r, v, v->kernel, options);
        operands(r, part, x, t);
        cl_arg_temporary(r, list);
        cl_arg_temporary(r, at);
        cl_arg_long(r, col);
        cl_size2(r, cl_ceil(part->ne[DIM_M], v->rows) * (int64_t)v->group, v->group, (uint64_t)part->ne[DIM_E] + 1, 1);
    }
}

/* By a matrix unit (mul_mat_id_halves.cl): pairs are listed by expert, columns packed once, and of the weights those of so
 * many experts at a time as take CL_MOST_HALVES. */
static void launch_packed(cl_recorder *r, const cl_walk *part, const whole *x, const cl_variant *v, const char *options, tokens t)
{
    const int64_t k = cl_ne(x->a, 0), m = part->ne[DIM_M], u = cl_ne(x->o, 1), all = part->ne[DIM_E];
    const int64_t row = cl_halves_bytes(k);
    const cl_columns columns = columns_of(r, x, t);
    const bool in_place = cl_has_halves(v, x->a);
    const int64_t each = in_place ? all : cl_min(all, cl_max(1, CL_MOST_HALVES / cl_max(1, row * m)));
    const uint64_t list = list_of(r, all, u * t.n);
    const uint64_t weights = in_place ? 0 : cl_temporary(r, (uint64_t)(each * m * row));
    int64_t scales;
    const cl_packed packed = cl_pack_halves(r, v, options, x->a->type, &columns, true, &scales);

    launch_list(r, part, x, v, options, t, list);
    for (int64_t from = 0; from < all; from += each) {
        cl_walk some = *part;
        some.ne[DIM_E] = cl_min(each, all - from);
        some.first[DIM_E] += from;
        some.offset[0] += (uint64_t)(from * some.nb[0][DIM_E]);
        if (!in_place) {
            cl_launch_variant(r, v, "experts_weights", options);
            cl_arg_walk(r, &some, 0);
            cl_arg_temporary(r, list);
            cl_arg_temporary(r, weights);
            cl_arg_long(r, k);
            cl_arg_long(r, m);
            cl_arg_long(r, some.ne[DIM_E]);
            cl_arg_long(r, from);
            cl_arg_long4(r, (int64_t[4]){cl_nb(x->a, 1), cl_nb(x->a, 2)});
            cl_size3(r, v->group, v->group, (uint64_t)(v->layout == EU_LANES ? m / EU_LANES : m), 1, (uint64_t)some.ne[DIM_E], 1);
        }
        cl_launch_variant(r, v, v->kernel, options);
        operands(r, &some, x, t);
        cl_arg_temporary(r, list);
        if (in_place)
            cl_arg_walk(r, &some, 0);
        else
            cl_arg_temporary(r, weights);
        cl_arg_temporary(r, packed.at);
        cl_arg_long(r, all);
        cl_arg_long(r, from);
        cl_arg_long(r, in_place ? cl_nb(x->a, 1) : row);
        cl_arg_long(r, in_place ? cl_nb(x->a, 2) : row * m);
        cl_arg_long(r, scales);
        cl_size2(r, cl_ceil(m, v->rows) * (int64_t)v->group, v->group, (uint64_t)some.ne[DIM_E] + 1, 1);
    }
}

/* Of the tokens as many at a time. */
static void launch_halves(cl_recorder *r, const cl_walk *part, const whole *x, const cl_variant *v, const char *options)
{
    const int64_t n = cl_ne(x->o, 2), of_token = cl_halves_column_bytes(v, x->a->type, cl_ne(x->a, 0)) * places_of(x);
    const int64_t each = cl_max(1, CL_MOST_HALVES / cl_max(1, of_token));
    cl_rounds rounds = cl_rounds_begin(r);
    for (tokens t = {.n = each}; t.first < n; t.first += each) {
        t.n = cl_min(each, n - t.first);
        cl_rounds_again(r, &rounds);
        launch_packed(r, part, x, v, options, t);
    }
    cl_rounds_end(r, &rounds);
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const whole *x = ctx;
    const int64_t m = part->ne[DIM_M], e = part->ne[DIM_E], u = cl_ne(x->o, 1), n = cl_ne(x->o, 2);
    const tokens all = {.n = n};
    const cl_variant *v = variant(r->device, r->graph, r->node);
    char options[CL_OPTIONS + 64];

    cl_variant_options(r->device, v, x->a, ENG_TYPE_F32, options);
    if (v->sorted || v->halves || v->planes) {
        (v->halves ? launch_halves : v->planes ? launch_planes : launch_sorted)(r, part, x, v, options);
        return;
    }
    const cl_columns columns = columns_of(r, x, all);
    const cl_packed packed = v->packed ? cl_pack_columns(r, v, options, &columns) : (cl_packed){0};
    cl_launch_variant(r, v, v->kernel, options);
    operands(r, part, x, all);
    if (v->packed) {
        cl_arg_temporary(r, packed.at);
        cl_arg_long(r, columns.ext[0]);
    }
    /* An item of the second dimension is a pair of token and expert, or an expert; the extra one is for what skipped ids
     * leave (kernels/experts.clh). */
    const bool by_pair = v->columns || (v->family == CL_VEC && u * n > 0 && u * n <= e);
    cl_size2(r, cl_ceil(m, v->rows) * (int64_t)v->group, v->group, by_pair ? u * n : e + 1, 1);
}

static int record(cl_recorder *r, const eng_node *node)
{
    whole x = {cl_in(r->graph, node, 0), cl_in(r->graph, node, 1), cl_in(r->graph, node, 2), cl_out(r->graph, node, 0)};
    cl_walk w = {.ne = {1, cl_ne(x.a, 1), cl_ne(x.a, 2), 1, 1, 1, 1, 1}};

    if (cl_ne(x.a, 2) == 0) /* no expert: each id names none */
        return cl_zero_result(r);
    cl_walk_operand(&w, node->in[0], cl_row_bytes(x.a));
    w.nb[0][DIM_M] = cl_nb(x.a, 1);
    w.nb[0][DIM_E] = cl_nb(x.a, 2);
    return cl_walk_run(r, &w, ENG_MAX_RANK, launch, &x);
}

const cl_op cl_op_mul_mat_id = {.supports = supports, .record = record};
