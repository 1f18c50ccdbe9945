/*
 * Products of a few columns with several matrices, one after the other in the graph
 * (query, key and value; gate and up), become one launch: what a launch costs is as
 * much as a small product, and together they give more compute units something to do.
 */
#include "../host.h"

#include "../ops/hot.h"
#include "../ops/variant.h"

enum { MOST = 4 }; /* as kernels/mul_mat.cl */

typedef struct products {
    const eng_node *node[MOST];
    unsigned n;
    uint32_t last; /* node of the graph */
} products;

static bool one_matrix(const eng_tensor *t)
{
    for (unsigned d = 2; d < ENG_MAX_RANK; d++)
        if (cl_ne(t, d) != 1)
            return false;
    return cl_rows_contiguous(t) && cl_elements(t) > 0;
}

/* Is the node a product of few columns, with all operands in one piece? */
static bool suits(const cl_recorder *r, const eng_node *node)
{
    if (node->op != ENG_OP_MUL_MAT)
        return false;
    const eng_tensor *a = cl_in(r->graph, node, 0), *b = cl_in(r->graph, node, 1), *o = cl_out(r->graph, node, 0);
    const cl_variant *v = cl_variant_find(r->device, node, a, cl_ne(b, 1));
    return one_matrix(a) && one_matrix(b) && one_matrix(o) && v && v->several && !v->slow &&
           cl_in_one_piece(r, a) && cl_in_one_piece(r, b) && cl_in_one_piece(r, o);
}

/* Can the node be in one launch with those that there are?  They run in no order, so none
 * may write what another touches. */
static bool joins(const cl_recorder *r, const products *p, const eng_node *node)
{
    const eng_node *first = p->node[0];
    const eng_tensor *a = cl_in(r->graph, node, 0), *a0 = cl_in(r->graph, first, 0);
    if (node->section != first->section || node->precision != first->precision || node->in[1] != first->in[1] ||
        a->type != a0->type || a->layout != a0->layout || cl_nb(a, 1) != cl_nb(a0, 1))
        return false;
    cl_covered mine = cl_covered_by(r->plan, node->out[0]), mine_in = cl_covered_by(r->plan, node->in[0]);
    for (unsigned i = 0; i < p->n; i++) {
        cl_covered out = cl_covered_by(r->plan, p->node[i]->out[0]), in = cl_covered_by(r->plan, p->node[i]->in[0]);
        if (cl_overlap(&mine, &out) || cl_overlap(&mine, &in) || cl_overlap(&mine_in, &out))
            return false;
    }
    return true;
}

static void collect(const cl_recorder *r, products *p, uint32_t index)
{
    const eng_subgraph *g = r->graph;
    for (uint32_t k = index; k < g->n_nodes && p->n < MOST; k++) {
        const eng_node *node = eng_subgraph_node(g, k);
        if (p->n && cl_is_view(r->device, node))
            continue;
        if (!suits(r, node) || (p->n && !joins(r, p, node)))
            return;
        p->node[p->n++] = node;
        p->last = k;
    }
}

static void launch(cl_recorder *r, const products *p)
{
    const eng_node *first = p->node[0];
    const eng_tensor *a = cl_in(r->graph, first, 0), *b = cl_in(r->graph, first, 1);
    const cl_variant *v = cl_variant_find(r->device, first, a, cl_ne(b, 1));
    int64_t m[MOST] = {0}, o_col[MOST] = {0}, total = 0, items = 0;
    char options[CL_OPTIONS + 64];

    cl_variant_options(r->device, v, a, b->type, options);
    const cl_columns columns = {.tensor = first->in[1], .k = cl_ne(a, 0), .n = cl_ne(b, 1), .col = cl_nb(b, 1),
                                .ext = {1, 1, 1, 1}};
    const cl_packed packed = v->packed ? cl_pack_columns(r, v, options, &columns) : (cl_packed){0};
    cl_launch_variant(r, v, v->several, options);
    for (unsigned i = 0; i < MOST; i++) {
        if (i >= p->n) {
            cl_arg_none(r);
            cl_arg_none(r);
            continue;
        }
        const eng_tensor *o = cl_out(r->graph, p->node[i], 0);
        cl_arg_tensor(r, p->node[i]->in[0], 0);
        cl_arg_tensor(r, p->node[i]->out[0], 0);
        m[i] = cl_ne(o, 0);
        o_col[i] = cl_nb(o, 1);
        total += m[i];
    }
    cl_arg_operand(r, 1);
    cl_arg_long(r, cl_ne(a, 0));
    cl_arg_long(r, cl_ne(b, 1));
    cl_arg_long(r, cl_nb(a, 1));
    cl_arg_long(r, cl_nb(b, 1));
    cl_arg_long4(r, m);
    cl_arg_long4(r, o_col);
    const int64_t each = cl_variant_rows(r->device, v, total, cl_row_bytes(a));
    cl_arg_long(r, each);
    if (v->packed)
        cl_arg_temporary(r, packed.at);
    for (unsigned i = 0; i < p->n; i++)
        items += cl_ceil(m[i], each);
    const int64_t columns_each = v->packed ? 0 : v->columns; /* 0: a work-item has all of them */
    cl_size2(r, (uint64_t)items * v->group, v->group, columns_each ? (uint64_t)cl_ceil(cl_ne(b, 1), columns_each) : 1, 1);
}

uint32_t cl_fuse_products(cl_recorder *r, uint32_t index)
{
    products p = {.n = 0};
    collect(r, &p, index);
    if (p.n < 2)
        return 0;
    launch(r, &p);
    return p.last - index + 1;
}
