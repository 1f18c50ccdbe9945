/* gemma2: norms before and after each block, every second layer with a window, softcaps of the products of queries and
 * keys and of the logits. */
#include "config.h"

#include <math.h>

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_POST_NORMS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

/* The 27B models, known by their 46 layers, divide by the root of a number that files do not have:
 * query_pre_attn_scalar, which is n_embd / n_head and not the size of a head. */
static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    if (n->n_layers == 46)
        n->attn_scale = 1 / sqrt((double)n->n_embd / (double)n->n_head);
    return ENG_OK;
}

const lm_arch lm_arch_gemma2 = {
    .name = "gemma2",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW | LM_READS_ATTN_SOFTCAP | LM_READS_LOGIT_SOFTCAP,
    .needs = LM_READS_WINDOW | LM_READS_ATTN_SOFTCAP | LM_READS_LOGIT_SOFTCAP,
    .rope = ENG_ROPE_NEOX,
    .window_period = 2,
    .embd_root = true,
    .glu = LM_GLU_GELU,
    .more = more,
};
