/* llama4, its text: three layers of four see only their chunk of positions; the fourth is not rotated, and its queries
 * grow with their position.  Each token goes to one expert, weighed before it, and to a shared one. */
#include "config.h"

#include "blocks.h"

static const lm_weight_row rows[] = {
    LM_ROWS_COMMON("ffn_norm"), LM_ROWS_ROPE_FREQS, LM_ROWS_ATTENTION(LM_W_OPTIONAL), LM_ROWS_FFN,
    LM_ROWS_EXPERTS, LM_ROWS_SHARED_EXPERT(0),
};

/* What the models' code has by default and their files leave out; the larger, of 128 experts, does not norm heads. */
#define CHUNK 8192
#define GROWTH 0.1

static int more(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t chunk;
    int status = lm_key_integer_or(l, "attention.sliding_window", 0, INT32_MAX, CHUNK, &chunk);
    if (!status && chunk == 0)
        status = eng_fail(ENG_ERR_UNSUPPORTED,
                          "key %s.attention.sliding_window is 0" ENG_CAUSE "which layers are rotated "
                          "in a model without chunks is not known",
                          l->arch_name);
    n->temper_scale = GROWTH;
    n->temper_floor = CHUNK;
    n->temper_offset = 1;
    for (int i = 0; i < n->n_layers && !status; i++) {
        lm_layer *a = &n->layer[i];
        a->chunk = a->rotated ? chunk : 0;
        a->normed = a->rotated && n->n_experts != 128;
        a->tempered = !a->rotated;
    }
    return status;
}

const lm_arch lm_arch_llama4 = {
    .name = "llama4",
    LM_ROWS(rows),
    .reads = LM_READS_MOE_STEP | LM_READS_CHUNK,
    .needs = LM_READS_MOE_STEP,
    .rope_rest = 4,
    .experts = LM_EXPERTS_OWN,
    .shared = LM_SHARED_ONE,
    .sigmoid = true,
    .unnormed = LM_ALWAYS,
    .weigh_first = true,
    .more = more,
};
