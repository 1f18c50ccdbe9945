/* lfm2moe: lfm2 with experts behind the first layers. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS_OF("token_embd_norm"), LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROW_NORM(LM_FFN_NORM, "ffn_norm"),
    LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_SHORT_CONV, LM_ROWS_FFN,
    LM_ROWS_EXPERTS, LM_ROW_CHOICE_BIAS(LM_W_OPTIONAL),
};

const lm_arch lm_arch_lfm2moe = {
    .name = "lfm2moe",
    LM_ROWS(rows),
    .reads = LM_READS_LAYER_SIZES | LM_READS_DENSE_LEAD | LM_READS_GATING,
    .rope = ENG_ROPE_NEOX,
    .headless = true,
    .experts = LM_EXPERTS_OWN,
    .sigmoid = true,
    .weights_least = 1e-6,
    .more = lm_numbers_short_conv,
    .conv_words = LM_SHORT_CONV_CHANNELS,
};
