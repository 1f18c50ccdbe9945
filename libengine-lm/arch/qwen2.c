/* qwen2: as llama, with the two halves of a head rotated together and biases of Q, K and V. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(0), LM_ROWS_FFN,
};

const lm_arch lm_arch_qwen2 = {
    .name = "qwen2",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
};
