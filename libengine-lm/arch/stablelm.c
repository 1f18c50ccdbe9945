/* stablelm: norms that take the mean off, a part of each head is rotated; the larger have norms of heads, and attention
 * and feed-forward side by side. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_ENDS, LM_ROW_NORM(LM_NORM, "attn_norm"),
    {LM_FFN_NORM, "ffn_norm.weight", "E", LM_W_F32 | LM_W_OPTIONAL, LM_ALL, 0, 0},
    LM_ROWS_NORM_BIASES(LM_W_OPTIONAL), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_OWN_NORMS, LM_ROWS_FFN,
};

/* Whether blocks are side by side the second norm says: converters guess at the key. */
const lm_arch lm_arch_stablelm = {
    .name = "stablelm",
    LM_ROWS(rows),
    .reads = LM_READS_PARALLEL,
    .rope = ENG_ROPE_NEOX,
    .rope_part = 4,
    .parallel = true,
    .layer_norm = true,
};
