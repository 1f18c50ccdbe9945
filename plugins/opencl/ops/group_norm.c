/* group_norm: over width, height and a group of channels. */
#include "rows.h"

static int64_t per_group(const cl_recorder *r, int64_t channels)
{
    int64_t groups = r->node->ip[ENG_GROUP_NORM_GROUPS];
    return (channels + groups - 1) / groups;
}

/* A part is a batch's image or several: every group is whole. */
static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    char options[64];
    int64_t per = per_group(r, w->ne[2]), groups = w->ne[2] ? (w->ne[2] + per - 1) / per : 0;
    uint64_t n = (uint64_t)(groups * w->ne[3]);
    size_t group = r->device->vec ? 1 : cl_group_of(r->device);
    (void)ctx;
    cl_launch(r, "norm", "group_norm", cl_row_options(r->device, options, sizeof options, "-DGROUPS=1"));
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
    cl_arg_float(r, (float)r->node->fp[ENG_NORM_EPS]);
    cl_arg_int(r, (int32_t)groups);
    cl_arg_int(r, (int32_t)per);
    cl_size1(r, n * group, group);
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *x = cl_in(g, node, 0);
    cl_split s;
    if (x->type != ENG_TYPE_F32 || !cl_rows_contiguous(x))
        return cl_no(reason, bytes, "x must be f32 with contiguous rows");
    if (cl_split_of(device, g, x, &s) != ENG_OK || s.n > 1)
        return cl_no(reason, bytes, "x is larger than one allocation; copy it first, or raise opencl.max_alloc");
    return ENG_SUPPORT_YES;
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_group_norm = {supports, record};
