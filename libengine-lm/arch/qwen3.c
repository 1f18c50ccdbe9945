/* qwen3: as qwen2, with a norm of each head's query and key instead of biases. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_FFN,
};

const lm_arch lm_arch_qwen3 = {
    .name = "qwen3",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
};
