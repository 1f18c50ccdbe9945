/* olmo2, olmo3: norms after each block and none before, norms of queries and keys over all heads; of olmo3 three layers
 * of four have a window and positions that are not stretched. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS, LM_ROWS_POST_NORMS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_WIDE_NORMS, LM_ROWS_FFN,
};

const lm_arch lm_arch_olmo2 = {
    .name = "olmo2",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .window_period = 4,
    .local_plain = true,
    .wide_norms = true,
};
