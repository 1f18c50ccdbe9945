/* Plans: which nodes of a sub-graph do something, in order, by section. */
#include "config.h"

#include <stdlib.h>

#include "../cpu.h"

static bool is_empty(const eng_subgraph *graph, int32_t tensor)
{
    const eng_tensor *t = eng_subgraph_tensor(graph, tensor);
    bool empty = t == NULL;
    for (uint32_t d = 0; !empty && d < t->rank; d++)
        empty = t->ne[d] == 0;
    return empty;
}

/* A node that writes no element is left out, for its rows may be without number: 0 elements in
 * each of 2^50. */
static bool does_something(const eng_device_state *device, const eng_subgraph *graph, const eng_node *node)
{
    const eng_op_info *info = device->services->op_info(device->host, node->op);
    if (!info)
        return true; /* refused below */
    if (cpu_idle(info))
        return false;
    for (uint32_t o = 0; o < info->n_out; o++)
        if (!is_empty(graph, node->out[o]))
            return true;
    for (uint32_t i = 0; i < info->n_in; i++)
        if (info->in[i].inout && !is_empty(graph, node->in[i]))
            return true;
    return false;
}

int cpu_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan)
{
    const eng_services *s = device->services;
    eng_plan_state *p = calloc(1, sizeof *p);
    if (p) {
        p->nodes = calloc(graph->n_nodes ? graph->n_nodes : 1, sizeof *p->nodes);
        p->section_first = calloc((size_t)graph->n_sections + 1, sizeof *p->section_first);
    }
    if (!p || !p->nodes || !p->section_first) {
        cpu_plan_destroy(p);
        return cpu_no_memory(s, "a plan");
    }
    p->device = device;
    p->graph = graph;
    uint32_t section = 0;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const eng_node *node = eng_subgraph_node(graph, i);
        if (!does_something(device, graph, node))
            continue;
        eng_support answer = ENG_SUPPORT_NO;
        char reason[256] = "";
        int status = cpu_supports(device, graph, i, &answer, reason, sizeof reason);
        if (status == ENG_OK && answer == ENG_SUPPORT_NO)
            status = s->fail(device->host, ENG_ERR_UNSUPPORTED, "cpu" ENG_CAUSE "node %s: %s", node->name, reason);
        if (status != ENG_OK) {
            cpu_plan_destroy(p);
            return status;
        }
        while (section < graph->n_sections && (int32_t)section < node->section)
            p->section_first[++section] = p->n_nodes;
        p->nodes[p->n_nodes++] = i;
    }
    while (section < graph->n_sections)
        p->section_first[++section] = p->n_nodes;
    pthread_mutex_lock(&device->lock);
    device->stats.plans_built++;
    pthread_mutex_unlock(&device->lock);
    *plan = p;
    return ENG_OK;
}

void cpu_plan_destroy(eng_plan_state *plan)
{
    if (!plan)
        return;
    free(plan->nodes);
    free(plan->section_first);
    free(plan);
}

int cpu_plan_launches(eng_plan_state *plan, uint64_t *launches)
{
    *launches = plan->n_nodes;
    return ENG_OK;
}
