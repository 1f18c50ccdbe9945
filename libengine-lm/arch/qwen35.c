/* qwen35, dense: gated-delta-net layers and, every few, attention whose output is gated. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_GATED_ATTENTION, LM_ROWS_HEAD_NORMS(0), LM_ROWS_GDN, LM_ROWS_FFN,
    LM_ROWS_DRAFTING,
};

const lm_arch lm_arch_qwen35 = {
    .name = "qwen35",
    LM_ROWS(rows),
    .reads = LM_READS_DRAFTING,
    .rope = ENG_ROPE_IMROPE,
    .rope_part = 4,
    .hybrid = true,
    .gated = true,
    .drafts = true,
    .conv_words = LM_GDN_CHANNELS,
    .head_words = LM_GDN_HEADS,
};
