/*
 * Planning: node by node, in the order of the graph, the cheapest way is chosen and carried
 * out.  Nothing depends on anything but the graph and the placements, so a plan is always
 * the same.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"

static void not_in_place(const meta_chooser *c)
{
    const char *target = c->node->name;

    for (uint32_t i = 0; i < c->op->n_in; i++)
        if (meta_is_inout(c, i))
            target = meta_tensor_of(c->p, meta_tensor_of(c->p, c->node->in[i])->root)->name;
    c->p->status = META_FAIL(c->p->device, ENG_ERR_UNSUPPORTED,
                             "%s (%s) writes into %s in a way that its shards do not allow: declare that tensor with "
                             "axis ENG_AXIS_WHOLE",
                             c->node->name, c->op->name, target);
}

static void run_node(meta_chooser *c, meta_version *target)
{
    meta_planner *p = c->p;
    const meta_strategy *s = &c->best;
    meta_version *in[ENG_MAX_INPUTS] = {NULL}, *out[ENG_MAX_OUTPUTS] = {NULL};

    for (uint32_t i = 0; i < ENG_MAX_INPUTS && !meta_failed(p); i++)
        if (c->node->in[i] >= 0)
            in[i] = !meta_is_inout(c, i) ? meta_version_get(p, c->node->in[i], &s->in[i])
                    : target        ? target
                                    : meta_version_original(p, c->node->in[i]);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS && !meta_failed(p); i++) {
        if (c->node->out[i] < 0)
            continue;
        out[i] = meta_version_new(p, c->node->out[i], &s->out[i]);
        if (out[i])
            out[i]->original = true;
        p->values[c->node->out[i]].made = out[i];
    }
    bool several = meta_several(s->ranks);
    if (meta_failed(p))
        return;
    if (s->merge && several) {
        meta_merge_attention(p, (int32_t)c->index, s, in, out[0]);
    } else if (s->lengths && several) {
        meta_split_norm(p, (int32_t)c->index, s, in, out[0]);
    } else {
        for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++)
            if (s->ranks >> r & 1u)
                meta_local_op(p, r, (int32_t)c->index, s, in, out);
    }
    if (meta_failed(p))
        return;
    p->n_run[c->node->out[0] >= 0 ? s->out[0].kind : s->in[0].kind]++;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (c->node->out[i] >= 0)
            meta_versions(p, c->node->out[i]); /* where the host wants it, at once */
}

/* Copies of what an op has written in place are copies no more. */
static void forget_copies(const meta_chooser *c)
{
    for (uint32_t i = 0; i < c->op->n_in && !meta_failed(c->p); i++)
        if (meta_is_inout(c, i))
            meta_version_forget(c->p, meta_tensor_of(c->p, c->node->in[i])->root);
}

/* The op writes into a copy of the whole tensor, which is then written back. */
static void run_on_copy(meta_chooser *c)
{
    meta_planner *p = c->p;
    int forced = meta_forced_rank(c);
    meta_place place = forced < 0 ? meta_place_replicated() : meta_place_single((uint32_t)forced);
    meta_version *whole = NULL, *target = NULL;
    int32_t value = -1;

    for (uint32_t i = 0; i < c->op->n_in; i++)
        if (meta_is_inout(c, i))
            value = c->node->in[i];
    if (value < 0) {
        p->status = META_FAIL(p->device, ENG_ERR_INTERNAL, "no way was found to run %s (%s)" ENG_ADVICE
                              "please report the graph",
                              c->node->name, c->op->name);
        return;
    }
    target = meta_inplace_begin(p, value, &place, &whole);
    if (!target) {
        if (!meta_failed(p))
            not_in_place(c);
        return;
    }
    meta_everywhere(&c->best, &place, forced < 0 ? p->device->main_mask : 1u << forced);
    run_node(c, target);
    if (!meta_failed(p))
        meta_inplace_end(p, value, &place, whole);
}

static void plan_node(meta_planner *p, uint32_t index)
{
    meta_chooser c = {.p = p, .node = eng_subgraph_node(p->graph, index), .index = index, .cost = HUGE_VAL};

    c.op = meta_op_info(p->device, c.node->op);
    if (!c.op || c.node->op == ENG_OP_EXTERN) {
        p->status = META_FAIL(p->device, ENG_ERR_UNSUPPORTED, "op %" PRIu32 " cannot run on a composed device",
                              c.node->op);
        return;
    }
    if (c.op->flags & ENG_OPF_VIEW) {
        meta_versions_of_view(p, c.node);
        return;
    }
    c.operations = meta_operations(&c);
    meta_choose(&c);
    if (meta_failed(p))
        return;
    if (c.cost == HUGE_VAL)
        run_on_copy(&c);
    else
        run_node(&c, NULL);
    forget_copies(&c);
}

/* -- all of it --------------------------------------------------------------------------- */

static void bind(meta_planner *p)
{
    for (uint32_t b = 0; b < p->graph->n_bindings && !meta_failed(p); b++) {
        int32_t value = p->graph->binding_tensor[b];
        const eng_tensor *t = meta_tensor_of(p, value);
        meta_version *v = meta_version_new(p, value, &p->places[b]);
        int64_t ne[ENG_MAX_RANK];
        if (!v)
            return;
        v->original = true;
        p->values[value].made = v;
        for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++) {
            if (!meta_place_holds(&p->places[b], r))
                continue;
            meta_local_ne(&p->places[b], r, t->ne, ne);
            v->local[r] = meta_local_binding(p, r, t, b, ne);
            if (v->local[r] >= 0)
                p->ranks[r].tensors[v->local[r]].layout = p->layouts[b].of[r];
        }
    }
}

int meta_planner_run(meta_planner *p)
{
    p->values = eu_arena_alloc(p->arena, ((size_t)p->graph->n_tensors + 1) * sizeof *p->values);
    if (!p->values)
        return meta_planner_nomem(p);
    for (uint32_t i = 0; i < p->graph->n_tensors; i++) {
        p->values[i].maker = -1;
        p->values[i].wish = p->wishes ? p->wishes[i] : NULL;
    }
    meta_find_uses(p);
    bind(p);
    for (uint32_t k = 0; k < p->graph->n_nodes && !meta_failed(p); k++)
        plan_node(p, k);
    if (!meta_failed(p))
        meta_join_exchanges(p);
    return p->status;
}

void meta_planner_end(meta_planner *p)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        meta_rgraph *g = &p->ranks[r];
        free(g->tensors);
        free(g->nodes);
        free(g->bindings);
        free(g->bound_to);
        free(g->origin);
        free(g->stops);
        memset(g, 0, sizeof *g);
    }
    free(p->exchanges);
    free(p->notes);
    p->exchanges = NULL;
    p->notes = NULL;
}
