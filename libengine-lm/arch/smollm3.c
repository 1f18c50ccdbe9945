/* smollm3: llama whose every fourth layer is not rotated. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_smollm3 = {
    .name = "smollm3",
    LM_ROWS(rows),
    .rope_rest = 4,
};
