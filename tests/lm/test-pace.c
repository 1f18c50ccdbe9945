/* Drafting without a model: guesses from the text itself, how many of them are run, the account of the watchdog, and
 * that what is chosen follows the sampler's distribution. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/draft/ngram.h"
#include "libengine-lm/draft/pace.h"
#include "libengine-lm/draft/verify.h"

/* -- n-grams ----------------------------------------------------------------------- */

static uint32_t ask(lm_ngram *g, const int32_t *text, size_t n, uint32_t most, int32_t *guess, uint32_t *matched)
{
    ck_assert(lm_ngram_learn(g, text, n));
    return lm_ngram_guess(g, text, most, guess, matched);
}

START_TEST(repetitions)
{
    static const int32_t text[] = {1, 2, 3, 4, 5, 9, 2, 3, 7, 8, 1, 2, 3};
    static const int32_t again[] = {5, 6, 5, 6};
    lm_ngram g = {0};
    int32_t guess[8];
    uint32_t matched;
    ck_assert_uint_eq(ask(&g, text, 0, 4, guess, &matched), 0);
    ck_assert_uint_eq(ask(&g, text, 1, 4, guess, &matched), 0);
    ck_assert_uint_eq(ask(&g, text, 6, 4, guess, &matched), 0);
    ck_assert_uint_eq(ask(&g, text, 8, 4, guess, &matched), 4); /* 2 3 stood before: 4 5 9 2 */
    ck_assert_int_eq(memcmp(guess, (int32_t[]){4, 5, 9, 2}, sizeof(int32_t[4])), 0);
    ck_assert_uint_eq(matched, 2);
    ck_assert_uint_eq(ask(&g, text, 13, 3, guess, &matched), 3); /* 1 2 3, longer than the nearer 2 3 */
    ck_assert_int_eq(memcmp(guess, (int32_t[]){4, 5, 9}, sizeof(int32_t[3])), 0);
    ck_assert_uint_eq(matched, 3);
    lm_ngram_forget(&g);
    ck_assert_uint_eq(ask(&g, again, 4, 5, guess, &matched), 5); /* goes on into what it guesses */
    ck_assert_int_eq(memcmp(guess, (int32_t[]){5, 6, 5, 6, 5}, sizeof(int32_t[5])), 0);
    lm_ngram_free(&g);
}
END_TEST

/* Of a random text of few tokens: as long a repetition as there is, the nearest of equals; learnt in pieces. */
START_TEST(against_search)
{
    enum { N = 600 };
    int32_t text[N], guess[4];
    lm_ngram g = {0};
    srand(7);
    for (int i = 0; i < N; i++)
        text[i] = rand() % 12;
    for (size_t n = 3; n <= N; n++) {
        uint32_t matched, best = 1;
        size_t at = 0;
        for (size_t e = n - 2; e >= 1; e--) {
            uint32_t k = 0;
            while (k < 32 && k <= e && text[e - k] == text[n - 1 - k])
                k++;
            if (k > best) {
                best = k;
                at = e;
            }
        }
        uint32_t got = ask(&g, text, n, 1, guess, &matched);
        ck_assert_uint_eq(got, at > 0);
        if (!got)
            continue;
        ck_assert_msg(matched == best && guess[0] == text[at + 1], "%zu tokens: %u matched, not %u", n, matched, best);
    }
    lm_ngram_free(&g);
}
END_TEST

/* -- pace ------------------------------------------------------------------------------ */

typedef struct world {
    double pass[ENG_LM_DRAFT_MOST + 2], guess, accepted;
    uint64_t seed;
    double seconds;
    uint64_t tokens;
    uint32_t last; /* guesses that ran in the last step                                   */
} world;

static double draw(world *w)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(w->seed >> 11) * 0x1p-53;
}

/* Steps until so many tokens are there; guesses cost time whether they run or not, as those of a model do. */
static void go(world *w, lm_pace *p, uint32_t most, uint64_t tokens)
{
    for (uint64_t end = w->tokens + tokens; w->tokens < end;) {
        uint32_t n = lm_pace_choose(p, 0, most), k = 0;
        while (k < n && draw(w) < w->accepted)
            k++;
        double noise = 0.95 + 0.1 * draw(w);
        lm_pace_step s = {.guessed = n, .run = n, .accepted = k, .guess = n * w->guess, .pass = noise * w->pass[n + 1]};
        lm_pace_note(p, &s);
        w->seconds += s.guess + s.pass;
        w->tokens += k + 1;
        w->last = n;
    }
}

/* Tokens a second of guesses of n all the time. */
static double promised(const world *w, uint32_t n)
{
    double tokens = 1, reached = 1;
    for (uint32_t i = 0; i < n; i++)
        tokens += reached *= w->accepted;
    return tokens / (w->pass[n + 1] + n * w->guess);
}

static world make_world(double slope, double accepted, double guess)
{
    world w = {.guess = guess, .accepted = accepted, .seed = 20261123};
    for (uint32_t n = 1; n <= ENG_LM_DRAFT_MOST + 1; n++)
        w.pass[n] = 1 + slope * (n - 1);
    return w;
}

/* Within 6 % of the best length, whatever costs and acceptance are; and never 3 % slower than without. */
START_TEST(finds_the_best)
{
    static const double slopes[] = {0, 0.05, 0.3, 1}, shares[] = {0, 0.3, 0.7, 0.9, 1}, guesses[] = {0, 0.05, 0.5};
    for (size_t i = 0; i < 4 * 5 * 3; i++) {
        world w = make_world(slopes[i % 4], shares[i / 4 % 5], guesses[i / 20]);
        lm_pace p;
        lm_pace_init(&p);
        go(&w, &p, 8, 2000);
        double best = 0, got = (double)w.tokens / w.seconds;
        for (uint32_t n = 0; n <= 8; n++)
            best = promised(&w, n) > best ? promised(&w, n) : best;
        ck_assert_msg(got > 0.97 && got > (best > 1.05 ? 0.94 : 0) * best,
                      "slope %g, accepted %g, guess %g: %g tokens a pass, the best is %g", slopes[i % 4], w.accepted,
                              w.guess,
                      got, best);
    }
}
END_TEST

/* Passes of sizes that are padded, where no guess pays: trials cost 3 % of 200 tokens at most, whatever the draws. */
START_TEST(nothing_to_win)
{
    double all = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        world w = make_world(0, 0.7, 0);
        lm_pace p;
        w.seed = 77 * seed;
        w.pass[2] = 1.8;
        w.pass[3] = w.pass[4] = 2.7;
        w.pass[5] = w.pass[6] = 5.5;
        lm_pace_init(&p);
        go(&w, &p, 5, 200);
        all += (double)w.tokens / w.seconds / 50;
    }
    ck_assert_msg(all > 0.97, "%g tokens a pass", all);
}
END_TEST

/* A first opinion of single tokens that was much too good: drafts that pay are found all the same. */
START_TEST(first_opinion)
{
    world w = make_world(0.05, 0.9, 0);
    lm_pace p;
    lm_pace_init(&p);
    for (int i = 0; i < 6; i++)
        lm_pace_note(&p, &(lm_pace_step){.pass = 0.1});
    go(&w, &p, 4, 600);
    double before = w.seconds;
    uint64_t tokens = w.tokens;
    go(&w, &p, 4, 400);
    ck_assert_msg((double)(w.tokens - tokens) / (w.seconds - before) > 0.9 * promised(&w, 4), "%g tokens a pass of %g",
                  (double)(w.tokens - tokens) / (w.seconds - before), promised(&w, 4));
}
END_TEST

/* What stops paying is turned off, at a known price; what pays again is found again. */
START_TEST(watchdog)
{
    world w = make_world(0.2, 0.9, 0.1);
    lm_pace p;
    lm_pace_init(&p);
    go(&w, &p, 4, 500);
    ck_assert_uint_gt(w.last, 0);
    ck_assert(!p.off);
    double before = w.seconds;
    uint64_t tokens = w.tokens;
    w.accepted = 0;
    go(&w, &p, 4, 1000);
    ck_assert_msg((double)(w.tokens - tokens) / (w.seconds - before) > 0.95,
                  "%g tokens a pass while nothing is accepted",
                  (double)(w.tokens - tokens) / (w.seconds - before));
    w.accepted = 0.9;
    go(&w, &p, 4, 8000);
    before = w.seconds;
    tokens = w.tokens;
    go(&w, &p, 4, 1000);
    ck_assert_msg((double)(w.tokens - tokens) / (w.seconds - before) > 0.9 * promised(&w, 4), "it is not found again");
}
END_TEST

/* Passes that are quick as a rule and now and then very slow: the account turns them off although they look good. */
START_TEST(account)
{
    lm_pace p;
    double lost = 0, total = 0;
    uint64_t with = 0;
    lm_pace_init(&p);
    for (int i = 0; i < 5000; i++) {
        uint32_t n = lm_pace_choose(&p, 0, 4);
        lm_pace_step s = {.guessed = n, .run = n, .accepted = n, .pass = n && ++with % 4 == 0 ? 40 : 1};
        lm_pace_note(&p, &s);
        total += s.pass;
        lost += n ? s.pass - (1 + n) : 0;
    }
    ck_assert_uint_gt(p.turned_off, 0);
    ck_assert_msg(lost < 0.02 * total && with > 2, "%g of %g lost in %llu steps", lost, total, (unsigned long
                                                                                                long)with);
}
END_TEST

/* Steps in which something was compiled count for nothing but what was accepted. */
START_TEST(cold)
{
    lm_pace p;
    lm_pace_init(&p);
    lm_pace_step s = {.pass = 1};
    for (int i = 0; i < 4; i++)
        lm_pace_note(&p, &s);
    double total = p.total;
    s = (lm_pace_step){.guessed = 2, .run = 2, .pass = 1000, .cold = true};
    lm_pace_note(&p, &s);
    ck_assert(p.total == total && !p.off && p.warm[3] == 0);
}
END_TEST

/* -- rejection sampling ------------------------------------------------------------------ */

#define N_TOKENS 8
#define DRAWS 100000

/* Guesses drawn from one distribution, verified against another: what is chosen follows the other; chi-square. */
static void verify(uint32_t seed, const eng_sampler_settings *settings, bool certain)
{
    eng_sampler *s = NULL;
    float first[N_TOKENS], second[N_TOKENS], p[N_TOKENS], q[N_TOKENS], room[N_TOKENS];
    uint32_t counts[N_TOKENS] = {0}, taken = 0;
    ck_assert_int_eq(eng_sampler_create(settings, &(lm_words){.n_vocab = N_TOKENS}, &s), ENG_OK);
    for (int i = 0; i < N_TOKENS; i++) {
        first[i] = (float)(4 * eng_sampler_unit(s));
        second[i] = first[i] + (float)(2 * eng_sampler_unit(s) - 1);
    }
    ck_assert_int_eq(eng_sampler_probabilities(s, first, p), ENG_OK);
    ck_assert_int_eq(eng_sampler_probabilities(s, second, q), ENG_OK);
    if (certain)
        for (int i = 0; i < N_TOKENS; i++)
            q[i] = i == 3;
    for (int i = 0; i < DRAWS; i++) {
        int32_t guess = eng_sampler_pick(s, q), token = -1;
        ck_assert_int_eq(lm_verify(s, first, q, guess, room, &token), ENG_OK);
        ck_assert(token >= 0 && token < N_TOKENS);
        counts[token]++;
        taken += token == guess;
    }
    double chi = 0, most = 0;
    int cells = 0;
    for (int i = 0; i < N_TOKENS; i++) {
        double want = DRAWS * (double)p[i];
        ck_assert_msg(p[i] > 0 || counts[i] == 0, "seed %u: token %d is impossible", seed, i);
        most += (double)(p[i] < q[i] ? p[i] : q[i]);
        if (p[i] <= 0)
            continue;
        chi += (counts[i] - want) * (counts[i] - want) / want;
        cells++;
    }
    printf("# seed %u, %d of %d tokens: chi-square %.2f, %u of %d guesses taken (%.0f at best)\n", seed, cells,
           N_TOKENS,
           chi, taken, DRAWS, DRAWS * most);
    /* at most 7 degrees of freedom: 29.9 is passed once in 10,000 */
    ck_assert_msg(chi < 29.9, "seed %u: chi-square %g", seed, chi);
    double spread = sqrt(DRAWS * most * (1 - most)) + 1;
    ck_assert_msg(fabs(taken - DRAWS * most) < 5 * spread, "seed %u: %u taken, not %g", seed, taken, DRAWS * most);
    eng_sampler_destroy(s);
}

START_TEST(distribution)
{
    for (uint32_t seed = 20261123; seed < 20261127; seed++) {
        eng_sampler_settings plain = {.temperature = 1, .top_p = 1, .typical_p = 1, .repeat_penalty = 1, .seed = seed},
                             cut = plain;
        cut.temperature = 0.7f;
        cut.top_k = 6;
        cut.top_p = 0.95f;
        verify(seed, &plain, false);
        verify(seed, &cut, false);
        verify(seed, &plain, true);
    }
}
END_TEST

/* Probabilities are what sampling draws from; of the most likely token alone, all. */
START_TEST(probabilities)
{
    static const float logits[N_TOKENS] = {1, 5, 3, 5, -2, 4, 0, 2};
    eng_sampler_settings cut = {.temperature = 0.8f, .top_k = 5, .top_p = 0.97f, .typical_p = 1, .min_p = 0.02f, .penalty_last = 4,
                                .repeat_penalty = 1.3f, .seed = 3};
    eng_sampler *s = NULL;
    float p[N_TOKENS];
    uint32_t counts[N_TOKENS] = {0};
    ck_assert_int_eq(eng_sampler_create(&cut, &(lm_words){.n_vocab = N_TOKENS}, &s), ENG_OK);
    eng_sampler_accept(s, 1);
    ck_assert_int_eq(eng_sampler_probabilities(s, logits, p), ENG_OK);
    double sum = 0, chi = 0;
    for (int i = 0; i < DRAWS; i++) {
        int32_t token;
        ck_assert_int_eq(eng_sampler_sample(s, logits, &token), ENG_OK);
        counts[token]++;
    }
    for (int i = 0; i < N_TOKENS; i++) {
        sum += (double)p[i];
        ck_assert(p[i] > 0 || counts[i] == 0);
        chi += p[i] > 0 ? pow(counts[i] - DRAWS * (double)p[i], 2) / (DRAWS * (double)p[i]) : 0;
    }
    ck_assert_msg(fabs(sum - 1) < 1e-6 && chi < 29.9, "sum %g, chi-square %g", sum, chi);
    eng_sampler_destroy(s);
    cut.temperature = 0;
    cut.penalty_last = 0;
    ck_assert_int_eq(eng_sampler_create(&cut, &(lm_words){.n_vocab = N_TOKENS}, &s), ENG_OK);
    ck_assert_int_eq(eng_sampler_probabilities(s, logits, p), ENG_OK);
    ck_assert(p[1] == 1 && p[3] == 0);
    eng_sampler_destroy(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, repetitions);
    tcase_add_test(all, against_search);
    tcase_add_test(all, finds_the_best);
    tcase_add_test(all, nothing_to_win);
    tcase_add_test(all, first_opinion);
    tcase_add_test(all, watchdog);
    tcase_add_test(all, account);
    tcase_add_test(all, cold);
    tcase_add_test(all, distribution);
    tcase_add_test(all, probabilities);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
