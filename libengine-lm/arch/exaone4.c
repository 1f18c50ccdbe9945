/* exaone4: norms after each block and none before, norms of heads; with windows, three layers of four have one, and
 * only those are rotated. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS,          LM_ROWS_POST_NORMS, LM_ROWS_ROPE_FREQS, LM_ROWS_ATTENTION(LM_W_OPTIONAL),
    LM_ROWS_HEAD_NORMS(0), LM_ROWS_FFN,
};

const lm_arch lm_arch_exaone4 = {
    .name = "exaone4",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .window_period = 4,
    .local_alone = true,
};
