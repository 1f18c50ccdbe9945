/* phi3: gate and up in one matrix, a window in all layers if the file says so, factors of rope for long contexts and
 * for short ones. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FUSED_FFN, LM_ROWS_LONG_ROPE,
};

const lm_arch lm_arch_phi3 = {
    .name = "phi3",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .rope_part = 1,
};
