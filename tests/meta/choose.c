/* Random programs: is what a device chose or encoded a right answer? */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static bool wrong(pg_oracle *o, int64_t at, double got, double want, double tolerance)
{
    snprintf(o->error, sizeof o->error, "element %" PRId64 " is %.9g, which cannot be: %.9g +- %.3g", at, got, want,
             tolerance);
    return false;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static int ascending(const void *a, const void *b)
{
    return descending(b, a);
}

bool pg_choice_fits(pg_oracle *o, const pg_op *op, double *const *x, int64_t ne0, int64_t rows, const double *got,
                    int64_t k)
{
    double *sorted = calloc((size_t)ne0 + 1, sizeof *sorted);
    bool good = sorted != NULL;

    bool smallest_first = op->op == ENG_OP_ARGSORT && !op->ip[ENG_ARGSORT_DESCENDING];
    for (int64_t r = 0; r < rows && good; r++) {
        const double *row = x[0] + r * ne0;
        double tolerance = 2 * pg_tolerance(x, o->n_lanes, rows * ne0, ne0, r * ne0);
        memcpy(sorted, row, (size_t)ne0 * sizeof *row);
        qsort(sorted, (size_t)ne0, sizeof *sorted, smallest_first ? ascending : descending);
        for (int64_t i = 0; i < k && good; i++) {
            double g = got[r * k + i];
            good = g >= 0 && g < (double)ne0 && g == floor(g);
            for (int64_t j = 0; j < i && good; j++)
                good = got[r * k + j] != g;
            good = good && fabs(row[(int64_t)g] - sorted[i]) <= tolerance;
            if (!good)
                wrong(o, r * k + i, g, sorted[i], tolerance);
        }
    }
    free(sorted);
    return good;
}

/* Values of plain types: one of those next to x, and x may be off. */
static bool plain_fits(uint32_t type, double x, double tolerance, double got)
{
    unsigned char low[8] = {0}, high[8] = {0};
    double a = x - tolerance, b = x + tolerance, below, above;

    if (isnan(got))
        return false;
    ref_encode(type, &a, low, 1, false);
    ref_encode(type, &b, high, 1, false);
    ref_decode(type, low, &below, 1);
    ref_decode(type, high, &above, 1);
    return got >= below && got <= above;
}

/* One block: no value is further than a step of the format from the oracle's encoding. */
static bool block_fits(pg_oracle *o, const double *model, const double *step, const double *got, int64_t n,
                       double tolerance, int64_t at)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - model[i]) <= 1.01 * step[i] + 2 * tolerance))
            return wrong(o, at + i, got[i], model[i], 1.01 * step[i] + 2 * tolerance);
    return true;
}

/* Types whose encoder searches: near the value, measured by the block's largest; scales
 * are f16 and have their smallest. */
static bool near(pg_oracle *o, const double *x, const double *got, int64_t n, double tolerance, int64_t at)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    tolerance += 1e-4;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - x[i]) <= 0.5 * most + tolerance))
            return wrong(o, at + i, got[i], x[i], 0.5 * most + tolerance);
    return true;
}

static bool convert_block(pg_oracle *o, uint32_t type, double *const *x, int64_t n, int64_t at, double tolerance,
                          const double *got)
{
    unsigned char bytes[512];
    double model[256], step[256];
    const double *now = got ? got + at : model;

    if (ref_can_encode(type, false)) {
        ref_encode(type, x[0] + at, bytes, n, false);
        ref_decode(type, bytes, model, n);
        ref_steps(type, bytes, step, n);
    } else {
        memcpy(model, x[0] + at, (size_t)n * sizeof *model);
    }
    if (got && n == 1 && !plain_fits(type, x[0][at], tolerance, *now))
        return wrong(o, at, *now, x[0][at], tolerance);
    if (got && n > 1 && ref_can_encode(type, false) && !block_fits(o, model, step, now, n, tolerance, at))
        return false;
    if (got && !ref_can_encode(type, false) && !near(o, x[0] + at, now, n, tolerance, at))
        return false;
    for (uint32_t l = 0; l < o->n_lanes; l++)
        memcpy(x[l] + at, now, (size_t)n * sizeof *now);
    return true;
}

bool pg_convert(pg_oracle *o, uint32_t type, double *const *x, int64_t n, int64_t row, const unsigned char *touched,
                const double *got)
{
    int64_t block = ref_block(type);
    double *tolerance = calloc((size_t)(n / block) + 1, sizeof *tolerance);
    bool good = tolerance != NULL;

    for (int64_t i = 0; i < n && good && got; i += block) /* before any lane changes */
        tolerance[i / block] = !touched || touched[i] ? pg_tolerance(x, o->n_lanes, n, row, i) : 0;
    for (int64_t i = 0; i < n && good; i += block)
        if (!touched || touched[i])
            good = convert_block(o, type, x, block, i, tolerance[i / block], got);
    free(tolerance);
    return good;
}
