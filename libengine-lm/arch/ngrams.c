/*
 * A table of n-grams (Qwen4-Exp's per-layer embedding, as its models' code has it): by the last tokens, two of them,
 * three and so on, each token takes rows of it, whose numbers the host counts, for they need integers of 64 bits.  One
 * layer turns them into a value for all streams and a key for each; how well the key fits the stream says how much of
 * the value it gets, and a convolution over the tokens, so many apart as the longest n-gram has, adds what was before.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "blocks.h"

/* -- numbers ------------------------------------------------------------------------------ */

/* The one layer that takes rows: the file has its tensors. */
static int find_layer(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    bool any = false;
    for (int i = 0; i < n->n_layers; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.ple_key.weight", i);
        if (!eng_gguf_tensor_find(l->gguf, name))
            continue;
        if (any || !(n->kind[i] & LM_LAYER_RECURRENT))
            return eng_fail(ENG_ERR_UNSUPPORTED,
                            "tensor %s" ENG_CAUSE "a table of n-grams for one recurrent layer is known, "
                            "not for %s",
                            name, any ? "several layers" : "one that attends");
        n->ngrams.layer = i;
        any = true;
    }
    return any ? ENG_OK :
                 eng_fail(ENG_ERR_FORMAT, "key %s.ple.ngram_size is there, but no layer has a tensor ple_key.weight",
                          l->arch_name);
}

/* A list of so many numbers, each from least to most. */
static int list(const lm_loader *l, const char *name, int64_t count, int64_t least, int64_t most, uint64_t *values)
{
    char key[LM_KEY_BYTES];
    const eng_gguf_key *k = eng_gguf_key_find(l->gguf, lm_key_name(l, name, key));
    lm_unread_not(l, key);
    if (!k || k->type != ENG_GGUF_ARRAY || k->count != (uint64_t)count)
        return eng_fail(ENG_ERR_FORMAT, "key %s must be a list of %lld numbers, one of %llu was found", key,
                        (long long)count, k && k->type == ENG_GGUF_ARRAY ? (unsigned long long)k->count : 0);
    for (int64_t i = 0; i < count; i++) {
        int64_t value = 0;
        int status = eng_gguf_integer(l->gguf, key, (uint64_t)i, &value);
        if (!status)
            status = lm_key_in_range(key, value, least, most);
        if (status)
            return status;
        values[i] = (uint64_t)value;
    }
    return ENG_OK;
}

/* Whatever the tokens are, their rows must be in the table; and it is the i32 of passes that carry them. */
static int check_table(const lm_loader *l, const lm_ngrams *t, int64_t *rows)
{
    const eng_gguf_tensor *table = eng_gguf_tensor_find(l->gguf, "per_layer_token_embd.weight");
    *rows = table && table->rank == 2 ? table->ne[1] : 0;
    if (*rows < 1 || *rows > INT32_MAX)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "the table of n-grams, per_layer_token_embd.weight, has %lld rows" ENG_CAUSE
                        "1 to %d are possible",
                        (long long)*rows, INT32_MAX);
    for (int64_t i = 0; i < t->rows; i++)
        if (t->offsets[i] + t->sizes[i] > (uint64_t)*rows)
            return eng_fail(ENG_ERR_FORMAT, "keys %s.ple.head_offsets and head_vocab_sizes reach to row %llu of "
                            "per_layer_token_embd.weight, which has %lld", l->arch_name,
                            (unsigned long long)(t->offsets[i] + t->sizes[i]), (long long)*rows);
    return ENG_OK;
}

int lm_numbers_ngrams(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_ngrams *t = &m->n.ngrams;
    int64_t end, rows = 0;
    if (!lm_key_is(l, "ple.ngram_size"))
        return ENG_OK;
    char key[LM_KEY_BYTES];
    lm_unread_not(l, lm_key_name(l, "ple.layers", key)); /* the tensors say it */
    int status = lm_key_integer(l, "ple.ngram_size", 2, LM_MOST_NGRAM, &t->longest);
    if (!status)
        status = lm_key_integer(l, "ple.heads_per_ngram", 1, LM_MOST_NGRAM_ROWS / (t->longest - 1), &t->each);
    if (!status)
        status = lm_key_integer(l, "ple.conv_kernel", 2, 64, &t->taps);
    if (!status)
        status = lm_key_integer(l, "ple.eos_token_id", 0, m->n.n_vocab - 1, &end);
    if (!status)
        status = lm_key_integer(l, "embedding_length_per_layer_input", 1, LM_MAX_EXTENT, &t->width);
    if (status)
        return status;
    t->end = (int32_t)end;
    t->rows = (t->longest - 1) * t->each;
    /* their products with tokens stay below 2^63, so that it does not matter who counts with a sign and who without */
    status = list(l, "ple.layer_multipliers", t->longest, 1, INT64_MAX / m->n.n_vocab, t->factors);
    if (!status)
        status = list(l, "ple.head_vocab_sizes", t->rows, 1, INT32_MAX, t->sizes);
    if (!status)
        status = list(l, "ple.head_offsets", t->rows, 0, INT32_MAX, t->offsets);
    if (!status)
        status = check_table(l, t, &rows);
    lm_letter_add(m, 'I', NULL, t->width);
    lm_letter_add(m, 'l', NULL, t->rows);
    lm_letter_add(m, 'm', NULL, rows);
    lm_letter_add(m, 'q', NULL, t->taps);
    return status ? status : find_layer(l);
}

/* Before the text, and before a token that ends one, are such tokens alone. */
void lm_ngram_rows(const lm_ngrams *n, const int32_t *tokens, int64_t at, int32_t *rows)
{
    uint64_t mixed = (uint64_t)tokens[at] * n->factors[0];
    bool ended = false;
    for (int64_t back = 1; back < n->longest; back++) {
        ended = ended || back > at || tokens[at - back] == n->end;
        mixed ^= (uint64_t)(ended ? n->end : tokens[at - back]) * n->factors[back];
        for (int64_t i = 0; i < n->each; i++, rows++) {
            int64_t k = (back - 1) * n->each + i;
            *rows = (int32_t)(mixed % n->sizes[k] + n->offsets[k]);
        }
    }
}

/* -- the graph ------------------------------------------------------------------------------ */

/* The convolution's taps with those between them, which are 0. */
static eng_value taps(lm_build *b, int layer)
{
    const lm_ngrams *t = &b->model->n.ngrams;
    int64_t channels = b->model->n.n_embd * b->model->n.streams;
    const int64_t none[3] = {0}, between[3] = {t->longest - 1};
    eng_value w = eng_reshape(b->g, lm_weight(b, layer, LM_NGRAM_CONV), (int64_t[]){1, t->taps, channels}, 3);
    w = eng_reshape(b->g, eng_pad(b->g, w, none, between, 3), (int64_t[]){t->longest * t->taps, channels}, 2);
    return eng_cont(b->g, eng_slice(b->g, w, 0, 0, t->longest * (t->taps - 1) + 1));
}

/* How much each stream gets, [1, n, T]: the sigmoid of the signed root of the product of key and stream. */
static eng_value fit(lm_build *b, eng_value rows, int layer)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t ne[] = {n->n_embd, n->streams, b->n_tokens};
    eng_value key = eng_reshape(g, lm_product(b, layer, LM_NGRAM_KEY, rows), ne, 3);
    key = lm_streams_norm(b, key, layer, LM_NGRAM_KEY_NORM);
    eng_value x = eng_mul(g, key, lm_streams_norm(b, b->streams, layer, LM_NGRAM_QUERY_NORM));
    x = eng_scale(g, eng_sum_rows(g, x), 1 / sqrt((double)n->n_embd), 0);
    eng_value root = eng_clamp(g, eng_unary(g, x, ENG_UNARY_ABS), 1e-6, INFINITY);
    x = eng_mul(g, eng_unary(g, root, ENG_UNARY_SQRT), eng_unary(g, x, ENG_UNARY_SGN));
    return eng_unary(g, x, ENG_UNARY_SIGMOID);
}

void lm_ngrams_add(lm_build *b, int layer)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t e = n->n_embd, s = n->streams, t = b->n_tokens;
    eng_value rows = eng_get_rows(g, lm_weight(b, LM_LAYER_TOP, LM_INPUT_EMBD), b->ngrams);
    rows = eng_reshape(g, rows, (int64_t[]){n->ngrams.width * n->ngrams.rows, t}, 2);
    eng_value value = eng_reshape(g, lm_product(b, layer, LM_NGRAM_VALUE, rows), (int64_t[]){e, 1, t}, 3);
    value = eng_mul(g, eng_repeat(g, value, (int64_t[]){e, s, t}, 3), fit(b, rows, layer));
    eng_value x = eng_reshape(g, lm_streams_norm(b, value, layer, LM_NGRAM_NORM), (int64_t[]){e * s, t}, 2);
    x = eng_ssm_conv(g, x, taps(b, layer), lm_layer_memory(b, layer, LM_NGRAM_WINDOW), b->src, b->dst, b->cu,
                     b->context->n_snapshots);
    x = eng_reshape(g, eng_unary(g, x, ENG_UNARY_SILU), (int64_t[]){e, s, t}, 3);
    b->streams = eng_add(g, b->streams, eng_add(g, value, x));
}
