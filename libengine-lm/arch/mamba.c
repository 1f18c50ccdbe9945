/* mamba: nothing but layers that scan, each channel by itself. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROWS_CHANNEL_SCAN};

const lm_arch lm_arch_mamba = {
    .name = "mamba",
    LM_ROWS(rows),
    .scans = LM_SCAN_EACH,
    .conv_words = LM_CHANNEL_SCAN_CHANNELS,
    .head_words = LM_CHANNEL_SCAN_CHANNELS,
};
