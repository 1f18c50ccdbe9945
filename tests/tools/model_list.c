/* All tensors of a random model of an architecture that is known. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "model_impl.h"

/* What a layer is given of the token itself, and by what its results are multiplied. */
static void add_input(model *m, int64_t layer)
{
    if (m->input) {
        add_matrix(m, layer, "inp_gate.weight", CLASS_FFN, 1, m->embd, m->input);
        add_matrix(m, layer, "proj.weight", CLASS_FFN, 1, m->input, m->embd);
        add_norm(m, layer, "post_norm.weight", m->embd);
    }
    if (is(m, ARCH_ALTUP)) { /* the router's input is over the embedding's width */
        add_norm(m, layer, "altup_router_norm.weight", m->embd);
        add_matrix(m, layer, "altup_router.weight", CLASS_F32, (double)m->embd, m->embd, m->altup);
        add_matrix(m, layer, "altup_predict_coef.weight", CLASS_F32, 0.3, m->altup, m->altup * m->altup);
        add_matrix(m, layer, "altup_correct_coef.weight", CLASS_F32, 0.3, m->altup, m->altup);
        add_norm(m, layer, "altup_correct_scale.weight", m->embd);
        add_matrix(m, layer, "laurel_l.weight", CLASS_FFN, 1, m->embd, m->laurel);
        add_matrix(m, layer, "laurel_r.weight", CLASS_FFN, 1, m->laurel, m->embd);
        add_norm(m, layer, "laurel_post_norm.weight", m->embd);
    }
    if (m->layer_scales)
        add_norm(m, layer, "layer_output_scale.weight", 1);
}

/* Of streams that are mixed channel by channel; of one of all nothing is given back. */
static void add_mix(model *m, int64_t layer, const char *base, int gives)
{
    int64_t all = m->streams * m->embd;
    char name[64];

    snprintf(name, sizeof name, "%s_norm.weight", base);
    add_norm(m, layer, name, all);
    snprintf(name, sizeof name, "%s_down.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 4, all, m->mix_rank);
    snprintf(name, sizeof name, "%s_up.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 2, m->mix_rank, all);
    snprintf(name, sizeof name, "%s_inject.weight", base);
    if (gives)
        add_matrix(m, layer, name, CLASS_ATTENTION, 4, all, m->streams);
}

static void add_ngrams(model *m, int64_t layer)
{
    int64_t all = m->streams * m->embd, rows = (m->ngrams - 1) * m->ngram_each * m->ngram_width;

    add_matrix(m, layer, "ple_key.weight", CLASS_FFN, 1, rows, all);
    add_matrix(m, layer, "ple_value.weight", CLASS_FFN, 1, rows, m->embd);
    add_norm(m, layer, "ple_norm_key.weight", all);
    add_norm(m, layer, "ple_norm_query.weight", all);
    add_norm(m, layer, "ple_norm_conv.weight", all);
    model_append(m, layer, "ple_conv1d.weight", CLASS_F32, FILL_NORMAL, 1, m->ngram_taps, all, 0);
}

/* What is said of a token's streams, before and behind mixer and feed-forward. */
static void add_hyper(model *m, int64_t layer, const char *block)
{
    int64_t n = m->streams, says = n * (n + 2);
    char name[64];

    snprintf(name, sizeof name, "hc_%s_fn.weight", block);
    add_matrix(m, layer, name, CLASS_F32, 1, n * m->embd, says);
    snprintf(name, sizeof name, "hc_%s_base.weight", block);
    add_bias(m, layer, name, says);
    snprintf(name, sizeof name, "hc_%s_scale.weight", block);
    add_norm(m, layer, name, 3);
}

static void add_scan_layer(model *m, int64_t layer)
{
    add_norm(m, layer, "attn_norm.weight", m->embd);
    if (is(m, ARCH_EITHER) && model_scan_ffn(m, layer)) {
        add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, m->ffn);
        add_matrix(m, layer, "ffn_down.weight", CLASS_FFN, 4 * residual_gain(m), m->ffn, m->embd);
        return;
    }
    if (model_scan_kv_heads(m, layer) && !(is(m, ARCH_ALONE) && !is(m, ARCH_EITHER)))
        model_add_attention(m, layer);
    else if (is(m, ARCH_EACH))
        model_add_channel_scan(m, layer);
    else
        model_add_scan(m, layer);
    if (is(m, ARCH_BOTH))
        model_add_scan(m, layer);
    if (is(m, ARCH_ALONE))
        return;
    add_norm(m, layer, "ffn_norm.weight", m->embd);
    model_add_ffn(m, layer);
}

static void add_layer(model *m, int64_t layer)
{
    int draft = layer >= m->layers;

    if (is(m, ARCH_SCANS)) {
        add_scan_layer(m, layer);
        return;
    }

    char second[64];

    if (!is(m, ARCH_NO_FIRST_NORM))
        add_norm(m, layer, "attn_norm.weight", m->embd);
    snprintf(second, sizeof second, "%s.weight", m->a->norm2 ? m->a->norm2 : "");
    if (m->a->norm2 && !m->parallel)
        add_norm(m, layer, second, m->embd);
    if (is(m, ARCH_NORM_BIASES))
        add_bias(m, layer, "attn_norm.bias", m->embd);
    if (is(m, ARCH_NORM_BIASES) && !m->parallel)
        add_bias(m, layer, "ffn_norm.bias", m->embd);
    if (is(m, ARCH_POST_NORMS)) {
        add_norm(m, layer, "post_attention_norm.weight", m->embd);
        add_norm(m, layer, "post_ffw_norm.weight", m->embd);
    }
    if (model_kv_heads(m, layer) == 0 && is(m, ARCH_KDA))
        model_add_kda(m, layer);
    else if (model_kv_heads(m, layer) == 0)
        model_add_short_conv(m, layer);
    else if (hybrid(m) && !draft && (layer + 1) % m->interval != 0)
        model_add_recurrent(m, layer);
    else
        model_add_attention(m, layer);
    model_add_ffn(m, layer);
    add_input(m, layer);
    if (is(m, ARCH_HYPER) && !draft) {
        add_hyper(m, layer, "attn");
        add_hyper(m, layer, "ffn");
    }
    if (is(m, ARCH_MIX) && !draft) {
        add_mix(m, layer, "hc_attn", 1);
        add_mix(m, layer, "hc_ffn", 1);
        if (layer == model_ngram_layer(m))
            add_ngrams(m, layer);
    }
    if (draft) {
        add_matrix(m, layer, "nextn.eh_proj.weight", CLASS_ATTENTION, 1, 2 * m->embd, m->embd);
        add_norm(m, layer, "nextn.enorm.weight", m->embd);
        add_norm(m, layer, "nextn.hnorm.weight", m->embd);
        add_norm(m, layer, "nextn.shared_head_norm.weight", m->embd);
        if (m->own_ends) {
            add_matrix(m, layer, "nextn.embed_tokens.weight", CLASS_EMBEDDING, 1, m->embd, m->vocab);
            add_matrix(m, layer, "nextn.shared_head_head.weight", CLASS_OUTPUT, 4, m->embd, m->vocab);
        }
    }
}

int model_list(model *m)
{
    /* Embeddings of unit variance; logits wide enough for one token to stand out. */
    add_matrix(m, -1, "token_embd.weight", CLASS_EMBEDDING, sqrt((double)m->embd), m->embd, m->vocab);
    if (is(m, ARCH_MIX))
        add_mix(m, -1, "output_hc", 0);
    else
        add_norm(m, -1, is(m, ARCH_CONV) ? "token_embd_norm.weight" : "output_norm.weight", m->embd);
    if (is(m, ARCH_NORM_BIASES))
        add_bias(m, -1, "output_norm.bias", m->embd);
    if (m->freqs)
        add_norm(m, -1, "rope_freqs.weight", m->rope / 2);
    if (m->long_factors) {
        add_norm(m, -1, "rope_factors_long.weight", m->rope / 2);
        add_norm(m, -1, "rope_factors_short.weight", m->rope / 2);
    }
    if (!m->tied)
        add_matrix(m, -1, "output.weight", CLASS_OUTPUT, 4, m->embd, m->vocab);
    if (is(m, ARCH_ALTUP)) {
        model_append(m, -1, "altup_proj.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, m->embd, m->altup - 1);
        model_append(m, -1, "altup_unembd_proj.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, m->embd, m->altup - 1);
    }
    if (m->input) {
        add_matrix(m, -1, "per_layer_token_embd.weight", CLASS_EMBEDDING, 1, m->layers * m->input, m->vocab);
        add_matrix(m, -1, "per_layer_model_proj.weight", CLASS_FFN, 1, m->embd, m->layers * m->input);
        add_norm(m, -1, "per_layer_proj_norm.weight", m->input);
    }
    if (model_ngram_layer(m) >= 0 && is(m, ARCH_MIX))
        add_matrix(m, -1, "per_layer_token_embd.weight", CLASS_EMBEDDING, sqrt((double)m->ngram_width), m->ngram_width,
                   model_ngram_offset((m->ngrams - 1) * m->ngram_each) + 3);
    if (is(m, ARCH_COMPRESSED)) {
        add_matrix(m, -1, "output_hc_fn.weight", CLASS_F32, 1, m->streams * m->embd, m->streams);
        add_bias(m, -1, "output_hc_base.weight", m->streams);
        add_norm(m, -1, "output_hc_scale.weight", 1);
    }
    if (is(m, ARCH_ASSISTANT)) {
        add_matrix(m, -1, "nextn.pre_projection.weight", CLASS_ATTENTION, 1, 2 * m->backbone, m->embd);
        add_matrix(m, -1, "nextn.post_projection.weight", CLASS_ATTENTION, 1, m->embd, m->backbone);
    }
    for (int64_t layer = 0; layer < m->layers + m->mtp; layer++)
        add_layer(m, layer);
    return m->tensors ? ENG_OK : eng_fail(ENG_ERR_NOMEM, "out of memory for the list of tensors");
}
