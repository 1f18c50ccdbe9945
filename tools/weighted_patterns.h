/* Tables of patterns (libengine/util/grids.h), and which of them are near a point of their lattice. */
#ifndef TOOLS_WEIGHTED_PATTERNS_H
#define TOOLS_WEIGHTED_PATTERNS_H

#include "weighted_fit.h"

#define FIT_NEAR 12 /* patterns looked at for a point */

typedef struct fit_patterns {
    int dims, levels, count;   /* elements of a pattern, values of an element         */
    float first, step, last;   /* the values: from `first` on in steps, but the last  */
    fit_four (*v)[2];          /* of each pattern; of four elements the second is 0   */
    uint16_t (*near)[FIT_NEAR];/* of each point, the nearest first                    */
} fit_patterns;

/* Prepared before; of q's own set. */
const fit_patterns *fit_patterns_of(uint32_t type);

/* `dims` elements, their weights, and the weights times them; the second half of four elements is 0. */
typedef struct fit_run {
    fit_four x[2], w[2];
} fit_run;
fit_run fit_run_of(const fit_patterns *p, const float *x, const float *w);
/* The pattern that fits best when it is multiplied by `scale` > 0. */
int fit_pattern(const fit_patterns *p, const fit_run *r, float scale);

static inline float fit_sum(fit_four a, fit_four b)
{
    return fit_sum_of(a + b);
}

/* What a run adds with a pattern whose elements are shifted: to the sums, and to the error for a scale. */
static inline void fit_add(const fit_run *r, const fit_four *v, float shift, fit_sums *s)
{
    const fit_four a = v[0] + shift, b = v[1] + shift;
    s->xl += fit_sum(r->w[0] * r->x[0] * a, r->w[1] * r->x[1] * b);
    s->ll += fit_sum(r->w[0] * a * a, r->w[1] * b * b);
}

static inline float fit_error(const fit_run *r, const fit_four *v, float shift, float scale)
{
    const fit_four a = r->x[0] - scale * (v[0] + shift), b = r->x[1] - scale * (v[1] + shift);
    return fit_sum(r->w[0] * a * a, r->w[1] * b * b);
}

#endif
