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
#define LM_MAX_KEPT (1 << 20) /* states                                            */

/* -- what passes give (outputs.c) --------------------------------------------------------------------------- */

/* For each token wanted, in a tensor of the pass's store. */
typedef enum lm_given { LM_GIVEN_LOGITS, LM_GIVEN_TOP, LM_GIVEN_BEST, LM_GIVEN_HIDDEN, LM_GIVENS } lm_given;
typedef struct lm_output {
    uint32_t tensor;     /* 0: the context has none                               */
    uint64_t row;        /* bytes a token                                         */
    char *data;          /* of the last batch's tokens                            */
    size_t room;
} lm_output;
void lm_outputs_choose(eng_lm_context *c);
/* The declarations of a pass's store behind its inputs; how many. */
int lm_outputs_declare(const eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, eu_arena *memory,
                       eng_store_tensor *t, uint32_t *n);
/* Stores what the graph gives. */
void lm_outputs_build(const eng_lm_context *c, lm_build *b, eng_store *io, eng_value logits);
/* Refuses a context that gives only the largest. */
int lm_outputs_all_logits(const eng_lm_context *c, const char *who);
/* Room for so many tokens in all, and so many of them wanted.  false: no memory. */
bool lm_outputs_reserve(eng_lm_context *c, uint64_t all, uint64_t wanted);
/* Reads what a pass gives, as the batch's tokens from number `first` on: of all, of those wanted. */
typedef struct lm_part { uint64_t first, n; } lm_part;
int lm_outputs_read(eng_lm_context *c, eng_store *io, const lm_part *all, const lm_part *wanted, eng_fence *fence);
void lm_outputs_destroy(eng_lm_context *c);

/* -- passes (pass.c) -------------------------------------------------------------------------------------- */

/* Places of the inputs in the one tensor that carries them. */
typedef struct lm_inputs {
    uint32_t tokens, pos, streams, seq, cells, out, src, dst, cu; /* in elements    */
    uint32_t out_pos, out_streams, out_seq; /* of the tokens wanted; of one token the same places */
    uint32_t live, live_out, no_experts; /* 0: the pass has none                    */
    uint32_t ngrams; /* the rows that tokens take of a table; 0: there is none      */
    uint32_t total;
} lm_inputs;

/* A product with weights, and what it is given: values of the graph (collect.c). */
typedef struct lm_collected {
    eng_value x, ids;    /* ids: of a mixture of experts, else ENG_NO_VALUE       */
    int64_t ne[4], used; /* of x; experts of a token                              */
    char *name;          /* of the file's tensor                                  */
    int64_t first, sets; /* number of its first expert; how many there are        */
} lm_collected;

typedef struct lm_pass {
    uint32_t n_tokens, n_out;
    lm_inputs at;
    int32_t *in; /* at.total                                                      */
    float *states; /* of the block for drafting: [n_tokens][d_hidden]               */
    eng_plan *plan;
    eng_store *io;
    eng_instance *instance;
    lm_collected *collected; /* for hosts that want to know                         */
    size_t collected_room;
    uint32_t n_collected;
    uint64_t batch; /* that used it last                                            */
    struct lm_pass *next;
} lm_pass;
/* The pass for n_tokens and n_out, built if need be; it stays until another batch begins. */
int lm_pass_get(eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, lm_pass **pass);
void lm_pass_destroy(lm_pass *pass);
/* All of them: others are built when they are needed. */
void lm_passes_drop(eng_lm_context *c);
int lm_pass_graph(eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, eng_store *io, const lm_inputs *at,
                  eng_graph **graph);
/* How many tokens a pass takes without padding. */
uint32_t lm_pass_few(const eng_lm_model *m);
/* Batch size that n tokens are padded to: a power of two, or itself if they are few, at most the context's n_batch. */
uint32_t lm_pass_size(const eng_lm_context *c, uint32_t n);

/* -- contexts (context.c, decode.c), sequences (sequence.c) --------------------------------------------------- */

typedef struct lm_sequence {
    int64_t length;
    int64_t whole;       /* tokens before the first that were cut out, and states that have seen no such (INT64_MAX: none
                            were cut out)                                         */
    int64_t prompt;      /* as many tokens make a prompt, at whose end a state is kept; 0 */
    bool broken;         /* a device failed: nothing but remove is possible       */
    int32_t rank;        /* its number for devices (cells.c)                      */
    int32_t *tokens, *cells; /* its tokens and those that a pass is running, and their cells */
    uint32_t n_cells;
    size_t tokens_room, cells_room;
    uint32_t batch_begin, batch_end; /* its tokens of the last batch, in the order     */
} lm_sequence;

typedef struct lm_rows {
    uint32_t n_rows, n_sequences, slots;
    uint32_t *holders;   /* of each row: histories that it is in, and passes that are to write it */
    int32_t *free;
    uint32_t n_free;
    int32_t *history;    /* [n_sequences][slots]                                  */
    uint32_t *n_history; /* n_sequences                                           */
} lm_rows;

/* Beginnings of texts that stay when no sequence holds them (kept.c). */
typedef struct lm_kept_node lm_kept_node;
typedef struct lm_kept {
    uint64_t budget;     /* bytes; 0: nothing is kept                              */
    uint64_t cell_bytes, row_bytes;
    uint32_t stride;     /* tokens between states                                  */
    uint32_t most_rows, n_rows;
    lm_kept_node *first; /* texts begin with one of these                          */
    const lm_kept_node *spared; /* is given up for nothing, since a text is about to begin with it; or NULL */
    uint64_t clock;
    uint64_t found, found_tokens, given_up;
} lm_kept;

struct eng_lm_context {
    eng_lm_model *model;
    eng_lm_context_params p;
    eng_store *memory;   /* caches and pools                                      */
    eng_store *cells;    /* position and sequence of each cell                     */
    eng_queue *queue;
    struct eng_lm_context *lender; /* of an assistant: whose memory and cells it reads; NULL: they are its own */
    int32_t layer_memory[LM_MAX_LAYERS]; /* first tensor of the layer in `memory`: K, V, state,
                                            window, of these what it has          */
    lm_pass *passes;
    uint32_t few;        /* tokens that are run without padding                   */
    bool far;            /* tokens were dropped, so that positions may be beyond a chunk that all cells are within */
    lm_sequence *sequences;
    lm_kept kept;
    lm_rows rows, trial; /* trial: what the rows will be after passes that are being planned */
    /* cells: what the device has or is to get before the next pass */
    uint32_t cell_period, cell_periods; /* cells that there are: p.n_cells, rounded up  */
    int32_t *cell_pos;   /* -1: free                                              */
    int32_t *cell_first, *cell_last; /* ranks of the sequences that it belongs to; -1: no sequence's */
    uint32_t *cell_holders;          /* how many they are                          */
    uint32_t cells_used, cells_kept; /* used: by sequences or kept; kept: by nobody else */
    uint32_t cells_end;             /* behind the last used                        */
    uint32_t cells_hint;            /* no free cell before it                      */
    uint32_t dirty_begin, dirty_end;
    /* scratch of decode */
    uint32_t *order;     /* tokens of the batch, by sequence                       */
    int64_t *order_at;   /* as which token of its sequence each of them will be    */
    size_t order_room, order_at_room;
    int32_t *chosen;     /* [n_sequences][n_snapshots]: rows that a pass writes     */
    uint32_t *counts;    /* n_sequences: tokens of the pass                        */
    lm_output given[LM_GIVENS]; /* of the last batch                              */
    int32_t *logits_row; /* one a token of the batch: row, or -1                    */
    size_t logits_row_room;
    int32_t *place;      /* one a token of the batch: where it is in the order      */
    size_t place_room;
    const float *states; /* of the block for drafting: of the batch's tokens        */
    uint32_t n_logits_row;
    uint64_t n_batches, n_passes, n_tokens, n_dropped, cache_bytes, state_bytes;
    int (*stop)(void *user); /* asked before each pass                             */
    void *stop_user;
    uint64_t plan_ns; /* that making plans has taken                                 */
    eng_lm_collect_func collect; /* is told what products are given; NULL: nobody is  */
    void *collect_user;
    const lm_pass *keeping; /* of which a graph is being built that keeps what it collects; NULL: it keeps nothing */
    float *collected_rows;
    int32_t *collected_ids;
    size_t collected_rows_room, collected_ids_room;
};

/* -- what products are given (collect.c) ----------------------------------------------------------------- */

/* The products of a pass' graph; the graph keeps what they are given; a run has been of n tokens. */
int lm_collect_look(eng_lm_context *c, lm_pass *p, const eng_graph *graph);
void lm_collect_keep(const lm_pass *p, eng_graph *g);
int lm_collect(eng_lm_context *c, lm_pass *p, uint32_t n, uint32_t wanted);
void lm_collect_free(lm_pass *p);

/* Of an assistant, that reads what `first` holds (borrow.c), and its pass: a token, where it is and of which rank's
 * sequence, and the state that comes with it.  Logits and hidden state are those of index 0. */
int lm_context_borrow(eng_lm_model *model, eng_lm_context *first, eng_lm_context **context);
int lm_context_ask(eng_lm_context *c, int32_t token, int32_t pos, int32_t rank, const float *state);
/* Runs a pass whose inputs are filled, and reads what it gives. */
int lm_pass_run(eng_lm_context *c, lm_pass *p, const lm_part *all, const lm_part *wanted);

/* eng_lm_decode for the block for drafting: states[n_tokens][n_embd]. */
int lm_decode_states(eng_lm_context *c, const eng_lm_batch *batch, const float *states);
/* Of the last batch, the hidden state of the token at a place of the order; NULL: none. */
const float *lm_hidden_at(const eng_lm_context *c, uint32_t place);
int lm_sequence_check(const eng_lm_context *c, uint32_t sequence);
/* Something was not queued: when what was before it is done, nothing of ours is in use.  Keeps the failure. */
int lm_after_failure(int status, eng_fence fence);
/* Nothing of it is kept. */
void lm_sequence_empty(eng_lm_context *c, uint32_t sequence);
/* Without tokens first .. first + n - 1, which are before its last and from lm_sequence_first_alone on. */
void lm_sequence_cut(eng_lm_context *c, uint32_t sequence, int64_t first, int64_t n);
/* Where a full context cuts, if the host wants it to: behind what is to stay, and what is shared; and how much at
 * most. */
int64_t lm_sequence_first_dropped(const eng_lm_context *c, uint32_t sequence);
int64_t lm_sequence_droppable(const eng_lm_context *c, uint32_t sequence);
/* Its tokens from there on are nobody else's. */
int64_t lm_sequence_first_alone(const eng_lm_context *c, const lm_sequence *s);
/* `to` holds what `from` does. */
int lm_sequence_share(eng_lm_context *c, uint32_t from, uint32_t to);
/* Room for n tokens.  false: no memory. */
bool lm_sequence_reserve(lm_sequence *s, size_t n);

/* -- cells (cells.c) -------------------------------------------------------------------------------------- */

/* Cells that no sequence has: some may be kept (kept.c), and are given up when they are needed. */
uint32_t lm_cells_free(const eng_lm_context *c);
/* The position of the sequence's next token: behind that of its last one. */
int32_t lm_cells_next(const eng_lm_context *c, const lm_sequence *s);
/* One more token, for which there is room: takes the first free cell (false: there is none). */
bool lm_cells_take(eng_lm_context *c, uint32_t sequence, int32_t *cell);
/* The sequence gives up its cells from number `from` on. */
void lm_cells_leave(eng_lm_context *c, uint32_t sequence, uint32_t from);
/* A sequence without cells, that has room for them, shares these n: the first ones of another. */
void lm_cells_join(eng_lm_context *c, uint32_t sequence, const int32_t *cells, uint32_t n);
/* It has tokens first .. first + n - 1 no more, whose cells and those behind nobody shares. */
void lm_cells_cut(eng_lm_context *c, uint32_t sequence, uint32_t first, uint32_t n);
/* A sequence's cells are at these positions (NULL: without gaps), of each its own or, if `which` is given, number
 * which[i] of them; the first gap ends what is a text's beginning. */
void lm_cells_place(eng_lm_context *c, lm_sequence *s, const int32_t *positions, const int32_t *which);
/* Of a cell that some sequence has: is it one alone? */
bool lm_cells_alone(const eng_lm_context *c, int32_t cell);
/* A holder that is no sequence, and that it holds no more. */
void lm_cells_hold(eng_lm_context *c, int32_t cell);
void lm_cells_release(eng_lm_context *c, int32_t cell);
void lm_cells_dirty(eng_lm_context *c, uint32_t begin, uint32_t end);

/* -- beginnings kept (kept.c) ------------------------------------------------------------------------------ */

/* The longest beginning of n tokens that is kept, with the states behind it if the model has any. */
typedef struct lm_kept_found {
    lm_kept_node *node; /* in which it ends                                        */
    int64_t n;
} lm_kept_found;
lm_kept_found lm_kept_find(const eng_lm_context *c, const int32_t *tokens, int64_t n);
/* Its cells [found->n]; the row of the states, or -1. */
int32_t lm_kept_take(eng_lm_context *c, const lm_kept_found *found, int32_t *cells);
/* Of device memory, that nobody else holds. */
uint64_t lm_kept_bytes(const eng_lm_context *c);
/* With a budget: keeps the first n tokens of a sequence, if it holds the states behind them. */
void lm_kept_add(eng_lm_context *c, uint32_t sequence, int64_t n);
/* How many of n tokens, which will be a sequence's from number `at` on, one pass may run such that the next state to be
 * kept is there afterwards. */
uint32_t lm_kept_part(const eng_lm_context *c, uint32_t sequence, int64_t at, uint32_t n);
/* A sequence has had `before` tokens and now has more. */
void lm_kept_passed(eng_lm_context *c, uint32_t sequence, int64_t before);
/* Gives up cells until n are free, of lm_cells_free; and what is beyond the budget. */
void lm_kept_make_room(eng_lm_context *c, uint32_t n);
void lm_kept_trim(eng_lm_context *c);
/* Forgets what goes on behind token number n of a sequence's. */
void lm_kept_cut(eng_lm_context *c, uint32_t sequence, int64_t n);
void lm_kept_clear(eng_lm_context *c);

/* -- rows of recurrent pools (rows.c) ------------------------------------------------------------------------ */

/* more: rows beyond those that the sequences need. */
int lm_rows_create(lm_rows *r, uint32_t n_sequences, uint32_t slots, uint32_t more);
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
/* A free row, which the caller holds; -1: there is none. */
int32_t lm_rows_take(lm_rows *r);
/* A sequence holds these rows, the newest first, -1 the empty state, in place of what it held. */
void lm_rows_set(lm_rows *r, uint32_t sequence, const int32_t *rows, uint32_t n);
/* The n newest states remain, or fewer. */
void lm_rows_cut(lm_rows *r, uint32_t sequence, int64_t n);
void lm_rows_clear(lm_rows *r, uint32_t sequence);
/* A holder that is no sequence, and that it holds no more; row -1: nothing. */
void lm_rows_hold(lm_rows *r, int32_t row);
void lm_rows_release(lm_rows *r, int32_t row);

#endif
