/*
 * What each sampler leaves: its distribution against an oracle in double precision that goes by the formula alone, and what is
 * drawn by counts (chi-square), by itself and with the others, in any order.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/draft/verify.h"
#include "libengine-lm/sampling/sampler.h"

#define MOST 40

static uint64_t state;

static double unit(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static int below(int n)
{
    return (int)(unit() * n);
}

static eng_sampler_settings plain(void)
{
    eng_sampler_settings p;
    eng_sampler_defaults(&p);
    p.temperature = 1;
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
    p.penalty_last = 0;
    p.seed = 7;
    return p;
}

/* -- the oracle -------------------------------------------------------------------------------- */

typedef struct oracle {
    int n;
    double logit[MOST];
    bool out[MOST];
    const int *text; /* tokens noted */
    int n_text;
    const bool *breaks; /* tokens that break repetitions */
} oracle;

static void shares(const oracle *o, double *p)
{
    double sum = 0, most = -INFINITY;
    for (int i = 0; i < o->n; i++)
        most = !o->out[i] && o->logit[i] > most ? o->logit[i] : most;
    for (int i = 0; i < o->n; i++)
        sum += p[i] = o->out[i] ? 0 : exp(o->logit[i] - most);
    for (int i = 0; i < o->n; i++)
        p[i] /= sum;
}

/* How many would be in front of token i, by `key`, the larger first. */
static int rank(const oracle *o, const double *key, int i)
{
    int n = 0;
    for (int j = 0; j < o->n; j++)
        n += !o->out[j] && (key[j] > key[i] || (key[j] == key[i] && j < i));
    return n;
}

/* The fewest in the order of `key` that together reach `wanted`. */
static void fewest(oracle *o, const double *key, double wanted)
{
    double p[MOST];
    bool out[MOST];
    shares(o, p);
    for (int i = 0; i < o->n; i++) {
        double before = 0;
        for (int j = 0; j < o->n; j++)
            before += !o->out[j] && rank(o, key, j) < rank(o, key, i) ? p[j] : 0;
        out[i] = o->out[i] || (rank(o, key, i) > 0 && before >= wanted);
    }
    memcpy(o->out, out, sizeof out);
}

static double entropy(const oracle *o)
{
    double p[MOST], h = 0;
    shares(o, p);
    for (int i = 0; i < o->n; i++)
        h -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    return h;
}

static int left(const oracle *o)
{
    int n = 0;
    for (int i = 0; i < o->n; i++)
        n += !o->out[i];
    return n;
}

static void penalties(oracle *o, const eng_sampler_settings *s)
{
    for (int i = 0; i < o->n; i++) {
        int n = 0;
        for (int k = o->n_text - s->penalty_last > 0 ? o->n_text - s->penalty_last : 0; k < o->n_text; k++)
            n += o->text[k] == i;
        if (!n)
            continue;
        o->logit[i] = o->logit[i] > 0 ? o->logit[i] / (double)s->repeat_penalty : o->logit[i] * (double)s->repeat_penalty;
        o->logit[i] -= (double)s->presence_penalty + n * (double)s->frequency_penalty;
    }
}

/* Every end of the text against every place before. */
static void dry(oracle *o, const eng_sampler_settings *s)
{
    int first = s->dry_penalty_last < 0 || o->n_text < s->dry_penalty_last ? 0 : o->n_text - s->dry_penalty_last;
    for (int i = 0; i < o->n && s->dry_multiplier > 0; i++) {
        int longest = 0;
        for (int at = first + 1; at < o->n_text; at++) {
            int n = 0;
            while (at - 1 - n >= first && !o->breaks[o->text[o->n_text - 1 - n]] && o->text[at - 1 - n] == o->text[o->n_text - 1 - n])
                n++;
            longest = o->text[at] == i && n > longest ? n : longest;
        }
        if (longest > 0 && longest >= s->dry_allowed_length && !o->breaks[i])
            o->logit[i] -= (double)s->dry_multiplier * pow((double)s->dry_base, longest - s->dry_allowed_length);
    }
}

static void sigma(oracle *o, double n)
{
    double sum = 0, squares = 0, most = -INFINITY;
    if (n <= 0)
        return;
    for (int i = 0; i < o->n; i++)
        if (!o->out[i]) {
            sum += o->logit[i];
            squares += o->logit[i] * o->logit[i];
            most = fmax(most, o->logit[i]);
        }
    double mean = sum / left(o), deviation = sqrt(squares / left(o) - mean * mean);
    for (int i = 0; i < o->n; i++)
        o->out[i] |= o->logit[i] < most - n * deviation;
}

static void typical(oracle *o, double wanted)
{
    double p[MOST], key[MOST], h = entropy(o);
    shares(o, p);
    for (int i = 0; i < o->n; i++)
        key[i] = o->out[i] ? -INFINITY : -fabs(-log(p[i]) - h);
    if (wanted < 1)
        fewest(o, key, wanted);
}

static void xtc(oracle *o, double threshold)
{
    double p[MOST];
    bool out[MOST];
    int n = 0;
    shares(o, p);
    for (int i = 0; i < o->n; i++)
        n += !o->out[i] && p[i] >= threshold;
    for (int i = 0; i < o->n; i++)
        out[i] = o->out[i] || (n >= 2 && rank(o, p, i) < n - 1);
    memcpy(o->out, out, sizeof out);
}

static void temperature(oracle *o, const eng_sampler_settings *s)
{
    double t = (double)s->temperature, range = (double)s->dynatemp_range;
    if (range > 0) {
        double low = fmax(0, t - range), high = t + range;
        t = low + (high - low) * (left(o) > 1 ? pow(entropy(o) / log(left(o)), (double)s->dynatemp_exponent) : 0);
    }
    bool worse[MOST];
    for (int i = 0; i < o->n; i++)
        worse[i] = !(t > 0) && rank(o, o->logit, i) > 0;
    for (int i = 0; i < o->n; i++)
        o->out[i] |= worse[i];
    for (int i = 0; i < o->n; i++)
        o->logit[i] /= t > 0 ? t : 1;
}

static void step(oracle *o, const char *name, const eng_sampler_settings *s, bool exclude)
{
    if (strcmp(name, "penalties") == 0)
        penalties(o, s);
    else if (strcmp(name, "dry") == 0)
        dry(o, s);
    else if (strcmp(name, "top_n_sigma") == 0)
        sigma(o, (double)s->top_n_sigma);
    else if (strcmp(name, "top_k") == 0 && s->top_k > 0)
        for (int last = o->n - 1; left(o) > s->top_k; last--) /* the worst goes, and again */
            for (int i = 0, n = left(o); i < o->n; i++)
                if (!o->out[i] && rank(o, o->logit, i) == n - 1) {
                    o->out[i] = true;
                    break;
                }
    if (strcmp(name, "typ_p") == 0)
        typical(o, (double)s->typical_p);
    if (strcmp(name, "top_p") == 0 && s->top_p < 1)
        fewest(o, o->logit, (double)s->top_p);
    if (strcmp(name, "min_p") == 0 && s->min_p > 0) {
        double p[MOST], most = 0;
        shares(o, p);
        for (int i = 0; i < o->n; i++)
            most = fmax(most, p[i]);
        for (int i = 0; i < o->n; i++)
            o->out[i] |= p[i] < (double)s->min_p * most;
    }
    if (strcmp(name, "xtc") == 0 && exclude)
        xtc(o, (double)s->xtc_threshold);
    if (strcmp(name, "temperature") == 0)
        temperature(o, s);
}

static const char *const usual[] = {"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};
#define STEPS 9

/* p by the formulas: of a share xtc_probability of the draws with top choices excluded. */
static void expect(const oracle *begin, const eng_sampler_settings *s, const char *const *order, double *p)
{
    bool on = s->xtc_threshold <= 0.5f;
    for (int i = 0; i < begin->n; i++)
        p[i] = 0;
    for (int exclude = 0; exclude < 2; exclude++) {
        oracle o = *begin;
        double q[MOST], part = exclude ? (double)s->xtc_probability : 1 - (double)s->xtc_probability;
        for (uint32_t i = 0; i < s->n_logit_bias; i++) {
            o.logit[s->logit_bias[i].token] += (double)s->logit_bias[i].bias;
            o.out[s->logit_bias[i].token] |= s->logit_bias[i].bias == -INFINITY;
        }
        for (int k = 0; k < STEPS; k++)
            step(&o, order[k], s, exclude && on);
        shares(&o, q);
        for (int i = 0; i < o.n; i++)
            p[i] += part * q[i];
    }
}

/* -- comparing ---------------------------------------------------------------------------------- */

typedef struct trial {
    oracle o;
    float logits[MOST];
    int text[64];
    bool breaks[MOST];
    eng_sampler *sampler;
    double p[MOST];
} trial;

/* Tokens are letters, and the first is a line's end. */
static const char *piece(const void *owner, int32_t token, size_t *length)
{
    (void)owner;
    *length = 1;
    return &"\nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[token];
}

static void begin(trial *t, int n, int n_text)
{
    memset(t, 0, sizeof *t);
    t->o.n = n;
    for (int i = 0; i < n; i++)
        t->o.logit[i] = t->logits[i] = (float)(10 * unit() - 5);
    for (int i = 0; i < n_text; i++)
        t->text[i] = below(n < 4 ? n : 4);
    t->o.text = t->text;
    t->o.n_text = n_text;
    t->breaks[0] = true;
    t->o.breaks = t->breaks;
}

static void make(trial *t, const eng_sampler_settings *s, const char *const *order)
{
    const lm_words words = {(uint32_t)t->o.n, piece, NULL};
    ck_assert_msg(eng_sampler_create(s, &words, &t->sampler) == ENG_OK, "%s", eng_last_error());
    for (int i = 0; i < t->o.n_text; i++)
        eng_sampler_accept(t->sampler, t->text[i]);
    expect(&t->o, s, order, t->p);
}

static void check_distribution(const trial *t, const char *what)
{
    float p[MOST];
    ck_assert_msg(eng_sampler_probabilities(t->sampler, t->logits, p) == ENG_OK, "%s", eng_last_error());
    for (int i = 0; i < t->o.n; i++)
        ck_assert_msg(fabs((double)p[i] - t->p[i]) < 2e-5 && (p[i] > 0) == (t->p[i] > 0),
                      "%s: token %d of %d has the probability %.7g, by the formula it is %.7g", what, i, t->o.n, (double)p[i], t->p[i]);
}

/* A chi-square of the counts so large as by chance in one of some million cases (Wilson-Hilferty: 5 deviations). */
static void check_counts(const trial *t, const char *what, int n, int32_t (*choose)(const trial *))
{
    int counts[MOST] = {0}, kinds = -1;
    double x = 0;
    for (int i = 0; i < n; i++)
        counts[choose(t)]++;
    for (int i = 0; i < t->o.n; i++) {
        ck_assert_msg(t->p[i] > 0 || counts[i] == 0, "%s: token %d was drawn", what, i);
        if (n * t->p[i] < 5) /* too seldom for the approximation */
            continue;
        kinds++;
        x += (counts[i] - n * t->p[i]) * (counts[i] - n * t->p[i]) / (n * t->p[i]);
    }
    if (kinds < 1)
        return;
    double z = (cbrt(x / kinds) - (1 - 2.0 / (9 * kinds))) / sqrt(2.0 / (9 * kinds));
    ck_assert_msg(z < 5, "%s: the counts of %d draws are off by %.1f deviations", what, n, z);
}

static int32_t drawn(const trial *t)
{
    int32_t token = -1;
    ck_assert_msg(eng_sampler_sample(t->sampler, t->logits, &token) == ENG_OK, "%s", eng_last_error());
    return token;
}

/* With a guess from elsewhere, as drafts have it. */
static int32_t verified(const trial *t)
{
    float q[MOST], p[MOST];
    int32_t token = -1;
    for (int i = 0; i < t->o.n; i++)
        q[i] = 1.0f / (float)t->o.n;
    int32_t guess = eng_sampler_pick(t->sampler, q);
    ck_assert_msg(lm_verify(t->sampler, t->logits, q, guess, p, &token) == ENG_OK, "%s", eng_last_error());
    return token;
}

static void check(int n, int n_text, const eng_sampler_settings *s, const char *const *order, const char *what, int draws)
{
    trial t;
    begin(&t, n, n_text);
    make(&t, s, order);
    check_distribution(&t, what);
    check_counts(&t, what, draws, drawn);
    check_counts(&t, what, draws, verified);
    eng_sampler_destroy(t.sampler);
}

/* -- one at a time ---------------------------------------------------------------------------------- */

static const eng_lm_logit_bias biases[] = {{0, 2.5f}, {1, -3}, {2, -INFINITY}, {3, 100}};

/* Settings of sampler number `which`, drawn. */
static void set(eng_sampler_settings *s, int which)
{
    switch (which) {
    case 0:
        s->penalty_last = 1 + below(20);
        s->repeat_penalty = (float)(0.5 + 2 * unit());
        s->frequency_penalty = (float)unit();
        s->presence_penalty = (float)unit();
        break;
    case 1:
        s->dry_multiplier = (float)(0.2 + unit());
        s->dry_allowed_length = below(4);
        s->dry_penalty_last = below(2) ? -1 : 5 + below(30);
        break;
    case 2: s->top_n_sigma = (float)(0.1 + 2 * unit()); break;
    case 3: s->top_k = 1 + below(12); break;
    case 4: s->typical_p = (float)(0.05 + 0.9 * unit()); break;
    case 5: s->top_p = (float)(0.05 + 0.9 * unit()); break;
    case 6: s->min_p = (float)(0.5 * unit()); break;
    case 7:
        s->xtc_probability = (float)unit();
        s->xtc_threshold = (float)(0.3 * unit());
        break;
    case 8:
        s->temperature = (float)(0.3 + 1.5 * unit());
        s->dynatemp_range = below(2) ? (float)(s->temperature * (float)unit() * 1.2f) : 0;
        s->dynatemp_exponent = (float)(0.3 + 2 * unit());
        break;
    default:
        s->logit_bias = biases;
        s->n_logit_bias = 3;
    }
}

START_TEST(alone)
{
    static const char *const names[] = {"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "logit bias"};
    state = 11;
    for (int i = 0; i < 60; i++) {
        eng_sampler_settings s = plain();
        set(&s, _i);
        s.seed = (uint32_t)i;
        check(4 + below(MOST - 4), below(50), &s, usual, names[_i], i < 6 ? 20000 : 0);
    }
}
END_TEST

START_TEST(together)
{
    state = 12;
    for (int i = 0; i < 200; i++) {
        eng_sampler_settings s = plain();
        for (int k = 0; k < 10; k++)
            if (below(3) == 0)
                set(&s, k);
        s.seed = (uint32_t)i;
        check(4 + below(MOST - 4), below(50), &s, usual, "together", i < 20 ? 10000 : 0);
    }
}
END_TEST

START_TEST(orders)
{
    state = 13;
    for (int i = 0; i < 200; i++) {
        eng_sampler_settings s = plain();
        const char *order[STEPS];
        char names[128] = "";
        memcpy(order, usual, sizeof order);
        for (int k = STEPS - 1; k > 0; k--) {
            int other = below(k + 1);
            const char *name = order[k];
            order[k] = order[other];
            order[other] = name;
        }
        for (int k = 0; k < STEPS; k++)
            strcat(strcat(names, k ? ";" : ""), order[k]);
        for (int k = 0; k < 10; k++)
            if (below(2) == 0)
                set(&s, k);
        s.samplers = names;
        check(4 + below(MOST - 4), below(50), &s, order, names, 0);
    }
}
END_TEST

/* What is not named is not done. */
START_TEST(left_out)
{
    trial t;
    eng_sampler_settings s = plain();
    float p[MOST];
    state = 14;
    begin(&t, 10, 30);
    for (int k = 0; k < 9; k++)
        set(&s, k);
    s.samplers = "";
    make(&t, &s, usual);
    oracle o = t.o;
    shares(&o, t.p);
    check_distribution(&t, "no samplers");
    eng_sampler_destroy(t.sampler);
    s.samplers = "top_k;typical_p";
    s.top_k = 1;
    s.typical_p = 0.5f;
    make(&t, &s, usual);
    ck_assert_int_eq(eng_sampler_probabilities(t.sampler, t.logits, p), ENG_OK);
    for (int i = 0; i < 10; i++)
        ck_assert(p[i] == 0 || p[i] == 1);
    eng_sampler_destroy(t.sampler);
}
END_TEST

/* -- what looks back ------------------------------------------------------------------------------------ */

START_TEST(taken_back)
{
    trial t;
    float before[MOST], after[MOST];
    state = 15;
    for (int i = 0; i < 100; i++) {
        eng_sampler_settings s = plain();
        set(&s, 0);
        set(&s, 1);
        begin(&t, 12, 40);
        make(&t, &s, usual);
        int more = 1 + below(60);
        ck_assert_int_eq(eng_sampler_probabilities(t.sampler, t.logits, before), ENG_OK);
        for (int k = 0; k < more; k++)
            eng_sampler_accept(t.sampler, below(4));
        ck_assert_int_eq(eng_sampler_rollback(t.sampler, (size_t)more), ENG_OK);
        ck_assert_int_eq(eng_sampler_probabilities(t.sampler, t.logits, after), ENG_OK);
        ck_assert_mem_eq(before, after, 12 * sizeof *before);
        ck_assert_int_eq(eng_sampler_rollback(t.sampler, 41), ENG_ERR_STATE);
        ck_assert_int_eq(eng_sampler_rollback(t.sampler, 40), ENG_OK);
        eng_sampler_destroy(t.sampler);
    }
}
END_TEST

/* A breaker of two letters, in two tokens: what repeats behind it counts, what reaches over it does not. */
START_TEST(long_breakers)
{
    static const char *const breakers[] = {"yz"};
    static const int32_t text[] = {1, 2, 25, 26, 3, 4, 5, 1, 2, 25, 26, 3, 4}; /* abyzcde abyzcd */
    trial t;
    float p[MOST];
    for (int with = 0; with < 2; with++) {
        eng_sampler_settings s = plain();
        s.dry_multiplier = 1;
        s.dry_base = 2;
        s.dry_allowed_length = 2;
        s.dry_breakers = breakers;
        s.n_dry_breakers = (uint32_t)with;
        begin(&t, 27, 0);
        memset(t.logits, 0, sizeof t.logits);
        make(&t, &s, usual);
        for (size_t i = 0; i < sizeof text / sizeof *text; i++)
            eng_sampler_accept(t.sampler, text[i]);
        ck_assert_int_eq(eng_sampler_probabilities(t.sampler, t.logits, p), ENG_OK);
        /* "abyzcd" is 6 tokens, 2 of them behind the breaker: 2^4 or 2^0 goes off the logit of e */
        ck_assert_double_eq_tol(log((double)p[5] / (double)p[6]), with ? -1 : -16, 1e-4);
        eng_sampler_destroy(t.sampler);
    }
}
END_TEST

/* -- refusals -------------------------------------------------------------------------------------------- */

static void refused(const eng_sampler_settings *s, const char *about)
{
    eng_sampler *made = NULL;
    ck_assert_int_eq(eng_sampler_create(s, &(lm_words){.n_vocab = 4}, &made), ENG_ERR_INVALID);
    ck_assert_msg(strstr(eng_last_error(), about) != NULL, "%s", eng_last_error());
    ck_assert_ptr_null(made);
}

START_TEST(refusals)
{
    static const eng_lm_logit_bias far[] = {{4, 1}}, none[] = {{1, NAN}}, all[] = {{0, -INFINITY}, {1, -INFINITY}};
    const float logits[] = {1, 2};
    int32_t token = -7;
    eng_sampler *made;
    struct {
        const char *samplers, *about;
    } names[] = {{"top_k;top_q", "there is no 'top_q'"}, {"top_k;min_p;top_k", "top_k comes twice"}, {";", "there is no ''"}};
    for (size_t i = 0; i < 3; i++) {
        eng_sampler_settings s = plain();
        s.samplers = names[i].samplers;
        refused(&s, names[i].about);
    }
    eng_sampler_settings s = plain();
    s.xtc_probability = 1.5f;
    refused(&s, "XTC");
    s = plain();
    s.dry_multiplier = 1;
    s.dry_base = 0.5f;
    refused(&s, "DRY");
    s = plain();
    s.dynatemp_range = -1;
    refused(&s, "dynamic temperature");
    s = plain();
    s.typical_p = NAN;
    refused(&s, "typical-p");
    s = plain();
    s.n_logit_bias = 1;
    refused(&s, "NULL");
    s.logit_bias = far;
    refused(&s, "token 4");
    s.logit_bias = none;
    refused(&s, "token 1");
    s.logit_bias = all;
    s.n_logit_bias = 2;
    ck_assert_int_eq(eng_sampler_create(&s, &(lm_words){.n_vocab = 2}, &made), ENG_OK);
    ck_assert_int_eq(eng_sampler_sample(made, logits, &token), ENG_ERR_STATE);
    ck_assert(strstr(eng_last_error(), "forbid") && token == -7);
    eng_sampler_destroy(made);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chain");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(all, alone, 0, 10);
    tcase_add_test(all, together);
    tcase_add_test(all, orders);
    tcase_add_test(all, left_out);
    tcase_add_test(all, taken_back);
    tcase_add_test(all, long_breakers);
    tcase_add_test(all, refusals);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
