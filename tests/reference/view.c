/* Any layout of a contiguous tensor's memory. */
#include "config.h"

#include "ref.h"

#include <string.h>

/* Bytes as elements: those of whole blocks. */
static int64_t elements(uint32_t type, int64_t bytes)
{
    return bytes / ref_block_bytes(type) * ref_block(type);
}

ref_tensor ref_layout(const ref_tensor *t, uint32_t type, const int64_t *ip)
{
    ref_tensor v = *t;
    int64_t at = elements(type, ip[ENG_VIEW_OFFSET]);

    v.data += at;
    v.mag = v.mag ? v.mag + at : NULL;
    v.touched = v.touched ? v.touched + at : NULL;
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        v.ne[d] = ip[ENG_VIEW_NE0 + d];
        v.st[d] = d == 0 && ref_block(type) > 1 ? 1 : elements(type, ip[ENG_VIEW_NB0 + d]);
    }
    return v;
}

int ref_op_view(ref_call *c)
{
    ref_tensor v = ref_layout(c->in[0], c->out_type, c->ip);
    int64_t i[ENG_MAX_RANK] = {0}, n = 0;

    if (!ref_alloc(&c->out[0], v.ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(&v))
        return 0;
    do {
        c->out[0].data[n++] = v.data[ref_at(&v, i)];
    } while (ref_next(v.ne, i));
    return 0;
}
