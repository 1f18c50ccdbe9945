/* Running a recorded graph on a device, and forcing its values about. */
#include "config.h"

#include "net.h"
#include "suite.h"
#include "../matrix.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT UINT64_C(300000000000)
#define RELATIVE 5e-6 /* of a tensor's largest value: some dozen roundings of f32, no wrong shard */

/* What is forced in one run; value NET_NONE: nothing. */
typedef struct forced {
    int value;
    bool stored;
    eng_placement place;
} forced;

typedef struct runner {
    const net *g;
    cf_suite suite; /* for the names of axes only */
    eng_context *context;
    eng_device *device;
    eng_queue *queue;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_value made[NET_NODES];
    cf_axes axes[NET_NODES];
    const char *device_name;
    char ranks[3][64];
    const forced *f;
    char error[512];
} runner;

static bool bound(const net_value *v)
{
    return v->op == ENG_OP_NONE;
}

static int create_store(runner *r)
{
    const net *g = r->g;
    eng_store_tensor t[NET_NODES];
    uint32_t n = 0;

    memset(t, 0, sizeof t);
    for (int i = 0; i < g->n; i++) {
        const net_value *v = &g->v[i];
        bool any = false;
        if (!bound(v))
            continue;
        memset(&r->axes[i], 0, sizeof r->axes[i]);
        for (uint32_t d = 0; d < v->rank; d++)
            if (v->axes[d]) {
                cf_axes_add(&r->suite, &r->axes[i], (int)d, v->axes[d]);
                any = true;
            }
        t[n] = (eng_store_tensor){.size = sizeof *t, .type = v->type, .rank = v->rank, .use = v->use, .name = v->name,
                                  .dims = any ? r->axes[i].dims : NULL, .layer = -1};
        memcpy(t[n].ne, v->ne, sizeof t[n].ne);
        if (r->f->stored && r->f->value == i) {
            t[n].device = r->f->place.device;
            t[n].axis = r->f->place.kind == ENG_PLACE_REPLICATED ? ENG_AXIS_WHOLE : r->f->place.axis;
        }
        test_declare_matrix(&t[n++]);
    }
    return eng_store_create(r->device, t, n, &r->store);
}

static uint32_t index_of(const net *g, int value)
{
    uint32_t n = 0;

    for (int i = 0; i < value; i++)
        n += bound(&g->v[i]);
    return n;
}

static void build(runner *r)
{
    const net *g = r->g;

    for (int i = 0; i < g->n; i++) {
        const net_value *v = &g->v[i];
        eng_value in[ENG_MAX_INPUTS], out[ENG_MAX_OUTPUTS] = {ENG_NO_VALUE, ENG_NO_VALUE};
        uint32_t n = eng_op_get(v->op) ? eng_op_get(v->op)->n_in : 0;
        if (bound(v)) {
            r->made[i] = eng_graph_tensor(r->graph, 0, r->store, index_of(g, i));
        } else {
            for (uint32_t k = 0; k < n; k++)
                in[k] = v->in[k] >= 0 ? r->made[v->in[k]] : ENG_NO_VALUE;
            eng_graph_op(r->graph, v->op, in, n, v->ip, ENG_MAX_IPARAMS, v->fp, ENG_MAX_FPARAMS, out);
            r->made[i] = out[0];
        }
        if (r->f->value == i && !r->f->stored)
            eng_graph_place(r->graph, r->made[i], &r->f->place);
        if (v->output)
            eng_store_value(r->graph, r->made[i], r->made[v->from]);
    }
}

static int move(runner *r, bool up, int i, unsigned char *data)
{
    const net_value *v = &r->g->v[i];
    uint32_t index = index_of(r->g, i), use = v->use & ENG_USE_MASK;
    bool io = use == ENG_USE_INPUT || use == ENG_USE_OUTPUT;
    eng_fence fence;

    if (!v->n_bytes)
        return ENG_OK;
    if (!io)
        return up ? eng_store_write(r->store, index, 0, v->n_bytes, data)
                  : eng_store_read(r->store, index, 0, v->n_bytes, data);
    int status = up ? eng_queue_write(r->queue, NULL, 0, r->store, index,
                                      (const eng_region[]){eng_range(data, 0, v->n_bytes)}, 1, &fence)
                    : eng_queue_read(r->queue, NULL, 0, r->store, index,
                                     (const eng_region[]){eng_range(data, 0, v->n_bytes)}, 1, &fence);
    return status ? status : eng_fence_wait(fence, WAIT);
}

static int run_graph(runner *r)
{
    eng_fence fence;
    int status = create_store(r);

    if (!status)
        status = eng_graph_create(r->context, 2, &r->graph);
    if (!status) {
        build(r);
        status = eng_graph_seal(r->graph);
    }
    if (!status)
        status = eng_plan_create(r->device, r->graph, &r->plan);
    if (!status)
        status = eng_instance_create(r->plan, &r->store, 1, &r->instance);
    for (int i = 0; i < r->g->n && !status; i++)
        if (bound(&r->g->v[i]))
            status = move(r, true, i, r->g->v[i].before);
    if (!status)
        status = eng_queue_submit(r->queue, NULL, 0, r->instance, r->g->params, 2, &fence);
    return status ? status : eng_fence_wait(fence, WAIT);
}

/* What the device has left in an output, or in a tensor that was written. */
static bool compare(runner *r, int i, const double *got)
{
    const net_value *v = &r->g->v[i];
    const ref_tensor *want = v->output ? &r->g->v[v->from].want : &v->want;
    double most = 0;
    bool exact = v->type == ENG_TYPE_I32;

    for (int64_t k = 0; k < ref_count(want); k++)
        most = fmax(most, fabs(want->data[k]));
    for (int64_t k = 0; k < ref_count(want); k++)
        if (!(fabs(got[k] - want->data[k]) <= (exact ? 0 : RELATIVE * most + 1e-30))) {
            snprintf(r->error, sizeof r->error, "%s %d at element %lld is %.9g, should be %.9g", v->name, i,
                     (long long)k, got[k], want->data[k]);
            return false;
        }
    return true;
}

static bool judge(runner *r)
{
    bool fine = true;

    for (int i = 0; i < r->g->n && fine; i++) {
        const net_value *v = &r->g->v[i];
        if (!bound(v) || !(v->output || v->written))
            continue;
        int64_t n = ref_count(v->output ? &r->g->v[v->from].want : &v->want);
        unsigned char *bytes = malloc(v->n_bytes + 1);
        double *got = malloc(sizeof *got * (size_t)(n + 1));
        fine = bytes && got && move(r, false, i, bytes) == ENG_OK;
        if (!fine)
            snprintf(r->error, sizeof r->error, "reading %s: %s", v->name, eng_last_error());
        else {
            ref_decode(v->type, bytes, got, n);
            fine = compare(r, i, got);
        }
        free(bytes);
        free(got);
    }
    return fine;
}

static int open_device(runner *r)
{
    eng_device_info leaf = {.size = sizeof leaf};
    int status = eng_device_open(r->context, r->device_name, &r->device);

    if (!status)
        status = eng_queue_create(r->device, &r->queue);
    for (uint32_t i = 0; !status && eng_device_leaf(r->device, i, &leaf, NULL) == ENG_OK; i++)
        snprintf(r->ranks[i > 0], sizeof r->ranks[0], "%s", leaf.name);
    return status;
}

static void close_device(runner *r)
{
    eng_instance_destroy(r->instance);
    eng_plan_release(r->plan);
    eng_graph_destroy(r->graph);
    eng_store_destroy(r->store);
    eng_queue_destroy(r->queue);
    eng_device_close(r->device);
    r->instance = NULL;
    r->plan = NULL;
    r->graph = NULL;
    r->store = NULL;
    r->queue = NULL;
    r->device = NULL;
}

static const char *place_name(const runner *r, const eng_placement *p, char *text, size_t n)
{
    static const char *const names[] = {"auto", "replicated", "split", "partial", "single"};

    bool where = p->kind == ENG_PLACE_SHARDED || p->kind == ENG_PLACE_SINGLE;

    snprintf(text, n, "%s%s%s", names[p->kind], where ? " " : "",
             p->kind == ENG_PLACE_SHARDED  ? eng_axis_name(r->context, p->axis)
             : p->kind == ENG_PLACE_SINGLE ? p->device
                                           : "");
    return text;
}

static void run_forced(runner *r, const forced *f, net_tally *tally)
{
    char place[96];

    r->f = f;
    r->error[0] = '\0';
    int status = open_device(r);
    if (!status)
        status = run_graph(r);
    if (status)
        snprintf(r->error, sizeof r->error, "%s: %s", eng_status_name(status), eng_last_error());
    tally->graphs++;
    if (status || !judge(r)) {
        if (!tally->failed++)
            snprintf(tally->first, sizeof tally->first, "'named %s': value %d (%s) %s %s: %s", r->device_name, f->value,
                     f->value < 0 ? "none" : r->g->v[f->value].name ? r->g->v[f->value].name
                                                                    : eng_op_get(r->g->v[f->value].op)->name,
                     f->stored ? "stored" : "forced", place_name(r, &f->place, place, sizeof place), r->error);
    }
    close_device(r);
}

/* The axes that value i has in the graph as the core infers them; how many. */
static uint32_t axes_of(runner *r, int i, uint32_t *axes, uint32_t room)
{
    const eng_tensor *t = eng_graph_get(r->graph, r->made[i]);
    uint32_t n = 0;

    for (uint32_t d = 0; t && t->dims && d < t->rank; d++)
        for (uint32_t s = 0; s < t->dims[d].n_segments; s++)
            for (uint32_t k = 0; k < t->dims[d].segments[s].n_factors; k++) {
                const eng_factor *f = &t->dims[d].segments[s].factors[k];
                bool known = f->axis == ENG_AXIS_NONE || f->extent < 2 || (d == 0 && ref_block(t->type) > 1);
                for (uint32_t x = 0; x < n; x++)
                    known |= axes[x] == f->axis;
                if (!known && n < room)
                    axes[n++] = f->axis;
            }
    return n;
}

static void force_everywhere(runner *r, int i, bool stored, const uint32_t *axes, uint32_t n_axes, net_tally *tally)
{
    const net_value *v = &r->g->v[i];
    forced f = {.value = i, .stored = stored, .place = {.size = sizeof f.place, .kind = ENG_PLACE_REPLICATED}};

    if (!stored || !v->output)
        run_forced(r, &f, tally);
    f.place.kind = ENG_PLACE_SHARDED;
    for (uint32_t k = 0; k < n_axes; k++) {
        f.place.axis = axes[k];
        run_forced(r, &f, tally);
    }
    f.place.axis = ENG_AXIS_NONE;
    f.place.kind = ENG_PLACE_SINGLE;
    for (int where = 0; where < 3; where++) {
        f.place.device = r->ranks[where];
        run_forced(r, &f, tally);
    }
    f.place.device = NULL;
    f.place.kind = ENG_PLACE_PARTIAL;
    if (!stored && v->type == ENG_TYPE_F32 && !v->written)
        run_forced(r, &f, tally);
}

void net_run(const net *g, eng_context *context, const char *device, net_tally *tally)
{
    runner *r = calloc(1, sizeof *r);
    const forced none = {.value = NET_NONE};
    uint32_t axes[NET_NODES][8], n_axes[NET_NODES];

    if (!r || g->failed) {
        tally->failed++;
        snprintf(tally->first, sizeof tally->first, "the oracle does not take this graph, or there is no memory");
        free(r);
        return;
    }
    r->g = g;
    r->context = r->suite.context = context;
    r->device_name = device;
    snprintf(r->ranks[2], sizeof r->ranks[2], "cpu/7.6");
    run_forced(r, &none, tally);
    r->f = &none; /* once more, to ask for axes */
    bool ready = open_device(r) == ENG_OK && create_store(r) == ENG_OK &&
                 eng_graph_create(context, 2, &r->graph) == ENG_OK;
    if (ready)
        build(r);
    for (int i = 0; i < g->n && ready; i++)
        n_axes[i] = axes_of(r, i, axes[i], 8);
    close_device(r);
    for (int i = 0; i < g->n && ready; i++) {
        if (!g->v[i].output && (bound(&g->v[i]) || g->v[i].want.data))
            force_everywhere(r, i, false, axes[i], n_axes[i], tally);
        if (bound(&g->v[i]) && (g->v[i].use & ENG_USE_MASK) != ENG_USE_INPUT)
            force_everywhere(r, i, true, axes[i], n_axes[i], tally);
    }
    free(r);
}
