/* Tensors of feed-forwards and experts. */
#include "config.h"

#include <math.h>

#include "model_impl.h"

static int64_t shared_width(const model *m)
{
    switch (m->a->shared) {
    case SHARED_LENGTH: return m->shared_ffn;
    case SHARED_COUNT: return m->shared_count * m->expert_ffn;
    case SHARED_ONE: return m->expert_ffn;
    default: return 0;
    }
}

static void add_expert_biases(model *m, int64_t layer)
{
    add_bias(m, layer, "ffn_gate_inp.bias", m->experts);
    if (m->fused_experts) {
        model_add(m, layer, "ffn_gate_up_exps.bias", CLASS_F32, FILL_BIAS, 1, 2 * m->expert_ffn, m->experts, 0);
    } else {
        model_add(m, layer, "ffn_gate_exps.bias", CLASS_F32, FILL_BIAS, 1, m->expert_ffn, m->experts, 0);
        model_add(m, layer, "ffn_up_exps.bias", CLASS_F32, FILL_BIAS, 1, m->expert_ffn, m->experts, 0);
    }
    model_add(m, layer, "ffn_down_exps.bias", CLASS_F32, FILL_BIAS, 1, m->embd, m->experts, 0);
}

static void add_experts(model *m, int64_t layer)
{
    int64_t width = m->a->experts == EXPERTS_MAYBE ? m->ffn : m->expert_ffn, extra = shared_width(m);

    if (m->a->experts == EXPERTS_BESIDE) { /* its input is over the root of its width */
        model_append(m, layer, "ffn_gate_inp.weight", CLASS_F32, FILL_NORMAL, 2 * sqrt((double)m->embd), m->embd,
                     m->experts, 0);
        add_norm(m, layer, "ffn_gate_inp.scale", m->embd);
        add_norm(m, layer, "post_ffw_norm_1.weight", m->embd);
        add_norm(m, layer, "pre_ffw_norm_2.weight", m->embd);
        add_norm(m, layer, "post_ffw_norm_2.weight", m->embd);
    } else {
        add_matrix(m, layer, "ffn_gate_inp.weight", CLASS_F32, 2, m->embd, m->experts);
    }
    if (m->fused_experts) {
        model_add(m, layer, "ffn_gate_up_exps.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, 2 * width, m->experts);
    } else {
        model_add(m, layer, "ffn_gate_exps.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, width, m->experts);
        model_add(m, layer, "ffn_up_exps.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, width, m->experts);
    }
    model_add(m, layer, "ffn_down_exps.weight", CLASS_FFN, FILL_NORMAL, 4 * residual_gain(m), width, m->embd,
              m->experts);
    if (is(m, ARCH_COMPRESSED) && layer < m->hashed)
        model_append(m, layer, "ffn_gate_tid2eid.weight", CLASS_F32, FILL_IDS, 1, m->used, m->vocab, 0);
    else if (is(m, ARCH_CHOICE_BIAS) || m->choice_bias)
        add_bias(m, layer, "exp_probs_b.bias", m->experts);
    if (is(m, ARCH_EXPERT_BIAS))
        add_expert_biases(m, layer);
    if (is(m, ARCH_SHARED_GATE))
        model_add(m, layer, "ffn_gate_inp_shexp.weight", CLASS_F32, FILL_NORMAL, 1, m->embd, 0, 0);
    if (extra) {
        add_matrix(m, layer, "ffn_gate_shexp.weight", CLASS_FFN, 1, m->embd, extra);
        add_matrix(m, layer, "ffn_up_shexp.weight", CLASS_FFN, 1, m->embd, extra);
        add_matrix(m, layer, "ffn_down_shexp.weight", CLASS_FFN, 4 * residual_gain(m), extra, m->embd);
    }
}

void model_add_ffn(model *m, int64_t layer)
{
    if (m->experts > 0 && layer >= m->dense_lead && (layer + 1) % m->moe_step == 0) {
        add_experts(m, layer);
        if (m->a->experts != EXPERTS_BESIDE)
            return;
    }
    int64_t ffn = model_ffn(m, layer);
    add_matrix(m, layer, "ffn_down.weight", CLASS_FFN, 4 * residual_gain(m), ffn, m->embd);
    if (is(m, ARCH_UNGATED)) {
        add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, ffn);
        add_bias(m, layer, "ffn_up.bias", ffn);
        add_bias(m, layer, "ffn_down.bias", m->embd);
        return;
    }
    if (is(m, ARCH_FUSED_FFN)) {
        add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, 2 * m->ffn);
        return;
    }
    add_matrix(m, layer, "ffn_gate.weight", CLASS_FFN, 1, m->embd, ffn);
    add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, ffn);
    if (m->biases) {
        add_bias(m, layer, "ffn_gate.bias", ffn);
        add_bias(m, layer, "ffn_up.bias", ffn);
        add_bias(m, layer, "ffn_down.bias", m->embd);
    }
}
