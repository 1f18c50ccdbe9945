/* Cross entropy of a text under a model. */
#include "config.h"

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

/* Predicts tokens 1 .. n-1 of a chunk, in parts whose logits fit. */
static int chunk_sum(eng_lm_context *c, const int32_t *tokens, uint32_t n, const uint8_t *all, double *sum)
{
    int status = eng_lm_sequence_remove(c, 0);
    for (uint32_t done = 0; done + 1 < n && !status;) {
        uint32_t part = n - 1 - done < c->p.n_logits ? n - 1 - done : c->p.n_logits;
        eng_lm_batch b = {.size = sizeof b, .n_tokens = part, .tokens = tokens + done, .logits = all};
        status = eng_lm_decode(c, &b);
        for (uint32_t i = 0; i < part && !status; i++)
            *sum += surprise(eng_lm_logits(c, i), c->model->n.n_vocab, tokens[done + i + 1]);
        done += part;
    }
    if (!status && !isfinite(*sum))
        status = eng_fail(ENG_ERR_DEVICE, "the cross entropy is not a finite number" ENG_CAUSE
                          "the model's weights or the device "
                          "are at fault" ENG_ADVICE "try another device");
    return status;
}

int eng_lm_perplexity(eng_lm_context *c, const int32_t *tokens, size_t n, uint32_t chunk, uint32_t max_chunks,
                      eng_lm_progress progress, void *progress_user, eng_lm_perplexity_result *result)
{
    if (!c || !tokens || !result || result->size < 2 * sizeof(uint32_t))
        return eng_fail(ENG_ERR_INVALID, "eng_lm_perplexity" ENG_CAUSE
                        "a context, tokens and a result with its size set are "
                        "needed");
    int refused = lm_outputs_all_logits(c, "eng_lm_perplexity");
    if (refused)
        return refused;
    if (chunk < 2 || chunk > c->p.n_cells + 1)
        return eng_fail(ENG_ERR_INVALID, "chunks of %u tokens" ENG_CAUSE
                        "2 to %u are possible in a context of %u", chunk,
                        c->p.n_cells + 1, c->p.n_cells);
    size_t chunks = n / chunk;
    if (max_chunks && chunks > max_chunks)
        chunks = max_chunks;
    if (chunks == 0)
        return eng_fail(ENG_ERR_INVALID, "the text has %zu tokens, which is less than one chunk of %u: take a longer text, or "
                        "smaller chunks (-c)", n, chunk);
    uint8_t *all = lm_calloc(chunk, 1);
    if (!all)
        return ENG_ERR_NOMEM;
    memset(all, 1, chunk);
    double sum = 0;
    int status = ENG_OK;
    for (size_t i = 0; i < chunks && !status; i++) {
        if (progress && progress(progress_user, (double)i / (double)chunks))
            status = eng_fail(ENG_ERR_STATE, "the measurement was stopped");
        else
            status = chunk_sum(c, tokens + i * chunk, chunk, all, &sum);
    }
    free(all);
    eng_lm_sequence_remove(c, 0);
    if (status)
        return status;
    if (progress)
        progress(progress_user, 1);
    eng_lm_perplexity_result own = {.size = sizeof own, .chunks = (uint32_t)chunks,
                                    .tokens = (uint64_t)chunks * (chunk - 1)};
    own.cross_entropy = sum / (double)own.tokens;
    own.perplexity = exp(own.cross_entropy);
    return lm_give("eng_lm_perplexity", &own, sizeof own, result, 2 * sizeof(uint32_t));
}
