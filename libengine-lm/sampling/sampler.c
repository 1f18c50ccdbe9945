/*
 * Sampling.  Candidates start in the order of the vocabulary; a filter that needs
 * them sorted sorts them (largest first, the lower token first among equals), and
 * the draw walks them in the order they then have.
 *
 * The random numbers are those of the Mersenne Twister MT19937 (M. Matsumoto and
 * T. Nishimura, ACM TOMACS 8(1), 1998), two outputs a draw, the low word first,
 * of which 53 bits make a number from 0 to 1.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "sampler.h"

#define MT_N 624
#define MT_M 397

typedef struct twister {
    uint32_t state[MT_N];
    uint32_t next;
} twister;

typedef struct candidate {
    int32_t token;
    float logit;
} candidate;

struct eng_sampler {
    eng_sampler_settings settings;
    uint32_t seed;
    uint32_t n_vocab;
    candidate *list; /* n_vocab entries */
    uint32_t n;      /* in use */
    int sorted;
    int32_t *recent; /* ring of the tokens accepted last */
    uint32_t n_recent, next_recent;
    uint32_t *counts; /* occurrences among them, by token */
    twister random;
};

/* -- random numbers --------------------------------------------------------- */

static void twister_seed(twister *r, uint32_t seed)
{
    r->state[0] = seed;
    for (uint32_t i = 1; i < MT_N; i++)
        r->state[i] = 1812433253u * (r->state[i - 1] ^ r->state[i - 1] >> 30) + i;
    r->next = MT_N;
}

static void twister_refill(twister *r)
{
    for (uint32_t i = 0; i < MT_N; i++) {
        uint32_t y = (r->state[i] & 0x80000000u) | (r->state[(i + 1) % MT_N] & 0x7fffffffu);
        r->state[i] = r->state[(i + MT_M) % MT_N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    r->next = 0;
}

static uint32_t twister_next(twister *r)
{
    if (r->next == MT_N)
        twister_refill(r);
    uint32_t y = r->state[r->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* 0 <= x < 1.  The two words make a number of 64 bits, which is rounded to 53: 1
 * itself must not come out. */
static double twister_unit(twister *r)
{
    double low = twister_next(r), high = twister_next(r);
    double x = (low + high * 0x1p32) * 0x1p-64;

    return x < 1 ? x : nextafter(1, 0);
}

/* -- creating ----------------------------------------------------------------- */

void eng_sampler_defaults(eng_sampler_settings *settings)
{
    *settings = (eng_sampler_settings){
        .temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .penalty_last = 64,
        .repeat_penalty = 1,
        .seed = ENG_SAMPLER_SEED_RANDOM,
    };
}

static uint32_t random_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20 ^ (uint64_t)getpid() << 40;
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    return (uint32_t)x == ENG_SAMPLER_SEED_RANDOM ? 0 : (uint32_t)x;
}

static int has_penalties(const eng_sampler_settings *s)
{
    return s->penalty_last > 0 && (s->repeat_penalty != 1 || s->frequency_penalty != 0 || s->presence_penalty != 0);
}

static int check_settings(const eng_sampler_settings *s)
{
    if (!isfinite(s->temperature) || isnan(s->top_p) || isnan(s->min_p))
        return eng_fail(ENG_ERR_INVALID, "temperature, top-p and min-p must be numbers");
    if (!(s->repeat_penalty > 0) || !isfinite(s->repeat_penalty) || !isfinite(s->frequency_penalty) ||
        !isfinite(s->presence_penalty))
        return eng_fail(ENG_ERR_INVALID,
                        "the repeat penalty must be a number above 0 (1" ENG_CAUSE
                        "none), the other penalties numbers");
    return ENG_OK;
}

int eng_sampler_create(const eng_sampler_settings *settings, uint32_t n_vocab, eng_sampler **sampler)
{
    int status = n_vocab > 0 ? check_settings(settings) : eng_fail(ENG_ERR_INVALID, "a sampler needs a vocabulary");

    if (status)
        return status;
    eng_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return eng_fail_code(EU_NO_MEMORY("a sampler"));
    s->settings = *settings;
    s->n_vocab = n_vocab;
    s->seed = settings->seed == ENG_SAMPLER_SEED_RANDOM ? random_seed() : settings->seed;
    s->list = malloc(n_vocab * sizeof *s->list);
    if (has_penalties(settings)) {
        s->recent = malloc((size_t)settings->penalty_last * sizeof *s->recent);
        s->counts = calloc(n_vocab, sizeof *s->counts);
    }
    if (!s->list || (has_penalties(settings) && (!s->recent || !s->counts))) {
        eng_sampler_destroy(s);
        return eng_fail_code(EU_NO_MEMORY("a sampler"));
    }
    twister_seed(&s->random, s->seed);
    *sampler = s;
    return ENG_OK;
}

void eng_sampler_destroy(eng_sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->list);
    free(sampler->recent);
    free(sampler->counts);
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
    if (!sampler->recent || token < 0 || (uint32_t)token >= sampler->n_vocab)
        return;
    if (sampler->n_recent == (uint32_t)sampler->settings.penalty_last)
        sampler->counts[sampler->recent[sampler->next_recent]]--;
    else
        sampler->n_recent++;
    sampler->recent[sampler->next_recent] = token;
    sampler->next_recent = (sampler->next_recent + 1) % (uint32_t)sampler->settings.penalty_last;
    sampler->counts[token]++;
}

/* -- filters --------------------------------------------------------------------- */

static void penalise(eng_sampler *s)
{
    const eng_sampler_settings *p = &s->settings;

    if (!s->recent)
        return;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t n = s->counts[s->list[i].token];
        if (n == 0)
            continue;
        s->sorted = 0;
        float *l = &s->list[i].logit;
        *l = *l <= 0 ? *l * p->repeat_penalty : *l / p->repeat_penalty;
        *l -= (float)n * p->frequency_penalty + p->presence_penalty;
    }
}

static int better(const candidate *a, const candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

static int best_first(const void *a, const void *b)
{
    return better(a, b) ? -1 : better(b, a);
}

/* Lets the worst of the n candidates of a heap at the root sink (worst on top). */
static void sink(candidate *heap, uint32_t n, uint32_t i)
{
    candidate moving = heap[i];

    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && better(&heap[child], &heap[child + 1]))
            child++;
        if (!better(&moving, &heap[child]))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moving;
}

/* The k best, sorted: a heap of k while all others pass by. */
static void keep_best(eng_sampler *s, uint32_t k)
{
    if (s->sorted) {
        s->n = k < s->n ? k : s->n;
        return;
    }
    if (k < s->n) {
        for (uint32_t i = k / 2; i-- > 0;)
            sink(s->list, k, i);
        for (uint32_t i = k; i < s->n; i++)
            if (better(&s->list[i], &s->list[0])) {
                s->list[0] = s->list[i];
                sink(s->list, k, 0);
            }
        s->n = k;
    }
    qsort(s->list, s->n, sizeof *s->list, best_first);
    s->sorted = 1;
}

static void top_p(eng_sampler *s)
{
    const eng_sampler_settings *p = &s->settings;

    if (p->top_p >= 1 || s->n <= 1)
        return;
    keep_best(s, s->n);
    double total = 0, sum = 0;
    float most = s->list[0].logit;
    for (uint32_t i = 0; i < s->n; i++)
        total += exp((double)(s->list[i].logit - most));
    for (uint32_t i = 0; i < s->n; i++) {
        sum += exp((double)(s->list[i].logit - most));
        if (sum >= p->top_p * total) {
            s->n = i + 1;
            return;
        }
    }
}

static void min_p(eng_sampler *s)
{
    const eng_sampler_settings *p = &s->settings;
    uint32_t kept = 0;

    if (p->min_p <= 0 || s->n <= 1)
        return;
    float most = s->list[0].logit;
    for (uint32_t i = 1; i < s->n; i++)
        most = s->list[i].logit > most ? s->list[i].logit : most;
    float least = most + logf(p->min_p);
    uint32_t above = 0;
    for (uint32_t i = 0; i < s->n; i++)
        above += s->list[i].logit >= least;
    if (above == 0) { /* min_p is more than 1: the best one stays */
        keep_best(s, s->n);
        s->n = 1;
        return;
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->list[i].logit >= least)
            s->list[kept++] = s->list[i];
    s->n = kept;
}

static int32_t largest(const eng_sampler *s)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < s->n; i++)
        if (better(&s->list[i], &s->list[best]))
            best = i;
    return s->list[best].token;
}

static int32_t draw(eng_sampler *s)
{
    double total = 0, sum = 0;
    float t = s->settings.temperature, most = s->list[0].logit;

    for (uint32_t i = 1; i < s->n; i++)
        most = s->list[i].logit > most ? s->list[i].logit : most;
    for (uint32_t i = 0; i < s->n; i++)
        total += exp((double)((s->list[i].logit / t) - most / t));
    double wanted = twister_unit(&s->random) * total;
    int32_t chosen = -1;
    for (uint32_t i = 0; i < s->n; i++) {
        double p = exp((double)((s->list[i].logit / t) - most / t));
        if (p > 0)
            chosen = s->list[i].token;
        sum += p;
        if (sum >= wanted && p > 0)
            break;
    }
    return chosen >= 0 ? chosen : largest(s); /* so cold that logit / t is infinite */
}

/* -- choosing ---------------------------------------------------------------------- */

/* Tokens with the logit -inf (or NaN) are never chosen.  tokens: what the n logits are of, the largest first; NULL: of
 * all. */
static int load(eng_sampler *s, const int32_t *tokens, const float *logits, uint32_t n)
{
    int any = 0, infinite = 0;

    for (uint32_t i = 0; i < n; i++) {
        float l = logits[i];
        int32_t token = tokens ? tokens[i] : (int32_t)i;
        if (token < 0 || (uint32_t)token >= s->n_vocab)
            return eng_fail(ENG_ERR_INVALID, "token %d is not in the vocabulary of %u", token, s->n_vocab);
        if (isnan(l))
            return eng_fail(ENG_ERR_DEVICE,
                            "the logit of token %d is not a number" ENG_CAUSE "the model's weights or the device are "
                            "at fault" ENG_ADVICE "try another device",
                            token);
        infinite |= l == INFINITY;
        any |= l > -INFINITY;
        s->list[i] = (candidate){token, l};
    }
    if (!any || infinite)
        return eng_fail(ENG_ERR_DEVICE,
                        "the logits are %s" ENG_CAUSE "the model's weights or the device are at fault" ENG_ADVICE
                        "try another "
                        "device",
                        any ? "infinite" : "all minus infinity");
    s->n = n;
    s->sorted = tokens != NULL;
    return ENG_OK;
}

/* The candidates that are left to draw from; of the most likely token alone, all. */
static int filter(eng_sampler *s, const int32_t *tokens, const float *logits, uint32_t n)
{
    int status = load(s, tokens, logits, n);

    if (status)
        return status;
    penalise(s);
    if (s->settings.temperature <= 0)
        return ENG_OK;
    if (s->settings.top_k > 0)
        keep_best(s, (uint32_t)s->settings.top_k);
    top_p(s);
    min_p(s);
    return ENG_OK;
}

int eng_sampler_sample_of(eng_sampler *sampler, const int32_t *tokens, const float *logits, uint32_t n, int32_t *token)
{
    int status = n <= sampler->n_vocab ? filter(sampler, tokens, logits, n) :
                                         eng_fail(ENG_ERR_INVALID, "%u tokens are more than the vocabulary has: %u", n,
                                                  sampler->n_vocab);

    if (!status)
        *token = sampler->settings.temperature <= 0 ? largest(sampler) : draw(sampler);
    return status;
}

int eng_sampler_sample(eng_sampler *sampler, const float *logits, int32_t *token)
{
    return eng_sampler_sample_of(sampler, NULL, logits, sampler->n_vocab, token);
}

/* -- distributions ----------------------------------------------------------------- */

uint32_t eng_sampler_vocabulary(const eng_sampler *sampler)
{
    return sampler->n_vocab;
}

int eng_sampler_probabilities(eng_sampler *sampler, const float *logits, float *p)
{
    const eng_sampler *s = sampler;
    int status = filter(sampler, NULL, logits, sampler->n_vocab);

    if (status)
        return status;
    float t = s->settings.temperature, most = s->list[0].logit;
    double total = 0;
    memset(p, 0, s->n_vocab * sizeof *p);
    for (uint32_t i = 1; i < s->n; i++)
        most = s->list[i].logit > most ? s->list[i].logit : most;
    for (uint32_t i = 0; i < s->n && t > 0; i++)
        total += exp((double)((s->list[i].logit / t) - most / t));
    if (!(total > 0) || !isfinite(total)) { /* so cold that logit / t is infinite, or no drawing at all */
        p[largest(s)] = 1;
        return ENG_OK;
    }
    for (uint32_t i = 0; i < s->n; i++)
        p[s->list[i].token] = (float)(exp((double)((s->list[i].logit / t) - most / t)) / total);
    return ENG_OK;
}

double eng_sampler_unit(eng_sampler *sampler)
{
    return twister_unit(&sampler->random);
}

int32_t eng_sampler_pick(eng_sampler *sampler, const float *p)
{
    double total = 0, sum = 0;
    int32_t chosen = 0;

    for (uint32_t i = 0; i < sampler->n_vocab; i++)
        total += (double)p[i];
    double wanted = twister_unit(&sampler->random) * total;
    for (uint32_t i = 0; i < sampler->n_vocab; i++) {
        if (!(p[i] > 0))
            continue;
        chosen = (int32_t)i;
        sum += (double)p[i];
        if (sum > wanted)
            break;
    }
    return chosen;
}
