/* engine-generate: how likely the tokens were (--n-probs). */
#include "config.h"

#include <math.h>

#include "generate_run.h"

/* The n most likely tokens, the lower token first among equals. */
static void find_best(const float *logits, uint32_t n_vocab, token_chance *best, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t t = 0; t < n_vocab; t++) {
        if (found == n && !(logits[t] > best[n - 1].log_probability))
            continue;
        uint32_t at = found < n ? found++ : n - 1;
        for (; at > 0 && best[at - 1].log_probability < logits[t]; at--)
            best[at] = best[at - 1];
        best[at] = (token_chance){(int32_t)t, logits[t]};
    }
}

int run_note_chances(run *r, uint32_t index, int32_t token)
{
    eng_lm_model_info info = {.size = sizeof info};
    const float *logits = eng_lm_logits(r->context, index);
    if (!r->o.n_probs || !logits)
        return ENG_OK;
    int status = eng_lm_model_get_info(r->model, &info);
    if (status)
        return status;
    const uint32_t n = r->o.n_probs < info.n_vocab ? r->o.n_probs : info.n_vocab;
    r->o.n_probs = n;
    if (!eu_reserve(r->chances, r->chances_room, r->n_chances + n + 1))
        return eng_fail_code(EU_NO_MEMORY("the probabilities of tokens"));
    token_chance *own = r->chances + r->n_chances;
    double sum = 0;
    own[0] = (token_chance){token, logits[token]};
    find_best(logits, info.n_vocab, own + 1, n);
    for (uint32_t t = 0; t < info.n_vocab; t++)
        sum += exp((double)logits[t] - (double)own[1].log_probability);
    const double total = (double)own[1].log_probability + log(sum);
    for (uint32_t i = 0; i <= n; i++)
        own[i].log_probability = (float)((double)own[i].log_probability - total);
    r->n_chances += n + 1;
    return ENG_OK;
}
