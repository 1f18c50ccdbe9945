/* glm5next (GLM-5.3-Flash): Kimi Delta Attention whose forgetting is bounded, and in layers with heads of K and V
 * latent attention without rope to pools of cells that an indexer chooses; streams of a token instead of one hidden
 * state. */
#include "config.h"

#include <math.h>

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_HYPER, LM_ROWS_LATENT_ATTENTION_OF("L"), LM_ROWS_INDEXER, LM_ROWS_POOLS,
    LM_ROWS_KDA, LM_ROWS_FFN, LM_ROWS_EXPERTS, LM_ROW_CHOICE_BIAS(0), LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL),
};

static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    n->attn_scale = 1 / sqrt((double)n->d_head);
    if (n->d_k != n->d_v)
        return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.rope.dimension_count is %lld" ENG_CAUSE "attention of a %s model "
                        "has no rope, 0 is expected", l->arch_name, (long long)(n->d_k - n->d_v), l->arch_name);
    return lm_numbers_indexer(l);
}

const lm_arch lm_arch_glm5next = {
    .name = "glm5next",
    LM_ROWS(rows),
    .reads = LM_READS_DENSE_LEAD | LM_READS_DRAFTING | LM_READS_GATING | LM_READS_GROUPS | LM_READS_LATENT |
             LM_READS_HYPER | LM_READS_CLAMPS | LM_READS_POOLS | LM_READS_KEPT_LEAST,
    .needs = LM_READS_POOLS | LM_READS_KEPT_LEAST,
    LM_KDA_BESIDE_LATENT,
    .same_epsilon = true,
    .more = more,
};
