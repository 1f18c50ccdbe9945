/*
 * Plans and instances.  Where bound tensors live is known only when an instance
 * binds the graph to stores, so a plan keeps one compiled variant for each
 * placement it has met.  When it is made, it looks among the device's stores for
 * tensors of the bound ones' names, so that what will not work is told then.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "run.h"

/* -- variants ---------------------------------------------------------------------- */

static int get_variant(eng_plan_state *plan, const meta_place *places, const char *const *why, meta_variant **variant)
{
    int status = ENG_OK;

    pthread_mutex_lock(&plan->lock);
    meta_variant *v = plan->variants;
    for (; v; v = v->next) {
        uint32_t b = 0;
        while (b < plan->graph->n_bindings && meta_place_equal(&v->places[b], &places[b]) &&
               v->places[b].ranks == places[b].ranks)
            b++;
        if (b == plan->graph->n_bindings)
            break;
    }
    if (!v) {
        status = meta_variant_compile(plan->device, plan->graph, places, why, &v);
        if (status == ENG_OK) {
            v->next = plan->variants;
            plan->variants = v;
        }
    }
    pthread_mutex_unlock(&plan->lock);
    if (status == ENG_OK)
        *variant = v;
    return status;
}

static bool same_tensor(const meta_tensor *m, const eng_tensor *t)
{
    return m->type == t->type && strcmp(m->name, t->name) == 0 && memcmp(m->ne, t->ne, sizeof m->ne) == 0;
}

/* A bound tensor by its name; NULL if none or if several live in different places. */
static const meta_tensor *guess(const eng_device_state *d, const eng_tensor *t)
{
    const meta_tensor *found = NULL;

    for (const eng_store_state *s = d->stores; s; s = s->next) {
        for (uint32_t i = 0; i < s->n; i++) {
            if (!same_tensor(&s->tensors[i], t))
                continue;
            if (found && !meta_place_equal(&found->place, &s->tensors[i].place))
                return NULL;
            found = &s->tensors[i];
        }
    }
    return found;
}

/* Compiles ahead if all bound tensors are known by their names. */
static int compile_ahead(eng_plan_state *plan)
{
    size_t n = plan->graph->n_bindings + 1u;
    meta_place *places = calloc(n, sizeof *places);
    const char **why = calloc(n, sizeof *why);
    bool known = places && why;
    int status = ENG_OK;
    meta_variant *v;

    pthread_mutex_lock(&plan->device->lock);
    for (uint32_t b = 0; known && b < plan->graph->n_bindings; b++) {
        const meta_tensor *m = guess(plan->device, eng_subgraph_tensor(plan->graph, plan->graph->binding_tensor[b]));
        known = m != NULL;
        if (m) {
            places[b] = m->place;
            why[b] = m->why;
        }
    }
    pthread_mutex_unlock(&plan->device->lock);
    if (known)
        status = get_variant(plan, places, why, &v);
    free(places);
    free(why);
    return status;
}

int meta_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan)
{
    eng_plan_state *p = calloc(1, sizeof *p);

    if (!p || pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return META_FAIL(device, ENG_ERR_NOMEM, "out of host memory for a plan");
    }
    p->device = device;
    p->graph = graph;
    int status = compile_ahead(p);
    if (status != ENG_OK) {
        meta_plan_destroy(p);
        return status;
    }
    *plan = p;
    return ENG_OK;
}

void meta_plan_destroy(eng_plan_state *plan)
{
    if (!plan)
        return;
    while (plan->variants) {
        meta_variant *v = plan->variants;
        plan->variants = v->next;
        meta_variant_destroy(v);
    }
    pthread_mutex_destroy(&plan->lock);
    free(plan);
}

/* -- instances --------------------------------------------------------------------- */

/* The variant was compiled for where these stores have their tensors: what it binds on a rank
 * is in that rank's store. */
static int child_instance(eng_instance_state *inst, uint32_t rank, eng_store_state *const *stores,
                          const uint32_t *tensors)
{
    const meta_part *part = &inst->variant->parts[rank];
    const eng_child *c = &inst->variant->device->ranks[rank].child;
    eng_store_state **bound = calloc(part->n_bindings + 1u, sizeof *bound);
    uint32_t *index = calloc(part->n_bindings + 1u, sizeof *index);
    int status = ENG_OK;

    if (!bound || !index)
        status = META_FAIL(inst->variant->device, ENG_ERR_NOMEM, "out of host memory for an instance");
    for (uint32_t b = 0; b < part->n_bindings && status == ENG_OK; b++) {
        uint32_t whole = part->bound_to[b];
        bound[b] = stores[whole]->child[rank];
        index[b] = stores[whole]->tensors[tensors[whole]].child[rank];
    }
    if (status == ENG_OK)
        status = meta_blame(inst->variant->device, rank,
                            c->calls->instance_create(part->plan, bound, index, &inst->child[rank]));
    free(bound);
    free(index);
    return status;
}

static int prepare(eng_instance_state *inst, eng_store_state *const *stores, const uint32_t *tensors)
{
    eng_device_state *d = inst->variant->device;
    int status = ENG_OK;
    bool room = true;

    for (uint32_t r = 0; r < META_MAX_RANKS && status == ENG_OK; r++) {
        if (!(inst->variant->ranks >> r & 1u))
            continue;
        status = child_instance(inst, r, stores, tensors);
        room = room && (status != ENG_OK || meta_spots_rank(inst, r));
        if (status == ENG_OK) {
            inst->compute[r] = inst->variant->parts[r].placed->arena_bytes;
            atomic_fetch_add(&d->ranks[r].compute_bytes, inst->compute[r]);
        }
    }
    if (status == ENG_OK && (!room || !meta_spots_sums(inst)))
        status = META_FAIL(d, ENG_ERR_NOMEM, "out of host memory for the exchange of values between devices");
    return status;
}

int meta_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                         eng_instance_state **instance)
{
    size_t n = plan->graph->n_bindings + 1u;
    meta_place *places = calloc(n, sizeof *places);
    const char **why = calloc(n, sizeof *why);
    eng_instance_state *inst = calloc(1, sizeof *inst);
    int status = ENG_OK;

    if (!places || !why || !inst)
        status = META_FAIL(plan->device, ENG_ERR_NOMEM, "out of host memory for an instance");
    for (uint32_t b = 0; b < plan->graph->n_bindings && status == ENG_OK; b++) {
        places[b] = stores[b]->tensors[tensors[b]].place;
        why[b] = stores[b]->tensors[tensors[b]].why;
    }
    if (status == ENG_OK)
        status = get_variant(plan, places, why, &inst->variant);
    if (status == ENG_OK)
        status = prepare(inst, stores, tensors);
    free(places);
    free(why);
    if (status != ENG_OK) {
        meta_instance_destroy(inst);
        return status;
    }
    *instance = inst;
    return ENG_OK;
}

void meta_instance_destroy(eng_instance_state *inst)
{
    if (!inst)
        return;
    meta_late_finish_instance(inst, UINT64_MAX); /* the devices use its memory */
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (inst->child[r]) {
            meta_rank *rank = &inst->variant->device->ranks[r];
            rank->child.calls->instance_destroy(inst->child[r]);
            atomic_fetch_sub(&rank->compute_bytes, inst->compute[r]);
        }
    }
    meta_spots_end(inst);
    free(inst);
}
