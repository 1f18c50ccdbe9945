/*
 * The block for drafting (MTP): a layer that is given a token and the state that the head was given for the token
 * before it, and from both makes the state of the next (Gloeckle et al. 2024, arXiv:2404.19737; DeepSeek-V3,
 * arXiv:2412.19437, 2.2).  It has a cache of its own, so it is run as a model of its own, of one layer, that shares the
 * store.
 */
#include "config.h"

#include "blocks.h"

/* The model's embeddings, norm and head, or the block's own. */
static void choose_ends(int32_t top[LM_MAX_ROLES], const int32_t block[LM_MAX_ROLES])
{
    if (block[LM_DRAFT_OUT] >= 0) {
        top[LM_OUT] = block[LM_DRAFT_OUT];
        top[LM_OUT_BIAS] = top[LM_OUT_SCALE] = -1;
    } else if (top[LM_OUT] < 0) {
        top[LM_OUT] = top[LM_EMBD];
    }
    if (block[LM_DRAFT_EMBD] >= 0)
        top[LM_EMBD] = block[LM_DRAFT_EMBD];
    if (block[LM_DRAFT_OUT_NORM] >= 0)
        top[LM_OUT_NORM] = block[LM_DRAFT_OUT_NORM];
}

int lm_block_model(eng_lm_model *m)
{
    const lm_numbers *n = &m->n;
    eng_lm_model *block = lm_alloc(&m->memory, 1, sizeof *block);
    int32_t(*weights)[LM_MAX_ROLES] = lm_alloc(&m->memory, 2, sizeof *weights);
    uint64_t *bytes = lm_alloc(&m->memory, 3, sizeof *bytes);
    if (!block || !weights || !bytes)
        return ENG_ERR_NOMEM;
    *block = *m;
    block->memory = (eu_arena){0};
    memcpy(weights[0], m->weights[0], sizeof *weights);
    memcpy(weights[1], m->weights[n->n_layers + 1], sizeof *weights);
    choose_ends(weights[0], weights[1]);
    block->weights = weights;
    bytes[0] = 0; /* it is where the head is */
    for (int i = 0; i < n->n_layers + 1; i++)
        bytes[0] += m->layer_bytes[i];
    bytes[1] = 0;
    bytes[2] = m->layer_bytes[n->n_layers + 1];
    block->layer_bytes = bytes;
    block->n.n_layers = block->n.n_layers_file = 1;
    block->n.n_drafting = 0;
    block->n.kind[0] = LM_LAYER_ATTENTION;
    block->n.layer[0] = n->layer[n->n_layers];
    block->n.layer[0].owner = block->n.last_kept = 0;
    block->n.recurrent = false;
    block->n.attention = true;
    block->drafts = true;
    m->block = block;
    return ENG_OK;
}

eng_value lm_draft_input(lm_build *b, eng_value tokens)
{
    if (b->target)
        return lm_product(b, LM_LAYER_TOP, LM_DRAFT_IN, eng_concat(b->g, tokens, b->states, 0));
    eng_value pair = eng_concat(b->g, lm_norm(b, tokens, 0, LM_DRAFT_TOKEN_NORM),
                                lm_norm(b, b->states, 0, LM_DRAFT_STATE_NORM), 0);
    return lm_product(b, 0, LM_DRAFT_IN, pair);
}
