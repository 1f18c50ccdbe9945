/*
 * get_rows.  The space is (row of a, index, p, q): a's rows are cut where its
 * pieces end, the others where those of ids and of the result do.
 */
#include "hot.h"

enum { DIM_I = 1, DIM_V, DIM_P, DIM_Q };

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *a = cl_in(g, node, 0), *ids = cl_in(g, node, 1);
    (void)device;
    if (a->type != ENG_TYPE_I32 && !cl_decodes(a->type))
        return cl_no(reason, bytes, "get_rows of a matrix of type %s", cl_type_name(a->type));
    if (!cl_is_index(ids->type))
        return cl_no(reason, bytes, "get_rows with indices of type %s", cl_type_name(ids->type));
    if (!cl_rows_contiguous(a))
        return cl_no(reason, bytes, "get_rows of rows that are not contiguous");
    return ENG_SUPPORT_YES;
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const int64_t *total = ctx;
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const eng_tensor *ids = eng_subgraph_tensor(r->graph, part->tensor[1]);
    const int64_t n = cl_ne(a, 0), groups = cl_ceil(n, 16);
    const int64_t per = r->device->vec ? cl_min(groups, 256) : 1;
    const size_t local = cl_group(r->device);
    char options[64];

    /* i32 rows are copied as f32: same bits */
    snprintf(options, sizeof options, "-DAT=%s -DLOCAL=%zu%s", a->type == ENG_TYPE_I32 ? "f32" : cl_type_name(a->type),
             local, ids->type == ENG_TYPE_I64 ? " -DWIDE" : "");
    cl_launch(r, "get_rows", "get_rows", options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, part, i);
    cl_arg_long(r, n);
    cl_arg_long(r, part->first[DIM_V]);
    cl_arg_long(r, part->ne[DIM_V]);
    cl_arg_long(r, *total);
    cl_arg_long4(r, (int64_t[4]){part->ne[DIM_I], part->ne[DIM_P], part->ne[DIM_Q]});
    cl_arg_long4(r, (int64_t[4]){part->nb[0][DIM_V], part->nb[0][DIM_P], part->nb[0][DIM_Q]});
    for (unsigned i = 1; i < 3; i++)
        cl_arg_long4(r, (int64_t[4]){part->nb[i][DIM_I], part->nb[i][DIM_P], part->nb[i][DIM_Q]});
    cl_arg_long(r, per);
    cl_size2(r, cl_ceil(groups, per), local, part->ne[DIM_I] * part->ne[DIM_P] * part->ne[DIM_Q], 1);
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *a = cl_in(r->graph, node, 0), *ids = cl_in(r->graph, node, 1), *o = cl_out(r->graph, node, 0);
    int64_t total = cl_ne(a, 1);
    cl_walk w = {.ne = {1, cl_ne(o, 1), cl_max(total, 1), cl_ne(o, 2), cl_ne(o, 3), 1, 1, 1}};

    cl_walk_operand(&w, node->in[0], total ? cl_row_bytes(a) : 0);
    cl_walk_operand(&w, node->in[1], cl_type_bytes(ids->type));
    cl_walk_operand(&w, node->out[0], cl_row_bytes(o));
    w.nb[0][DIM_V] = cl_nb(a, 1);
    w.nb[0][DIM_P] = cl_nb(a, 2);
    w.nb[0][DIM_Q] = cl_nb(a, 3);
    for (unsigned d = 0; d < 3; d++) {
        w.nb[1][d == 0 ? DIM_I : DIM_V + d] = cl_nb(ids, d);
        w.nb[2][d == 0 ? DIM_I : DIM_V + d] = cl_nb(o, d + 1);
    }
    return cl_walk_run(r, &w, ENG_MAX_RANK, launch, &total);
}

const cl_op cl_op_get_rows = {supports, record};
