/* granite: llama with a factor of embeddings, of what each block adds, of the products of queries and keys, and of
 * logits. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ROPE_FREQS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN, LM_ROWS_EXPERTS,
};

int lm_granite_rope(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t rotated = 1;
    int status = lm_key_integer_or(l, "rope.scaling.finetuned", 0, 1, 1, &rotated);
    for (int i = 0; i < n->n_layers; i++)
        n->layer[i].rotated = rotated;
    return status;
}

const lm_arch lm_arch_granite = {
    .name = "granite",
    LM_ROWS(rows),
    .reads = LM_READS_EMBD_SCALE | LM_READS_RESIDUAL_SCALE | LM_READS_ATTN_SCALE | LM_READS_LOGIT_SCALE,
    .needs = LM_READS_LOGIT_SCALE,
    .divided = true,
    .experts = LM_EXPERTS_MAYBE,
    .more = lm_granite_rope,
};
