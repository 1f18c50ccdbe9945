/* repeat: x tiled. */
#include "rows.h"

/* One launch: every element fetches its own. */
static void repeat_part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const eng_tensor *x = cl_in(r->graph, r->node, 0);
    unsigned unit = cl_type_bytes(x->type);
    int64_t nx[ENG_MAX_RANK], xs[ENG_MAX_RANK], first[4] = {0};
    uint64_t at = 0;
    (void)ctx;
    for (unsigned d = 0; d < ENG_MAX_RANK; d++) {
        nx[d] = cl_extent(x, d);
        xs[d] = d < x->rank ? x->nb[d] : 0;
        if (d > 0 && d < 4)
            first[d] = w->first[d] % nx[d];
        else if (d >= 4)
            at += (uint64_t)(w->first[d] % nx[d] * xs[d]);
    }
    cl_launch(r, "copy", "repeat", cl_unit_option(unit));
    cl_arg_tensor(r, r->node->in[0], at);
    cl_arg_walk(r, w, 0);
    cl_arg_extents(r, w);
    cl_arg_long4(r, first);
    cl_arg_long4(r, nx);
    cl_arg_long4(r, xs);
    cl_arg_strides(r, w, 0);
    cl_each(r, w);
}

/* x lies in pieces: one copy for each repetition. */
static int repeat_copies(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *x = cl_in(r->graph, node, 0), *o = cl_out(r->graph, node, 0);
    int64_t first[ENG_MAX_RANK] = {0};
    for (unsigned d = 0; d < ENG_MAX_RANK && r->status == ENG_OK;) {
        cl_move_to(r, node->in[0], first);
        for (d = 0; d < ENG_MAX_RANK; d++) {
            first[d] += cl_extent(x, d);
            if (first[d] < cl_extent(o, d))
                break;
            first[d] = 0;
        }
    }
    return r->status;
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_split s;
    if (cl_split_of(r->device, r->graph, cl_in(r->graph, node, 0), &s) != ENG_OK || s.n > 1)
        return repeat_copies(r, node);
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->out[0]);
    return cl_walk_run(r, &w, 4, repeat_part, NULL);
}

const cl_op cl_op_repeat = {.record = record};
