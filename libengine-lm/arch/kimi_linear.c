/* kimi-linear: Kimi Delta Attention, and in layers with heads of K and V latent attention without rope; a dense layer
 * or more first, then experts by biased sigmoids and shared ones. */
#include "config.h"

#include <math.h>

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_LATENT_ATTENTION, LM_ROWS_KDA, LM_ROWS_FFN, LM_ROWS_EXPERTS,
    LM_ROW_CHOICE_BIAS(0), LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL),
};

/* Nothing is rotated, so nothing could be stretched. */
static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    n->attn_scale = 1 / sqrt((double)n->d_head);
    if (n->rope.freq_scale != 1 || n->rope.ext_factor != 0 || n->rope.attn_factor != 1)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "key %s.rope.scaling.type" ENG_CAUSE "attention of a %s model has no rope that "
                        "could be scaled",
                        l->arch_name, l->arch_name);
    return ENG_OK;
}

const lm_arch lm_arch_kimi_linear = {
    .name = "kimi-linear",
    LM_ROWS(rows),
    .reads = LM_READS_DENSE_LEAD | LM_READS_GATING | LM_READS_GROUPS | LM_READS_LATENT,
    LM_KDA_BESIDE_LATENT,
    .more = more,
};
