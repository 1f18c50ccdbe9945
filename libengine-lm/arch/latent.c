/*
 * Latent attention (DeepSeek-AI, arXiv:2405.04434, section 2.1): keys and values of all heads are made of one short
 * vector, which is what a cache keeps, with one rotated part of the keys.  The matrices that make them are
 * multiplied with the queries and the results instead, so that all heads attend to the same short vectors.
 */
#include "config.h"

#include <math.h>

#include "blocks.h"

/* -- numbers ----------------------------------------------------------------------- */

int lm_numbers_latent(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int64_t queries, latent, whole, turned, value;
    int status = lm_key_integer(l, "attention.head_count", 1, LM_MAX_EXTENT, &n->n_head);
    n->n_head_kv = 1;
    for (int i = 0; i < n->n_layers && !status && lm_key_is(l, "attention.head_count_kv"); i++)
        status = n->kind[i] & LM_LAYER_ATTENTION ?
                     lm_key_layer_integer(l, "attention.head_count_kv", i, 1, 1, &n->n_head_kv) : ENG_OK;
    if (!status)
        status = lm_key_integer_or(l, "attention.q_lora_rank", 0, LM_MAX_EXTENT, 0, &queries);
    if (!status)
        status = lm_key_integer(l, "attention.kv_lora_rank", 1, LM_MAX_EXTENT, &latent);
    if (!status)
        status = lm_key_integer(l, "attention.key_length_mla", 3, LM_MAX_EXTENT, &whole);
    if (!status)
        status = lm_key_integer(l, "attention.value_length_mla", 1, LM_MAX_EXTENT, &value);
    if (!status)
        status = lm_key_integer(l, "rope.dimension_count", lm_least_turned(m->arch), whole - 1, &turned);
    if (!status)
        status = lm_key_integer_or(l, "attention.key_length", latent + turned, latent + turned, latent + turned,
                                   &n->d_k);
    if (!status)
        status = lm_key_integer_or(l, "attention.value_length", latent, latent, latent, &n->d_v);
    if (status)
        return status;
    n->d_head = whole;
    lm_letter_add(m, 'Q', NULL, queries);
    lm_letter_add(m, 'L', NULL, latent);
    lm_letter_add(m, 'T', NULL, whole);
    lm_letter_add(m, 'A', NULL, turned);
    lm_letter_add(m, 'B', NULL, whole - turned);
    lm_letter_add(m, 'W', NULL, value);
    return ENG_OK;
}

/*
 * YaRN of these models leaves the size of what is rotated as it is and multiplies the products of queries and keys by
 * (1 + 0.1 mscale_all_dim ln(factor))^2; files have a tenth of mscale_all_dim.
 */
int lm_latent_scale(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    double times, stretch = -log(n->rope.freq_scale);
    n->attn_scale = 1 / sqrt((double)n->d_head);
    if (n->rope.ext_factor == 0)
        return ENG_OK;
    if (!lm_key_is(l, "rope.scaling.yarn_log_multiplier"))
        return eng_fail(ENG_ERR_FORMAT, "the file has no key %s.rope.scaling.yarn_log_multiplier, which YaRN of a %s model"
                        " needs", l->arch_name, l->arch_name);
    int status = lm_key_number_or(l, "rope.scaling.yarn_log_multiplier", 0, &times);
    n->rope.attn_factor = 1 / (1 + 0.1 * stretch);
    n->attn_scale *= pow(1 + times * stretch, 2);
    return status;
}

int lm_latent_indexed(lm_loader *l)
{
    int status = lm_numbers_indexer(l);
    return status ? status : lm_latent_scale(l);
}

/* -- the graph ----------------------------------------------------------------------- */

/* x[a, T, heads] of the product of each head's own matrix with x[k, heads, T], as [a, heads, T]. */
static eng_value each_head(lm_build *b, int layer, int role, eng_value x)
{
    static const int swapped[] = {0, 2, 1};
    eng_value y = eng_mul_mat(b->g, lm_weight(b, layer, role), eng_permute(b->g, x, swapped, 3));
    return eng_cont(b->g, eng_permute(b->g, y, swapped, 3));
}

/* Queries as the short vectors see them, [latent + rotated, heads, T], of u of the tokens that ask, or of short vectors
 * of their own. */
static eng_value queries(lm_build *b, eng_value u, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    int64_t t = wanted ? b->n_out : b->n_tokens, turned = n->d_k - n->d_v, rest = n->d_head - turned;
    eng_graph *g = b->g;
    bool is_short = lm_weight(b, layer, LM_Q_A) != ENG_NO_VALUE;
    eng_value q = lm_product(b, layer, is_short ? LM_Q_B : LM_Q, u);
    q = eng_reshape(g, q, (int64_t[]){n->d_head, n->n_head, t}, 3);
    eng_value plain = each_head(b, layer, LM_K_B, turned ? eng_slice(g, q, 0, 0, rest) : q);
    return !turned ? plain : eng_concat(g, plain, lm_rope(b, eng_slice(g, q, 0, rest, turned), layer, wanted), 0);
}

eng_value lm_latent_attention(lm_build *b, eng_value u, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t t = wanted ? b->n_out : b->n_tokens, turned = n->d_k - n->d_v;
    eng_value asking = wanted ? lm_pick(b, u) : u;
    if (lm_weight(b, layer, LM_Q_A) != ENG_NO_VALUE)
        asking = lm_norm(b, lm_product(b, layer, LM_Q_A, asking), layer, LM_Q_A_NORM);
    if (n->top_cells)
        lm_choose(b, u, asking, layer, wanted);
    eng_value q = queries(b, asking, layer, wanted);
    eng_value kv = eng_reshape(g, lm_product(b, layer, LM_KV_A, u), (int64_t[]){n->d_v + turned, 1, b->n_tokens}, 3);
    eng_value v = lm_norm(b, turned ? eng_slice(g, kv, 0, 0, n->d_v) : kv, layer, LM_KV_A_NORM);
    eng_value k = turned ? eng_concat(g, v, lm_rope(b, eng_slice(g, kv, 0, n->d_v, turned), layer, false), 0) : v;
    q = lm_tempered(b, q, layer, wanted);
    eng_value o = each_head(b, layer, LM_V_B, lm_attend(b, q, k, v, layer, wanted));
    int64_t value = eng_graph_get(g, o) ? eng_graph_get(g, o)->ne[0] : 1;
    return lm_product(b, layer, LM_ATTN_OUT, eng_reshape(g, o, (int64_t[]){value * n->n_head, t}, 2));
}
