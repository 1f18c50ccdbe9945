/* A whole model of layers. */
#include "config.h"

#include <math.h>

#include "blocks.h"

static bool has(const lm_build *b, int layer, int role)
{
    return b->model->weights[layer + 1][role] >= 0;
}

static eng_value scaled(lm_build *b, eng_value x, double by)
{
    return by == 1 ? x : eng_scale(b->g, x, by, 0);
}

static eng_value normed(lm_build *b, eng_value x, int layer, int role)
{
    return has(b, layer, role) ? lm_norm(b, x, layer, role) : x;
}

static eng_value mixer(lm_build *b, eng_value u, int layer, bool wanted)
{
    if (b->model->n.kind[layer] == (LM_LAYER_ATTENTION | LM_LAYER_RECURRENT)) {
        eng_value o = lm_scan(b, u, layer);
        return eng_add(b->g, lm_attention_block(b, u, layer, wanted), wanted ? lm_pick(b, o) : o);
    }
    if (b->model->n.kind[layer] != LM_LAYER_ATTENTION)
        return b->model->arch->scans == LM_SCAN_EACH ? lm_channel_scan(b, u, layer) :
               b->model->arch->scans     ? lm_scan(b, u, layer) :
               has(b, layer, LM_CONV_IN) ? lm_short_conv(b, u, layer) :
               b->model->arch->kda       ? lm_kimi_delta_attention(b, u, layer) :
                                           lm_gated_delta_net(b, u, layer);
    if (b->model->n.top_cells && !b->model->arch->latent)
        lm_choose(b, u, wanted ? lm_pick(b, u) : u, layer, wanted);
    return has(b, layer, LM_ATTN_OUT_A)    ? lm_compressed_attention(b, u, layer, wanted) :
           b->model->arch->latent ? lm_latent_attention(b, u, layer, wanted) :
                                    lm_attention_block(b, u, layer, wanted);
}

/* Of gates those that are above their mean by so many of their deviations, and by how much (Gemma 3n). */
static eng_value largest(lm_build *b, eng_value x, int layer)
{
    eng_graph *g = b->g;
    double n = (double)b->model->n.layer[layer].n_ff;
    x = eng_sub(g, x, eng_scale(g, eng_sum_rows(g, x), 1 / n, 0));
    eng_value deviation = eng_scale(g, eng_sum_rows(g, eng_unary(g, x, ENG_UNARY_SQR)), 1 / n, 0);
    deviation = eng_scale(g, eng_unary(g, deviation, ENG_UNARY_SQRT), b->model->n.layer[layer].sparsity, 0);
    return eng_unary(g, eng_sub(g, x, deviation), ENG_UNARY_RELU);
}

static eng_value sparse(lm_build *b, eng_value u, int layer)
{
    eng_value h = largest(b, lm_product(b, layer, LM_GATE, u), layer);
    return lm_product(b, layer, LM_DOWN, lm_glu_of(b, h, lm_product(b, layer, LM_UP, u), 0));
}

/* Without a gate: GELU of up's product, or the square of what of it is positive. */
static eng_value ungated(lm_build *b, eng_value u, int layer)
{
    eng_value h = lm_product(b, layer, LM_UP, u);
    h = b->model->arch->glu == LM_GLU_GELU ? eng_unary(b->g, h, ENG_UNARY_GELU) :
                                             eng_unary(b->g, eng_unary(b->g, h, ENG_UNARY_RELU), ENG_UNARY_SQR);
    return lm_product(b, layer, LM_DOWN, h);
}

static eng_value dense(lm_build *b, eng_value u, int layer)
{
    if (b->model->arch->reads & LM_READS_SPARSITY && b->model->n.layer[layer].sparsity > -1e30)
        return sparse(b, u, layer);
    if (!has(b, layer, LM_GATE_UP) && !has(b, layer, LM_GATE))
        return ungated(b, u, layer);
    return has(b, layer, LM_GATE_UP) ? lm_ffn(b, u, layer, LM_GATE_UP, -1, LM_DOWN) :
                                       lm_ffn(b, u, layer, LM_GATE, LM_UP, LM_DOWN);
}

/* Of x, normed to u: dense, experts, or both side by side. */
static eng_value feed_forward(lm_build *b, eng_value x, eng_value u, int layer)
{
    if (!b->model->n.layer[layer].moe)
        return dense(b, u, layer);
    if (!has(b, layer, LM_EXPERTS_NORM))
        return lm_moe(b, x, u, layer);
    eng_value one = lm_norm(b, dense(b, u, layer), layer, LM_DENSE_POST_NORM);
    eng_value other = lm_moe(b, x, lm_norm(b, x, layer, LM_EXPERTS_NORM), layer);
    return eng_add(b->g, one, lm_norm(b, other, layer, LM_EXPERTS_POST_NORM));
}

/* x, and what the mixer was given with a little of itself: the mixer's result on two ways (LAuReL,
 * arXiv:2411.07501). */
static eng_value around(lm_build *b, eng_value x, eng_value u, int layer)
{
    eng_value y = lm_product(b, layer, LM_LAUREL_OUT, lm_product(b, layer, LM_LAUREL_IN, u));
    y = eng_add(b->g, u, lm_norm(b, y, layer, LM_LAUREL_NORM));
    return eng_scale(b->g, eng_add(b->g, x, y), sqrt(0.5), 0);
}

/* From here on only the tokens that are asked for matter; to a state all do. */
static void drop_others(lm_build *b)
{
    if (b->model->n.streams)
        lm_hyper_pick(b);
    for (int64_t i = 0; i < b->model->n.altup; i++)
        b->altup[i] = lm_pick(b, b->altup[i]);
    b->inputs = b->inputs != ENG_NO_VALUE ? lm_pick(b, b->inputs) : ENG_NO_VALUE;
    b->live = b->live_out;
    b->picked = true;
}

static eng_value picked(lm_build *b, eng_value x)
{
    drop_others(b);
    return lm_pick(b, x);
}

/* x plus what its feed-forward gives, there being no mixer. */
static eng_value plain(lm_build *b, eng_value x, int il, bool wanted)
{
    x = wanted && !b->picked ? picked(b, x) : x;
    eng_value o = feed_forward(b, x, normed(b, x, il, LM_NORM), il);
    return eng_add(b->g, x, scaled(b, o, b->model->n.residual_scale));
}

/* x plus what its mixer gives, plus what its feed-forward gives. */
static eng_value layer(lm_build *b, eng_value x, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    bool wanted = il >= n->last_kept && !b->all_hidden, attends = n->kind[il] & LM_LAYER_ATTENTION;
    bool parallel = b->model->arch->parallel && !has(b, il, LM_FFN_NORM);
    if (n->kind[il] == LM_LAYER_PLAIN)
        return plain(b, x, il, wanted);
    eng_value u = normed(b, x, il, LM_NORM), o = mixer(b, u, il, wanted);
    if (wanted && !b->picked) {
        o = attends ? o : lm_pick(b, o);
        u = parallel || has(b, il, LM_LAUREL_IN) ? lm_pick(b, u) : u;
        x = picked(b, x);
    }
    x = eng_add(g, x, scaled(b, normed(b, o, il, LM_POST_NORM), n->residual_scale));
    if (n->layer[il].alone)
        return x;
    x = has(b, il, LM_LAUREL_IN) ? around(b, x, u, il) : x;
    eng_graph_name(g, x, "mixed.%d", il);
    if (!parallel)
        u = normed(b, x, il, LM_FFN_NORM);
    o = normed(b, feed_forward(b, x, u, il), il, LM_FFN_POST_NORM);
    x = eng_add(g, x, scaled(b, o, n->residual_scale));
    x = b->inputs != ENG_NO_VALUE && !n->altup ? eng_add(g, x, lm_inputs_take(b, x, il)) : x;
    x = has(b, il, LM_LAYER_SCALE) ? eng_mul(g, x, lm_weight(b, il, LM_LAYER_SCALE)) : x;
    eng_graph_name(g, x, "layer.%d", il);
    return x;
}

/* The same where a token has several streams: mixer and feed-forward each take of them and give to them. */
static void streamed(lm_build *b, int il)
{
    static const lm_hyper_roles first = {LM_HYPER_MIXER, LM_HYPER_MIXER_BASES, LM_HYPER_MIXER_FACTORS};
    static const lm_hyper_roles second = {LM_HYPER_FFN, LM_HYPER_FFN_BASES, LM_HYPER_FFN_FACTORS};
    const lm_numbers *n = &b->model->n;
    bool wanted = il >= n->last_kept && !b->all_hidden, attends = n->kind[il] & LM_LAYER_ATTENTION;
    if (n->ngrams.rows && il == n->ngrams.layer)
        lm_ngrams_add(b, il);
    eng_value x = n->mix_rank ? lm_mix_take(b, il, false) : lm_hyper_take(b, il, &first),
              o = mixer(b, normed(b, x, il, LM_NORM), il, wanted);
    if (wanted && !b->picked) {
        o = attends ? o : lm_pick(b, o);
        drop_others(b);
    }
    lm_hyper_give(b, o);
    eng_graph_name(b->g, b->streams, "mixed.%d", il);
    x = n->mix_rank ? lm_mix_take(b, il, true) : lm_hyper_take(b, il, &second);
    lm_hyper_give(b, feed_forward(b, x, normed(b, x, il, LM_FFN_NORM), il));
    eng_graph_name(b->g, b->streams, "layer.%d", il);
}

static eng_value head(lm_build *b, eng_value x)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    b->hidden = x = n->mix_rank ? x : lm_norm(b, x, LM_LAYER_TOP, LM_OUT_NORM);
    if (b->target) /* as the other model's are */
        b->hidden = lm_product(b, LM_LAYER_TOP, LM_DRAFT_STATE, x);
    x = b->all_hidden ? lm_pick(b, x) : x;
    x = has(b, LM_LAYER_TOP, LM_OUT) ? lm_product(b, LM_LAYER_TOP, LM_OUT, x) :
                                       eng_mul_mat(g, lm_weight(b, LM_LAYER_TOP, LM_EMBD), x);
    if (n->logit_softcap == 0)
        return scaled(b, x, n->logit_scale);
    x = eng_unary(g, eng_scale(g, x, n->logit_scale / n->logit_softcap, 0), ENG_UNARY_TANH);
    return eng_scale(g, x, n->logit_softcap, 0);
}

/* The model's own, or those of the model that it guesses for. */
static eng_value embeddings(lm_build *b)
{
    return b->target ?
               eng_graph_tensor(b->g, LM_SLOT_TARGET, b->target->store, (uint32_t)b->target->weights[0][LM_EMBD]) :
               lm_weight(b, LM_LAYER_TOP, LM_EMBD);
}

eng_value lm_layers(lm_build *b)
{
    const lm_numbers *n = &b->model->n;
    eng_value x = scaled(b, eng_get_rows(b->g, embeddings(b), b->tokens), n->embd_scale);
    lm_positions(b);
    lm_indexer_begin(b);
    lm_compressed_begin(b);
    b->picked = false;
    b->inputs = n->d_input ? lm_inputs_make(b, x) : ENG_NO_VALUE;
    x = b->model->drafts ? lm_draft_input(b, x) : x;
    if (n->altup)
        lm_altup_begin(b, x);
    if (n->streams)
        lm_hyper_begin(b, x);
    for (int il = 0; il < n->n_layers; il++) {
        if (n->streams) {
            streamed(b, il);
            continue;
        }
        x = layer(b, n->altup ? lm_altup_predict(b, il) : x, il);
        if (n->altup)
            lm_altup_correct(b, x, il);
    }
    return head(b, n->altup ? lm_altup_end(b) : n->mix_rank ? lm_mix_end(b) :
                   n->streams ? lm_hyper_end(b) : x);
}
