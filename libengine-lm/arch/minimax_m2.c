/* minimax-m2: norms of queries and keys over all heads, a part of a head rotated, experts chosen by biased sigmoids. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_WIDE_NORMS, LM_ROWS_EXPERTS,
    LM_ROW_CHOICE_BIAS(0),
};

const lm_arch lm_arch_minimax_m2 = {
    .name = "minimax-m2",
    LM_ROWS(rows),
    .reads = LM_READS_GATING,
    .needs = LM_NEEDS_ROPE_PART,
    .rope = ENG_ROPE_NEOX,
    .rope_part = 1,
    .wide_norms = true,
    .experts = LM_EXPERTS_OWN,
    .sigmoid = true,
};
