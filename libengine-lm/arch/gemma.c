/* gemma: llama with scaled embeddings and GELU. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

const lm_arch lm_arch_gemma = {
    .name = "gemma",
    LM_ROWS(rows),
    .rope = ENG_ROPE_NEOX,
    .embd_root = true,
    .glu = LM_GLU_GELU,
};
