/* glm4moe (GLM-4.5): half of a head rotated, experts chosen by biased sigmoids, a shared one, the first layers
 * dense. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(LM_W_OPTIONAL), LM_ROWS_FFN,
    LM_ROWS_EXPERTS, LM_ROW_CHOICE_BIAS(0), LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL), LM_ROWS_DRAFTING,
};

const lm_arch lm_arch_glm4moe = {
    .name = "glm4moe",
    LM_ROWS(rows),
    .reads = LM_READS_DRAFTING | LM_READS_DENSE_LEAD | LM_READS_GATING | LM_READS_GROUPS,
    .needs = LM_NEEDS_ROPE_PART,
    .rope = ENG_ROPE_NEOX,
    .rope_part = 1,
    .drafts = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_COUNT,
    .sigmoid = true,
    .unnormed = LM_BY_KEY,
};
