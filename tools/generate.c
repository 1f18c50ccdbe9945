/* engine-generate: continues a text with a language model, or measures one. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generate.h"
#include "generate_foreign.h"
#include "libengine/util/util.h"
#include "hints.h"
#include "loading.h"
#include "uninstalled.h"

/* Everything that a run holds. */
typedef struct run {
    options o;
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model, *guesser; /* guesser: that of -md, or NULL                */
    eng_lm_context *context;
    eng_lm_sampler *sampler;
    eng_lm_stream *stream;
    eng_lm_draft *draft;     /* NULL: none                                         */
    int32_t *ids;            /* the prompt, then what was generated                */
    size_t n_prompt, n_ids, capacity;
    size_t n_held;           /* of the prompt: loaded                              */
    eu_text text;            /* generated                                       */
    double shown;            /* of the progress line                            */
} run;

#define CACHES "^cache_[kv]\\." /* the pattern that -nkvo stands for */

/* One line, and the exit code: names of devices that cannot be read are the command line's fault. */
static int complain(const options *o)
{
    eng_error e = {.size = sizeof e};
    eng_last_error_info(&e);
    bool pattern = e.code == ENG_CODE_PATTERN_UNUSED || e.code == ENG_CODE_PATTERN_HIDDEN || e.code == ENG_CODE_PATTERN_SYNTAX;
    fprintf(stderr, "engine-generate: %s%s\n",
            !pattern ? "" : (uint32_t)e.index == o->nkvo_override ? "-nkvo: " : "-ot: ", eng_last_error());
    return e.code == ENG_CODE_DEVICE_NAME ? EXIT_USAGE : 1;
}

static int output_failed(void)
{
    return eng_fail(ENG_ERR_IO, "writing to standard output failed" ENG_CAUSE "%s", strerror(errno));
}

/* -- opening ----------------------------------------------------------------------- */

static int choose_fit(run *r);

static int open_engine(run *r)
{
    int status = create_context("engine-generate", 1, NULL, &r->engine);
    if (!status)
        tell_unread_of("engine-generate", r->engine);
    if (!status && r->o.threads)
        status = eng_context_set_option(r->engine, "cpu.threads", r->o.threads);
    if (!status && r->o.profile)
        status = eng_context_set_option(r->engine, "opencl.profile", "yes");
    if (status == ENG_ERR_NOTFOUND && r->o.profile) /* no such plugin: device_open says which devices are timed */
        status = ENG_OK;
    if (!status)
        status = keep_layers(&r->o);
    if (!status && r->o.no_kv_offload) {
        r->o.nkvo_override = r->o.n_overrides++;
        r->o.overrides[r->o.nkvo_override] = (eng_lm_override){CACHES, "cpu"};
    }
    if (!status)
        status = device_name_homes(r->engine, &r->o);
    if (!status && r->o.fit)
        status = choose_fit(r);
    if (!status)
        status = device_open(r->engine, &r->o, &r->device);
    return status;
}

static int list_devices(run *r)
{
    int status = create_context("engine-generate", 1, NULL, &r->engine);
    return status ? status : device_list(r->engine);
}

static eng_lm_placement placement(const run *r)
{
    return options_placement(&r->o, r->o.overrides, r->o.n_overrides);
}

static int open_file(run *r, const char *path, const eng_lm_placement *where, uint32_t needs_text, eng_lm_model **model)
{
    progress p = {.what = "loading", .begin = eu_seconds()};
    eng_lm_model_params params;
    eng_lm_model_defaults(&params);
    params.placement = *where;
    params.needs_text = needs_text;
    params.layout = r->o.layout;
    params.flags = r->o.copy ? ENG_LM_COPY : 0;
    params.progress = show_progress;
    params.progress_user = &p;
    return eng_lm_model_open(r->engine, r->device, path, &params, model);
}

/* The model, and on the same devices that of -md, of which patterns of tensors say nothing. */
static int open_model(run *r)
{
    eng_lm_placement all = placement(r), plain = options_placement(&r->o, NULL, 0);
    int status = open_file(r, r->o.model, &all, !options_plan_only(&r->o), &r->model);
    if (!status && r->o.draft && r->o.draft_model)
        status = open_file(r, r->o.draft_model, &plain, false, &r->guesser);
    if (!status && r->o.verbose)
        report_unread(r->model);
    return status ? status : device_notes(&r->o, r->device);
}

static eng_lm_context_params context_params(const run *r, uint64_t n_cells)
{
    eng_lm_context_params params;
    eng_lm_context_defaults(&params);
    params.n_cells = n_cells > UINT32_MAX ? UINT32_MAX : (uint32_t)n_cells;
    params.n_batch = r->o.n_batch;
    params.on_full = r->o.shift ? ENG_LM_FULL_DROP : ENG_LM_FULL_REFUSE;
    params.n_keep = r->o.keep;
    params.type_k = r->o.type_k;
    params.precision = r->o.precision;
    params.type_v = r->o.type_v;
    params.n_snapshots = r->o.draft + 1; /* as many as may have to be taken back */
    if (params.n_snapshots == 1 && (r->o.load_state || r->o.save_state))
        params.n_snapshots = 2; /* a text that is loaded may go on without another one */
    params.rotate_k = params.rotate_v = r->o.rotate_kv;
    params.placement = placement(r);
    return params;
}

static int open_context(run *r, uint64_t n_cells)
{
    eng_lm_context_params params = context_params(r, n_cells);
    return eng_lm_context_create(r->model, &params, &r->context);
}

/* -- text ----------------------------------------------------------------------------- */

/* What --load-state, -p, -f or --perplexity names, as tokens; --fit has asked for them before. */
static int tokenize(run *r, const eng_lm_model *model)
{
    const char *given = r->o.prompt ? r->o.prompt : "", *path = r->o.perplexity ? r->o.perplexity : r->o.prompt_file;
    char *text = NULL;
    size_t length = 0;
    int status = ENG_OK;
    if (r->ids)
        return ENG_OK;
    if (path)
        status = read_text(path, &text, &length);
    else
        length = strlen(given);
    if (!status && path && !r->o.perplexity && length && text[length - 1] == '\n')
        length--; /* that an editor has put at the end */
    int32_t *ids = NULL, *before = NULL;
    size_t n = 0, n_before = 0;
    uint32_t flags = r->o.perplexity ? 0 : (r->o.load_state ? 0 : ENG_LM_ADD_SPECIAL) | ENG_LM_PARSE_SPECIAL;
    if (!status)
        status = eng_lm_tokenize(model, path ? text : given, length, flags, &ids, &n);
    free(text);
    if (!status && r->o.load_state)
        status = state_tokens(r->o.load_state, &before, &n_before);
    if (!status && !eu_reserve(r->ids, r->capacity, n_before + n + 1))
        status = eng_fail_code(EU_NO_MEMORY("the tokens"));
    if (!status && n_before)
        memcpy(r->ids, before, n_before * sizeof *before);
    if (!status && n)
        memcpy(r->ids + n_before, ids, n * sizeof *ids);
    r->n_ids = r->n_prompt = n_before + n;
    eng_lm_free(ids);
    free(before);
    return status;
}

static int keep_text(run *r, const char *text, size_t n)
{
    eu_text_add_bytes(&r->text, text, n);
    if (r->text.failed)
        return eng_fail_code(EU_NO_MEMORY("the text"));
    if (!r->o.json && n && (fwrite(text, 1, n, stdout) < n || fflush(stdout)))
        return output_failed(); /* nobody would read the rest */
    return ENG_OK;
}

static int keep_token(run *r, int32_t token)
{
    if (!eu_reserve(r->ids, r->capacity, r->n_ids + 1))
        return eng_fail_code(EU_NO_MEMORY("the tokens"));
    r->ids[r->n_ids++] = token;
    const char *text;
    size_t n;
    int status = eng_lm_stream_next(r->stream, token, &text, &n);
    return status ? status : keep_text(r, text, n);
}

/* -- generating -------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first interrupt ends the text, and the report is still given; a second one ends the program. */
static void catch_interrupt(void)
{
    struct sigaction now, ours = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* drivers have handlers too */
        sigaction(SIGINT, &ours, NULL);
}

/* Seconds that making plans has taken so far. */
static double plan_seconds(const run *r)
{
    eng_lm_stats stats = {.size = sizeof stats};
    return eng_lm_context_get_stats(r->context, &stats) ? 0 : 1e-9 * (double)stats.plan_ns;
}

/* Passes in which the device compiled: their time says nothing of the model. */
typedef struct cold {
    size_t tokens;
    double seconds; /* beside plan_seconds */
} cold;

static uint64_t compiled(const run *r)
{
    eng_device_stats stats = {.size = sizeof stats};
    return eng_device_get_stats(r->device, &stats) ? 0 : stats.compiled;
}

static int decode(run *r, const eng_lm_batch *b, cold *c)
{
    const uint64_t before = compiled(r);
    const double begin = eu_seconds(), plans = plan_seconds(r);
    int status = eng_lm_decode(r->context, b);
    if (compiled(r) != before) {
        c->tokens += b->n_tokens;
        c->seconds += eu_seconds() - begin - (plan_seconds(r) - plans);
    }
    return status;
}

/* The prompt, pass by pass; *last: where in the last batch the logits are. */
static int run_prompt(run *r, const eng_lm_context_params *p, report *out, uint32_t *last)
{
    static const uint8_t none[4096];
    progress shown = {.what = "prompt", .begin = eu_seconds()};
    double plans = plan_seconds(r);
    cold c = {0, 0};
    int status = ENG_OK;
    show_work(true);
    for (size_t i = 0; i < r->n_prompt; i++)
        eng_lm_sampler_accept(r->sampler, r->ids[i]);
    for (size_t done = r->n_held; done < r->n_prompt && !status;) {
        size_t part = r->n_prompt - done < p->n_batch ? r->n_prompt - done : p->n_batch;
        eng_lm_batch b = {.size = sizeof b, .n_tokens = (uint32_t)part, .tokens = r->ids + done,
                          .logits = done + part < r->n_prompt ? none : NULL};
        show_progress(&shown, (double)done / (double)r->n_prompt);
        status = decode(r, &b, &c);
        *last = b.n_tokens - 1;
        done += part;
    }
    show_progress(&shown, 1);
    show_work(false);
    out->prompt_seconds = eu_seconds() - shown.begin - (plan_seconds(r) - plans) - c.seconds;
    out->prompt_cold = c.tokens;
    return status;
}

static int choose(run *r, uint32_t last, int32_t *token)
{
    int status = eng_lm_sampler_choose(r->sampler, eng_lm_logits(r->context, last), token);
    if (!status)
        eng_lm_sampler_accept(r->sampler, *token);
    return status;
}

static int open_draft(run *r)
{
    eng_lm_draft_params p;
    if (!r->o.draft)
        return ENG_OK;
    eng_lm_draft_defaults(&p);
    p.max = r->o.draft;
    p.min = r->o.draft_min ? r->o.draft_min : 1;
    p.p_min = r->o.draft_p_min;
    p.from = r->guesser ? ENG_LM_DRAFT_MODEL : ENG_LM_DRAFT_NGRAM;
    p.model = r->guesser;
    p.flags = r->o.ignore_eos ? ENG_LM_DRAFT_PAST_END : 0;
    int status = eng_lm_draft_create(r->context, &p, &r->draft);
    return status ? status : eng_lm_draft_begin(r->draft, r->ids, r->n_ids);
}

/* The tokens after the last one: one, or with drafts up to `room`. */
static int next(run *r, uint32_t room, int32_t *tokens, uint32_t *n, cold *c)
{
    const uint64_t before = compiled(r);
    const double begin = eu_seconds(), plans = plan_seconds(r);
    eng_lm_batch one = {.size = sizeof one, .n_tokens = 1, .tokens = &r->ids[r->n_ids - 1]};
    *n = 1;
    int status = r->draft ? eng_lm_draft_step(r->draft, r->sampler, room, tokens, n) : eng_lm_decode(r->context, &one);
    if (compiled(r) != before) {
        c->tokens += *n;
        c->seconds += eu_seconds() - begin - (plan_seconds(r) - plans);
    }
    return status || r->draft ? status : choose(r, 0, tokens);
}

/* Tokens that were chosen: they are kept up to one that ends the text. */
static int keep_tokens(run *r, const int32_t *tokens, uint32_t n, const char **stopped)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < n && !status; i++) {
        if (!r->o.ignore_eos && eng_lm_is_end(r->model, tokens[i])) {
            *stopped = "end of text";
            break;
        }
        status = keep_token(r, tokens[i]);
    }
    return status;
}

static const char *stop(const run *r, size_t wanted, uint32_t n_cells)
{
    return r->n_ids - r->n_prompt >= wanted ? "as many as asked for" :
           interrupted                      ? "interrupted" :
           r->n_ids > n_cells && !r->o.shift ? "the context is full" :
                                              NULL;
}

/* Token after token; the first is the prompt's. */
static int run_tokens(run *r, uint32_t last, uint32_t n_cells, report *out, cold *c)
{
    int32_t tokens[ENG_LM_DRAFT_MOST + 1];
    uint32_t n = 1;
    size_t wanted = r->o.n_predict < 0 ? SIZE_MAX : (size_t)r->o.n_predict;
    if (wanted == 0)
        return ENG_OK;
    int status = choose(r, last, tokens);
    if (!status)
        status = keep_tokens(r, tokens, n, &out->stopped);
    if (!status && !out->stopped)
        status = open_draft(r);
    for (; !status && !out->stopped; out->n_decoded += n) {
        size_t room = wanted - (r->n_ids - r->n_prompt);
        if ((out->stopped = stop(r, wanted, n_cells)))
            break;
        status = next(r, room < ENG_LM_DRAFT_MOST + 1 ? (uint32_t)room : ENG_LM_DRAFT_MOST + 1, tokens, &n, c);
        if (!status)
            status = keep_tokens(r, tokens, n, &out->stopped);
    }
    return status;
}

/* *before: what the prompt had sent. */
static int generate(run *r, report *out, exchanged *before)
{
    const char *text;
    size_t n;
    uint32_t last = 0;
    eng_lm_context_params p = {.size = sizeof p};
    eng_lm_context_get_params(r->context, &p);
    cold c = {0, 0};
    int status = run_prompt(r, &p, out, &last);
    if (status)
        return status;
    catch_interrupt();
    exchanged_note(before, r->device);
    double begin = eu_seconds(), plans = plan_seconds(r);
    if ((status = run_tokens(r, last, p.n_cells, out, &c)))
        return status;
    out->stopped = out->stopped ? out->stopped : "as many as asked for";
    out->plan_seconds = plan_seconds(r);
    out->decode_seconds = eu_seconds() - begin - (out->plan_seconds - plans) - c.seconds;
    out->decode_cold = c.tokens;
    status = eng_lm_stream_next(r->stream, -1, &text, &n);
    return status ? status : keep_text(r, text, n);
}

static void to_stream(void *user, const char *text)
{
    fputs(text, user);
}

static int explain(run *r, FILE *to)
{
    static const eng_explain_format formats[] = {[EXPLAIN_TEXT] = ENG_EXPLAIN_TEXT, [EXPLAIN_JSON] = ENG_EXPLAIN_JSON,
                                                 [EXPLAIN_DOT] = ENG_EXPLAIN_GRAPHVIZ};
    if (!r->o.explain)
        return ENG_OK;
    return eng_lm_context_explain_pass(r->context, r->o.pass ? r->o.pass : 1, formats[r->o.explain], to_stream, to);
}

/* The plan of the passes that ran, with what its launches took. */
static int profile(run *r)
{
    return r->o.profile ? eng_lm_context_explain_pass(r->context, r->o.pass ? r->o.pass : 1, ENG_EXPLAIN_TEXT, to_stream, stderr)
                        : ENG_OK;
}

#define UNTIL_END 4096 /* tokens that are allowed for if their number is not limited */

/* Cells of the context: what is needed, in steps, as far as the model goes. */
static int count_cells(run *r, const eng_lm_model *model, uint64_t *cells, uint64_t *most)
{
    bool text = !options_plan_only(&r->o);
    int status = text ? tokenize(r, model) : ENG_OK;
    if (status)
        return status;
    eng_lm_model_info info = {.size = sizeof info};
    eng_lm_model_get_info(model, &info);
    *most = info.context_length;
    *cells = r->o.n_ctx;
    if (*cells == 0 && r->o.perplexity)
        *cells = 512;
    if (*cells == 0) {
        *cells = (r->n_prompt + (uint64_t)(r->o.n_predict < 0 ? UNTIL_END : r->o.n_predict) + 255) / 256 * 256;
        *cells = *cells > *most ? *most : *cells;
    }
    return ENG_OK;
}

static void count_weights(const run *r, report *out)
{
    eng_lm_model_info info = {.size = sizeof info};
    if (eng_lm_model_get_info(r->model, &info))
        return;
    out->weights = info.weight_bytes;
    out->weights_in_place = info.in_place_bytes;
    out->weights_packed = info.packed_bytes;
}

static void count_drafts(const run *r, report *out)
{
    if (!r->o.draft)
        return;
    out->draft_from = r->o.draft_from;
    out->draft = (eng_lm_draft_stats){.size = sizeof out->draft};
    if (r->draft)
        eng_lm_draft_get_stats(r->draft, &out->draft);
}

static int run_text(run *r)
{
    report out = {0};
    exchanged before;
    uint64_t cells, most;
    bool text = options_text(&r->o);
    int status = count_cells(r, r->model, &cells, &most);
    if (status)
        return status;
    if (text && r->n_prompt == 0)
        return eng_fail(ENG_ERR_INVALID, "the prompt has no tokens" ENG_ADVICE "give a text that is not empty");
    if (r->n_prompt > cells)
        return eng_fail(ENG_ERR_INVALID, "the prompt has %zu tokens, the context holds %llu: make it larger (-c) or "
                        "shorten the prompt", r->n_prompt, (unsigned long long)cells);
    status = open_context(r, cells);
    if (!status && cells > most && most)
        fprintf(stderr, "engine-generate: note: the model was trained for %llu tokens, -c asks for %llu\n",
                (unsigned long long)most, (unsigned long long)cells);
    if (!status && r->o.load_state)
        status = state_load(r->context, r->o.load_state, r->n_prompt, &r->n_held);
    if (!status)
        status = explain(r, text ? stderr : stdout);
    if (status || !text)
        return status;
    status = eng_lm_sampler_create(r->model, &r->o.sampler, &r->sampler);
    if (!status)
        status = eng_lm_stream_create(r->model, 0, &r->stream);
    if (!status)
        status = generate(r, &out, &before);
    if (!status && r->o.save_state)
        status = state_save(r->context, r->o.save_state, r->ids, r->n_ids, r->o.keep);
    if (status)
        return status;
    out.drawn = r->o.sampler.temperature > 0;
    out.seed = eng_lm_sampler_seed(r->sampler);
    out.prompt_ids = r->ids;
    out.n_prompt = r->n_prompt;
    out.n_held = r->n_held;
    out.token_ids = r->ids + r->n_prompt;
    out.n_tokens = r->n_ids - r->n_prompt;
    out.text = r->text.at;
    out.text_length = r->text.n;
    count_weights(r, &out);
    count_drafts(r, &out);
    if (r->o.json) {
        report_json(&out, &r->o, r->device, r->context, &before);
    } else {
        putchar('\n');
        fflush(stdout);
        report_table(&out, &r->o, r->device, r->context, &before);
    }
    return profile(r);
}

static int run_perplexity(run *r)
{
    report out = {.measured = true, .stopped = "end of text", .perplexity = {.size = sizeof out.perplexity}};
    exchanged before;
    uint64_t chunk, most;
    int status = count_cells(r, r->model, &chunk, &most);
    if (!status)
        status = open_context(r, chunk);
    if (!status)
        status = explain(r, stderr);
    if (status)
        return status;
    exchanged_note(&before, r->device);
    progress p = {.what = "measuring", .begin = eu_seconds()};
    double plans = plan_seconds(r);
    status = eng_lm_perplexity(r->context, r->ids, r->n_prompt, (uint32_t)chunk, r->o.chunks, show_progress, &p, &out.perplexity);
    if (status)
        return status;
    out.plan_seconds = plan_seconds(r);
    out.prompt_seconds = eu_seconds() - p.begin - (out.plan_seconds - plans);
    count_weights(r, &out);
    if (r->o.json) {
        report_json(&out, &r->o, r->device, r->context, &before);
        return ENG_OK;
    }
    printf("%.6f\n", out.perplexity.cross_entropy);
    fflush(stdout);
    report_table(&out, &r->o, r->device, r->context, &before);
    return ENG_OK;
}

/* -- memory ------------------------------------------------------------------------------ */

static int fit_context(void *user, eng_lm_model *model, eng_lm_context_params *params, uint64_t *n_tokens)
{
    const run *r = user;
    uint64_t cells, most;
    int status = count_cells(user, model, &cells, &most);
    if (status)
        return status;
    *params = context_params(r, cells);
    *n_tokens = r->o.perplexity || r->n_prompt > cells ? cells : r->n_prompt ? r->n_prompt : 1;
    return ENG_OK;
}

static int choose_fit(run *r)
{
    return device_fit(r->engine, &r->o, fit_context, r);
}

static void close_all(run *r)
{
    eng_lm_draft_destroy(r->draft);
    eng_lm_stream_destroy(r->stream);
    eng_lm_sampler_destroy(r->sampler);
    eng_lm_context_destroy(r->context);
    eng_lm_model_close(r->guesser);
    eng_lm_model_close(r->model);
    eng_device_close(r->device);
    if (r->engine)
        eng_context_destroy(r->engine);
    free(r->ids);
    eu_text_free(&r->text);
    options_free(&r->o);
}

int main(int argc, char **argv)
{
    run *r = calloc(1, sizeof *r);
    if (!r) {
        fputs("engine-generate: out of memory for the options\n", stderr);
        return 1;
    }
    find_uninstalled_plugins();
    int code = options_parse(&r->o, argc, argv);
    if (code < 0) {
        int status = r->o.list_devices ? list_devices(r) : open_engine(r);
        if (!status && !r->o.list_devices)
            status = open_model(r);
        if (!status && !r->o.list_devices)
            status = r->o.perplexity ? run_perplexity(r) : run_text(r);
        code = status ? complain(&r->o) : 0;
    }
    if (code == 0 && (fflush(stdout) || ferror(stdout))) {
        output_failed();
        code = complain(&r->o);
    }
    close_all(r);
    free(r);
    if (interrupted) { /* as the shell expects of who was */
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
    }
    return code;
}
