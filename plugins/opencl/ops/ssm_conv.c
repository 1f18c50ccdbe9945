/* ssm_conv: the results, then the windows, since these may overwrite the row read; in one launch if tokens are few. */
#include "each.h"
#include "hot.h"
#include "pool.h"
#include "variant.h"

enum { X, W, STATE, SRC, DST, CU };
#define MAX_TAPS 64
enum { RESULTS = 1, WINDOWS = 2 }; /* as kernels/ssm_conv.cl */

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_support there = cl_pool_supports(device, g, node, STATE, reason, bytes);
    if (there != ENG_SUPPORT_YES)
        return there;
    if (cl_ne(cl_in(g, node, W), 0) > MAX_TAPS)
        return cl_no(reason, bytes, "a kernel %lld wide: at most %d work", (long long)cl_ne(cl_in(g, node, W), 0),
                     MAX_TAPS);
    return ENG_SUPPORT_YES;
}

/* Whole vectors of channels, whose taps and windows lie one behind another: what else there may be is not compiled. */
static bool is_regular(const cl_device *device, const eng_tensor *const in[CU + 1], const cl_split *split)
{
    return device->vec && cl_ne(in[W], 0) == 4 && cl_nb(in[W], 1) == 16 && cl_nb(in[STATE], 1) == 12 &&
           cl_ne(in[X], 0) % 16 == 0 && split->n == 1;
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_subgraph *graph = r->graph;
    const eng_tensor *in[CU + 1], *o = cl_out(graph, node, 0);
    for (unsigned i = 0; i <= CU; i++)
        in[i] = cl_in(graph, node, i);
    const int64_t channels = cl_ne(o, 0), tokens = cl_ne(o, 1), sequences = cl_ne(in[SRC], 0), taps = cl_ne(in[W], 0);
    const cl_variant *v = cl_variant_of(r->device, node->op, tokens);
    const int64_t each = v->columns, blocks = cl_ceil(channels, v->rows);
    cl_split split;
    char options[96], epilogue[CL_EPILOGUE_TEXT];

    if (cl_split_of(r->device, graph, in[STATE], &split) != ENG_OK)
        return r->status;
    snprintf(options, sizeof options, "-DTAPS=%lld -DPIECES=%u -DLOCAL=%zu%s", (long long)taps, split.n, v->group,
             is_regular(r->device, in, &split) ? " -DREGULAR=1" : "");
    cl_epilogue_text(r->epilogue, epilogue);
    for (unsigned pass = 0; pass < (taps > 1 && v->parts && sequences > 0 ? 2u : 1u); pass++) {
        cl_launch_variant_with(r, v, options, epilogue);
        cl_arg_pool(r, STATE, &split);
        cl_arg_long4(r, (int64_t[4]){channels, tokens, sequences, cl_ne(in[STATE], 2)});
        cl_arg_long4(r, (int64_t[4]){cl_nb(in[X], 1), cl_nb(in[W], 1), cl_nb(o, 1)});
        cl_arg_long4(r, (int64_t[4]){cl_nb(in[STATE], 1), cl_nb(in[STATE], 2)});
        cl_arg_pool_strides(r, STATE, &split);
        cl_arg_long(r, cl_min(node->ip[ENG_CONV_SLOTS], cl_ne(in[DST], 0)));
        cl_arg_long(r, each);
        cl_arg_int(r, !v->parts && taps > 1 ? RESULTS | WINDOWS : pass ? WINDOWS : RESULTS);
        cl_size2(r, blocks, v->group, pass ? sequences : cl_ceil(tokens, each), 1);
    }
    return r->status;
}

const cl_op cl_op_ssm_conv = {.supports = supports, .record = record, .epilogue = true};
