/* unary: a function of each element. */
#include "rows.h"

static const char *const kinds[ENG_UNARY_LIMIT] = {
    [ENG_UNARY_SILU] = "silu", [ENG_UNARY_GELU] = "gelu", [ENG_UNARY_GELU_ERF] = "gelu_erf",
    [ENG_UNARY_GELU_QUICK] = "gelu_quick", [ENG_UNARY_SIGMOID] = "sigmoid", [ENG_UNARY_SOFTPLUS] = "softplus",
    [ENG_UNARY_EXP] = "exp_of", [ENG_UNARY_TANH] = "tanh_of", [ENG_UNARY_RELU] = "relu", [ENG_UNARY_NEG] = "neg"};

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    char options[64];
    (void)ctx;
    snprintf(options, sizeof options, "-DKIND=%s", kinds[r->node->ip[ENG_UNARY_KIND]]);
    cl_launch(r, "unary", "unary", options);
    cl_arg_elements(r, w);
    cl_each(r, w);
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    (void)device;
    if (node->ip[ENG_UNARY_KIND] < 0 || node->ip[ENG_UNARY_KIND] >= ENG_UNARY_LIMIT)
        return cl_no(reason, bytes, "unary kind %lld is unknown", (long long)node->ip[ENG_UNARY_KIND]);
    return cl_takes_rows_of(ENG_TYPE_F32, g, node, reason, bytes);
}

static int record(cl_recorder *r, const eng_node *node)
{
    return cl_record_elements(r, node, part);
}

const cl_op cl_op_unary = {supports, record};
