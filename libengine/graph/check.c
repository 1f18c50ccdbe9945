/* Types and strides that each op accepts, and the types of its results. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "graph.h"

bool eng_tensor_layout(eng_tensor *t)
{
    return eu_shape_layout(eng_tensor_type(t), t->ne, ENG_MAX_RANK, t->nb, &t->bytes);
}

bool eng_tensor_contiguous(const eng_tensor *t)
{
    return eu_shape_contiguous(eng_tensor_type(t), t->ne, t->nb);
}

int64_t eng_tensor_elements(const eng_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        n *= t->ne[d];
    return n;
}

/* -- sets of types ------------------------------------------------------------- */

#define BIT(id) (UINT64_C(1) << ENG_TYPE_##id)
#define F32 BIT(F32)
#define FLOATS (BIT(F32) | BIT(F16) | BIT(BF16))
#define INDEX BIT(I32)
#define INDICES (BIT(I32) | BIT(I64))
#define CACHES (FLOATS | BIT(Q8_0) | BIT(Q4_0) | BIT(Q4_1) | BIT(Q5_0) | BIT(Q5_1) | BIT(IQ4_NL))
#define ALL                                                                                                          \
    (CACHES | BIT(Q2_K) | BIT(Q3_K) | BIT(Q4_K) | BIT(Q5_K) | BIT(Q6_K) | BIT(IQ4_XS) | BIT(MXFP4) | BIT(NVFP4))
#define ANY (ALL | INDICES)

typedef struct op_types {
    uint32_t op;
    bool strided; /* dimension 0 may have any stride                          */
    uint64_t in[ENG_MAX_INPUTS];
} op_types;

static const op_types accepted[] = {
    {ENG_OP_MUL_MAT, false, {ALL, FLOATS}},
    {ENG_OP_MUL_MAT_ID, false, {ALL, F32, INDEX}},
    {ENG_OP_HADAMARD, false, {FLOATS}},
    {ENG_OP_QUANTIZE, false, {FLOATS}},
    {ENG_OP_DEQUANTIZE, false, {ALL}},
    {ENG_OP_CPY, true, {ANY}},
    {ENG_OP_STORE, true, {ANY, ANY}},
    {ENG_OP_GATED_DELTA_NET, false, {F32, F32, F32, F32, F32, F32, INDEX, INDEX, INDEX}},
    {ENG_OP_SSM_CONV, false, {F32, F32, F32, INDEX, INDEX, INDEX}},
    {ENG_OP_ATTENTION, false, {F32, CACHES, CACHES, INDEX, INDEX, INDEX, INDEX, F32 | BIT(F16), F32, INDEX}},
    {ENG_OP_GET_ROWS, false, {ALL | INDEX, INDICES}},
    {ENG_OP_SET_ROWS, false, {ALL, FLOATS, INDICES}},
    {ENG_OP_RMS_NORM, false, {F32, F32}},
    {ENG_OP_NORM, false, {F32, F32, F32}},
    {ENG_OP_L2_NORM, false, {F32}},
    {ENG_OP_GROUP_NORM, false, {F32}},
    {ENG_OP_ROPE, false, {F32 | BIT(F16), INDEX, F32}},
    {ENG_OP_SOFT_MAX, false, {F32, F32 | BIT(F16), F32}},
    {ENG_OP_ADD, true, {F32, F32}},
    {ENG_OP_SUB, true, {F32, F32}},
    {ENG_OP_MUL, true, {F32, F32}},
    {ENG_OP_DIV, true, {F32, F32}},
    {ENG_OP_SCALE, false, {F32}},
    {ENG_OP_UNARY, false, {F32}},
    {ENG_OP_GLU, false, {F32, F32}},
    {ENG_OP_CONCAT, false, {ANY, ANY}},
    {ENG_OP_REPEAT, false, {FLOATS | INDEX}},
    {ENG_OP_PAD, false, {F32}},
    {ENG_OP_RESHAPE, true, {ANY}},
    {ENG_OP_PERMUTE, true, {ANY}},
    {ENG_OP_SLICE, true, {ANY}},
    {ENG_OP_ARGMAX, false, {F32}},
    {ENG_OP_TOP_K, false, {F32}},
    {ENG_OP_SUM_ROWS, false, {F32}},
    {ENG_OP_REBASE, false, {INDEX}},
};

static const op_types *types_of(uint32_t op)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        if (accepted[i].op == op)
            return &accepted[i];
    return NULL;
}

static int check_stride(eng_inference *f, int operand)
{
    const eng_tensor *t = f->in[operand];
    const eng_type_info *type = eng_tensor_type(t);
    if (t->ne[0] > (int64_t)type->block && t->nb[0] != (int64_t)type->block_bytes)
        return eng_graph_fail(f, "the rows of %s are not contiguous" ENG_ADVICE
                              "make them so with cont", f->info->in[operand].name);
    return ENG_OK;
}

static uint32_t result_type(const eng_inference *f)
{
    switch (f->info->op) {
    case ENG_OP_QUANTIZE:
    case ENG_OP_DEQUANTIZE:
    case ENG_OP_CPY:
        return (uint32_t)f->node->ip[ENG_CPY_TYPE];
    case ENG_OP_GET_ROWS:
        return f->in[0]->type == ENG_TYPE_I32 ? ENG_TYPE_I32 : ENG_TYPE_F32;
    case ENG_OP_CONCAT:
    case ENG_OP_REPEAT:
    case ENG_OP_RESHAPE:
    case ENG_OP_PERMUTE:
    case ENG_OP_SLICE:
        return f->in[0]->type;
    case ENG_OP_ARGMAX:
    case ENG_OP_TOP_K:
    case ENG_OP_REBASE:
        return ENG_TYPE_I32;
    default:
        return ENG_TYPE_F32;
    }
}

int eng_infer_types(eng_inference *f)
{
    const op_types *row = types_of(f->info->op);
    if (row == NULL)
        return eng_graph_fail(f, "this op is not for graphs that hosts build");
    for (int i = 0; i < f->info->n_in; i++) {
        const eng_tensor *t = f->in[i];
        if (t == NULL && f->info->in[i].optional)
            continue;
        if (t == NULL)
            return eng_graph_fail(f, "operand %s is missing", f->info->in[i].name);
        if (!(row->in[i] >> t->type & 1))
            return eng_graph_fail(f, "operand %s must not be of type %s", f->info->in[i].name, eng_tensor_type(t)->name);
        if (f->info->in[i].inout && f->graph->tensors[t->root].binding < 0)
            return eng_graph_fail(f, "operand %s is written in place and must be a bound tensor or a view of one",
                                  f->info->in[i].name);
        if (f->info->in[i].inout && (f->graph->tensors[t->root].use & ENG_USE_MASK) == ENG_USE_INPUT)
            return eng_graph_fail(f, "operand %s is written in place but %s is an input, which only the host writes: "
                                     "declare it ENG_USE_STATE", f->info->in[i].name, f->graph->tensors[t->root].name);
        int status = row->strided ? ENG_OK : check_stride(f, i);
        if (status != ENG_OK)
            return status;
    }
    for (int o = 0; o < f->info->n_out; o++) {
        f->out[o].type = result_type(f);
        if (eng_tensor_type(&f->out[o]) == NULL)
            return eng_graph_fail(f, "type number %" PRIu32 " is unknown", f->out[o].type);
    }
    return ENG_OK;
}
