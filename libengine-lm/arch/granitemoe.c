/* granitemoe: granite with experts, and of some models a shared one. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ROPE_FREQS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN, LM_ROWS_EXPERTS,
    LM_ROWS_SHARED_EXPERT(LM_W_OPTIONAL),
};

const lm_arch lm_arch_granitemoe = {
    .name = "granitemoe",
    LM_ROWS(rows),
    .reads = LM_READS_EMBD_SCALE | LM_READS_RESIDUAL_SCALE | LM_READS_ATTN_SCALE | LM_READS_LOGIT_SCALE,
    .needs = LM_READS_LOGIT_SCALE,
    .divided = true,
    .experts = LM_EXPERTS_MAYBE,
    .more = lm_granite_rope,
    .shared = LM_SHARED_LENGTH,
};
