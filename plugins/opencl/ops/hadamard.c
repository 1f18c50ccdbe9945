/* hadamard: rows along the launch's second dimension, chunks of a row along the first. */
#include "hot.h"
#include "stream.h"
#include "variant.h"

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const int64_t group = node->ip[ENG_HADAMARD_GROUP];
    (void)g;
    if (!device->vec && (uint64_t)group * 4 > device->local_bytes)
        return cl_no(reason, bytes, "a group of %lld does not fit %llu bytes of local memory", (long long)group,
                     (unsigned long long)device->local_bytes);
    return ENG_SUPPORT_YES;
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *x = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const int64_t group = r->node->ip[ENG_HADAMARD_GROUP], n = cl_ne(x, 0);
    const cl_variant *v = cl_variant_of(r->device, ENG_OP_HADAMARD, group);
    const int64_t chunk = v->columns, step = cl_max(group, chunk);
    const size_t local = v->group;
    char options[96];
    (void)ctx;

    snprintf(options, sizeof options, "-DXT=%s -DG=%lld -DCHUNK=%lld -DLOCAL=%zu%s", cl_type_name(x->type),
             (long long)group, (long long)chunk, local, cl_stream_option(r, part, 1));
    cl_launch_variant(r, v, v->kernel, options);
    for (unsigned i = 0; i < 2; i++)
        cl_arg_walk(r, part, i);
    cl_arg_long(r, n);
    cl_arg_float(r, (float)(1.0 / __builtin_sqrt((double)group)));
    cl_arg_long4(r, &part->ne[1]);
    cl_arg_long4(r, &part->nb[0][1]);
    cl_arg_long4(r, &part->nb[1][1]);
    const int64_t rows = part->ne[1] * part->ne[2] * part->ne[3] * part->ne[4];
    if (v->parts)
        cl_size1(r, (uint64_t)(rows * (n / 16)), local);
    else
        cl_size2(r, (uint64_t)cl_ceil(n, step) * local, local, rows, 1);
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    cl_walk_join(&w, 1);
    return cl_walk_run(r, &w, 5, launch, NULL);
}

const cl_op cl_op_hadamard = {.supports = supports, .record = record};
