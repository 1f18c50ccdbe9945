/* qwen3next: as qwen35moe, with the value heads of a key head side by side, and rope of one position. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_GATED_ATTENTION, LM_ROWS_HEAD_NORMS(0), LM_ROWS_GDN_GROUPED,
    LM_ROWS_EXPERTS, LM_ROWS_SHARED_EXPERT(0), LM_ROWS_SHARED_GATE, LM_ROWS_DRAFTING,
};

const lm_arch lm_arch_qwen3next = {
    .name = "qwen3next",
    LM_ROWS(rows),
    .reads = LM_READS_DRAFTING,
    .rope = ENG_ROPE_NEOX,
    .rope_part = 4,
    .hybrid = true,
    .grouped = true,
    .gated = true,
    .drafts = true,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_LENGTH,
    .conv_words = LM_GDN_GROUPED_CHANNELS,
    .head_words = LM_GDN_GROUPED_HEADS,
};
