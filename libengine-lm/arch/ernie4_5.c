/* ernie4_5, dense: as llama. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_ernie4_5 = {
    .name = "ernie4_5",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NORMAL,
};
