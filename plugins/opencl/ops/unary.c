/* unary, scale, rebase: one operand, element by element. */
#include "rows.h"

static const char *const kinds[ENG_UNARY_LIMIT] = {
    [ENG_UNARY_SILU] = "silu", [ENG_UNARY_GELU] = "gelu", [ENG_UNARY_GELU_ERF] = "gelu_erf",
    [ENG_UNARY_GELU_QUICK] = "gelu_quick", [ENG_UNARY_SIGMOID] = "sigmoid", [ENG_UNARY_SOFTPLUS] = "softplus",
    [ENG_UNARY_EXP] = "exp_of", [ENG_UNARY_TANH] = "tanh_of", [ENG_UNARY_RELU] = "relu", [ENG_UNARY_NEG] = "neg"};

static void operands(cl_recorder *r, const cl_walk *w)
{
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const eng_node *node = r->node;
    char options[64];
    (void)ctx;
    if (node->op == ENG_OP_UNARY) {
        snprintf(options, sizeof options, "-DKIND=%s", kinds[node->ip[ENG_UNARY_KIND]]);
        cl_launch(r, "unary", "unary", options);
        operands(r, w);
    } else if (node->op == ENG_OP_SCALE) {
        cl_launch(r, "unary", "scale", "-DSCALE");
        operands(r, w);
        cl_arg_float(r, (float)node->fp[ENG_SCALE_S]);
        cl_arg_float(r, (float)node->fp[ENG_SCALE_B]);
    } else {
        cl_launch(r, "unary", "rebase", "-DREBASE");
        operands(r, w);
        cl_arg_long(r, node->ip[ENG_REBASE_BEGIN]);
        cl_arg_long(r, node->ip[ENG_REBASE_END]);
    }
    cl_each(r, w);
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *x = cl_in(g, node, 0);
    uint32_t type = node->op == ENG_OP_REBASE ? ENG_TYPE_I32 : ENG_TYPE_F32;
    (void)device;
    if (x->type != type || !cl_rows_contiguous(x))
        return cl_no(reason, bytes, "x must be %s with contiguous rows", cl_type_name(type));
    if (node->op == ENG_OP_UNARY && (node->ip[ENG_UNARY_KIND] < 0 || node->ip[ENG_UNARY_KIND] >= ENG_UNARY_LIMIT))
        return cl_no(reason, bytes, "unary kind %lld is unknown", (long long)node->ip[ENG_UNARY_KIND]);
    return ENG_SUPPORT_YES;
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    w.elements = true;
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_unary = {supports, record};
const cl_op cl_op_scale = {supports, record};
const cl_op cl_op_rebase = {supports, record};
