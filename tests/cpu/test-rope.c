/*
 * Rotary embedding with frequencies that are no numbers: the pairs that they turn are none, and the others are what they are
 * without them.  A frequency of zero turns nothing.  Each variant of the plugin that the machine has, and opencl:0.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "compute.h"

enum { PAIRS = 20, DIMS = 2 * PAIRS, HEADS = 3, TOKENS = 5 };

static eng_value build(eng_graph *g, const eng_value *in, const void *what)
{
    eng_rope_params p;
    eng_rope_defaults(&p);
    p.n_dims = DIMS;
    p.mode = *(const int32_t *)what;
    return eng_rope(g, in[0], in[1], in[2], &p);
}

/* By what frequencies are divided: ones, or what makes none of some. */
static void divisors(float *by, bool hostile)
{
    static const float kinds[] = {1, NAN, 0, INFINITY, -0.0f};
    for (int i = 0; i < PAIRS; i++)
        by[i] = hostile ? kinds[i % 5] : 1;
}

static float *turned(const device *d, int32_t mode, bool hostile)
{
    static const int32_t pos[TOKENS] = {0, 1, 7, 1000, 123456};
    float by[PAIRS];
    float *x = numbers((int64_t)DIMS * HEADS * TOKENS, 5);
    divisors(by, hostile);
    const operand in[] = {{ENG_TYPE_F32, {DIMS, HEADS, TOKENS, 1}, x, false}, {ENG_TYPE_I32, {TOKENS, 1, 1, 1}, pos, false},
                          {ENG_TYPE_F32, {PAIRS, 1, 1, 1}, by, false}};
    const operand result = {ENG_TYPE_F32, {DIMS, HEADS, TOKENS, 1}, NULL, false};
    float *y = x ? compute(d, in, 3, result, build, &mode, 0) : NULL;
    free(x);
    return y;
}

/* Whose pair is dimension i? */
static int pair_of(int i, int32_t mode)
{
    return mode == ENG_ROPE_NORMAL ? i / 2 : i % PAIRS;
}

static bool good(const float *plain, const float *got, const float *x, int32_t mode)
{
    float by[PAIRS];
    divisors(by, true);
    for (int64_t k = 0; k < (int64_t)DIMS * HEADS * TOKENS; k++) {
        const float divisor = by[pair_of((int)(k % DIMS), mode)];
        const bool right = isinf(divisor) ? got[k] == x[k] : divisor == 1 ? memcmp(&got[k], &plain[k], 4) == 0 : isnan(got[k]);
        if (!right) {
            printf("# number %lld, divisor %g: %g, without %g, before %g\n", (long long)k, (double)divisor, (double)got[k], (double)plain[k],
                   (double)x[k]);
            return false;
        }
    }
    return true;
}

static void check(const device *d)
{
    static const int32_t modes[] = {ENG_ROPE_NORMAL, ENG_ROPE_NEOX};
    static const char *const names[] = {"neighbours", "halves"};
    for (int i = 0; i < 2; i++) {
        float *x = numbers((int64_t)DIMS * HEADS * TOKENS, 5), *plain = turned(d, modes[i], false), *got = turned(d, modes[i], true);
        tap_check(x && plain && got && good(plain, got, x, modes[i]), "%s: %s", d->name, names[i]);
        free(x);
        free(plain);
        free(got);
    }
}

int main(void)
{
    static const char *const variants[] = {"scalar", "avx2", "avx512", "neon"};
    eng_context *context = tap_begin();
    device d;
    for (size_t i = 0; context && i < sizeof variants / sizeof *variants; i++)
        if (open_device(&d, variants[i], 2)) {
            check(&d);
            close_device(&d);
        }
    if (context && open_other(&d, "opencl:0", "opencl.fuse", "no")) {
        check(&d);
        close_device(&d);
    }
    return tap_end(context);
}
