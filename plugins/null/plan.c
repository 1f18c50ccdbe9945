/* The null plugin's plans and instances: the graph itself, and its memory. */
#include "null.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tensors that a node copies between; false: the node is no copy. */
static bool copied(const eng_subgraph *graph, const eng_node *node, const eng_tensor **to, const eng_tensor **from)
{
    if (node->op != ENG_OP_CPY && node->op != ENG_OP_STORE)
        return false;
    *from = eng_subgraph_tensor(graph, node->in[node->op == ENG_OP_STORE ? 1 : 0]);
    *to = eng_subgraph_tensor(graph, node->op == ENG_OP_STORE ? node->in[0] : node->out[0]);
    return true;
}

int null_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t index, eng_support *answer,
                  char *reason, size_t reason_bytes)
{
    const eng_services *s = device->services;
    const eng_node *node = eng_subgraph_node(graph, index);
    const eng_op_info *op = s->op_info(s->host, node->op);
    const eng_tensor *to, *from;
    const char *why = NULL;
    if (device->accepts_all || (op && op->flags & ENG_OPF_VIEW))
        why = NULL;
    else if (!copied(graph, node, &to, &from))
        why = "the null device copies and computes nothing";
    else if (to->type != from->type)
        why = "the null device copies between equal types only";
    *answer = why ? ENG_SUPPORT_NO : ENG_SUPPORT_YES;
    if (why && reason && reason_bytes)
        snprintf(reason, reason_bytes, "%s", why);
    return ENG_OK;
}

int null_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **result)
{
    const eng_services *s = device->services;
    eng_plan_state *plan = malloc(sizeof *plan);
    uint32_t *first = malloc(((size_t)graph->n_sections + 1) * sizeof *first), node = 0;
    if (!plan || !first) {
        free(plan);
        free(first);
        return null_no_memory(s, "a plan");
    }
    for (uint32_t i = 0; i <= graph->n_sections; i++) {
        while (node < graph->n_nodes && eng_subgraph_node(graph, node)->section < (int32_t)i)
            node++;
        first[i] = node;
    }
    *plan = (eng_plan_state){device, graph, first};
    *result = plan;
    return ENG_OK;
}

void null_plan_destroy(eng_plan_state *plan)
{
    free(plan->first);
    free(plan);
}

int null_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                         eng_instance_state **result)
{
    const eng_services *s = plan->device->services;
    uint32_t n = plan->graph->n_bindings;
    eng_instance_state *instance = calloc(1, sizeof *instance);
    unsigned char **bound = calloc((size_t)n + 1, sizeof *bound);
    if (!instance || !bound) {
        free(instance);
        free(bound);
        return null_no_memory(s, "an instance");
    }
    for (uint32_t i = 0; i < n; i++)
        bound[i] = stores[i]->tensors[tensors[i]].data;
    *instance = (eng_instance_state){.plan = plan, .bound = bound};
    instance->scratch = null_alloc(plan->device, plan->graph->arena_bytes, 0);
    if (!instance->scratch) {
        free(bound);
        free(instance);
        return ENG_ERR_NOMEM;
    }
    *result = instance;
    return ENG_OK;
}

void null_instance_destroy(eng_instance_state *instance)
{
    null_free(instance->plan->device, instance->scratch, instance->plan->graph->arena_bytes, 0);
    free(instance->bound);
    free(instance);
}

unsigned char *null_address(const eng_instance_state *instance, const eng_tensor *tensor)
{
    const eng_tensor *owner = eng_subgraph_tensor(instance->plan->graph, tensor->root);
    unsigned char *memory = owner->binding >= 0 ? instance->bound[owner->binding]
                                                : instance->scratch + owner->arena_offset;
    return memory + (tensor == owner ? 0 : tensor->offset);
}

/* Rows are contiguous or not, whole blocks in any case: copied block by block. */
static void copy(const eng_type_info *type, unsigned char *to, const eng_tensor *t, const unsigned char *from,
                 const eng_tensor *f)
{
    int64_t blocks = t->ne[0] / type->block, i[ENG_MAX_RANK] = {0};
    for (int d = 1; d < ENG_MAX_RANK; d++)
        if (t->ne[d] == 0)
            return;
    for (int d = 0; d < ENG_MAX_RANK;) {
        int64_t at = 0, from_at = 0;
        for (d = 1; d < ENG_MAX_RANK; d++) {
            at += i[d] * t->nb[d];
            from_at += i[d] * f->nb[d];
        }
        for (int64_t b = 0; b < blocks; b++)
            memcpy(to + at + b * t->nb[0], from + from_at + b * f->nb[0], type->block_bytes);
        for (d = 1; d < ENG_MAX_RANK && ++i[d] == t->ne[d]; d++)
            i[d] = 0; /* the next row, dimension by dimension */
    }
}

/* For an op that was taken without being computed: its results are zeros, but for views. */
static void clear(eng_instance_state *instance, const eng_node *node)
{
    const eng_subgraph *graph = instance->plan->graph;
    for (int k = 0; k < ENG_MAX_OUTPUTS && node->op != ENG_OP_EXTERN; k++) {
        const eng_tensor *t = eng_subgraph_tensor(graph, node->out[k]);
        if (t && t->root == node->out[k])
            memset(null_address(instance, t), 0, t->bytes);
    }
}

int null_run(eng_instance_state *instance, const eng_node *node)
{
    const eng_subgraph *graph = instance->plan->graph;
    const eng_services *s = instance->plan->device->services;
    const eng_tensor *to, *from;
    if (instance->plan->device->measures)
        return ENG_OK;
    if (copied(graph, node, &to, &from) && to->type == from->type)
        copy(s->type_info(s->host, to->type), null_address(instance, to), to, null_address(instance, from), from);
    else
        clear(instance, node);
    return ENG_OK;
}
