/*
 * engine/lm.h - language models over libengine (libengine-lm).
 *
 * One path: open a GGUF file as a model on a device (weights are declared with
 * their axes, placed and uploaded); create a context (K/V caches, recurrent
 * states, sequences); turn text into tokens; decode batches of tokens; look at
 * the logits and choose with a sampler.
 *
 * Errors are libengine's: eng_status, and eng_last_error() for the text.
 *
 * Ownership.  What *_open and *_create return belongs to the caller; the
 * matching *_close and *_destroy take NULL.  A model uses the engine context and
 * the device it was opened on, a context uses its model: end contexts first,
 * then models, then devices.
 *
 * Sizes.  Every struct begins with its size, which the caller sets: it may be
 * shorter or longer than this library's.  What is missing keeps its default;
 * what is given back fills the part that both know, zeros the rest, and sets
 * size to what was filled.
 *
 * Threads.  A model may be used from any thread at once.  A context and a
 * sampler belong to one thread at a time; contexts of one model may run at once.
 */
#ifndef ENGINE_LM_H
#define ENGINE_LM_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eng_lm_model eng_lm_model;
typedef struct eng_lm_context eng_lm_context;
typedef struct eng_lm_sampler eng_lm_sampler;
typedef struct eng_lm_stream eng_lm_stream;

/* Says how far a long piece of work has come (0 .. 1).  Returning not 0 stops
 * it: the call then fails with ENG_ERR_STATE. */
typedef int (*eng_lm_progress)(void *user, double fraction);

/* -- placement --------------------------------------------------------------- */

/* How a model spreads over a device that is composed of several. */
enum {
    ENG_LM_SPLIT_TENSOR = 0, /* every tensor is cut: all devices work on every token */
    ENG_LM_SPLIT_LAYER = 1   /* whole layers, by bytes in proportion to the shares    */
};

/* How the experts of a mixture spread in a tensor split. */
enum {
    ENG_LM_EXPERTS_FFN = 0,     /* every expert is cut along its width: balanced whatever the router chooses */
    ENG_LM_EXPERTS_PARALLEL = 1 /* whole experts are dealt out                                               */
};

/* Keeps tensors elsewhere: `pattern` is a Perl-compatible regular expression (PCRE2) that
 * is looked for in names of weights ("blk.3.ffn_up.weight"), single experts of a stack
 * ("blk.3.ffn_up_exps.7.weight" is number 7 of "blk.3.ffn_up_exps.weight"), caches
 * ("cache_k.3", "cache_v.3", an indexer's "cache_i.3"), recurrent states ("state.0") and convolution windows
 * ("conv.0").  The first pattern that is found decides; one that is found in no name of
 * the model is refused, unless it is for memory of a kind of layer that the model has none
 * of, and so is one that decides nothing because earlier ones do, or
 * takes too long (ENG_CODE_PATTERN_SYNTAX).  Needs a device that composes. */
typedef struct eng_lm_override {
    const char *pattern;
    const char *device;
} eng_lm_override;

typedef struct eng_lm_placement {
    uint32_t size;
    uint32_t split; /* ENG_LM_SPLIT_*                                           */
    const eng_lm_override *overrides;
    uint32_t n_overrides;
    uint32_t experts; /* ENG_LM_EXPERTS_*                                       */
} eng_lm_placement;

/* -- models ------------------------------------------------------------------- */

typedef struct eng_lm_model_params {
    uint32_t size;
    uint32_t needs_text; /* not 0: a file whose tokenizer is not known, or that has none, is
                            refused before anything is uploaded; 0: it opens, for tokens alone */
    eng_lm_placement placement;
    eng_lm_progress progress; /* of the upload; may be NULL                     */
    void *progress_user;
    uint32_t flags;           /* ENG_LM_*                                         */
    uint32_t layout;          /* eng_layout of the weights of products            */
} eng_lm_model_params;
enum {
    ENG_LM_COPY = 1, /* copy the weights: the file is closed when eng_lm_model_open returns.  Else
                       devices that share the host's memory use them in the mapped file, which must
                       be neither written nor truncated while the model is open; a file that
                       is replaced (renamed over) does no harm                     */
    ENG_LM_DRAFTS = 2 /* load the block that drafts tokens, too (ENG_LM_DRAFT_BLOCK); ENG_ERR_UNSUPPORTED if the file
                         has none, or the architecture's is not known              */
};
/* Layout auto, used in place, tensor split, no overrides, no progress. */
ENG_API void eng_lm_model_defaults(eng_lm_model_params *params);

/* Opens a GGUF file on a device of `engine` and loads its weights.  params may be
 * NULL.  ENG_ERR_UNSUPPORTED for an architecture that is not known,
 * ENG_ERR_FORMAT for a file whose tensors or keys are not what they should be.
 * Tensors of f64, i8 and i16, which no op reads, are made f32 in the host's memory (of a double the nearest number; the
 * others are exact), where they stay as long as the file would; types that hold no weights are refused with the
 * tensor's name. */
ENG_API int eng_lm_model_open(eng_context *engine, eng_device *device, const char *path,
                              const eng_lm_model_params *params, eng_lm_model **model);
ENG_API void eng_lm_model_close(eng_lm_model *model);
/* What of the file nobody read, number `index`: a key of its architecture, or blocks that are not run; NULL past the
 * last.  A key of consequence is refused, so what is left should say nothing; where a text looks wrong, look here.
 * Since 3.1. */
ENG_API const char *eng_lm_model_unread(const eng_lm_model *model, uint32_t index);
/* Name of architecture number `index`; NULL past the last. */
ENG_API const char *eng_lm_architecture(uint32_t index);

typedef struct eng_lm_model_info {
    uint32_t size;
    uint32_t n_layers;      /* layers that are run                              */
    uint32_t n_layers_file; /* blocks in the file: with those for drafting      */
    uint32_t n_embd;
    uint32_t n_vocab;
    uint32_t recurrent;     /* not 0: it has recurrent states                   */
    uint64_t context_length; /* that it was trained for                         */
    uint64_t weight_bytes;  /* of the tensors that were loaded                  */
    uint64_t parameters;    /* elements of the same                             */
    const char *architecture;
    const char *name;       /* "" if the file has none                          */
    uint32_t text;          /* not 0: it has a tokenizer, so that text is possible */
    uint32_t reserved;
    uint64_t in_place_bytes; /* of them, those that are used in the mapped file by all devices that have them */
    uint64_t packed_bytes;  /* and those that a device keeps in a form of its own */
} eng_lm_model_info;
ENG_API int eng_lm_model_get_info(const eng_lm_model *model, eng_lm_model_info *info);

/* -- text ---------------------------------------------------------------------- */

enum {
    ENG_LM_ADD_SPECIAL = 1,  /* BOS before and EOS after, where the model wants them */
    ENG_LM_PARSE_SPECIAL = 2 /* control tokens spelled out in the text count too     */
};
/* *ids belongs to the caller, who ends it with eng_lm_free. */
ENG_API int eng_lm_tokenize(const eng_lm_model *model, const char *text, size_t length, uint32_t flags, int32_t **ids,
                            size_t *n);
/* Text of tokens, terminated; eng_lm_free ends it.  special: spell control tokens. */
ENG_API int eng_lm_text(const eng_lm_model *model, const int32_t *ids, size_t n, int special, char **text,
                        size_t *length);
ENG_API void eng_lm_free(void *memory);
/* Does this token end a text? */
ENG_API int eng_lm_is_end(const eng_lm_model *model, int32_t token);

/* Text as tokens come: characters that are not complete yet are held back.  special: 0 or ENG_LM_STREAM_*; others are SPECIAL. */
enum {
    ENG_LM_STREAM_SPECIAL = 1, /* control tokens are spelt                                        */
    ENG_LM_STREAM_GOES_ON = 2  /* since 3.1: they go on with a text, so that a space before the first word stays          */
};
ENG_API int eng_lm_stream_create(const eng_lm_model *model, int special, eng_lm_stream **stream);
ENG_API void eng_lm_stream_destroy(eng_lm_stream *stream);
/* *text is valid until the next call.  token -1: the end, gives what is held. */
ENG_API int eng_lm_stream_next(eng_lm_stream *stream, int32_t token, const char **text, size_t *length);

/* -- contexts -------------------------------------------------------------------- */

#define ENG_LM_ROTATE_AUTO (-1)
#define ENG_LM_ROTATE_ON (-2) /* of every type, in the groups of AUTO */

typedef struct eng_lm_context_params {
    uint32_t size;
    uint32_t n_cells;      /* tokens that all sequences together may hold (what they share counts once); 0: 4096 or the
                              model's context length if that is less            */
    uint32_t n_batch;      /* most tokens in one pass (1 .. 4096), default 512   */
    uint32_t n_sequences;  /* sequences at once, default 1                      */
    uint32_t n_snapshots;  /* recurrent states kept: tokens that can be rolled back + 1; default 1 */
    uint32_t n_logits;     /* most tokens of one pass whose logits are wanted; 0: n_batch, or
                              fewer where the vocabulary is large               */
    uint32_t type_k;       /* of the caches: f32, f16 (default), bf16, q8_0, q4_0, q4_1, q5_0, */
    uint32_t type_v;       /* q5_1 or iq4_nl                                    */
    int32_t rotate_k;      /* Hadamard rotation before storing: its group, 0: none;
                              ENG_LM_ROTATE_AUTO: of block types the largest power of two that
                              divides a head, of others none                    */
    int32_t rotate_v;
    uint32_t precision;    /* eng_precision of products, attention and recurrent layers: exact (default) or fast */
    uint32_t reserved;
    eng_lm_placement placement; /* of caches and states                         */
    uint64_t kept_bytes;   /* of device memory, for beginnings of texts that no sequence holds any more; 0 (default):
                              none are kept.  Recurrent models take what their states need of it at once  */
    uint32_t kept_stride;  /* of recurrent models: tokens from one state that is kept to the next; 0: 512 */
    uint32_t on_full;      /* ENG_LM_FULL_*                                     */
    uint32_t n_keep;       /* tokens at the beginning of a sequence that ENG_LM_FULL_DROP leaves      */
    uint32_t n_top;        /* not 0: of each token wanted the host gets so many of the largest logits, which the device
                              finds (eng_lm_top), and not all                   */
    uint32_t outputs;      /* ENG_LM_HIDDEN, ENG_LM_HIDDEN_ALL or 0             */
    uint32_t reserved_2;
} eng_lm_context_params;
enum {
    ENG_LM_HIDDEN = 1,    /* of each token wanted also the hidden state (eng_lm_hidden)   */
    ENG_LM_HIDDEN_ALL = 2 /* of every token, wanted or not                           */
};
/* What decode does when the cells do not suffice. */
enum {
    ENG_LM_FULL_REFUSE = 0, /* it fails and changes nothing                     */
    ENG_LM_FULL_DROP = 1    /* the oldest tokens of the batch's sequences go, of the longest first, but for n_keep and
                               those shared with other sequences: as by eng_lm_sequence_drop, as few as will do.
                               Models whose indexer chooses tokens in pools refuse as without it */
};
ENG_API void eng_lm_context_defaults(eng_lm_context_params *params);
/* The same, for a struct of so many bytes: what this header's eng_lm_context_defaults calls, since the function of that
 * name fills the struct as it was in 3.0, for hosts that were built then. */
ENG_API void eng_lm_context_init(eng_lm_context_params *params, size_t size);
#define eng_lm_context_defaults(params) eng_lm_context_init(params, sizeof *(params))

/* params may be NULL. */
ENG_API int eng_lm_context_create(eng_lm_model *model, const eng_lm_context_params *params, eng_lm_context **context);
ENG_API void eng_lm_context_destroy(eng_lm_context *context);
/* What is in use, defaults filled in. */
ENG_API int eng_lm_context_get_params(const eng_lm_context *context, eng_lm_context_params *params);

/*
 * Runs tokens through the model.  The tokens of one sequence follow what the
 * sequence holds already and one another in the order of the batch; sequences
 * may be mixed.  More than n_batch tokens are run in several passes.  Fails with
 * ENG_ERR_STATE, and changes nothing, if the cells do not suffice (or, where on_full
 * is drop, do not even so).  If a device fails, the sequences of the batch hold
 * nothing of use: remove them.  Blocks until the device is done.
 */
typedef struct eng_lm_batch {
    uint32_t size;
    uint32_t n_tokens;
    const int32_t *tokens;
    const int32_t *sequences; /* one a token; NULL: all of sequence 0            */
    const uint8_t *logits;    /* one a token: not 0 if its logits are wanted; NULL: the last
                                 token's alone                                  */
} eng_lm_batch;
/* On the cpu plugin in precision exact a token's logits are the same bits in whatever passes and with however many
 * threads its text was run, given the same cells; layers of gated_delta_net excepted where passes of more than 16
 * tokens are among them.  Other devices add in an order that depends on the pass. */
ENG_API int eng_lm_decode(eng_lm_context *context, const eng_lm_batch *batch);
/* Ends decodes early: the function is asked before each pass, in the thread that decodes; if it gives other than 0,
 * decode fails with ENG_ERR_STATE, and the sequences hold the tokens of the passes before (ask for their lengths).  It
 * may read what another thread writes, if that is atomic.  NULL: no more. */
typedef int (*eng_lm_stop_func)(void *user);
ENG_API void eng_lm_context_set_stop(eng_lm_context *context, eng_lm_stop_func stop, void *user);
/*
 * Tells the host what products with weights are given: which weights count most is known from it (importance matrices).
 * After each pass the function is called for each matrix of weights, by the name that the file gives it, with n rows of
 * `columns` numbers; the rows of padding are left out.  Of a stack of experts, or of matrices for single heads, `set`
 * is the number of the one of `sets` that is given them.  Logits stay what they are; passes take more memory and time.
 * NULL: no more.
 *
 * It is called in the thread that decodes, before eng_lm_decode returns, and must not use the context; `weight` and
 * `rows` are the library's and valid during the call alone.  Not to be called while another thread decodes.  The graphs
 * of passes that were made before are dropped and made again by the next decodes, which is where a device refuses
 * values that it cannot keep (ENG_ERR_UNSUPPORTED) and where memory may be wanting (ENG_ERR_NOMEM): eng_lm_decode fails
 * then as it does of itself, and decodes go on when collecting is ended.  Here only ENG_ERR_INVALID: there is no
 * context.
 */
typedef void (*eng_lm_collect_func)(void *user, const char *weight, int64_t set, int64_t sets, const float *rows,
                                    int64_t columns, int64_t n);
ENG_API int eng_lm_context_collect(eng_lm_context *context, eng_lm_collect_func collect, void *user);
/* Logits (n_vocab floats) of token `index` of the last batch; NULL if they were not
 * wanted.  Valid until the next decode. */
ENG_API const float *eng_lm_logits(const eng_lm_context *context, uint32_t index);
/* In contexts with n_top: the tokens with the largest logits, the largest first and among equals the lower token, and
 * their logits; how many, 0 if they were not wanted.  *log_total (may be NULL): the logarithm of the sum of exp(logit)
 * over the whole vocabulary, so that logit - *log_total is the logarithm of a token's probability.  Valid until the
 * next decode. */
ENG_API uint32_t eng_lm_top(const eng_lm_context *context, uint32_t index, const int32_t **tokens, const float **logits,
                            double *log_total);
/* In contexts with ENG_LM_HIDDEN: what the head is given for a token (n_embd floats: the state behind the last layer
 * and norm); NULL if its logits were not wanted, unless it is ENG_LM_HIDDEN_ALL.  Valid until the next decode. */
ENG_API const float *eng_lm_hidden(const eng_lm_context *context, uint32_t index);

/* -- fitting the memory ----------------------------------------------------------------- */

/*
 * With which shares, and which tensors on another device, does a model fit the
 * memory that is free?  It is tried on devices of the null plugin, which hold
 * nothing: the same composition, placement, context and passes, so that the figures
 * are those of the run.  First shares change, in proportion to what is free beside
 * the part that every device holds; then K and V caches, experts and feed-forward
 * weights of as few last layers as will do move to `spill`.  Devices whose free
 * memory is not known are taken to have enough.
 *
 *     eng_device_open(engine, "opencl:0+opencl:1", &device);
 *     eng_lm_fit_create(engine, device, path, &params, &fit);
 *     eng_device_close(device);
 *     eng_lm_fit_get_info(fit, &info);
 *     eng_device_open(engine, info.device, &device);
 *     ... model and context with *info.placement
 */
typedef struct eng_lm_fit eng_lm_fit;

enum {
    ENG_LM_FIT_KEEP_SHARES = 1, /* those of the device are wanted, whatever they are */
    ENG_LM_FIT_ALL_LOGITS = 2,  /* logits of every token are wanted, as for a perplexity, not of the last */
    /* the model's own block is to draft (ENG_LM_DRAFT_BLOCK): its weights and cache count */
    ENG_LM_FIT_DRAFTS = 4
};

/* Fills the parameters of the context that will be made (the defaults are in them; the
 * placement is not asked for) and the tokens of one text, of a model that can be asked
 * for its numbers and tokenize, but holds nothing.  A status other than ENG_OK ends the search. */
typedef int (*eng_lm_fit_ask_func)(void *user, eng_lm_model *model, eng_lm_context_params *context, uint64_t *n_tokens);

typedef struct eng_lm_fit_params {
    uint32_t size;
    uint32_t flags;               /* ENG_LM_FIT_*                                */
    uint64_t reserve;             /* bytes of each device that are left alone; UINT64_MAX: a
                                     twentieth of what is free, 256 MiB at least  */
    uint64_t n_tokens;            /* in one text; 0: as many as the context has cells */
    const eng_lm_placement *placement;    /* wanted in any case; NULL: nothing   */
    const eng_lm_context_params *context; /* that will be made; NULL: the defaults */
    const char *spill;            /* device that takes what has to move; NULL: nothing may */
    eng_lm_fit_ask_func ask;      /* NULL: context and n_tokens are as they are here */
    void *ask_user;
} eng_lm_fit_params;
/* No flags, the rule for the reserve, spill "cpu", all else absent. */
ENG_API void eng_lm_fit_defaults(eng_lm_fit_params *params);

/* params may be NULL.  The device is only looked at, and may be closed afterwards.
 * ENG_ERR_NOMEM if the model does not fit, with what each device lacks;
 * ENG_ERR_NOTFOUND without the null plugin. */
ENG_API int eng_lm_fit_create(eng_context *engine, eng_device *device, const char *path,
                              const eng_lm_fit_params *params, eng_lm_fit **fit);
ENG_API void eng_lm_fit_destroy(eng_lm_fit *fit);

typedef struct eng_lm_fit_info {
    uint32_t size;
    uint32_t n_leaves;   /* of the device                                       */
    uint32_t n_layers;   /* of the model                                        */
    uint32_t new_shares; /* not 0: they are others than the device had          */
    uint64_t lacked;     /* bytes that were missing as it was asked for; 0: nothing had to change */
    const char *device;  /* to be opened                                        */
    const eng_lm_placement *placement; /* for the model and the context          */
} eng_lm_fit_info;
ENG_API int eng_lm_fit_get_info(const eng_lm_fit *fit, eng_lm_fit_info *info);

/* A leaf of the device or, after them, a device besides that holds tensors.  Parts of
 * one device ("opencl:0/2.0", "opencl:0/2.1") share its memory: their pool. */
typedef struct eng_lm_fit_member {
    uint32_t size;
    uint32_t guest;        /* not 0: no leaf                                     */
    const char *name;
    double share;          /* of what is split; 0 of a guest                     */
    uint64_t bytes;        /* that it will hold: weights, caches, states, inputs and outputs, scratch */
    uint64_t pool_bytes;   /* that all members of its pool will                  */
    uint64_t pool_free;    /* of so many; UINT64_MAX: not known                  */
    uint64_t pool_reserve; /* of which so many are left alone                    */
    uint32_t pool_first;   /* not 0: no member before it is of this pool         */
    uint32_t reserved;
} eng_lm_fit_member;
/* ENG_ERR_NOTFOUND past the last. */
ENG_API int eng_lm_fit_get_member(const eng_lm_fit *fit, uint32_t index, eng_lm_fit_member *member);

/* Kinds of tensors that move, in this order. */
enum { ENG_LM_MOVED_CACHES = 0, ENG_LM_MOVED_EXPERTS = 1, ENG_LM_MOVED_FFN = 2 };
typedef struct eng_lm_fit_move {
    uint32_t size;
    uint32_t n_layers;   /* the last so many; 0: none of this kind moved         */
    const char *pattern; /* as in the placement's overrides; NULL                */
    const char *device;
} eng_lm_fit_move;
/* ENG_ERR_NOTFOUND for no such kind. */
ENG_API int eng_lm_fit_get_move(const eng_lm_fit *fit, uint32_t kind, eng_lm_fit_move *move);

/* -- sequences ---------------------------------------------------------------------- */

/* Tokens that a sequence holds; -1 for no such sequence. */
ENG_API int64_t eng_lm_sequence_length(const eng_lm_context *context, uint32_t sequence);
/* How many of its last tokens could be taken back now (besides all of them). */
ENG_API int64_t eng_lm_sequence_rollback_limit(const eng_lm_context *context, uint32_t sequence);
/* Takes the last n tokens back, exactly.  Recurrent states reach back n_snapshots - 1
 * tokens, and all tokens can always be taken back; anything else is ENG_ERR_STATE
 * and nothing changes.  Moves no data. */
ENG_API int eng_lm_sequence_rollback(eng_lm_context *context, uint32_t sequence, int64_t n);
/* Empties a sequence.  With kept_bytes what it held is kept. */
ENG_API int eng_lm_sequence_remove(eng_lm_context *context, uint32_t sequence);
/* Leaves the first `length` tokens: a rollback, or, of a recurrent model where that does not reach so far, a state that
 * is kept behind just so many tokens.  ENG_ERR_STATE if there is none: nothing changes then. */
ENG_API int eng_lm_sequence_truncate(eng_lm_context *context, uint32_t sequence, int64_t length);
/* Gives up n tokens from number `first` on, but not the last one: attention no longer sees them.  The others stay as
 * they are, at their positions, and so do recurrent states: nothing is run again.  What was run behind them has seen
 * them, so this is not what the text without them gives.  Of recurrent models rollback then reaches back to the first
 * token behind them.  ENG_ERR_STATE for tokens that are shared with another sequence, or have such behind them;
 * ENG_ERR_UNSUPPORTED for models whose indexer chooses tokens in pools (glm5next, qwen4exp), which have no gaps. */
ENG_API int eng_lm_sequence_drop(eng_lm_context *context, uint32_t sequence, int64_t first, int64_t n);
/* Makes `to` hold what `from` holds (a fork).  They share cells and states, and what each
 * adds is its own: nothing is copied, neither now nor when they part, and no cell is taken.
 * n tokens fewer: roll `to` back.  A pass in which many sequences part may be run as two. */
ENG_API int eng_lm_sequence_copy(eng_lm_context *context, uint32_t from, uint32_t to);
/*
 * Texts that begin alike.  Makes a sequence hold the longest beginning of n tokens that is known, all but the last
 * token at most, and says how many that are: the host runs the others.  Known is what sequences hold, and with
 * kept_bytes what removed ones held, as far as the budget goes; the ends that were reused longest ago are given up
 * first, and whatever no sequence holds as soon as cells are needed.  Recurrent models can go on only where there is
 * a state: at the ends of sequences and as far as their snapshots reach, and with kept_bytes every kept_stride tokens
 * and at the end of prompts, which is where the n tokens end.  Nothing is copied.  What the sequence held before is
 * removed.  Beginnings are exact: what is reused has seen the same tokens at the same positions.
 *
 *     eng_lm_sequence_reuse(context, sequence, prompt, n, &known);
 *     ... decode prompt[known .. n - 1], choose, decode, ...
 *     eng_lm_sequence_remove(context, sequence);
 */
ENG_API int eng_lm_sequence_reuse(eng_lm_context *context, uint32_t sequence, const int32_t *tokens, size_t n,
                                  size_t *reused);
/* How many that would be now; -1 if the arguments are not valid.  n less these, and the tokens to come, are the cells
 * that a request takes; n_cells_free of the stats are there. */
ENG_API int64_t eng_lm_reusable(const eng_lm_context *context, const int32_t *tokens, size_t n);
/* Keeps what a sequence holds now, as removing it would. */
ENG_API int eng_lm_sequence_keep(eng_lm_context *context, uint32_t sequence);
/* Forgets all that is kept. */
ENG_API int eng_lm_kept_clear(eng_lm_context *context);
/* How many tokens a sequence holds (-1: no such sequence), and which: *tokens is valid until the sequence changes. */
ENG_API int64_t eng_lm_sequence_tokens(const eng_lm_context *context, uint32_t sequence, const int32_t **tokens);
/* Writes what a sequence holds (tokens, its rows of the caches, its recurrent states with the snapshots there are) to
 * a file, aside and renamed; and makes a sequence hold what a file does.  Devices, splits and the numbers of a context
 * may differ; the model, the types of the caches and their rotations must be the same, and which of two lists of factors
 * of rope (phi3, phimoe) a context of so many cells has.  What follows has the same bits on the same device if no other
 * sequence has cells, and else differs as sums in another order do.  A file that is damaged, of another model, or larger
 * than the free cells is refused (ENG_ERR_FORMAT, ENG_ERR_STATE), and the sequence stays what it was. */
ENG_API int eng_lm_sequence_save(eng_lm_context *context, uint32_t sequence, const char *path);
ENG_API int eng_lm_sequence_load(eng_lm_context *context, uint32_t sequence, const char *path);

/* The same of all sequences of a context, which keep their numbers; what they share is saved once, and shared again.
 * What is loaded takes the place of all that the sequences hold; beginnings that are only kept are not saved, and stay
 * as far as there is room. */
ENG_API int eng_lm_context_save(eng_lm_context *context, const char *path);
ENG_API int eng_lm_context_load(eng_lm_context *context, const char *path);

/* -- choosing tokens ----------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif
#include "sampler.h"
#ifdef __cplusplus
extern "C" {
#endif

/* -- drafting ------------------------------------------------------------------------- */

/*
 * Several tokens from one pass: tokens are guessed, run together with the one that was chosen
 * last, and those that the model itself did not choose are taken back.  What is guessed
 * changes the speed and never the text: of the most likely tokens it is the text that there
 * is without drafts (where a device's sums depend on the size of a pass, up to the first choice
 * between tokens whose logits are nearly the same, which the stats tell), of drawn ones its
 * distribution is that of the sampler, and but for guesses that a model draws also the text
 * of the seed.
 *
 *     eng_lm_decode(context, &prompt);                        as without drafts,
 *     eng_lm_sampler_choose(sampler, eng_lm_logits(context, last), &token);
 *     eng_lm_sampler_accept(sampler, token);                  and a token chosen
 *     eng_lm_draft_create(context, &params, &draft);
 *     eng_lm_draft_begin(draft, tokens, n);                   the prompt and that token
 *     while (more are wanted)
 *         eng_lm_draft_step(draft, sampler, room, tokens, &n);
 *
 * A draft is of one sequence, uses its context (which must outlive it) and belongs to the same thread.  All
 * calls block until the device is done.  Recurrent states are taken back to snapshots: the
 * context's n_snapshots must be at least max + 1 for drafts of max tokens; fewer shorten
 * them.  So do cells: no token is dropped for a guess (ENG_LM_FULL_DROP), so a full context has none.
 */
typedef struct eng_lm_draft eng_lm_draft;

/* Who guesses. */
enum {
    ENG_LM_DRAFT_NGRAM = 0, /* what followed the last tokens where they stood before       */
    ENG_LM_DRAFT_HOST = 1,  /* a function of the host                                      */
    ENG_LM_DRAFT_MODEL = 2, /* a second model, smaller than the context's; or its assistant, for which the
                               context must give hidden states (ENG_LM_HIDDEN)             */
    ENG_LM_DRAFT_BLOCK = 3  /* the model's own block for drafting (MTP, nextn): the model must be opened with
                               ENG_LM_DRAFTS, and the context gives hidden states (ENG_LM_HIDDEN, or ENG_LM_HIDDEN_ALL,
                               with which the block sees also what the decode before eng_lm_draft_begin ran)  */
};
enum {
    ENG_LM_DRAFT_ALWAYS = 1,  /* as many tokens as there are guesses, whatever it costs     */
    ENG_LM_DRAFT_PAST_END = 2 /* steps go on behind tokens that end a text                  */
};
#define ENG_LM_DRAFT_MOST 64

/* Guesses what follows `tokens`: writes up to `most` tokens and their number; *n 0: no guess.  A
 * status other than ENG_OK ends the step, which then has changed nothing. */
typedef int (*eng_lm_draft_guess_func)(void *user, const int32_t *tokens, size_t n_tokens, uint32_t most,
                                       int32_t *guess, uint32_t *n);

typedef struct eng_lm_draft_params {
    uint32_t size;
    uint32_t from;           /* ENG_LM_DRAFT_*                                   */
    uint32_t max;            /* most tokens of a guess, 1 .. ENG_LM_DRAFT_MOST; default 4 */
    uint32_t min;            /* shorter guesses are not run; default 1           */
    float p_min;             /* of models that guess: a guess ends before a token of less
                                probability; default 0                           */
    uint32_t flags;          /* ENG_LM_DRAFT_ALWAYS, ENG_LM_DRAFT_PAST_END       */
    uint32_t sequence;
    uint32_t reserved;
    eng_lm_draft_guess_func guess; /* of ENG_LM_DRAFT_HOST                       */
    void *guess_user;
    eng_lm_model *model;     /* of ENG_LM_DRAFT_MODEL: it must outlive the draft, which makes a context
                                on it; its tokens are translated by their bytes if its vocabulary is
                                another.  ENG_ERR_UNSUPPORTED if they share none */
} eng_lm_draft_params;
ENG_API void eng_lm_draft_defaults(eng_lm_draft_params *params);

/* params may be NULL. */
ENG_API int eng_lm_draft_create(eng_lm_context *context, const eng_lm_draft_params *params, eng_lm_draft **draft);
ENG_API void eng_lm_draft_destroy(eng_lm_draft *draft);
/* The text so far: all tokens that the sequence holds (and held, where it dropped some), and the one chosen after them.
 * ENG_ERR_STATE if the sequence holds another number.  Call it again after the sequence was changed by others. */
ENG_API int eng_lm_draft_begin(eng_lm_draft *draft, const int32_t *tokens, size_t n);
/* Runs the token chosen last and a guess, and gives the tokens that follow: 1 .. room, each already
 * noted by the sampler.  The last of them is the one that the next step runs; the sequence
 * holds the others.  A token that ends a text is the last of its step.  After a failure other than
 * of the guess remove the sequence and begin again. */
ENG_API int eng_lm_draft_step(eng_lm_draft *draft, eng_lm_sampler *sampler, uint32_t room, int32_t *tokens,
                              uint32_t *n);

typedef struct eng_lm_draft_stats {
    uint32_t size;
    uint32_t off;         /* not 0: guesses cost more than they brought, so none are run for now */
    uint64_t steps;
    uint64_t tokens;      /* that steps gave                                     */
    uint64_t drafted;     /* guesses that were run                               */
    uint64_t accepted;    /* and chosen                                          */
    uint64_t guess_ns;    /* what guessing has taken, nanoseconds                */
    uint64_t verify_ns;   /* passes, without making plans                        */
    uint64_t rollback_ns; /* taking tokens back                                  */
    uint64_t host_ns;     /* all else: choosing, keeping accounts                */
    uint64_t rollbacks;
    uint64_t turned_off;  /* how often guessing was turned off                   */
    uint64_t near_ties;   /* most likely tokens, chosen in passes of several, whose logit is nearly that of another */
    uint64_t first_near_tie; /* which token of the text (as begin counts) the first of them is; UINT64_MAX: none */
    double pass_seconds;  /* that a pass of one token takes                      */
    double draft_seconds; /* and one with a guess of that length, the guess included; 0: not known yet */
    uint32_t length;      /* tokens of the guess that was run last               */
    uint32_t reserved;
} eng_lm_draft_stats;
ENG_API int eng_lm_draft_get_stats(const eng_lm_draft *draft, eng_lm_draft_stats *stats);

/* -- measuring -------------------------------------------------------------------------- */

typedef struct eng_lm_perplexity_result {
    uint32_t size;
    uint32_t chunks;
    uint64_t tokens;      /* that were predicted                                */
    double cross_entropy; /* nats per token                                     */
    double perplexity;    /* its exponential                                    */
} eng_lm_perplexity_result;
/* Consecutive chunks of `chunk` tokens, the sequence emptied before each; the mean of
 * -ln p over the targets 1 .. chunk-1 of every full chunk.  max_chunks 0: all.  Uses
 * sequence 0, and leaves it empty. */
ENG_API int eng_lm_perplexity(eng_lm_context *context, const int32_t *tokens, size_t n, uint32_t chunk,
                              uint32_t max_chunks, eng_lm_progress progress, void *progress_user,
                              eng_lm_perplexity_result *result);

/* Other ways to count, as figures of other programs are made. */
typedef struct eng_lm_perplexity_params {
    uint32_t size;
    uint32_t chunk;
    uint32_t max_chunks;
    uint32_t first;       /* of a chunk's targets: those before it are only context; 1 .. chunk-1 */
    int32_t begin;        /* takes the place of each chunk's first token; -1: that stays          */
    uint32_t reserved;
} eng_lm_perplexity_params;
ENG_API void eng_lm_perplexity_defaults(eng_lm_perplexity_params *params); /* as above, chunks of 512 */
ENG_API int eng_lm_perplexity_counted(eng_lm_context *context, const int32_t *tokens, size_t n,
                                      const eng_lm_perplexity_params *params, eng_lm_progress progress,
                                      void *progress_user, eng_lm_perplexity_result *result);

typedef struct eng_lm_stats {
    uint32_t size;
    uint32_t n_cells_used;
    uint64_t plans;        /* that this context runs                              */
    uint64_t passes;       /* submits so far                                      */
    uint64_t tokens;       /* decoded so far                                      */
    uint64_t cache_bytes;  /* declared for K and V                                */
    uint64_t state_bytes;  /* declared for recurrent states and windows           */
    uint64_t plan_ns;      /* that making plans has taken so far, nanoseconds     */
    uint32_t n_cells_free; /* for new tokens, those included that are only kept  */
    uint32_t n_states_kept; /* recurrent states                                   */
    uint64_t kept_bytes;   /* of caches and states that are only kept             */
    uint64_t reuses;       /* beginnings that were found so far                   */
    uint64_t tokens_reused; /* and their tokens, which were not run              */
    uint64_t tokens_given_up; /* that were kept                                   */
    uint64_t tokens_dropped; /* from the middle of sequences                      */
} eng_lm_stats;
ENG_API int eng_lm_context_get_stats(const eng_lm_context *context, eng_lm_stats *stats);
/* What the device has decided for the plan of one-token passes (built if need be):
 * placements, collectives. */
ENG_API int eng_lm_context_explain(eng_lm_context *context, eng_explain_format format, eng_emit_func emit, void *user);
/* The same for passes of n tokens (1 .. n_batch), of which the last one's logits are wanted. */
ENG_API int eng_lm_context_explain_pass(eng_lm_context *context, uint32_t n, eng_explain_format format,
                                        eng_emit_func emit, void *user);
/* The graph of passes of n tokens, as eng_graph_dump writes it. */
ENG_API int eng_lm_context_dump(eng_lm_context *context, uint32_t n, eng_explain_format format, eng_emit_func emit,
                                void *user);

#ifdef __cplusplus
}
#endif
#endif
