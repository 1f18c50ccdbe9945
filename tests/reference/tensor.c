/* Arrays of double with strides. */
#include "config.h"

#include "ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool ref_alloc(ref_tensor *t, const int64_t *ne, uint32_t rank, bool with_mag, bool with_touched)
{
    size_t n = 1;

    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < ENG_MAX_RANK; i++) {
        t->ne[i] = i < rank ? ne[i] : 1;
        t->st[i] = (int64_t)n;
        if (t->ne[i] < 0 || (t->ne[i] > 0 && n > SIZE_MAX / 16 / (size_t)t->ne[i]))
            return false;
        n *= (size_t)t->ne[i];
    }
    size_t room = n ? n : 1;
    t->data = calloc(room, sizeof(double));
    if (with_mag)
        t->mag = calloc(room, sizeof(double));
    if (with_touched)
        t->touched = calloc(room, 1);
    if (t->data && (t->mag || !with_mag) && (t->touched || !with_touched))
        return true;
    ref_free(t);
    return false;
}

void ref_free(ref_tensor *t)
{
    free(t->data);
    free(t->mag);
    free(t->touched);
    memset(t, 0, sizeof *t);
}

int64_t ref_count(const ref_tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < ENG_MAX_RANK; i++)
        n *= t->ne[i];
    return n;
}

int64_t ref_rows(const ref_tensor *t)
{
    int64_t n = 1;

    for (int i = 1; i < ENG_MAX_RANK; i++)
        n *= t->ne[i];
    return n;
}

ref_tensor ref_permute(const ref_tensor *t, const int64_t *dim)
{
    ref_tensor v = *t;

    for (int i = 0; i < ENG_MAX_RANK; i++) {
        v.ne[i] = t->ne[dim[i]];
        v.st[i] = t->st[dim[i]];
    }
    return v;
}

ref_tensor ref_slice(const ref_tensor *t, int dim, int64_t begin, int64_t length)
{
    ref_tensor v = *t;
    int64_t skip = begin * t->st[dim];

    v.ne[dim] = length;
    v.data += skip;
    if (v.mag)
        v.mag += skip;
    if (v.touched)
        v.touched += skip;
    return v;
}

ref_tensor ref_reshape(const ref_tensor *t, const int64_t *ne, uint32_t rank)
{
    ref_tensor v = *t;
    int64_t n = 1;

    for (uint32_t i = 0; i < ENG_MAX_RANK; i++) {
        v.ne[i] = i < rank && ne[i] > 0 ? ne[i] : i < rank ? ne[i] : 1;
        v.st[i] = n;
        n *= v.ne[i];
    }
    return v;
}

bool ref_next(const int64_t *ne, int64_t *i)
{
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        if (++i[d] < ne[d])
            return true;
        i[d] = 0;
    }
    return false;
}

int64_t ref_at(const ref_tensor *t, const int64_t *i)
{
    int64_t at = 0;

    for (int d = 0; d < ENG_MAX_RANK; d++)
        at += i[d] * t->st[d];
    return at;
}

int64_t ref_at_mod(const ref_tensor *t, const int64_t *i)
{
    int64_t at = 0;

    for (int d = 0; d < ENG_MAX_RANK; d++)
        at += (i[d] % t->ne[d]) * t->st[d];
    return at;
}

int64_t ref_index(double value, int64_t limit)
{
    return value >= 0 && value < (double)limit ? (int64_t)value : -1;
}

double ref_slope(double max_bias, int64_t h, int64_t n)
{
    int64_t p = 1;

    if (max_bias <= 0)
        return 1;
    while (p * 2 <= n)
        p *= 2;
    return h < p ? pow(2, -max_bias * (double)(h + 1) / (double)p)
                 : pow(2, -max_bias * (double)(2 * (h - p) + 1) / (2.0 * (double)p));
}
