/*
 * A run of weights divided by a scale is next to some point of the lattice of all patterns that could be; the file's
 * type has only some of them.  Of those near the point the best is taken by the weighted error itself.
 */
#include "config.h"

#include <stdlib.h>

#include "weighted_patterns.h"

#include "libengine/util/grids.h"

#define CODE(c) c,
static const uint16_t iq2_xxs[] = {EU_GRID_iq2_xxs(CODE)}, iq2_xs[] = {EU_GRID_iq2_xs(CODE)};
static const uint16_t iq2_s[] = {EU_GRID_iq2_s(CODE)}, iq1[] = {EU_GRID_iq1(CODE)};
static const uint16_t iq3_xxs[] = {EU_GRID_iq3_xxs(CODE)}, iq3_s[] = {EU_GRID_iq3_s(CODE)};
#undef CODE

typedef struct set {
    uint32_t type, other; /* two types may have one table */
    const uint16_t *codes;
    fit_patterns p;
} set;

static set sets[] = {
    {ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XXS, iq2_xxs, {8, 3, 256, 8, 17.5f, 43, NULL, NULL}},
    {ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_XS, iq2_xs, {8, 3, 512, 8, 17.5f, 43, NULL, NULL}},
    {ENG_TYPE_IQ2_S, ENG_TYPE_IQ2_S, iq2_s, {8, 3, 1024, 8, 17.5f, 43, NULL, NULL}},
    {ENG_TYPE_IQ3_XXS, ENG_TYPE_IQ3_XXS, iq3_xxs, {4, 8, 256, 4, 8, 62, NULL, NULL}},
    {ENG_TYPE_IQ3_S, ENG_TYPE_IQ3_S, iq3_s, {4, 8, 512, 1, 2, 15, NULL, NULL}},
    {ENG_TYPE_IQ1_S, ENG_TYPE_IQ1_M, iq1, {8, 3, 2048, -1, 1, 1, NULL, NULL}},
};
#define N_SETS (sizeof sets / sizeof *sets)

static set *set_of(uint32_t type)
{
    for (size_t i = 0; i < N_SETS; i++)
        if (sets[i].type == type || sets[i].other == type)
            return &sets[i];
    return NULL;
}

const fit_patterns *fit_patterns_of(uint32_t type)
{
    const set *s = set_of(type);
    return s ? &s->p : NULL;
}

static float value(const fit_patterns *p, int level)
{
    static const float middle = 25; /* of iq2: 8, 25, 43 */
    return level == p->levels - 1 ? p->last : level == 1 && p->last == 43 ? middle : p->first + p->step * (float)level;
}

static int points_of(const fit_patterns *p)
{
    int n = 1;
    for (int i = 0; i < p->dims; i++)
        n *= p->levels;
    return n;
}

/* The nearest of all patterns to each point, by the plain distance. */
static void find_near(fit_patterns *p)
{
    for (int point = 0, n = points_of(p); point < n; point++) {
        float best[FIT_NEAR];
        fit_four at[2] = {{0}, {0}};
        int found = 0;
        for (int i = 0, rest = point; i < p->dims; i++, rest /= p->levels)
            at[i / 4][i % 4] = value(p, rest % p->levels);
        for (int c = 0; c < p->count; c++) {
            const fit_four a = p->v[c][0] - at[0], b = p->v[c][1] - at[1];
            const float d = fit_sum(a * a, b * b);
            if (found == FIT_NEAR && d >= best[FIT_NEAR - 1])
                continue;
            int i = found < FIT_NEAR ? found++ : FIT_NEAR - 1;
            for (; i > 0 && best[i - 1] > d; i--) {
                best[i] = best[i - 1];
                p->near[point][i] = p->near[point][i - 1];
            }
            best[i] = d;
            p->near[point][i] = (uint16_t)c;
        }
    }
}

bool fit_prepare_patterns(uint32_t type)
{
    set *s = set_of(type);
    if (!s || s->p.near)
        return true;
    fit_patterns *p = &s->p;
    p->v = aligned_alloc(sizeof(fit_four), (size_t)p->count * sizeof *p->v);
    p->near = malloc((size_t)points_of(p) * sizeof *p->near);
    if (!p->v || !p->near) {
        fit_end_patterns();
        return false;
    }
    const int bits = p->dims == 8 ? 2 : 3;
    for (int c = 0; c < p->count; c++)
        for (int i = 0; i < 8; i++)
            p->v[c][i / 4][i % 4] = i < p->dims ? value(p, s->codes[c] >> bits * i & ((1 << bits) - 1)) : 0;
    find_near(p);
    return true;
}

void fit_end_patterns(void)
{
    for (size_t i = 0; i < N_SETS; i++) {
        free(sets[i].p.v);
        free(sets[i].p.near);
        sets[i].p.v = NULL;
        sets[i].p.near = NULL;
    }
}

fit_run fit_run_of(const fit_patterns *p, const float *x, const float *w)
{
    fit_run r = {{{0}, {0}}, {{0}, {0}}};
    memcpy(r.x, x, (size_t)p->dims * sizeof *x);
    memcpy(r.w, w, (size_t)p->dims * sizeof *w);
    return r;
}

int fit_pattern(const fit_patterns *p, const fit_run *r, float scale)
{
    const float inverse = 1 / (scale * p->step), offset = 0.5f - p->first / p->step, end = (float)p->levels - 0.5f;
    int point = 0;
    for (int i = p->dims - 1; i >= 0; i--) {
        float y = r->x[i / 4][i % 4] * inverse + offset;
        y = y > 0 ? y : 0;
        point = point * p->levels + (int)(y < end ? y : end);
    }
    const fit_four sw[2] = {scale * r->w[0], scale * r->w[1]};
    const fit_four wx[2] = {2 * r->w[0] * r->x[0], 2 * r->w[1] * r->x[1]};
    const uint16_t *near = p->near[point];
    float best = INFINITY;
    int found = near[0];
    for (int k = 0; k < FIT_NEAR; k++) {
        const fit_four *v = p->v[near[k]];
        const float e = fit_sum(v[0] * (sw[0] * v[0] - wx[0]), v[1] * (sw[1] * v[1] - wx[1]));
        if (e < best) {
            best = e;
            found = near[k];
        }
    }
    return found;
}
