/*
 * A sub-graph made ready for one device: a deep copy that outlives the caller's,
 * scratch memory placed, every node asked for, compiled by the plugin.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../device/device.h"
#include "../graph/graph.h"
#include "build.h"

typedef struct placed_graph {
    eng_subgraph view; /* first: what callers hold                            */
    eu_arena arena;
} placed_graph;

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("a plan"));
}

static int copy_tensors(placed_graph *p, const eng_subgraph *g, eng_tensor *tensors)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *from = eng_subgraph_tensor(g, (int32_t)i);
        memcpy(&tensors[i], from, from->size < sizeof *tensors ? from->size : sizeof *tensors);
        tensors[i].size = sizeof *tensors;
        tensors[i].name = eu_arena_string(&p->arena, from->name);
        tensors[i].dims = eng_dims_copy(&p->arena, from->dims, from->rank);
        bool no_place = tensors[i].place != NULL;
        if (no_place)
            no_place = (tensors[i].place = eng_placement_copy(&p->arena, tensors[i].place)) == NULL;
        if (tensors[i].name == NULL || (from->dims != NULL && tensors[i].dims == NULL) || no_place)
            return no_memory();
    }
    return ENG_OK;
}

static int copy_nodes(placed_graph *p, const eng_subgraph *g, eng_node *nodes)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_node *from = eng_subgraph_node(g, i);
        memcpy(&nodes[i], from, from->size < sizeof *nodes ? from->size : sizeof *nodes);
        nodes[i].size = sizeof *nodes;
        nodes[i].name = eu_arena_string(&p->arena, from->name);
        if (nodes[i].name == NULL)
            return no_memory();
    }
    return ENG_OK;
}

static int copy_graph(placed_graph *p, const eng_subgraph *g, eng_tensor **tensors)
{
    size_t n_bindings = g->n_bindings ? g->n_bindings : 1;
    eng_node *nodes = eu_arena_alloc(&p->arena, ((size_t)g->n_nodes + 1) * sizeof *nodes);
    int32_t *bindings = eu_arena_alloc(&p->arena, n_bindings * sizeof *bindings);
    *tensors = eu_arena_alloc(&p->arena, ((size_t)g->n_tensors + 1) * sizeof **tensors);
    if (nodes == NULL || bindings == NULL || *tensors == NULL)
        return no_memory();
    if (g->n_bindings > 0)
        memcpy(bindings, g->binding_tensor, g->n_bindings * sizeof *bindings);
    memcpy(&p->view, g, g->size < sizeof p->view ? g->size : sizeof p->view);
    p->view.size = sizeof p->view;
    p->view.tensors = *tensors;
    p->view.tensor_stride = sizeof **tensors;
    p->view.nodes = nodes;
    p->view.node_stride = sizeof *nodes;
    p->view.binding_tensor = bindings;
    int status = copy_tensors(p, g, *tensors);
    return status == ENG_OK ? copy_nodes(p, g, nodes) : status;
}

/* A composed device asks its ranks itself, with the shapes that they will run. */
static int ask_support(const eng_child *child, const eng_subgraph *g)
{
    for (uint32_t i = 0; i < g->n_nodes && child->info->kind != ENG_DEVICE_META; i++) {
        const eng_node *n = eng_subgraph_node(g, i);
        const eng_op_info *info = eng_op_get(n->op);
        eng_support answer = ENG_SUPPORT_NO;
        char reason[256] = "";
        if (info == NULL)
            return eng_fail(ENG_ERR_INVALID, "op number %" PRIu32 " is unknown", n->op);
        if (info->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER))
            continue;
        unsigned words = eng_failure_words();
        int status = eng_answer(child->calls->supports(child->state, g, i, &answer, reason, sizeof reason), words,
                                child->info->name, "supports");
        if (status != ENG_OK)
            return status;
        if (answer == ENG_SUPPORT_NO)
            return eng_fail(ENG_ERR_UNSUPPORTED, "%s cannot run %s (%s)" ENG_CAUSE
                            "%s", child->info->name, n->name, info->name,
                            reason[0] ? reason : "no reason given");
    }
    return ENG_OK;
}

void eng_plan_unbuild(const eng_child *child, const eng_subgraph *placed, eng_plan_state *plan)
{
    if (plan != NULL)
        child->calls->plan_destroy(plan);
    if (placed != NULL) {
        placed_graph *p = (placed_graph *)placed;
        eu_arena_end(&p->arena);
        free(p);
    }
}

int eng_plan_build(const eng_child *child, const eng_subgraph *graph, const eng_subgraph **placed,
                   eng_plan_state **plan)
{
    eng_tensor *tensors;
    eng_plan_state *state = NULL;
    uint64_t unshared;
    placed_graph *p = calloc(1, sizeof *p);
    if (p == NULL)
        return no_memory();
    int status = copy_graph(p, graph, &tensors);
    if (status == ENG_OK && !(child->info->flags & ENG_DEVICE_PLACES_MEMORY)) {
        p->view.arena_bytes = eng_place(&p->view, tensors, child->info->alignment, &unshared);
        if (p->view.arena_bytes == UINT64_MAX)
            status = no_memory();
    }
    if (status == ENG_OK)
        status = ask_support(child, &p->view);
    unsigned words = eng_failure_words();
    if (status == ENG_OK)
        status = eng_answer(child->calls->plan_create(child->state, &p->view, &state), words, child->info->name,
                            "plan_create");
    if (status != ENG_OK) {
        eng_plan_unbuild(child, &p->view, NULL);
        return status;
    }
    *placed = &p->view;
    *plan = state;
    return ENG_OK;
}
