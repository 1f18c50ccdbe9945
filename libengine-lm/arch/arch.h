/* The graph of a pass, as architectures build it. */
#ifndef ENGINE_LM_ARCH_H
#define ENGINE_LM_ARCH_H

#include "../files/model.h"

/* Of tokens that choose pools of cells (pools.c). */
typedef struct lm_pools {
    eng_value last;   /* [pools, t]: the cell of the last token of each, as the token sees them */
    eng_value ahead;  /* [pools, t]: what is added to scores, by whether a pool is full   */
    eng_value number; /* [cells, t]: of each cell's                                       */
} lm_pools;

/* Of layers that see one entry for so many tokens (compressed.c). */
#define LM_MOST_RATIOS 4
typedef struct lm_entries {
    int64_t ratio;
    eng_value cseq;                /* of cells that hold no entry a sequence that nobody is of */
    eng_value pos;                 /* [t]: the positions of entries                            */
    eng_value unseen, out_unseen;  /* as the build's                                           */
} lm_entries;

struct lm_build {
    const eng_lm_model *model;
    const eng_lm_context_params *context;
    eng_store *memory;           /* of the context: caches and pools               */
    const int32_t *layer_memory; /* first tensor of each layer in it               */
    eng_graph *g;
    int64_t n_tokens, n_out;
    /* what changes from token to token */
    eng_value tokens, pos, rope_pos, seq, cells, out, src, dst, cu;
    eng_value out_pos, out_rope_pos, out_seq; /* of the tokens wanted                 */
    eng_value cpos, cseq, clast;
    /* mixtures of experts in passes that may be padded, else ENG_NO_VALUE: for the tokens that are left (all, from
     * lm_pick on those wanted) 1 + their number, 0 for padding; and one row of skipped experts */
    eng_value live, live_out, no_experts;
    /* of some models: what queries grow by (lm_layers), of all tokens and of those wanted */
    eng_value tempers, out_tempers;
    /* and what tokens see of cells in chunks */
    eng_value chunks, out_chunks;
    /* of those with an indexer what no token may see (indexer.c), and what the last layer that chooses has left: of
     * both ENG_NO_VALUE where all are seen */
    eng_value unseen, out_unseen, chosen;
    lm_pools pools, out_pools;
    lm_entries entries[LM_MOST_RATIOS];
    int n_ratios;
    /* and factors of single pairs of rope */
    eng_value unrounded;
    eng_value ngrams; /* of some models: the rows of a table that tokens take, one token's behind the other's;
                       * ENG_NO_VALUE */
    eng_value inputs; /* of some models: what each layer is given of the tokens themselves, one behind the other */
    eng_value altup[LM_MOST_ALTUP]; /* of some models: the hidden states of each token (altup.c) */
    eng_value streams, given, mixing; /* of some models: a token's, [E, n, T]; and of a block that has taken of them how much of
                                       * its result each gets, [1, n, T], and of the others, [to, from, T] (hyper.c), or
                                       * ENG_NO_VALUE: each stays (mix.c) */
    bool picked;      /* only tokens whose logits are wanted are left                   */
    eng_value states; /* of the block for drafting: the hidden states that come with the tokens */
    const eng_lm_model *target; /* of an assistant: whose embeddings tokens have    */
    bool far;         /* positions may be beyond the first chunk, however few cells there are */
    bool all_hidden;  /* the hidden states of all tokens are wanted                 */
    eng_value hidden; /* given: what the head is given                             */
};

/* The whole graph, up to the logits of the tokens wanted. */
eng_value lm_layers(lm_build *b);

/* Does a context have the factors of rope for long texts?  Its keys are then others than those of one that has not. */
bool lm_stretched(const eng_lm_model *m, const eng_lm_context_params *p);

/* Positions of a chunk, of models some of whose layers see no others; 0: there are none such. */
int64_t lm_chunk(const eng_lm_model *m);

/* Elements of a row of a cache: a head, and zeros up to whole blocks of the type. */
static inline int64_t lm_cache_row(uint32_t type, int64_t head)
{
    int64_t block = eng_type_get(type)->block;
    return (head + block - 1) / block * block;
}

/* The largest groups in which such rows can be rotated, or all rows whose lengths have the bits of this one. */
#define LM_MOST_ROTATION 4096
static inline int32_t lm_cache_rotation(int64_t row)
{
    int64_t group = row & -row;
    return (int32_t)(group < LM_MOST_ROTATION ? group : LM_MOST_ROTATION);
}

/* Of what a layer keeps: K and V first, behind them an indexer's keys and the window that pools' are made of. */
enum { LM_INDEX_KEYS = 2, LM_POOL_WINDOW };
/* Of the layer with rows of a table of n-grams: behind its state and its convolution's window that of theirs. */
enum { LM_NGRAM_WINDOW = 2 };
/* Or entries' K, V and the window that they are made of, and behind them the same of an indexer's keys. */
enum { LM_ENTRY_K = 2, LM_ENTRY_V, LM_ENTRY_WINDOW, LM_ENTRY_INDEX_KEYS, LM_ENTRY_INDEX_WINDOW };

/* The rows that the token tokens[at] takes of the table (ngrams.c). */
void lm_ngram_rows(const lm_ngrams *n, const int32_t *tokens, int64_t at, int32_t *rows);

enum { LM_SLOT_WEIGHTS = 0, LM_SLOT_MEMORY, LM_SLOT_CELLS, LM_SLOT_IO, LM_SLOT_TARGET, LM_SLOTS };
enum { LM_PARAM_CELLS = 0, LM_PARAMS };

#endif
