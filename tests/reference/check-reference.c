/* The oracle against identities that do not come from its own code. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static uint64_t state = 1;

static uint64_t bits(void *ctx)
{
    (void)ctx;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

static double uniform(double lo, double hi)
{
    return lo + (hi - lo) * (double)(bits(NULL) >> 11) * 0x1p-53;
}

static ref_tensor filled(double lo, double hi, int64_t a, int64_t b, int64_t c, int64_t d)
{
    ref_tensor t;
    int64_t ne[4] = {a, b, c, d};

    ck_assert(ref_alloc(&t, ne, 4, true, true));
    for (int64_t i = 0; i < ref_count(&t); i++)
        t.data[i] = uniform(lo, hi);
    return t;
}

static double distance(const double *a, const double *b, int64_t n)
{
    double d = 0;

    for (int64_t i = 0; i < n; i++)
        d = fmax(d, fabs(a[i] - b[i]));
    return d;
}

START_TEST(hadamard_is_its_inverse)
{
    for (int64_t group = 1; group <= 4096; group *= 2) {
        ref_tensor x = filled(-1, 1, 3 * group, 2, 1, 1);
        ref_call a = {.op = ENG_OP_HADAMARD, .in = {&x}, .ip = {group}};
        ck_assert_int_eq(ref_eval(&a), 0);
        ref_call b = {.op = ENG_OP_HADAMARD, .in = {&a.out[0]}, .ip = {group}};
        ck_assert_int_eq(ref_eval(&b), 0);
        ck_assert_double_lt(distance(x.data, b.out[0].data, ref_count(&x)), 1e-13);
        /* one entry of the matrix itself, beyond the sizes that use it */
        memset(x.data, 0, sizeof(double) * (size_t)(3 * group));
        x.data[group - 1] = 1;
        ref_call e = {.op = ENG_OP_HADAMARD, .in = {&x}, .ip = {group}};
        ck_assert_int_eq(ref_eval(&e), 0);
        for (int64_t r = 0; r < group; r++)
            ck_assert_double_lt(fabs(e.out[0].data[r] -
                                     (__builtin_popcountll((unsigned long long)r) & 1 ? -1 : 1) / sqrt((double)group)),
                                1e-14);
        ref_free(&x);
        ref_free(&a.out[0]);
        ref_free(&b.out[0]);
        ref_free(&e.out[0]);
    }
}
END_TEST

enum { S = 6, T = 11 };

/* The chunked form of the gated delta rule on one head: (I + L) U = diag(beta) (V - (K e^G) S0). */
static void chunked(const ref_tensor *q, const ref_tensor *k, const ref_tensor *v, const ref_tensor *g,
                    const ref_tensor *beta, const double *s0, double *o, double *end)
{
    double u[T][S], sum[T][S];

    for (int t = 0; t < T; t++)
        for (int i = 0; i < S; i++)
            sum[t][i] = (t ? sum[t - 1][i] : 0) + g->data[t * g->ne[0] + i % g->ne[0]];
    for (int t = 0; t < T; t++)
        for (int j = 0; j < S; j++) {
            double r = v->data[t * S + j];
            for (int i = 0; i < S; i++)
                r -= k->data[t * S + i] * exp(sum[t][i]) * s0[j * S + i];
            for (int e = 0; e < t; e++) {
                double l = 0;
                for (int i = 0; i < S; i++)
                    l += k->data[t * S + i] * exp(sum[t][i] - sum[e][i]) * k->data[e * S + i];
                r -= l * u[e][j];
            }
            u[t][j] = beta->data[t] * r;
        }
    for (int t = 0; t < T; t++)
        for (int j = 0; j < S; j++) {
            double r = 0;
            for (int i = 0; i < S; i++)
                r += q->data[t * S + i] * exp(sum[t][i]) * s0[j * S + i];
            for (int e = 0; e <= t; e++)
                for (int i = 0; i < S; i++)
                    r += q->data[t * S + i] * exp(sum[t][i] - sum[e][i]) * k->data[e * S + i] * u[e][j];
            o[t * S + j] = r / sqrt((double)S);
        }
    for (int j = 0; j < S; j++)
        for (int i = 0; i < S; i++) {
            end[j * S + i] = exp(sum[T - 1][i]) * s0[j * S + i];
            for (int e = 0; e < T; e++)
                end[j * S + i] += k->data[e * S + i] * exp(sum[T - 1][i] - sum[e][i]) * u[e][j];
        }
}

START_TEST(delta_rule_in_chunks)
{
    for (int channel = 0; channel < 2; channel++) {
        ref_tensor q = filled(-1, 1, S, 1, T, 1), k = filled(-0.4, 0.4, S, 1, T, 1), v = filled(-1, 3, S, 1, T, 1);
        ref_tensor g = filled(-1, 0, channel ? S : 1, 1, T, 1), beta = filled(0, 1, 1, T, 1, 1),
                   pool = filled(-1, 1, S, S, 1, 3);
        ref_tensor src = filled(1, 1, 1, 1, 1, 1), dst = filled(0, 0, 2, 1, 1, 1), cu = filled(0, 0, 2, 1, 1, 1);
        double o[T * S], end[S * S], s0[S * S];
        memcpy(s0, pool.data + S * S, sizeof s0);
        dst.data[0] = 2;
        dst.data[1] = -1;
        cu.data[1] = T;
        ref_call c = {
            .op = ENG_OP_GATED_DELTA_NET, .in = {&q, &k, &v, &g, &beta, &pool, &src, &dst, &cu}, .ip = {0, 2}};
        ck_assert_int_eq(ref_eval(&c), 0);
        chunked(&q, &k, &v, &g, &beta, s0, o, end);
        ck_assert_double_lt(distance(o, c.out[0].data, T * S), 1e-12);
        ck_assert_double_lt(distance(end, pool.data + 2 * S * S, S * S), 1e-12);
        ck_assert_double_eq(distance(s0, pool.data + S * S, S * S), 0);
        ref_tensor *all[] = {&q, &k, &v, &g, &beta, &pool, &src, &dst, &cu, &c.out[0]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            ref_free(all[i]);
    }
}
END_TEST

START_TEST(rope_turns_back)
{
    static const int modes[] = {ENG_ROPE_NORMAL, ENG_ROPE_NEOX, ENG_ROPE_MROPE, ENG_ROPE_IMROPE, ENG_ROPE_VISION};

    for (int m = 0; m < 5; m++) {
        ref_tensor x = filled(-1, 1, 32, 2, 3, 1), pos = filled(0, 500, 3, 4, 1, 1);
        int64_t n = modes[m] == ENG_ROPE_VISION ? 16 : 24;
        ref_call a = {.op = ENG_OP_ROPE,
                      .in = {&x, &pos, NULL},
                      .ip = {n, modes[m], 4096, 0, 0, 4, 3, 3, 2},
                      .fp = {1e4, 1, 0, 1, 32, 1}};
        ck_assert_int_eq(ref_eval(&a), 0);
        ref_call b = a;
        b.in[0] = &a.out[0];
        b.ip[ENG_ROPE_INVERSE] = 1;
        ck_assert_int_eq(ref_eval(&b), 0);
        ck_assert_double_gt(distance(x.data, a.out[0].data, ref_count(&x)), 0.1);
        ck_assert_double_lt(distance(x.data, b.out[0].data, ref_count(&x)), 1e-12);
        ref_free(&x);
        ref_free(&pos);
        ref_free(&a.out[0]);
        ref_free(&b.out[0]);
    }
}
END_TEST

/* Attention with one value channel that is 1 everywhere gives the weights' sum; with
 * a value of its own each cell gives the weights, which soft_max gives too. */
START_TEST(attention_is_a_softmax)
{
    enum { D = 8, N = 9 };
    ref_tensor q = filled(-1, 1, D, 1, 1, 1), k = filled(-1, 1, D, N, 1, 1), v = filled(0, 0, N, N, 1, 1),
               pos = filled(0, 0, 1, 1, 1, 1);
    for (int j = 0; j < N; j++)
        v.data[j * N + j] = 1;
    pos.data[0] = N - 3; /* causal: the last two cells are hidden */
    ref_call a = {.op = ENG_OP_ATTENTION, .in = {&q, &k, &v, &pos}, .ip = {-1, 0, 1, 0}, .fp = {0.5, 0, 0}};
    ck_assert_int_eq(ref_eval(&a), 0);
    ref_call m = {.op = ENG_OP_MUL_MAT, .in = {&k, &q}};
    ck_assert_int_eq(ref_eval(&m), 0);
    ref_tensor part = ref_slice(&m.out[0], 0, 0, N - 2);
    ref_call s = {.op = ENG_OP_SOFT_MAX, .in = {&part, NULL, NULL}, .fp = {0.5, 0}};
    ck_assert_int_eq(ref_eval(&s), 0);
    ck_assert_double_lt(distance(a.out[0].data, s.out[0].data, N - 2), 1e-14);
    ck_assert_double_eq(a.out[0].data[N - 1], 0);
    ref_tensor *all[] = {&q, &k, &v, &pos, &a.out[0], &m.out[0], &s.out[0]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ref_free(all[i]);
}
END_TEST

/* Cells cut in two: the parts' results, weighted by their denominators, are the whole's. */
START_TEST(attention_in_parts)
{
    enum { D = 8, E = 4, N = 11, CUT = 5, TOKENS = 4, H = 2 };
    ref_tensor q = filled(-1, 1, D, H, TOKENS, 1), k = filled(-1, 1, D, N, 1, 1), v = filled(-1, 1, E, N, 1, 1),
               pos = filled(0, 0, TOKENS, 1, 1, 1), sinks = filled(-1, 1, H, 1, 1, 1);
    const int64_t params[] = {N - 1};
    for (int t = 0; t < TOKENS; t++)
        pos.data[t] = 2 + 3 * t;
    ref_call call[3]; /* the whole, two parts of which one has the sinks */
    for (int i = 0; i < 3; i++) {
        ref_tensor kp = ref_slice(&k, 1, i == 2 ? CUT : 0, i == 0 ? N : i == 1 ? CUT : N - CUT);
        ref_tensor vp = ref_slice(&v, 1, i == 2 ? CUT : 0, i == 0 ? N : i == 1 ? CUT : N - CUT);
        call[i] = (ref_call){.op = ENG_OP_ATTENTION, .in = {&q, &kp, &vp, &pos}, .params = params,
                             .ip = {0, 6, 1, 0, i == 2 ? CUT : 0, 1}, .fp = {0.5, 0, 0}};
        call[i].in[8] = i < 2 ? &sinks : NULL;
        ck_assert_int_eq(ref_eval(&call[i]), 0);
        ck_assert_uint_eq(call[i].n_out, 2);
    }
    for (int r = 0; r < TOKENS * H; r++) {
        double a = exp(call[1].out[1].data[r]), b = exp(call[2].out[1].data[r]);
        ck_assert_double_eq_tol(log(a + b), call[0].out[1].data[r], 1e-13);
        for (int e = 0; e < E; e++) {
            double x = call[1].out[0].data[r * E + e], y = call[2].out[0].data[r * E + e];
            ck_assert_double_eq_tol((a * x + b * y) / (a + b), call[0].out[0].data[r * E + e], 1e-13);
        }
    }
    ck_assert_double_eq(call[2].out[1].data[0], -INFINITY); /* the first token is before the second part */
    ref_tensor *all[] = {&q, &k, &v, &pos, &sinks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ref_free(all[i]);
    for (int i = 0; i < 6; i++)
        ref_free(&call[i / 2].out[i % 2]);
}
END_TEST

START_TEST(types_round_trip)
{
    double x[256], y[256], step[256];
    unsigned char b[2048];

    for (int h = 0; h < 65536; h++)
        if ((h & 0x7c00) != 0x7c00 || !(h & 0x3ff))
            ck_assert_int_eq(ref_to_half(ref_half((uint16_t)h)), h);
    ck_assert_int_eq(ref_to_half(65519.999), 0x7bff);
    ck_assert_int_eq(ref_to_half(65520), 0x7c00);
    for (uint32_t type = 0; type < ENG_TYPE_LIMIT; type++) {
        if (!ref_can_encode(type, false) || type == ENG_TYPE_I32 || type == ENG_TYPE_I64)
            continue;
        for (int i = 0; i < 256; i++)
            x[i] = (float)uniform(-1, 1);
        ck_assert(ref_encode(type, x, b, 256, false));
        ref_decode(type, b, y, 256);
        ref_steps(type, b, step, 256);
        for (int i = 0; i < 256; i++)
            ck_assert_msg(fabs(x[i] - y[i]) <= 1.1 * step[i], "%s: %g -> %g, step %g", ref_type_name(type), x[i], y[i],
                          step[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oracle");
    TCase *t = tcase_create("identities");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, hadamard_is_its_inverse);
    tcase_add_test(t, delta_rule_in_chunks);
    tcase_add_test(t, rope_turns_back);
    tcase_add_test(t, attention_is_a_softmax);
    tcase_add_test(t, attention_in_parts);
    tcase_add_test(t, types_round_trip);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
