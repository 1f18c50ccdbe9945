/* What a model's logits are, by the plain forward in double precision. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "../reference/model.h"
#include "../tap.h"
#include "archs.h"

int32_t archs_best(const double *logits, int64_t n, double *ahead)
{
    double first = -INFINITY, second = -INFINITY, squares = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += logits[i] * logits[i];
        if (logits[i] > first) {
            second = first;
            first = logits[found = i];
        } else if (logits[i] > second) {
            second = logits[i];
        }
    }
    *ahead = (first - second) / sqrt(squares / (double)n);
    return (int32_t)found;
}

bool archs_answer(answer *a, const char *path, uint32_t seed, int n_prompt)
{
    char error[256];
    double ahead;
    ref_model *m = ref_model_open(path, error, sizeof error);
    ref_sequence *s = m ? ref_sequence_create(m) : NULL;
    if (m)
        ref_model_cells(m, N_CELLS);
    a->n_prompt = n_prompt;
    a->n_vocab = m ? ref_model_vocab(m) : 1;
    a->logits = malloc((size_t)(N_ROWS * a->n_vocab) * sizeof *a->logits);
    bool good = s && a->logits;
    for (int i = 0; i < n_prompt + N_STEPS && good; i++) {
        double *row = i + 1 < n_prompt ? NULL : a->logits + (i + 1 - n_prompt) * a->n_vocab;
        if (i < n_prompt)
            a->ids[i] = (int32_t)((seed + (uint32_t)i * 2654435761u) >> 7) & 0xff;
        good = ref_sequence_step(s, a->ids[i], row);
        if (good && row && i + 1 < n_prompt + N_STEPS)
            a->ids[i + 1] = archs_best(row, a->n_vocab, &ahead);
    }
    if (!good)
        tap_check(false, "%s: %s", path, m ? "no memory" : error);
    a->margin = s ? ref_sequence_margin(s) : 0;
    ref_sequence_destroy(s);
    ref_model_close(m);
    return good;
}
