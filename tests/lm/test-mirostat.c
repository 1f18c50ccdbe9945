/* Mirostat 1 and 2: what they leave, step after step, against their formulas in double precision; draws by counts;
 * tokens taken back. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/sampling/sampler.h"

#include "../tap.h"

#define N 300

static uint64_t state = 1;

static double unit(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void draw_logits(float *l)
{
    for (int i = 0; i < N; i++) /* a few likely, many unlikely ones, none equal */
        l[i] = (float)(-1.2 * log(1 + i * 7 % N) + 0.5 * unit());
}

static eng_sampler *make(uint32_t version, float tau, float eta, float temperature)
{
    eng_sampler_settings p;
    eng_sampler *s = NULL;
    eng_sampler_defaults(&p);
    p.mirostat = version;
    p.mirostat_tau = tau;
    p.mirostat_eta = eta;
    p.temperature = temperature;
    p.seed = 3;
    return eng_sampler_create(&p, &(lm_words){.n_vocab = N}, &s) ? NULL : s;
}

/* -- the formulas ---------------------------------------------------------------------------- */

static int by_p(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* p of each token, by the paper: those of less than a threshold are 0. */
static void oracle(uint32_t version, const float *l, double temperature, double mu, double *p)
{
    double sorted[N], sum = 0, most = -INFINITY, kept = 0, threshold = 0;
    for (int i = 0; i < N; i++)
        most = (double)l[i] / temperature > most ? (double)l[i] / temperature : most;
    for (int i = 0; i < N; i++)
        sum += p[i] = exp((double)l[i] / temperature - most);
    for (int i = 0; i < N; i++)
        sorted[i] = p[i] /= sum;
    qsort(sorted, N, sizeof *sorted, by_p);
    if (version == 1) {
        double tb = 0, tt = 0;
        for (int i = 0; i < 99; i++) {
            const double t = log((i + 2.0) / (i + 1.0)), b = log(sorted[i] / sorted[i + 1]);
            tb += t * b;
            tt += t * t;
        }
        const double s = tb / tt, e = s - 1;
        const double k = pow(e * pow(2, mu) / (1 - pow(N, -e)), 1 / s);
        threshold = k >= N ? 0 : k > 1 ? sorted[(int)k - 1] : sorted[0];
    } else {
        threshold = pow(2, -mu) > sorted[0] ? sorted[0] : pow(2, -mu);
    }
    for (int i = 0; i < N; i++)
        kept += p[i] = p[i] >= threshold ? p[i] : 0;
    for (int i = 0; i < N; i++)
        p[i] /= kept;
}

static double far(const double *p, const float *q)
{
    double most = 0;
    for (int i = 0; i < N; i++)
        most = fabs(p[i] - (double)q[i]) > most ? fabs(p[i] - (double)q[i]) : most;
    return most;
}

/* -- tests ----------------------------------------------------------------------------------- */

static void check_steps(uint32_t version, float tau, float eta, float temperature)
{
    float l[N], q[N], before[N];
    double p[N], mu = 2 * (double)tau, worst = 0, surprise = 0;
    int32_t token = -1;
    eng_sampler *s = make(version, tau, eta, temperature);
    const int steps = 2000;
    bool good = s != NULL;
    for (int i = 0; i < steps && good; i++) {
        draw_logits(l);
        oracle(version, l, (double)temperature, mu, p);
        good = eng_sampler_probabilities(s, l, q) == ENG_OK && eng_sampler_sample(s, l, &token) == ENG_OK &&
               p[token] > 0;
        worst = far(p, q) > worst ? far(p, q) : worst;
        if (i == 500)
            memcpy(before, q, sizeof q);
        eng_sampler_accept(s, token);
        mu -= (double)eta * (-log2(p[token]) - (double)tau);
        surprise += -log2(p[token]) / steps;
    }
    tap_check(good && worst < 2e-3, "mirostat %u, tau %g, eta %g, temperature %g: %d tokens, p off by %.1e at most",
              version, (double)tau, (double)eta, (double)temperature, steps, worst);
    printf("# mean surprise %.3f bits\n", surprise);
    tap_check(fabs(surprise - (double)tau) < 0.25 * (double)tau, "its surprise is near tau: %.2f", surprise);
    eng_sampler_destroy(s);
}

/* Draws from one distribution, of which the text has learnt something. */
static void check_counts(uint32_t version)
{
    float l[N], q[N];
    int32_t token;
    unsigned counts[N] = {0};
    const int draws = 60000;
    double chi = 0;
    int cells = 0;
    eng_sampler *s = make(version, 3, 0.2f, 1);
    for (int i = 0; i < 20; i++) {
        draw_logits(l);
        eng_sampler_sample(s, l, &token);
        eng_sampler_accept(s, token);
    }
    eng_sampler_probabilities(s, l, q);
    for (int i = 0; i < draws; i++) {
        eng_sampler_sample(s, l, &token);
        counts[token]++;
    }
    for (int i = 0; i < N; i++) {
        const double want = (double)q[i] * draws;
        cells += want > 0;
        chi += want > 0 ? ((double)counts[i] - want) * ((double)counts[i] - want) / want : counts[i] ? 1e9 : 0;
    }
    tap_check(cells > 2 && chi < cells + 5 * sqrt(2.0 * cells), "mirostat %u: %d draws of %d tokens, chi-square %.1f",
              version, draws, cells, chi);
    eng_sampler_destroy(s);
}

static void check_taken_back(uint32_t version)
{
    float l[N], q[N], again[N], fresh[N];
    int32_t token;
    eng_sampler *s = make(version, 4, 0.5f, 1);
    draw_logits(l);
    eng_sampler_probabilities(s, l, fresh);
    for (int i = 0; i < 10; i++) {
        eng_sampler_sample(s, l, &token);
        eng_sampler_accept(s, token);
        if (i == 4)
            eng_sampler_probabilities(s, l, q);
    }
    eng_sampler_probabilities(s, l, again);
    const bool moved = memcmp(q, again, sizeof q) != 0;
    bool good = eng_sampler_rollback(s, 5) == ENG_OK && eng_sampler_probabilities(s, l, again) == ENG_OK &&
                memcmp(q, again, sizeof q) == 0;
    good = good && eng_sampler_rollback(s, 5) == ENG_OK && eng_sampler_probabilities(s, l, again) == ENG_OK &&
           memcmp(fresh, again, sizeof q) == 0;
    tap_check(good && moved && eng_sampler_rollback(s, 1) == ENG_ERR_STATE,
              "mirostat %u: tokens taken back take mu back", version);
    eng_sampler_destroy(s);
}

static void check_refusals(void)
{
    float l[2] = {2, 1};
    int32_t ids[2] = {0, 1}, token;
    tap_check(!make(3, 5, 0.1f, 1) && !make(2, -1, 0.1f, 1) && !make(2, NAN, 0.1f, 1), "wrong settings: %s",
              eng_last_error());
    eng_sampler *s = make(2, 5, 0.1f, 1), *greedy = make(2, 5, 0.1f, 0);
    tap_check(eng_sampler_sample_of(s, ids, l, 2, &token) == ENG_ERR_UNSUPPORTED, "the largest logits alone: %s",
              eng_last_error());
    tap_check(eng_sampler_sample_of(greedy, ids, l, 2, &token) == ENG_OK && token == 0,
              "temperature 0 takes the most likely");
    eng_sampler_destroy(s);
    eng_sampler_destroy(greedy);
}

int main(void)
{
    for (uint32_t version = 1; version <= 2; version++) {
        check_steps(version, 5, 0.1f, 1);
        check_steps(version, 2, 0.3f, 0.8f);
        check_steps(version, 3.5f, 0.05f, 1.5f);
        check_counts(version);
        check_taken_back(version);
    }
    check_refusals();
    return tap_end(NULL);
}
