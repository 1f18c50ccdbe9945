/* gemma4-assistant: small layers of gemma4's kind that guess what a Gemma 4 model says next.  They have queries alone
 * and read the caches of the model, whose embedding of the last token and hidden state before it they are given. */
#include "config.h"

#include <math.h>

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_POST_NORMS, LM_ROWS_ROPE_FREQS, LM_ROWS_SHARED_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
    {LM_LAYER_SCALE, "layer_output_scale.weight", "1", LM_W_F32 | LM_W_OPTIONAL, LM_ALL, 0, 0},
    LM_MATRIX(LM_DRAFT_IN, "nextn.pre_projection", "2 b", "E", 0, 0, 0),
    LM_MATRIX(LM_DRAFT_STATE, "nextn.post_projection", "E", "b", LM_W_END, 0, 0),
    /* which tokens a smaller head would be for: all are */
    {LM_DRAFT_EMBD, "masked_embd_centroids.weight", "1", LM_W_LEFT_OUT, 0, 0, 0},
    {LM_DRAFT_EMBD, "masked_embd_ordering", "1", LM_W_LEFT_OUT, 0, 0, 0},
};

static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "embedding_length_out", 1, LM_MAX_EXTENT, &n->d_hidden);
    n->embd_scale = sqrt((double)n->d_hidden); /* the embeddings are the other model's */
    lm_letter_add(l->model, 'b', NULL, n->d_hidden);
    l->model->drafts = true;
    return status;
}

const lm_arch lm_arch_gemma4_assistant = {
    .name = "gemma4-assistant",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW | LM_READS_LOGIT_SOFTCAP | LM_READS_LAYER_SIZES | LM_READS_LOCAL_HEADS |
             LM_READS_SHARED_CACHES | LM_READS_DRAFTING,
    .needs = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .window_period = 6,
    .local_plain = true,
    .local_base = 10000,
    .attn_plain = true,
    .assistant = true,
    .glu = LM_GLU_GELU,
    .more = more,
};
