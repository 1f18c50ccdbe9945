/* cumsum: each prefix is summed up; its magnitude is the sum of the absolute values. */
#include "config.h"

#include "ref.h"

#include <math.h>

int ref_op_cumsum(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    ref_tensor *y = &c->out[0];
    int64_t i[ENG_MAX_RANK] = {0};

    if (!ref_alloc(y, x->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    do {
        int64_t at = ref_at(y, i);
        double v = x->data[ref_at(x, i)];
        y->data[at] = v + (i[0] ? y->data[at - 1] : 0);
        y->mag[at] = fabs(v) + (i[0] ? y->mag[at - 1] : 0);
    } while (ref_next(x->ne, i));
    return 0;
}
