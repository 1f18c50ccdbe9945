/*
 * Pools of an indexer: so many tokens that follow one another are chosen together, by one key, and behind the last
 * full pool all are seen.  The key is the mean of theirs, each channel weighed by the softmax over the tokens of what
 * they and their places say; or their plain mean (Qwen4-Exp).
 *
 * Numerator and denominator of that mean are sums over as many tokens up to one of them, which a convolution with as
 * many taps gives: every token's row of the cache has such a mean, and that of a pool's last token is the pool's key.
 * Sequences have no gaps, since the convolution's window is a state, and eng_lm_sequence_drop refuses; so the last tokens of a sequence's pools, sorted
 * by their positions, are its pools in order.
 */
#include "config.h"

#include <math.h>

#include "blocks.h"

#define MOST_EXPONENT 60 /* of the softmax: sums of their exponentials fit into f32 */

/* -- numbers ------------------------------------------------------------------------------ */

/* What is chosen must be whole pools; and there are states, whatever the layers are. */
static int whole_pools(lm_loader *l, const char *key)
{
    lm_numbers *n = &l->model->n;
    n->recurrent = true;
    return n->top_cells % n->pool == 0 ? ENG_OK :
               eng_fail(ENG_ERR_FORMAT, "key %s.attention.indexer.top_k is %lld" ENG_CAUSE "it must be a multiple of"
                        " %s.attention.%s, which is %lld", l->arch_name, (long long)n->top_cells, l->arch_name, key,
                        (long long)n->pool);
}

int lm_numbers_pools(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "attention.indexer.kpool", 2, 1 << 10, &n->pool);
    lm_letter_add(l->model, 'k', NULL, n->pool);
    return status ? status : whole_pools(l, "indexer.kpool");
}

/* As many tokens as a list says for each layer, 0 for those that do not choose; in one model one number is known. */
int lm_numbers_pool_means(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    for (int i = 0; i < n->n_layers; i++) {
        int64_t pool;
        int status = lm_key_layer_integer(l, "attention.compress_ratios", i, 0, 1 << 10, &pool);
        if (status)
            return status;
        n->layer[i].chooses = n->kind[i] & LM_LAYER_ATTENTION;
        if (n->layer[i].chooses ? pool < 2 || (n->pool && pool != n->pool) : pool != 0)
            return eng_fail(ENG_ERR_UNSUPPORTED, "key %s.attention.compress_ratios has %lld for layer %d" ENG_CAUSE
                            "of %s models one number above 1 is known for all layers that attend, and 0 for the others",
                            l->arch_name, (long long)pool, i, l->arch_name);
        n->pool = n->layer[i].chooses ? pool : n->pool;
    }
    n->pool_means = true;
    return n->pool ? whole_pools(l, "compress_ratios") : ENG_OK;
}

/* -- the graph ------------------------------------------------------------------------------ */

/* The last may be one of which there is nothing yet. */
static int64_t n_pools(const lm_build *b)
{
    return lm_seen_cells(b) / b->model->n.pool + 1;
}

/* The exponentials of what tokens' places say, as taps: [pool, 2 d]. */
static eng_value taps(lm_build *b, int layer)
{
    static const int swapped[] = {1, 0};
    eng_value w = eng_cont(b->g, eng_permute(b->g, lm_weight(b, layer, LM_POOL_PLACES), swapped, 2));
    w = eng_unary(b->g, w, ENG_UNARY_EXP);
    return eng_concat(b->g, w, w, 1);
}

eng_value lm_pool_keys(lm_build *b, eng_value k, eng_value u, int layer)
{
    eng_graph *g = b->g;
    int64_t d = b->model->n.d_index;
    eng_value w = eng_clamp(g, lm_product(b, layer, LM_POOL_GATE, u), -MOST_EXPONENT, MOST_EXPONENT);
    w = eng_unary(g, w, ENG_UNARY_EXP);
    eng_value x = eng_concat(g, eng_mul(g, k, w), w, 0);
    x = eng_ssm_conv(g, x, taps(b, layer), lm_layer_memory(b, layer, LM_POOL_WINDOW), b->src, b->dst, b->cu,
                     b->context->n_snapshots);
    return eng_div(g, eng_slice(g, x, 0, 0, d), eng_slice(g, x, 0, d, d));
}

eng_value lm_pool_means(lm_build *b, eng_value k, int layer)
{
    eng_graph *g = b->g;
    int64_t pool = b->model->n.pool, d = b->model->n.d_index;
    eng_value one = eng_scale(g, lm_ones(b, pool), 1 / (double)pool, 0);
    eng_value taps = eng_repeat(g, eng_reshape(g, one, (int64_t[]){pool, 1}, 2), (int64_t[]){pool, d}, 2);
    return eng_ssm_conv(g, k, taps, lm_layer_memory(b, layer, LM_POOL_WINDOW), b->src, b->dst, b->cu,
                        b->context->n_snapshots);
}

eng_value lm_first_positions(lm_build *b, int64_t pool)
{
    eng_graph *g = b->g;
    /* 0 in all streams that are 0 */
    eng_value x = eng_scale(g, eng_cpy(g, b->rope_pos, ENG_TYPE_F32), 1, 1 - (double)pool);
    return eng_cpy(g, eng_clamp(g, x, 0, INFINITY), ENG_TYPE_I32);
}

/* Each cell's pool, and 1 where it is the pool's last token. */
static void numbered(lm_build *b, eng_value *number, eng_value *last)
{
    eng_graph *g = b->g;
    int64_t pool = b->model->n.pool, cells = lm_seen_cells(b);
    *number = eng_reshape(g, lm_times(b, b->cpos, 0, pool), (int64_t[]){cells}, 1);
    eng_value place = eng_reshape(g, eng_cpy(g, b->cpos, ENG_TYPE_F32), (int64_t[]){cells}, 1);
    place = eng_sub(g, place, eng_scale(g, *number, (double)pool, (double)pool - 1.5));
    *last = eng_unary(g, place, ENG_UNARY_STEP);
}

/* For each pool and token: 0 where it is full, more than all scores for the one that is being filled, and less for
 * those behind it. */
static eng_value ahead(lm_build *b, eng_value pos, int64_t t)
{
    eng_graph *g = b->g;
    int64_t n = n_pools(b);
    eng_value full = eng_reshape(g, lm_times(b, pos, 1, b->model->n.pool), (int64_t[]){1, t}, 2);
    eng_value x = eng_reshape(g, eng_cumsum(g, lm_ones(b, n)), (int64_t[]){n, 1}, 2);
    x = eng_sub(g, eng_repeat(g, x, (int64_t[]){n, t}, 2), full); /* 1 for the one that is being filled */
    eng_value from = eng_unary(g, eng_scale(g, x, 1, -0.5), ENG_UNARY_STEP);
    eng_value behind = eng_unary(g, eng_scale(g, x, 1, -1.5), ENG_UNARY_STEP);
    return eng_scale(g, eng_sub(g, eng_scale(g, behind, 2, 0), from), LM_UNSEEN, 0);
}

/* As tokens see them that see not the cells that unseen names: of cells the pool's last token's the pool's number, and
 * what makes it come before those behind it. */
static lm_pools seen(lm_build *b, eng_value number, eng_value order, eng_value unseen, eng_value pos, int64_t t)
{
    eng_graph *g = b->g;
    int64_t n = n_pools(b);
    number = eng_clamp(g, number, 0, (double)(n - 1));
    number = eng_repeat(g, eng_reshape(g, number, (int64_t[]){lm_seen_cells(b), 1}, 2),
                        (int64_t[]){lm_seen_cells(b), t}, 2);
    return (lm_pools){eng_top_k(g, eng_add(g, unseen, order), n), ahead(b, pos, t), eng_cpy(g, number, ENG_TYPE_I32)};
}

void lm_pools_begin(lm_build *b)
{
    eng_graph *g = b->g;
    eng_value number, last;
    numbered(b, &number, &last);
    eng_value order = eng_add(g, eng_scale(g, last, -LM_UNSEEN, LM_UNSEEN), eng_scale(g, number, -1, 0));
    b->pools = seen(b, number, order, b->unseen, b->pos, b->n_tokens);
    b->out_pools = seen(b, number, order, b->out_unseen, b->out_pos, b->n_out);
}

eng_value lm_pools_best(lm_build *b, eng_value x, const lm_pools *p, int64_t t)
{
    eng_graph *g = b->g;
    int64_t cells = lm_seen_cells(b), n = n_pools(b), top = b->model->n.top_cells / b->model->n.pool;
    x = eng_get_rows(g, eng_reshape(g, x, (int64_t[]){1, cells, t}, 3), p->last);
    x = lm_best_seen(b, eng_add(g, eng_reshape(g, x, (int64_t[]){n, t}, 2), p->ahead), top + 1, n, t);
    x = eng_get_rows(g, eng_reshape(g, x, (int64_t[]){1, n, t}, 3), p->number);
    return eng_reshape(g, x, (int64_t[]){cells, t}, 2);
}
