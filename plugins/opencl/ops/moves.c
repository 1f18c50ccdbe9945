/* What concat, repeat and pad share: values are moved, never changed. */
#include "rows.h"
#include "stream.h"

/* The widest unit of which everything is a multiple. */
static unsigned unit_of(const cl_recorder *r, const cl_walk *w, uint64_t row_bytes)
{
    uint64_t all = row_bytes;
    for (unsigned i = 0; i < w->n; i++) {
        const eng_tensor *t = eng_subgraph_tensor(r->graph, w->tensor[i]);
        all |= w->offset[i] | (t ? t->offset : 0);
        cl_split split; /* a piece begins where its memory does */
        if (t && cl_split_of(r->device, r->graph, t, &split) == ENG_OK && split.n > 1)
            all |= split.piece_bytes;
        for (unsigned d = 1; d < 4; d++)
            all |= w->ne[d] > 1 ? (uint64_t)w->nb[i][d] : 0;
    }
    return all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
}

const char *cl_unit_option(unsigned unit)
{
    return unit == 4 ? "-DUNIT=uint" : unit == 2 ? "-DUNIT=ushort" : "-DUNIT=uchar";
}

static uint64_t bytes_of_row(const cl_walk *w, uint32_t type)
{
    return (uint64_t)w->ne[0] / cl_type_block(type) * cl_type_bytes(type);
}

static void copy_part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    uint64_t bytes = bytes_of_row(w, *(const uint32_t *)ctx);
    unsigned unit = unit_of(r, w, bytes);
    cl_walk u = *w;
    u.ne[0] = (int64_t)(bytes / unit);
    char options[64];
    snprintf(options, sizeof options, "%s%s", cl_unit_option(unit), cl_stream_option(r, w, 0));
    cl_launch(r, "copy", "copy", options);
    cl_arg_walk(r, w, 1);
    cl_arg_walk(r, w, 0);
    cl_arg_extents(r, &u);
    cl_arg_strides(r, w, 1);
    cl_arg_strides(r, w, 0);
    cl_each(r, &u);
}

static int move(cl_recorder *r, const cl_walk *w, uint32_t type)
{
    cl_walk joined = *w;
    cl_walk_join(&joined, 1);
    return cl_walk_run(r, &joined, 4, copy_part, &type);
}

/* A walk over the part of result 0 that begins at first[] and has extents ne[],
 * with the result as operand 0. */
static void slice(const cl_recorder *r, cl_walk *w, const int64_t *first, const int64_t *ne)
{
    const eng_tensor *o = cl_out(r->graph, r->node, 0);
    uint64_t block = cl_type_block(o->type);
    cl_walk_begin(w, o);
    cl_walk_add(w, r->graph, r->node->out[0]);
    for (unsigned d = 0; d < ENG_MAX_RANK; d++) {
        w->ne[d] = ne[d];
        w->offset[0] += d == 0 ? (uint64_t)first[0] / block * cl_type_bytes(o->type)
                               : (uint64_t)first[d] * (uint64_t)w->nb[0][d];
    }
    w->row_bytes[0] = bytes_of_row(w, o->type);
}

int64_t cl_extent(const eng_tensor *t, unsigned d)
{
    return d < t->rank ? t->ne[d] : 1;
}

/* Copies all of operand `in` to the part of the result that begins at first[]. */
int cl_move_to(cl_recorder *r, int32_t in, const int64_t *first)
{
    const eng_tensor *x = eng_subgraph_tensor(r->graph, in);
    int64_t ne[ENG_MAX_RANK];
    cl_walk w;
    for (unsigned d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = cl_extent(x, d);
    slice(r, &w, first, ne);
    cl_walk_add(&w, r->graph, in);
    return move(r, &w, x->type);
}

static void zero_part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    (void)ctx;
    cl_launch(r, "copy", "zero", "-DUNIT=uint");
    cl_arg_walk(r, w, 0);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_each(r, w);
}

int cl_zero_result(cl_recorder *r)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, r->node, 0));
    cl_walk_add(&w, r->graph, r->node->out[0]);
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, zero_part, NULL);
}
