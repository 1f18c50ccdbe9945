/*
 * The host's memory ends while a language model runs: from opening a device to the text of a token, a template's text
 * and what is collected of products among it, each request for memory is refused, in runs of their own, alone or with
 * all that follow. What comes of it is an error that says so, or the right token; nothing stays allocated, and the
 * engine goes on.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/chat.h"
#include "engine/grammar.h"

#include "../meta/count.h"
#include "../tap.h"
#include "subject.h"

static char model[512];

/* The tokens of a template's text, with a look at what was given. */
static int tokens_of(const eng_lm_model *m, int32_t **ids, size_t *n)
{
    static const char
        source[] = "{{ m[0] | upper }} {{ eos_token }}{% for x in m %}{{ x.replace('q', 'e') }} {% endfor %}";
    static const char json[] = "{\"m\": [\"The\", \"<|qndoftext|>\", \"king\"], \"eos_token\": \"<|endoftext|>\"}";
    eng_lm_template *t = NULL;
    eng_lm_range *given = NULL;
    char *text = NULL;
    size_t length = 0, n_given = 0;
    int status = eng_lm_template_create(source, strlen(source), &t);
    status = status ? status : eng_lm_template_render_given(t, m, json, &text, &length, &given, &n_given);
    status = status ? status : eng_lm_tokenize_given(m, text, length, ENG_LM_PARSE_SPECIAL, given, n_given, ids, n);
    eng_lm_free(given);
    eng_lm_free(text);
    eng_lm_template_destroy(t);
    return status;
}

static void take_rows(void *user, const char *weight, int64_t set, int64_t sets, const float *rows, int64_t columns,
                      int64_t n)
{
    uint64_t *taken = user;
    *taken += weight && set < sets && rows && columns > 0 ? (uint64_t)n : 0;
}

/* All of it once; the text of the token that comes next in `text`. */
static int run(eng_context *engine, const char *device, char *text, size_t bytes)
{
    eng_lm_context_params params;
    eng_lm_sampler_params choice;
    eng_lm_sampler *sampler = NULL;
    eng_lm_grammar *grammar = NULL;
    subject s;
    int32_t *ids = NULL, token = 0;
    size_t n = 0, length = 0;
    char *piece = NULL;
    eng_lm_context_defaults(&params);
    params.n_cells = 64;
    params.n_batch = 16;
    eng_lm_sampler_defaults(&choice);
    choice.temperature = 0;
    choice.dry_multiplier = 1;
    choice.logit_bias = &(const eng_lm_logit_bias){1, -1};
    choice.n_logit_bias = 1;
    int status = subject_open(&s, engine, device, model, NULL, &params);
    if (status)
        return status;
    status = tokens_of(s.model, &ids, &n);
    eng_lm_free(ids);
    ids = NULL;
    uint64_t taken = 0;
    if (!status)
        status = eng_lm_context_collect(s.context, take_rows, &taken);
    if (!status)
        status = eng_lm_tokenize(s.model, "The king", 8, ENG_LM_ADD_SPECIAL, &ids, &n);
    if (!status)
        status = eng_lm_sampler_create(s.model, &choice, &sampler);
    for (size_t i = 0; i < n && !status; i++)
        eng_lm_sampler_accept(sampler, ids[i]);
    if (!status)
        status = eng_lm_grammar_create(s.model, "root ::= (word [ .,]*){1,9}\nword ::= [^ \\u00e9]+ | \"x\" root?",
                                       NULL, &grammar);
    if (!status)
        status = eng_lm_sampler_set_grammar(sampler, grammar);
    if (!status)
        status = eng_lm_decode(s.context,
                               &(eng_lm_batch){.size = sizeof(eng_lm_batch), .n_tokens = (uint32_t)n, .tokens = ids});
    if (!status)
        status = eng_lm_sampler_choose(sampler, eng_lm_logits(s.context, (uint32_t)n - 1), &token);
    if (!status)
        status = eng_lm_text(s.model, &token, 1, 0, &piece, &length);
    if (!status)
        snprintf(text, bytes, "%s", taken > 0 ? piece : "(nothing was collected)");
    if (!status)
        eng_lm_sampler_accept(sampler, token);
    if (!status && eng_lm_sampler_grammar_state(sampler) == ENG_LM_GRAMMAR_LEFT) /* the grammar has this token */
        status = eng_lm_sampler_choose(sampler, eng_lm_logits(s.context, (uint32_t)n - 1), &token);
    eng_lm_free(piece);
    eng_lm_free(ids);
    eng_lm_sampler_destroy(sampler);
    eng_lm_grammar_destroy(grammar);
    subject_close(&s);
    return status;
}

/* With the nth request refused; 0: none.  What is kept, into *kept. */
static bool run_once(eng_context *engine, const char *device, uint64_t nth, bool all, const char *right, int64_t *kept)
{
    char text[64] = "", said[600] = "";
    count_refuse(nth, all);
    count_start();
    int status = run(engine, device, text, sizeof text);
    if (status)
        snprintf(said, sizeof said, "%s", eng_last_error());
    count_refuse(0, false);
    count_stop();
    *kept = count_kept();
    bool good = status ? status == ENG_ERR_NOMEM && nth && said[0] : strcmp(text, right) == 0;
    if (!good || *kept > 0)
        printf("# request %" PRIu64 "%s refused on %s: %s, '%s'; %" PRId64 " pieces kept\n", nth,
               all ? " and what follows" : "", device, eng_status_name(status), status ? said : text, *kept);
    return good;
}

/* On a busy machine the engine may make a thread, of which the C library keeps something: what is lost is lost each
 * time. */
static bool run_without(eng_context *engine, const char *device, uint64_t nth, bool all, const char *right)
{
    int64_t kept;
    bool good = run_once(engine, device, nth, all, right, &kept);
    if (good && kept > 0)
        good = run_once(engine, device, nth, all, right, &kept);
    return good && kept <= 0;
}

static void check_device(const char *device)
{
    eng_context *engine = tap_begin();
    char right[64];
    if (!engine || eng_context_set_option(engine, "cpu.threads", "2"))
        return;
    /* twice: what is made once and kept, by the C library and the engine's watcher, is there then */
    int status = run(engine, device, right, sizeof right);
    bool good = !status && run_without(engine, device, 0, false, right);
    uint64_t tried = 0, bad = 0;
    for (bool more = good; more && bad < 5; tried += more) {
        bad += !run_without(engine, device, tried + 1, tried % 2, right);
        more = count_refused();
    }
    good = good && run_without(engine, device, 0, false, right);
    tap_check(good && tried > 100 && !bad, "%s: %" PRIu64 " requests for memory refused, %" PRIu64 " runs go wrong%s%s",
              device, tried, bad, status ? ": " : "", status ? eng_last_error() : "");
    eng_context_destroy(engine);
}

int main(void)
{
    if (!count_possible()) {
        printf("1..0 # SKIP this build cannot refuse memory\n");
        return 0;
    }
    snprintf(model, sizeof model, "%s", data_path("tiny-hybrid-f16.gguf"));
    check_device("cpu");
#ifdef HAVE_META
    check_device("cpu/2@3:1");
#endif
    return tap_end(NULL);
}
