/* The whole-model oracle: rows of a table of n-grams (Qwen4-Exp, as PyPI's transformers have it). */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

/* The token `back` before the last one; what ends a text stands for all before it and for what is before the
 * beginning. */
static int64_t token_at(const ref_sequence *s, int64_t back)
{
    int64_t begin = 0;
    for (int64_t i = 0; i < s->length; i++)
        begin = s->history[i] == s->m->ngram_end ? i + 1 : begin;
    return s->length - back >= begin ? s->history[s->length - back] : s->m->ngram_end;
}

static void take_rows(const ref_sequence *s, double *rows)
{
    const ref_model *m = s->m;
    int64_t d = m->ngram_width;
    for (int64_t n = 2; n <= m->longest; n++)
        for (int64_t i = 0; i < m->each; i++, rows += d) {
            int64_t mixed = 0, head = (n - 2) * m->each + i;
            for (int64_t back = 0; back < n; back++)
                mixed ^= token_at(s, back) * m->factors[back];
            memcpy(rows, m->ngram_table + (mixed % m->sizes[head] + m->offsets[head]) * d, (size_t)d * sizeof *rows);
        }
}

int64_t ref_ngrams_scratch(const ref_model *m)
{
    return m->longest ? (m->longest - 1) * m->each * m->ngram_width + (3 * m->n_streams + 1) * m->n_embd : 0;
}

void ref_ngrams(ref_sequence *s, const layer *l, double *streams, double *t)
{
    const ref_model *m = s->m;
    int64_t e = m->n_embd, all = m->n_streams * e, taps = m->ngram_taps;
    double *key = t, *query = key + all, *value = query + all, *given = value + e, *rows = given + all;
    double *past = s->ngram_past + s->length * all;
    take_rows(s, rows);
    ref_product(&l->ngrams.key, 0, rows, key);
    ref_product(&l->ngrams.value, 0, rows, value);
    ref_mix_norm(m, key, l->ngrams.key_norm, key);
    ref_mix_norm(m, streams, l->ngrams.query_norm, query);
    for (int64_t i = 0; i < m->n_streams; i++) {
        double fit = 0;
        for (int64_t k = 0; k < e; k++)
            fit += key[i * e + k] * query[i * e + k] / sqrt((double)e);
        fit = fit == 0 ? 0 : copysign(sqrt(fmax(fabs(fit), 1e-6)), fit);
        for (int64_t k = 0; k < e; k++)
            given[i * e + k] = ref_logistic(fit) * value[k];
    }
    ref_mix_norm(m, given, l->ngrams.norm, past);
    for (int64_t c = 0; c < all; c++) {
        double sum = 0;
        for (int64_t j = 0; j < taps && j * m->longest <= s->length; j++)
            sum += l->ngrams.conv[c * taps + taps - 1 - j] * past[c - j * m->longest * all];
        streams[c] += given[c] + sum * ref_logistic(sum);
    }
}
