/* engine-generate: conversations; what their files share. */
#ifndef ENGINE_TOOLS_CHAT_H
#define ENGINE_TOOLS_CHAT_H

#include <jansson.h>

#include "engine/chat.h"
#include "generate_run.h"

/* The text of messages, and what of it they wrote themselves, in which no control token is one. */
typedef struct chat_text {
    char *at;
    size_t n;
    eng_lm_range *given;
    size_t n_given;
} chat_text;

/* Where a turn began, so that it can be taken back. */
typedef struct chat_mark {
    size_t text, ids, held; /* of chat.text, run.ids and chat.held                   */
} chat_mark;

typedef struct chat {
    run *r;
    eng_lm_template *jinja;  /* NULL: the model has none, and none was given         */
    eng_lm_context_params p; /* in use                                              */
    json_t *messages;        /* a list, as templates have them                      */
    eu_text text;            /* what the first n_ids of run.ids are the tokens of    */
    size_t n_ids;
    size_t held;             /* of these: in the sequence, or dropped from it        */
    uint64_t dropped;        /* by the context, when the sequence was empty          */
    EU_ARRAY(chat_mark) marks; /* one a turn, since a text was taken as a whole         */
    uint32_t answers;        /* so far                                              */
    int32_t bos;             /* that texts begin with; -1: with none                 */
    bool recurrent;
    bool goes_on;            /* an answer, with the text of a prompt: no template has been there */
    bool speed;              /* of each answer is told                              */
    bool color;
    bool ended;              /* by /quit                                            */
} chat;

/* What an answer was. */
typedef struct chat_answer {
    report report;           /* stopped NULL: interrupted before it began            */
    size_t n_known;          /* tokens of the prompt that were not run               */
} chat_answer;

/* -- all of it (chat.c) ---------------------------------------------------------------- */

int chat_run(run *r);

/* -- templates (chat_template.c, chat_names.c) ------------------------------------------ */

/* That of --chat-template and -file, else the model's, else none. */
int chat_template_open(chat *c);
/* The Jinja of a template known by name; NULL: none is. */
const char *chat_template_named(const char *name);
/* The names, with commas between them. */
const char *chat_template_names(void);
/* The text of messages; more: other variables of the template, or NULL.  generation: up to where an answer begins. */
int chat_render(const chat *c, const json_t *messages, const json_t *more, bool generation, chat_text *text);
void chat_text_free(chat_text *text);
/* { "role": role, "content": content }, what is no UTF-8 replaced. */
json_t *chat_message(const char *role, const char *content, size_t n);
/* Is a message of that role? */
bool chat_is(const json_t *message, const char *role);

/* -- what the sequence holds (chat_sequence.c) ------------------------------------------ */

/* A new context, in which so many first tokens stay when it is full; nothing is held. */
int chat_context_open(chat *c, uint32_t keep);
/* The tokens of a text that a model begins with. */
int chat_tokens(const chat *c, const chat_text *text, int32_t **ids, size_t *n_ids);
/* run.ids become a text's: what of it is held stays so. */
int chat_prepare(chat *c, const chat_text *text);
/* After an answer: what is held now, of text and tokens. */
int chat_settle(chat *c, const char *prompt, size_t n, const char *answer, size_t n_answer);
/* Back to where the last turn began. */
void chat_mark_back(chat *c);
/* The text is another one from its beginning: the next one is compared token by token. */
void chat_forget_text(chat *c);
/* Nothing is held any more. */
int chat_empty(chat *c);
/* The last token of an answer that was cut off is run, too. */
int chat_catch_up(chat *c);
/* What the sequence holds is a text's that was loaded. */
int chat_adopt(chat *c, const char *text, size_t n);

/* -- answers (chat_answer.c) ------------------------------------------------------------- */

/* Of run.ids, by a sampler of its own. */
int chat_generate(chat *c, const eng_lm_sampler_params *how, chat_answer *answer);
/* The messages are answered, and the answer joins them. */
int chat_turn(chat *c, chat_answer *answer);

/* -- requests from a pipe (chat_lines.c), a person at a terminal (chat_talk.c) ------------ */

int chat_lines(chat *c);
int chat_talk(chat *c);
/* A line that begins with / (chat_commands.c).  *ask: what is to be asked now, to be freed, or NULL. */
int chat_command(chat *c, const char *line, char **ask);

/* -- the system prompt (chat_system.c) ----------------------------------------------------- */

/* The first message; n 0: there is none. */
int chat_system(chat *c, const char *text, size_t n);
/* A new context for it: nothing is held. */
int chat_restart(chat *c);

/* -- files (chat_files.c) ----------------------------------------------------------------- */

/* *held: there is a FILE.state, too. */
int chat_save(chat *c, const char *path, bool *held);
int chat_load(chat *c, const char *path);

/* -- the screen (chat_screen.c) ------------------------------------------------------------ */

enum { CHAT_PLAIN, CHAT_PROMPT, CHAT_NOTE };
/* For standard error: the sequence that changes colours, or "". */
const char *chat_color(const chat *c, int what);
/* A line on standard error. */
void chat_note(const chat *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What has just failed, in a line. */
void chat_complain(const chat *c);
/* A run's show: an answer, of which a terminal gets no control characters. */
int chat_show(run *r, const char *text, size_t n);
/* How fast an answer was. */
void chat_tell_speed(const chat *c, const chat_answer *a);
/* Every device, and what it holds. */
void chat_tell_devices(const chat *c);

#endif
