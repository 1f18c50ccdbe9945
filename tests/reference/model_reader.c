/* The whole-model oracle: numbers and tensors of a file. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_reader.h"
#include "ref.h"

void ref_fail(reader *r, const char *format, ...)
{
    va_list args;
    if (r->failed)
        return;
    r->failed = true;
    va_start(args, format);
    vsnprintf(r->error, r->error_bytes, format, args);
    va_end(args);
}

int64_t ref_key(reader *r, const char *name, uint64_t index, int64_t otherwise)
{
    char full[128];
    int64_t value = otherwise;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_integer(r->gguf, full, index, &value) && otherwise < 0)
        ref_fail(r, "key %s: %s", full, eng_last_error());
    return value;
}

double ref_number(reader *r, const char *name, double otherwise)
{
    char full[128];
    double value = otherwise;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_number(r->gguf, full, 0, &value))
        value = otherwise;
    return value;
}

int64_t ref_layer_key(reader *r, const char *name, int64_t il, int64_t otherwise)
{
    int64_t first = ref_key(r, name, 0, otherwise);
    return r->m->f.layered ? ref_key(r, name, (uint64_t)il, first) : first;
}

double *ref_own(reader *r, double *x)
{
    ref_model *m = r->m;
    if (x && m->n_owned == m->owned_capacity) {
        size_t more = m->owned_capacity ? 2 * m->owned_capacity : 64;
        double **owned = realloc(m->owned, more * sizeof *owned);
        if (!owned) {
            free(x);
            x = NULL;
        } else {
            m->owned = owned;
            m->owned_capacity = more;
        }
    }
    if (!x) {
        ref_fail(r, "no memory");
        return NULL;
    }
    return m->owned[m->n_owned++] = x;
}

double *ref_weights(reader *r, bool needed, int64_t n, int64_t il, const char *base, const char *suffix)
{
    char name[128];
    if (il < 0)
        snprintf(name, sizeof name, "%s%s", base, suffix);
    else
        snprintf(name, sizeof name, "blk.%d.%s%s", (int)il, base, suffix);
    if (r->failed)
        return NULL;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    if (!t && !needed)
        return NULL;
    int64_t have = 1;
    for (uint32_t i = 0; t && i < t->rank; i++)
        have *= t->ne[i];
    if (!t || have != n) {
        ref_fail(r, "tensor %s: %lld elements, %lld are needed", name, t ? (long long)have : 0, (long long)n);
        return NULL;
    }
    double *x = ref_own(r, malloc((size_t)n * sizeof *x));
    if (x)
        ref_decode(t->type, t->data, x, n);
    return x;
}

matrix ref_matrix_of(reader *r, bool needed, int64_t il, const char *base, int64_t k, int64_t m, int64_t n)
{
    matrix a = {.k = k, .m = m};
    a.w = ref_weights(r, needed, k * m * n, il, base, ".weight");
    if (a.w) {
        a.scale = ref_weights(r, false, n, il, base, ".scale");
        a.bias = ref_weights(r, false, m * n, il, base, ".bias");
    }
    return a;
}

matrix ref_rows_of(const matrix *a, int64_t first, int64_t m)
{
    return (matrix){a->w + first * a->k, a->scale, a->bias ? a->bias + first : NULL, a->k, m};
}
