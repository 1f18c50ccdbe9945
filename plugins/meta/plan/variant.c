/*
 * Compiling: planner, then each rank's device.  A node that a rank's device cannot
 * run with the shapes it would have there is moved to a rank that can, and the
 * graph is planned again.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "planner.h"

typedef struct compiler {
    eng_device_state *device;
    const eng_subgraph *graph;
    meta_variant *v;
    meta_planner planner;
    int8_t *forced;    /* node -> rank, or -1                                  */
    uint32_t *refused; /* node -> ranks that cannot run it whole               */
    char **moved;      /* node -> why it was moved, for explain; of the arena  */
    const meta_place *const *wishes; /* of the values                          */
} compiler;

static eng_subgraph rank_graph(const compiler *c, uint32_t rank)
{
    const meta_rgraph *g = &c->planner.ranks[rank];
    eng_subgraph s = {
        .size = sizeof s,
        .n_tensors = g->n_tensors,
        .n_nodes = g->n_nodes,
        .n_bindings = g->n_bindings,
        .n_sections = (uint32_t)g->section + 1,
        .n_params = c->graph->n_params,
        .tensors = g->tensors,
        .tensor_stride = sizeof *g->tensors,
        .nodes = g->nodes,
        .node_stride = sizeof *g->nodes,
        .binding_tensor = g->bindings,
    };
    return s;
}

/* A rank to try the whole op on: one that has not refused it whole, rather another than
 * the one that refuses it now; -1: none is left. */
static int next_rank(const compiler *c, int32_t origin, uint32_t refusing)
{
    int last = -1;

    for (uint32_t r = 0; r < c->v->n_ranks; r++) {
        if (c->refused[origin] >> r & 1u)
            continue;
        if (r != refusing)
            return (int)r;
        last = (int)r;
    }
    return last;
}

/* Another place for a node that `rank` refuses.  A shard that is refused says nothing of the
 * whole op: only refusals of that are kept.  What is refused elsewhere than where it was
 * moved cannot move: it writes in place where its tensor is. */
static int move_node(compiler *c, uint32_t rank, const eng_node *node, int32_t origin, const char *reason)
{
    eng_device_state *d = c->device;
    int to = -1;

    if (origin >= 0 && (c->forced[origin] < 0 || c->forced[origin] == (int)rank)) {
        if (c->forced[origin] >= 0)
            c->refused[origin] |= 1u << rank;
        to = next_rank(c, origin, rank);
    }
    if (to < 0) {
        const eng_op_info *op = meta_op_info(d, node->op);
        return META_FAIL(d, ENG_ERR_UNSUPPORTED, "%s cannot run %s (%s)" ENG_CAUSE
                         "%s", d->ranks[rank].name, node->name,
                         op ? op->name : "?", reason[0] ? reason : "no reason given");
    }
    c->forced[origin] = (int8_t)to;
    c->moved[origin] = eu_arena_format(&c->v->arena, "%s runs on %s alone: %s cannot (%s)", node->name,
                                         d->ranks[to].name, d->ranks[rank].name, reason);
    return ENG_OK;
}

/* *moved: a node was given to another rank; plan again. */
static int ask(compiler *c, uint32_t rank, bool *moved)
{
    const meta_rgraph *g = &c->planner.ranks[rank];
    const eng_child *child = &c->device->ranks[rank].child;
    eng_subgraph s = rank_graph(c, rank);

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        eng_support answer = ENG_SUPPORT_NO;
        char reason[256] = "";
        if (g->nodes[i].op == ENG_OP_EXTERN)
            continue;
        if (!meta_rule_agrees(c->planner.sv, &s, &g->nodes[i]))
            return META_FAIL(c->device, ENG_ERR_INTERNAL, "%s" ENG_CAUSE
                             "the shards of its operands on %s do not fit together; "
                                                          "please report the graph",
                             g->nodes[i].name, c->device->ranks[rank].name);
        int status = child->calls->supports(child->state, &s, i, &answer, reason, sizeof reason);
        if (status != ENG_OK)
            return status;
        if (answer != ENG_SUPPORT_NO)
            continue;
        *moved = true; /* what the others would say of this plan does not matter any more */
        return move_node(c, rank, &g->nodes[i], g->origin[i], reason);
    }
    return ENG_OK;
}

static int plan_once(compiler *c, bool *moved)
{
    eng_device_state *d = c->device;

    meta_planner_end(&c->planner);
    memset(&c->planner, 0, sizeof c->planner);
    c->planner.device = d;
    c->planner.sv = d->plugin->services;
    c->planner.graph = c->graph;
    c->planner.places = c->v->places;
    c->planner.layouts = c->v->layouts;
    c->planner.first = c->v->first;
    c->planner.n_ranks = c->v->n_ranks;
    c->planner.arena = &c->v->arena;
    c->planner.forced = c->forced;
    c->planner.wishes = c->wishes;
    int status = meta_planner_run(&c->planner);
    for (uint32_t r = 0; r < c->v->n_ranks && status == ENG_OK && !*moved; r++)
        status = ask(c, r, moved);
    return status;
}

/* For explain: what each piece of scratch memory is a piece of. */
static uint8_t *scratch_kinds(compiler *c, uint32_t rank)
{
    const meta_rgraph *g = &c->planner.ranks[rank];
    uint8_t *kinds = eu_arena_alloc(&c->v->arena, g->n_tensors + 1u);

    if (kinds)
        memset(kinds, META_SHARDED, g->n_tensors + 1u); /* copies of parts and the like */
    for (uint32_t i = 0; kinds && i < c->graph->n_tensors; i++)
        for (const meta_version *v = c->planner.values[i].versions; v; v = v->next)
            if (v->local[rank] >= 0)
                kinds[g->tensors[v->local[rank]].root] = v->place.kind;
    return kinds;
}

static int build_part(compiler *c, uint32_t rank)
{
    const eng_services *sv = c->device->plugin->services;
    const meta_rgraph *g = &c->planner.ranks[rank];
    meta_part *part = &c->v->parts[rank];
    eng_subgraph s = rank_graph(c, rank);

    if (!g->n_nodes)
        return ENG_OK;
    part->n_sections = s.n_sections;
    part->n_bindings = g->n_bindings;
    part->n_stops = g->n_stops;
    part->bound_to = eu_arena_alloc(&c->v->arena, (g->n_bindings + 1) * sizeof *part->bound_to);
    part->stops = eu_arena_alloc(&c->v->arena, (g->n_stops + 1) * sizeof *part->stops);
    part->work = eu_arena_alloc(&c->v->arena, s.n_sections);
    part->kinds = scratch_kinds(c, rank);
    if (!part->bound_to || !part->stops || !part->work || !part->kinds)
        return meta_no_memory(c->device, "a plan");
    if (g->n_bindings)
        memcpy(part->bound_to, g->bound_to, g->n_bindings * sizeof *part->bound_to);
    if (g->n_stops)
        memcpy(part->stops, g->stops, g->n_stops * sizeof *part->stops);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op != ENG_OP_EXTERN)
            part->work[g->nodes[i].section] = 1;
    int status = meta_blame(c->device, rank, sv->plan_build(sv->host, &c->device->ranks[rank].child, &s, &part->placed,
                                                            &part->plan));
    if (status == ENG_OK)
        c->v->ranks |= 1u << rank;
    return status;
}

/* What the variant keeps of the planner's work, and a plan of each rank's device. */
static int finish(compiler *c)
{
    meta_variant *v = c->v;
    const meta_planner *p = &c->planner;
    int status = ENG_OK;

    v->exchanges = eu_arena_alloc(&v->arena, (p->n_exchanges + 1) * sizeof *v->exchanges);
    v->notes = eu_arena_alloc(&v->arena, ((size_t)c->graph->n_nodes + p->n_notes + 1) * sizeof *v->notes);
    if (!v->exchanges || !v->notes)
        return meta_no_memory(c->device, "a plan");
    v->n_exchanges = p->n_exchanges;
    if (v->n_exchanges)
        memcpy(v->exchanges, p->exchanges, v->n_exchanges * sizeof *v->exchanges);
    memcpy(v->n_run, p->n_run, sizeof v->n_run);
    for (uint32_t i = 0; i < c->graph->n_nodes; i++)
        if (c->moved[i])
            v->notes[v->n_notes++] = c->moved[i];
    for (uint32_t i = 0; i < p->n_notes; i++)
        v->notes[v->n_notes++] = p->notes[i];
    for (uint32_t r = 0; r < c->v->n_ranks && status == ENG_OK; r++)
        status = build_part(c, r);
    return status;
}

static int set_up(compiler *c, const meta_bound *bound)
{
    eng_device_state *d = c->device;
    meta_variant *v = c->v;
    size_t n_bound = c->graph->n_bindings, n_nodes = c->graph->n_nodes;

    v->device = d;
    int status = meta_wishes(d, c->graph, &v->arena, &c->wishes); /* may add guests */
    pthread_mutex_lock(&d->lock); /* a store may add a guest meanwhile */
    v->n_ranks = d->n_ranks;
    pthread_mutex_unlock(&d->lock);
    if (status != ENG_OK)
        return status;
    v->places = eu_arena_alloc(&v->arena, (n_bound + 1) * sizeof *v->places);
    v->layouts = eu_arena_alloc(&v->arena, (n_bound + 1) * sizeof *v->layouts);
    v->why = eu_arena_alloc(&v->arena, (n_bound + 1) * sizeof *v->why);
    v->first = eu_arena_alloc(&v->arena, (n_bound + 1) * sizeof *v->first);
    c->forced = malloc(n_nodes + 1);
    c->refused = calloc(n_nodes + 1, sizeof *c->refused);
    c->moved = calloc(n_nodes + 1, sizeof *c->moved);
    if (!v->places || !v->why || !v->layouts || !v->first || !c->forced || !c->refused || !c->moved)
        return meta_no_memory(d, "a plan");
    memset(c->forced, -1, n_nodes + 1);
    if (n_bound) {
        memcpy(v->places, bound->places, n_bound * sizeof *v->places);
        memcpy(v->layouts, bound->layouts, n_bound * sizeof *v->layouts);
        memcpy(v->why, bound->why, n_bound * sizeof *v->why);
        memcpy(v->first, bound->first, n_bound * sizeof *v->first);
    }
    return ENG_OK;
}

static void clean_up(compiler *c)
{
    meta_planner_end(&c->planner);
    free(c->forced);
    free(c->refused);
    free(c->moved);
}

/* Planned again until no node moves any more. */
static int plan_all(compiler *c, const meta_bound *bound)
{
    int status = c->v ? set_up(c, bound) : meta_no_memory(c->device, "a plan");

    for (bool moved = true; moved && status == ENG_OK;) {
        moved = false;
        status = plan_once(c, &moved);
    }
    return status;
}

int meta_variant_compile(eng_device_state *device, const eng_subgraph *graph, const meta_bound *bound,
                         meta_variant **variant)
{
    compiler c = {.device = device, .graph = graph, .v = calloc(1, sizeof *c.v)};
    int status = plan_all(&c, bound);

    if (status == ENG_OK)
        status = finish(&c);
    clean_up(&c);
    if (status != ENG_OK) {
        meta_variant_destroy(c.v);
        return status;
    }
    atomic_fetch_add(&device->plans_built, 1);
    *variant = c.v;
    return ENG_OK;
}

int meta_variant_try(eng_device_state *device, const eng_subgraph *graph, const meta_bound *bound)
{
    compiler c = {.device = device, .graph = graph, .v = calloc(1, sizeof *c.v)};
    int status = plan_all(&c, bound);

    clean_up(&c);
    meta_variant_destroy(c.v);
    return status;
}

void meta_variant_destroy(meta_variant *v)
{
    if (!v)
        return;
    const eng_services *sv = v->device->plugin->services;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        if (v->parts[r].plan)
            sv->plan_release(sv->host, &v->device->ranks[r].child, v->parts[r].placed, v->parts[r].plan);
    eu_arena_end(&v->arena);
    free(v);
}
