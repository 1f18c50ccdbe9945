/*
 * Queries that grow with their position, by what goes beyond the context that the model was first trained for: times
 * 1 + scale ln(1 + floor(position / length)), the length that of the context unless a key has another.
 */
#include "config.h"

#include "blocks.h"

int lm_numbers_tempered(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_number_or(l, "attention.temperature_scale", 0, &n->temper_scale);
    if (!status && n->temper_scale < 0)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.attention.temperature_scale must not be negative, got %g",
                          l->arch_name, n->temper_scale);
    if (!status && n->temper_scale > 0 && !lm_key_is(l, "rope.scaling.original_context_length") &&
        !lm_key_is(l, "attention.temperature_length"))
        status = eng_fail(ENG_ERR_FORMAT, "the file has no key %s.rope.scaling.original_context_length or "
                          "attention.temperature_length, which its attention.temperature_scale needs", l->arch_name);
    if (!status)
        status = lm_key_integer_or(l, "attention.temperature_length", 1, LM_MAX_EXTENT, n->rope.n_ctx_orig,
                                   &n->temper_floor);
    for (int i = 0; i < n->n_layers; i++)
        n->layer[i].tempered = n->temper_scale > 0;
    return status;
}

eng_value lm_tempered(lm_build *b, eng_value q, int layer, bool wanted)
{
    return b->model->n.layer[layer].tempered ? eng_mul(b->g, q, wanted ? b->out_tempers : b->tempers) : q;
}
