/* engine-generate: continues a text with a language model, or measures one. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "generate_imatrix.h"
#include "generate_run.h"
#include "standard.h"
#include "uninstalled.h"

/* One line, and the exit code: names of devices that cannot be read are the command line's fault. */
static int complain(const options *o)
{
    eng_error e = {.size = sizeof e};
    eng_last_error_info(&e);
    bool pattern = e.code == ENG_CODE_PATTERN_UNUSED || e.code == ENG_CODE_PATTERN_HIDDEN ||
                   e.code == ENG_CODE_PATTERN_SYNTAX;
    fprintf(stderr, "engine-generate: %s%s\n",
            !pattern ? "" : (uint32_t)e.index == o->nkvo_override ? "-nkvo: " : "-ot: ", eng_last_error());
    return e.code == ENG_CODE_DEVICE_NAME ? EXIT_USAGE : 1;
}

static int to_output(run *r, const char *text, size_t n)
{
    (void)r;
    /* nobody would read the rest */
    return fwrite(text, 1, n, stdout) < n || fflush(stdout) ? run_output_failed() : ENG_OK;
}

/* *before: what the prompt had sent. */
static int generate(run *r, report *out, exchanged *before)
{
    uint32_t last = 0;
    eng_lm_context_params p = {.size = sizeof p};
    eng_lm_context_get_params(r->context, &p);
    r->show = r->o.json ? NULL : to_output;
    int status = run_prompt(r, &p, out, &last);
    if (status)
        return status;
    run_catch_interrupt();
    exchanged_note(before, r->device);
    return run_tokens(r, last, p.n_cells, out);
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
    return r->o.profile ?
               eng_lm_context_explain_pass(r->context, r->o.pass ? r->o.pass : 1, ENG_EXPLAIN_TEXT, to_stream, stderr) :
               ENG_OK;
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
    int status = run_count_cells(r, r->model, &cells, &most);
    if (status)
        return status;
    if (text && r->n_prompt == 0)
        return eng_fail(ENG_ERR_INVALID, "the prompt has no tokens" ENG_ADVICE "give a text that is not empty");
    if (r->n_prompt > cells)
        return eng_fail(ENG_ERR_INVALID, "the prompt has %zu tokens, the context holds %llu: make it larger (-c) or "
                        "shorten the prompt", r->n_prompt, (unsigned long long)cells);
    status = run_open_context(r, cells);
    if (!status && cells > most && most)
        fprintf(stderr, "engine-generate: note: the model was trained for %llu tokens, -c asks for %llu\n",
                (unsigned long long)most, (unsigned long long)cells);
    if (!status && r->o.load_state)
        status = state_load(r->context, r->o.load_state, r->n_prompt, &r->n_held);
    if (!status)
        status = explain(r, text ? stderr : stdout);
    if (!status && r->o.compile)
        return compile_passes(r);
    if (status || !text)
        return status;
    status = eng_lm_sampler_create(r->model, &r->o.sampler, &r->sampler);
    if (!status)
        status = run_open_grammar(r);
    if (!status)
        status = eng_lm_stream_create(r->model, r->n_prompt || r->n_held ? ENG_LM_STREAM_GOES_ON : 0, &r->stream);
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
    out.chances = r->chances;
    out.n_chances = r->o.n_probs;
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

/* What --perplexity counts.  llama.cpp's way: the text has the model's special tokens, every chunk begins with that
 * which the text begins with, and of n tokens the last n - n / 2 - 1 are counted. */
static int protocol(run *r, uint32_t chunk, eng_lm_perplexity_params *p)
{
    int32_t *plain = NULL, *special = NULL;
    size_t n = 0, m = 0;
    eng_lm_perplexity_defaults(p);
    p->chunk = chunk;
    p->max_chunks = r->o.chunks;
    if (r->o.protocol != COUNT_LLAMA)
        return ENG_OK;
    p->first = chunk / 2 + 1;
    int status = eng_lm_tokenize(r->model, "a", 1, 0, &plain, &n);
    if (!status)
        status = eng_lm_tokenize(r->model, "a", 1, ENG_LM_ADD_SPECIAL, &special, &m);
    if (!status && n && m && special[0] != plain[0])
        p->begin = special[0];
    eng_lm_free(plain);
    eng_lm_free(special);
    return status;
}

static int run_perplexity(run *r)
{
    eng_lm_perplexity_params counted;
    report out = {.measured = true, .stopped = "end of text", .perplexity = {.size = sizeof out.perplexity}};
    exchanged before;
    uint64_t chunk, most;
    int status = run_count_cells(r, r->model, &chunk, &most);
    if (!status)
        status = run_open_context(r, chunk);
    if (!status)
        status = explain(r, stderr);
    if (status)
        return status;
    exchanged_note(&before, r->device);
    imatrix *collected = NULL;
    if (r->o.imatrix_out)
        status = imatrix_begin(r->context, &collected);
    progress p = {.what = "measuring", .begin = eu_seconds()};
    double plans = run_plan_seconds(r);
    if (!status)
        status = protocol(r, (uint32_t)chunk, &counted);
    if (!status)
        status = eng_lm_perplexity_counted(r->context, r->ids, r->n_prompt, &counted, show_progress, &p,
                                           &out.perplexity);
    if (!status && collected)
        status = imatrix_write(collected, r->o.imatrix_out, r->o.perplexity, out.perplexity.chunks, (uint32_t)chunk);
    imatrix_end(collected);
    if (status)
        return status;
    out.plan_seconds = run_plan_seconds(r);
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

int main(int argc, char **argv)
{
    keep_standard_files();
    run *r = calloc(1, sizeof *r);
    if (!r) {
        fputs("engine-generate: out of memory for the options\n", stderr);
        return 1;
    }
    find_uninstalled_plugins();
    r->argv = argv;
    int code = options_parse(&r->o, argc, argv);
    if (code < 0 && r->o.compile && !compilers_wanted())
        code = 1;
    if (code < 0) {
        int status = r->o.list_devices ? run_list_devices(r) : run_open_engine(r);
        if (!status && !r->o.list_devices)
            status = run_open_model(r);
        if (!status && !r->o.list_devices)
            status = r->o.chat ? chat_run(r) : r->o.perplexity ? run_perplexity(r) : run_text(r);
        code = status ? complain(&r->o) : 0;
    }
    if (code == 0 && (fflush(stdout) || ferror(stdout))) {
        run_output_failed();
        code = complain(&r->o);
    }
    compilers_end(r);
    run_close(r);
    free(r);
    if (interrupted) { /* as the shell expects of who was */
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
    }
    return code;
}
