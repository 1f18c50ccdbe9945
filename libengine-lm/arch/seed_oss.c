/* seed_oss: as qwen2, the second norm by another name. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_seed_oss = {
    .name = "seed_oss",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
};
