/* Cross entropy of a text under a model. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* -ln softmax(logits)[target], in double. */
static double surprise(const float *logits, int64_t n, int32_t target)
{
    float max = logits[0];
    for (int64_t i = 1; i < n; i++)
        max = logits[i] > max ? logits[i] : max;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - max);
    return log(sum) - ((double)logits[target] - max);
}

/* One measurement: its text, what of it is counted, and what has been. */
typedef struct measured {
    eng_lm_context *c;
    eng_lm_perplexity_params p;
    int32_t *chunk;  /* the tokens of one */
    uint8_t *wanted; /* of each the logits */
    double sum;
} measured;

/* Predicts the tokens of a chunk from the first counted one on, in parts whose logits fit. */
static int chunk_sum(measured *m, const int32_t *tokens)
{
    eng_lm_context *c = m->c;
    uint32_t n = m->p.chunk;
    memcpy(m->chunk, tokens, n * sizeof *tokens);
    if (m->p.begin >= 0)
        m->chunk[0] = m->p.begin;
    int status = eng_lm_sequence_remove(c, 0);
    for (uint32_t done = 0; done + 1 < n && !status;) {
        uint32_t part = n - 1 - done < c->p.n_logits ? n - 1 - done : c->p.n_logits;
        eng_lm_batch b = {.size = sizeof b, .n_tokens = part, .tokens = m->chunk + done, .logits = m->wanted + done};
        status = eng_lm_decode(c, &b);
        for (uint32_t i = 0; i < part && !status; i++)
            if (m->wanted[done + i])
                m->sum += surprise(eng_lm_logits(c, i), c->model->n.n_vocab, tokens[done + i + 1]);
        done += part;
    }
    if (!status && !isfinite(m->sum))
        status = eng_fail(ENG_ERR_DEVICE, "the cross entropy is not a finite number" ENG_CAUSE
                          "the model's weights or the device "
                          "are at fault" ENG_ADVICE "try another device");
    return status;
}

void eng_lm_perplexity_defaults(eng_lm_perplexity_params *params)
{
    if (params)
        *params = (eng_lm_perplexity_params){.size = sizeof *params, .chunk = 512, .first = 1, .begin = -1};
}

static int check(const eng_lm_context *c, const eng_lm_perplexity_params *p, size_t n)
{
    if (p->chunk < 2 || p->chunk > c->p.n_cells + 1)
        return eng_fail(ENG_ERR_INVALID, "chunks of %u tokens" ENG_CAUSE
                        "2 to %u are possible in a context of %u", p->chunk,
                        c->p.n_cells + 1, c->p.n_cells);
    if (p->first < 1 || p->first >= p->chunk)
        return eng_fail(ENG_ERR_INVALID,
                        "targets from token %u of a chunk on" ENG_CAUSE "1 to %u are possible in chunks of %u",
                        p->first, p->chunk - 1, p->chunk);
    if (p->begin >= c->model->n.n_vocab)
        return eng_fail(ENG_ERR_INVALID, "chunks that begin with token %d" ENG_CAUSE "the model has %" PRId64, p->begin,
                        c->model->n.n_vocab);
    if (n < p->chunk)
        return eng_fail(ENG_ERR_INVALID,
                        "the text has %zu tokens, which is less than one chunk of %u: take a longer text, or "
                        "smaller chunks (-c)",
                        n, p->chunk);
    return ENG_OK;
}

/* All chunks of the text, or as many as are asked for. */
static int measure(measured *m, const int32_t *tokens, size_t chunks, eng_lm_progress progress, void *user)
{
    int status = ENG_OK;
    m->chunk = lm_calloc(m->p.chunk, sizeof *m->chunk);
    m->wanted = lm_calloc(m->p.chunk, 1);
    if (!m->chunk || !m->wanted)
        return ENG_ERR_NOMEM;
    memset(m->wanted + m->p.first - 1, 1, m->p.chunk - m->p.first + 1);
    for (size_t i = 0; i < chunks && !status; i++) {
        if (progress && progress(user, (double)i / (double)chunks))
            status = eng_fail(ENG_ERR_STATE, "the measurement was stopped");
        else
            status = chunk_sum(m, tokens + i * m->p.chunk);
    }
    eng_lm_sequence_remove(m->c, 0);
    return status;
}

int eng_lm_perplexity_counted(eng_lm_context *c, const int32_t *tokens, size_t n,
                              const eng_lm_perplexity_params *params, eng_lm_progress progress, void *progress_user,
                              eng_lm_perplexity_result *result)
{
    measured m = {.c = c};
    if (!c || !tokens || !params || !result || result->size < 2 * sizeof(uint32_t))
        return eng_fail(ENG_ERR_INVALID, "eng_lm_perplexity" ENG_CAUSE
                        "a context, tokens and a result with its size set are "
                        "needed");
    eng_lm_perplexity_defaults(&m.p);
    int status = lm_take("eng_lm_perplexity_counted", &m.p, sizeof m.p, params, 2 * sizeof(uint32_t));
    if (!status)
        status = lm_outputs_all_logits(c, "eng_lm_perplexity");
    if (!status)
        status = check(c, &m.p, n);
    size_t chunks = status ? 0 : n / m.p.chunk;
    if (m.p.max_chunks && chunks > m.p.max_chunks)
        chunks = m.p.max_chunks;
    if (!status)
        status = measure(&m, tokens, chunks, progress, progress_user);
    free(m.chunk);
    free(m.wanted);
    if (status)
        return status;
    if (progress)
        progress(progress_user, 1);
    eng_lm_perplexity_result own = {.size = sizeof own, .chunks = (uint32_t)chunks,
                                    .tokens = (uint64_t)chunks * (m.p.chunk - m.p.first)};
    own.cross_entropy = m.sum / (double)own.tokens;
    own.perplexity = exp(own.cross_entropy);
    return lm_give("eng_lm_perplexity", &own, sizeof own, result, 2 * sizeof(uint32_t));
}

int eng_lm_perplexity(eng_lm_context *c, const int32_t *tokens, size_t n, uint32_t chunk, uint32_t max_chunks,
                      eng_lm_progress progress, void *progress_user, eng_lm_perplexity_result *result)
{
    eng_lm_perplexity_params p;
    eng_lm_perplexity_defaults(&p);
    p.chunk = chunk;
    p.max_chunks = max_chunks;
    return eng_lm_perplexity_counted(c, tokens, n, &p, progress, progress_user, result);
}
