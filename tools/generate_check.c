/* engine-generate: options that contradict each other, or that nothing would come of. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "generate.h"

/* Numbers between separators, at least one above zero: shares, as names of devices have them (eng_device_open). */
static bool are_shares(const char *text, char separator)
{
    bool some = false;
    for (;; text++) {
        size_t whole = strspn(text, "0123456789"),
               part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
        size_t length = whole + (text[whole] == '.') + part;
        if (whole + part == 0 || whole + part > 15)
            return false;
        some |= strcspn(text, "123456789") < length;
        text += length;
        if (!*text)
            return some;
        if (*text != separator)
            return false;
    }
}

/* NULL, or what is wrong with how the device is written. */
static const char *device_fault(const char *device)
{
    const char *at = strrchr(device, '@');
    size_t length = at ? (size_t)(at - device) : strlen(device), begin = 0;
    if (length == 0)
        return "-d: a device is needed, such as cpu, opencl:0 or cpu+opencl:0";
    for (size_t i = 0; i <= length; i++) {
        if (i < length && device[i] != '+')
            continue;
        if (i == begin)
            return "-d: a device is missing beside a +";
        begin = i + 1;
    }
    if (at && !are_shares(at + 1, ':'))
        return "-d: behind @ shares are needed, such as @3:1 or @0.75:0.25, of which one is above 0";
    return NULL;
}

static const char *text_fault(const options *o)
{
    if (o->prompt && o->prompt_file)
        return "-p and -f exclude each other";
    if (o->perplexity && (o->prompt || o->prompt_file))
        return "--perplexity generates nothing: leave out -p and -f";
    if (o->perplexity && (o->load_state || o->save_state))
        return "--perplexity begins with nothing and keeps nothing: leave out --load-state and --save-state";
    if (o->perplexity && (o->sampling || o->n_given))
        return "--perplexity generates nothing: leave out -n and the options that choose tokens";
    if (o->chunks && !o->perplexity)
        return "--chunks goes with --perplexity";
    if (o->protocol_given && !o->perplexity)
        return "--perplexity-protocol goes with --perplexity";
    if (o->protocol == COUNT_LLAMA && o->n_ctx && o->n_ctx < 4)
        return "--perplexity-protocol llama needs chunks of at least 4 tokens (-c)";
    if (o->imatrix_out && !o->perplexity)
        return "--imatrix-out collects while a text is measured: give --perplexity";
    if (o->perplexity && o->n_ctx == 1)
        return "--perplexity needs chunks of at least 2 tokens (-c)";
    if (!options_text(o) && !o->perplexity && !o->explain && !o->chat)
        return "a text is needed: -p, -f, --load-state or --perplexity; or a conversation: -cnv, or --json-lines";
    if (o->perplexity && o->shift)
        return "--context-shift goes with a text that is continued: -p, -f or --load-state";
    if (o->keep_given && !o->shift)
        return "--keep goes with --context-shift";
    if (o->cache_ram_given && !o->chat)
        return "--cache-ram goes with a conversation: -cnv, or --json-lines";
    if (o->save_state && !options_text(o))
        return "--save-state goes with a text: -p, -f or --load-state";
    return NULL;
}

static const char *grammar_fault(const options *o)
{
    const char *given[] = {o->grammar, o->grammar_file, o->schema, o->schema_file};
    int n = 0;
    for (int i = 0; i < 4; i++)
        n += given[i] != NULL;
    return n > 1 ? "--grammar, --json-schema and their files exclude each other" :
           o->n_probs && !o->json ? "--n-probs goes with --json" :
           o->verbose_prompt && !options_text(o) ? "--verbose-prompt goes with a text: -p, -f or --load-state" : NULL;
}

/* Is it a conversation, and of which kind?  Nothing to do at a terminal is one. */
static void choose_chat(options *o)
{
    bool terminal = isatty(STDIN_FILENO), nothing = !options_text(o) && !o->perplexity && !o->explain && !o->json;
    if (o->lines || (o->cnv && !terminal && !o->simple_io))
        o->chat = CHAT_LINES;
    else if (o->cnv || (nothing && terminal && !o->no_cnv))
        o->chat = CHAT_TALK;
    if (o->chat && !o->n_given)
        o->n_predict = -1;
    if (o->chat == CHAT_TALK && !o->no_shift)
        o->shift = true;
}

static const char *chat_fault(const options *o)
{
    if (o->cnv && o->no_cnv)
        return "-cnv and -no-cnv exclude each other";
    if (o->shift && o->no_shift)
        return "--context-shift and --no-context-shift exclude each other";
    if (!o->chat)
        return o->chatting ? "options about conversations go with one: -cnv, or --json-lines" : NULL;
    if (o->perplexity || o->explain || o->profile || o->json || o->load_state || o->save_state)
        return "a conversation has no --perplexity, --explain, --profile, --json, --load-state and --save-state: leave them out";
    if (o->chat == CHAT_LINES && (o->prompt || o->prompt_file || o->single_turn))
        return "requests come from standard input, a line each: leave out -p, -f and -st";
    if (o->system && o->system_file)
        return "-sys and -sysf exclude each other";
    if (o->chat_template && o->chat_template_file)
        return "--chat-template and --chat-template-file exclude each other";
    return NULL;
}

/* Options about texts and conversations may stand there, as on the command line of the run that it is for. */
static const char *compile_fault(const options *o)
{
    unsigned share, of;
    char end;
    if (sscanf(o->compile, "%u/%u%c", &share, &of, &end) != 2 || share < 1 || share > of || of > 64)
        return "--compile takes I/N, 1 <= I <= N <= 64: which of how many processes compiles, or nothing for all of it";
    return o->load_state || o->save_state || o->perplexity || o->explain || o->profile ?
               "--compile runs nothing: leave out --load-state, --save-state, --perplexity, --explain and --profile" :
           o->prompt && o->prompt_file ? "-p and -f exclude each other" : NULL;
}

static const char *explain_fault(const options *o)
{
    if (o->pass && !o->explain && !o->profile)
        return "--pass goes with --explain or --profile";
    if (o->profile && !options_text(o))
        return "--profile tells of passes that ran: it goes with a text, -p or -f";
    if (o->pass > o->n_batch)
        return "--pass asks for more tokens than a pass has: make -b larger, or --pass smaller";
    if (o->explain > EXPLAIN_TEXT && !options_plan_only(o))
        return "--explain=json and --explain=dot generate nothing: leave out -p, -f and --perplexity";
    if (options_plan_only(o) && o->sampling)
        return "--explain without a text generates nothing: leave out the options that choose tokens";
    if (options_plan_only(o) && o->json && o->explain_format && o->explain != EXPLAIN_JSON)
        return "--json and --explain=text or =dot exclude each other";
    return NULL;
}

/* What drafts are made of, and how long they get, if it was not said. */
#define DRAFT 4
static const char *draft_fault(options *o)
{
    if (!o->drafting)
        return NULL;
    if (o->perplexity || options_plan_only(o))
        return "drafts are for texts that are generated: leave out the options about drafting";
    if (!o->draft_given)
        o->draft = DRAFT > o->draft_min ? DRAFT : o->draft_min;
    if (!o->draft_from)
        o->draft_from = "ngram";
    if (o->draft && o->draft_min > o->draft)
        return "--draft-min asks for more tokens than --draft allows";
    return NULL;
}

static const char *device_options_fault(const options *o)
{
    if (o->compilers > COMPILERS_MOST)
        return "ENGINE_COMPILERS: a whole number from 0 to 16 is needed";
    if (o->shares && !are_shares(o->shares, ','))
        return "-ts: shares are needed, such as 3,1 or 0.75,0.25, of which one is above 0";
    if (o->shares && o->device && strchr(o->device, '@'))
        return "-ts and @ in the device's name exclude each other";
    if (o->split == SPLIT_NONE && (o->shares || (o->device && strchr(o->device, '@'))))
        return "-sm none takes the first device whole: leave out the shares (-ts, @)";
    if (o->expert_parallel && o->split != SPLIT_TENSOR)
        return "--expert-parallel goes with -sm tensor";
    return o->device ? device_fault(o->device) : NULL;
}

static const char *layers_fault(options *o)
{
    if (!o->no_layers)
        return NULL;
    if (o->device && strcmp(o->device, "cpu") != 0)
        return "-ngl 0: no layer on accelerators is the device cpu: leave out -ngl or -d";
    o->device = "cpu";
    return NULL;
}

/* Of a run, text or conversation. */
static const char *run_fault(const options *o)
{
    const char *what = text_fault(o);
    if (!what)
        what = chat_fault(o);
    if (!what)
        what = explain_fault(o);
    return what ? what : grammar_fault(o);
}

int options_check(options *o)
{
    if (o->list_devices)
        return -1;
    if (!o->compile)
        choose_chat(o);
    const char *what = o->model && *o->model ? NULL : "-m FILE is needed";
    if (!what)
        what = o->compile ? compile_fault(o) : run_fault(o);
    if (!what)
        what = draft_fault(o);
    if (!what)
        what = layers_fault(o);
    if (!what)
        what = device_options_fault(o);
    if (options_plan_only(o) && o->json)
        o->explain = EXPLAIN_JSON;
    if (!what)
        return -1;
    fprintf(stderr, "engine-generate: %s; see engine-generate --help\n", what);
    return EXIT_USAGE;
}

/* -- what only the device and the model tell ------------------------------------------ */

static void note(const char *what)
{
    fprintf(stderr, "engine-generate: note: %s\n", what);
}

/* Has the model experts in stacks? */
int file_has_experts(const char *path, bool *experts)
{
    eng_gguf *gguf = NULL;
    int status = eng_gguf_open(path, &gguf);
    *experts = false;
    for (uint32_t i = 0; !status && !*experts && i < eng_gguf_tensor_count(gguf); i++)
        *experts = strstr(eng_gguf_tensor_get(gguf, i)->name, "_exps.") != NULL;
    eng_gguf_close(gguf);
    return status;
}

int device_notes(const options *o, eng_device *device)
{
    uint32_t leaves = 0;
    bool processor = false, experts = true;
    for (; leaves < ENG_MAX_RANKS; leaves++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        if (eng_device_leaf(device, leaves, &info, &stats))
            break;
        processor |= strncmp(info.name, "cpu", 3) == 0;
    }
    for (uint32_t i = 0; i < o->n_overrides; i++)
        processor |= strncmp(o->overrides[i].device, "cpu", 3) == 0;
    if (o->threads && !processor)
        note("-t has no effect: no cpu device is used");
    if (o->chosen_split && o->split == SPLIT_LAYER && leaves < 2)
        note("-sm layer has no effect on one device");
    int status = o->expert_parallel ? file_has_experts(o->model, &experts) : ENG_OK;
    if (!status && o->expert_parallel && !experts)
        note("--expert-parallel has no effect: the model has no experts");
    else if (!status && o->expert_parallel && leaves < 2)
        note("--expert-parallel has no effect on one device");
    return status;
}
