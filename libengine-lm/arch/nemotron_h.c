/* nemotron_h: layers that scan, attend without positions, or have a feed-forward without a gate; one of these each. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROWS_SCAN, LM_ROWS_ATTENTION(LM_W_OPTIONAL),
    LM_ROWS_UNGATED_FFN(LM_LAYER_PLAIN),
};

const lm_arch lm_arch_nemotron_h = {
    .name = "nemotron_h",
    LM_ROWS(rows),
    .reads = LM_READS_LAYER_SIZES,
    .rope_part = 1,
    .rope_rest = 1,
    .scans = LM_SCAN_OR_EITHER,
    .conv_words = LM_SCAN_CHANNELS,
    .head_words = LM_SCAN_HEADS,
};
