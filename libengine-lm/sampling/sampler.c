/*
 * Sampling: candidates start in the order of the vocabulary, the steps of the chain go over them, and the draw walks
 * them in the order they then have.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar.h"
#include "libengine/util/util.h"
#include "chain.h"
#include "filters.h"
#include "mirostat.h"
#include "random.h"
#include "sampler.h"

struct eng_sampler {
    eng_sampler_settings settings;
    lm_words words;
    uint32_t seed;
    lm_chain chain;
    lm_candidates c;     /* room for the vocabulary                              */
    lm_typical *typical; /* the same, if that is asked for                       */
    eng_lm_logit_bias *bias;
    lm_history history;
    lm_constraint *constraint; /* or NULL                                        */
    bool free;           /* of the constraint, for now                           */
    lm_mirostat mirostat;
    lm_twister random;
    double lead;
};

/* -- creating ----------------------------------------------------------------- */

void eng_sampler_defaults(eng_sampler_settings *settings)
{
    *settings = (eng_sampler_settings){
        .size = sizeof *settings,
        .temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .penalty_last = 64,
        .repeat_penalty = 1,
        .seed = ENG_SAMPLER_SEED_RANDOM,
        .typical_p = 1,
        .xtc_threshold = 0.1f,
        .dynatemp_exponent = 1,
        .dry_base = 1.75f,
        .dry_allowed_length = 2,
        .dry_penalty_last = -1,
        .mirostat_tau = 5,
        .mirostat_eta = 0.1f,
    };
}

static int check_settings(const eng_sampler_settings *s)
{
    if (!isfinite(s->temperature) || isnan(s->top_p) || isnan(s->min_p) || isnan(s->typical_p) || isnan(s->top_n_sigma))
        return eng_fail(ENG_ERR_INVALID, "temperature, top-p, min-p, typical-p and top-n-sigma must be numbers");
    if (!(s->repeat_penalty > 0) || !isfinite(s->repeat_penalty) || !isfinite(s->frequency_penalty) ||
        !isfinite(s->presence_penalty))
        return eng_fail(ENG_ERR_INVALID,
                        "the repeat penalty must be a number above 0 (1" ENG_CAUSE
                        "none), the other penalties numbers");
    if (!(s->xtc_probability >= 0 && s->xtc_probability <= 1) || !(s->xtc_threshold >= 0 && s->xtc_threshold <= 1))
        return eng_fail(ENG_ERR_INVALID, "the probability and the threshold of XTC must be numbers from 0 to 1");
    if (!isfinite(s->dynatemp_range) || s->dynatemp_range < 0 || !isfinite(s->dynatemp_exponent) ||
        s->dynatemp_exponent < 0)
        return eng_fail(ENG_ERR_INVALID,
                        "the range and the exponent of a dynamic temperature must be numbers, not below 0");
    if (!isfinite(s->dry_multiplier) || s->dry_multiplier < 0 || !isfinite(s->dry_base) ||
        (s->dry_multiplier > 0 && s->dry_base < 1))
        return eng_fail(ENG_ERR_INVALID,
                        "the multiplier of DRY must be a number, not below 0, and its base one of 1 or more");
    if (s->mirostat > 2 ||
        (s->mirostat && (!isfinite(s->mirostat_tau) || s->mirostat_tau < 0 || !isfinite(s->mirostat_eta))))
        return eng_fail(ENG_ERR_INVALID,
                        "mirostat must be 0, 1 or 2, its tau a number that is not below 0 and its eta a number");
    return ENG_OK;
}

static int check_bias(const eng_sampler_settings *s, uint32_t n_vocab)
{
    if (s->n_logit_bias && !s->logit_bias)
        return eng_fail(ENG_ERR_INVALID, "%u logit biases are announced" ENG_CAUSE "their list is NULL",
                        s->n_logit_bias);
    for (uint32_t i = 0; i < s->n_logit_bias; i++) {
        const eng_lm_logit_bias *b = &s->logit_bias[i];
        if (b->token < 0 || (uint32_t)b->token >= n_vocab)
            return eng_fail(ENG_ERR_INVALID, "a logit bias is for token %d" ENG_CAUSE "the vocabulary has %u", b->token,
                            n_vocab);
        if (isnan(b->bias) || b->bias == INFINITY)
            return eng_fail(ENG_ERR_INVALID,
                            "the logit bias of token %d" ENG_CAUSE "it must be a number, or minus infinity", b->token);
    }
    return ENG_OK;
}

static bool uses(const lm_chain *chain, lm_step step)
{
    return memchr(chain->steps, step, chain->n) != NULL;
}

static bool begin_history(eng_sampler *s)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    const eng_sampler_settings *p = &s->settings;
    const bool all = !p->dry_breakers;
    const lm_history_params h = {
        .n_vocab = s->words.n_vocab,
        .penalty_last = uses(&s->chain, LM_STEP_PENALTIES) ? p->penalty_last : 0,
        .repeat_penalty = p->repeat_penalty,
        .frequency_penalty = p->frequency_penalty,
        .presence_penalty = p->presence_penalty,
        .dry_multiplier = uses(&s->chain, LM_STEP_DRY) ? p->dry_multiplier : 0,
        .dry_base = p->dry_base,
        .dry_allowed_length = p->dry_allowed_length,
        .dry_penalty_last = p->dry_penalty_last,
        .dry_breakers = all ? usual : p->dry_breakers,
        .n_dry_breakers = all ? sizeof usual / sizeof *usual : p->n_dry_breakers,
        .piece = s->words.piece,
        .piece_owner = s->words.owner,
    };
    return lm_history_init(&s->history, &h);
}

/* What is allocated; the settings' own lists are the host's. */
static bool allocate(eng_sampler *s)
{
    const size_t n = s->words.n_vocab, n_bias = s->settings.n_logit_bias;
    bool typical = s->settings.typical_p < 1 && uses(&s->chain, LM_STEP_TYPICAL);

    s->c.list = malloc(n * sizeof *s->c.list);
    s->typical = typical ? malloc(n * sizeof *s->typical) : NULL;
    s->bias = eu_zeroed(n_bias, sizeof *s->bias);
    if (s->bias && n_bias)
        memcpy(s->bias, s->settings.logit_bias, n_bias * sizeof *s->bias);
    return s->c.list && s->bias && (s->typical || !typical) && begin_history(s);
}

int eng_sampler_create(const eng_sampler_settings *settings, const lm_words *words, eng_sampler **sampler)
{
    lm_chain chain;
    int status = words->n_vocab > 0 ? check_settings(settings) :
                                      eng_fail(ENG_ERR_INVALID, "a sampler needs a vocabulary");

    if (!status)
        status = check_bias(settings, words->n_vocab);
    if (!status)
        status = lm_chain_parse(settings->samplers, &chain);
    if (status)
        return status;
    eng_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return eng_fail_code(EU_NO_MEMORY("a sampler"));
    s->settings = *settings;
    s->words = *words;
    s->chain = chain;
    s->seed = settings->seed == ENG_SAMPLER_SEED_RANDOM ? lm_random_seed() : settings->seed;
    if (!allocate(s)) {
        eng_sampler_destroy(s);
        return eng_fail_code(EU_NO_MEMORY("a sampler"));
    }
    lm_mirostat_init(&s->mirostat, settings->mirostat, settings->mirostat_tau, settings->mirostat_eta);
    lm_twister_seed(&s->random, s->seed);
    *sampler = s;
    return ENG_OK;
}

void eng_sampler_destroy(eng_sampler *sampler)
{
    if (!sampler)
        return;
    lm_history_free(&sampler->history);
    lm_mirostat_free(&sampler->mirostat);
    lm_constraint_destroy(sampler->constraint);
    free(sampler->c.list);
    free(sampler->typical);
    free(sampler->bias);
    free(sampler);
}

uint32_t eng_sampler_seed(const eng_sampler *sampler)
{
    return sampler->seed;
}

bool eng_sampler_greedy(const eng_sampler *sampler)
{
    return sampler->settings.temperature <= 0;
}

void eng_sampler_accept(eng_sampler *sampler, int32_t token)
{
    if (token < 0 || (uint32_t)token >= sampler->words.n_vocab)
        return;
    lm_history_accept(&sampler->history, token);
    if (sampler->mirostat.version)
        lm_mirostat_accept(&sampler->mirostat, &sampler->c, token);
    if (sampler->constraint)
        lm_constraint_accept(sampler->constraint, token);
}

int eng_sampler_rollback(eng_sampler *sampler, size_t n)
{
    if (n > sampler->history.n)
        return eng_fail(ENG_ERR_STATE, "%zu tokens cannot be taken back" ENG_CAUSE "the sampler has noted %zu", n,
                        sampler->history.n);
    lm_history_rollback(&sampler->history, n);
    lm_mirostat_rollback(&sampler->mirostat, n);
    if (sampler->constraint)
        lm_constraint_rollback(sampler->constraint, n);
    return ENG_OK;
}

void eng_sampler_constrain(eng_sampler *sampler, lm_constraint *constraint)
{
    lm_constraint_destroy(sampler->constraint);
    sampler->constraint = constraint;
}

uint32_t eng_sampler_constraint_state(const eng_sampler *sampler)
{
    return sampler->constraint ? lm_constraint_state(sampler->constraint) : ENG_LM_GRAMMAR_NONE;
}

/* -- choosing ---------------------------------------------------------------------- */

static void add_biases(eng_sampler *s, bool all)
{
    for (uint32_t k = 0; k < s->settings.n_logit_bias; k++)
        for (uint32_t i = all ? (uint32_t)s->bias[k].token : 0; i < s->c.n; i++) {
            if (s->c.list[i].token != s->bias[k].token)
                continue;
            s->c.list[i].logit += s->bias[k].bias;
            s->c.sorted = false;
            break;
        }
}

/* What must not be chosen is no candidate. */
static int leave_out(eng_sampler *s)
{
    const uint64_t *allowed = NULL;
    uint32_t kept = 0, by_grammar = 0;
    int status = s->constraint && !s->free ? lm_constraint_allowed(s->constraint, &allowed) : ENG_OK;

    if (status)
        return status;
    for (uint32_t i = 0; i < s->c.n; i++) {
        bool possible = !allowed || lm_bit(allowed, (uint32_t)s->c.list[i].token);
        by_grammar += !possible;
        if (possible && s->c.list[i].logit > -INFINITY)
            s->c.list[kept++] = s->c.list[i];
    }
    s->c.n = kept;
    return kept ? ENG_OK :
                  eng_fail(ENG_ERR_STATE,
                           "no token is left to choose" ENG_CAUSE "%s that the model gives" ENG_ADVICE "forbid fewer",
                           by_grammar ? "the grammar and minus infinity as a logit forbid all" :
                                        "the logit biases forbid all");
}

/* Tokens with the logit -inf (or NaN) are never chosen.  tokens: what the n logits are of, the largest first; NULL: of
 * all. */
static int load(eng_sampler *s, const int32_t *tokens, const float *logits, uint32_t n)
{
    int any = 0, infinite = 0;

    if (s->history.failed || s->mirostat.failed)
        return eng_fail_code(EU_NO_MEMORY("the tokens that a sampler looks back on"));
    for (uint32_t i = 0; i < n; i++) {
        float l = logits[i];
        int32_t token = tokens ? tokens[i] : (int32_t)i;
        if (token < 0 || (uint32_t)token >= s->words.n_vocab)
            return eng_fail(ENG_ERR_INVALID, "token %d is not in the vocabulary of %u", token, s->words.n_vocab);
        if (isnan(l))
            return eng_fail(ENG_ERR_DEVICE,
                            "the logit of token %d is not a number" ENG_CAUSE "the model's weights or the device are "
                            "at fault" ENG_ADVICE "try another device",
                            token);
        infinite |= l == INFINITY;
        any |= l > -INFINITY;
        s->c.list[i] = (lm_candidate){token, l};
    }
    if (!any || infinite)
        return eng_fail(ENG_ERR_DEVICE,
                        "the logits are %s" ENG_CAUSE "the model's weights or the device are at fault" ENG_ADVICE
                        "try another "
                        "device",
                        any ? "infinite" : "all minus infinity");
    s->c.n = n;
    s->c.sorted = tokens != NULL;
    add_biases(s, !tokens);
    return leave_out(s);
}

/* xtc: does it take something this time? */
static void run_step(eng_sampler *s, lm_step step, bool xtc)
{
    const eng_sampler_settings *p = &s->settings;

    switch (step) {
    case LM_STEP_PENALTIES: lm_penalise(&s->history, &s->c); break;
    case LM_STEP_DRY: lm_penalise_repetitions(&s->history, &s->c); break;
    case LM_STEP_TOP_N_SIGMA: lm_filter_top_n_sigma(&s->c, p->top_n_sigma); break;
    case LM_STEP_TOP_K: lm_filter_top_k(&s->c, p->top_k); break;
    case LM_STEP_TYPICAL: lm_filter_typical(&s->c, p->typical_p, s->typical); break;
    case LM_STEP_TOP_P: lm_filter_top_p(&s->c, p->top_p); break;
    case LM_STEP_MIN_P: lm_filter_min_p(&s->c, p->min_p); break;
    case LM_STEP_XTC:
        if (xtc)
            lm_filter_xtc(&s->c, p->xtc_threshold);
        break;
    case LM_STEP_TEMPERATURE:
        lm_filter_temperature(&s->c, p->temperature, p->dynatemp_range, p->dynatemp_exponent);
        break;
    case LM_STEPS: break;
    }
}

/* The candidates that are left to draw from; of the most likely token alone, all. */
static int filter(eng_sampler *s, const int32_t *tokens, const float *logits, uint32_t n, bool xtc)
{
    int status = load(s, tokens, logits, n);
    const bool few = s->settings.temperature <= 0 || s->mirostat.version;

    for (uint32_t i = 0; i < s->chain.n && !status; i++)
        if (!few || s->chain.steps[i] <= LM_STEP_DRY)
            run_step(s, s->chain.steps[i], xtc);
    if (!status && s->mirostat.version && s->settings.temperature > 0) {
        run_step(s, LM_STEP_TEMPERATURE, false);
        lm_mirostat_filter(&s->mirostat, &s->c, s->words.n_vocab);
        s->mirostat.known = !s->free;
    }
    return status;
}

static int32_t take_best(eng_sampler *s)
{
    uint32_t best = lm_best(&s->c);
    float other = -INFINITY;

    for (uint32_t i = 0; i < s->c.n; i++)
        other = i != best && s->c.list[i].logit > other ? s->c.list[i].logit : other;
    s->lead = (double)s->c.list[best].logit - (double)other;
    return s->c.list[best].token;
}

static int32_t draw(eng_sampler *s)
{
    double total = 0, sum = 0;
    float most = lm_largest(&s->c);
    int32_t chosen = s->c.list[0].token;

    for (uint32_t i = 0; i < s->c.n; i++)
        total += exp((double)(s->c.list[i].logit - most));
    double wanted = lm_twister_unit(&s->random) * total;
    for (uint32_t i = 0; i < s->c.n; i++) {
        double p = exp((double)(s->c.list[i].logit - most));
        if (p > 0)
            chosen = s->c.list[i].token;
        sum += p;
        if (sum >= wanted && p > 0)
            break;
    }
    return chosen;
}

static bool has_xtc(const eng_sampler *s)
{
    return s->settings.temperature > 0 && !s->mirostat.version && s->settings.xtc_probability > 0 &&
           s->settings.xtc_threshold <= 0.5f && uses(&s->chain, LM_STEP_XTC);
}

int eng_sampler_sample_of(eng_sampler *sampler, const int32_t *tokens, const float *logits, uint32_t n, int32_t *token)
{
    if (n > sampler->words.n_vocab)
        return eng_fail(ENG_ERR_INVALID, "%u tokens are more than the vocabulary has: %u", n, sampler->words.n_vocab);
    if (tokens && sampler->constraint)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "the largest logits alone are no choice under a grammar" ENG_CAUSE "it may forbid all of "
                        "them" ENG_ADVICE "choose from all logits");
    if (tokens && sampler->mirostat.version && sampler->settings.temperature > 0)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "the largest logits alone are no choice for mirostat" ENG_CAUSE "it may look at all of "
                        "them" ENG_ADVICE "choose from all logits");
    bool xtc = has_xtc(sampler) && lm_twister_unit(&sampler->random) < (double)sampler->settings.xtc_probability;
    int status = filter(sampler, tokens, logits, n, xtc);
    if (!status)
        *token = sampler->settings.temperature <= 0 ? take_best(sampler) : draw(sampler);
    return status;
}

int eng_sampler_sample(eng_sampler *sampler, const float *logits, int32_t *token)
{
    return eng_sampler_sample_of(sampler, NULL, logits, sampler->words.n_vocab, token);
}

double eng_sampler_lead(const eng_sampler *sampler)
{
    return sampler->lead;
}

/* -- distributions ----------------------------------------------------------------- */

uint32_t eng_sampler_vocabulary(const eng_sampler *sampler)
{
    return sampler->words.n_vocab;
}

/* Adds `part` of the distribution of the candidates that are left. */
static void add_shares(eng_sampler *s, double part, float *p)
{
    double total = 0;

    if (s->settings.temperature <= 0) {
        p[take_best(s)] = 1;
        return;
    }
    float most = lm_largest(&s->c);
    for (uint32_t i = 0; i < s->c.n; i++)
        total += exp((double)(s->c.list[i].logit - most));
    for (uint32_t i = 0; i < s->c.n; i++)
        p[s->c.list[i].token] += (float)(part * exp((double)(s->c.list[i].logit - most)) / total);
}

int eng_sampler_probabilities(eng_sampler *sampler, const float *logits, float *p)
{
    eng_sampler *s = sampler;
    double taken = has_xtc(s) ? (double)s->settings.xtc_probability : 0;
    int status = ENG_OK;

    memset(p, 0, s->words.n_vocab * sizeof *p);
    for (int xtc = 0; xtc < 2 && !status; xtc++) {
        double part = xtc ? taken : 1 - taken;
        if (part <= 0)
            continue;
        status = filter(s, NULL, logits, s->words.n_vocab, xtc);
        if (!status)
            add_shares(s, part, p);
    }
    return status;
}

int eng_sampler_proposal(eng_sampler *sampler, const float *logits, float *p)
{
    sampler->free = true;
    int status = eng_sampler_probabilities(sampler, logits, p);
    sampler->free = false;
    return status;
}

double eng_sampler_unit(eng_sampler *sampler)
{
    return lm_twister_unit(&sampler->random);
}

int32_t eng_sampler_pick(eng_sampler *sampler, const float *p)
{
    double total = 0, sum = 0;
    int32_t chosen = 0;

    for (uint32_t i = 0; i < sampler->words.n_vocab; i++)
        total += (double)p[i];
    double wanted = lm_twister_unit(&sampler->random) * total;
    for (uint32_t i = 0; i < sampler->words.n_vocab; i++) {
        if (!(p[i] > 0))
            continue;
        chosen = (int32_t)i;
        sum += (double)p[i];
        if (sum > wanted)
            break;
    }
    return chosen;
}
