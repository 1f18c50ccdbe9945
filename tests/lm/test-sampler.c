/* Sampling: which tokens stay, in which order filters come, the random numbers. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/sampling/sampler.h"

#define N 8

static const float logits[N] = {1, 5, 3, 5, -2, 4, 0, 2};

static eng_sampler_settings plain(void)
{
    return (eng_sampler_settings){.temperature = 1, .top_p = 1, .repeat_penalty = 1, .seed = 1, .typical_p = 1,
                                  .xtc_threshold = 0.1f, .dry_base = 1.75f, .dry_allowed_length = 2, .dry_penalty_last = -1};
}

static eng_sampler *make(const eng_sampler_settings *s, uint32_t n)
{
    eng_sampler *sampler = NULL;

    ck_assert_msg(eng_sampler_create(s, &(lm_words){.n_vocab = n}, &sampler) == ENG_OK, "%s", eng_last_error());
    return sampler;
}

static int32_t sample(eng_sampler *s, const float *l)
{
    int32_t token = -1;

    ck_assert_msg(eng_sampler_sample(s, l, &token) == ENG_OK, "%s", eng_last_error());
    return token;
}

/* Which of the tokens ever come, as bits. */
static unsigned support(const eng_sampler_settings *settings, const float *l)
{
    eng_sampler *s = make(settings, N);
    unsigned seen = 0;

    for (int i = 0; i < 20000; i++)
        seen |= 1u << sample(s, l);
    eng_sampler_destroy(s);
    return seen;
}

START_TEST(greedy)
{
    eng_sampler_settings p = plain();

    p.temperature = 0;
    eng_sampler *s = make(&p, N);
    ck_assert_int_eq(sample(s, logits), 1); /* the first of equals */
    eng_sampler_destroy(s);
    p.penalty_last = 4;
    p.presence_penalty = 0.5f;
    s = make(&p, N);
    eng_sampler_accept(s, 1);
    ck_assert_int_eq(sample(s, logits), 3);
    eng_sampler_destroy(s);
}
END_TEST

START_TEST(sets)
{
    eng_sampler_settings p = plain();

    ck_assert_uint_eq(support(&p, logits), 0xff);
    p.top_k = 1;
    ck_assert_uint_eq(support(&p, logits), 1u << 1);
    p.top_k = 3;
    ck_assert_uint_eq(support(&p, logits), 1u << 1 | 1u << 3 | 1u << 5);
    p.top_k = 100;
    ck_assert_uint_eq(support(&p, logits), 0xff);
    /* 1 and 3 have .4 each, 5 .15, 2 .05: the shortest prefix that reaches p */
    p = plain();
    p.top_p = 0.5f;
    ck_assert_uint_eq(support(&p, logits), 1u << 1 | 1u << 3);
    p.top_p = 0.3f;
    ck_assert_uint_eq(support(&p, logits), 1u << 1);
    p.top_p = 0;
    ck_assert_uint_eq(support(&p, logits), 1u << 1);
    /* within a factor of the best */
    p = plain();
    p.min_p = 0.2f; /* ln .2 = -1.61 */
    ck_assert_uint_eq(support(&p, logits), 1u << 1 | 1u << 3 | 1u << 5);
    p.min_p = 2;
    ck_assert_uint_eq(support(&p, logits) & ~(1u << 1 | 1u << 3), 0);
}
END_TEST

START_TEST(temperature)
{
    eng_sampler_settings p = plain();
    static const float pair[N] = {0, 1, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};

    for (int k = 0; k < 3; k++) {
        p.temperature = k == 0 ? 0.5f : k == 1 ? 1 : 2;
        double expected = 1 / (1 + exp(-1 / p.temperature));
        eng_sampler *s = make(&p, N);
        int ones = 0, n = 40000;
        for (int i = 0; i < n; i++) {
            int32_t token = sample(s, pair);
            ck_assert_int_le(token, 1);
            ones += token;
        }
        /* six standard deviations */
        ck_assert_double_eq_tol((double)ones / n, expected, 6 * sqrt(expected * (1 - expected) / n));
        eng_sampler_destroy(s);
    }
    /* A tiny temperature must not overflow, and where it does the best token is chosen. */
    for (int k = 0; k < 2; k++) {
        p.temperature = k == 0 ? 1e-30f : 1e-40f;
        eng_sampler *s = make(&p, N);
        int32_t token = sample(s, logits);
        ck_assert(token == 1 || token == 3);
        eng_sampler_destroy(s);
    }
}
END_TEST

START_TEST(penalties)
{
    eng_sampler_settings p = plain();
    float l[N] = {2, 2.5f, -1, -1.5f, -9, -9, -9, -9};

    p.temperature = 0;
    p.penalty_last = 3;
    p.repeat_penalty = 2;
    eng_sampler *s = make(&p, N);
    ck_assert_int_eq(sample(s, l), 1);
    eng_sampler_accept(s, 1); /* 2.5 becomes 1.25 */
    ck_assert_int_eq(sample(s, l), 0);
    eng_sampler_accept(s, 0);
    ck_assert_int_eq(sample(s, l), 1); /* 1.25 against 1 */
    eng_sampler_accept(s, 2);
    eng_sampler_accept(s, 2); /* 1 has left the last three */
    ck_assert_int_eq(sample(s, l), 1);
    eng_sampler_destroy(s);
    /* a negative logit is multiplied: -1 becomes -2 */
    l[0] = l[1] = -100;
    s = make(&p, N);
    eng_sampler_accept(s, 2);
    ck_assert_int_eq(sample(s, l), 3);
    eng_sampler_accept(s, -1); /* no token: no matter */
    eng_sampler_accept(s, N);
    eng_sampler_destroy(s);
    /* frequency counts, presence does not */
    p.repeat_penalty = 1;
    p.frequency_penalty = 0.3f;
    l[0] = 2;
    l[1] = 2.5f;
    s = make(&p, N);
    eng_sampler_accept(s, 1);
    ck_assert_int_eq(sample(s, l), 1);
    eng_sampler_accept(s, 1);
    ck_assert_int_eq(sample(s, l), 0);
    eng_sampler_destroy(s);
}
END_TEST

/* The first outputs of MT19937 for its customary seed 5489 are 3499211612, 581869302, 3890346734, 3586334585.  A
 * draw from 2^20 equal candidates shows the upper 20 bits of the second of its two outputs. */
START_TEST(random_numbers)
{
    enum { BITS = 20 };
    eng_sampler_settings p = plain();
    float *equal = calloc(1u << BITS, sizeof *equal);

    p.seed = 5489;
    eng_sampler *s = make(&p, 1u << BITS);
    ck_assert_int_eq(sample(s, equal), (int32_t)(581869302u >> (32 - BITS)));
    ck_assert_int_eq(sample(s, equal), (int32_t)(3586334585u >> (32 - BITS)));
    eng_sampler_destroy(s);
    free(equal);
}
END_TEST

START_TEST(seeds)
{
    eng_sampler_settings p = plain();

    p.seed = 42;
    eng_sampler *a = make(&p, N), *b = make(&p, N);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(sample(a, logits), sample(b, logits));
    ck_assert_uint_eq(eng_sampler_seed(a), 42);
    eng_sampler_destroy(a);
    eng_sampler_destroy(b);
    p.seed = ENG_SAMPLER_SEED_RANDOM;
    a = make(&p, N);
    ck_assert_uint_ne(eng_sampler_seed(a), ENG_SAMPLER_SEED_RANDOM);
    p.seed = eng_sampler_seed(a);
    b = make(&p, N); /* a random seed can be used again */
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(sample(a, logits), sample(b, logits));
    eng_sampler_destroy(a);
    eng_sampler_destroy(b);
}
END_TEST

START_TEST(refusals)
{
    eng_sampler_settings p = plain();
    eng_sampler *s = NULL;
    float bad[N];
    int32_t token = -7;

    ck_assert_int_eq(eng_sampler_create(&p, &(lm_words){.n_vocab = 0}, &s), ENG_ERR_INVALID);
    p.repeat_penalty = 0;
    ck_assert_int_eq(eng_sampler_create(&p, &(lm_words){.n_vocab = N}, &s), ENG_ERR_INVALID);
    p = plain();
    p.temperature = NAN;
    ck_assert_int_eq(eng_sampler_create(&p, &(lm_words){.n_vocab = N}, &s), ENG_ERR_INVALID);
    ck_assert_ptr_null(s);
    p = plain();
    s = make(&p, N);
    memcpy(bad, logits, sizeof bad);
    bad[3] = NAN;
    ck_assert_int_eq(eng_sampler_sample(s, bad, &token), ENG_ERR_DEVICE);
    ck_assert(strstr(eng_last_error(), "token 3"));
    for (int i = 0; i < N; i++)
        bad[i] = -INFINITY;
    ck_assert_int_eq(eng_sampler_sample(s, bad, &token), ENG_ERR_DEVICE);
    ck_assert_int_eq(token, -7);
    eng_sampler_destroy(s);
    eng_sampler_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, greedy);
    tcase_add_test(all, sets);
    tcase_add_test(all, temperature);
    tcase_add_test(all, penalties);
    tcase_add_test(all, random_numbers);
    tcase_add_test(all, seeds);
    tcase_add_test(all, refusals);
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
