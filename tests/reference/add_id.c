/* add_id: to each row a row of b is added, which an index names. */
#include "config.h"

#include "ref.h"

#include <math.h>

int ref_op_add_id(ref_call *c)
{
    const ref_tensor *a = c->in[0], *b = c->in[1], *ids = c->in[2];
    ref_tensor *o = &c->out[0];
    int64_t i[ENG_MAX_RANK] = {0};

    if (!ref_alloc(o, a->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(a))
        return 0;
    do {
        int64_t id = ref_index(ids->data[ref_at4(ids, i[1], i[2], 0, 0)], b->ne[1]), at = ref_at(o, i);
        o->data[at] = a->data[ref_at(a, i)] + (id < 0 ? 0 : b->data[ref_at4(b, i[0], id, 0, 0)]);
        o->mag[at] = fabs(o->data[at]);
    } while (ref_next(a->ne, i));
    return 0;
}
