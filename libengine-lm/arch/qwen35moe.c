/* qwen35moe: qwen35 with experts, and one more that every token uses as far as its gate says. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_GATED_ATTENTION, LM_ROWS_HEAD_NORMS(0), LM_ROWS_GDN, LM_ROWS_EXPERTS,
    LM_ROWS_SHARED_EXPERT(0), LM_ROWS_SHARED_GATE, LM_ROWS_DRAFTING,
};

const lm_arch lm_arch_qwen35moe = {
    .name = "qwen35moe",
    LM_ROWS(rows),
    .reads = LM_READS_DRAFTING,
    .rope = ENG_ROPE_IMROPE,
    .rope_part = 4,
    .hybrid = true,
    .gated = true,
    .drafts = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_LENGTH,
    .conv_words = LM_GDN_CHANNELS,
    .head_words = LM_GDN_HEADS,
};
