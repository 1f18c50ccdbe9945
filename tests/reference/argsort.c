/* argsort: each element's place is the number of those that come before it. */
#include "config.h"

#include "ref.h"

#include <math.h>

static bool before(double a, int64_t i, double b, int64_t j, bool descending)
{
    if (a == b)
        return i < j;
    return descending ? a > b : a < b;
}

int ref_op_argsort(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    ref_tensor *y = &c->out[0];
    int64_t i[ENG_MAX_RANK] = {0}, n = x->ne[0];

    if (!ref_alloc(y, x->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    do {
        const double *row = x->data + ref_at(x, i) - i[0] * x->st[0];
        double mine = isnan(row[i[0] * x->st[0]]) ? -INFINITY : row[i[0] * x->st[0]];
        int64_t place = 0, at = i[0];
        for (int64_t l = 0; l < n; l++) {
            double other = isnan(row[l * x->st[0]]) ? -INFINITY : row[l * x->st[0]];
            place += before(other, l, mine, at, c->ip[ENG_ARGSORT_DESCENDING] != 0);
        }
        y->data[ref_at(y, i) - at + place] = (double)at;
    } while (ref_next(x->ne, i));
    return 0;
}
