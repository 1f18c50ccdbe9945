/* qwen2vl (Qwen2-VL, Qwen2.5-VL), its text: as qwen2. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(0), LM_ROWS_FFN};

const lm_arch lm_arch_qwen2vl = {
    .name = "qwen2vl",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .one_stream = true,
};
