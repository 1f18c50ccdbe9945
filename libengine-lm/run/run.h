/*
 * Running a model: a context (caches, states, sequences) and a pass (the compiled
 * graph for one batch size).
 */
#ifndef ENGINE_LM_RUN_H
#define ENGINE_LM_RUN_H

#include "../arch/arch.h"

#define LM_MAX_BATCH 4096
#define LM_MAX_SEQUENCES 4096
#define LM_MAX_SNAPSHOTS 256
#define LM_MAX_CELLS (1 << 28)

/* -- passes (pass.c) -------------------------------------------------------------------------------------- */

/* Places of the inputs in the one tensor that carries them. */
typedef struct lm_inputs {
    uint32_t tokens, pos, streams, seq, cells, out, src, dst, cu; /* in elements    */
    uint32_t out_pos, out_streams, out_seq; /* of the tokens wanted; of one token the same places */
    uint32_t live, live_out, no_experts; /* 0: the pass has none                    */
    uint32_t total;
} lm_inputs;

typedef struct lm_pass {
    uint32_t n_tokens, n_out;
    lm_inputs at;
    int32_t *in; /* at.total                                                      */
    eng_plan *plan;
    eng_store *io;
    eng_instance *instance;
    uint64_t batch; /* that used it last                                            */
    struct lm_pass *next;
} lm_pass;
/* The pass for n_tokens and n_out, built if need be; it stays until another batch begins. */
int lm_pass_get(eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, lm_pass **pass);
void lm_pass_destroy(lm_pass *pass);
int lm_pass_graph(eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, eng_store *io, const lm_inputs *at,
                  eng_graph **graph);
/* Batch size that n tokens are padded to: a power of two, at most the context's n_batch. */
uint32_t lm_pass_size(const eng_lm_context *c, uint32_t n);

/* -- contexts (context.c, sequence.c, decode.c) ----------------------------------------------------------- */

typedef struct lm_sequence {
    int64_t length;
    bool broken;         /* a device failed: nothing but remove is possible       */
    uint32_t n_history;  /* states that are valid: the one j tokens back is in    */
    int32_t *history;    /* row history[j] of the pools; -1: the empty state      */
} lm_sequence;

struct eng_lm_context {
    eng_lm_model *model;
    eng_lm_context_params p;
    eng_store *memory;   /* caches and pools                                      */
    eng_store *cells;    /* position and sequence of each cell                     */
    eng_queue *queue;
    int32_t layer_memory[LM_MAX_LAYERS]; /* first tensor of the layer in `memory`: K then V, or
                                            state then window                     */
    lm_pass *passes;
    lm_sequence *sequences;
    int32_t *history;    /* memory of all sequences' histories                    */
    /* cells: what the device has or is to get before the next pass */
    uint32_t cell_period, cell_periods; /* cells that there are: p.n_cells, rounded up  */
    int32_t *cell_pos, *cell_seq; /* -1: free                                      */
    uint32_t cells_used, cells_end; /* cells_end: behind the last used             */
    uint32_t cells_hint;            /* no free cell before it                      */
    uint32_t dirty_begin, dirty_end;
    /* scratch of decode */
    uint32_t *order;     /* tokens of the batch, by sequence                       */
    size_t order_room;
    int32_t *rows;       /* [n_sequences][n_snapshots]: rows that a pass writes     */
    uint32_t *counts;    /* n_sequences: tokens of the pass                        */
    /* logits of the last batch */
    float *logits;
    size_t logits_room;
    int32_t *logits_row; /* one a token of the batch: row, or -1                    */
    size_t logits_row_room;
    uint32_t n_logits_row;
    uint64_t n_batches, n_passes, n_tokens, cache_bytes, state_bytes;
    uint64_t plan_ns; /* that making plans has taken                                 */
};

int lm_sequence_check(const eng_lm_context *c, uint32_t sequence);
/* Something was not queued: when what was before it is done, nothing of ours is in use.  Keeps the failure. */
int lm_after_failure(int status, eng_fence fence);
/* One more token: takes the first free cell (false: there is none). */
bool lm_cells_take(eng_lm_context *c, uint32_t sequence, int64_t position, int32_t *cell);
void lm_cells_free(eng_lm_context *c, uint32_t sequence, int64_t from_position);
void lm_cells_dirty(eng_lm_context *c, uint32_t begin, uint32_t end);
/* Rows for the snapshots of n more tokens of a sequence: rows[0 .. min(n, snapshots)). */
void lm_rows_choose(const eng_lm_context *c, uint32_t sequence, uint32_t n, int32_t *rows);
void lm_rows_commit(eng_lm_context *c, uint32_t sequence, uint32_t n, const int32_t *rows);

#endif
