/* qwen3vl, its text: as qwen3; what images add to the first layers comes from files of their own. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_FFN,
};

const lm_arch lm_arch_qwen3vl = {
    .name = "qwen3vl",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .one_stream = true,
};
