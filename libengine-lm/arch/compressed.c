/*
 * Attention to a window of tokens and, of all before, to compressed ones (DeepSeek-AI, DeepSeek-V4, section 2.3; the
 * arithmetic is that of the models' own code, PyPI's transformers, deepseek_v4).  One head of keys, which are the
 * values, too, is seen by all queries; so what attention gives is turned back by its query's position.  An entry
 * stands for `ratio` tokens: of each channel the mean over them, by the softmax of what they and their places say;
 * where an indexer chooses among entries, the mean is over the entry's tokens and those of the entry before it, which
 * have channels of their own for that.
 *
 * As with pools (pools.c) numerator and denominator of such a mean are convolutions, whose window is a state; an entry
 * is kept in the cell of its last token, so it is seen by whoever may see that, and forks, rollback and saving follow.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "blocks.h"

#define MOST_EXPONENT 60 /* of the softmax: sums of their exponentials fit into f32 */
#define NOBODY (1 << 22) /* no sequence; exact in f32                              */

/* -- numbers ------------------------------------------------------------------------------ */

static int ratios(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t found[LM_MOST_RATIOS];
    int count = 0, status = ENG_OK;
    for (int i = 0; i < n->n_layers && !status; i++) {
        lm_layer *a = &n->layer[i];
        int k = 0;
        status = lm_key_layer_integer(l, "attention.compress_ratios", i, 0, 1 << 12, &a->ratio);
        while (k < count && found[k] != a->ratio)
            k++;
        if (status || !a->ratio || k < count)
            continue;
        if (a->ratio == 1 || count == LM_MOST_RATIOS)
            return eng_fail(ENG_ERR_UNSUPPORTED,
                            "key %s.attention.compress_ratios has %lld for layer %d" ENG_CAUSE
                            "0 and up to %d others above 1 are known",
                            l->arch_name, (long long)a->ratio, i, LM_MOST_RATIOS);
        found[count++] = a->ratio;
    }
    return status;
}

/* Which layers have an indexer: the file has its tensors. */
static int choosers(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    bool any = false;
    for (int i = 0; i < n->n_layers; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.indexer.proj.weight", i);
        n->layer[i].chooses = n->layer[i].ratio && eng_gguf_tensor_find(l->gguf, name);
        any |= n->layer[i].chooses;
    }
    if (!any)
        return ENG_OK;
    int status = lm_key_integer(l, "attention.indexer.top_k", 1, INT32_MAX, &n->top_entries);
    if (!status)
        status = lm_key_integer(l, "attention.indexer.head_count", 1, LM_MAX_EXTENT, &n->index_heads);
    if (!status)
        status = lm_key_integer(l, "attention.indexer.key_length", n->rope.n_dims, LM_MAX_EXTENT, &n->d_index);
    if (!status && n->d_index % 2)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.attention.indexer.key_length must be even, got %lld", l->arch_name,
                          (long long)n->d_index);
    lm_letter_add(l->model, 'i', NULL, n->index_heads);
    lm_letter_add(l->model, 'j', NULL, n->d_index);
    return status;
}

/* What is rotated must keep its size: it is turned back. */
static int sizes(lm_loader *l)
{
    static const char *const names[] = {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double size;
        int status = lm_key_number_or(l, names[i], 1, &size);
        if (!status && size != 1)
            status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.%s is %g" ENG_CAUSE "only 1 is known for %s", l->arch_name,
                              names[i], size, l->arch_name);
        if (status)
            return status;
    }
    return ENG_OK;
}

/* Layers with entries have a rope of their own, whose stretching leaves the size of what is rotated as it is. */
static int ropes(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = sizes(l);
    if (!status)
        status = lm_key_number_or(l, "attention.compress_rope_freq_base", 0, &n->rope.base);
    if (!status && n->rope.base <= 0)
        return eng_fail(ENG_ERR_FORMAT, "key %s.attention.compress_rope_freq_base must be positive, got %g",
                        l->arch_name, n->rope.base);
    if (!status && n->d_k % 2)
        return eng_fail(ENG_ERR_FORMAT, "key %s.attention.key_length must be even, got %lld", l->arch_name,
                        (long long)n->d_k);
    if (n->rope.ext_factor != 0)
        n->rope.attn_factor = 1 / (1 - 0.1 * log(n->rope.freq_scale));
    n->rope.offset = n->local_rope.offset = n->d_k - n->rope.n_dims;
    for (int i = 0; i < n->n_layers; i++)
        n->layer[i].local = !n->layer[i].ratio;
    return status;
}

int lm_numbers_compressed(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t queries, groups, out, hashed;
    int status = n->n_head_kv == 1 ? ENG_OK :
                                     eng_fail(ENG_ERR_FORMAT, "key %s.attention.head_count_kv is %lld, expected 1",
                                              l->arch_name, (long long)n->n_head_kv);
    if (!status)
        status = lm_key_integer(l, "attention.q_lora_rank", 1, LM_MAX_EXTENT, &queries);
    if (!status)
        status = lm_key_integer(l, "attention.output_group_count", 1, n->n_head, &groups);
    if (!status)
        status = lm_key_integer(l, "attention.output_lora_rank", 1, LM_MAX_EXTENT, &out);
    if (!status)
        status = lm_key_integer(l, "hash_layer_count", 0, n->n_layers_file, &hashed);
    if (!status && n->n_head % groups)
        status = eng_fail(ENG_ERR_FORMAT, "key %s.attention.output_group_count is %lld" ENG_CAUSE "%lld heads are no multiple of "
                          "it", l->arch_name, (long long)groups, (long long)n->n_head);
    if (!status)
        status = ratios(l);
    if (!status)
        status = ropes(l);
    if (!status)
        status = choosers(l);
    if (status)
        return status;
    n->recurrent = true; /* entries are made of states, whatever its layers are */
    for (int i = 0; i < n->n_layers && i < hashed; i++)
        n->layer[i].hashed = true;
    lm_letter_add(l->model, 'Q', NULL, queries);
    lm_letter_add(l->model, 'g', "group", groups);
    lm_letter_add(l->model, 'e', NULL, n->n_head / groups);
    lm_letter_add(l->model, 'o', NULL, out);
    lm_letter_add(l->model, 's', NULL, 0); /* these two: lm_layer_letters */
    lm_letter_add(l->model, 'u', NULL, 0);
    lm_letter_add(l->model, 'a', NULL, n->n_used);
    lm_letter_add(l->model, 'b', NULL, n->n_vocab);
    return ENG_OK;
}

/* -- which cells have entries --------------------------------------------------------------- */

static const lm_entries *of_layer(const lm_build *b, int layer)
{
    const lm_entries *e = b->entries;
    while (e->ratio != b->model->n.layer[layer].ratio)
        e++;
    return e;
}

/* Those whose position is the last of a run of `ratio`; the others get a sequence that no token is of. */
static eng_value sequences(lm_build *b, int64_t ratio)
{
    eng_graph *g = b->g;
    eng_value place = eng_sub(g, eng_cpy(g, b->cpos, ENG_TYPE_F32),
                              eng_scale(g, lm_times(b, b->cpos, 0, ratio), (double)ratio, 0));
    eng_value other = eng_unary(g, eng_scale(g, place, -1, (double)ratio - 1.5), ENG_UNARY_STEP);
    other = eng_add(g, eng_cpy(g, b->cseq, ENG_TYPE_F32), eng_scale(g, other, NOBODY, 0));
    return eng_cpy(g, other, ENG_TYPE_I32);
}

static void begin(lm_build *b, lm_entries *e, bool chosen)
{
    e->cseq = sequences(b, e->ratio);
    e->pos = lm_first_positions(b, e->ratio);
    e->unseen = e->out_unseen = ENG_NO_VALUE;
    if (!chosen || lm_seen_cells(b) / e->ratio <= b->model->n.top_entries)
        return; /* all are seen */
    e->unseen = lm_unseen(b, e->cseq, false);
    e->out_unseen = lm_unseen(b, e->cseq, true);
}

void lm_compressed_begin(lm_build *b)
{
    const lm_numbers *n = &b->model->n;
    bool chosen[LM_MOST_RATIOS] = {false};
    b->n_ratios = 0;
    for (int i = 0; i < n->n_layers; i++) {
        int k = 0;
        while (k < b->n_ratios && b->entries[k].ratio != n->layer[i].ratio)
            k++;
        if (!n->layer[i].ratio)
            continue;
        b->entries[k].ratio = n->layer[i].ratio;
        b->n_ratios += k == b->n_ratios;
        chosen[k] |= n->layer[i].chooses;
    }
    for (int k = 0; k < b->n_ratios; k++)
        begin(b, &b->entries[k], chosen[k]);
}

/* -- entries ---------------------------------------------------------------------------------- */

typedef struct entry_roles {
    int kv, gate, places, norm;
    uint32_t window;
    int64_t d;
} entry_roles;

/* The exponentials of what tokens' places say, as taps of numerators and denominators.  With parts of the entry
 * before, the first half of the channels is of its tokens, the second of the entry's own. */
static eng_value taps(lm_build *b, int layer, const entry_roles *r, bool two)
{
    static const int swapped[] = {1, 0};
    const int64_t none = 0, ratio = b->model->n.layer[layer].ratio;
    eng_graph *g = b->g;
    eng_value w = eng_cpy(g, lm_weight(b, layer, r->places), ENG_TYPE_F32); /* of any type in files */
    w = eng_cont(g, eng_permute(g, w, swapped, 2));
    w = eng_unary(g, w, ENG_UNARY_EXP);
    if (two) {
        eng_value before = eng_pad(g, eng_cont(g, eng_slice(g, w, 1, 0, r->d)), &none, &ratio, 1);
        w = eng_concat(g, before, eng_pad(g, eng_cont(g, eng_slice(g, w, 1, r->d, r->d)), &ratio, &none, 1), 1);
    }
    return eng_concat(g, w, w, 1);
}

/* As if each token of u[E, T] were the last of an entry: [d, T]. */
static eng_value entries(lm_build *b, eng_value u, int layer, const entry_roles *r)
{
    eng_graph *g = b->g;
    bool two = b->model->n.layer[layer].chooses;
    int64_t d = r->d;
    eng_value w = eng_clamp(g, lm_product(b, layer, r->gate, u), -MOST_EXPONENT, MOST_EXPONENT);
    w = eng_unary(g, w, ENG_UNARY_EXP);
    eng_value x = eng_concat(g, eng_mul(g, lm_product(b, layer, r->kv, u), w), w, 0);
    x = eng_ssm_conv(g, x, taps(b, layer, r, two), lm_layer_memory(b, layer, r->window), b->src, b->dst, b->cu,
                     b->context->n_snapshots);
    eng_value above = eng_slice(g, x, 0, 0, d), below = eng_slice(g, x, 0, two ? 2 * d : d, d);
    if (two) {
        above = eng_add(g, above, eng_slice(g, x, 0, d, d));
        below = eng_add(g, below, eng_slice(g, x, 0, 3 * d, d));
    }
    return eng_rms_norm(g, eng_div(g, above, below), lm_weight(b, layer, r->norm), b->model->n.eps);
}

/* -- attention -------------------------------------------------------------------------------- */

static eng_value turned(lm_build *b, eng_value x, int layer, eng_value pos, bool back)
{
    const lm_numbers *n = &b->model->n;
    eng_rope_params r = n->layer[layer].local ? n->local_rope : n->rope;
    r.inverse = back;
    return eng_rope(b->g, x, pos, ENG_NO_VALUE, &r);
}

/* Two results over different cells as one over all, by the logarithms of their denominators: -inf has no weight. */
static eng_value merged(lm_build *b, eng_value o, eng_value lse, eng_value other, eng_value other_lse, int64_t t)
{
    eng_graph *g = b->g;
    eng_value w = eng_sub(g, eng_clamp(g, lse, LM_UNSEEN, INFINITY), eng_clamp(g, other_lse, LM_UNSEEN, INFINITY));
    w = eng_reshape(g, eng_unary(g, w, ENG_UNARY_SIGMOID), (int64_t[]){1, b->model->n.n_head, t}, 3);
    return eng_add(g, other, eng_mul(g, eng_sub(g, o, other), w));
}

/* Of the entries before each token, with what its window gives. */
static eng_value with_entries(lm_build *b, eng_value o, eng_value lse, eng_value q, eng_value u, eng_value queries,
                              int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    const lm_entries *e = of_layer(b, layer);
    const entry_roles own = {LM_ENTRY_KV, LM_ENTRY_GATE, LM_ENTRY_PLACES, LM_ENTRY_NORM, LM_ENTRY_WINDOW, n->d_k};
    const entry_roles index = {LM_INDEX_K,      LM_POOL_GATE,          LM_POOL_PLACES,
                               LM_INDEX_K_NORM, LM_ENTRY_INDEX_WINDOW, n->d_index};
    eng_value k = eng_reshape(b->g, entries(b, u, layer, &own), (int64_t[]){n->d_k, 1, b->n_tokens}, 3), lse_entries;
    k = turned(b, k, layer, e->pos, false);
    eng_attention_params a = lm_sight(b, layer, wanted);
    if (n->layer[layer].chooses)
        a.mask = lm_choose_entries(b, e, entries(b, u, layer, &index), u, queries, layer, wanted);
    a.window = 0;
    a.sinks = ENG_NO_VALUE;
    a.cseq = e->cseq;
    a.lse = &lse_entries;
    eng_value other = lm_attend_as(b, q, k, k, layer, LM_ENTRY_K, &a);
    return merged(b, o, lse, other, lse_entries, wanted ? b->n_out : b->n_tokens);
}

/* Each group's heads through its own matrix, then all of them through one. */
static eng_value put_out(lm_build *b, eng_value o, int layer, int64_t t)
{
    static const int swapped[] = {0, 2, 1};
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    eng_value w = lm_weight(b, layer, LM_ATTN_OUT_A), scale = lm_weight(b, layer, LM_ATTN_OUT_A_SCALE);
    const eng_tensor *a = eng_graph_get(g, w);
    int64_t in = a ? a->ne[0] : 1, out = a ? a->ne[1] : 1, groups = n->d_k * n->n_head / in;
    o = eng_permute(g, eng_reshape(g, o, (int64_t[]){in, groups, t}, 3), swapped, 3);
    eng_value y = eng_cont(g, eng_permute(g, eng_mul_mat(g, w, o), swapped, 3));
    y = eng_reshape(g, y, (int64_t[]){out * groups, t}, 2);
    return lm_product(b, layer, LM_ATTN_OUT, scale == ENG_NO_VALUE ? y : eng_mul(g, y, scale));
}

eng_value lm_compressed_attention(lm_build *b, eng_value u, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t t = wanted ? b->n_out : b->n_tokens;
    eng_value pos = wanted ? b->out_rope_pos : b->rope_pos, lse;
    eng_value queries = lm_norm(b, lm_product(b, layer, LM_Q_A, wanted ? lm_pick(b, u) : u), layer, LM_Q_A_NORM);
    eng_value q = eng_reshape(g, lm_product(b, layer, LM_Q_B, queries), (int64_t[]){n->d_k, n->n_head, t}, 3);
    q = turned(b, eng_rms_norm(g, q, ENG_NO_VALUE, n->eps), layer, pos, false);
    eng_value k = lm_norm(b, lm_product(b, layer, LM_KV_A, u), layer, LM_KV_A_NORM);
    k = turned(b, eng_reshape(g, k, (int64_t[]){n->d_k, 1, b->n_tokens}, 3), layer, b->rope_pos, false);
    eng_attention_params a = lm_sight(b, layer, wanted);
    if (n->layer[layer].ratio)
        a.lse = &lse;
    eng_value o = lm_attend_as(b, q, k, k, layer, 0, &a);
    if (n->layer[layer].ratio)
        o = with_entries(b, o, lse, q, u, queries, layer, wanted);
    return put_out(b, turned(b, o, layer, pos, true), layer, t);
}
