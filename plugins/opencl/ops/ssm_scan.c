/* ssm_scan: token by token, or in chunks. */
#include "hot.h"
#include "pool.h"
#include "rows.h"
#include "variant.h"

enum { X, DT, A, B, C, STATE, SRC, DST, CU };
#define DIRECT_BELOW 4  /* tokens of a sequence, on cards: nothing is gained by bringing them to local memory */
#define MAX_STATES 1024 /* what a work-item's registers, and a group's memory, hold */

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_support there = cl_pool_supports(device, g, node, STATE, reason, bytes);
    if (there != ENG_SUPPORT_YES)
        return there;
    if (cl_ne(cl_in(g, node, STATE), 0) > MAX_STATES)
        return cl_no(reason, bytes, "channels of %lld states: at most %d work",
                     (long long)cl_ne(cl_in(g, node, STATE), 0), MAX_STATES);
    return ENG_SUPPORT_YES;
}

/* Heads of one channel, whose x, steps and results are floats beside one another, and which share what they read? */
static bool beside(const eng_tensor *const in[], const eng_tensor *o)
{
    return cl_ne(o, 0) == 1 && cl_nb(in[X], 1) == 4 && cl_nb(o, 1) == 4 && cl_nb(in[DT], 0) == 4 && cl_ne(in[B], 1) == 1;
}

/* As the table of variants has it, for so many tokens of a sequence. */
static int64_t kind_of(const cl_device *device, const eng_tensor *const in[], const eng_tensor *o, int64_t tokens)
{
    if (beside(in, o))
        return CL_SCAN_BESIDE;
    const bool many = device->vec && cl_ne(in[A], 0) == 1 && cl_ne(in[STATE], 0) <= CL_CHUNKS_SIZE && cl_ne(o, 0) >= 16 &&
                      tokens >= CL_CHUNKS_FROM;
    return many ? CL_SCAN_MANY : CL_SCAN_HEADS;
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_subgraph *graph = r->graph;
    const eng_tensor *in[CU + 1], *o = cl_out(graph, node, 0);
    for (unsigned i = 0; i <= CU; i++)
        in[i] = cl_in(graph, node, i);
    const int64_t sequences = cl_ne(in[SRC], 0), tokens = cl_ne(o, 2) / cl_max(1, sequences);
    const cl_variant *v = cl_variant_of(r->device, node->op, kind_of(r->device, in, o, tokens));
    const bool turned = v->least == CL_SCAN_BESIDE; /* heads are what channels are else */
    const int64_t channels = cl_ne(o, turned), heads = turned ? 1 : cl_ne(o, 1);
    cl_deal deal = cl_pool_deal(r->device, v->group, cl_ne(in[STATE], 0), channels * heads * sequences);
    const int direct = tokens < DIRECT_BELOW || 2 * channels <= (int64_t)v->group / deal.per;
    if (direct && v->family == CL_SIMT) {
        deal.wide = 1;
        deal.columns = (int64_t)v->group / deal.per;
    }
    const int64_t rows = v->family == CL_SIMT ? deal.columns
                         : v->parts           ? cl_pool_columns(r->device, v, channels, heads * sequences)
                                              : v->rows;
    cl_split split;
    char options[128];

    if (sequences == 0 || cl_ne(in[STATE], 0) == 0) /* tokens of no sequence, sums of no states */
        return cl_zero_result(r);
    if (cl_split_of(r->device, graph, in[STATE], &split) != ENG_OK)
        return r->status;
    int at = snprintf(options, sizeof options, "-DS=%lld -DPIECES=%u", (long long)cl_ne(in[STATE], 0), split.n);
    if (v->parts)
        at += snprintf(options + at, sizeof options - (size_t)at, " -DCOLUMNS=%lld", (long long)rows);
    else
        at += snprintf(options + at, sizeof options - (size_t)at, " -DEACH=%d", cl_ne(in[A], 0) > 1);
    if (v->family == CL_SIMT)
        snprintf(options + at, sizeof options - (size_t)at, " -DDIRECT=%d -DTOGETHER=%d -DGROUP=%zu -DPER=%d -DWIDE=%d",
                 direct, tokens >= CL_TOGETHER && cl_ne(in[STATE], 0) <= CL_TOGETHER_SIZE, v->group, deal.per,
                 deal.wide);
    else
        snprintf(options + at, sizeof options - (size_t)at, "%s", cl_variant_own(v));
    cl_launch_variant(r, v, v->kernel, options);
    cl_arg_pool(r, STATE, &split);
    cl_arg_long4(r, (int64_t[4]){cl_ne(o, 2), sequences, cl_ne(in[STATE], 3),
                                 cl_min(node->ip[ENG_SCAN_SLOTS], cl_ne(in[DST], 0))});
    cl_arg_long4(r, (int64_t[4]){heads, heads / cl_max(1, cl_ne(in[B], 1)), channels, cl_nb(o, 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(in[X], 1), cl_nb(in[X], 2), cl_nb(in[DT], 0), cl_nb(in[DT], 1)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(in[B], 1), cl_nb(in[B], 2), cl_nb(in[C], 1), cl_nb(in[C], 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(in[STATE], 1 + turned), cl_nb(in[STATE], 2), cl_nb(in[STATE], 3), cl_nb(o, 1)});
    cl_arg_pool_strides(r, STATE, &split);
    cl_arg_long(r, cl_nb(in[A], 1));
    if (direct && v->family == CL_SIMT)
        cl_size3(r, cl_ceil(channels * heads, rows) * (int64_t)v->group, v->group, 1, 1, sequences, 1);
    else
        cl_size3(r, cl_ceil(channels, rows) * (int64_t)v->group, v->group, heads, 1, sequences, 1);
    return r->status;
}

const cl_op cl_op_ssm_scan = {.supports = supports, .record = record};
