/* Models of the whole-model oracle, from a file. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_reader.h"

/* How far a layer's tokens see, and whether they know where they are. */
static void read_sight(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    bool any = m->f.window_period >= 0;
    int64_t period = any ? ref_key(r, "attention.sliding_window_pattern", 0, m->f.window_period) : 1;
    int64_t window = any ? ref_key(r, "attention.sliding_window", 0, m->f.ungated ? 4096 : 0) : 0;
    l->local = window > 0 && (period == 0 || il % period < period - 1);
    l->window = l->local ? window : 0;
    bool nowhere = strncmp(m->arch, "granite", 7) == 0 && !ref_key(r, "rope.scaling.finetuned", 0, 1);
    l->rotated = !nowhere && (!m->f.rope_rest || (il + 1) % m->f.rope_rest != 0) &&
                 (l->local || !m->f.local_alone || window == 0);
    if (strcmp(m->arch, "llama4") == 0 && l->rotated)
        l->chunk = ref_key(r, "attention.sliding_window", 0, 8192);
}

/* Whose cache it reads: of the layers that keep nothing, the last before them all that is of its kind. */
static void read_cache(reader *r, layer *l, int64_t il)
{
    ref_model *m = r->m;
    int64_t shared = m->f.layered ? ref_key(r, "attention.shared_kv_layers", 0, 0) : 0;
    l->d = l->local && m->f.layered ? ref_key(r, "attention.key_length_swa", 0, m->d) : m->d;
    l->dv = l->d == m->d ? m->dv : l->d;
    l->kv_heads = m->f.layered ? ref_layer_key(r, "attention.head_count_kv", il, m->heads) : m->kv_heads;
    l->kv_heads = l->kv_heads ? l->kv_heads : 1;
    l->owner = m->n_given ? -1 : il < m->n_layers ? il : 0;
    for (int64_t k = 0; il < m->n_layers && il >= m->n_layers - shared && k < m->n_layers - shared; k++)
        l->owner = m->layers[k].local == l->local ? k : l->owner;
    m->d_most = l->d > m->d_most ? l->d : m->d_most;
    m->d_most = l->dv > m->d_most ? l->dv : m->d_most;
}

/* Of a matrix of the layer. */
static int64_t rows(reader *r, int64_t il, const char *base)
{
    char name[128];
    snprintf(name, sizeof name, "blk.%d.%s.weight", (int)il, base);
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    return t ? t->ne[1] : 0;
}

static double layer_number(reader *r, const char *name, int64_t il)
{
    char full[128];
    double value = -INFINITY;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_number(r->gguf, full, (uint64_t)il, &value) && eng_gguf_number(r->gguf, full, 0, &value))
        ref_fail(r, "key %s: %s", full, eng_last_error());
    return value;
}

/* What gemma's later models have beside the rest. */
static void read_extras(reader *r, layer *l, int64_t il)
{
    ref_model *m = r->m;
    int64_t e = m->n_embd;
    l->sparsity = -INFINITY;
    l->out_scale = m->f.beside || m->n_given ? ref_weights(r, false, 1, il, "layer_output_scale", ".weight") : NULL;
    if (m->d_input) {
        l->in_gate = ref_matrix_of(r, true, il, "inp_gate", e, m->d_input, 1);
        l->in_out = ref_matrix_of(r, true, il, "proj", m->d_input, e, 1);
        l->in_norm = ref_weights(r, true, e, il, "post_norm", ".weight");
    }
    if (m->n_states) {
        int64_t n = m->n_states;
        l->states_norm = ref_weights(r, true, e, il, "altup_router_norm", ".weight");
        l->router_of_states = ref_matrix_of(r, true, il, "altup_router", e, n, 1);
        l->predict = ref_matrix_of(r, true, il, "altup_predict_coef", n, n * n, 1);
        l->correct = ref_matrix_of(r, true, il, "altup_correct_coef", n, n, 1);
        l->correct_scale = ref_weights(r, true, e, il, "altup_correct_scale", ".weight");
        l->around_in = ref_matrix_of(r, true, il, "laurel_l", e, rows(r, il, "laurel_l"), 1);
        l->around_out = ref_matrix_of(r, true, il, "laurel_r", l->around_in.m, e, 1);
        l->around_norm = ref_weights(r, true, e, il, "laurel_post_norm", ".weight");
        l->sparsity = layer_number(r, "activation_sparsity_scale", il);
    }
    if (l->moe && m->f.beside) {
        int64_t f = ref_layer_key(r, "feed_forward_length", il, -1);
        m->n_ff = f > m->n_ff ? f : m->n_ff;
        l->d_gate = ref_matrix_of(r, true, il, "ffn_gate", e, f, 1);
        l->d_up = ref_matrix_of(r, true, il, "ffn_up", e, f, 1);
        l->d_down = ref_matrix_of(r, true, il, "ffn_down", f, e, 1);
        l->router_norm = ref_weights(r, true, e, il, "ffn_gate_inp", ".scale");
        l->experts_norm = ref_weights(r, true, e, il, "pre_ffw_norm_2", ".weight");
        l->experts_post_norm = ref_weights(r, true, e, il, "post_ffw_norm_2", ".weight");
        l->dense_post_norm = ref_weights(r, true, e, il, "post_ffw_norm_1", ".weight");
    }
}

/* il < 0: outside of layers. */
static mix_weights read_mix(reader *r, int64_t il, const char *base)
{
    const ref_model *m = r->m;
    int64_t all = m->n_streams * m->n_embd, low = ref_key(r, "hyper_connection.low_rank", 0, -1);
    char name[64];
    mix_weights w;
    snprintf(name, sizeof name, "%s_norm", base);
    w.norm = ref_weights(r, true, all, il, name, ".weight");
    snprintf(name, sizeof name, "%s_down", base);
    w.down = ref_matrix_of(r, true, il, name, all, low, 1);
    snprintf(name, sizeof name, "%s_up", base);
    w.up = ref_matrix_of(r, true, il, name, low, all, 1);
    snprintf(name, sizeof name, "%s_inject", base);
    w.give = ref_matrix_of(r, il >= 0, il, name, all, m->n_streams, 1);
    return w;
}

static void read_mix_layer(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t all = m->n_streams * m->n_embd, taken = (m->longest - 1) * m->each * m->ngram_width;
    l->mixes[0] = read_mix(r, il, "hc_attn");
    l->mixes[1] = read_mix(r, il, "hc_ffn");
    if (l->full) {
        l->chooses = true;
        l->index_q = ref_matrix_of(r, true, il, "indexer.q_proj", m->n_embd, m->index_heads * m->d_index, 1);
        l->index_k = ref_matrix_of(r, true, il, "indexer.k_proj", m->n_embd, m->d_index, 1);
        l->index_q_norm = ref_weights(r, true, m->d_index, il, "indexer.q_norm", ".weight");
        l->index_norm = ref_weights(r, true, m->d_index, il, "indexer.k_norm", ".weight");
    }
    if (!m->longest || rows(r, il, "ple_key") == 0)
        return;
    l->ngrams.key = ref_matrix_of(r, true, il, "ple_key", taken, all, 1);
    l->ngrams.value = ref_matrix_of(r, true, il, "ple_value", taken, m->n_embd, 1);
    l->ngrams.key_norm = ref_weights(r, true, all, il, "ple_norm_key", ".weight");
    l->ngrams.query_norm = ref_weights(r, true, all, il, "ple_norm_query", ".weight");
    l->ngrams.norm = ref_weights(r, true, all, il, "ple_norm_conv", ".weight");
    l->ngrams.conv = ref_weights(r, true, m->ngram_taps * all, il, "ple_conv1d", ".weight");
}

static void read_layer(reader *r, int64_t il)
{
    ref_model *m = r->m;
    layer *l = &r->m->layers[il];
    if (m->f.headless && ref_key(r, "attention.head_count_kv", (uint64_t)il, -1) > 0)
        m->kv_heads = ref_key(r, "attention.head_count_kv", (uint64_t)il, -1);
    if (m->f.headless)
        l->full = ref_key(r, "attention.head_count_kv", (uint64_t)il, -1) > 0;
    else
        l->full = !m->hybrid || il >= m->n_layers || (il + 1) % ref_key(r, "full_attention_interval", 0, 4) == 0;
    if (m->f.kda)
        l->full = ref_key(r, "attention.head_count_kv", (uint64_t)il, -1) > 0;
    if (m->f.scans) { /* a layer without heads of K and V scans, or is plain */
        l->full = m->f.both || (m->f.layered && ref_layer_key(r, "attention.head_count_kv", il, -1) > 0);
        l->plain = m->f.either && ref_layer_key(r, "feed_forward_length", il, -1) > 0;
    }
    l->moe = m->experts > 0 && il >= m->dense_lead && (il + 1) % m->moe_step == 0;
    if (!m->f.no_norm1)
        l->norm = ref_weights(r, true, m->n_embd, il, "attn_norm", ".weight");
    if (m->f.norm2)
        l->ffn_norm = ref_weights(r, !m->f.parallel, m->n_embd, il, m->f.norm2, ".weight");
    if (m->f.post_norms) {
        l->post_norm = ref_weights(r, true, m->n_embd, il, "post_attention_norm", ".weight");
        l->ffn_post_norm = ref_weights(r, true, m->n_embd, il, "post_ffw_norm", ".weight");
    }
    if (m->f.norm_biases)
        l->norm_bias = ref_weights(r, true, m->n_embd, il, "attn_norm", ".bias");
    if (m->f.norm_biases && l->ffn_norm)
        l->ffn_norm_bias = ref_weights(r, true, m->n_embd, il, "ffn_norm", ".bias");
    if (m->f.mix)
        read_mix_layer(r, l, il);
    for (int i = 0; i < 2 && m->n_streams && !m->f.mix && il < m->n_layers; i++) {
        static const char *const names[2][3] = {{"hc_attn_fn", "hc_attn_base", "hc_attn_scale"},
                                                {"hc_ffn_fn", "hc_ffn_base", "hc_ffn_scale"}};
        int64_t says = m->n_streams * (m->n_streams + 2);
        l->streams[i].says = ref_matrix_of(r, true, il, names[i][0], m->n_streams * m->n_embd, says, 1);
        l->streams[i].base = ref_weights(r, true, says, il, names[i][1], ".weight");
        l->streams[i].scale = ref_weights(r, true, 3, il, names[i][2], ".weight");
    }
    read_sight(r, l, il);
    read_cache(r, l, il);
    if (m->f.compressed) {
        l->ratio = ref_key(r, "attention.compress_ratios", (uint64_t)il, -1);
        l->local = l->ratio == 0;
        ref_read_compressed(r, l, il);
        if (il < ref_key(r, "hash_layer_count", 0, -1))
            ref_read_token_experts(r, l, il);
    } else if (l->full && m->f.latent)
        ref_read_latent(r, l, il);
    else if (l->full)
        ref_read_attention(r, l, il);
    else if (m->f.kda)
        ref_read_kda(r, l, il);
    else if (!l->plain && !m->f.scans)
        ref_read_recurrent(r, l, il);
    if (m->f.scans && !l->plain && (m->f.both || !l->full))
        ref_read_scan(r, l, il);
    if (m->f.alone && !l->plain)
        return;
    if (l->moe) {
        ref_read_experts(r, l, il);
        read_extras(r, l, il);
        return;
    }
    if (strcmp(m->arch, "glm4") == 0 || strcmp(m->arch, "phi3") == 0) {
        matrix both = ref_matrix_of(r, true, il, "ffn_up", m->n_embd, 2 * m->n_ff, 1);
        l->gate = ref_rows_of(&both, 0, m->n_ff);
        l->up = ref_rows_of(&both, m->n_ff, m->n_ff);
        l->down = ref_matrix_of(r, true, il, "ffn_down", m->n_ff, m->n_embd, 1);
    } else {
        int64_t f = ref_layer_key(r, "feed_forward_length", il, -1);
        m->n_ff = f > m->n_ff ? f : m->n_ff;
        l->gate = l->plain || m->f.ungated ? (matrix){0} : ref_matrix_of(r, true, il, "ffn_gate", m->n_embd, f, 1);
        l->up = ref_matrix_of(r, true, il, "ffn_up", m->n_embd, f, 1);
        l->down = ref_matrix_of(r, true, il, "ffn_down", f, m->n_embd, 1);
    }
    read_extras(r, l, il);
}

/* The first block behind the layers. */
static void read_block(reader *r)
{
    ref_model *m = r->m;
    int64_t il = m->n_layers, e = m->n_embd;
    matrix in = ref_matrix_of(r, false, il, "nextn.eh_proj", 2 * e, e, 1);
    if (!in.w || r->failed)
        return;
    read_layer(r, il);
    double *out_norm = ref_weights(r, false, e, il, "nextn.shared_head_norm", ".weight");
    ref_model *b = m->block = malloc(sizeof *b);
    if (!b) {
        ref_fail(r, "no memory");
        return;
    }
    *b = *m;
    b->n_layers = 1;
    b->layers = &m->layers[il];
    b->draft_in = in;
    b->token_norm = ref_weights(r, true, e, il, "nextn.enorm", ".weight");
    b->state_norm = ref_weights(r, true, e, il, "nextn.hnorm", ".weight");
    b->out_norm = out_norm ? out_norm : m->out_norm;
    double *embd = ref_weights(r, false, e * m->n_vocab, il, "nextn.embed_tokens", ".weight");
    matrix head = ref_matrix_of(r, false, il, "nextn.shared_head_head", e, m->n_vocab, 1);
    b->embd = embd ? embd : m->embd;
    b->head = head.w ? head : m->head;
}

static void read_model(reader *r)
{
    ref_model *m = r->m;
    ref_read_numbers(r);
    if (!r->failed && !(m->layers = calloc((size_t)m->n_layers + 1, sizeof *m->layers)))
        ref_fail(r, "no memory");
    if (r->failed)
        return;
    m->embd = ref_weights(r, true, m->n_embd * m->n_vocab, -1, "token_embd", ".weight");
    if (!m->f.mix)
        m->out_norm = ref_weights(r, true, m->n_embd, -1, m->f.headless ? "token_embd_norm" : "output_norm", ".weight");
    if (m->f.norm_biases)
        m->out_norm_bias = ref_weights(r, true, m->n_embd, -1, "output_norm", ".bias");
    m->head = ref_matrix_of(r, false, -1, "output", m->n_embd, m->n_vocab, 1);
    if (!m->head.w)
        m->head.w = m->embd;
    if (m->n_states) {
        m->states_begin = ref_matrix_of(r, true, -1, "altup_proj", m->n_embd, m->n_embd, m->n_states - 1);
        m->states_end = ref_matrix_of(r, true, -1, "altup_unembd_proj", m->n_embd, m->n_embd, m->n_states - 1);
    }
    if (m->f.mix)
        m->mix_out = read_mix(r, -1, "output_hc");
    if (m->longest) {
        const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, "per_layer_token_embd.weight");
        m->ngram_table = ref_weights(r, true, t && t->ne[1] >= m->ngram_rows ? t->ne[1] * m->ngram_width : 0, -1,
                                     "per_layer_token_embd", ".weight");
    }
    if (m->n_streams && !m->f.mix) {
        m->streams_out = ref_matrix_of(r, false, -1, "output_hc_fn", m->n_streams * m->n_embd, m->n_streams, 1);
        m->streams_out_base = ref_weights(r, m->streams_out.w, m->n_streams, -1, "output_hc_base", ".weight");
        m->streams_out_scale = ref_weights(r, m->streams_out.w, 1, -1, "output_hc_scale", ".weight");
    }
    if (m->d_input) {
        m->input_embd =
            ref_weights(r, true, m->d_input * m->n_layers * m->n_vocab, -1, "per_layer_token_embd", ".weight");
        m->input = ref_matrix_of(r, true, -1, "per_layer_model_proj", m->n_embd, m->d_input * m->n_layers, 1);
        m->input_norm = ref_weights(r, true, m->d_input, -1, "per_layer_proj_norm", ".weight");
    }
    m->rope_long = ref_weights(r, false, m->n_rot / 2, -1, "rope_factors_long", ".weight");
    if (strcmp(m->arch, "phimoe") == 0 && m->rope_long) /* as its models' configurations have it */
        m->rope_size = 1.243163121016122;
    m->rope_short = ref_weights(r, false, m->n_rot / 2, -1, "rope_factors_short", ".weight");
    m->rope_freqs = ref_weights(r, false, m->n_rot / 2, -1, "rope_freqs", ".weight");
    for (int64_t i = 0; i < m->n_layers && !r->failed; i++)
        read_layer(r, i);
    if (m->n_given) {
        m->draft_in = ref_matrix_of(r, true, -1, "nextn.pre_projection", 2 * m->n_given, m->n_embd, 1);
        m->draft_out = ref_matrix_of(r, true, -1, "nextn.post_projection", m->n_embd, m->n_given, 1);
    } else if (!r->failed && ref_key(r, "nextn_predict_layers", 0, 0) > 0)
        read_block(r);
}

ref_model *ref_model_open(const char *path, char *error, size_t error_bytes)
{
    reader r = {.error = error, .error_bytes = error_bytes};
    if (eng_gguf_open(path, &r.gguf)) {
        ref_fail(&r, "%s", eng_last_error());
        return NULL;
    }
    r.m = calloc(1, sizeof *r.m);
    if (r.m)
        read_model(&r);
    else
        ref_fail(&r, "no memory");
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
    free(m->block);
    free(m);
}

void ref_model_cells(ref_model *m, int64_t cells)
{
    m->long_context = (double)cells > m->n_ctx_orig;
}

int64_t ref_model_vocab(const ref_model *m)
{
    return m->n_vocab;
}
