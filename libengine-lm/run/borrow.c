/* Contexts of assistants: models without caches of their own, which read another context's. */
#include "config.h"

#include <string.h>

#include "run.h"

/* The last layer that keeps what a layer of this kind reads; -1: there is none. */
static int lender(const lm_numbers *n, const lm_layer *a)
{
    int k = n->n_layers - 1;
    while (k >= 0 && !(n->kind[k] & LM_LAYER_ATTENTION && n->layer[k].owner == k && n->layer[k].local == a->local))
        k--;
    return k >= 0 && n->layer[k].d_k == a->d_k && n->layer[k].n_head_kv == a->n_head_kv ? k : -1;
}

static int find_lenders(eng_lm_context *c)
{
    const lm_numbers *n = &c->model->n, *other = &c->lender->model->n;
    if (n->d_hidden != other->n_embd)
        return eng_fail(ENG_ERR_INVALID,
                        "an assistant for hidden states of %lld" ENG_CAUSE "the model's have %lld" ENG_ADVICE
                        "take the assistant that was made for this model",
                        (long long)n->d_hidden, (long long)other->n_embd);
    for (int i = 0; i < n->n_layers; i++) {
        int k = lender(other, &n->layer[i]);
        if (k < 0)
            return eng_fail(ENG_ERR_INVALID, "layer %d of the assistant reads a cache of %lld heads of %lld, %s a window" ENG_CAUSE
                            "the model's last such cache is another one" ENG_ADVICE "take the assistant that was made for this "
                            "model", i, (long long)n->layer[i].n_head_kv, (long long)n->layer[i].d_k,
                            n->layer[i].local ? "with" : "without");
        c->layer_memory[i] = c->lender->layer_memory[k];
    }
    return ENG_OK;
}

int lm_context_borrow(eng_lm_model *model, eng_lm_context *first, eng_lm_context **context)
{
    eng_lm_context *c = lm_calloc(1, sizeof *c);
    if (!c)
        return ENG_ERR_NOMEM;
    c->model = model;
    c->lender = first;
    c->p = first->p;
    c->p.n_batch = c->p.n_logits = 1;
    c->p.n_top = 0;
    c->p.outputs = ENG_LM_HIDDEN;
    c->few = 1;
    c->memory = first->memory;
    c->cells = first->cells;
    int status = find_lenders(c);
    if (!status) {
        lm_outputs_choose(c);
        status = eng_queue_create(model->device, &c->queue);
    }
    if (!status && !(eu_reserve(c->logits_row, c->logits_row_room, 1) && eu_reserve(c->place, c->place_room, 1) &&
                     lm_outputs_reserve(c, 1, 1)))
        status = eng_fail_code(EU_NO_MEMORY("the logits of an assistant"));
    if (status) {
        eng_lm_context_destroy(c);
        return status;
    }
    c->logits_row[0] = c->place[0] = 0;
    *context = c;
    return ENG_OK;
}

int lm_context_ask(eng_lm_context *c, int32_t token, int32_t pos, int32_t rank, const float *state)
{
    lm_pass *p;
    c->n_logits_row = 0;
    c->n_batches++;
    int status = lm_pass_get(c, 1, 1, &p);
    if (status)
        return status;
    memset(p->in, 0xff, p->at.total * sizeof *p->in);
    p->in[p->at.tokens] = token;
    p->in[p->at.pos] = pos;
    p->in[p->at.seq] = rank;
    p->in[p->at.out] = 0;
    memcpy(p->states, state, (size_t)c->model->n.d_hidden * sizeof *p->states);
    status = lm_pass_run(c, p, &(lm_part){0, 1}, &(lm_part){0, 1});
    c->n_logits_row = status == ENG_OK;
    return status;
}
