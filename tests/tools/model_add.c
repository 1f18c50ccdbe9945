/* The list of tensors that grows. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_impl.h"

void model_append(model *m, int64_t layer, const char *name, class kind, fill how, double gain, int64_t n0, int64_t n1,
                  int64_t n2)
{
    if (m->n_tensors == m->capacity) {
        uint32_t capacity = m->capacity * 2 + 64;
        model_tensor *grown = realloc(m->tensors, capacity * sizeof *grown);
        if (!grown) {
            free(m->tensors);
            m->tensors = NULL;
            m->n_tensors = m->capacity = 0;
            return;
        }
        m->tensors = grown;
        m->capacity = capacity;
    }
    model_tensor *t = &m->tensors[m->n_tensors++];
    if (layer < 0)
        snprintf(t->name, sizeof t->name, "%s", name);
    else
        snprintf(t->name, sizeof t->name, "blk.%d.%s", (int)layer, name);
    t->ne[0] = n0;
    t->ne[1] = n1 ? n1 : 1;
    t->ne[2] = n2 ? n2 : 1;
    t->rank = n2 ? 3 : n1 ? 2 : 1;
    t->kind = kind;
    t->fill = how;
    t->gain = gain;
}

void model_add(model *m, int64_t layer, const char *name, class kind, fill how, double gain, int64_t n0, int64_t n1,
               int64_t n2)
{
    char scale[64];
    const char *end = strstr(name, ".weight");

    model_append(m, layer, name, kind, how, gain, n0, n1, n2);
    if (!m->scales || !end || kind == CLASS_F32 || kind == CLASS_EMBEDDING || strstr(name, "nextn"))
        return;
    snprintf(scale, sizeof scale, "%.*s.scale", (int)(end - name), name);
    model_append(m, layer, scale, CLASS_F32, FILL_NORM, 1, n2 ? n2 : 1, 0, 0);
}
