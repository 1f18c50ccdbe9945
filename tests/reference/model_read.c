/* Models of the whole-model oracle: numbers and weights from a file. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "model_impl.h"
#include "ref.h"

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

/* -- keys --------------------------------------------------------------------------- */

/* otherwise < 0: it must be there. */
static int64_t key(reader *r, const char *name, uint64_t index, int64_t otherwise)
{
    char full[128];
    int64_t value = otherwise;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_integer(r->gguf, full, index, &value) && otherwise < 0)
        fail(r, "key %s: %s", full, eng_last_error());
    return value;
}

static double number(reader *r, const char *name, double otherwise)
{
    char full[128];
    double value = otherwise;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_number(r->gguf, full, 0, &value))
        value = otherwise;
    return value;
}

static bool text_is(reader *r, const char *name, const char *wanted)
{
    char full[128];
    eng_gguf_string s;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    return !eng_gguf_text(r->gguf, full, 0, &s) && s.length == strlen(wanted) && memcmp(s.data, wanted, s.length) == 0;
}

static bool read_arch(reader *r)
{
    static const char *const known[] = {"llama", "qwen2", "qwen3", "qwen3moe", "qwen35", "qwen35moe"};
    eng_gguf_string s;
    if (eng_gguf_text(r->gguf, "general.architecture", 0, &s) || s.length >= sizeof r->m->arch) {
        fail(r, "no architecture");
        return false;
    }
    memcpy(r->m->arch, s.data, s.length);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(r->m->arch, known[i]) == 0)
            return true;
    fail(r, "architecture %s is not written here", r->m->arch);
    return false;
}

/* The paper's constants, unless the file has others; its factor of attention replaces the one that follows from the
 * stretching, as in PyPI's transformers (_compute_yarn_parameters, with mscale 1). */
static void read_yarn(reader *r)
{
    ref_model *m = r->m;
    double stretched = 0.1 * log(m->rope_factor), all = number(r, "rope.scaling.yarn_log_multiplier", 0);
    m->rope_size *= number(r, "rope.scaling.yarn_attn_factor", (stretched + 1) / (all * stretched + 1));
    m->yarn_fast = number(r, "rope.scaling.yarn_beta_fast", 32);
    m->yarn_slow = number(r, "rope.scaling.yarn_beta_slow", 1);
    m->yarn_mix = number(r, "rope.scaling.yarn_ext_factor", 1);
}

static void read_rope(reader *r)
{
    ref_model *m = r->m;
    m->neighbours = strcmp(m->arch, "llama") == 0;
    m->n_rot = key(r, "rope.dimension_count", 0, m->hybrid ? m->d / 4 : m->d);
    for (uint64_t i = 0; i < 4 && m->hybrid; i++)
        m->sections[i] = key(r, "rope.dimension_sections", i, -1);
    m->rope_base = number(r, "rope.freq_base", 10000);
    m->rope_factor = number(r, "rope.scaling.factor", number(r, "rope.scale_linear", 1));
    m->yarn = text_is(r, "rope.scaling.type", "yarn");
    m->rope_size = number(r, "rope.scaling.attn_factor", 1);
    if (m->yarn)
        read_yarn(r);
    m->n_ctx_orig = number(r, "rope.scaling.original_context_length", number(r, "context_length", 0));
}

static void read_numbers(reader *r)
{
    ref_model *m = r->m;
    if (!read_arch(r))
        return;
    m->hybrid = m->gated = strncmp(m->arch, "qwen35", 6) == 0;
    m->n_layers = key(r, "block_count", 0, -1) - key(r, "nextn_predict_layers", 0, 0);
    m->n_embd = key(r, "embedding_length", 0, -1);
    m->n_ff = key(r, "feed_forward_length", 0, 0);
    m->heads = key(r, "attention.head_count", 0, -1);
    m->kv_heads = key(r, "attention.head_count_kv", 0, m->heads);
    m->d = key(r, "attention.key_length", 0, m->heads > 0 ? m->n_embd / m->heads : 0);
    m->eps = number(r, "attention.layer_norm_rms_epsilon", 1e-6);
    read_rope(r);
    if (m->hybrid) {
        m->taps = key(r, "ssm.conv_kernel", 0, -1);
        m->size = key(r, "ssm.state_size", 0, -1);
        m->k_heads = key(r, "ssm.group_count", 0, -1);
        m->v_heads = key(r, "ssm.time_step_rank", 0, -1);
    }
    m->experts = key(r, "expert_count", 0, 0);
    if (m->experts > 0) {
        m->used = key(r, "expert_used_count", 0, -1);
        m->expert_scale = number(r, "expert_weights_scale", 0);
        if (strcmp(m->arch, "llama") != 0)
            m->n_ff = key(r, "expert_feed_forward_length", 0, m->used > 0 ? m->n_ff / m->used : -1);
        if (m->hybrid)
            m->n_ff_shared = key(r, "expert_shared_feed_forward_length", 0, -1);
    }
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(r->gguf, "token_embd.weight");
    if (!embd)
        fail(r, "no token_embd.weight");
    else
        m->n_vocab = embd->ne[1];
    if (!r->failed && (m->n_layers < 1 || m->heads < 1 || m->kv_heads < 1 || m->n_ff < 1 || m->used > m->experts ||
                       (m->hybrid && m->k_heads < 1)))
        fail(r, "sizes that cannot be");
}

/* -- tensors -------------------------------------------------------------------------- */

static double *own(reader *r, double *x)
{
    ref_model *m = r->m;
    if (x && m->n_owned == m->owned_capacity) {
        size_t more = m->owned_capacity ? 2 * m->owned_capacity : 64;
        double **owned = realloc(m->owned, more * sizeof *owned);
        if (!owned) {
            free(x);
            x = NULL;
        } else {
            m->owned = owned;
            m->owned_capacity = more;
        }
    }
    if (!x) {
        fail(r, "no memory");
        return NULL;
    }
    return m->owned[m->n_owned++] = x;
}

/* The tensor's elements, decoded; `n` is how many there must be.  il < 0: outside of layers. */
static double *tensor(reader *r, bool needed, int64_t n, int64_t il, const char *base, const char *suffix)
{
    char name[128];
    if (il < 0)
        snprintf(name, sizeof name, "%s%s", base, suffix);
    else
        snprintf(name, sizeof name, "blk.%d.%s%s", (int)il, base, suffix);
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
    double *x = own(r, malloc((size_t)n * sizeof *x));
    if (x)
        ref_decode(t->type, t->data, x, n);
    return x;
}

static matrix read_matrix(reader *r, bool needed, int64_t il, const char *base, int64_t k, int64_t m, int64_t n)
{
    matrix a = {.k = k, .m = m};
    a.w = tensor(r, needed, k * m * n, il, base, ".weight");
    if (a.w) {
        a.scale = tensor(r, false, n, il, base, ".scale");
        a.bias = tensor(r, false, m, il, base, ".bias");
    }
    return a;
}

/* Rows first .. first + m - 1. */
static matrix rows_of(const matrix *a, int64_t first, int64_t m)
{
    return (matrix){a->w + first * a->k, a->scale, a->bias ? a->bias + first : NULL, a->k, m};
}

static void read_attention(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t q = m->heads * m->d * (m->gated ? 2 : 1), kv = m->kv_heads * m->d, e = m->n_embd;
    matrix all = read_matrix(r, false, il, "attn_qkv", e, q + 2 * kv, 1);
    if (all.w) {
        l->q = rows_of(&all, 0, q);
        l->k = rows_of(&all, q, kv);
        l->v = rows_of(&all, q + kv, kv);
    } else {
        l->q = read_matrix(r, true, il, "attn_q", e, q, 1);
        l->k = read_matrix(r, true, il, "attn_k", e, kv, 1);
        l->v = read_matrix(r, true, il, "attn_v", e, kv, 1);
    }
    l->out = read_matrix(r, true, il, "attn_output", m->heads * m->d, e, 1);
    bool norms = strcmp(m->arch, "llama") != 0 && strcmp(m->arch, "qwen2") != 0;
    if (norms) {
        l->q_norm = tensor(r, true, m->d, il, "attn_q_norm", ".weight");
        l->k_norm = tensor(r, true, m->d, il, "attn_k_norm", ".weight");
    }
}

static void read_recurrent(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t channels = (2 * m->k_heads + m->v_heads) * m->size, e = m->n_embd, inner = m->v_heads * m->size;
    l->qkv = read_matrix(r, true, il, "attn_qkv", e, channels, 1);
    l->z = read_matrix(r, true, il, "attn_gate", e, inner, 1);
    l->conv = tensor(r, true, m->taps * channels, il, "ssm_conv1d", ".weight");
    l->dt = tensor(r, true, m->v_heads, il, "ssm_dt", ".bias");
    l->a = tensor(r, true, m->v_heads, il, "ssm_a", "");
    l->beta = read_matrix(r, true, il, "ssm_beta", e, m->v_heads, 1);
    l->alpha = read_matrix(r, true, il, "ssm_alpha", e, m->v_heads, 1);
    l->gdn_norm = tensor(r, true, m->size, il, "ssm_norm", ".weight");
    l->gdn_out = read_matrix(r, true, il, "ssm_out", inner, e, 1);
}

/* Gate and up of all experts out of the tensor that holds both, gate's rows first. */
static void unfuse(reader *r, layer *l, const matrix *both)
{
    int64_t part = both->k * both->m / 2, n = r->m->experts;
    l->gate = (matrix){own(r, malloc((size_t)(n * part) * sizeof(double))), both->scale, NULL, both->k, both->m / 2};
    l->up = l->gate;
    l->up.w = own(r, malloc((size_t)(n * part) * sizeof(double)));
    for (int64_t e = 0; e < n && l->gate.w && l->up.w; e++) {
        memcpy(l->gate.w + e * part, both->w + 2 * e * part, (size_t)part * sizeof(double));
        memcpy(l->up.w + e * part, both->w + (2 * e + 1) * part, (size_t)part * sizeof(double));
    }
}

static void read_experts(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, f = m->n_ff, n = m->experts;
    l->router = read_matrix(r, true, il, "ffn_gate_inp", e, n, 1);
    matrix both = read_matrix(r, false, il, "ffn_gate_up_exps", e, 2 * f, n);
    if (both.w) {
        unfuse(r, l, &both);
    } else {
        l->gate = read_matrix(r, true, il, "ffn_gate_exps", e, f, n);
        l->up = read_matrix(r, true, il, "ffn_up_exps", e, f, n);
    }
    l->down = read_matrix(r, true, il, "ffn_down_exps", f, e, n);
    if (m->n_ff_shared == 0)
        return;
    l->s_router = read_matrix(r, true, il, "ffn_gate_inp_shexp", e, 1, 1);
    l->s_gate = read_matrix(r, true, il, "ffn_gate_shexp", e, m->n_ff_shared, 1);
    l->s_up = read_matrix(r, true, il, "ffn_up_shexp", e, m->n_ff_shared, 1);
    l->s_down = read_matrix(r, true, il, "ffn_down_shexp", m->n_ff_shared, e, 1);
}

static void read_layer(reader *r, int64_t il)
{
    const ref_model *m = r->m;
    layer *l = &r->m->layers[il];
    l->full = !m->hybrid || (il + 1) % key(r, "full_attention_interval", 0, 4) == 0;
    l->norm = tensor(r, true, m->n_embd, il, "attn_norm", ".weight");
    l->ffn_norm = tensor(r, true, m->n_embd, il, m->hybrid ? "post_attention_norm" : "ffn_norm", ".weight");
    if (l->full)
        read_attention(r, l, il);
    else
        read_recurrent(r, l, il);
    if (m->experts > 0) {
        read_experts(r, l, il);
        return;
    }
    l->gate = read_matrix(r, true, il, "ffn_gate", m->n_embd, m->n_ff, 1);
    l->up = read_matrix(r, true, il, "ffn_up", m->n_embd, m->n_ff, 1);
    l->down = read_matrix(r, true, il, "ffn_down", m->n_ff, m->n_embd, 1);
}

/* -- the whole ---------------------------------------------------------------------------- */

static void read_model(reader *r)
{
    ref_model *m = r->m;
    read_numbers(r);
    if (!r->failed && !(m->layers = calloc((size_t)m->n_layers, sizeof *m->layers)))
        fail(r, "no memory");
    if (r->failed)
        return;
    m->embd = tensor(r, true, m->n_embd * m->n_vocab, -1, "token_embd", ".weight");
    m->out_norm = tensor(r, true, m->n_embd, -1, "output_norm", ".weight");
    m->head = read_matrix(r, false, -1, "output", m->n_embd, m->n_vocab, 1);
    if (!m->head.w)
        m->head.w = m->embd;
    m->rope_freqs = tensor(r, false, m->n_rot / 2, -1, "rope_freqs", ".weight");
    for (int64_t i = 0; i < m->n_layers && !r->failed; i++)
        read_layer(r, i);
}

ref_model *ref_model_open(const char *path, char *error, size_t error_bytes)
{
    reader r = {.error = error, .error_bytes = error_bytes};
    if (eng_gguf_open(path, &r.gguf)) {
        fail(&r, "%s", eng_last_error());
        return NULL;
    }
    r.m = calloc(1, sizeof *r.m);
    if (r.m)
        read_model(&r);
    else
        fail(&r, "no memory");
    eng_gguf_close(r.gguf);
    if (r.failed) {
        ref_model_close(r.m);
        return NULL;
    }
    return r.m;
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
