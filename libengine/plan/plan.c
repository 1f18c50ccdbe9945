/*
 * Plans of a device and the cache that keeps the last ones, so that a host may
 * ask again for the plan of an equal graph at no cost.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* Plans kept although nobody holds them: target and draft model, each with its
 * batch sizes, and some to spare. */
#define CACHED_PLANS 64

typedef struct eng_plan_cache {
    eng_plan *plans[CACHED_PLANS]; /* most recently used first               */
    uint32_t n;
} eng_plan_cache;

static eng_child child_of(eng_device *device)
{
    return (eng_child){.calls = device->calls, .state = device->state, .info = &device->info};
}

/* The device's memory of the plan goes first, then the device may go. */
static void destroy_parts(eng_plan *plan)
{
    eng_child child = child_of(plan->device);
    eng_plan_unbuild(&child, plan->placed, plan->state);
    free(plan->bindings);
    free(plan);
}

static void cache_destroy(eng_plan_cache *cache)
{
    for (uint32_t i = 0; i < cache->n; i++)
        destroy_parts(cache->plans[i]);
    free(cache);
}

void eng_plan_retain(eng_plan *plan)
{
    pthread_mutex_lock(&plan->device->lock);
    plan->references++;
    pthread_mutex_unlock(&plan->device->lock);
}

/*
 * A held plan keeps its device alive; a plan that only the cache knows does not,
 * or the device would never be closed.
 */
void eng_plan_release(eng_plan *plan)
{
    if (plan == NULL || eng_inherited(plan->device->context))
        return;
    eng_device *device = plan->device;
    pthread_mutex_lock(&device->lock);
    bool last = --plan->references == 0;
    bool cached = false;
    for (uint32_t i = 0; last && device->plans != NULL && i < device->plans->n; i++)
        cached = cached || device->plans->plans[i] == plan;
    pthread_mutex_unlock(&device->lock);
    if (last && !cached)
        destroy_parts(plan);
    if (last)
        eng_device_release(device);
}

/* -- the cache, under the device's lock ------------------------------------------ */

static bool same_bindings(const eng_plan *plan, const eng_graph *g)
{
    for (uint32_t i = 0; i < g->n_bindings; i++)
        if (plan->bindings[i].slot != g->bindings[i].slot || plan->bindings[i].tensor != g->bindings[i].tensor)
            return false;
    return true;
}

/* Finds a plan, moves it to the front and takes a reference. */
static eng_plan *cache_find(eng_device *device, uint64_t hash, const eng_graph *g, bool *revived)
{
    eng_plan_cache *cache = device->plans;
    for (uint32_t i = 0; cache != NULL && i < cache->n; i++) {
        eng_plan *plan = cache->plans[i];
        if (plan->hash != hash || !eng_graph_same(plan->placed, &g->view) || !same_bindings(plan, g))
            continue;
        memmove(&cache->plans[1], &cache->plans[0], i * sizeof *cache->plans);
        cache->plans[0] = plan;
        *revived = plan->references++ == 0;
        return plan;
    }
    return NULL;
}

/* Adds a plan; returns one that fell out and that nobody holds, or NULL. */
static eng_plan *cache_add(eng_device *device, eng_plan *plan)
{
    if (device->plans == NULL) {
        device->plans = calloc(1, sizeof *device->plans);
        device->plans_destroy = cache_destroy;
    }
    eng_plan_cache *cache = device->plans;
    eng_plan *fallen = NULL;
    if (cache == NULL)
        return NULL; /* not cached: it lives as long as it is held */
    if (cache->n == CACHED_PLANS) {
        fallen = cache->plans[--cache->n];
        if (fallen->references > 0)
            fallen = NULL;
    }
    memmove(&cache->plans[1], &cache->plans[0], cache->n * sizeof *cache->plans);
    cache->plans[0] = plan;
    cache->n++;
    return fallen;
}

/* -- creation ---------------------------------------------------------------------- */

static uint64_t scratch_sum(const eng_subgraph *g)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        if (t->binding < 0 && t->root == (int32_t)i)
            sum += t->bytes;
    }
    return sum;
}

static int compile(eng_device *device, const eng_graph *g, uint64_t hash, eng_plan **out)
{
    eng_plan *plan = calloc(1, sizeof *plan);
    eng_graph_binding *bindings = calloc(g->n_bindings ? g->n_bindings : 1, sizeof *bindings);
    if (plan == NULL || bindings == NULL) {
        free(plan);
        free(bindings);
        return eng_fail_code(EU_NO_MEMORY("a plan"));
    }
    eng_child child = child_of(device);
    int status = eng_plan_build(&child, &g->view, &plan->placed, &plan->state);
    if (status != ENG_OK) {
        free(plan);
        free(bindings);
        return status;
    }
    for (uint32_t i = 0; i < g->n_bindings; i++) {
        bindings[i] = g->bindings[i];
        bindings[i].store = NULL; /* these are the graph's, and may be gone before the plan */
        bindings[i].readers = NULL;
        if (bindings[i].slot != ENG_SLOT_KEPT && bindings[i].slot >= plan->n_slots)
            plan->n_slots = bindings[i].slot + 1;
    }
    plan->bindings = bindings;
    plan->device = device;
    plan->hash = hash;
    plan->unshared_bytes = scratch_sum(plan->placed);
    plan->references = 1;
    *out = plan;
    return ENG_OK;
}

int eng_plan_create(eng_device *device, const eng_graph *graph, eng_plan **plan)
{
    if (device == NULL || graph == NULL || plan == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_plan_create" ENG_CAUSE "an argument is NULL");
    if (!graph->sealed)
        return eng_fail(ENG_ERR_STATE, "eng_plan_create" ENG_CAUSE "the graph is not sealed");
    if (graph->context != device->context)
        return eng_fail(ENG_ERR_INVALID, "eng_plan_create" ENG_CAUSE
                        "the graph was made in another context than device %s" ENG_ADVICE "build it "
                        "in the device's", device->info.name);
    int status = eng_device_check(device);
    if (status != ENG_OK)
        return status;
    uint64_t hash = eng_graph_hash(&graph->view);
    bool revived = false;
    pthread_mutex_lock(&device->lock);
    eng_plan *found = cache_find(device, hash, graph, &revived);
    pthread_mutex_unlock(&device->lock);
    if (found != NULL) {
        if (revived)
            eng_device_retain(device);
        *plan = found;
        return ENG_OK;
    }
    eng_plan *made = NULL;
    status = compile(device, graph, hash, &made);
    if (status != ENG_OK)
        return status;
    eng_device_retain(device);
    pthread_mutex_lock(&device->lock);
    __atomic_fetch_add(&device->plans_built, 1, __ATOMIC_RELAXED); /* read without the lock */
    eng_plan *fallen = cache_add(device, made);
    pthread_mutex_unlock(&device->lock);
    if (fallen != NULL)
        destroy_parts(fallen);
    *plan = made;
    return ENG_OK;
}

int eng_plan_get_info(const eng_plan *plan, eng_plan_info *info)
{
    if (plan == NULL || info == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_plan_get_info" ENG_CAUSE "an argument is NULL");
    eng_plan_info own = {.size = sizeof own, .n_nodes = plan->placed->n_nodes,
                         .scratch_bytes = plan->placed->arena_bytes, .unshared_bytes = plan->unshared_bytes};
    unsigned words = eng_failure_words();
    int status = eng_answer(plan->device->calls->plan_launches(plan->state, &own.n_launches), words,
                            plan->device->info.name, "plan_launches");
    return status < 0 ? status : eng_give(info, &own, sizeof own, "eng_plan_info");
}

uint64_t eng_device_plans_built(const eng_device *device)
{
    return device != NULL ? __atomic_load_n(&device->plans_built, __ATOMIC_RELAXED) : 0;
}

/* What there is to say of a plan whose memory the engine has placed. */
static void explain_head(const eng_plan *plan, eng_emit_func emit, void *ctx)
{
    char text[200], precision[40];
    snprintf(text, sizeof text,
             "scratch memory: %" PRIu64 " bytes, %" PRIu64 " if none were used twice; precision: %s\n",
             plan->placed->arena_bytes, plan->unshared_bytes,
             eu_precision_text(plan->placed, precision, sizeof precision));
    emit(ctx, text);
}

/* The nodes that are not exact, where the plugin says nothing of nodes. */
static void explain_fast(const eng_plan *plan, eng_emit_func emit, void *ctx)
{
    for (uint32_t i = 0; i < plan->placed->n_nodes; i++) {
        const eng_node *n = eng_subgraph_node(plan->placed, i);
        if (n->precision == ENG_PRECISION_EXACT)
            continue;
        emit(ctx, "  ");
        emit(ctx, n->name);
        emit(ctx, ": ");
        emit(ctx, eu_precision_name(n->precision));
        emit(ctx, "\n");
    }
}

int eng_plan_explain(const eng_plan *plan, eng_explain_format format, eng_emit_func emit, void *ctx)
{
    static const char *const nothing[] = {"", "{}\n", "digraph plan {\n}\n"};
    if (plan == NULL || emit == NULL || (unsigned)format >= sizeof nothing / sizeof *nothing)
        return eng_fail(ENG_ERR_INVALID, "eng_plan_explain" ENG_CAUSE
                        "plan or emit is NULL, or format is none of ENG_EXPLAIN_*");
    int status = eng_device_check(plan->device);
    if (status != ENG_OK)
        return status;
    bool plain = format == ENG_EXPLAIN_TEXT && !(plan->device->info.flags & ENG_DEVICE_PLACES_MEMORY);
    if (plain)
        explain_head(plan, emit, ctx);
    unsigned words = eng_failure_words();
    status = eng_answer(plan->device->calls->plan_explain(plan->state, format, emit, ctx), words,
                        plan->device->info.name, "plan_explain");
    if (status != ENG_ERR_UNSUPPORTED)
        return status;
    emit(ctx, nothing[format]); /* a plugin need not have more to say */
    if (plain)
        explain_fast(plan, emit, ctx);
    return ENG_OK;
}

int eng_device_supports(eng_device *device, const eng_graph *graph, uint32_t node, eng_support *answer, char *reason,
                        size_t reason_bytes)
{
    if (device == NULL || graph == NULL || !graph->sealed || node >= graph->n_nodes || answer == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_device_supports" ENG_CAUSE "no such node of a sealed graph");
    int status = eng_device_check(device);
    if (status != ENG_OK)
        return status;
    const eng_op_info *info = eng_op_get(graph->nodes[node].op);
    if (info->flags & ENG_OPF_VIEW) {
        *answer = ENG_SUPPORT_YES;
        return ENG_OK;
    }
    unsigned words = eng_failure_words();
    return eng_answer(device->calls->supports(device->state, &graph->view, node, answer, reason, reason_bytes), words,
                      device->info.name, "supports");
}
