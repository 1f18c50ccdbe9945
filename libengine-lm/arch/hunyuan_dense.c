/* hunyuan-dense: as qwen3, but heads are normed after they are rotated. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_FFN,
};

const lm_arch lm_arch_hunyuan_dense = {
    .name = "hunyuan-dense",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .norms_turned = true,
};
