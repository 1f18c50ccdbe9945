/* gpt-oss: sinks, every second layer with a window, biases of everything, experts with clamped units. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("post_attention_norm"), LM_ROWS_ATTENTION(0), LM_ROW_SINKS, LM_ROWS_EXPERTS,
};

const lm_arch lm_arch_gpt_oss = {
    .name = "gpt-oss",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW,
    .needs = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .rope_unrounded = true,
    .window_period = 2,
    .glu = LM_GLU_OAI,
    .experts = LM_EXPERTS_OWN,
};
