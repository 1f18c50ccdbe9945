/* Matrix products, rows by index, the Hadamard rotation. */
#include "config.h"

#include "ref.h"

#include <math.h>

static void dot(const ref_tensor *a, int64_t at_a, const ref_tensor *b, int64_t at_b, double *sum, double *mag)
{
    const double *x = a->data + at_a, *y = b->data + at_b;
    double s = 0, m = 0;

    for (int64_t l = 0; l < a->ne[0]; l++) {
        double p = x[l * a->st[0]] * y[l * b->st[0]];
        s += p;
        m += fabs(p);
    }
    *sum = s;
    *mag = m;
}

/* Results are contiguous: element number n. */
static void put(ref_tensor *o, int64_t n, double v, double mag)
{
    o->data[n] = v;
    o->mag[n] = mag;
}

int ref_op_mul_mat(ref_call *c)
{
    const ref_tensor *a = c->in[0], *b = c->in[1];
    int64_t ne[4] = {a->ne[1], b->ne[1], b->ne[2], b->ne[3]}, n = 0;

    if (a->ne[0] != b->ne[0] || !a->ne[2] || !a->ne[3] || b->ne[2] % a->ne[2] || b->ne[3] % a->ne[3])
        return -2;
    if (!ref_alloc(&c->out[0], ne, 4, true, false))
        return -1;
    int64_t r = b->ne[2] / a->ne[2], s = b->ne[3] / a->ne[3];
    for (int64_t y = 0; y < ne[3]; y++)
        for (int64_t x = 0; x < ne[2]; x++)
            for (int64_t j = 0; j < ne[1]; j++)
                for (int64_t i = 0; i < ne[0]; i++, n++) {
                    double v, m;
                    dot(a, ref_at4(a, 0, i, x / r, y / s), b, ref_at4(b, 0, j, x, y), &v, &m);
                    put(&c->out[0], n, v, m);
                }
    c->n_out = 1;
    return 0;
}

int ref_op_mul_mat_id(ref_call *c)
{
    const ref_tensor *a = c->in[0], *b = c->in[1], *ids = c->in[2];
    int64_t ne[3] = {a->ne[1], ids->ne[0], ids->ne[1]}, n = 0;

    if (a->ne[0] != b->ne[0] || b->ne[2] != ids->ne[1] || (b->ne[1] != 1 && b->ne[1] != ids->ne[0]))
        return -2;
    if (!ref_alloc(&c->out[0], ne, 3, true, false))
        return -1;
    for (int64_t t = 0; t < ne[2]; t++)
        for (int64_t u = 0; u < ne[1]; u++) {
            int64_t e = ref_index(ids->data[ref_at4(ids, u, t, 0, 0)], a->ne[2]);
            for (int64_t i = 0; i < ne[0]; i++, n++) {
                double v = 0, m = 0;
                if (e >= 0)
                    dot(a, ref_at4(a, 0, i, e, 0), b, ref_at4(b, 0, u % b->ne[1], t, 0), &v, &m);
                put(&c->out[0], n, v, m);
            }
        }
    c->n_out = 1;
    return 0;
}

int ref_op_hadamard(ref_call *c)
{
    const ref_tensor *x = c->in[0];
    int64_t group = c->ip[ENG_HADAMARD_GROUP], n = x->ne[0], i[ENG_MAX_RANK] = {0};

    if (group < 1 || group & (group - 1) || n % group)
        return -2;
    if (!ref_alloc(&c->out[0], x->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    double *y = c->out[0].data, *mag = c->out[0].mag, scale = 1 / sqrt((double)group);
    do { /* by the matrix itself up to 64; beyond, by its recursive definition */
        if (i[0] % group)
            continue;
        double sum = 0;
        for (int64_t r = 0; r < group; r++) {
            y[r] = x->data[ref_at(x, i) + r * x->st[0]] * scale;
            sum += fabs(y[r]);
        }
        if (group <= 64) {
            double v[64];
            for (int64_t r = 0; r < group; r++)
                v[r] = y[r];
            for (int64_t r = 0; r < group; r++) {
                y[r] = 0;
                for (int64_t k = 0; k < group; k++)
                    y[r] += __builtin_popcountll((unsigned long long)(r & k)) & 1 ? -v[k] : v[k];
            }
        } else {
            for (int64_t h = group / 2; h; h /= 2)
                for (int64_t r = 0; r < group; r++)
                    if (!(r & h)) {
                        double u = y[r], v = y[r + h];
                        y[r] = u + v;
                        y[r + h] = u - v;
                    }
        }
        for (int64_t r = 0; r < group; r++)
            mag[r] = sum;
        y += group;
        mag += group;
    } while (ref_next(x->ne, i));
    return 0;
}

int ref_op_get_rows(ref_call *c)
{
    const ref_tensor *a = c->in[0], *ids = c->in[1];
    int64_t ne[4] = {a->ne[0], ids->ne[0], ids->ne[1], ids->ne[2]}, n = 0;

    if (a->ne[2] != ids->ne[1] || a->ne[3] != ids->ne[2])
        return -2;
    if (!ref_alloc(&c->out[0], ne, 4, true, false))
        return -1;
    for (int64_t q = 0; q < ne[3]; q++)
        for (int64_t p = 0; p < ne[2]; p++)
            for (int64_t i = 0; i < ne[1]; i++) {
                int64_t row = ref_index(ids->data[ref_at4(ids, i, p, q, 0)], a->ne[1]);
                for (int64_t l = 0; l < ne[0]; l++, n++) {
                    double v = row < 0 ? 0 : a->data[ref_at4(a, l, row, p, q)];
                    put(&c->out[0], n, v, fabs(v));
                }
            }
    c->n_out = 1;
    return 0;
}

int ref_op_set_rows(ref_call *c)
{
    ref_tensor *a = c->in[0];
    const ref_tensor *b = c->in[1], *ids = c->in[2];

    if (a->ne[0] != b->ne[0] || a->ne[2] != b->ne[2] || a->ne[3] != b->ne[3] || ids->ne[0] != b->ne[1])
        return -2;
    for (int64_t q = 0; q < b->ne[3]; q++)
        for (int64_t p = 0; p < b->ne[2]; p++)
            for (int64_t i = 0; i < b->ne[1]; i++) {
                int64_t row = ref_index(ids->data[ref_at4(ids, i, p % ids->ne[1], q % ids->ne[2], 0)], a->ne[1]);
                for (int64_t l = 0; row >= 0 && l < a->ne[0]; l++) {
                    int64_t at = ref_at4(a, l, row, p, q);
                    a->data[at] = b->data[ref_at4(b, l, i, p, q)];
                    if (a->mag)
                        a->mag[at] = fabs(a->data[at]);
                    if (a->touched)
                        a->touched[at] = 1;
                }
            }
    return 0;
}
