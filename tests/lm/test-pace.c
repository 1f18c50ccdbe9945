/* Drafting without a model: guesses from the text itself, how many of them are run, the account of the watchdog. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/draft/ngram.h"
#include "libengine-lm/draft/pace.h"

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

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, repetitions);
    tcase_add_test(all, against_search);
    tcase_add_test(all, finds_the_best);
    tcase_add_test(all, watchdog);
    tcase_add_test(all, account);
    tcase_add_test(all, cold);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
