/* cohere2 (Command R7B, A): command-r; three layers of four have a window, and only those are rotated. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_cohere2 = {
    .name = "cohere2",
    LM_ROWS(rows),
    .reads = LM_READS_LOGIT_SCALE | LM_READS_WINDOW,
    .needs = LM_READS_LOGIT_SCALE | LM_READS_WINDOW,
    .window_period = 4,
    .local_alone = true,
    .parallel = true,
    .layer_norm = true,
};
