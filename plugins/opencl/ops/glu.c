/* glu: f(a) * b, b a tensor of its own or the other half of each row of a. */
#include "rows.h"

static const char *const kinds[ENG_GLU_KINDS] = {
    [ENG_GLU_REGLU] = "relu", [ENG_GLU_GEGLU] = "gelu", [ENG_GLU_SWIGLU] = "silu",
    [ENG_GLU_GEGLU_ERF] = "gelu_erf", [ENG_GLU_GEGLU_QUICK] = "gelu_quick"};

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const eng_node *node = r->node;
    bool oai = node->ip[ENG_GLU_KIND] == ENG_GLU_SWIGLU_OAI;
    char options[64];
    (void)ctx;
    if (oai)
        snprintf(options, sizeof options, "-DOAI");
    else
        snprintf(options, sizeof options, "-DKIND=%s", kinds[node->ip[ENG_GLU_KIND]]);
    cl_launch(r, "glu", oai ? "glu_oai" : "glu", options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, w, i);
    cl_arg_extents(r, w);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_strides(r, w, i);
    if (oai) {
        cl_arg_float(r, (float)node->fp[ENG_GLU_ALPHA]);
        cl_arg_float(r, (float)node->fp[ENG_GLU_LIMIT]);
    }
    cl_each(r, w);
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *a = cl_in(g, node, 0), *b = cl_in(g, node, 1);
    (void)device;
    if (a->type != ENG_TYPE_F32 || !cl_rows_contiguous(a) || (b && (b->type != ENG_TYPE_F32 || !cl_rows_contiguous(b))))
        return cl_no(reason, bytes, "operands must be f32 with contiguous rows");
    if (node->ip[ENG_GLU_KIND] < 0 || node->ip[ENG_GLU_KIND] >= ENG_GLU_KINDS)
        return cl_no(reason, bytes, "glu kind %lld is unknown", (long long)node->ip[ENG_GLU_KIND]);
    return ENG_SUPPORT_YES;
}

static int record(cl_recorder *r, const eng_node *node)
{
    const eng_tensor *o = cl_out(r->graph, node, 0);
    bool halves = node->in[1] < 0, swapped = halves && node->ip[ENG_GLU_SWAPPED] != 0;
    cl_walk w;
    cl_walk_begin(&w, o);
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, halves ? node->in[0] : node->in[1]);
    cl_walk_add(&w, r->graph, node->out[0]);
    if (halves) {
        /* both operands are rows of half the length, the second half further on */
        uint64_t half = (uint64_t)o->ne[0] * 4;
        for (unsigned i = 0; i < 2; i++) {
            w.row_bytes[i] = half;
            w.nb[i][0] = 4;
            w.offset[i] = (i == 1) != swapped ? half : 0;
        }
    }
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_glu = {supports, record};
