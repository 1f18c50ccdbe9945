/* falcon-h1: each layer attends and scans, side by side; its many factors are in the file's weights. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"),
    {LM_FFN_NORM, "ffn_norm", "E", LM_W_F32 | LM_W_OPTIONAL, LM_ALL, 0, 0}, /* as converters call it */
    {LM_FFN_NORM, "ffn_norm.weight", "E", LM_W_F32, LM_ALL, 0, LM_FFN_NORM + 1},
    LM_ROWS_ROPE_FREQS, LM_ROWS_SCAN_OF(LM_W_OPTIONAL), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_falcon_h1 = {
    .name = "falcon-h1",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .scans = LM_SCAN_BESIDE,
    .conv_words = LM_SCAN_CHANNELS,
    .head_words = LM_SCAN_HEADS,
};
