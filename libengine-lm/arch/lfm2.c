/* lfm2: short convolutions with gates, and attention where the file says that a layer has heads of K and V. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS_OF("token_embd_norm"), LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROW_NORM(LM_FFN_NORM, "ffn_norm"),
    LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0), LM_ROWS_SHORT_CONV, LM_ROWS_FFN,
};

const lm_arch lm_arch_lfm2 = {
    .name = "lfm2",
    LM_ROWS(rows),
    .reads = LM_READS_LAYER_SIZES,
    .rope = ENG_ROPE_NEOX,
    .headless = true,
    .more = lm_numbers_short_conv,
    .conv_words = LM_SHORT_CONV_CHANNELS,
};
