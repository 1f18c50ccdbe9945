/* glm4: norms before and after each block, half of a head rotated, gate and up in one matrix. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_POST_NORMS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FUSED_FFN,
};

const lm_arch lm_arch_glm4 = {
    .name = "glm4",
    LM_ROWS(rows),
    .reads = LM_READS_DRAFTING,
    .needs = LM_NEEDS_ROPE_PART,
    .rope_part = 1,
};
