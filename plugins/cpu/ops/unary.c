/* Activations and other functions of one number. */
#include "elementwise.h"

CPU_INLINE vf v_softplus(vf x)
{
    vf y;
    for (int i = 0; i < CPU_VL; i++)
        y[i] = x[i] > 20 ? x[i] : log1pf(expf(x[i]));
    return y;
}

CPU_INLINE vf v_tanh(vf x)
{
    vf y;
    for (int i = 0; i < CPU_VL; i++)
        y[i] = tanhf(x[i]);
    return y;
}

CPU_MAP(silu_row, v_silu(x))
CPU_MAP(gelu_row, v_gelu(x))
CPU_MAP(gelu_erf_row, v_gelu_erf(x))
CPU_MAP(gelu_quick_row, v_gelu_quick(x))
CPU_MAP(sigmoid_row, v_sigmoid(x))
CPU_MAP(softplus_row, v_softplus(x))
CPU_MAP(exp_row, v_exp(x))
CPU_MAP(tanh_row, v_tanh(x))
CPU_MAP(relu_row, v_relu(x))
CPU_MAP(neg_row, -x)

CPU_DECLARE(unary)
{
    static const unary_row rows[ENG_UNARY_LIMIT] = {
        [ENG_UNARY_SILU] = silu_row,         [ENG_UNARY_GELU] = gelu_row,
        [ENG_UNARY_GELU_ERF] = gelu_erf_row, [ENG_UNARY_GELU_QUICK] = gelu_quick_row,
        [ENG_UNARY_SIGMOID] = sigmoid_row,   [ENG_UNARY_SOFTPLUS] = softplus_row,
        [ENG_UNARY_EXP] = exp_row,           [ENG_UNARY_TANH] = tanh_row,
        [ENG_UNARY_RELU] = relu_row,         [ENG_UNARY_NEG] = neg_row,
    };
    run_unary(task, run, rows[task->node->ip[ENG_UNARY_KIND]], NULL);
}
