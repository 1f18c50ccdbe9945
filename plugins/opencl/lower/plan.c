/* Plans: which nodes can run, and a sub-graph compiled to a list of launches. */
#include "../host.h"

#include "libengine/util/util.h"

static const cl_op *const ops[ENG_OP_LIMIT] = {
#define ENG_OP(id, number, name, ...) [number] = &cl_op_##name,
#define ENG_OP_STRUCTURE(...)
#include <engine/ops.def>
};

static bool is_barrier(const cl_device *device, uint32_t op)
{
    const eng_op_info *info = device->sv->op_info(device->sv->host, op);
    return info && (info->flags & ENG_OPF_BARRIER);
}

/* Has the node results, and are all of them without elements? */
static bool empty(const eng_subgraph *g, const eng_node *node)
{
    bool any = false;
    for (unsigned i = 0; i < ENG_MAX_OUTPUTS; i++) {
        const eng_tensor *t = cl_out(g, node, i);
        if (!t)
            continue;
        any = true;
        if (cl_elements(t) != 0)
            return false;
    }
    return any;
}

static eng_support operand_fits(cl_device *device, const eng_subgraph *g, int32_t index, char *reason, size_t bytes)
{
    const eng_tensor *t = eng_subgraph_tensor(g, index);
    if (!t)
        return ENG_SUPPORT_YES;
    const eng_tensor *root = eng_subgraph_tensor(g, t->root);
    cl_split split;
    if (cl_type_block(t->type) == 0)
        return cl_no(reason, bytes, "tensor '%s' has a type (%u) that the opencl plugin does not know", t->name,
                     t->type);
    if (root->binding < 0 && root->bytes > device->hard_limit)
        return cl_no(reason, bytes, "tensor '%s' takes %llu bytes, the largest allocation is %llu", t->name,
                     (unsigned long long)root->bytes, (unsigned long long)device->hard_limit);
    if (cl_split_of(device, g, t, &split) != ENG_OK)
        return cl_no(reason, bytes, "a row of tensor '%s' is larger than the largest allocation, %llu bytes", t->name,
                     (unsigned long long)device->hard_limit);
    return ENG_SUPPORT_YES;
}

static eng_support judge(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    eng_support answer = ENG_SUPPORT_YES;
    if (cl_is_view(device, node) || is_barrier(device, node->op) || empty(g, node))
        return answer;
    if (node->op >= ENG_OP_LIMIT || !ops[node->op])
        return cl_no(reason, bytes, "the opencl plugin has no op number %u", node->op);
    for (unsigned i = 0; i < ENG_MAX_INPUTS && answer != ENG_SUPPORT_NO; i++)
        answer = operand_fits(device, g, node->in[i], reason, bytes);
    for (unsigned i = 0; i < ENG_MAX_OUTPUTS && answer != ENG_SUPPORT_NO; i++)
        answer = operand_fits(device, g, node->out[i], reason, bytes);
    const eng_op_info *info = device->sv->op_info(device->sv->host, node->op);
    if (answer != ENG_SUPPORT_NO && !eu_row_accepts(info, g, node, reason, bytes))
        answer = ENG_SUPPORT_NO;
    if (answer != ENG_SUPPORT_NO && ops[node->op]->supports)
        answer = ops[node->op]->supports(device, g, node, reason, bytes);
    if (answer == ENG_SUPPORT_NO)
        return answer;
    cl_recorder trial = {.device = device, .graph = g, .node = node};
    if (ops[node->op]->record(&trial, node) != ENG_OK)
        return cl_no(reason, bytes, "%s", device->sv->last_error(device->sv->host));
    return answer;
}

int cl_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer, char *reason,
                size_t reason_bytes)
{
    char text[512] = "";
    if (node >= graph->n_nodes)
        return cl_fail(device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                       "node %u of %u", device->info.name, node, graph->n_nodes);
    *answer = judge(device, graph, eng_subgraph_node(graph, node), text, sizeof text);
    if (reason && reason_bytes)
        snprintf(reason, reason_bytes, "%s", text);
    return ENG_OK;
}

/* Records node `index`; *more: how many nodes after it went into the same launch. */
static int record_node(eng_plan_state *plan, uint32_t index, uint32_t *more)
{
    const eng_node *node = eng_subgraph_node(plan->graph, index);
    cl_device *device = plan->device;
    char reason[512] = "";
    *more = 0;
    if (cl_is_view(device, node) || is_barrier(device, node->op) || empty(plan->graph, node))
        return ENG_OK;
    if (judge(device, plan->graph, node, reason, sizeof reason) == ENG_SUPPORT_NO)
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE
                       "node '%s' cannot run: %s", device->info.name, node->name,
                       reason);
    cl_recorder r = {.device = device, .graph = plan->graph, .node = node, .plan = plan};
    plan->node_temporary = 0;
    const bool fuse = device->fuse && !plan->alone;
    uint32_t fused = fuse ? cl_fuse_heads(&r, index) : 0;
    if (!fused && fuse)
        fused = cl_fuse(&r, index);
    if (!fused && fuse)
        fused = cl_fuse_products(&r, index);
    if (fused)
        *more = fused - 1;
    else if (fuse && ops[node->op]->epilogue)
        r.epilogue = cl_epilogue(&r, index, more);
    int status = fused || r.status != ENG_OK ? r.status : ops[node->op]->record(&r, node);
    if (status != ENG_OK)
        return status;
    if (plan->temporary < plan->node_temporary)
        plan->temporary = plan->node_temporary;
    return ENG_OK;
}

static int record_all(eng_plan_state *plan)
{
    const eng_subgraph *g = plan->graph;
    uint32_t sections = g->n_sections ? g->n_sections : 1, section = 0;
    plan->section_first = calloc(sections + 1, sizeof *plan->section_first);
    if (!plan->section_first)
        return cl_no_memory(plan->device, "a plan");
    int counted = cl_readers_count(plan);
    if (counted != ENG_OK)
        return counted;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        int32_t s = eng_subgraph_node(g, i)->section;
        while (section < (uint32_t)s && section + 1 < sections)
            plan->section_first[++section] = plan->n_launches;
        uint32_t more;
        int status = record_node(plan, i, &more);
        if (status != ENG_OK)
            return status;
        i += more;
    }
    while (section < sections)
        plan->section_first[++section] = plan->n_launches;
    return ENG_OK;
}

/* Constants become a buffer that all instances use.  A blocking write only says that its
 * source may be used again (OpenCL 1.2, 5.2.2), not that a command of another queue sees it. */
static int keep_constants(eng_plan_state *p)
{
    cl_device *device = p->device;
    if (p->n_constants == 0)
        return ENG_OK;
    int status = cl_block_create(device, p->n_constants, false, "a plan's constants", &p->constant_block);
    if (status != ENG_OK)
        return status;
    cl_event done = NULL;
    cl_int error = clEnqueueWriteBuffer(device->transfer, p->constant_block.mem, CL_FALSE, 0, (size_t)p->n_constants,
                                        p->constants, 0, NULL, &done);
    error = cl_event_settle(&done, error);
    free(p->constants);
    p->constants = NULL;
    return error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, "writing a plan's constants");
}

static int create(cl_device *device, const eng_subgraph *graph, bool alone, eng_plan_state **plan)
{
    eng_plan_state *p = calloc(1, sizeof *p);
    if (!p)
        return cl_no_memory(device, "a plan");
    p->device = device;
    p->graph = graph;
    p->alone = alone;
    pthread_mutex_init(&p->series_lock, NULL);
    pthread_mutex_init(&p->alone_lock, NULL);
    int status = cl_arena_place(p);
    if (status == ENG_OK)
        status = record_all(p);
    if (status == ENG_OK)
        status = cl_programs_build(p);
    if (status == ENG_OK)
        status = keep_constants(p);
    if (status == ENG_OK)
        status = cl_series_find(p);
    if (status == ENG_OK && device->profile && !(p->spent = calloc(p->n_launches + 1, sizeof *p->spent)))
        status = cl_no_memory(device, "a plan");
    if (status != ENG_OK) {
        cl_plan_destroy(p);
        return status;
    }
    atomic_fetch_add_explicit(&device->figures.plans_built, 1, memory_order_relaxed);
    *plan = p;
    return ENG_OK;
}

int cl_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan)
{
    return create(device, graph, false, plan);
}

int cl_plan_ops_alone(eng_plan_state *plan, eng_plan_state **alone)
{
    pthread_mutex_lock(&plan->alone_lock);
    int status = plan->ops_alone ? ENG_OK : create(plan->device, plan->graph, true, &plan->ops_alone);
    *alone = plan->ops_alone;
    pthread_mutex_unlock(&plan->alone_lock);
    return status;
}

void cl_plan_destroy(eng_plan_state *plan)
{
    if (!plan)
        return;
    cl_plan_destroy(plan->ops_alone);
    pthread_mutex_destroy(&plan->alone_lock);
    cl_series_end(plan);
    cl_block_destroy(&plan->constant_block);
    free(plan->constants);
    cl_programs_forget(plan);
    free(plan->readers);
    free(plan->chains);
    free(plan->launches);
    free(plan->spent);
    free(plan->args);
    free(plan->section_first);
    free(plan->slots);
    free(plan->arena);
    free(plan);
}

/* How many launches a series is that is ready: where it cannot call the host, one a section. */
static uint32_t pieces_of(const eng_plan_state *plan, const cl_series *s)
{
    uint32_t pieces = 0, from = s->first;
    for (uint32_t k = s->section; k < s->section + s->n_calls && !s->calls; k++) {
        pieces += plan->section_first[k + 1] > from;
        from = plan->section_first[k + 1];
    }
    return pieces + (from < s->first + s->n);
}

int cl_plan_launches(eng_plan_state *plan, uint64_t *launches)
{
    *launches = plan->n_launches;
    for (uint32_t i = 0; i < plan->n_series; i++)
        if (atomic_load(&plan->series[i].ready))
            *launches -= plan->series[i].n - pieces_of(plan, &plan->series[i]);
    return ENG_OK;
}
