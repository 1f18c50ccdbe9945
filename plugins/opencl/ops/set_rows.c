/* set_rows: the space is (index, row of a, p, q), cut as in get_rows. */
#include "hot.h"

enum { DIM_I = 1, DIM_V, DIM_P, DIM_Q };

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *a = cl_in(g, node, 0), *b = cl_in(g, node, 1), *ids = cl_in(g, node, 2);
    (void)device;
    if (!cl_encodes(a->type))
        return cl_no(reason, bytes, "set_rows into %s: the opencl plugin cannot encode it (the cpu plugin can)",
                     cl_type_name(a->type));
    if (!cl_is_float(b->type))
        return cl_no(reason, bytes, "set_rows of rows of type %s: f32, f16 or bf16 are wanted", cl_type_name(b->type));
    if (!cl_is_index(ids->type))
        return cl_no(reason, bytes, "set_rows with indices of type %s", cl_type_name(ids->type));
    if (!cl_rows_contiguous(a) || !cl_rows_contiguous(b))
        return cl_no(reason, bytes, "set_rows of rows that are not contiguous");
    return ENG_SUPPORT_YES;
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const eng_tensor *b = eng_subgraph_tensor(r->graph, part->tensor[1]);
    const eng_tensor *ids = eng_subgraph_tensor(r->graph, part->tensor[2]);
    const int64_t n = cl_ne(a, 0), blocks = cl_ceil(n, 32);
    const int64_t per = r->device->vec ? cl_min(blocks, 64) : 1;
    const size_t local = cl_group(r->device);
    char options[64];
    (void)ctx;

    snprintf(options, sizeof options, "-DAT=%s -DBT=%s -DLOCAL=%zu%s", cl_type_name(a->type), cl_type_name(b->type),
             local, ids->type == ENG_TYPE_I64 ? " -DWIDE" : "");
    cl_launch(r, "set_rows", "set_rows", options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, part, i);
    cl_arg_long(r, n);
    cl_arg_long(r, part->first[DIM_V]);
    cl_arg_long(r, part->ne[DIM_V]);
    cl_arg_long4(r, (int64_t[4]){part->ne[DIM_I], part->ne[DIM_P], part->ne[DIM_Q]});
    cl_arg_long4(r, (int64_t[4]){part->nb[0][DIM_V], part->nb[0][DIM_P], part->nb[0][DIM_Q]});
    for (unsigned i = 1; i < 3; i++)
        cl_arg_long4(r, (int64_t[4]){part->nb[i][DIM_I], part->nb[i][DIM_P], part->nb[i][DIM_Q]});
    cl_arg_long(r, per);
    cl_size2(r, cl_ceil(blocks, per), local, part->ne[DIM_I] * part->ne[DIM_P] * part->ne[DIM_Q], 1);
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *a = cl_in(r->graph, node, 0), *b = cl_in(r->graph, node, 1), *ids = cl_in(r->graph, node, 2);
    cl_walk w = {.ne = {1, cl_ne(b, 1), cl_ne(a, 1), cl_ne(a, 2), cl_ne(a, 3), 1, 1, 1}};

    if (cl_ne(a, 0) == 0)
        return r->status;
    cl_walk_operand(&w, node->in[0], cl_row_bytes(a));
    cl_walk_operand(&w, node->in[1], cl_row_bytes(b));
    cl_walk_operand(&w, node->in[2], cl_type_bytes(ids->type));
    w.nb[0][DIM_V] = cl_nb(a, 1);
    w.nb[0][DIM_P] = cl_nb(a, 2);
    w.nb[0][DIM_Q] = cl_nb(a, 3);
    for (unsigned d = 0; d < 3; d++) {
        unsigned to = d == 0 ? DIM_I : DIM_V + d;
        w.nb[1][to] = cl_nb(b, d + 1);
        w.nb[2][to] = cl_ne(ids, d) == 1 ? 0 : cl_nb(ids, d);
    }
    return cl_walk_run(r, &w, ENG_MAX_RANK, launch, NULL);
}

const cl_op cl_op_set_rows = {supports, record};
