/*
 * The indexer of sparse attention (DeepSeek-AI, DeepSeek-V3.2, arXiv:2512.02556, section 2.1): a few small heads of
 * its own, with a cache of their one key a token, tell which cells a token's attention sees.  A cell's score is the
 * sum over heads of their weight times what of the product of query and key is positive; factors that are positive
 * and the same for all cells change no choice and are left out.
 *
 * Seen are all cells that are as good as the last one chosen: which of equal ones a sort would take depends on where
 * tokens lie, and what a token sees should not.
 */
#include "config.h"

#include <stdio.h>

#include "blocks.h"

#define MOST_SCORES (1 << 26) /* products of queries and keys at a time                 */

/* -- numbers ------------------------------------------------------------------------------ */

/* Which layers choose: the file says so, or has what they need for it. */
static int choosers(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    bool listed = l->model->arch->index_shared && lm_key_is(l, "attention.indexer.types");
    int status = ENG_OK, first = -1;
    for (int i = 0; i <= n->n_layers && !status; i++) { /* the one behind them all is for drafting */
        int64_t chooses = 1;
        char name[64];
        snprintf(name, sizeof name, "blk.%d.indexer.attn_k.weight", i);
        if (i < n->n_layers && listed)
            status = lm_key_layer_integer(l, "attention.indexer.types", i, 0, 1, &chooses);
        else if (i < n->n_layers && l->model->arch->index_shared)
            chooses = eng_gguf_tensor_find(l->gguf, name) != NULL;
        n->layer[i].chooses = chooses && (i == n->n_layers || n->kind[i] & LM_LAYER_ATTENTION);
        first = first < 0 && i < n->n_layers && n->kind[i] & LM_LAYER_ATTENTION ? i : first;
    }
    if (!status && first >= 0 && !n->layer[first].chooses)
        return eng_fail(ENG_ERR_FORMAT,
                        "layer %d has no indexer" ENG_CAUSE "no layer before it chooses what it would see", first);
    return status;
}

int lm_numbers_indexer(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int64_t queries;
    bool latent = m->arch->latent;
    int status = latent ? lm_key_integer(l, "attention.q_lora_rank", 1, LM_MAX_EXTENT, &queries) : ENG_OK;
    if (!status)
        status = lm_key_integer(l, "attention.indexer.top_k", 1, INT32_MAX, &n->top_cells);
    if (!status)
        status = lm_key_integer(l, "attention.indexer.head_count", 1, LM_MAX_EXTENT, &n->index_heads);
    if (!status)
        status = lm_key_integer(l, "attention.indexer.key_length", n->rope.n_dims, LM_MAX_EXTENT, &n->d_index);
    if (!status)
        status = latent ? choosers(l) : lm_numbers_pool_means(l);
    if (!status && l->model->arch->reads & LM_READS_POOLS)
        status = lm_numbers_pools(l);
    lm_letter_add(m, 'i', NULL, n->index_heads);
    lm_letter_add(m, 'j', NULL, n->d_index);
    return status;
}

/* -- the graph ------------------------------------------------------------------------------ */

/* 1 where a is more than b: cells before tokens, or tokens before cells. */
static eng_value more_than(lm_build *b, eng_value a, eng_value other)
{
    return eng_unary(b->g, eng_sub(b->g, a, other), ENG_UNARY_STEP);
}

static eng_value cells_of(lm_build *b, eng_value x, int64_t t)
{
    eng_value row = eng_reshape(b->g, eng_cpy(b->g, x, ENG_TYPE_F32), (int64_t[]){lm_seen_cells(b), 1}, 2);
    return eng_repeat(b->g, row, (int64_t[]){lm_seen_cells(b), t}, 2);
}

static eng_value tokens_of(lm_build *b, eng_value x, int64_t t)
{
    return eng_reshape(b->g, eng_cpy(b->g, x, ENG_TYPE_F32), (int64_t[]){1, t}, 2);
}

/* [cells, t]: 0 for what a token may see, else far below all scores. */
eng_value lm_unseen(lm_build *b, eng_value cseq, bool wanted)
{
    eng_graph *g = b->g;
    eng_value pos = wanted ? b->out_pos : b->pos, seq = wanted ? b->out_seq : b->seq;
    int64_t t = wanted ? b->n_out : b->n_tokens;
    eng_value own = tokens_of(b, seq, t), last = b->clast != ENG_NO_VALUE ? b->clast : cseq;
    eng_value x = more_than(b, cells_of(b, b->cpos, t), tokens_of(b, pos, t));
    x = eng_add(g, x, more_than(b, cells_of(b, cseq, t), own));
    eng_value before = eng_sub(g, cells_of(b, last, t), own);
    x = eng_add(g, x, eng_unary(g, eng_scale(g, before, -1, 0), ENG_UNARY_STEP));
    return eng_scale(g, x, LM_UNSEEN, 0);
}

void lm_indexer_begin(lm_build *b)
{
    b->chosen = b->unseen = b->out_unseen = ENG_NO_VALUE;
    if (b->model->n.top_cells == 0 || lm_seen_cells(b) <= b->model->n.top_cells)
        return; /* all are seen */
    b->unseen = lm_unseen(b, b->cseq, false);
    b->out_unseen = lm_unseen(b, b->cseq, true);
    if (b->model->n.pool)
        lm_pools_begin(b);
}

/* Heads as their cache has them: turned by positions, and rotated as K is. */
static eng_value ready(lm_build *b, eng_value x, int64_t heads, int64_t t, int layer, eng_value pos)
{
    const lm_numbers *n = &b->model->n;
    uint32_t type = b->context->type_k;
    eng_rope_params r = n->rope;
    r.mode = n->rope_streams ? r.mode : b->model->arch->index_rope;
    r.offset = r.offset ? n->d_index - r.n_dims : 0;
    x = eng_reshape(b->g, x, (int64_t[]){n->d_index, heads, t}, 3);
    if (n->layer[layer].rotated)
        x = eng_rope(b->g, x, pos, ENG_NO_VALUE, &r);
    x = lm_cache_widen(b, x, n->d_index, type);
    return b->context->rotate_k > 1 ? eng_hadamard(b->g, x, lm_cache_rotation(lm_cache_row(type, n->d_index))) : x;
}

/* Of tokens first .. first + t - 1: q[row, heads, tokens], w[heads, tokens], or all heads count as much. */
static eng_value part_scores(lm_build *b, eng_value q, eng_value w, eng_value keys, int64_t first, int64_t t)
{
    eng_graph *g = b->g;
    int64_t heads = b->model->n.index_heads, cells = lm_seen_cells(b),
            row = lm_cache_row(b->context->type_k, b->model->n.d_index);
    q = eng_reshape(g, eng_cont(g, eng_slice(g, q, 2, first, t)), (int64_t[]){row, heads * t}, 2);
    eng_value x = eng_reshape(g, eng_mul_mat(g, keys, q), (int64_t[]){cells, heads, t}, 3);
    x = eng_unary(g, x, ENG_UNARY_RELU);
    if (w != ENG_NO_VALUE)
        x = eng_mul(g, x, eng_reshape(g, eng_cont(g, eng_slice(g, w, 1, first, t)), (int64_t[]){1, heads, t}, 3));
    x = lm_sum_second(b, x, heads);
    return eng_reshape(g, eng_cont(g, x), (int64_t[]){cells, t}, 2);
}

/* The same, some tokens after the others: what there is at a time stays within bounds. */
static eng_value scores(lm_build *b, eng_value q, eng_value w, eng_value keys, int64_t first, int64_t t)
{
    int64_t half = t / 2;
    if (t == 1 || lm_seen_cells(b) * b->model->n.index_heads * t <= MOST_SCORES)
        return part_scores(b, q, w, keys, first, t);
    eng_value before = scores(b, q, w, keys, first, half);
    return eng_concat(b->g, before, scores(b, q, w, keys, first + half, t - half), 1);
}

/* Of all cells, whoever may see them. */
static eng_value all_scores(lm_build *b, eng_value cache, eng_value u, eng_value queries, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    int64_t t = wanted ? b->n_out : b->n_tokens, row = lm_cache_row(b->context->type_k, n->d_index);
    eng_value q = lm_product(b, layer, LM_INDEX_Q, queries), w = ENG_NO_VALUE;
    if (lm_weight(b, layer, LM_INDEX_Q_NORM) != ENG_NO_VALUE)
        q = lm_norm(b, eng_reshape(b->g, q, (int64_t[]){n->d_index, n->index_heads, t}, 3), layer, LM_INDEX_Q_NORM);
    q = ready(b, q, n->index_heads, t, layer, wanted ? b->out_rope_pos : b->rope_pos);
    if (lm_weight(b, layer, LM_INDEX_WEIGHTS) != ENG_NO_VALUE)
        w = lm_product(b, layer, LM_INDEX_WEIGHTS, wanted ? lm_pick(b, u) : u);
    return scores(b, q, w, eng_reshape(b->g, cache, (int64_t[]){row, lm_seen_cells(b)}, 2), 0, t);
}

/* Of tokens, or of pools that end with them. */
static eng_value keys(lm_build *b, eng_value u, int layer)
{
    const lm_numbers *n = &b->model->n;
    eng_value k = lm_product(b, layer, LM_INDEX_K, u);
    if (n->pool_means) {
        k = lm_norm(b, lm_pool_means(b, k, layer), layer, LM_INDEX_K_NORM);
        return ready(b, k, 1, b->n_tokens, layer, lm_first_positions(b, n->pool));
    }
    k = eng_norm(b->g, k, lm_weight(b, layer, LM_INDEX_K_NORM), lm_weight(b, layer, LM_INDEX_K_NORM_BIAS), 1e-6);
    k = n->pool ? lm_pool_keys(b, k, u, layer) : k;
    return ready(b, k, 1, b->n_tokens, layer, b->rope_pos);
}

void lm_choose(lm_build *b, eng_value u, eng_value queries, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t t = wanted ? b->n_out : b->n_tokens;
    if (!n->layer[layer].chooses) {
        b->chosen = wanted && b->chosen != ENG_NO_VALUE ? lm_pick(b, b->chosen) : b->chosen;
        return;
    }
    eng_value cache = lm_layer_memory(b, layer, LM_INDEX_KEYS);
    lm_cache_keep(b, cache, keys(b, u, layer));
    if (b->unseen == ENG_NO_VALUE)
        return;
    eng_value x = all_scores(b, cache, u, queries, layer, wanted);
    b->chosen = n->pool ? lm_pools_best(b, x, wanted ? &b->out_pools : &b->pools, t) :
                          lm_best_seen(b, eng_add(g, x, wanted ? b->out_unseen : b->unseen), n->top_cells,
                                       lm_seen_cells(b), t);
    eng_graph_name(g, b->chosen, "chosen.%d", layer);
}

eng_value lm_choose_entries(lm_build *b, const lm_entries *e, eng_value k, eng_value u, eng_value queries, int layer,
                            bool wanted)
{
    eng_value cache = lm_layer_memory(b, layer, LM_ENTRY_INDEX_KEYS);
    lm_cache_keep(b, cache, ready(b, k, 1, b->n_tokens, layer, e->pos));
    if (e->unseen == ENG_NO_VALUE)
        return ENG_NO_VALUE;
    eng_value x = all_scores(b, cache, u, queries, layer, wanted);
    x = lm_best_seen(b, eng_add(b->g, x, wanted ? e->out_unseen : e->unseen), b->model->n.top_entries, lm_seen_cells(b),
                     wanted ? b->n_out : b->n_tokens);
    eng_graph_name(b->g, x, "chosen.%d", layer);
    return x;
}
