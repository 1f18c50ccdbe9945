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

/* -- contexts (context.c, decode.c), sequences (sequence.c) --------------------------------------------------- */

typedef struct lm_sequence {
    int64_t length;
    bool broken;         /* a device failed: nothing but remove is possible       */
    int32_t rank;        /* its number for devices (cells.c)                      */
    int32_t *tokens, *cells; /* its tokens and those that a pass is running, and their cells */
    uint32_t n_cells;
    size_t tokens_room, cells_room;
} lm_sequence;

typedef struct lm_rows {
    uint32_t n_rows, n_sequences, slots;
    uint32_t *holders;   /* of each row: histories that it is in, and passes that are to write it */
    int32_t *free;
    uint32_t n_free;
    int32_t *history;    /* [n_sequences][slots]                                  */
    uint32_t *n_history; /* n_sequences                                           */
} lm_rows;

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
    lm_rows rows, trial; /* trial: what the rows will be after passes that are being planned */
    /* cells: what the device has or is to get before the next pass */
    uint32_t cell_period, cell_periods; /* cells that there are: p.n_cells, rounded up  */
    int32_t *cell_pos;   /* -1: free                                              */
    int32_t *cell_first, *cell_last; /* ranks of the sequences that it belongs to; -1: no sequence's */
    uint32_t *cell_holders;          /* how many they are                          */
    uint32_t cells_used, cells_end; /* cells_end: behind the last used             */
    uint32_t cells_hint;            /* no free cell before it                      */
    uint32_t dirty_begin, dirty_end;
    /* scratch of decode */
    uint32_t *order;     /* tokens of the batch, by sequence                       */
    size_t order_room;
    int32_t *chosen;     /* [n_sequences][n_snapshots]: rows that a pass writes     */
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
/* Room for n tokens.  false: no memory. */
bool lm_sequence_reserve(lm_sequence *s, size_t n);

/* -- cells (cells.c) -------------------------------------------------------------------------------------- */

/* One more token, for which there is room: takes the first free cell (false: there is none). */
bool lm_cells_take(eng_lm_context *c, uint32_t sequence, int64_t position, int32_t *cell);
/* The sequence gives up its cells from number `from` on. */
void lm_cells_leave(eng_lm_context *c, uint32_t sequence, uint32_t from);
/* A sequence without cells, that has room for them, shares these n: the first ones of another. */
void lm_cells_join(eng_lm_context *c, uint32_t sequence, const int32_t *cells, uint32_t n);
void lm_cells_dirty(eng_lm_context *c, uint32_t begin, uint32_t end);

/* -- rows of recurrent pools (rows.c) ------------------------------------------------------------------------ */

int lm_rows_create(lm_rows *r, uint32_t n_sequences, uint32_t slots);
void lm_rows_destroy(lm_rows *r);
/* Of as many sequences and slots. */
void lm_rows_copy(lm_rows *to, const lm_rows *from);
const int32_t *lm_rows_history(const lm_rows *r, uint32_t sequence);
/* Rows for the states of n more tokens: rows[0 .. min(n, slots)).  They are the pass's until commit or cancel.  false:
 * too few are free, since sequences that part in this pass need rows of their own, while the shared ones are read. */
bool lm_rows_choose(lm_rows *r, uint32_t sequence, uint32_t n, int32_t *rows);
void lm_rows_commit(lm_rows *r, uint32_t sequence, uint32_t n, const int32_t *rows);
void lm_rows_cancel(lm_rows *r, uint32_t n, const int32_t *rows);
void lm_rows_share(lm_rows *r, uint32_t from, uint32_t to);
void lm_rows_rollback(lm_rows *r, uint32_t sequence, uint32_t n);
/* A sequence without states has these, the newest first, which were chosen; from_start: the empty state is next. */
void lm_rows_restore(lm_rows *r, uint32_t sequence, const int32_t *rows, uint32_t n, bool from_start);
void lm_rows_clear(lm_rows *r, uint32_t sequence);

#endif
