/* starcoder2: norms that take the mean off and biases everywhere, a feed-forward without a gate, a window in all
 * layers. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_NORM_BIASES(0), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_UNGATED_FFN(LM_ALL),
};

/* Converters leave the window out; it is that of all models that there are. */
static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    for (int i = 0; i < n->n_layers && !lm_key_is(l, "attention.sliding_window"); i++)
        n->layer[i].window = 4096;
    return ENG_OK;
}

const lm_arch lm_arch_starcoder2 = {
    .name = "starcoder2",
    LM_ROWS(rows),
    .reads = LM_READS_WINDOW,
    .rope = ENG_ROPE_NEOX,
    .layer_norm = true,
    .glu = LM_GLU_GELU,
    .more = more,
};
