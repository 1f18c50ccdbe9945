/* See model.h. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "model.h"
#include "ref.h"

typedef struct layer {
    bool full; /* full attention, else recurrent */
    double *norm, *post_norm, *gate, *up, *down;
    double *q, *k, *v, *out, *q_norm, *k_norm;                                   /* attention */
    double *qkv, *z, *conv, *dt, *a, *beta, *alpha, *gdn_norm, *gdn_out;          /* recurrent */
} layer;

struct ref_model {
    int64_t n_layers, n_embd, n_ff, n_vocab;
    int64_t heads, kv_heads, d, n_rot, sections[4];
    int64_t taps, size, k_heads, v_heads;
    double eps, rope_base;
    double *embd, *out_norm, *head; /* head may be embd */
    layer *layers;
    double **owned;
    size_t n_owned, owned_capacity;
};

typedef struct layer_state {
    double *k, *v;   /* [position][kv_head][d], of the sequence's capacity */
    double *m;       /* [v_head][key][value] */
    double *window;  /* [taps - 1][channel], oldest first */
} layer_state;

struct ref_sequence {
    const ref_model *m;
    int64_t length, capacity;
    layer_state *layers;
    double *scratch; /* see step */
};

/* -- opening --------------------------------------------------------------------- */

typedef struct reader {
    ref_model *m;
    eng_gguf *gguf;
    char *error;
    size_t error_bytes;
    bool failed;
} reader;

static void fail(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(reader *r, const char *format, ...)
{
    va_list args;
    if (r->failed)
        return;
    r->failed = true;
    va_start(args, format);
    vsnprintf(r->error, r->error_bytes, format, args);
    va_end(args);
}

static int64_t key(reader *r, const char *name, uint64_t index, int64_t otherwise)
{
    char full[128];
    int64_t value = otherwise;
    snprintf(full, sizeof full, "qwen35.%s", name);
    if (eng_gguf_integer(r->gguf, full, index, &value) && otherwise < 0)
        fail(r, "key %s: %s", full, eng_last_error());
    return value;
}

static double number(reader *r, const char *name, double otherwise)
{
    char full[128];
    double value = otherwise;
    snprintf(full, sizeof full, "qwen35.%s", name);
    if (eng_gguf_number(r->gguf, full, 0, &value))
        value = otherwise;
    return value;
}

/* The tensor's elements, decoded; `n` is how many there must be. */
static double *tensor(reader *r, bool needed, int64_t n, const char *format, ...) __attribute__((format(printf, 4, 5)));
static double *tensor(reader *r, bool needed, int64_t n, const char *format, ...)
{
    char name[128];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (r->failed)
        return NULL;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    if (!t && !needed)
        return NULL;
    int64_t have = 1;
    for (uint32_t i = 0; t && i < t->rank; i++)
        have *= t->ne[i];
    if (!t || have != n) {
        fail(r, "tensor %s: %lld elements, %lld are needed", name, t ? (long long)have : 0, (long long)n);
        return NULL;
    }
    ref_model *m = r->m;
    if (m->n_owned == m->owned_capacity) {
        size_t more = m->owned_capacity ? 2 * m->owned_capacity : 64;
        double **owned = realloc(m->owned, more * sizeof *owned);
        if (!owned) {
            fail(r, "no memory");
            return NULL;
        }
        m->owned = owned;
        m->owned_capacity = more;
    }
    double *x = malloc((size_t)n * sizeof *x);
    if (!x) {
        fail(r, "no memory for %s", name);
        return NULL;
    }
    ref_decode(t->type, t->data, x, n);
    m->owned[m->n_owned++] = x;
    return x;
}

static void read_numbers(reader *r)
{
    ref_model *m = r->m;
    int64_t blocks = key(r, "block_count", 0, -1), nextn = key(r, "nextn_predict_layers", 0, 0);
    m->n_layers = blocks - nextn;
    m->n_embd = key(r, "embedding_length", 0, -1);
    m->n_ff = key(r, "feed_forward_length", 0, -1);
    m->heads = key(r, "attention.head_count", 0, -1);
    m->kv_heads = key(r, "attention.head_count_kv", 0, m->heads);
    m->d = key(r, "attention.key_length", 0, m->heads > 0 ? m->n_embd / m->heads : 0);
    m->n_rot = key(r, "rope.dimension_count", 0, m->d / 4);
    for (uint64_t i = 0; i < 4; i++)
        m->sections[i] = key(r, "rope.dimension_sections", i, -1);
    m->rope_base = number(r, "rope.freq_base", 10000);
    m->eps = number(r, "attention.layer_norm_rms_epsilon", 1e-6);
    m->taps = key(r, "ssm.conv_kernel", 0, -1);
    m->size = key(r, "ssm.state_size", 0, -1);
    m->k_heads = key(r, "ssm.group_count", 0, -1);
    m->v_heads = key(r, "ssm.time_step_rank", 0, -1);
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(r->gguf, "token_embd.weight");
    if (!embd)
        fail(r, "no token_embd.weight");
    else
        m->n_vocab = embd->ne[1];
    if (!r->failed && (m->n_layers < 1 || m->heads < 1 || m->kv_heads < 1 || m->k_heads < 1))
        fail(r, "sizes that cannot be");
}

static void read_layer(reader *r, int64_t i)
{
    ref_model *m = r->m;
    layer *l = &m->layers[i];
    int64_t e = m->n_embd, f = m->n_ff, interval = key(r, "full_attention_interval", 0, 4);
    int il = (int)i;
    l->full = (i + 1) % interval == 0;
    l->norm = tensor(r, true, e, "blk.%d.attn_norm.weight", il);
    l->post_norm = tensor(r, true, e, "blk.%d.post_attention_norm.weight", il);
    l->gate = tensor(r, true, e * f, "blk.%d.ffn_gate.weight", il);
    l->up = tensor(r, true, e * f, "blk.%d.ffn_up.weight", il);
    l->down = tensor(r, true, e * f, "blk.%d.ffn_down.weight", il);
    if (l->full) {
        l->q = tensor(r, true, e * 2 * m->heads * m->d, "blk.%d.attn_q.weight", il);
        l->k = tensor(r, true, e * m->kv_heads * m->d, "blk.%d.attn_k.weight", il);
        l->v = tensor(r, true, e * m->kv_heads * m->d, "blk.%d.attn_v.weight", il);
        l->out = tensor(r, true, e * m->heads * m->d, "blk.%d.attn_output.weight", il);
        l->q_norm = tensor(r, true, m->d, "blk.%d.attn_q_norm.weight", il);
        l->k_norm = tensor(r, true, m->d, "blk.%d.attn_k_norm.weight", il);
        return;
    }
    int64_t channels = (2 * m->k_heads + m->v_heads) * m->size;
    l->qkv = tensor(r, true, e * channels, "blk.%d.attn_qkv.weight", il);
    l->z = tensor(r, true, e * m->v_heads * m->size, "blk.%d.attn_gate.weight", il);
    l->conv = tensor(r, true, m->taps * channels, "blk.%d.ssm_conv1d.weight", il);
    l->dt = tensor(r, true, m->v_heads, "blk.%d.ssm_dt.bias", il);
    l->a = tensor(r, true, m->v_heads, "blk.%d.ssm_a", il);
    l->beta = tensor(r, true, e * m->v_heads, "blk.%d.ssm_beta.weight", il);
    l->alpha = tensor(r, true, e * m->v_heads, "blk.%d.ssm_alpha.weight", il);
    l->gdn_norm = tensor(r, true, m->size, "blk.%d.ssm_norm.weight", il);
    l->gdn_out = tensor(r, true, e * m->v_heads * m->size, "blk.%d.ssm_out.weight", il);
}

ref_model *ref_model_open(const char *path, char *error, size_t error_bytes)
{
    reader r = {.error = error, .error_bytes = error_bytes};
    if (eng_gguf_open(path, &r.gguf)) {
        fail(&r, "%s", eng_last_error());
        return NULL;
    }
    ref_model *m = r.m = calloc(1, sizeof *m);
    if (m)
        read_numbers(&r);
    else
        fail(&r, "no memory");
    if (!r.failed && !(m->layers = calloc((size_t)m->n_layers, sizeof *m->layers)))
        fail(&r, "no memory");
    if (!r.failed) {
        m->embd = tensor(&r, true, m->n_embd * m->n_vocab, "token_embd.weight");
        m->out_norm = tensor(&r, true, m->n_embd, "output_norm.weight");
        m->head = tensor(&r, false, m->n_embd * m->n_vocab, "output.weight");
        if (!m->head)
            m->head = m->embd;
        for (int64_t i = 0; i < m->n_layers && !r.failed; i++)
            read_layer(&r, i);
    }
    eng_gguf_close(r.gguf);
    if (r.failed) {
        ref_model_close(m);
        return NULL;
    }
    return m;
}

void ref_model_close(ref_model *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_owned; i++)
        free(m->owned[i]);
    free(m->owned);
    free(m->layers);
    free(m);
}

int64_t ref_model_vocab(const ref_model *m)
{
    return m->n_vocab;
}

/* -- arithmetic -------------------------------------------------------------------- */

/* y = W x, W of m rows of k; eight sums side by side, so that a compiler may use vectors. */
static void product(const double *w, const double *x, double *y, int64_t k, int64_t m)
{
    for (int64_t i = 0; i < m; i++, w += k) {
        double s[8] = {0};
        int64_t j = 0;
        for (; j + 8 <= k; j += 8)
            for (int l = 0; l < 8; l++)
                s[l] += w[j + l] * x[j + l];
        for (; j < k; j++)
            s[0] += w[j] * x[j];
        y[i] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
}

static void rms(const double *x, const double *w, double *y, int64_t n, double eps)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    double scale = 1 / sqrt(sum / (double)n + eps);
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * scale * w[i];
}

static void unit_length(double *x, int64_t n, double eps)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    double length = fmax(sqrt(sum), eps);
    for (int64_t i = 0; i < n; i++)
        x[i] /= length;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* Interleaved multi-section rope: a text token's time, height and width are its
 * position, its fourth coordinate is 0. */
static void rope(const ref_model *m, double *x, int64_t pos)
{
    int64_t half = m->n_rot / 2, sum = m->sections[0] + m->sections[1] + m->sections[2] + m->sections[3];
    for (int64_t i = 0; i < half; i++) {
        int64_t sector = sum > 0 ? i % sum : 0;
        bool text = sum == 0 || sector < 3 * m->sections[sector % 3];
        double angle = (text ? (double)pos : 0) * pow(m->rope_base, -2.0 * (double)i / (double)m->n_rot);
        double a = x[i], b = x[i + half];
        x[i] = a * cos(angle) - b * sin(angle);
        x[i + half] = a * sin(angle) + b * cos(angle);
    }
}

/* -- layers ---------------------------------------------------------------------------- */

static void attend(const ref_model *m, const double *q, const layer_state *s, int64_t kv, int64_t length, double *p,
                   double *o)
{
    int64_t d = m->d, step = m->kv_heads * d;
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < length; j++) {
        const double *k = s->k + j * step + kv * d;
        p[j] = 0;
        for (int64_t i = 0; i < d; i++)
            p[j] += q[i] * k[i];
        p[j] /= sqrt((double)d);
        max = fmax(max, p[j]);
    }
    for (int64_t j = 0; j < length; j++)
        sum += p[j] = exp(p[j] - max);
    memset(o, 0, (size_t)d * sizeof *o);
    for (int64_t j = 0; j < length; j++)
        for (int64_t i = 0; i < d; i++)
            o[i] += p[j] / sum * s->v[j * step + kv * d + i];
}

/* u -> out; t is scratch for 3 heads d + length + 1. */
static void attention(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                      double *t)
{
    int64_t d = m->d, group = m->heads / m->kv_heads;
    double *qg = t, *o = qg + 2 * m->heads * d, *p = o + m->heads * d;
    double *k = s->k + pos * m->kv_heads * d, *v = s->v + pos * m->kv_heads * d;
    product(l->q, u, qg, m->n_embd, 2 * m->heads * d);
    product(l->k, u, k, m->n_embd, m->kv_heads * d);
    product(l->v, u, v, m->n_embd, m->kv_heads * d);
    for (int64_t h = 0; h < m->kv_heads; h++) {
        rms(k + h * d, l->k_norm, k + h * d, d, m->eps);
        rope(m, k + h * d, pos);
    }
    for (int64_t h = 0; h < m->heads; h++) {
        double *q = qg + 2 * h * d, *gate = q + d;
        rms(q, l->q_norm, q, d, m->eps);
        rope(m, q, pos);
        attend(m, q, s, h / group, pos + 1, p, o + h * d);
        for (int64_t i = 0; i < d; i++)
            o[h * d + i] *= logistic(gate[i]);
    }
    product(l->out, o, out, m->heads * d, m->n_embd);
}

/* The short convolution and its activation: qkv is replaced. */
static void convolve(const ref_model *m, const layer *l, layer_state *s, double *qkv, int64_t channels)
{
    int64_t taps = m->taps;
    for (int64_t c = 0; c < channels; c++) {
        double now = qkv[c], sum = l->conv[c * taps + taps - 1] * now;
        for (int64_t j = 0; j + 1 < taps; j++)
            sum += l->conv[c * taps + j] * s->window[j * channels + c];
        for (int64_t j = 0; j + 2 < taps; j++)
            s->window[j * channels + c] = s->window[(j + 1) * channels + c];
        s->window[(taps - 2) * channels + c] = now;
        qkv[c] = sum * logistic(sum);
    }
}

static void delta_rule(double *state, int64_t n, const double *q, const double *k, const double *v, double g,
                       double beta, double *o)
{
    for (int64_t j = 0; j < n; j++) { /* column j: the value's channel */
        double got = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            state[i * n + j] *= exp(g);
            got += k[i] * state[i * n + j];
        }
        double change = beta * (v[j] - got);
        for (int64_t i = 0; i < n; i++) {
            state[i * n + j] += k[i] * change;
            sum += q[i] / sqrt((double)n) * state[i * n + j];
        }
        o[j] = sum;
    }
}

/* u -> out; t is scratch for channels + 2 v_heads size + 2 v_heads. */
static void recurrent(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t)
{
    int64_t n = m->size, kh = m->k_heads, vh = m->v_heads, channels = (2 * kh + vh) * n;
    double *qkv = t, *z = qkv + channels, *o = z + vh * n, *beta = o + vh * n, *alpha = beta + vh;
    product(l->qkv, u, qkv, m->n_embd, channels);
    product(l->z, u, z, m->n_embd, vh * n);
    product(l->beta, u, beta, m->n_embd, vh);
    product(l->alpha, u, alpha, m->n_embd, vh);
    convolve(m, l, s, qkv, channels);
    for (int64_t h = 0; h < 2 * kh; h++)
        unit_length(qkv + h * n, n, m->eps);
    for (int64_t h = 0; h < vh; h++) {
        double x = alpha[h] + l->dt[h];
        double g = l->a[h] * (x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
        delta_rule(s->m + h * n * n, n, qkv + (h % kh) * n, qkv + (kh + h % kh) * n, qkv + (2 * kh + h) * n, g,
                   logistic(beta[h]), o + h * n);
        rms(o + h * n, l->gdn_norm, o + h * n, n, m->eps);
        for (int64_t i = 0; i < n; i++)
            o[h * n + i] *= z[h * n + i] * logistic(z[h * n + i]);
    }
    product(l->gdn_out, o, out, vh * n, m->n_embd);
}

/* -- sequences ------------------------------------------------------------------------------ */

static size_t scratch_size(const ref_model *m, int64_t capacity)
{
    int64_t att = 3 * m->heads * m->d + capacity, rec = (2 * m->k_heads + 3 * m->v_heads) * m->size + 2 * m->v_heads;
    int64_t most = att > rec ? att : rec;
    most = most > 2 * m->n_ff ? most : 2 * m->n_ff;
    return (size_t)(most + 3 * m->n_embd);
}

ref_sequence *ref_sequence_create(const ref_model *m)
{
    ref_sequence *s = calloc(1, sizeof *s);
    if (!s || !(s->layers = calloc((size_t)m->n_layers, sizeof *s->layers))) {
        free(s);
        return NULL;
    }
    s->m = m;
    for (int64_t i = 0; i < m->n_layers; i++) {
        layer_state *l = &s->layers[i];
        if (m->layers[i].full)
            continue;
        l->m = calloc((size_t)(m->v_heads * m->size * m->size), sizeof *l->m);
        l->window = calloc((size_t)((m->taps - 1) * (2 * m->k_heads + m->v_heads) * m->size), sizeof *l->window);
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
    }
    free(s->layers);
    free(s->scratch);
    free(s);
}

static bool reserve(ref_sequence *s)
{
    const ref_model *m = s->m;
    if (s->length < s->capacity)
        return true;
    int64_t more = s->capacity ? 2 * s->capacity : 64;
    size_t bytes = (size_t)(more * m->kv_heads * m->d) * sizeof(double);
    for (int64_t i = 0; i < m->n_layers; i++) {
        layer_state *l = &s->layers[i];
        if (!m->layers[i].full)
            continue;
        double *k = realloc(l->k, bytes);
        l->k = k ? k : l->k;
        double *v = realloc(l->v, bytes);
        l->v = v ? v : l->v;
        if (!k || !v)
            return false;
    }
    double *scratch = realloc(s->scratch, scratch_size(m, more) * sizeof *scratch);
    if (!scratch)
        return false;
    s->scratch = scratch;
    s->capacity = more;
    return true;
}

bool ref_sequence_step(ref_sequence *s, int32_t token, double *logits)
{
    const ref_model *m = s->m;
    if (!reserve(s))
        return false;
    int64_t e = m->n_embd, f = m->n_ff;
    double *x = s->scratch, *u = x + e, *out = u + e, *t = out + e;
    memcpy(x, m->embd + (int64_t)token * e, (size_t)e * sizeof *x);
    for (int64_t i = 0; i < m->n_layers; i++) {
        const layer *l = &m->layers[i];
        rms(x, l->norm, u, e, m->eps);
        if (l->full)
            attention(m, l, &s->layers[i], s->length, u, out, t);
        else
            recurrent(m, l, &s->layers[i], u, out, t);
        for (int64_t j = 0; j < e; j++)
            x[j] += out[j];
        rms(x, l->post_norm, u, e, m->eps);
        product(l->gate, u, t, e, f);
        product(l->up, u, t + f, e, f);
        for (int64_t j = 0; j < f; j++)
            t[j] = t[j] * logistic(t[j]) * t[f + j];
        product(l->down, t, out, f, e);
        for (int64_t j = 0; j < e; j++)
            x[j] += out[j];
    }
    s->length++;
    if (logits) {
        rms(x, m->out_norm, u, e, m->eps);
        product(m->head, u, logits, e, m->n_vocab);
    }
    return true;
}
