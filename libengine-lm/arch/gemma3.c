/* gemma3, its text: gemma2 with norms of heads instead of the softcaps, five layers of six with a window, and those
 * rotated by a base of their own. */
#include "config.h"

#include <math.h>

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_POST_NORMS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_HEAD_NORMS(0),
    LM_ROWS_FFN,
};

/* The 27B models, known by their 62 layers, divide by the root of a number that files do not have:
 * query_pre_attn_scalar, which is n_embd / n_head and not the size of a head. */
static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    if (n->n_layers == 62)
        n->attn_scale = 1 / sqrt((double)n->n_embd / (double)n->n_head);
    return ENG_OK;
}

const lm_arch lm_arch_gemma3 = {
    .name = "gemma3",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW | LM_READS_LOGIT_SOFTCAP,
    .needs = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .window_period = 6,
    .local_plain = true,
    .local_base = 10000,
    .embd_root = true,
    .glu = LM_GLU_GELU,
    .more = more,
};
