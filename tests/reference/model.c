/* See model.h: sequences, and the arithmetic that layers share. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_impl.h"

/* -- arithmetic -------------------------------------------------------------------- */

/* Eight sums side by side, so that a compiler may use vectors. */
void ref_product(const matrix *a, int64_t e, const double *x, double *y)
{
    const double *w = a->w + e * a->k * a->m;
    double scale = a->scale ? a->scale[e] : 1;
    for (int64_t i = 0; i < a->m; i++, w += a->k) {
        double s[8] = {0};
        int64_t j = 0;
        for (; j + 8 <= a->k; j += 8)
            for (int l = 0; l < 8; l++)
                s[l] += w[j + l] * x[j + l];
        for (; j < a->k; j++)
            s[0] += w[j] * x[j];
        y[i] = scale * (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) +
               (a->bias ? a->bias[e * a->m + i] : 0);
    }
}

void ref_rms(const double *x, const double *w, double *y, int64_t n, double eps)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    double scale = 1 / sqrt(sum / (double)n + eps);
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * scale * (w ? w[i] : 1);
}

void ref_norm(const ref_model *m, const double *x, const double *w, double *y, int64_t n)
{
    double mean = 0;
    for (int64_t i = 0; i < n && m->f.layer_norm; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] - mean;
    ref_rms(y, w, y, n, m->eps);
}

void ref_add(double *x, const double *bias, int64_t n)
{
    for (int64_t i = 0; bias && i < n; i++)
        x[i] += bias[i];
}

double ref_gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

double ref_logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* -- sequences ------------------------------------------------------------------------------ */

static size_t scratch_size(const ref_model *m, int64_t capacity)
{
    int64_t att = ref_attention_scratch(m, capacity), ffn = ref_ffn_scratch(m);
    int64_t rec = m->f.scans ? ref_scan_scratch(m) : ref_recurrent_scratch(m);
    int64_t most = att > rec ? att : rec;
    most = most > ffn ? most : ffn;
    most = most > ref_compressed_scratch(m, capacity) ? most : ref_compressed_scratch(m, capacity);
    most = most > ref_states_scratch(m) ? most : ref_states_scratch(m);
    most = most > ref_ngrams_scratch(m) ? most : ref_ngrams_scratch(m);
    return (size_t)(most + (4 + m->n_states + m->n_streams) * m->n_embd + 2 * m->d_input * m->n_layers +
                    ref_streams_scratch(m) + ref_mix_scratch(m));
}

ref_sequence *ref_sequence_create(const ref_model *m)
{
    ref_sequence *s = calloc(1, sizeof *s);
    if (!s || !(s->layers = calloc((size_t)m->n_layers, sizeof *s->layers)) ||
        !(s->state = calloc((size_t)m->n_embd, sizeof *s->state))) {
        if (s)
            free(s->layers);
        free(s);
        return NULL;
    }
    s->m = m;
    s->margin = INFINITY;
    for (int64_t i = 0; i < m->n_layers; i++) {
        layer_state *l = &s->layers[i];
        if (m->layers[i].full && !m->f.both)
            continue;
        l->m = calloc((size_t)(ref_state_size(m) + 1), sizeof *l->m);
        l->window = calloc((size_t)((m->taps - 1) * ref_channels(m)), sizeof *l->window);
        if (!l->m || !l->window) {
            ref_sequence_destroy(s);
            return NULL;
        }
    }
    return s;
}

void ref_sequence_destroy(ref_sequence *s)
{
    if (!s)
        return;
    for (int64_t i = 0; i < s->m->n_layers; i++) {
        free(s->layers[i].k);
        free(s->layers[i].v);
        free(s->layers[i].m);
        free(s->layers[i].window);
        free(s->layers[i].index_k);
        free(s->layers[i].index_gate);
        free(s->layers[i].raw);
        free(s->layers[i].index_raw);
    }
    free(s->seen);
    free(s->history);
    free(s->ngram_past);
    free(s->layers);
    free(s->scratch);
    free(s->state);
    free(s);
}

static bool reserve(ref_sequence *s)
{
    const ref_model *m = s->m;
    if (s->length < s->capacity)
        return true;
    int64_t more = s->capacity ? 2 * s->capacity : 64;
    bool *seen = realloc(s->seen, (size_t)more * sizeof *seen);
    s->seen = seen ? seen : s->seen;
    int32_t *history = realloc(s->history, (size_t)more * sizeof *history);
    s->history = history ? history : s->history;
    double *past = realloc(s->ngram_past, (size_t)(m->longest ? more * m->n_streams * m->n_embd : 1) * sizeof *past);
    s->ngram_past = past ? past : s->ngram_past;
    if (!history || !past)
        return false;
    for (int64_t i = 0; i < m->n_layers; i++) {
        layer_state *l = &s->layers[i];
        size_t k_bytes = (size_t)(more * m->layers[i].kv_heads * m->layers[i].d) * sizeof(double);
        size_t v_bytes = (size_t)(more * m->layers[i].kv_heads * m->layers[i].dv) * sizeof(double);
        if (!m->layers[i].full)
            continue;
        double *k = realloc(l->k, k_bytes);
        l->k = k ? k : l->k;
        double *v = realloc(l->v, v_bytes);
        l->v = v ? v : l->v;
        double *index_k = realloc(l->index_k, (size_t)(more * m->d_index + 1) * sizeof *index_k);
        l->index_k = index_k ? index_k : l->index_k;
        double *index_gate = realloc(l->index_gate, (size_t)(more * m->d_index + 1) * sizeof *index_gate);
        l->index_gate = index_gate ? index_gate : l->index_gate;
        double *raw = realloc(l->raw, (size_t)(m->f.compressed ? more * 4 * m->d : 1) * sizeof *raw);
        l->raw = raw ? raw : l->raw;
        double *index_raw = realloc(l->index_raw, (size_t)(more * 4 * m->d_index + 1) * sizeof *index_raw);
        l->index_raw = index_raw ? index_raw : l->index_raw;
        l->seen = seen;
        if (!raw || !index_raw || !k || !v || !index_k || !index_gate || !seen)
            return false;
    }
    double *scratch = realloc(s->scratch, scratch_size(m, more) * sizeof *scratch);
    if (!scratch)
        return false;
    s->scratch = scratch;
    s->capacity = more;
    return true;
}

/* A vector for each layer, of a table and of the token's embedding x. */
static void token_inputs(const ref_model *m, int32_t token, const double *x, double *given, double *t)
{
    int64_t d = m->d_input, all = d * m->n_layers;
    ref_product(&m->input, 0, x, t);
    for (int64_t j = 0; j < all; j++)
        t[j] /= sqrt((double)m->n_embd);
    for (int64_t i = 0; i < m->n_layers; i++)
        ref_rms(t + i * d, m->input_norm, t + i * d, d, m->eps);
    for (int64_t j = 0; j < all; j++)
        given[j] = (t[j] + sqrt((double)d) * m->input_embd[token * all + j]) / sqrt(2);
}

/* And what layer l with the result x makes of its own: out.  t is scratch. */
static void take_input(const ref_model *m, const layer *l, const double *x, const double *given, double *out, double *t)
{
    ref_product(&l->in_gate, 0, x, t);
    for (int64_t j = 0; j < m->d_input; j++)
        t[j] = ref_gelu(t[j]) * given[j];
    ref_product(&l->in_out, 0, t, out);
    ref_rms(out, l->in_norm, out, m->n_embd, m->eps);
}

/* A second way around the mixer (LAuReL, arXiv:2411.07501): of u, which the mixer was given. */
static void go_around(const ref_model *m, const layer *l, double *x, const double *u, double *out, double *t)
{
    ref_product(&l->around_in, 0, u, t);
    ref_product(&l->around_out, 0, t, out);
    ref_rms(out, l->around_norm, out, m->n_embd, m->eps);
    for (int64_t j = 0; j < m->n_embd; j++)
        x[j] = (x[j] + u[j] + out[j]) / sqrt(2);
}

/* Attention and scan of the same input, added up. */
static void both_mixers(ref_sequence *s, int64_t i, const double *u, double *out, double *t)
{
    const ref_model *m = s->m;
    double *other = t + m->n_embd;
    ref_scan_layer(m, &m->layers[i], &s->layers[i], u, t, other);
    ref_attention_layer(m, &m->layers[i], &s->layers[i], s->length, u, out, other);
    for (int64_t j = 0; j < m->n_embd; j++)
        out[j] += t[j];
}

/* x plus what its parts give. */
static void run_layer(ref_sequence *s, int64_t i, double *x, double *u, double *out, double *t)
{
    const ref_model *m = s->m;
    const layer *l = &m->layers[i];
    int64_t e = m->n_embd;
    memcpy(u, x, (size_t)e * sizeof *u);
    if (l->norm)
        ref_norm(m, x, l->norm, u, e);
    ref_add(u, l->norm_bias, e);
    if (m->f.both)
        both_mixers(s, i, u, out, t);
    else if (l->full)
        ref_attention_layer(m, l, &s->layers[l->owner < 0 ? i : l->owner], s->length, u, out, t);
    else if (l->plain)
        ref_ffn(m, l, x, u, NULL, out, t, &s->margin);
    else if (m->f.scans)
        ref_scan_layer(m, l, &s->layers[i], u, out, t);
    else
        ref_recurrent_layer(m, l, &s->layers[i], u, out, t);
    if (l->post_norm)
        ref_norm(m, out, l->post_norm, out, e);
    for (int64_t j = 0; j < e; j++)
        x[j] += m->residual_scale * out[j];
    if (m->f.alone)
        return;
    if (l->around_in.w)
        go_around(m, l, x, u, out, t);
    if (l->ffn_norm) {
        ref_norm(m, x, l->ffn_norm, u, e);
        ref_add(u, l->ffn_norm_bias, e);
    } else if (!m->f.parallel)
        memcpy(u, x, (size_t)e * sizeof *u);
    ref_ffn(m, l, x, u, NULL, out, t, &s->margin);
    if (l->ffn_post_norm)
        ref_norm(m, out, l->ffn_post_norm, out, e);
    for (int64_t j = 0; j < e; j++)
        x[j] += m->residual_scale * out[j];
    if (m->d_input && !m->n_states)
        take_input(m, l, x, s->inputs + i * m->d_input, out, t);
    for (int64_t j = 0; j < e && m->d_input && !m->n_states; j++)
        x[j] += out[j];
    for (int64_t j = 0; j < e && l->out_scale; j++)
        x[j] *= l->out_scale[0];
}

/* Mixer and feed-forward each take of the streams and give to them. */
static void run_streams(ref_sequence *s, int64_t i, double *x, double *u, double *out, double *t)
{
    const ref_model *m = s->m;
    const layer *l = &m->layers[i];
    int64_t e = m->n_embd;
    double *says = s->states + m->n_streams * e;
    if (l->ngrams.key.w)
        ref_ngrams(s, l, s->states, t);
    if (m->f.mix)
        ref_mix_take(m, &l->mixes[0], s->states, u, says);
    else
        ref_streams_take(m, l, 0, s->states, x, says);
    if (!m->f.mix)
        ref_norm(m, x, l->norm, u, e);
    if (m->f.compressed)
        ref_compressed_layer(m, l, &s->layers[i], s->length, u, out, t);
    else if (l->full)
        ref_attention_layer(m, l, &s->layers[i], s->length, u, out, t);
    else
        ref_recurrent_layer(m, l, &s->layers[i], u, out, t);
    if (m->f.mix) {
        ref_mix_give(m, s->states, out, says);
        ref_mix_take(m, &l->mixes[1], s->states, u, says);
        ref_ffn(m, l, u, u, NULL, out, t, &s->margin);
        ref_mix_give(m, s->states, out, says);
        return;
    }
    ref_streams_give(m, s->states, out, says);
    ref_streams_take(m, l, 1, s->states, x, says);
    ref_norm(m, x, l->ffn_norm, u, e);
    ref_ffn(m, l, x, u, l->token_experts ? l->token_experts + s->token * m->used : NULL, out, t, &s->margin);
    ref_streams_give(m, s->states, out, says);
}

/* One state goes through the layer; what the layer is given of the token itself, all but the first take. */
static void run_states(ref_sequence *s, int64_t i, double *x, double *u, double *out, double *t)
{
    const ref_model *m = s->m;
    const layer *l = &m->layers[i];
    int64_t e = m->n_embd;
    double *active = s->states + m->active * e;
    ref_states_predict(m, l, s->states, t);
    memcpy(x, active, (size_t)e * sizeof *x);
    run_layer(s, i, x, u, out, t);
    ref_states_correct(m, l, s->states, x, t);
    for (int64_t j = 0; j < e; j++)
        u[j] = active[j] * l->correct_scale[j];
    take_input(m, l, u, s->inputs + i * m->d_input, out, t);
    for (int64_t j = 0; j < e * (m->n_states - 1); j++)
        s->states[e + j] += out[j % e];
}

/* The token's layers, from x on. */
static void finish(ref_sequence *s, double *x, double *logits)
{
    const ref_model *m = s->m;
    int64_t e = m->n_embd;
    double *u = x + e, *out = u + e, *t = out + e, cap = m->logit_softcap;
    for (int64_t i = 0; i < m->n_layers; i++)
        if (m->n_states)
            run_states(s, i, x, u, out, t);
        else if (m->n_streams)
            run_streams(s, i, x, u, out, t);
        else
            run_layer(s, i, x, u, out, t);
    if (m->n_states)
        ref_states_end(m, s->states, x, t);
    if (m->f.mix)
        ref_mix_take(m, &m->mix_out, s->states, s->state, s->states + m->n_streams * e);
    else if (m->n_streams)
        ref_streams_end(m, s->states, x, s->states + m->n_streams * e);
    s->length++;
    if (!m->f.mix)
        ref_norm(m, x, m->out_norm, s->state, e);
    ref_add(s->state, m->out_norm_bias, e);
    if (!logits)
        return;
    ref_product(&m->head, 0, s->state, logits);
    for (int64_t i = 0; i < m->n_vocab; i++) {
        logits[i] *= m->logit_scale;
        logits[i] = cap > 0 ? cap * tanh(logits[i] / cap) : logits[i];
    }
}

bool ref_sequence_step(ref_sequence *s, int32_t token, double *logits)
{
    const ref_model *m = s->m;
    if (!reserve(s))
        return false;
    s->token = token;
    s->history[s->length] = token;
    for (int64_t i = 0; i < m->n_embd; i++)
        s->scratch[i] = m->embd_scale * m->embd[(int64_t)token * m->n_embd + i];
    s->inputs = s->scratch + scratch_size(m, s->capacity) - m->d_input * m->n_layers;
    s->states = s->inputs - m->d_input * m->n_layers - m->n_states * m->n_embd - m->n_streams * m->n_embd -
                ref_streams_scratch(m) - ref_mix_scratch(m);
    if (m->n_streams)
        ref_streams_begin(m, s->scratch, s->states);
    if (m->n_states)
        ref_states_begin(m, s->scratch, s->states);
    if (m->d_input)
        token_inputs(m, token, s->scratch, s->inputs, s->inputs - m->d_input * m->n_layers);
    finish(s, s->scratch, logits);
    return true;
}

bool ref_block_step(ref_sequence *s, int32_t token, const double *state, double *logits)
{
    const ref_model *m = s->m;
    int64_t e = m->n_embd;
    if (!reserve(s))
        return false;
    double *x = s->scratch, *pair = x + e;
    ref_norm(m, m->embd + (int64_t)token * e, m->token_norm, pair, e);
    ref_norm(m, state, m->state_norm, pair + e, e);
    ref_product(&m->draft_in, 0, pair, x);
    finish(s, x, logits);
    return true;
}

/* The state of the last layer that keeps what one of this kind reads. */
static layer_state lent(const ref_sequence *text, const layer *l)
{
    int64_t k = text->m->n_layers - 1;
    while (k > 0 && (text->m->layers[k].owner != k || text->m->layers[k].local != l->local))
        k--;
    return text->layers[k];
}

bool ref_assistant_step(ref_sequence *s, const ref_sequence *text, int32_t token, const double *state, double *logits,
                        double *next)
{
    const ref_model *m = s->m, *other = text->m;
    int64_t e = other->n_embd;
    double *pair = malloc((size_t)(2 * e) * sizeof *pair);
    layer_state *own = malloc((size_t)m->n_layers * sizeof *own);
    bool good = pair && own;
    for (s->length = text->length; good && s->capacity <= s->length;)
        good = reserve(s);
    for (int64_t i = 0; good && i < m->n_layers; i++) {
        own[i] = s->layers[i];
        s->layers[i] = lent(text, &m->layers[i]);
    }
    for (int64_t i = 0; good && i < e; i++) {
        pair[i] = other->embd_scale * other->embd[(int64_t)token * e + i];
        pair[e + i] = state[i];
    }
    if (good) {
        ref_product(&m->draft_in, 0, pair, s->scratch);
        finish(s, s->scratch, logits);
        ref_product(&m->draft_out, 0, s->state, next);
        memcpy(s->layers, own, (size_t)m->n_layers * sizeof *own);
    }
    s->length = 0;
    free(pair);
    free(own);
    return good;
}

const double *ref_sequence_state(const ref_sequence *s)
{
    return s->state;
}

const ref_model *ref_model_block(const ref_model *m)
{
    return m->block;
}

double ref_sequence_margin(const ref_sequence *s)
{
    return s->margin;
}
