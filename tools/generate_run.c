/* engine-generate: a prompt is run, then token after token is chosen; with drafts or without. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generate_run.h"
#include "loading.h"

volatile sig_atomic_t interrupted;

int run_output_failed(void)
{
    return eng_fail(ENG_ERR_IO, "writing to standard output failed" ENG_CAUSE "%s", strerror(errno));
}

static int keep_text(run *r, const char *text, size_t n)
{
    eu_text_add_bytes(&r->text, text, n);
    if (r->text.failed)
        return eng_fail_code(EU_NO_MEMORY("the text"));
    return r->show && n ? r->show(r, text, n) : ENG_OK;
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

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first interrupt ends the text, and the report is still given; a second one ends the program. */
void run_catch_interrupt(void)
{
    struct sigaction now, ours = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* drivers have handlers too */
        sigaction(SIGINT, &ours, NULL);
}

/* Seconds that making plans has taken so far. */
double run_plan_seconds(const run *r)
{
    eng_lm_stats stats = {.size = sizeof stats};
    return eng_lm_context_get_stats(r->context, &stats) ? 0 : 1e-9 * (double)stats.plan_ns;
}

/* Passes in which the device compiled: their time says nothing of the model. */
typedef struct cold {
    size_t tokens;
    double seconds; /* beside run_plan_seconds */
} cold;

static uint64_t compiled(const run *r)
{
    eng_device_stats stats = {.size = sizeof stats};
    return eng_device_get_stats(r->device, &stats) ? 0 : stats.compiled;
}

static int decode(run *r, const eng_lm_batch *b, cold *c)
{
    const uint64_t before = compiled(r);
    const double begin = eu_seconds(), plans = run_plan_seconds(r);
    int status = eng_lm_decode(r->context, b);
    if (compiled(r) != before) {
        c->tokens += b->n_tokens;
        c->seconds += eu_seconds() - begin - (run_plan_seconds(r) - plans);
    }
    return status;
}

/* The prompt, pass by pass; *last: where in the last batch the logits are. */
int run_prompt(run *r, const eng_lm_context_params *p, report *out, uint32_t *last)
{
    static const uint8_t none[4096];
    progress shown = {.what = "prompt", .begin = eu_seconds()};
    double plans = run_plan_seconds(r);
    cold c = {0, 0};
    int status = ENG_OK;
    show_work(true);
    for (size_t i = 0; i < r->n_prompt; i++)
        eng_lm_sampler_accept(r->sampler, r->ids[i]);
    if (r->grammar)
        status = eng_lm_sampler_set_grammar(r->sampler, r->grammar);
    run_show_prompt(r);
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
    out->prompt_seconds = eu_seconds() - shown.begin - (run_plan_seconds(r) - plans) - c.seconds;
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
    p.from = r->guesser ? ENG_LM_DRAFT_MODEL : options_block(&r->o) ? ENG_LM_DRAFT_BLOCK : ENG_LM_DRAFT_NGRAM;
    p.model = r->guesser;
    p.flags = r->o.ignore_eos ? ENG_LM_DRAFT_PAST_END : 0;
    int status = r->draft ? ENG_OK : eng_lm_draft_create(r->context, &p, &r->draft);
    return status ? status : eng_lm_draft_begin(r->draft, r->ids, r->n_ids);
}

/* The tokens after the last one: one, or with drafts up to `room`. */
static int next(run *r, uint32_t room, int32_t *tokens, uint32_t *n, cold *c)
{
    const uint64_t before = compiled(r);
    const double begin = eu_seconds(), plans = run_plan_seconds(r);
    eng_lm_batch one = {.size = sizeof one, .n_tokens = 1, .tokens = &r->ids[r->n_ids - 1]};
    *n = 1;
    int status = r->draft ? eng_lm_draft_step(r->draft, r->sampler, room, tokens, n) : eng_lm_decode(r->context, &one);
    if (compiled(r) != before) {
        c->tokens += *n;
        c->seconds += eu_seconds() - begin - (run_plan_seconds(r) - plans);
    }
    return status || r->draft ? status : choose(r, 0, tokens);
}

/* The last n tokens that a draft gave are none of the text's; the newest of them has not run. */
static int take_back(run *r, uint32_t n)
{
    int status = n ? eng_lm_sampler_rollback(r->sampler, n) : ENG_OK;
    return status || n < 2 ? status : eng_lm_sequence_rollback(r->context, 0, n - 1);
}

/* Tokens that were chosen, from the logits of place `first` of the last batch on: they are kept up to one that ends the
 * text, or to a text that does. */
static int keep_tokens(run *r, uint32_t first, const int32_t *tokens, uint32_t n, const char **stopped)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < n && !status && !*stopped; i++) {
        const size_t before = r->text.n;
        if (!r->o.ignore_eos && eng_lm_is_end(r->model, tokens[i])) {
            *stopped = "end of text";
            break;
        }
        status = run_note_chances(r, first + i, tokens[i]);
        if (!status)
            status = keep_token(r, tokens[i]);
        if (!status && run_met_reverse(r, before)) {
            *stopped = "reverse prompt";
            return take_back(r, n - 1 - i);
        }
    }
    return status;
}

static const char *stop(const run *r, size_t wanted, uint32_t n_cells)
{
    return r->n_ids - r->n_prompt >= wanted ? "as many as asked for" :
           interrupted                      ? "interrupted" :
           eng_lm_sampler_grammar_state(r->sampler) == ENG_LM_GRAMMAR_MUST_END ? "end of the grammar" :
           r->n_ids > n_cells && !r->o.shift ? "the context is full" :
                                              NULL;
}

/* Token after token; the first is the prompt's. */
static int choose_all(run *r, uint32_t last, uint32_t n_cells, report *out, cold *c)
{
    int32_t tokens[ENG_LM_DRAFT_MOST + 1];
    uint32_t n = 1;
    size_t wanted = r->o.n_predict < 0 ? SIZE_MAX : (size_t)r->o.n_predict;
    if (wanted == 0)
        return ENG_OK;
    int status = choose(r, last, tokens);
    if (!status)
        status = keep_tokens(r, last, tokens, n, &out->stopped);
    if (!status && !out->stopped)
        status = open_draft(r);
    for (; !status && !out->stopped; out->n_decoded += n) {
        size_t room = wanted - (r->n_ids - r->n_prompt);
        if ((out->stopped = stop(r, wanted, n_cells)))
            break;
        status = next(r, room < ENG_LM_DRAFT_MOST + 1 ? (uint32_t)room : ENG_LM_DRAFT_MOST + 1, tokens, &n, c);
        if (!status)
            status = keep_tokens(r, 0, tokens, n, &out->stopped);
        if (!status)
            compilers_ran(r);
    }
    return status;
}

int run_tokens(run *r, uint32_t last, uint32_t n_cells, report *out)
{
    const char *text;
    size_t n;
    cold c = {0, 0};
    double begin = eu_seconds(), plans = run_plan_seconds(r);
    int status = choose_all(r, last, n_cells, out, &c);
    if (status)
        return status;
    out->stopped = out->stopped ? out->stopped : "as many as asked for";
    out->plan_seconds = run_plan_seconds(r);
    out->decode_seconds = eu_seconds() - begin - (out->plan_seconds - plans) - c.seconds;
    out->decode_cold = c.tokens;
    status = eng_lm_stream_next(r->stream, -1, &text, &n);
    return status ? status : keep_text(r, text, n);
}
