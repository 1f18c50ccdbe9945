/* Tensors of layers with a state: convolutions, delta rules, scans. */
#include "config.h"

#include <stdio.h>

#include "model_impl.h"

void model_add_short_conv(model *m, int64_t layer)
{
    add_matrix(m, layer, "shortconv.in_proj.weight", CLASS_RECURRENT, 1, m->embd, 3 * m->embd);
    model_add(m, layer, "shortconv.conv.weight", CLASS_F32, FILL_NORMAL, 1, m->conv, m->embd, 0);
    add_matrix(m, layer, "shortconv.out_proj.weight", CLASS_RECURRENT, 2 * residual_gain(m), m->embd, m->embd);
}

/* A convolution each, with the dimension of 1 that converters leave in it. */
void model_add_kda(model *m, int64_t layer)
{
    static const char *const names[] = {"q", "k", "v"};
    char name[64];
    int64_t all = m->heads * m->state;

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "attn_%s.weight", names[i]);
        add_matrix(m, layer, name, CLASS_RECURRENT, 1, m->embd, all);
        snprintf(name, sizeof name, "ssm_conv1d_%s.weight", names[i]);
        model_add(m, layer, name, CLASS_F32, FILL_NORMAL, m->small_conv ? 2e-3 : 2, m->conv, 1, all);
    }
    add_matrix(m, layer, "ssm_f_a.weight", CLASS_RECURRENT, 1, m->embd, m->state);
    add_matrix(m, layer, "ssm_f_b.weight", CLASS_RECURRENT, 1, m->state, all);
    add_matrix(m, layer, "ssm_g_a.weight", CLASS_RECURRENT, 1, m->embd, m->state);
    add_matrix(m, layer, "ssm_g_b.weight", CLASS_RECURRENT, 1, m->state, all);
    add_matrix(m, layer, "ssm_beta.weight", CLASS_RECURRENT, 1, m->embd, m->heads);
    model_add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, all, 0, 0);
    model_add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, 1, m->heads, 0);
    add_norm(m, layer, "ssm_norm.weight", m->state);
    add_matrix(m, layer, "attn_output.weight", CLASS_RECURRENT, 2 * residual_gain(m), all, m->embd);
}

void model_add_recurrent(model *m, int64_t layer)
{
    int64_t inner = m->v_heads * m->state, channels = 2 * m->k_heads * m->state + inner;

    add_matrix(m, layer, "attn_qkv.weight", CLASS_RECURRENT, 1, m->embd, channels);
    add_matrix(m, layer, "attn_gate.weight", CLASS_RECURRENT, 1, m->embd, inner);
    model_add(m, layer, "ssm_conv1d.weight", CLASS_F32, FILL_NORMAL, m->small_conv ? 2e-3 : 2, m->conv, channels, 0);
    model_add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, m->v_heads, 0, 0);
    model_add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, m->v_heads, 0, 0);
    if (is(m, ARCH_GROUPED)) {
        add_matrix(m, layer, "ssm_ba.weight", CLASS_RECURRENT, 1, m->embd, 2 * m->v_heads);
    } else {
        add_matrix(m, layer, "ssm_beta.weight", CLASS_RECURRENT, 1, m->embd, m->v_heads);
        add_matrix(m, layer, "ssm_alpha.weight", CLASS_RECURRENT, 1, m->embd, m->v_heads);
    }
    add_norm(m, layer, "ssm_norm.weight", m->state);
    add_matrix(m, layer, "ssm_out.weight", CLASS_RECURRENT, 2 * residual_gain(m), inner, m->embd);
}

void model_add_channel_scan(model *m, int64_t layer)
{
    int64_t inner = m->v_heads * m->scan_head;

    add_matrix(m, layer, "ssm_in.weight", CLASS_RECURRENT, 1, m->embd, 2 * inner);
    model_add(m, layer, "ssm_conv1d.weight", CLASS_F32, FILL_NORMAL, 2, m->conv, inner, 0);
    add_bias(m, layer, "ssm_conv1d.bias", inner);
    add_matrix(m, layer, "ssm_x.weight", CLASS_RECURRENT, 0.5, inner, m->k_heads + 2 * m->state);
    add_matrix(m, layer, "ssm_dt.weight", CLASS_RECURRENT, 1, m->k_heads, inner);
    model_add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, inner, 0, 0);
    model_add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, m->state, inner, 0);
    model_add(m, layer, "ssm_d", CLASS_F32, FILL_NORM, 1, inner, 0, 0);
    add_matrix(m, layer, "ssm_out.weight", CLASS_RECURRENT, 2 * residual_gain(m), inner, m->embd);
}

void model_add_scan(model *m, int64_t layer)
{
    int64_t inner = m->v_heads * m->scan_head, channels = inner + 2 * m->k_heads * m->state;

    add_matrix(m, layer, "ssm_in.weight", CLASS_RECURRENT, 1, m->embd, inner + channels + m->v_heads);
    model_add(m, layer, "ssm_conv1d.weight", CLASS_F32, FILL_NORMAL, 2, m->conv, channels, 0);
    add_bias(m, layer, "ssm_conv1d.bias", channels);
    model_add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, m->v_heads, 0, 0);
    model_add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, 1, m->v_heads, 0);
    model_add(m, layer, "ssm_d", CLASS_F32, FILL_NORM, 1, 1, m->v_heads, 0);
    if (!is(m, ARCH_BOTH) || m->scan_norms)
        model_add(m, layer, "ssm_norm.weight", CLASS_F32, FILL_NORM, 1, inner / m->k_heads, m->k_heads, 0);
    add_matrix(m, layer, "ssm_out.weight", CLASS_RECURRENT, 2 * residual_gain(m), inner, m->embd);
    if (m->biases) {
        add_bias(m, layer, "ssm_in.bias", inner + channels + m->v_heads);
        add_bias(m, layer, "ssm_out.bias", m->embd);
    }
}
