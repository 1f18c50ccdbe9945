/* command-r: attention and feed-forward side by side behind one norm that takes the mean off, the larger with norms of
 * heads. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_OWN_NORMS,
    LM_ROWS_FFN,
};

const lm_arch lm_arch_command_r = {
    .name = "command-r",
    LM_ROWS(rows),
    .reads = LM_READS_LOGIT_SCALE,
    .parallel = true,
    .layer_norm = true,
};
