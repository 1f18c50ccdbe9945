/* Random programs: a device's results against the oracle's. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

/* One tensor after one run. */
static void compare(const pg_tensor *t, uint32_t run, double *const *x, uint32_t n_lanes, const double *got,
                    pg_verdict *v)
{
    int64_t n = (int64_t)pg_count(t), row = t->ne[0];
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        square += isfinite(x[0][i]) ? x[0][i] * x[0][i] : 0;
    for (int64_t first = 0; first < n && v->good; first += row) {
        double tolerance = pg_tolerance(x, n_lanes, n, row, first);
        v->rows++;
        v->loose += !(tolerance <= 0.05 * sqrt(square / (double)n) + 1e-30);
        for (int64_t i = first; i < first + row; i++) {
            double off = fabs(got[i] - x[0][i]);
            if (got[i] == x[0][i] || (isnan(got[i]) && isnan(x[0][i])))
                continue;
            if (tolerance > 0)
                v->worst = fmax(v->worst, off / tolerance);
            if (off <= tolerance)
                continue;
            v->good = false;
            snprintf(v->text, sizeof v->text, "%s[%" PRId64 "] is %.9g, not %.9g: off by %.3g, tolerated %.3g%s",
                     t->name, i, got[i], x[0][i], off, tolerance, run ? " (second run)" : "");
            break;
        }
    }
}

static void judge(const pg_program *p, const pg_results *results, uint32_t n_lanes, pg_verdict *v)
{
    pg_oracle *o = pg_oracle_create(n_lanes, p->seed);
    double *x[PG_MAX_LANES] = {NULL};

    memset(v, 0, sizeof *v);
    v->good = o != NULL;
    for (uint32_t i = 0; i < p->n_tensors && v->good; i++)
        v->good = pg_oracle_add(o, p, i);
    for (uint32_t run = 0; run < p->runs && v->good; run++) {
        pg_oracle_next_run(o, p);
        for (uint32_t k = 0; k < p->n_ops && v->good; k++)
            v->good = pg_oracle_step(o, p, k, results->data[run]);
        if (!v->good)
            snprintf(v->text, sizeof v->text, "%s%s", o->error, run ? " (second run)" : "");
        for (uint32_t i = 0; i < p->n_tensors && v->good; i++) {
            if (!pg_is_result(&p->tensors[i]))
                continue;
            for (uint32_t l = 0; l < n_lanes; l++)
                x[l] = o->lanes[l]->tensors[i].t.data;
            compare(&p->tensors[i], run, x, n_lanes, results->data[run][i], v);
        }
    }
    pg_oracle_free(o);
}

void pg_judge(const pg_program *p, const pg_results *results, pg_verdict *v)
{
    judge(p, results, 3, v);
    if (!v->good) /* two lanes may both be close to the first by chance; nine are not */
        judge(p, results, PG_MAX_LANES, v);
}
