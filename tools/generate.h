/* engine-generate: what its files share. */
#ifndef ENGINE_TOOLS_GENERATE_H
#define ENGINE_TOOLS_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "engine/lm.h"

#define EXIT_USAGE 64
#define MAX_OVERRIDES 64
#define MAX_BIASES 1024
#define MAX_BREAKERS 64
#define MAX_REVERSE 64

typedef struct options {
    const char *model, *device, *prompt, *prompt_file, *perplexity;
    const char *imatrix_out; /* file for an importance matrix, or NULL              */
    long n_predict;      /* -1: until the text ends                             */
    bool ignore_eos;
    eng_lm_sampler_params sampler;
    eng_lm_logit_bias biases[MAX_BIASES]; /* its lists                           */
    const char *breakers[MAX_BREAKERS];
    uint32_t n_ctx;      /* 0: as needed                                        */
    bool shift, keep_given; /* a full context drops its oldest tokens               */
    bool no_shift;
    uint32_t keep;       /* but for so many first ones                          */
    bool cache_ram_given;
    uint32_t cache_ram;  /* MiB of what conversations keep                      */
    uint32_t n_batch;
    const char *threads; /* NULL: the plugin's own choice                       */
    uint32_t type_k, type_v, precision, layout;
    bool copy;           /* the weights                                         */
    bool no_kv_offload;
    eng_lm_override overrides[MAX_OVERRIDES + 4]; /* with those of -nkvo and --fit      */
    uint32_t n_overrides;
    uint32_t nkvo_override; /* which of them -nkvo is; UINT32_MAX: none              */
    char *homes[MAX_OVERRIDES + 4]; /* names of their devices, as they are listed       */
    enum { SPLIT_TENSOR, SPLIT_LAYER, SPLIT_NONE } split;
    bool expert_parallel;
    const char *shares;  /* "3,1"                                               */
    uint32_t chunks;
    enum { COUNT_ALL, COUNT_LLAMA } protocol; /* which tokens of --perplexity are counted */
    bool protocol_given;
    const char *grammar, *grammar_file, *schema, *schema_file; /* what the text must follow, or NULL */
    const char *reverse[MAX_REVERSE]; /* texts at which it stops                     */
    uint32_t n_reverse;
    uint32_t n_probs;    /* most likely tokens to tell with each; 0: none        */
    bool verbose_prompt; /* the prompt, token by token                          */
    const char *load_state, *save_state; /* files of a sequence, or NULL            */
    uint32_t draft, draft_min; /* tokens guessed ahead; 0: none, 0: the default      */
    bool draft_given;
    float draft_p_min;
    const char *draft_from; /* ngram, mtp or a file; NULL: not given                */
    const char *draft_model; /* the file                                           */
    const char *drafting;   /* the last option given about it, or NULL              */
    enum { EXPLAIN_NOTHING, EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_DOT } explain;
    uint32_t pass;       /* whose plan: of that many tokens; 0: one             */
    bool profile;        /* afterwards, what kernels took                       */
    bool verbose;        /* what of the file nobody reads                       */
    bool json;
    bool explain_format; /* named                                              */
    const char *sampling; /* the last option given about choosing tokens, or NULL    */
    bool n_given, chosen_split;
    bool fit;
    const char *compile; /* only compile, as which of how many processes ("1/1"); NULL: no */
    uint32_t compilers;  /* processes that compile beside this one, at most         */
    bool list_devices;
    uint32_t last_layers; /* on accelerators; 0: all                            */
    bool cpu_experts;    /* stay on the cpu, those of so many layers; 0: of all */
    uint32_t cpu_expert_layers;
    bool no_layers;      /* on accelerators: the device is cpu                  */
    bool escape;         /* \n and the like in -p                              */
    int32_t rotate_kv;   /* ENG_LM_ROTATE_*, or 0                               */
    long fit_reserve;    /* MiB of each device; -1: the rule                    */
    enum { CHAT_NONE, CHAT_TALK, CHAT_LINES } chat; /* at a terminal; requests as lines of JSON */
    bool cnv, no_cnv, lines, single_turn, simple_io, timings;
    const char *chatting; /* the last option given that is about conversations, or NULL */
    const char *system, *system_file, *chat_template, *chat_template_file;
    enum { COLOR_AUTO, COLOR_ON, COLOR_OFF } color;
    char **kept;         /* parts of lists, texts without their escapes         */
    size_t kept_room;
    uint32_t n_kept;
    char *shares_kept;
    char *joined;        /* the device, its names joined with +                 */
    char *memory[MAX_OVERRIDES + 5]; /* patterns cut from -ot, and those of --fit; its device */
} options;

/* Most processes that compile beside this one, and how many if the command line does not say; UINT32_MAX: what the environment
 * says is no number of them (generate_compile.c). */
enum { COMPILERS_MOST = 16 };
uint32_t compilers_default(void);

/* Of the command line alone: -1, or EXIT_USAGE after one line on stderr. */
int options_check(options *o);
/* Has the file experts in stacks? (generate_check.c) */
int file_has_experts(const char *path, bool *experts);
/* What has no effect on this device and model is told, a line each. */
int device_notes(const options *o, eng_device *device);

/* -1: go on; else the exit code: 0 after --help or --version, EXIT_USAGE. */
int options_parse(options *o, int argc, char **argv);
void options_free(options *o);
/* Of an option's text that was made: freed with the options.  false: no memory, and it is freed. */
bool options_keep(options *o, char *text);
/* -e: the texts with their escapes replaced.  false: no memory. */
bool options_unescape(options *o);
/* What they say of where a model's tensors go, with these overrides. */
eng_lm_placement options_placement(const options *o, const eng_lm_override *overrides, uint32_t n);

/* An option of samplers by its long name (generate_sampling.c): -1, or EXIT_USAGE. */
int sampling_option(options *o, const char *name, const char *value);

/* Nothing is to be generated: the plan goes to standard output. */
static inline bool options_plan_only(const options *o)
{
    return o->explain && !o->chat && !o->prompt && !o->prompt_file && !o->load_state && !o->perplexity;
}
/* Is a text continued? */
static inline bool options_text(const options *o)
{
    return o->prompt || o->prompt_file || o->load_state;
}

/* Does the model's own block draft? */
static inline bool options_block(const options *o)
{
    return o->draft && o->draft_from && strcmp(o->draft_from, "mtp") == 0;
}

/* -- texts in files (generate_state.c) ------------------------------------------------- */

/* The tokens of a saved text, to be freed. */
int state_tokens(const char *path, int32_t **ids, size_t *n);
/* Sequence 0 becomes what was saved, which n_ids tokens begin with; *held: how many of them need not run. */
int state_load(eng_lm_context *context, const char *path, size_t n_ids, size_t *held);
/* Runs what has not run of n tokens, of which the context dropped some behind the first `keep`, and saves them. */
int state_save(eng_lm_context *context, const char *path, const int32_t *ids, size_t n, size_t keep);

/* A token, and the logarithm of its probability as the model says. */
typedef struct token_chance {
    int32_t token;
    float log_probability;
} token_chance;

/* What a run gave. */
typedef struct report {
    const int32_t *prompt_ids, *token_ids;
    size_t n_prompt, n_tokens;
    size_t n_held;             /* of the prompt: loaded, not run                */
    const char *text;          /* generated                                     */
    size_t text_length;
    double prompt_seconds, decode_seconds; /* without plan_seconds, nor passes in which kernels were compiled */
    size_t prompt_cold, decode_cold;       /* tokens of those passes             */
    double plan_seconds;       /* of making plans: kernels are compiled then      */
    size_t n_decoded;          /* tokens that decode_seconds is about            */
    bool measured;             /* --perplexity                                  */
    eng_lm_perplexity_result perplexity;
    const token_chance *chances; /* for each token it, and the n_chances most likely; NULL: not asked for */
    uint32_t n_chances;
    const char *stopped;       /* why generation ended                          */
    bool drawn;                /* by random numbers,                            */
    uint32_t seed;             /* of this seed                                  */
    uint64_t weights, weights_in_place, weights_packed;
    const char *draft_from;    /* NULL: no drafts                               */
    eng_lm_draft_stats draft;
} report;

/* Bytes that each leaf has sent so far. */
typedef struct exchanged {
    uint64_t bytes[ENG_MAX_RANKS];
} exchanged;
void exchanged_note(exchanged *e, eng_device *device);

/* The table, on stderr; or all of it as one JSON object on stdout. */
void report_table(const report *r, const options *o, eng_device *device, eng_lm_context *context,
                  const exchanged *before);
void report_json(const report *r, const options *o, eng_device *device, eng_lm_context *context,
                 const exchanged *before);

/* How far a long piece of work is: an eng_lm_progress whose user is one of these. */
typedef struct progress {
    const char *what;
    double begin, last;
} progress;
int show_progress(void *user, double fraction);
/* The whole of a file, to be freed; "-": of standard input. */
int read_text(const char *path, char **text, size_t *length);
/* Gives the devices of overrides the names by which they are listed; what is no such device is refused. */
int device_name_homes(eng_context *engine, options *o);
/* The device that is taken where none is named: how device_open names it. */
enum { DEVICE_NAME_BYTES = 1024 };
int device_default(eng_context *engine, const options *o, char name[DEVICE_NAME_BYTES]);
/* Opens what -d, -ts, -sm and the overrides ask for. */
int device_open(eng_context *engine, const options *o, eng_device **device);
/* Every device on a line of standard output. */
int device_list(eng_context *engine);
/* --fit: changes device, shares and overrides so that the model fits, and says on standard error what and why. */
int device_fit(eng_context *engine, options *o, eng_lm_fit_ask_func ask, void *user);

/* What of the model's file nobody reads, which may be why a text looks wrong (generate_report.c). */
void report_unread(const eng_lm_model *model);

#endif
