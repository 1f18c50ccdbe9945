/* gated_delta_net: token by token, or in chunks. */
#include "hot.h"
#include "pool.h"
#include "rows.h"
#include "variant.h"

enum { Q, K, V, GATE, BETA, STATE, SRC, DST, CU };

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_support there = cl_pool_supports(device, g, node, STATE, reason, bytes);
    if (there != ENG_SUPPORT_YES)
        return there;
    const int64_t size = cl_ne(cl_out(g, node, 0), 0);
    if (size > 1024)
        return cl_no(reason, bytes, "heads of %lld channels: at most 1024 work", (long long)size);
    return ENG_SUPPORT_YES;
}

/* What rows of the table ask for. */
static int64_t kind_of(int64_t size, int64_t tokens, bool gates)
{
    if (size > CL_CHUNKS_SIZE)
        return 1;
    return tokens >= CL_CHUNKS_FROM && size % CL_DELTA_TILE == 0 && !gates ? CL_DELTA_ROUND : tokens;
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_subgraph *graph = r->graph;
    const eng_tensor *in[CU + 1], *o = cl_out(graph, node, 0);
    for (unsigned i = 0; i <= CU; i++)
        in[i] = cl_in(graph, node, i);
    const int64_t size = cl_ne(o, 0), heads = cl_ne(o, 1), sequences = cl_ne(in[SRC], 0);
    const int64_t gates = cl_ne(in[GATE], 0) == size && size > 1;
    const int64_t tokens = size > CL_CHUNKS_SIZE ? 1 : cl_ne(o, 2) / cl_max(1, sequences);
    const cl_variant *v = cl_variant_find(r->device, node, in[STATE], kind_of(size, tokens, gates));
    const cl_deal deal = cl_pool_deal(r->device, v->group, size, size * heads * sequences);
    const int64_t columns = v->family == CL_SIMT ? deal.columns
                            : v->parts           ? cl_pool_columns(r->device, v, size, heads * sequences)
                                                 : v->rows;
    /* heads that share keys may be done by one work-item, if that leaves enough of them */
    const int64_t shared = heads / cl_max(1, cl_ne(in[K], 1));
    const int64_t items = heads * sequences * cl_ceil(size, cl_max(1, columns)), most = cl_max(1, v->together);
    const int64_t together = shared % most == 0 && items >= 2 * most * (int64_t)r->device->compute_units ? most : 1;
    cl_split split;
    char options[128];

    if (sequences == 0)
        return cl_zero_result(r);
    if (cl_split_of(r->device, graph, in[STATE], &split) != ENG_OK)
        return r->status;
    int at = snprintf(options, sizeof options, "-DS=%lld -DPIECES=%u", (long long)size, split.n);
    if (v->parts)
        snprintf(options + at, sizeof options - (size_t)at, " -DCOLUMNS=%lld -DPER_KEY=%d -DHEADS=%lld%s", (long long)columns,
                 gates != 0, (long long)together, cl_variant_own(v));
    if (v->family == CL_SIMT)
        snprintf(options + at, sizeof options - (size_t)at,
                 " -DPER_KEY=%d -DTOGETHER=%d -DGROUP=%zu -DPER=%d -DWIDE=%d", gates != 0,
                 !gates && tokens >= CL_TOGETHER && size <= CL_TOGETHER_SIZE, v->group, deal.per, deal.wide);
    cl_launch_variant(r, v, v->kernel, options);
    cl_arg_pool(r, STATE, &split);
    cl_arg_long4(r, (int64_t[4]){cl_ne(o, 2), sequences, cl_ne(in[STATE], 3),
                                 cl_min(node->ip[ENG_GDN_SLOTS], cl_ne(in[DST], 0))});
    cl_arg_long4(r, (int64_t[4]){heads, cl_ne(in[K], 1), node->ip[ENG_GDN_GROUPED], gates});
    for (unsigned i = Q; i <= V; i++)
        cl_arg_long4(r, (int64_t[4]){cl_nb(in[i], 1), cl_nb(in[i], 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(in[GATE], 1), cl_nb(in[GATE], 2), cl_nb(in[BETA], 0), cl_nb(in[BETA], 1)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(o, 1), cl_nb(o, 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(in[STATE], 1), cl_nb(in[STATE], 2), cl_nb(in[STATE], 3)});
    cl_arg_pool_strides(r, STATE, &split);
    cl_arg_float(r, (float)(1.0 / __builtin_sqrt((double)size)));
    cl_size3(r, cl_ceil(size, columns) * (int64_t)v->group, v->group, heads / together, 1, sequences, 1);
    return r->status;
}

const cl_op cl_op_gated_delta_net = {.supports = supports, .record = record};
