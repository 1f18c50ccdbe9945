/* hunyuan-moe: hunyuan-dense with experts, and one more that every token uses. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_EXPERTS,
    LM_ROWS_SHARED_EXPERT(0),
};

const lm_arch lm_arch_hunyuan_moe = {
    .name = "hunyuan-moe",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .norms_turned = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_LENGTH,
};
