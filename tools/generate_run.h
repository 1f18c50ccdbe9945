/* engine-generate: what a run holds, how it is opened and how it makes text; of texts and conversations alike. */
#ifndef ENGINE_TOOLS_GENERATE_RUN_H
#define ENGINE_TOOLS_GENERATE_RUN_H

#include <signal.h>
#include <sys/types.h>

#include "engine/grammar.h"
#include "generate.h"
#include "libengine/util/util.h"

/* Processes that compile beside this one. */
typedef struct compilers {
    pid_t process[COMPILERS_MOST];
    uint32_t n;
    bool ran, done, failed; /* passes of both kinds have; one of them has ended well, or of itself in another way */
    char *known; /* a file that says, once it is there, that nothing is left to compile; NULL: none */
} compilers;

/* Everything that a run holds. */
typedef struct run run;
struct run {
    options o;
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model, *guesser; /* guesser: that of -md, or NULL                */
    eng_lm_context *context;
    eng_lm_grammar *grammar; /* NULL: none                                         */
    eng_lm_sampler *sampler;
    eng_lm_stream *stream;
    eng_lm_draft *draft;     /* NULL: none                                         */
    int32_t *ids;            /* the prompt, then what was generated                */
    size_t n_prompt, n_ids, capacity;
    size_t n_held;           /* of the prompt: in the sequence already             */
    token_chance *chances;   /* of each token generated                            */
    size_t n_chances, chances_room;
    eu_text text;            /* generated                                       */
    int (*show)(run *r, const char *text, size_t n); /* gets the text as it comes; NULL: nobody does  */
    void *show_user;
    char **argv;
    compilers beside;
};

/* -- sizes (generate_size.c) ---------------------------------------------------------- */

eng_lm_placement run_placement(const run *r);
eng_lm_context_params run_context_params(const run *r, const eng_lm_model *model, uint64_t n_cells);
/* Cells of the context: what is needed, in steps, as far as the model goes; the prompt becomes tokens for it. */
int run_count_cells(run *r, const eng_lm_model *model, uint64_t *cells, uint64_t *most);
/* --fit. */
int run_fit(run *r);

/* -- opening (generate_open.c) -------------------------------------------------------- */

int run_list_devices(run *r);
int run_open_engine(run *r);
/* The model, and on the same devices that of -md. */
int run_open_model(run *r);
int run_open_context(run *r, uint64_t n_cells);
void run_close(run *r);

/* -- text (generate_run.c) ------------------------------------------------------------ */

extern volatile sig_atomic_t interrupted;
/* The first interrupt ends the text, and the report is still given; a second one ends the program. */
void run_catch_interrupt(void);
/* Seconds that making plans has taken so far. */
double run_plan_seconds(const run *r);
/* The prompt, pass by pass; *last: where in the last batch the logits are. */
int run_prompt(run *r, const eng_lm_context_params *p, report *out, uint32_t *last);
/* Token after token, the first the prompt's; what that took. */
int run_tokens(run *r, uint32_t last, uint32_t n_cells, report *out);
int run_output_failed(void);

/* -- kernels that are compiled before they are needed (generate_compile.c) -------------- */

/* Begins processes that compile what this one will need, where that is to be expected.  Whatever becomes of them, this
 * process needs none. */
void compilers_start(run *r);
/* Passes of both kinds have run, so that all is compiled that these need.  It waits for nobody. */
void compilers_ran(run *r);
/* Ends them, if there are any, within two seconds. */
void compilers_end(run *r);
/* Is this process none of them, or is the one there that has begun it? */
bool compilers_wanted(void);
/* --compile: are there such devices alone?  And compiles for the prompt's passes and a token's after it. */
int compile_check(const run *r);
int compile_passes(run *r);

/* -- where it goes and stops (generate_grammar.c) -------------------------------------- */

/* --grammar, --json-schema and their files. */
int run_open_grammar(run *r);
/* Is a text of -r in what was generated, and not only in its first `before` bytes? */
bool run_met_reverse(const run *r, size_t before);
/* --n-probs: of a token that was chosen from the logits of place `index` of the last batch (generate_chances.c). */
int run_note_chances(run *r, uint32_t index, int32_t token);
/* --verbose-prompt. */
void run_show_prompt(const run *r);

#endif
