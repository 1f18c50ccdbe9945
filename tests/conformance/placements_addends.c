/* Operands as sums of addends.  Addends that a device makes of a whole value may be ranges of it
 * and zeros elsewhere, which hide much: f(0) = 0 for many f.  Here the first rank has twice the
 * value and the last the negative; the sum of any of the terms is exact. */
#include "config.h"

#include "placements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool can_be_doubled(const cf_operand *o)
{
    for (int64_t i = 0; i < ref_count(&o->all); i++)
        if (!(fabs(o->all.data[i]) < 1e38))
            return false;
    return true;
}

bool cf_addends_declare(cf_addends *a, cf_case *c, const cf_force *f, eng_store_tensor *t, uint32_t *n)
{
    const cf_operand *o = f->at < c->n_in ? &c->in[f->at] : NULL;

    if (!o || f->kind != ENG_PLACE_PARTIAL || f->how != CF_COMPUTED || !can_be_doubled(o) || !cf_elements(o))
        return true;
    a->n = cf_elements(o);
    a->parts = calloc((size_t)a->n * CF_TERMS, sizeof *a->parts);
    if (!a->parts)
        return false;
    const float *x = (const float *)(const void *)o->bytes;
    for (int64_t i = 0; i < a->n; i++) {
        a->parts[i * CF_TERMS] = 2 * x[i];
        a->parts[i * CF_TERMS + CF_TERMS - 1] = -x[i];
    }
    for (int k = 0; k < CF_TERMS; k++)
        a->one[k] = 1;
    for (int k = 0; k < 2; k++) {
        memset(&a->axes[k], 0, sizeof a->axes[k]);
        cf_axes_add(c->suite, &a->axes[k], 0, "term:8");
        t[*n + (uint32_t)k] = (eng_store_tensor){.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2,
                                                 .use = ENG_USE_WEIGHT, .name = k ? "parts" : "ones",
                                                 .dims = a->axes[k].dims, .layer = -1,
                                                 .ne = {CF_TERMS, k ? a->n : 1, 1, 1, 1, 1, 1, 1}};
    }
    a->ones = *n;
    a->tensor = *n + 1;
    *n += 2;
    return true;
}

eng_value cf_addends_sum(const cf_addends *a, const cf_operand *o, eng_graph *graph, const eng_store *store)
{
    eng_value ones = eng_graph_tensor(graph, 0, store, a->ones), parts = eng_graph_tensor(graph, 0, store, a->tensor);

    return eng_reshape(graph, eng_mul_mat(graph, ones, parts), o->ne, o->rank);
}

int cf_addends_upload(const cf_addends *a, eng_store *store)
{
    if (!a->parts)
        return ENG_OK;
    int status = eng_store_write(store, a->ones, 0, sizeof a->one, a->one);
    return status ? status
                  : eng_store_write(store, a->tensor, 0, (uint64_t)a->n * CF_TERMS * sizeof *a->parts, a->parts);
}
