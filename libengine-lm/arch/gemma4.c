/* gemma4, its text: gemma3 with heads of another size in the layers without a window, values that are normed (and are
 * the keys in some), later layers that read the caches of earlier ones, embeddings for each layer, experts beside a
 * dense feed-forward. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_POST_NORMS, LM_ROWS_ROPE_FREQS, LM_ROWS_SHARED_ATTENTION(LM_W_OPTIONAL),
    LM_ROWS_EXPERTS_BESIDE, LM_ROWS_INPUTS,
    {LM_LAYER_SCALE, "layer_output_scale.weight", "1", LM_W_F32 | LM_W_OPTIONAL, LM_ALL, 0, 0},
};

const lm_arch lm_arch_gemma4 = {
    .name = "gemma4",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW | LM_READS_LOGIT_SOFTCAP | LM_READS_LAYER_SIZES | LM_READS_LOCAL_HEADS |
             LM_READS_SHARED_CACHES | LM_READS_INPUTS,
    .needs = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .window_period = 6,
    .local_plain = true,
    .local_base = 10000,
    .embd_root = true,
    .value_norms = true,
    .attn_plain = true,
    .glu = LM_GLU_GELU,
    .experts = LM_EXPERTS_BESIDE,
};
