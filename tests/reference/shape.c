/* Copies, shapes, choosing and summing. */
#include "config.h"

#include "ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Copies x into the elements of `to` (same extents). */
static void fill(ref_tensor *to, const ref_tensor *x)
{
    int64_t i[ENG_MAX_RANK] = {0};

    if (!ref_count(to))
        return;
    do {
        int64_t at = ref_at(to, i);
        to->data[at] = x->data[ref_at_mod(x, i)];
        if (to->mag)
            to->mag[at] = fabs(to->data[at]);
        if (to->touched)
            to->touched[at] = 1;
    } while (ref_next(to->ne, i));
}

static int copy(ref_call *c)
{
    if (!ref_alloc(&c->out[0], c->in[0]->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    fill(&c->out[0], c->in[0]);
    return 0;
}

/* The values; the caller encodes. */
int ref_op_quantize(ref_call *c)
{
    return copy(c);
}

int ref_op_dequantize(ref_call *c)
{
    return copy(c);
}

int ref_op_cpy(ref_call *c)
{
    return copy(c);
}

int ref_op_store(ref_call *c)
{
    for (int d = 0; d < ENG_MAX_RANK; d++)
        if (c->in[0]->ne[d] != c->in[1]->ne[d])
            return -2;
    ref_tensor x; /* as it was: both may be views of one memory */
    if (!ref_alloc(&x, c->in[1]->ne, ENG_MAX_RANK, false, false))
        return -1;
    fill(&x, c->in[1]);
    fill(c->in[0], &x);
    ref_free(&x);
    return 0;
}

int ref_op_concat(ref_call *c)
{
    int dim = (int)c->ip[ENG_CONCAT_DIM];
    int64_t ne[ENG_MAX_RANK];

    memcpy(ne, c->in[0]->ne, sizeof ne);
    ne[dim] += c->in[1]->ne[dim];
    if (!ref_alloc(&c->out[0], ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    ref_tensor a = ref_slice(&c->out[0], dim, 0, c->in[0]->ne[dim]);
    ref_tensor b = ref_slice(&c->out[0], dim, c->in[0]->ne[dim], c->in[1]->ne[dim]);
    fill(&a, c->in[0]);
    fill(&b, c->in[1]);
    return 0;
}

int ref_op_repeat(ref_call *c)
{
    int64_t ne[ENG_MAX_RANK];

    for (int d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = c->ip[ENG_RESHAPE_NE0 + d] ? c->ip[ENG_RESHAPE_NE0 + d] : c->in[0]->ne[d];
    if (!ref_alloc(&c->out[0], ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    fill(&c->out[0], c->in[0]);
    return 0;
}

int ref_op_pad(ref_call *c)
{
    int64_t ne[ENG_MAX_RANK];
    ref_tensor v;

    for (int d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = c->in[0]->ne[d] + c->ip[ENG_PAD_LEFT0 + d] + c->ip[ENG_PAD_RIGHT0 + d];
    if (!ref_alloc(&c->out[0], ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    v = c->out[0];
    for (int d = 0; d < ENG_MAX_RANK; d++)
        v = ref_slice(&v, d, c->ip[ENG_PAD_LEFT0 + d], c->in[0]->ne[d]);
    fill(&v, c->in[0]);
    return 0;
}

/* A view, copied. */
static int view(ref_call *c, const ref_tensor *v)
{
    if (!ref_alloc(&c->out[0], v->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    fill(&c->out[0], v);
    return 0;
}

int ref_op_reshape(ref_call *c)
{
    ref_tensor v = ref_reshape(c->in[0], c->ip + ENG_RESHAPE_NE0, ENG_MAX_RANK);

    for (int d = 0; d < ENG_MAX_RANK; d++)
        if (!c->ip[ENG_RESHAPE_NE0 + d] && ref_count(c->in[0])) { /* extents past the rank */
            v = ref_reshape(c->in[0], c->ip + ENG_RESHAPE_NE0, (uint32_t)d);
            break;
        }
    return view(c, &v);
}

int ref_op_permute(ref_call *c)
{
    ref_tensor v = ref_permute(c->in[0], c->ip + ENG_PERMUTE_DIM0);

    return view(c, &v);
}

int ref_op_slice(ref_call *c)
{
    ref_tensor v = ref_slice(c->in[0], (int)c->ip[ENG_SLICE_DIM], c->ip[ENG_SLICE_BEGIN], c->ip[ENG_SLICE_LENGTH]);

    return view(c, &v);
}

/* Rows of x reduced to k values each; dimension 0 dropped if k is 0. */
static int reduced(ref_call *c, int64_t k)
{
    int64_t ne[ENG_MAX_RANK];

    for (int d = 0; d < ENG_MAX_RANK; d++)
        ne[d] = k ? (d ? c->in[0]->ne[d] : k) : d + 1 < ENG_MAX_RANK ? c->in[0]->ne[d + 1] : 1;
    if (!ref_alloc(&c->out[0], ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    return 0;
}

static const double *row_at(const ref_tensor *x, int64_t *i, int64_t *row)
{
    const double *p = x->data + ref_at(x, i);

    (*row)++;
    return p;
}

int ref_op_argmax(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    int64_t i[ENG_MAX_RANK] = {0}, row = -1;
    int status = reduced(c, 0);

    if (status || !ref_count(x))
        return status;
    do {
        if (i[0])
            continue;
        const double *p = row_at(x, i, &row);
        int64_t best = -1;
        for (int64_t l = 0; l < x->ne[0]; l++)
            if (!isnan(p[l * x->st[0]]) && (best < 0 || p[l * x->st[0]] > p[best * x->st[0]]))
                best = l;
        c->out[0].data[row] = best < 0 ? 0 : (double)best;
    } while (ref_next(x->ne, i));
    return 0;
}

typedef struct element {
    double value;
    int64_t index;
} element;

static int larger_first(const void *a, const void *b)
{
    const element *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

int ref_op_top_k(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    int64_t i[ENG_MAX_RANK] = {0}, row = -1, k = c->ip[ENG_TOP_K_K], n = x->ne[0];
    int status = k < 1 || k > n ? -2 : reduced(c, k);

    if (status || !ref_count(x))
        return status;
    element *all = malloc((size_t)n * sizeof *all);
    if (!all)
        return -1;
    do {
        if (i[0])
            continue;
        const double *p = row_at(x, i, &row);
        for (int64_t l = 0; l < n; l++)
            all[l] = (element){isnan(p[l * x->st[0]]) ? -INFINITY : p[l * x->st[0]], l};
        qsort(all, (size_t)n, sizeof *all, larger_first);
        for (int64_t l = 0; l < k; l++)
            c->out[0].data[row * k + l] = (double)all[l].index;
    } while (ref_next(x->ne, i));
    free(all);
    return 0;
}

int ref_op_sum_rows(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    int64_t i[ENG_MAX_RANK] = {0}, row = -1;
    int status = reduced(c, 1);

    if (status || !ref_count(x))
        return status;
    do {
        if (i[0])
            continue;
        const double *p = row_at(x, i, &row);
        for (int64_t l = 0; l < x->ne[0]; l++) {
            c->out[0].data[row] += p[l * x->st[0]];
            c->out[0].mag[row] += fabs(p[l * x->st[0]]);
        }
    } while (ref_next(x->ne, i));
    return 0;
}

/* In a period the index of v is the number of the owner's indices below it. */
static double rebased(double v, double begin, double end, double period)
{
    double below = 0;

    if (period > 0)
        for (; v >= period; v -= period)
            below += end - begin;
    return v >= begin && v < end ? below + v - begin : -1;
}

int ref_op_rebase(ref_call *c)
{
    int status = copy(c);

    for (int64_t n = 0; !status && n < ref_count(&c->out[0]); n++)
        c->out[0].data[n] = rebased(c->out[0].data[n], (double)c->ip[ENG_REBASE_BEGIN],
                                    (double)c->ip[ENG_REBASE_END], (double)c->ip[ENG_REBASE_PERIOD]);
    return status;
}
