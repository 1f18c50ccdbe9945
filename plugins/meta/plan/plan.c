/*
 * Plans.  Where bound tensors live is known only when an instance binds the graph to
 * stores, so a plan keeps one compiled variant for each placement it has met.  When it is
 * made, it looks among the device's stores for tensors of the bound ones' names, so that
 * what will not work is told then.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variant.h"

bool meta_bound_begin(meta_bound *bound, uint32_t n)
{
    *bound = (meta_bound){.places = calloc(n + (size_t)1, sizeof *bound->places),
                          .why = calloc(n + (size_t)1, sizeof *bound->why),
                          .layouts = calloc(n + (size_t)1, sizeof *bound->layouts),
                          .first = calloc(n + (size_t)1, sizeof *bound->first)};
    for (uint32_t b = 0; bound->first && b < n; b++)
        bound->first[b] = b;
    return bound->places && bound->why && bound->layouts && bound->first;
}

void meta_bound_end(meta_bound *bound)
{
    free(bound->places);
    free(bound->why);
    free(bound->layouts);
    free(bound->first);
}

static bool fits(const meta_variant *v, const meta_bound *bound, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!meta_place_equal(&v->places[i], &bound->places[i]) || v->places[i].ranks != bound->places[i].ranks ||
            v->first[i] != bound->first[i] ||
            memcmp(&v->layouts[i], &bound->layouts[i], sizeof v->layouts[i]) != 0)
            return false;
    return true;
}

int meta_plan_variant(eng_plan_state *plan, const meta_bound *bound, meta_variant **variant)
{
    int status = ENG_OK;

    pthread_mutex_lock(&plan->lock);
    meta_variant *v = plan->variants;
    while (v && !fits(v, bound, plan->graph->n_bindings))
        v = v->next;
    if (!v) {
        status = meta_variant_compile(plan->device, plan->graph, bound, &v);
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
    return m->type == t->type && m->layout.layout == t->layout && strcmp(m->name, t->name) == 0 &&
           memcmp(m->ne, t->ne, sizeof m->ne) == 0;
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

/* Places of all bound tensors, if each is known by its name; meta_bound_end whatever it answers. */
static bool guess_all(eng_device_state *d, const eng_subgraph *graph, meta_bound *bound)
{
    bool known = meta_bound_begin(bound, graph->n_bindings);

    pthread_mutex_lock(&d->lock);
    for (uint32_t b = 0; known && b < graph->n_bindings; b++) {
        const meta_tensor *m = guess(d, eng_subgraph_tensor(graph, graph->binding_tensor[b]));
        known = m != NULL;
        if (m) {
            bound->places[b] = m->place;
            bound->why[b] = m->why;
            bound->layouts[b] = m->layouts;
        }
    }
    pthread_mutex_unlock(&d->lock);
    return known;
}

/* Compiles ahead if all bound tensors are known by their names. */
static int compile_ahead(eng_plan_state *plan)
{
    meta_bound bound;
    int status = ENG_OK;
    meta_variant *v;

    if (guess_all(plan->device, plan->graph, &bound))
        status = meta_plan_variant(plan, &bound, &v);
    meta_bound_end(&bound);
    return status;
}

/* What no rank can run whole, several may be able to run in parts: the planner knows. */
static bool runs_in_parts(eng_device_state *d, const eng_subgraph *graph)
{
    meta_bound bound;
    bool runs = guess_all(d, graph, &bound) && meta_variant_try(d, graph, &bound) == ENG_OK;

    meta_bound_end(&bound);
    return runs;
}

int meta_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer, char *reason,
                  size_t reason_bytes)
{
    const eng_op_info *op = meta_op_info(device, eng_subgraph_node(graph, node)->op);
    const char *able = NULL, *unable = NULL;
    char why[256] = "", text[256];

    *answer = op && op->flags & ENG_OPF_VIEW ? ENG_SUPPORT_YES : ENG_SUPPORT_NO;
    if (!op || op->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER))
        return ENG_OK;
    for (uint32_t r = 0; r < device->n_leaves; r++) {
        const eng_child *c = &device->ranks[r].child;
        eng_support own = ENG_SUPPORT_NO;
        *text = '\0';
        int status = meta_blame(device, r, c->calls->supports(c->state, graph, node, &own, text, sizeof text));
        if (status != ENG_OK)
            return status;
        able = own != ENG_SUPPORT_NO && !able ? device->ranks[r].name : able;
        if (own == ENG_SUPPORT_YES || unable)
            continue;
        unable = device->ranks[r].name;
        snprintf(why, sizeof why, "%.200s", text);
    }
    if (able && !unable)
        *answer = ENG_SUPPORT_YES;
    else if (able || runs_in_parts(device, graph))
        *answer = ENG_SUPPORT_SLOW;
    if (*answer != ENG_SUPPORT_YES && reason)
        snprintf(reason, reason_bytes, "%s: %s", unable, why);
    return ENG_OK;
}

int meta_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan)
{
    eng_plan_state *p = calloc(1, sizeof *p);

    if (!p || pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return meta_no_memory(device, "a plan");
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
