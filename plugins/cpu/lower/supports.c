/* What the plugin can run: types of operands, layouts, parameters. */
#include "config.h"

#include <stdio.h>

#include "../cpu.h"

#define BIT(type) ((uint64_t)1 << ENG_TYPE_##type)
#define F32 BIT(F32)
#define I32 BIT(I32)
#define INDEX (BIT(I32) | BIT(I64))
#define FLOATS (BIT(F32) | BIT(F16) | BIT(BF16))
#define CACHED (FLOATS | BIT(Q8_0) | BIT(Q4_0) | BIT(Q4_1) | BIT(Q5_0) | BIT(Q5_1) | BIT(IQ4_NL))
#define BLOCKS                                                                                                         \
    (CACHED | BIT(Q2_K) | BIT(Q3_K) | BIT(Q4_K) | BIT(Q5_K) | BIT(Q6_K) | BIT(IQ4_XS) | BIT(MXFP4) | BIT(NVFP4))
#define ANY (BLOCKS | INDEX)

/* How an operand may lie in memory. */
enum { ROWS = 0, FREE = 1 }; /* elements of a row together, or anywhere */

typedef struct operand_rule {
    uint64_t types; /* 0: no such operand                                    */
    int layout;
} operand_rule;

typedef struct op_rule {
    operand_rule in[ENG_MAX_INPUTS];
    uint64_t out;
} op_rule;

#define ELEMENTWISE {.in = {{FLOATS, FREE}, {FLOATS, FREE}}, .out = F32}

static const op_rule rules[CPU_OPS] = {
    [ENG_OP_MUL_MAT] = {{{BLOCKS, ROWS}, {FLOATS, ROWS}}, F32},
    [ENG_OP_MUL_MAT_ID] = {{{BLOCKS, ROWS}, {FLOATS, ROWS}, {INDEX, FREE}}, F32},
    [ENG_OP_HADAMARD] = {{{FLOATS, FREE}}, F32},
    [ENG_OP_QUANTIZE] = {{{FLOATS, FREE}}, BLOCKS},
    [ENG_OP_DEQUANTIZE] = {{{BLOCKS, FREE}}, FLOATS},
    [ENG_OP_CPY] = {{{ANY, FREE}}, ANY},
    [ENG_OP_STORE] = {{{ANY, FREE}, {ANY, FREE}}, 0},
    [ENG_OP_GATED_DELTA_NET] = {{{F32, ROWS}, {F32, ROWS}, {F32, ROWS}, {F32, ROWS}, {F32, FREE}, {F32, ROWS},
                                 {INDEX, FREE}, {INDEX, FREE}, {INDEX, FREE}}, F32},
    [ENG_OP_SSM_CONV] = {{{FLOATS, FREE}, {F32, FREE}, {F32, ROWS}, {INDEX, FREE}, {INDEX, FREE}, {INDEX, FREE}}, F32},
    [ENG_OP_ATTENTION] = {{{F32, ROWS}, {CACHED, ROWS}, {CACHED, ROWS}, {I32, FREE}, {I32, FREE}, {I32, FREE},
                           {I32, FREE}, {F32 | BIT(F16), FREE}, {F32, FREE}, {INDEX, FREE}}, F32},
    [ENG_OP_GET_ROWS] = {{{BLOCKS | I32, FREE}, {INDEX, FREE}}, F32 | I32},
    [ENG_OP_SET_ROWS] = {{{BLOCKS, ROWS}, {FLOATS, FREE}, {INDEX, FREE}}, 0},
    [ENG_OP_RMS_NORM] = {{{FLOATS, FREE}, {FLOATS, FREE}}, F32},
    [ENG_OP_NORM] = {{{FLOATS, FREE}, {FLOATS, FREE}, {FLOATS, FREE}}, F32},
    [ENG_OP_L2_NORM] = {{{FLOATS, FREE}}, F32},
    [ENG_OP_GROUP_NORM] = {{{FLOATS, FREE}}, F32},
    [ENG_OP_ROPE] = {{{FLOATS, FREE}, {INDEX, FREE}, {F32, FREE}}, F32},
    [ENG_OP_SOFT_MAX] = {{{FLOATS, FREE}, {FLOATS, FREE}, {F32, FREE}}, F32},
    [ENG_OP_ADD] = ELEMENTWISE,
    [ENG_OP_SUB] = ELEMENTWISE,
    [ENG_OP_MUL] = ELEMENTWISE,
    [ENG_OP_DIV] = ELEMENTWISE,
    [ENG_OP_SCALE] = {{{FLOATS, FREE}}, F32},
    [ENG_OP_UNARY] = {{{FLOATS, FREE}}, F32},
    [ENG_OP_GLU] = ELEMENTWISE,
    [ENG_OP_CONCAT] = {{{ANY, FREE}, {ANY, FREE}}, ANY},
    [ENG_OP_REPEAT] = {{{FLOATS | INDEX, FREE}}, FLOATS | INDEX},
    [ENG_OP_PAD] = {{{F32, FREE}}, F32},
    [ENG_OP_ARGMAX] = {{{FLOATS, FREE}}, I32},
    [ENG_OP_TOP_K] = {{{FLOATS, FREE}}, I32},
    [ENG_OP_SUM_ROWS] = {{{FLOATS, FREE}}, F32},
    [ENG_OP_REBASE] = {{{INDEX, FREE}}, I32},
};

static const char *type_name(uint32_t type)
{
    const eng_type_info *info = cpu_type(type);
    return info ? info->name : "unknown";
}

static bool has(uint64_t types, uint32_t type)
{
    return type < CPU_TYPES && (types >> type & 1);
}

/* Why an operand cannot be used; "" if it can. */
static void check_operand(const eng_tensor *t, const operand_rule *rule, int number, char *reason, size_t bytes)
{
    const eng_type_info *type = cpu_type(t->type);
    if (!type || !has(rule->types, t->type)) {
        snprintf(reason, bytes, "operand %d (%s) of type %s is not supported", number, t->name, type_name(t->type));
        return;
    }
    bool row_together = t->rank == 0 || t->ne[0] <= (int64_t)type->block || t->nb[0] == (int64_t)type->block_bytes;
    if (!row_together && (rule->layout == ROWS || type->block > 1))
        snprintf(reason, bytes, "operand %d (%s): the elements of a row must be contiguous; use cpy first", number,
                 t->name);
}

/* What the types alone do not say. */
static void check_special(const eng_subgraph *graph, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *a = eng_subgraph_tensor(graph, node->in[0]), *b = eng_subgraph_tensor(graph, node->in[1]);
    switch (node->op) {
    case ENG_OP_UNARY:
        if (node->ip[ENG_UNARY_KIND] < 0 || node->ip[ENG_UNARY_KIND] >= ENG_UNARY_LIMIT)
            snprintf(reason, bytes, "unary kind %lld is unknown", (long long)node->ip[ENG_UNARY_KIND]);
        break;
    case ENG_OP_GLU:
        if (node->ip[ENG_GLU_KIND] < 0 || node->ip[ENG_GLU_KIND] >= ENG_GLU_KINDS)
            snprintf(reason, bytes, "glu kind %lld is unknown", (long long)node->ip[ENG_GLU_KIND]);
        break;
    case ENG_OP_STORE:
        if (a && b && a->type != b->type) {
            bool mixed = (has(INDEX, a->type) && !has(FLOATS | INDEX, b->type)) ||
                         (has(INDEX, b->type) && !has(FLOATS | INDEX, a->type));
            if (mixed)
                snprintf(reason, bytes, "%s cannot become %s", type_name(b->type), type_name(a->type));
        }
        break;
    case ENG_OP_CPY: {
        const eng_tensor *o = eng_subgraph_tensor(graph, node->out[0]);
        if (a && o && a->type != o->type &&
            ((has(INDEX, a->type) && !has(FLOATS | INDEX, o->type)) ||
             (has(INDEX, o->type) && !has(FLOATS | INDEX, a->type))))
            snprintf(reason, bytes, "%s cannot become %s", type_name(a->type), type_name(o->type));
        break;
    }
    case ENG_OP_HADAMARD: {
        int64_t group = node->ip[ENG_HADAMARD_GROUP];
        if (group < 1 || group > 4096 || (group & (group - 1)) || (a && a->ne[0] % group))
            snprintf(reason, bytes, "a group of %lld is no power of two up to 4096 that divides the row",
                     (long long)group);
        break;
    }
    case ENG_OP_ATTENTION:
        if (node->in[9] >= 0 && node->ip[ENG_ATTN_BLOCK] < 1)
            snprintf(reason, bytes, "a table of blocks needs a block size");
        break;
    default:
        break;
    }
}

int cpu_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t number, eng_support *answer, char *reason,
                 size_t reason_bytes)
{
    (void)device;
    char why[256] = "";
    const eng_node *node = eng_subgraph_node(graph, number);
    switch (node->op) {
    case ENG_OP_RESHAPE:
    case ENG_OP_PERMUTE:
    case ENG_OP_SLICE:
    case ENG_OP_EXTERN:
        *answer = ENG_SUPPORT_YES;
        return ENG_OK;
    default:
        break;
    }
    const op_rule *rule = node->op < CPU_OPS ? &rules[node->op] : NULL;
    if (!rule || !rule->in[0].types)
        snprintf(why, sizeof why, "op %u is unknown to the cpu plugin", (unsigned)node->op);
    for (int i = 0; rule && i < ENG_MAX_INPUTS && !why[0]; i++) {
        const eng_tensor *t = eng_subgraph_tensor(graph, node->in[i]);
        if (t && rule->in[i].types)
            check_operand(t, &rule->in[i], i, why, sizeof why);
        else if (t)
            snprintf(why, sizeof why, "operand %d is unknown to the cpu plugin", i);
    }
    const eng_tensor *out = eng_subgraph_tensor(graph, node->out[0]);
    if (!why[0] && out && !has(rule->out, out->type))
        snprintf(why, sizeof why, "a result of type %s is not supported", type_name(out->type));
    if (!why[0])
        check_special(graph, node, why, sizeof why);
    *answer = why[0] ? ENG_SUPPORT_NO : ENG_SUPPORT_YES;
    if (reason && reason_bytes)
        snprintf(reason, reason_bytes, "%s", why);
    return ENG_OK;
}
