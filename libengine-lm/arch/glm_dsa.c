/* glm-dsa (GLM-5): as deepseek32; some layers see what an earlier one has chosen. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_LATENT_ATTENTION, LM_ROWS_INDEXER, LM_ROWS_FFN, LM_ROWS_EXPERTS,
    LM_ROW_CHOICE_BIAS(0), LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL), LM_ROWS_DRAFTING,
};

const lm_arch lm_arch_glm_dsa = {
    .name = "glm-dsa",
    LM_ROWS(rows),
    .reads = LM_READS_DENSE_LEAD | LM_READS_DRAFTING | LM_READS_GATING | LM_READS_GROUPS | LM_READS_LATENT,
    .rope_part = 1,
    .latent = true,
    .drafts = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_COUNT,
    .sigmoid = true,
    .unnormed = LM_IF_KEY_DENIES,
    .index_rope = ENG_ROPE_NORMAL,
    .index_shared = true,
    .more = lm_latent_indexed,
};
