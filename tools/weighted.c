/* The types that weighted encoders make, and what their blocks have in common. */
#include "config.h"

#include "weighted_fit.h"

#include "libengine/util/util.h"

enum { USES = 1, NEEDS = 2, ONLY = 4 };

static const struct {
    uint32_t type;
    int what;
    void (*block)(const float *x, const float *w, uint8_t *out);
} types[] = {
    {ENG_TYPE_Q4_0, USES, fit_q4_0},
    {ENG_TYPE_Q4_1, USES, fit_q4_1},
    {ENG_TYPE_Q5_0, USES, fit_q5_0},
    {ENG_TYPE_Q5_1, USES, fit_q5_1},
    {ENG_TYPE_Q2_K, USES, fit_q2_K},
    {ENG_TYPE_Q3_K, USES, fit_q3_K},
    {ENG_TYPE_Q4_K, USES, fit_q4_K},
    {ENG_TYPE_Q5_K, USES, fit_q5_K},
    {ENG_TYPE_Q6_K, USES, fit_q6_K},
    {ENG_TYPE_IQ4_NL, USES, fit_iq4_nl},
    {ENG_TYPE_IQ4_XS, USES, fit_iq4_xs},
    {ENG_TYPE_IQ3_S, USES | ONLY, fit_iq3_s},
    {ENG_TYPE_IQ3_XXS, USES | ONLY, fit_iq3_xxs},
    {ENG_TYPE_IQ2_S, USES | NEEDS | ONLY, fit_iq2_s},
    {ENG_TYPE_IQ2_XS, USES | NEEDS | ONLY, fit_iq2_xs},
    {ENG_TYPE_IQ2_XXS, USES | NEEDS | ONLY, fit_iq2_xxs},
    {ENG_TYPE_IQ1_M, USES | NEEDS | ONLY, fit_iq1_m},
    {ENG_TYPE_IQ1_S, USES | NEEDS | ONLY, fit_iq1_s},
    {ENG_TYPE_TQ1_0, ONLY, fit_tq1_0},
    {ENG_TYPE_TQ2_0, ONLY, fit_tq2_0},
    {ENG_TYPE_Q1_0, ONLY, fit_q1_0},
    {ENG_TYPE_Q2_0, ONLY, fit_q2_0},
};
#define N_TYPES (sizeof types / sizeof *types)

static int what(uint32_t type)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].type == type)
            return types[i].what;
    return 0;
}

bool weighted_uses(uint32_t type)
{
    return what(type) & USES;
}

bool weighted_needs(uint32_t type)
{
    return what(type) & NEEDS;
}

bool weighted_only(uint32_t type)
{
    return what(type) & ONLY;
}

bool weighted_prepare(uint32_t type)
{
    return fit_prepare_patterns(type);
}

void weighted_end(void)
{
    fit_end_patterns();
}

void weighted_row(uint32_t type, const float *x, const float *importance, int64_t n, uint8_t *out)
{
    const eng_type_info *t = eng_type_get(type);
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].type == type)
            for (int64_t at = 0; at < n; at += t->block, out += t->block_bytes) {
                float v[256], w[256];
                fit_load(x + at, importance ? importance + at : NULL, (int)t->block, 1e9f, v, w);
                types[i].block(v, w, out);
            }
}

void fit_load(const float *x, const float *importance, int n, float most, float *v, float *w)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        v[i] = x[i] == x[i] ? x[i] > most ? most : x[i] < -most ? -most : x[i] : 0;
        w[i] = importance && importance[i] > 0 && importance[i] < INFINITY ? importance[i] : 0;
        sum += w[i];
    }
    /* Their size does not matter; sums of squares of the largest must be numbers.  A little for all: none is given
     * up. */
    const float unit = sum > 0 ? (float)n / sum : 0;
    for (int i = 0; i < n; i++)
        w[i] = unit > 0 && unit < INFINITY ? w[i] * unit + 1e-6f : 1;
}
