/* Drafting: a step guesses, runs, chooses and takes back. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../sampling/sampler.h"
#include "draft.h"
#include "verify.h"

void eng_lm_draft_defaults(eng_lm_draft_params *p)
{
    *p = (eng_lm_draft_params){.size = sizeof *p, .max = 4, .min = 1};
}

/* -- creating ------------------------------------------------------------------------ */

static int check_params(const eng_lm_context *c, const eng_lm_draft_params *p)
{
    if (p->from > ENG_LM_DRAFT_BLOCK)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_create" ENG_CAUSE
                        "from is %u, expected ENG_LM_DRAFT_NGRAM (0), _HOST (1), "
                        "_MODEL (2) or _BLOCK (3)", p->from);
    if (p->max < 1 || p->max > ENG_LM_DRAFT_MOST || p->min < 1 || p->min > p->max)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_create" ENG_CAUSE
                        "guesses of %u to %u tokens are not possible: 1 to %d "
                        "are", p->min, p->max, ENG_LM_DRAFT_MOST);
    if (p->from == ENG_LM_DRAFT_HOST && !p->guess)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_create" ENG_CAUSE "guesses of the host need a function");
    if (p->from == ENG_LM_DRAFT_MODEL && !p->model)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_create" ENG_CAUSE "guesses of a model need one");
    if (!(p->p_min >= 0 && p->p_min <= 1))
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_create" ENG_CAUSE "p_min is %g, expected 0 to 1",
                        (double)p->p_min);
    return lm_sequence_check(c, p->sequence);
}

/* Do guesses cost passes, of a second model or a block? */
static bool dear(const eng_lm_draft *d)
{
    return d->p.from == ENG_LM_DRAFT_MODEL || d->p.from == ENG_LM_DRAFT_BLOCK;
}

/* Does the model that guesses read the caches of the first? */
static bool assisted(const eng_lm_draft *d)
{
    return d->p.from == ENG_LM_DRAFT_MODEL && d->p.model->arch->assistant;
}

static int begin_guesses(eng_lm_draft *d)
{
    size_t n = (size_t)d->context->model->n.n_vocab;
    if (!dear(d))
        return ENG_OK;
    d->q = lm_calloc(n * d->p.max, sizeof *d->q);
    d->p_room = lm_calloc(n, sizeof *d->p_room);
    if (!d->q || !d->p_room)
        return ENG_ERR_NOMEM;
    return d->p.from == ENG_LM_DRAFT_BLOCK ? lm_block_begin(&d->block, d->context) :
           assisted(d) ? lm_assistant_begin(&d->assistant, d->context, d->p.model, d->p.sequence) :
                                             lm_second_begin(&d->second, d->context, d->p.model, d->p.max);
}

int eng_lm_draft_create(eng_lm_context *context, const eng_lm_draft_params *params, eng_lm_draft **draft)
{
    eng_lm_draft_params own;
    if (!context || !draft)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_create" ENG_CAUSE
                        "a context and a place for the draft are needed");
    eng_lm_draft_defaults(&own);
    int status = params ? lm_take("eng_lm_draft_create", &own, sizeof own, params, 2 * sizeof(uint32_t)) : ENG_OK;
    if (!status)
        status = lm_outputs_all_logits(context, "eng_lm_draft_create");
    if (!status)
        status = check_params(context, &own);
    if (status)
        return status;
    eng_lm_draft *d = lm_calloc(1, sizeof *d);
    if (!d)
        return ENG_ERR_NOMEM;
    d->context = context;
    d->p = own;
    d->stats.first_near_tie = UINT64_MAX;
    memset(d->wanted, 1, sizeof d->wanted);
    lm_pace_init(&d->pace);
    d->guess.tokens = lm_calloc(own.max, sizeof *d->guess.tokens);
    status = d->guess.tokens ? begin_guesses(d) : ENG_ERR_NOMEM;
    if (status) {
        eng_lm_draft_destroy(d);
        return status;
    }
    *draft = d;
    return ENG_OK;
}

void eng_lm_draft_destroy(eng_lm_draft *d)
{
    if (!d)
        return;
    lm_ngram_free(&d->ngram);
    lm_second_end(&d->second);
    lm_block_end(&d->block);
    lm_assistant_end(&d->assistant);
    free(d->q);
    free(d->p_room);
    free(d->guess.tokens);
    free(d->text);
    free(d);
}

/* -- the text ------------------------------------------------------------------------- */

/* Room for n more tokens, before anything is run that could not be undone. */
static int reserve(eng_lm_draft *d, size_t n)
{
    bool room = eu_reserve(d->text, d->text_room, d->n_text + n);
    return room ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the text that is drafted for"));
}

static void append(eng_lm_draft *d, const int32_t *tokens, size_t n)
{
    memcpy(d->text + d->n_text, tokens, n * sizeof *tokens);
    d->n_text += n;
}

static int check_length(const eng_lm_draft *d, size_t n)
{
    const eng_lm_context *c = d->context;
    int64_t held = lm_cells_next(c, &c->sequences[d->p.sequence]); /* with those that were dropped */
    if (n == 0 || held != (int64_t)n - 1)
        return eng_fail(ENG_ERR_STATE, "a text of %zu tokens is not that of sequence %u" ENG_CAUSE
                        "it holds %lld, and the text "
                        "must be those and the one that was chosen after them", n, d->p.sequence, (long long)held);
    return ENG_OK;
}

int eng_lm_draft_begin(eng_lm_draft *d, const int32_t *tokens, size_t n)
{
    if (!d || (!tokens && n))
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_begin" ENG_CAUSE "a draft and tokens are needed");
    int status = check_length(d, n);
    if (status)
        return status;
    d->n_text = 0;
    lm_ngram_forget(&d->ngram);
    lm_second_forget(&d->second);
    status = reserve(d, n);
    if (!status)
        append(d, tokens, n);
    if (!status && d->p.from == ENG_LM_DRAFT_BLOCK)
        status = lm_block_forget(&d->block);
    if (!status && d->p.from == ENG_LM_DRAFT_BLOCK)
        status = lm_block_follow(&d->block, d->p.sequence, tokens, n);
    if (!status && assisted(d))
        lm_assistant_follow(&d->assistant);
    return status;
}

/* -- guessing --------------------------------------------------------------------------- */

/* How many tokens beside the one chosen last the context takes, and could give back.  No token is dropped for a guess:
 * what the text sees would depend on it, and stay dropped if the guess is taken back. */
static uint32_t most_guessed(const eng_lm_draft *d, uint32_t room)
{
    const eng_lm_context *c = d->context;
    uint32_t most = d->p.max < room - 1 ? d->p.max : room - 1;
    uint32_t left = lm_cells_free(c);
    uint32_t limits[] = {c->p.n_batch - 1, c->p.n_logits - 1, left ? left - 1 : 0,
                         c->model->n.recurrent ? c->p.n_snapshots - 1 : most};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        most = limits[i] < most ? limits[i] : most;
    return most < d->p.min ? 0 : most;
}

static uint32_t ngram_sureness(uint32_t matched)
{
    return matched >= 8 ? 2 : matched >= 4;
}

static int ask(eng_lm_draft *d, eng_lm_sampler *sampler, uint32_t most)
{
    lm_guess *g = &d->guess;
    if (dear(d)) {
        const lm_ask ask = {.tokens = d->text, .n_tokens = d->n_text, .most = most, .p_min = d->p.p_min,
                                   .sampler = sampler->sampler, .q = d->q};
        return d->p.from == ENG_LM_DRAFT_BLOCK ? lm_block_guess(&d->block, &ask, g->tokens, &g->n, &g->drawn) :
               assisted(d) ? lm_assistant_guess(&d->assistant, &ask, g->tokens, &g->n, &g->drawn) :
                                                 lm_second_guess(&d->second, &ask, g->tokens, &g->n, &g->drawn);
    }
    if (d->p.from == ENG_LM_DRAFT_NGRAM) {
        uint32_t matched;
        if (!lm_ngram_learn(&d->ngram, d->text, d->n_text))
            return eng_fail_code(EU_NO_MEMORY("pairs of tokens"));
        g->n = lm_ngram_guess(&d->ngram, d->text, most, g->tokens, &matched);
        g->sureness = ngram_sureness(matched);
        return ENG_OK;
    }
    int status = d->p.guess(d->p.guess_user, d->text, d->n_text, most, g->tokens, &g->n);
    if (!status && g->n > most)
        return eng_fail(ENG_ERR_INVALID, "the host's guess has %u tokens" ENG_CAUSE "at most %u were asked for", g->n,
                        most);
    return status;
}

/* A guess as long as pays; one that is no token of the vocabulary ends it, and one that ends the text goes no
 * further. */
static int guess(eng_lm_draft *d, eng_lm_sampler *sampler, uint32_t room, uint32_t *asked)
{
    lm_guess *g = &d->guess;
    bool always = d->p.flags & ENG_LM_DRAFT_ALWAYS;
    uint32_t most = most_guessed(d, room);
    bool exact = dear(d); /* no token is guessed that will not be run */
    g->n = g->sureness = *asked = 0;
    g->drawn = false;
    if (exact && !always)
        most = lm_pace_choose(&d->pace, 0, most);
    if (most == 0 || (!always && d->pace.off))
        return ENG_OK;
    int status = ask(d, sampler, most);
    if (status)
        return status;
    *asked = g->n;
    uint32_t n = always || exact ? g->n : lm_pace_choose(&d->pace, g->sureness, g->n);
    for (uint32_t i = 0; i < n; i++)
        if (g->tokens[i] < 0 || g->tokens[i] >= d->context->model->n.n_vocab)
            n = i;
        else if (!(d->p.flags & ENG_LM_DRAFT_PAST_END) && eng_lm_is_end(d->context->model, g->tokens[i]))
            n = i + 1;
    g->n = n < d->p.min ? 0 : n;
    return ENG_OK;
}

/* -- choosing ----------------------------------------------------------------------------- */

/* Logits that differ by less may change places when a pass of another size adds in another order. */
static double near(const eng_lm_context *c)
{
    bool blocks = eng_type_get(c->p.type_k)->block > 1 || eng_type_get(c->p.type_v)->block > 1;
    return blocks || c->p.precision ? 2e-2 : 1e-3;
}

static void note_tie(eng_lm_draft *d, const eng_sampler *sampler, size_t at)
{
    if (eng_sampler_lead(sampler) >= near(d->context))
        return;
    if (d->stats.near_ties++ == 0)
        d->stats.first_near_tie = at;
}

/* The token at place i, whose guess was drawn, or is simply what the sampler must draw to accept it. */
static int choose_at(eng_lm_draft *d, eng_lm_sampler *sampler, const float *logits, uint32_t i, int32_t *token)
{
    const lm_guess *g = &d->guess;
    size_t n = (size_t)d->context->model->n.n_vocab;
    return g->drawn && i < g->n ? lm_verify(sampler->sampler, logits, d->q + i * n, g->tokens[i], d->p_room, token)
                                : eng_lm_sampler_choose(sampler, logits, token);
}

/* The tokens that the model gives after the one run first and each guess that it would have given; *n of them, all but
 * the last of which are guesses. */
static int choose(eng_lm_draft *d, eng_lm_sampler *sampler, int32_t *tokens, uint32_t *n)
{
    const lm_guess *g = &d->guess;
    *n = 0;
    for (uint32_t i = 0;; i++) {
        const float *logits = eng_lm_logits(d->context, i);
        int32_t token;
        int status = choose_at(d, sampler, logits, i, &token);
        if (status) /* the tokens before are chosen all the same, and a step that begins here says so again */
            return i ? ENG_OK : status;
        eng_lm_sampler_accept(sampler, token);
        if (g->n && eng_sampler_greedy(sampler->sampler))
            note_tie(d, sampler->sampler, d->n_text + i);
        tokens[(*n)++] = token;
        if (i == g->n || token != g->tokens[i])
            return ENG_OK;
        if (!(d->p.flags & ENG_LM_DRAFT_PAST_END) && eng_lm_is_end(d->context->model, token))
            return ENG_OK; /* a guess that ends the text is run, but nothing follows */
    }
}

/* -- a step --------------------------------------------------------------------------------- */

static uint64_t compiled(const eng_lm_draft *d)
{
    eng_device_stats stats = {.size = sizeof stats};
    return eng_device_get_stats(d->context->model->device, &stats) ? 0 : stats.compiled;
}

static uint64_t guess_plan_ns(const eng_lm_draft *d)
{
    const eng_lm_context *c = d->p.from == ENG_LM_DRAFT_BLOCK ? d->block.context :
                              assisted(d) ? d->assistant.context : d->second.context;
    return c ? c->plan_ns : 0;
}

/* The token chosen last and the guess, as one pass. */
static int run(eng_lm_draft *d)
{
    int32_t tokens[ENG_LM_DRAFT_MOST + 1], sequences[ENG_LM_DRAFT_MOST + 1];
    eng_lm_batch b = {.size = sizeof b, .n_tokens = d->guess.n + 1, .tokens = tokens, .sequences = sequences,
                      .logits = d->wanted};
    tokens[0] = d->text[d->n_text - 1];
    memcpy(tokens + 1, d->guess.tokens, d->guess.n * sizeof *tokens);
    for (uint32_t i = 0; i < b.n_tokens; i++)
        sequences[i] = (int32_t)d->p.sequence;
    return eng_lm_decode(d->context, &b);
}

typedef struct times {
    uint64_t begin, guessed, ran, chosen, end;
    uint64_t plans; /* of what a pass took                                        */
} times;

static void note(eng_lm_draft *d, const times *t, uint32_t asked, uint32_t n, bool cold)
{
    eng_lm_draft_stats *s = &d->stats;
    uint64_t guess = t->guessed - t->begin, pass = t->ran - t->guessed - t->plans, back = t->end - t->chosen;
    s->steps++;
    s->length = d->guess.n ? d->guess.n : s->length;
    s->tokens += n;
    s->drafted += d->guess.n;
    s->accepted += n - 1;
    s->guess_ns += guess;
    s->verify_ns += pass;
    s->rollback_ns += back;
    s->host_ns += t->chosen - t->ran;
    s->rollbacks += n - 1 < d->guess.n;
    const lm_pace_step step = {
        .sureness = d->guess.sureness, .guessed = asked, .run = d->guess.n, .accepted = n - 1, .guess = 1e-9 *
                (double)guess,
        .pass = 1e-9 * (double)pass, .rest = 1e-9 * (double)(t->end - t->ran), .cold = cold || t->plans,
    };
    lm_pace_note(&d->pace, &step);
}

int eng_lm_draft_step(eng_lm_draft *d, eng_lm_sampler *sampler, uint32_t room, int32_t *tokens, uint32_t *n)
{
    if (!d || !sampler || !tokens || !n || room == 0)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_step" ENG_CAUSE
                        "a draft, a sampler, room for tokens and a place for their "
                        "number are needed");
    times t = {.begin = eu_now()};
    uint64_t before = compiled(d), plans = d->context->plan_ns, guess_plans = guess_plan_ns(d);
    uint32_t asked, given;
    int status = check_length(d, d->n_text);
    if (!status)
        status = guess(d, sampler, room, &asked);
    if (!status)
        status = reserve(d, d->guess.n + 1);
    t.guessed = eu_now();
    if (!status)
        status = run(d);
    if (status)
        return status;
    t.ran = eu_now();
    t.plans = d->context->plan_ns - plans;
    status = choose(d, sampler, tokens, &given);
    if (status)
        return status;
    if (d->p.from == ENG_LM_DRAFT_BLOCK)
        status = lm_block_note(&d->block, tokens, given);
    else if (assisted(d))
        lm_assistant_note(&d->assistant, given);
    if (status)
        return status;
    t.chosen = eu_now();
    /* kept are the token run first and the guesses chosen: all that is given but the last */
    status = eng_lm_sequence_rollback(d->context, d->p.sequence, d->guess.n + 1 - given);
    if (status)
        return status;
    t.end = eu_now();
    append(d, tokens, given);
    note(d, &t, asked, given, compiled(d) != before || guess_plan_ns(d) != guess_plans);
    *n = given;
    return ENG_OK;
}

int eng_lm_draft_get_stats(const eng_lm_draft *d, eng_lm_draft_stats *stats)
{
    if (!d || !stats)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_draft_get_stats" ENG_CAUSE
                        "a draft and stats with their size set are needed");
    eng_lm_draft_stats own = d->stats;
    own.size = sizeof own;
    own.off = d->pace.off;
    own.turned_off = d->pace.turned_off;
    own.pass_seconds = lm_pace_pass(&d->pace, 1);
    if (own.length && d->pace.pass[own.length + 1] > 0)
        own.draft_seconds = d->pace.pass[own.length + 1] + own.length * d->pace.guess;
    return lm_give("eng_lm_draft_get_stats", &own, sizeof own, stats, 2 * sizeof(uint32_t));
}
