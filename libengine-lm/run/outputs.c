/* What passes give for the tokens wanted: logits, all or the best of them, and hidden states. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "run.h"

void lm_outputs_choose(eng_lm_context *c)
{
    const lm_numbers *n = &c->model->n;
    uint64_t rows[LM_GIVENS] = {0};
    uint32_t top = c->p.n_top, tensor = 1;
    rows[LM_GIVEN_LOGITS] = sizeof(float) * (top ? top : (uint64_t)n->n_vocab);
    rows[LM_GIVEN_TOP] = sizeof(int32_t) * top;
    rows[LM_GIVEN_BEST] = top ? sizeof(float) : 0;
    rows[LM_GIVEN_HIDDEN] = c->p.outputs ? sizeof(float) * (uint64_t)n->d_hidden : 0;
    for (int i = 0; i < LM_GIVENS; i++)
        if (rows[i])
            c->given[i] = (lm_output){.tensor = tensor++, .row = rows[i]};
}

/* Given for every token, not only for those wanted? */
static bool of_all(const eng_lm_context *c, int i)
{
    return i == LM_GIVEN_HIDDEN && c->p.outputs & ENG_LM_HIDDEN_ALL;
}

int lm_outputs_declare(const eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, eu_arena *memory,
                       eng_store_tensor *t, uint32_t *n)
{
    static const char *const names[LM_GIVENS] = {"logits", "top", "best", "hidden"};
    lm_letter letters[] = {{'V', "vocab", c->model->n.n_vocab}, {'K', NULL, 0}, {'N', NULL, n_out}};
    *n = 0;
    for (int i = 0; i < LM_GIVENS; i++) {
        const lm_output *o = &c->given[i];
        if (!o->tensor)
            continue;
        bool whole = i == LM_GIVEN_LOGITS && c->p.n_top == 0;
        eng_store_tensor *own = &t[(*n)++];
        /* where they are made: to spread them would only cost a transfer */
        *own = (eng_store_tensor){.size = sizeof *own, .type = i == LM_GIVEN_TOP ? ENG_TYPE_I32 : ENG_TYPE_F32,
                                  .use = ENG_USE_OUTPUT, .name = names[i], .layer = -1, .device = c->model->head_device};
        letters[1].extent = (int64_t)(o->row / sizeof(float));
        letters[2].extent = of_all(c, i) ? n_tokens : n_out;
        int status = lm_dims(c->model->engine, letters, 3, whole ? "V, N" : "K, N", memory, own->ne, &own->rank,
                             &own->dims);
        if (status)
            return status;
    }
    return ENG_OK;
}

static void give(const eng_lm_context *c, lm_build *b, eng_store *io, lm_given i, eng_value v)
{
    if (c->given[i].tensor)
        eng_store_value(b->g, eng_graph_tensor(b->g, LM_SLOT_IO, io, c->given[i].tensor), v);
}

/* Elements ids[k, n] of each row of x[v, n]. */
static eng_value elements(const eng_lm_context *c, lm_build *b, eng_value x, eng_value ids, int64_t k)
{
    eng_value rows = eng_reshape(b->g, x, (int64_t[]){1, c->model->n.n_vocab, b->n_out}, 3);
    return eng_reshape(b->g, eng_get_rows(b->g, rows, ids), (int64_t[]){k, b->n_out}, 2);
}

void lm_outputs_build(const eng_lm_context *c, lm_build *b, eng_store *io, eng_value logits)
{
    int64_t k = c->p.n_top;
    if (k) {
        eng_value ids = eng_top_k(b->g, logits, k), p = eng_soft_max(b->g, logits, ENG_NO_VALUE, ENG_NO_VALUE, 1, 0);
        give(c, b, io, LM_GIVEN_TOP, ids);
        give(c, b, io, LM_GIVEN_BEST, elements(c, b, p, eng_slice(b->g, ids, 0, 0, 1), 1));
        logits = elements(c, b, logits, ids, k);
    }
    give(c, b, io, LM_GIVEN_LOGITS, logits);
    give(c, b, io, LM_GIVEN_HIDDEN, b->hidden);
}

int lm_outputs_all_logits(const eng_lm_context *c, const char *who)
{
    return c->p.n_top ? eng_fail(ENG_ERR_STATE,
                                 "%s needs all logits" ENG_CAUSE "the context gives the %u largest" ENG_ADVICE
                                 "make it with n_top 0",
                                 who, c->p.n_top) :
                        ENG_OK;
}

bool lm_outputs_reserve(eng_lm_context *c, uint64_t all, uint64_t wanted)
{
    for (int i = 0; i < LM_GIVENS; i++)
        if (c->given[i].tensor && !eu_reserve(c->given[i].data, c->given[i].room,
                                              (size_t)((of_all(c, i) ? all : wanted) * c->given[i].row)))
            return false;
    return true;
}

int lm_outputs_read(eng_lm_context *c, eng_store *io, const lm_part *all, const lm_part *wanted, eng_fence *fence)
{
    int status = ENG_OK;
    for (int i = 0; i < LM_GIVENS && !status; i++) {
        const lm_output *o = &c->given[i];
        const lm_part *part = of_all(c, i) ? all : wanted;
        const eng_region out = eng_range(o->data + part->first * o->row, 0, part->n * o->row);
        if (o->tensor && part->n)
            status = eng_queue_read(c->queue, NULL, 0, io, o->tensor, &out, 1, fence);
    }
    return status;
}

void lm_outputs_destroy(eng_lm_context *c)
{
    for (int i = 0; i < LM_GIVENS; i++)
        free(c->given[i].data);
}

/* -- what hosts read ---------------------------------------------------------------------------------- */

static const void *row_of(const eng_lm_context *c, lm_given i, uint32_t index)
{
    if (!c || index >= c->n_logits_row || c->logits_row[index] < 0 || !c->given[i].tensor)
        return NULL;
    return c->given[i].data + (uint64_t)c->logits_row[index] * c->given[i].row;
}

const float *eng_lm_logits(const eng_lm_context *c, uint32_t index)
{
    return c && c->p.n_top ? NULL : row_of(c, LM_GIVEN_LOGITS, index);
}

const float *eng_lm_hidden(const eng_lm_context *c, uint32_t index)
{
    if (!c || index >= c->n_logits_row)
        return NULL;
    return of_all(c, LM_GIVEN_HIDDEN) ? lm_hidden_at(c, (uint32_t)c->place[index]) : row_of(c, LM_GIVEN_HIDDEN, index);
}

const float *lm_hidden_at(const eng_lm_context *c, uint32_t place)
{
    const lm_output *o = &c->given[LM_GIVEN_HIDDEN];
    return place < c->n_logits_row && of_all(c, LM_GIVEN_HIDDEN) ? (const float *)(o->data + place * o->row) : NULL;
}

uint32_t eng_lm_top(const eng_lm_context *c, uint32_t index, const int32_t **tokens, const float **logits,
                    double *log_total)
{
    const int32_t *ids = row_of(c, LM_GIVEN_TOP, index);
    if (!ids || !tokens || !logits)
        return 0;
    *tokens = ids;
    *logits = row_of(c, LM_GIVEN_LOGITS, index);
    if (log_total)
        *log_total = (*logits)[0] - log(*(const float *)row_of(c, LM_GIVEN_BEST, index));
    return c->p.n_top;
}
