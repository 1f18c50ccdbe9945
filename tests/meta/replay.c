/* A program on a device: its tensors in one store, its ops in one graph. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"
#include "program.h"
#include "tests/reference/ref.h"
#include "../matrix.h"

typedef struct replay {
    eng_context *context;
    const pg_program *p;
    const char *name; /* of the device                                        */
    eng_device *device;
    eng_store *stores[3]; /* the third is the first again, if the program binds it twice */
    uint32_t n_turns;     /* operands that there are through both slots, so far  */
    uint32_t index[PG_MAX_TENSORS]; /* in its store                             */
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_device_info leaves[ENG_MAX_RANKS];
    uint32_t n_leaves;
    pg_results *results;
} replay;

/* -- the store ----------------------------------------------------------------------- */

static const char *device_name(const replay *r, int device)
{
    if (device == -2)
        return strncmp(r->name, "opencl", 6) == 0 ? "opencl:0" : "cpu/7.3";
    return device < 0 || !r->n_leaves ? "cpu" : r->leaves[(uint32_t)device % r->n_leaves].name;
}

static int upload(replay *r, uint32_t i)
{
    const pg_tensor *t = &r->p->tensors[i];
    eng_store *store = r->stores[t->store];
    uint32_t number = r->index[i];
    uint64_t bytes = eng_store_bytes(store, number);
    /* in two pieces now and then: ranges of a tensor */
    uint64_t first = t->seed % 3 == 0 && !(t->use & TEST_MATRIX) ? bytes / 3 / 4 * 4 : 0;
    char *data = calloc(1, bytes + 16);
    int status = data ? ENG_OK : eng_fail_code(EU_NO_MEMORY("a tensor"));

    if (data)
        pg_fill(t, data);
    if (first && data)
        status = eng_store_write(store, number, 0, first, data);
    if (status == ENG_OK)
        status = eng_store_write(store, number, first, bytes - first, data + first);
    free(data);
    return status;
}

static int make_store(replay *r, int which)
{
    const pg_program *p = r->p;
    eng_store_tensor *s = calloc(p->n_tensors + 1, sizeof *s);
    pg_axes_of *a = calloc(p->n_tensors + 1, sizeof *a);
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_tensors && s && a; i++) {
        const pg_tensor *t = &p->tensors[i];
        if (t->store != which)
            continue;
        pg_make_axes(r->context, t->dims, t->rank, &a[n]);
        s[n] = (eng_store_tensor){.size = sizeof *s, .type = t->type, .rank = t->rank, .use = t->use, .dims = a[n].dims,
                                  .name = t->name, .layer = -1};
        memcpy(s[n].ne, t->ne, sizeof s[n].ne);
        if (t->forced == 1)
            s[n].axis = ENG_AXIS_WHOLE;
        else if (t->forced == 4)
            s[n].axis = eng_context_axis(r->context, pg_axes[t->axis].name);
        else if (t->forced)
            s[n].device = device_name(r, t->forced == 2 ? (int)(t->seed % ENG_MAX_RANKS) : -1 - (int)(t->seed % 2));
        test_declare_matrix(&s[n]);
        r->index[i] = n++;
    }
    int status = s && a ? eng_store_create(r->device, s, n, &r->stores[which]) : eng_fail_code(EU_NO_MEMORY("a store"));
    free(s);
    free(a);
    for (uint32_t i = 0; i < p->n_tensors && status == ENG_OK; i++)
        if (p->tensors[i].store == which)
            status = upload(r, i);
    return status;
}

/* -- the graph -------------------------------------------------------------------------- */

static bool has_axis(const eng_tensor *t, uint32_t axis)
{
    for (uint32_t d = 0; t->dims && d < t->rank; d++)
        for (uint32_t s = 0; s < t->dims[d].n_segments; s++)
            for (uint32_t f = 0; f < t->dims[d].segments[s].n_factors; f++)
                if (t->dims[d].segments[s].factors[f].axis == axis)
                    return true;
    return false;
}

/* Places that no longer make sense in a shrunk program are left out. */
static void place(replay *r, eng_value v, const pg_place *want)
{
    const eng_tensor *t = eng_graph_get(r->graph, v);
    eng_placement e = {.size = sizeof e, .kind = want->kind};

    if (!t || want->kind == ENG_PLACE_AUTO || (want->kind == ENG_PLACE_PARTIAL && t->type != ENG_TYPE_F32))
        return;
    if (want->kind == ENG_PLACE_SHARDED) {
        e.axis = eng_context_axis(r->context, pg_axes[want->axis].name);
        if (!has_axis(t, e.axis))
            return;
    }
    if (want->kind == ENG_PLACE_SINGLE)
        e.device = device_name(r, want->device);
    eng_graph_place(r->graph, v, &e);
    r->results->placed++;
}

static eng_value bound(const replay *r, uint32_t tensor)
{
    int which = r->p->tensors[tensor].store;
    return eng_graph_tensor(r->graph, (uint32_t)which, r->stores[which], r->index[tensor]);
}

/* What an op made.  A view of a tensor that is bound in two slots is made through each of them: a host
 * writes through one and reads through the other, and nearly all writes and many reads are of views. */
typedef struct made {
    eng_value out[2];
    eng_value other; /* the first result through the other slot; ENG_NO_VALUE: there is none */
} made;

static eng_value through_first(const replay *r, const made *ops, int ref)
{
    return ref == -1 ? ENG_NO_VALUE
           : ref < 0 ? bound(r, (uint32_t)(-2 - ref))
                     : ops[ref % PG_SECOND].out[ref / PG_SECOND];
}

static eng_value through_other(const replay *r, const made *ops, int ref)
{
    if (ref >= 0)
        return ref < PG_SECOND ? ops[ref].other : ENG_NO_VALUE;
    if (ref == -1 || !r->p->twice || r->p->tensors[-2 - ref].store != 0)
        return ENG_NO_VALUE;
    return eng_graph_tensor(r->graph, 2, r->stores[0], r->index[-2 - ref]);
}

/* The op on these operands: its first result is named and placed as the program says. */
static void make(replay *r, const pg_op *o, const eng_value *in, eng_value *out)
{
    pg_axes_of a;

    eng_graph_op(r->graph, o->op, in, o->n_in, o->ip, o->n_ip, o->fp, o->n_fp, out);
    if (o->named && out[0] >= 0) {
        pg_make_axes(r->context, o->dims, ENG_MAX_RANK, &a);
        eng_graph_set_axes(r->graph, out[0], a.dims, ENG_MAX_RANK);
    }
    place(r, out[0], &o->place);
}

/* Its operands are read and written now through one slot, now through the other. */
static void add_op(replay *r, const pg_op *o, made *ops, uint32_t k)
{
    bool view = eng_op_get(o->op)->flags & ENG_OPF_VIEW;
    eng_value in[ENG_MAX_INPUTS], other[ENG_MAX_INPUTS], more[ENG_MAX_OUTPUTS] = {ENG_NO_VALUE, ENG_NO_VALUE};

    ops[k] = (made){{ENG_NO_VALUE, ENG_NO_VALUE}, ENG_NO_VALUE};
    for (uint32_t i = 0; i < o->n_in; i++) {
        in[i] = through_first(r, ops, o->in[i]);
        other[i] = through_other(r, ops, o->in[i]);
        if (!view && other[i] >= 0 && r->n_turns++ % 2)
            in[i] = other[i];
    }
    make(r, o, in, ops[k].out);
    if (view && other[0] >= 0) {
        make(r, o, other, more);
        ops[k].other = more[0];
    }
}

static int build(replay *r)
{
    const pg_program *p = r->p;
    made *ops = calloc(p->n_ops + 1, sizeof *ops);

    if (!ops)
        return eng_fail_code(EU_NO_MEMORY("a graph"));
    for (uint32_t i = 0; i < p->n_tensors; i++)
        if (p->tensors[i].place.kind != ENG_PLACE_AUTO)
            place(r, bound(r, i), &p->tensors[i].place);
    for (uint32_t k = 0; k < p->n_ops; k++)
        if (p->ops[k].op != ENG_OP_NONE)
            add_op(r, &p->ops[k], ops, k);
    free(ops);
    return eng_graph_seal(r->graph);
}

/* -- running it ---------------------------------------------------------------------------- */

static int collect(replay *r, uint32_t run)
{
    int status = ENG_OK;

    for (uint32_t i = 0; i < r->p->n_tensors && status == ENG_OK; i++) {
        const pg_tensor *t = &r->p->tensors[i];
        eng_store *store = r->stores[t->store];
        uint64_t bytes = eng_store_bytes(store, r->index[i]);
        if (!pg_is_result(t))
            continue;
        void *raw = calloc(1, bytes + 16);
        double *x = r->results->data[run][i] = calloc(pg_count(t) + 1, sizeof *x);
        uint64_t first = t->seed % 3 == 1 ? bytes / 5 : 0; /* in two pieces now and then */
        status = raw && x ? ENG_OK : eng_fail_code(EU_NO_MEMORY("a tensor"));
        if (status == ENG_OK && first)
            status = eng_store_read(store, r->index[i], 0, first, raw);
        if (status == ENG_OK)
            status = eng_store_read(store, r->index[i], first, bytes - first, (char *)raw + first);
        if (status == ENG_OK)
            ref_decode(t->type, raw, x, (int64_t)pg_count(t));
        free(raw);
    }
    return status;
}

static int submit(replay *r)
{
    eng_queue *queue = NULL;
    eng_fence fence;
    int status = eng_queue_create(r->device, &queue);

    for (uint32_t run = 0; run < r->p->runs && status == ENG_OK; run++) {
        status = eng_queue_submit(queue, NULL, 0, r->instance, &r->p->cells, 1, &fence);
        if (status == ENG_OK)
            status = eng_fence_wait(fence, UINT64_MAX);
        if (status == ENG_OK)
            status = collect(r, run);
    }
    eng_queue_destroy(queue);
    return status;
}

static int run(replay *r, const char *device, eng_emit_func emit)
{
    int status = eng_device_open(r->context, device, &r->device);

    while (status == ENG_OK && r->n_leaves < ENG_MAX_RANKS) {
        r->leaves[r->n_leaves].size = sizeof *r->leaves;
        if (eng_device_leaf(r->device, r->n_leaves, &r->leaves[r->n_leaves], NULL) != ENG_OK)
            break;
        r->n_leaves++;
    }
    for (int which = 0; which < 2 && status == ENG_OK; which++)
        status = make_store(r, which);
    if (status == ENG_OK)
        status = eng_graph_create(r->context, 1, &r->graph);
    if (status == ENG_OK)
        status = build(r);
    if (status == ENG_OK)
        status = eng_plan_create(r->device, r->graph, &r->plan);
    r->stores[2] = r->stores[0];
    if (status == ENG_OK)
        status = eng_instance_create(r->plan, r->stores, r->p->twice ? 3 : 2, &r->instance);
    return status == ENG_OK ? submit(r) : status;
}

int pg_run(eng_context *context, const char *device, const pg_program *p, pg_results *results, eng_emit_func emit)
{
    replay *r = calloc(1, sizeof *r);
    eng_device_stats stats = {.size = sizeof stats};

    memset(results, 0, sizeof *results);
    if (!r)
        return eng_fail_code(EU_NO_MEMORY("a run"));
    r->context = context;
    r->name = device;
    r->p = p;
    r->results = results;
    int status = run(r, device, emit);
    if (status == ENG_OK && eng_device_get_stats(r->device, &stats) == ENG_OK)
        results->exchanged = stats.bytes_exchanged;
    if (emit && r->graph)
        eng_graph_dump(r->graph, ENG_EXPLAIN_TEXT, emit, NULL);
    if (emit && r->plan)
        eng_plan_explain(r->plan, ENG_EXPLAIN_TEXT, emit, NULL);
    eng_instance_destroy(r->instance);
    eng_plan_release(r->plan);
    eng_graph_destroy(r->graph);
    eng_store_destroy(r->stores[0]);
    eng_store_destroy(r->stores[1]);
    eng_device_close(r->device);
    free(r);
    return status;
}

void pg_results_free(pg_results *r)
{
    for (int run_number = 0; run_number < PG_MAX_RUNS; run_number++)
        for (int i = 0; i < PG_MAX_TENSORS; i++)
            free(r->data[run_number][i]);
    memset(r, 0, sizeof *r);
}
