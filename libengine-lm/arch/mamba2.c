/* mamba2: nothing but layers that scan. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROWS_SCAN};

const lm_arch lm_arch_mamba2 = {
    .name = "mamba2",
    LM_ROWS(rows),
    .scans = LM_SCAN_ONLY,
    .conv_words = LM_SCAN_CHANNELS,
    .head_words = LM_SCAN_HEADS,
};
