/* llama: attention with rope over neighbouring pairs, whose frequencies the file may scale one by one; a dense
 * feed-forward, or experts of its width. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ROPE_FREQS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN, LM_ROWS_EXPERTS,
};

const lm_arch lm_arch_llama = {
    .name = "llama",
    LM_ROWS(rows),
    .experts = LM_EXPERTS_MAYBE,
};
