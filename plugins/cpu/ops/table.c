/* The op table of a variant. */
#include "op.h"

/* Rows of all operands as f32: what ops that convert their operands need. */
static size_t row_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    size_t bytes = 0;
    for (int i = 0; i < ENG_MAX_INPUTS; i++)
        if (task->in[i])
            bytes += floats(2 * task->in[i]->ne[0]);
    return bytes;
}

/* Guesses in nanoseconds. */
static double elements(const cpu_task *task)
{
    return task->out[0] ? (double)count(task->out[0]) : 0;
}

static double cost_light(const cpu_task *task)
{
    return elements(task) * 0.15;
}

static double cost_heavy(const cpu_task *task)
{
    return elements(task) * 0.8;
}

static double cost_rows_in(const cpu_task *task)
{
    return (double)count(task->in[0]) * 0.2;
}

static double cost_encode(const cpu_task *task)
{
    return (double)count(task->in[task->node->op == ENG_OP_STORE || task->node->op == ENG_OP_SET_ROWS ? 1 : 0]) * 1.0;
}

static double cost_mul_mat(const cpu_task *task)
{
    return elements(task) * (double)task->in[0]->ne[0] * 0.03;
}

static double cost_rope(const cpu_task *task)
{
    return elements(task) * 0.5 + (double)(task->out[0]->ne[2] * task->out[0]->ne[0]) * 8;
}

static double cost_gdn(const cpu_task *task)
{
    return elements(task) * (double)task->in[0]->ne[0] * 0.3;
}

static double cost_conv(const cpu_task *task)
{
    return elements(task) * (double)task->in[1]->ne[0] * 0.5;
}

static double cost_attention(const cpu_task *task)
{
    return elements(task) * (double)task->in[1]->ne[1] * 0.05;
}

#define OP(name, thread, shared, cost) {CPU_OP(name), thread, shared, cost}

static const cpu_op ops[CPU_OPS] = {
    [ENG_OP_MUL_MAT] = OP(mul_mat, CPU_V(cpu_thread_mul_mat), CPU_V(cpu_shared_mul_mat), cost_mul_mat),
    [ENG_OP_MUL_MAT_ID] = OP(mul_mat_id, CPU_V(cpu_thread_mul_mat_id), NULL, cost_mul_mat),
    [ENG_OP_HADAMARD] = OP(hadamard, row_bytes, NULL, cost_heavy),
    [ENG_OP_QUANTIZE] = OP(quantize, row_bytes, NULL, cost_encode),
    [ENG_OP_DEQUANTIZE] = OP(dequantize, row_bytes, NULL, cost_light),
    [ENG_OP_CPY] = OP(cpy, row_bytes, NULL, cost_encode),
    [ENG_OP_STORE] = OP(store, row_bytes, NULL, cost_encode),
    [ENG_OP_GATED_DELTA_NET] = OP(gated_delta_net, CPU_V(cpu_thread_gated_delta_net), NULL, cost_gdn),
    [ENG_OP_SSM_CONV] = OP(ssm_conv, CPU_V(cpu_thread_ssm_conv), NULL, cost_conv),
    [ENG_OP_ATTENTION] = OP(attention, CPU_V(cpu_thread_attention), CPU_V(cpu_shared_attention), cost_attention),
    [ENG_OP_GET_ROWS] = OP(get_rows, row_bytes, NULL, cost_light),
    [ENG_OP_SET_ROWS] = OP(set_rows, row_bytes, NULL, cost_encode),
    [ENG_OP_RMS_NORM] = OP(rms_norm, row_bytes, NULL, cost_light),
    [ENG_OP_NORM] = OP(norm, row_bytes, NULL, cost_light),
    [ENG_OP_L2_NORM] = OP(l2_norm, row_bytes, NULL, cost_light),
    [ENG_OP_GROUP_NORM] = OP(group_norm, row_bytes, NULL, cost_light),
    [ENG_OP_ROPE] = OP(rope, CPU_V(cpu_thread_rope), NULL, cost_rope),
    [ENG_OP_SOFT_MAX] = OP(soft_max, row_bytes, NULL, cost_heavy),
    [ENG_OP_ADD] = OP(add, row_bytes, NULL, cost_light),
    [ENG_OP_SUB] = OP(sub, row_bytes, NULL, cost_light),
    [ENG_OP_MUL] = OP(mul, row_bytes, NULL, cost_light),
    [ENG_OP_DIV] = OP(div, row_bytes, NULL, cost_light),
    [ENG_OP_SCALE] = OP(scale, row_bytes, NULL, cost_light),
    [ENG_OP_UNARY] = OP(unary, row_bytes, NULL, cost_heavy),
    [ENG_OP_GLU] = OP(glu, row_bytes, NULL, cost_heavy),
    [ENG_OP_CONCAT] = OP(concat, row_bytes, NULL, cost_light),
    [ENG_OP_REPEAT] = OP(repeat, row_bytes, NULL, cost_light),
    [ENG_OP_PAD] = OP(pad, row_bytes, NULL, cost_light),
    [ENG_OP_ARGMAX] = OP(argmax, row_bytes, NULL, cost_rows_in),
    [ENG_OP_TOP_K] = OP(top_k, CPU_V(cpu_thread_top_k), NULL, cost_rows_in),
    [ENG_OP_SUM_ROWS] = OP(sum_rows, row_bytes, NULL, cost_rows_in),
    [ENG_OP_REBASE] = OP(rebase, row_bytes, NULL, cost_light),
};

#define STRING2(x) #x
#define STRING(x) STRING2(x)

const cpu_variant CPU_PASTE(cpu_variant, CPU_SUFFIX) = {
    .name = STRING(CPU_SUFFIX),
    .ops = ops,
    .formats = cpu_formats,
    .to_f16 = CPU_V(cpu_to_f16),
};
