/* gemma3n, its text: gemma4's attention with heads of one size, four hidden states of a token, a learned way around the
 * mixer, gates of which the first layers let only the largest pass. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_POST_NORMS, LM_ROWS_SHARED_ATTENTION(0), LM_ROWS_FFN, LM_ROWS_INPUTS, LM_ROWS_ALTUP,
    LM_ROWS_LAUREL,
};

/* No key says how short the vector beside the mixer is. */
static int more(lm_loader *l)
{
    const eng_gguf_tensor *t = eng_gguf_tensor_find(l->gguf, "blk.0.laurel_l.weight");
    if (!t || t->rank != 2 || t->ne[1] < 1)
        return eng_fail(ENG_ERR_FORMAT, "the file has no matrix blk.0.laurel_l.weight, which a %s model needs",
                        l->arch_name);
    lm_letter_add(l->model, 'O', NULL, t->ne[1]);
    return ENG_OK;
}

const lm_arch lm_arch_gemma3n = {
    .name = "gemma3n",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW | LM_READS_LOGIT_SOFTCAP | LM_READS_LAYER_SIZES | LM_READS_SHARED_CACHES |
             LM_READS_INPUTS | LM_READS_SPARSITY | LM_READS_ALTUP,
    .needs = LM_READS_WINDOW | LM_READS_SHARED_CACHES | LM_READS_INPUTS,
    .rope = ENG_ROPE_NEOX,
    .window_period = 5,
    .local_plain = true,
    .local_base = 10000,
    .embd_root = true,
    .value_norms = true,
    .attn_plain = true,
    .glu = LM_GLU_GELU,
    .more = more,
};
