/*
 * Graphs of small and larger nodes drawn by chance, in which threads share some nodes, leave some to one of them and compute
 * others each for itself (plugins/cpu/run/order.c), with weights as they are and in lanes: by two and three threads, run again
 * and again, also by two hosts at once of which each has to let the other on, they give the bits that one thread gives.
 * Threads for which there are no cores do nothing for themselves.
 *
 *     test-order [GRAPHS]
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "compute.h"

enum { WIDTH = 96, ROWS = 8, MOST_TOKENS = 3, POOL = 6, MOST_STEPS = 400, RUNS = 6, HOSTS = 2 };
enum { LONG_STEPS = 8000, LONG_RUNS = 12 }; /* some milliseconds: more than a run has for itself where others wait */

/* What graph a seed stands for; 0: that of packed_before(). */
typedef struct drawn {
    uint64_t seed;
    uint32_t type; /* of the weights */
    int64_t tokens;
    int steps, runs;
} drawn;

static uint32_t choose(uint64_t *s, uint32_t n)
{
    const double below_one = ((double)number(s) + 1) / 2;
    const uint32_t i = (uint32_t)(below_one * n);
    return i < n ? i : n - 1;
}

/* Operands: a matrix, two of few rows, and what goes in. */
enum { MATRIX, FEW, OTHER_FEW, X, OPERANDS };

/* Of rows that would grow, with products of sums of products, until they are no numbers. */
static eng_value bounded(eng_graph *g, eng_value x)
{
    return eng_rms_norm(g, x, ENG_NO_VALUE, 1e-5);
}

/* A product so small that one thread does it, beside what it leaves of x. */
static eng_value some_rows(eng_graph *g, eng_value w, eng_value x)
{
    return eng_concat(g, eng_mul_mat(g, w, x), eng_slice(g, x, 0, ROWS, WIDTH - ROWS), 0);
}

/* The same elements in another order. */
static eng_value turned(eng_graph *g, eng_value x, int64_t tokens)
{
    const int64_t parts[3] = {WIDTH / 4, 4, tokens}, whole[2] = {WIDTH, tokens};
    const int dims[3] = {1, 0, 2};
    return eng_reshape(g, eng_cont(g, eng_permute(g, eng_reshape(g, x, parts, 3), dims, 3)), whole, 2);
}

static eng_value step(eng_graph *g, uint64_t *s, const eng_value *in, eng_value a, eng_value b, int64_t tokens)
{
    switch (choose(s, 10)) {
    case 0: return eng_add(g, a, b);
    case 1: return bounded(g, eng_mul(g, a, b));
    case 2: return eng_unary(g, a, choose(s, 2) ? ENG_UNARY_SILU : ENG_UNARY_SIGMOID);
    case 3: case 4: case 5: return bounded(g, eng_mul_mat(g, in[MATRIX], a));
    case 6: return some_rows(g, in[choose(s, 2) ? FEW : OTHER_FEW], a);
    case 7: return eng_glu(g, a, b, ENG_GLU_SWIGLU, NULL);
    case 8: return turned(g, a, tokens);
    default: return bounded(g, a);
    }
}

/* Products of few rows one after another, of which all threads do the first and the third and one does the second, whose
 * columns the third has: what they have packed are the first one's. */
static eng_value packed_before(eng_graph *g, const eng_value *in)
{
    const eng_value x = in[X], a = eng_scale(g, x, 2, 0), b = eng_scale(g, x, 3, 0);
    const eng_value first = eng_mul_mat(g, in[FEW], a), last = eng_mul_mat(g, in[OTHER_FEW], b);
    const eng_value third = eng_mul_mat(g, in[FEW], b), rest = eng_slice(g, x, 0, 2 * ROWS, WIDTH - 2 * ROWS);
    const eng_value shared = eng_mul_mat(g, in[MATRIX], eng_concat(g, eng_concat(g, first, third, 0), rest, 0));
    return eng_add(g, shared, eng_concat(g, last, eng_slice(g, x, 0, ROWS, WIDTH - ROWS), 0));
}

static eng_value draw(eng_graph *g, const eng_value *in, const void *data)
{
    const drawn *what = data;
    if (what->seed == 0)
        return packed_before(g, in);
    uint64_t s = what->seed;
    eng_value pool[POOL];
    for (int i = 0; i < POOL; i++)
        pool[i] = eng_scale(g, in[X], 1 + i, 0);
    for (int i = 0; i < what->steps; i++) {
        const uint32_t a = choose(&s, POOL), b = choose(&s, POOL), to = choose(&s, POOL);
        pool[to] = step(g, &s, in, pool[a], pool[b], what->tokens);
    }
    eng_value sum = pool[0];
    for (int i = 1; i < POOL; i++)
        sum = eng_add(g, sum, bounded(g, pool[i]));
    return sum;
}

/* -- runs of it ---------------------------------------------------------------------------------- */

static bool begin(computation *c, const device *d, const drawn *what)
{
    operand in[OPERANDS];
    void *data[OPERANDS];
    const operand result = {ENG_TYPE_F32, {WIDTH, what->tokens}, NULL, false};
    bool good = true;
    for (int i = 0; i < OPERANDS; i++) {
        const bool weight = i != X;
        in[i] = (operand){weight ? what->type : ENG_TYPE_F32, {WIDTH, i == MATRIX ? WIDTH : weight ? ROWS : what->tokens},
                          NULL, weight};
        in[i].data = data[i] = in[i].type == ENG_TYPE_F32 ? numbers(WIDTH * in[i].ne[1], (uint64_t)i + 1)
                                                          : encode(d, in[i].type, in[i].ne, (uint64_t)i + 1);
        good = good && data[i];
    }
    *c = (computation){0};
    good = good && computation_begin(c, d, in, OPERANDS, result, draw, what);
    for (int i = 0; i < OPERANDS; i++)
        free(data[i]);
    return good;
}

/* What one thread makes of it. */
static bool expected(const device *one, const drawn *what, float *out)
{
    computation c;
    bool good = begin(&c, one, what) && computation_run(&c, 0, out);
    for (int64_t i = 0; good && i < WIDTH * what->tokens; i++)
        good = isfinite(out[i]);
    if (!good)
        printf("# %s: seed %llu: a result that is not finite, or %s\n", one->name, (unsigned long long)what->seed, eng_last_error());
    computation_end(&c);
    return good;
}

static bool same(const device *d, const drawn *what, const float *right)
{
    float out[WIDTH * MOST_TOKENS];
    computation c;
    bool good = begin(&c, d, what);
    for (int i = 0; i < what->runs && good; i++) {
        memset(out, 0xff, sizeof out);
        good = computation_run(&c, 0, out) && memcmp(out, right, (size_t)(WIDTH * what->tokens) * sizeof *out) == 0;
    }
    if (!good)
        printf("# %s: seed %llu, %d tokens, %d steps: other bits, or %s\n", d->name, (unsigned long long)what->seed,
               (int)what->tokens, what->steps, eng_last_error());
    computation_end(&c);
    return good;
}

static bool check_one(const device *one, const device *several, const drawn *what)
{
    float right[WIDTH * MOST_TOKENS];
    return expected(one, what, right) && same(several, what, right);
}

static bool check(const device *one, const device *several, int graphs)
{
    bool good = true;
    for (int i = 0; i < graphs && good; i++)
        good = check_one(one, several, &(drawn){(uint64_t)i / 2, i % 2 ? ENG_TYPE_Q4_0 : ENG_TYPE_F32, MOST_TOKENS - i / 2 % MOST_TOKENS,
                                                20 + i * 37 % (MOST_STEPS - 20), RUNS});
    return good;
}

/* -- two hosts that use the device at once --------------------------------------------------------- */

typedef struct host {
    pthread_t thread;
    const device *one, *several;
    drawn what;
    bool good;
} host;

static void *host_main(void *arg)
{
    host *h = arg;
    h->good = check_one(h->one, h->several, &h->what);
    return NULL;
}

static bool check_hosts(const device *one, const device *several)
{
    host h[HOSTS];
    bool good = true;
    for (int i = 0; i < HOSTS; i++) {
        h[i] = (host){.one = one, .several = several, .what = {1000 + (uint64_t)i, ENG_TYPE_F32, 1 + i, LONG_STEPS, LONG_RUNS}};
        if (pthread_create(&h[i].thread, NULL, host_main, &h[i]) != 0)
            return false;
    }
    for (int i = 0; i < HOSTS; i++) {
        pthread_join(h[i].thread, NULL);
        good = good && h[i].good;
    }
    return good;
}

int main(int argc, char **argv)
{
    static const char *const variants[] = {"avx512vnni", "neon", "scalar"};
    const int graphs = argc > 1 ? atoi(argv[1]) : 40;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        device d[3];
        int n = 0;
        while (n < 3 && open_device(&d[n], variants[v], n + 1))
            n++;
        for (int i = 1; i < n; i++)
            tap_check(check(&d[0], &d[i], graphs), "%s: %d graphs", d[i].name, graphs);
        if (n == 3)
            tap_check(check_hosts(&d[0], &d[1]), "%s: two hosts at once", d[1].name);
        for (int i = 0; i < n; i++)
            close_device(&d[i]);
    }
    return tap_end(NULL);
}
