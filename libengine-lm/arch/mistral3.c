/* mistral3: llama whose queries may grow with their position. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
};

/* By what goes beyond the context that the model was first trained for. */
static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_number_or(l, "attention.temperature_scale", 0, &n->temper_scale);
    if (!status && n->temper_scale < 0)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.attention.temperature_scale must not be negative, got %g", l->arch_name,
                          n->temper_scale);
    if (!status && n->temper_scale > 0 && !lm_key_is(l, "rope.scaling.original_context_length"))
        status = eng_fail(ENG_ERR_FORMAT, "the file has no key %s.rope.scaling.original_context_length, which its "
                          "attention.temperature_scale needs", l->arch_name);
    n->temper_floor = n->rope.n_ctx_orig;
    for (int i = 0; i < n->n_layers; i++)
        n->layer[i].tempered = n->temper_scale > 0;
    return status;
}

const lm_arch lm_arch_mistral3 = {
    .name = "mistral3",
    LM_ROWS(rows),
    .reads = LM_READS_TEMPERATURE,
    .more = more,
};
