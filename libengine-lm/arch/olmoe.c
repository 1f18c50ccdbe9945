/* olmoe: norms of queries and keys over all heads, experts by plain probabilities. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_WIDE_NORMS, LM_ROWS_FFN, LM_ROWS_EXPERTS,
};

const lm_arch lm_arch_olmoe = {
    .name = "olmoe",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .wide_norms = true,
    .experts = LM_EXPERTS_MAYBE,
    .unnormed = LM_ALWAYS,
};
