/* A program on a device: its tensors in one store, its ops in one graph. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

bool pg_is_result(const pg_tensor *t)
{
    uint32_t use = t->use & ENG_USE_MASK;
    return t->type == ENG_TYPE_F32 && use != ENG_USE_WEIGHT && use != ENG_USE_INPUT;
}

uint64_t pg_count(const pg_tensor *t)
{
    uint64_t n = 1;
    for (int d = 0; d < ENG_MAX_RANK; d++)
        n *= (uint64_t)t->ne[d];
    return n;
}

/* -- data ------------------------------------------------------------------------- */

static void fill_indices(const pg_tensor *t, int32_t *x, uint64_t n, uint64_t *state)
{
    if (t->ascending) {
        for (uint64_t i = 0; i < n; i++)
            x[i] = (int32_t)(t->below * (int64_t)i / (int64_t)(n - 1));
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (t->below < 0) /* rows 2 and on, all different, some skipped */
            x[i] = pg_random(state) % 4 ? (int32_t)(2 + i) : -1;
        else if (t->distinct)
            x[i] = pg_random(state) % 5 ? (int32_t)((i * 3 + t->seed % 7) % (uint64_t)t->below) : -1;
        else
            x[i] = (int32_t)(pg_random(state) % (uint64_t)(t->below + 1)) - (pg_random(state) % 3 == 0);
        if (!t->distinct && x[i] >= t->below)
            x[i] = (int32_t)t->below - 1;
    }
    if (t->distinct && t->below > 0) /* 3 is prime to the extents used: no two are equal */
        for (uint64_t i = (uint64_t)t->below; i < n; i++)
            x[i] = -1;
}

static void put16(unsigned char *p, unsigned v)
{
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
}

static void fill(const pg_tensor *t, unsigned char *bytes, double noise)
{
    uint64_t n = pg_count(t), state = t->seed;

    if (t->type == ENG_TYPE_I32) {
        fill_indices(t, (int32_t *)(void *)bytes, n, &state);
        return;
    }
    if (t->type == ENG_TYPE_F32) {
        float *x = (float *)(void *)bytes;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t r = pg_random(&state);
            double u = (double)(r >> 40) / (1 << 23) - 1;
            x[i] = (float)((t->offset + t->scale * u) * (1 + noise * ((double)(r & 255) / 128 - 1)));
        }
        return;
    }
    if (t->type == ENG_TYPE_F16) {
        for (uint64_t i = 0; i < n; i++) { /* +-0.25 .. 0.5 */
            uint64_t r = pg_random(&state);
            put16(bytes + 2 * i, (unsigned)((r & 0x8000) | (13u << 10) | (r >> 32 & 0x3ff)));
        }
        return;
    }
    uint64_t size = t->type == ENG_TYPE_Q8_0 ? 34 : 18;
    for (uint64_t b = 0; b < n / 32; b++) {
        put16(bytes + b * size, t->type == ENG_TYPE_Q8_0 ? 0x1800 : 0x2800); /* 2^-9, 2^-5 */
        for (uint64_t i = 2; i < size; i++)
            bytes[b * size + i] = (unsigned char)pg_random(&state);
    }
}

/* -- the store ----------------------------------------------------------------------- */

typedef struct axes {
    eng_dim dims[ENG_MAX_RANK];
    eng_segment segs[ENG_MAX_RANK][3];
    eng_factor factors[ENG_MAX_RANK][3][PG_MAX_FACTORS];
} axes;

static void make_axes(eng_context *context, const pg_tensor *t, axes *a)
{
    memset(a, 0, sizeof *a);
    for (uint32_t d = 0; d < t->rank; d++) {
        a->dims[d].n_segments = t->dims[d].n_segs;
        a->dims[d].segments = a->segs[d];
        for (uint32_t s = 0; s < t->dims[d].n_segs; s++) {
            a->segs[d][s].n_factors = t->dims[d].segs[s].n;
            a->segs[d][s].factors = a->factors[d][s];
            for (uint32_t f = 0; f < t->dims[d].segs[s].n; f++) {
                int axis = t->dims[d].segs[s].axis[f];
                a->factors[d][s][f].axis = axis ? eng_context_axis(context, pg_axes[axis - 1].name) : ENG_AXIS_NONE;
                a->factors[d][s][f].extent = t->dims[d].segs[s].extent[f];
            }
        }
    }
}

static eng_store *make_store(eng_context *context, eng_device *device, const pg_program *p, double noise)
{
    eng_store_tensor *s = calloc(p->n_tensors, sizeof *s);
    axes *a = calloc(p->n_tensors, sizeof *a);
    eng_device_info leaves[ENG_MAX_RANKS];
    uint32_t n_leaves = 0;
    eng_store *store = NULL;

    for (bool more = true; more && n_leaves < ENG_MAX_RANKS; n_leaves += more) {
        leaves[n_leaves].size = sizeof leaves[n_leaves];
        more = eng_device_leaf(device, n_leaves, &leaves[n_leaves], NULL) == ENG_OK;
    }
    for (uint32_t i = 0; i < p->n_tensors; i++) {
        const pg_tensor *t = &p->tensors[i];
        make_axes(context, t, &a[i]);
        s[i] = (eng_store_tensor){.size = sizeof *s, .type = t->type, .rank = t->rank, .use = t->use, .dims = a[i].dims,
                                  .name = t->name, .layer = -1};
        memcpy(s[i].ne, t->ne, sizeof s[i].ne);
        if (t->forced == 1)
            s[i].axis = ENG_AXIS_WHOLE;
        else if (t->forced == 2 && n_leaves)
            s[i].device = leaves[t->seed % n_leaves].name;
        else if (t->forced == 3)
            s[i].device = "cpu";
    }
    if (eng_store_create(device, s, p->n_tensors, &store) != ENG_OK)
        store = NULL;
    for (uint32_t i = 0; store && i < p->n_tensors; i++) {
        uint64_t bytes = eng_store_bytes(store, i), half = bytes / 3 / 4 * 4;
        unsigned char *data = calloc(1, bytes + 1);
        if ((p->tensors[i].use & ENG_USE_MASK) != ENG_USE_OUTPUT)
            fill(&p->tensors[i], data, noise);
        /* in two pieces now and then: ranges of a tensor */
        bool pieces = p->tensors[i].seed % 3 == 0 && !(p->tensors[i].use & ENG_USE_MATRIX);
        if ((pieces && eng_store_write(store, i, 0, half, data) != ENG_OK) ||
            eng_store_write(store, i, pieces ? half : 0, bytes - (pieces ? half : 0), data + (pieces ? half : 0)) !=
                ENG_OK) {
            eng_store_destroy(store);
            store = NULL;
        }
        free(data);
    }
    free(s);
    free(a);
    return store;
}

/* -- the graph -------------------------------------------------------------------------- */

static bool build(eng_graph *graph, eng_store *store, const pg_program *p)
{
    eng_value *values = calloc(p->n_ops + 1, sizeof *values);

    for (uint32_t k = 0; k < p->n_ops; k++) {
        const pg_op *o = &p->ops[k];
        eng_value in[ENG_MAX_INPUTS];
        for (uint32_t i = 0; i < o->n_in; i++)
            in[i] = o->in[i] == -1  ? ENG_NO_VALUE
                    : o->in[i] < 0 ? eng_graph_tensor(graph, 0, store, (uint32_t)(-2 - o->in[i]))
                                   : values[o->in[i]];
        values[k] = eng_graph_op(graph, o->op, in, o->n_in, o->ip, o->n_ip, o->fp, o->n_fp, NULL);
    }
    free(values);
    return eng_graph_seal(graph) == ENG_OK;
}

static bool collect(eng_store *store, const pg_program *p, pg_results *r)
{
    r->n = 0;
    for (uint32_t i = 0; i < p->n_tensors; i++)
        if (pg_is_result(&p->tensors[i]))
            r->n += pg_count(&p->tensors[i]);
    r->data = calloc(r->n + 1, sizeof *r->data);
    uint64_t at = 0;
    for (uint32_t i = 0; i < p->n_tensors; i++) {
        uint64_t n = pg_count(&p->tensors[i]);
        if (!pg_is_result(&p->tensors[i]))
            continue;
        if (eng_store_read(store, i, 0, n * sizeof(float), r->data + at) != ENG_OK)
            return false;
        at += n;
    }
    return true;
}

static bool run_queue(eng_device *device, eng_instance *instance)
{
    eng_queue *queue = NULL;
    eng_fence fence;
    bool good = eng_queue_create(device, &queue) == ENG_OK &&
                eng_queue_submit(queue, instance, NULL, 0, &fence) == ENG_OK &&
                eng_fence_wait(fence, UINT64_MAX) == ENG_OK;
    eng_queue_destroy(queue);
    return good;
}

bool pg_run(eng_context *context, const char *device_name, const pg_program *p, double noise, pg_results *results,
            eng_emit_func emit)
{
    eng_device *device = NULL;
    eng_graph *graph = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_store *store = NULL;
    bool good = eng_device_open(context, device_name, &device) == ENG_OK;

    memset(results, 0, sizeof *results);
    good = good && (store = make_store(context, device, p, noise)) != NULL;
    good = good && eng_graph_create(context, 0, &graph) == ENG_OK && build(graph, store, p);
    good = good && eng_plan_create(device, graph, &plan) == ENG_OK;
    good = good && eng_instance_create(plan, &store, 1, &instance) == ENG_OK;
    if (emit && graph)
        eng_graph_dump(graph, 0, emit, NULL);
    if (emit && plan)
        eng_plan_explain(plan, ENG_EXPLAIN_TEXT, emit, NULL);
    good = good && run_queue(device, instance) && collect(store, p, results);
    if (good) {
        eng_device_stats stats = {.size = sizeof stats};
        eng_device_get_stats(device, &stats);
        results->exchanged = stats.bytes_exchanged;
    }
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    eng_device_close(device);
    return good;
}
