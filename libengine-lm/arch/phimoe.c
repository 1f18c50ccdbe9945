/* phimoe (Phi-3.5-MoE): norms with mean and bias, biases everywhere, factors of rope as phi3's, two experts that a
 * router with a threshold chooses and weighs (SparseMixer). */
#include "config.h"

#include "blocks.h"

#define ROPE_SIZE 1.243163121016122 /* of all its models: their files have another, which a converter has worked out */

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_NORM_BIASES(0), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_EXPERTS,
    LM_ROWS_LONG_ROPE,
};

static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    if (n->n_used != 2)
        return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_used_count is %lld" ENG_CAUSE "its router chooses 2",
                        l->arch_name, (long long)n->n_used);
    if (eng_gguf_tensor_find(l->gguf, "rope_factors_long.weight"))
        n->rope.attn_factor = n->local_rope.attn_factor = ROPE_SIZE;
    return ENG_OK;
}

const lm_arch lm_arch_phimoe = {
    .name = "phimoe",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .rope_part = 1,
    .layer_norm = true,
    .rms_epsilon = true,
    .experts = LM_EXPERTS_MAYBE,
    .router_gap = 0.02,
    .more = more,
};
