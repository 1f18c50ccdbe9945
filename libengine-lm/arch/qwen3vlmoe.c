/* qwen3vlmoe, its text: qwen3vl with experts. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_EXPERTS,
};

const lm_arch lm_arch_qwen3vlmoe = {
    .name = "qwen3vlmoe",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .one_stream = true,
    .experts = LM_EXPERTS_OWN,
};
