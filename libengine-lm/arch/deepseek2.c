/* deepseek2 (DeepSeek V2, V3, R1, Kimi K2, GLM-4.7-Flash, Mistral Large 3): latent attention, the first
 * layers dense, experts in groups, of which the best are chosen, and shared ones. */
#include "config.h"

#include <stdio.h>

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_LATENT_ATTENTION, LM_ROWS_FFN, LM_ROWS_EXPERTS,
    LM_ROW_CHOICE_BIAS(LM_W_OPTIONAL), LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL), LM_ROWS_DRAFTING,
};

/* Files that were made before there was the key leave open what a router with biases computes. */
static int check_router(const lm_loader *l)
{
    char name[64];
    if (lm_key_is(l, "expert_gating_func"))
        return ENG_OK;
    for (int i = 0; i < l->model->n.n_layers; i++) {
        snprintf(name, sizeof name, "blk.%d.exp_probs_b.bias", i);
        if (eng_gguf_tensor_find(l->gguf, name))
            return eng_fail(ENG_ERR_FORMAT, "the file has no key %s.expert_gating_func, which a model with %s needs"
                            ENG_ADVICE "convert it again with a present-day converter", l->arch_name, name);
    }
    return ENG_OK;
}

static int more(lm_loader *l)
{
    int status = check_router(l);
    if (!status)
        status = lm_numbers_tempered(l);
    return status ? status : lm_latent_scale(l);
}

const lm_arch lm_arch_deepseek2 = {
    .name = "deepseek2",
    LM_ROWS(rows),
    .reads = LM_READS_DENSE_LEAD | LM_READS_DRAFTING | LM_READS_GATING | LM_READS_GROUPS | LM_READS_LATENT |
             LM_READS_TEMPERATURE,
    .rope_part = 1,
    .latent = true,
    .drafts = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_COUNT,
    .unnormed = LM_BY_KEY,
    .more = more,
};
