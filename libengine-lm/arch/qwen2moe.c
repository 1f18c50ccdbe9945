/* qwen2moe: qwen2 with experts, whose weights are their probabilities as they are, and a shared one with a gate. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(0), LM_ROWS_EXPERTS, LM_ROWS_SHARED_EXPERT(0), LM_ROWS_SHARED_GATE,
};

const lm_arch lm_arch_qwen2moe = {
    .name = "qwen2moe",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_LENGTH,
    .unnormed = LM_ALWAYS,
};
