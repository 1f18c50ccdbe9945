/* group_norm: over width, height and a group of channels. */
#include "rows.h"

static int64_t per_group(const cl_recorder *r, int64_t channels)
{
    int64_t groups = r->node->ip[ENG_GROUP_NORM_GROUPS];
    return (channels + groups - 1) / groups;
}

typedef struct gathered {
    bool used;        /* x lies in pieces: it is copied to temporary memory   */
    uint64_t at;
    int64_t nb[ENG_MAX_RANK];
} gathered;

static void gather_part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const gathered *x = ctx;
    uint64_t at = x->at;
    for (unsigned d = 1; d < ENG_MAX_RANK; d++)
        at += (uint64_t)(w->first[d] * x->nb[d]);
    cl_launch(r, "copy", "copy", "-DUNIT=uint");
    cl_arg_walk(r, w, 0);
    cl_arg_temporary(r, at);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_long4(r, x->nb);
    cl_each(r, w);
}

/* A part is a batch's image or several: every group is whole. */
static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const gathered *x = ctx;
    char options[64];
    int64_t per = per_group(r, w->ne[2]), groups = w->ne[2] ? (w->ne[2] + per - 1) / per : 0;
    uint64_t n = (uint64_t)(groups * w->ne[3]);
    size_t group = r->device->vec ? 1 : cl_group_of(r->device);
    cl_launch(r, "norm", "group_norm", cl_row_options(r->device, options, sizeof options, "-DGROUPS=1"));
    if (x->used)
        cl_arg_temporary(r, x->at);
    else
        cl_arg_walk(r, w, 1);
    cl_arg_walk(r, w, 0);
    cl_arg_extents(r, w);
    if (x->used)
        cl_arg_long4(r, x->nb);
    else
        cl_arg_strides(r, w, 1);
    cl_arg_strides(r, w, 0);
    cl_arg_float(r, (float)r->node->fp[ENG_NORM_EPS]);
    cl_arg_int(r, (int32_t)groups);
    cl_arg_int(r, (int32_t)per);
    cl_size1(r, n * group, group);
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *t = cl_in(r->graph, node, 0);
    gathered x = {0};
    cl_split s;
    cl_walk w;
    if (cl_split_of(r->device, r->graph, t, &s) != ENG_OK || s.n > 1) {
        cl_walk_begin(&w, t);
        cl_walk_add(&w, r->graph, node->in[0]);
        int64_t step = t->ne[0] * 4;
        for (unsigned d = 1; d < ENG_MAX_RANK; d++) {
            x.nb[d] = step;
            step *= w.ne[d];
        }
        x.used = true;
        x.at = cl_temporary(r, cl_elements(t) * 4);
        cl_walk_run(r, &w, 4, gather_part, &x);
    }
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->out[0]);
    if (!x.used)
        cl_walk_add(&w, r->graph, node->in[0]);
    return cl_walk_run(r, &w, 4, part, &x);
}

const cl_op cl_op_group_norm = {.record = record};
