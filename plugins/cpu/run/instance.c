/*
 * Instances: a plan with its memory.  Addresses are known now, so each node
 * becomes a task with resolved operands.  Who does it and who waits for whom is
 * said in order.c.
 */
#include "config.h"

#include <stdlib.h>

#include "../cpu.h"
#include "libengine/util/util.h"
#include "order.h"

static const cpu_op *task_op(const cpu_task *task)
{
    return task->variant->ops[task->node->op];
}

/* -- addresses --------------------------------------------------------------- */

static void resolve(cpu_tensor *out, const eng_tensor *t, uint8_t *owner)
{
    const eng_type_info *type = cpu_type(t->type);
    out->data = owner + t->offset;
    out->type = t->type;
    out->block = type->block;
    out->block_bytes = type->block_bytes;
    out->rank = t->rank;
    out->group = t->layout ? t->layout : 1;
    out->rows = 1;
    out->contiguous = true;
    int64_t expected = type->block_bytes;
    for (int d = 0; d < ENG_MAX_RANK; d++) {
        bool real = d < (int)t->rank;
        out->ne[d] = real ? t->ne[d] : 1;
        out->nb[d] = real ? t->nb[d] : expected;
        if (out->ne[d] <= 1)
            out->nb[d] = expected; /* never used: any value will do */
        else if (out->nb[d] != expected)
            out->contiguous = false;
        expected *= d == 0 ? out->ne[0] / type->block : out->ne[d];
        if (d > 0)
            out->rows *= out->ne[d];
    }
}

/* Memory of an owner: of a bound store tensor or in the arena. */
static uint8_t *owner_data(const eng_instance_state *inst, const eng_tensor *owner, eng_store_state *const *stores,
                           const uint32_t *tensors)
{
    if (owner->binding >= 0)
        return stores[owner->binding]->tensors[tensors[owner->binding]].data;
    return inst->arena + owner->arena_offset;
}

static int resolve_all(eng_instance_state *inst, eng_store_state *const *stores, const uint32_t *tensors)
{
    const eng_subgraph *g = inst->plan->graph;
    const eng_device_state *device = inst->plan->device;
    for (uint32_t b = 0; b < g->n_bindings; b++) {
        const eng_tensor *t = eng_subgraph_tensor(g, g->binding_tensor[b]);
        if (!stores[b] || tensors[b] >= stores[b]->n || stores[b]->tensors[tensors[b]].bytes < t->bytes)
            return device->services->fail(device->host, ENG_ERR_INVALID,
                                          "cpu" ENG_CAUSE
                                          "what %s is bound to does not exist or is smaller than its %llu bytes",
                                          t->name, (unsigned long long)t->bytes);
        inst->bound[b] = (cpu_bound){stores[b], tensors[b]};
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        resolve(&inst->tensors[i], t, owner_data(inst, eng_subgraph_tensor(g, t->root), stores, tensors));
    }
    return ENG_OK;
}

/* -- creation -------------------------------------------------------------------- */

static double cost(const eng_subgraph *graph, const cpu_task *task)
{
    eu_work work = eu_row_work(task->info, graph, task->node);
    return 0.0125 * work.bytes + 0.015 * work.operations;
}

static void make_tasks(eng_instance_state *inst)
{
    const eng_plan_state *plan = inst->plan;
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        const eng_node *node = eng_subgraph_node(plan->graph, plan->nodes[i]);
        cpu_task *task = &inst->tasks[i];
        task->node = node;
        task->info = plan->device->services->op_info(plan->device->host, node->op);
        task->variant = plan->device->variant;
        task->run = task->variant->ops[node->op]->run;
        for (int j = 0; j < ENG_MAX_INPUTS; j++)
            task->in[j] = node->in[j] >= 0 ? &inst->tensors[node->in[j]] : NULL;
        for (int j = 0; j < ENG_MAX_OUTPUTS; j++)
            task->out[j] = node->out[j] >= 0 ? &inst->tensors[node->out[j]] : NULL;
        const eng_tensor *result = eng_subgraph_tensor(plan->graph, node->out[0]);
        task->nanoseconds = cost(plan->graph, task);
        inst->pace.guess += task->nanoseconds;
        task->past = result && result->bytes >= plan->device->past_from;
    }
    cpu_order_share(inst);
}

/* Work of fewer nanoseconds for a thread is shared out once and for all. */
#define PORTIONS_FROM 50000.0

static bool in_portions(const eng_plan_state *plan, const cpu_task *task)
{
    int threads = plan->device->threads;
    return threads > 1 && task_op(task)->takes && task->nanoseconds >= PORTIONS_FROM * threads;
}

static int make_portions(eng_instance_state *inst)
{
    const eng_plan_state *plan = inst->plan;
    const size_t threads = (size_t)plan->device->threads;
    for (uint32_t i = 0; i < plan->n_nodes; i++)
        inst->n_taken += in_portions(plan, &inst->tasks[i]) ? threads : 0;
    if (inst->n_taken == 0)
        return ENG_OK;
    inst->taken = cpu_memory_get(inst->n_taken * sizeof *inst->taken);
    if (!inst->taken)
        return ENG_ERR_NOMEM;
    cpu_taken *next = inst->taken;
    for (uint32_t i = 0; i < plan->n_nodes; i++)
        if (in_portions(plan, &inst->tasks[i])) {
            inst->tasks[i].taken = next;
            next += threads;
        }
    return ENG_OK;
}

/* Does the task begin as the one before it did?  Both are shared out then, or neither: what one thread does has its memory. */
static bool is_again(const cpu_task *before, const cpu_task *task, int threads)
{
    const cpu_op *op = task_op(task);
    bool alike = op->again && before->run == task->run && before->node->section == task->node->section;
    for (int way = 0; way < CPU_WAYS; way++)
        alike = alike && before->by[way] == task->by[way];
    return alike && op->again(before, task, threads);
}

/* Scratch memory of the ops themselves, and the order of the threads. */
static int prepare(eng_instance_state *inst, bool *own)
{
    const eng_plan_state *plan = inst->plan;
    eng_device_state *device = plan->device;
    size_t per_thread = CPU_ALIGN;
    size_t *shared = calloc(plan->n_nodes ? plan->n_nodes : 1, sizeof *shared);
    if (!shared)
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        cpu_task *task = &inst->tasks[i];
        const cpu_op *op = task_op(task);
        task->again = i > 0 && is_again(task - 1, task, device->threads);
        int threads = task->by[CPU_EAGER] && task->by[CPU_SPARING] ? 1 : device->threads;
        if (op->thread_bytes) {
            size_t bytes = op->thread_bytes(task, threads);
            per_thread = bytes > per_thread ? bytes : per_thread;
        }
        if (op->shared_bytes)
            shared[i] = op->shared_bytes(task, threads);
        inst->shared_bytes = shared[i] > inst->shared_bytes ? shared[i] : inst->shared_bytes;
    }
    int status = cpu_scratch_grow(device, (per_thread + 4095) / 4096 * 4096);
    if (status == ENG_OK && inst->shared_bytes) {
        inst->shared = cpu_memory_get(inst->shared_bytes);
        if (!inst->shared)
            status = ENG_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < plan->n_nodes; i++)
        inst->tasks[i].shared = shared[i] ? inst->shared : NULL;
    if (status == ENG_OK && !cpu_order(inst, shared, own))
        status = ENG_ERR_NOMEM;
    free(shared);
    return status;
}

static int make_ready(eng_instance_state *inst)
{
    bool *own = eu_zeroed(inst->plan->graph->n_tensors, sizeof *own);
    make_tasks(inst);
    int status = own ? prepare(inst, own) : ENG_ERR_NOMEM;
    if (status == ENG_OK)
        status = make_portions(inst);
    if (status == ENG_OK && !cpu_own_create(inst, own))
        status = ENG_ERR_NOMEM;
    free(own);
    return status;
}

int cpu_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                        eng_instance_state **instance)
{
    eng_device_state *device = plan->device;
    const eng_services *s = device->services;
    eng_instance_state *inst = calloc(1, sizeof *inst);
    if (!inst)
        return cpu_no_memory(s, "an instance");
    inst->plan = plan;
    inst->arena_bytes = (size_t)plan->graph->arena_bytes + CPU_ALIGN;
    inst->arena = cpu_memory_get(inst->arena_bytes);
    inst->tensors = calloc(plan->graph->n_tensors + 1, sizeof *inst->tensors);
    inst->tasks = calloc((size_t)plan->n_nodes + 1, sizeof *inst->tasks);
    inst->bound = calloc((size_t)plan->graph->n_bindings + 1, sizeof *inst->bound);
    if (!inst->arena || !inst->tensors || !inst->tasks || !inst->bound) {
        cpu_instance_destroy(inst);
        return cpu_memory_refused(device, plan->graph->arena_bytes, "scratch tensors");
    }
    pthread_mutex_lock(&device->lock);
    device->stats.bytes_compute += inst->arena_bytes;
    pthread_mutex_unlock(&device->lock);
    int status = resolve_all(inst, stores, tensors);
    if (status == ENG_OK) {
        status = make_ready(inst);
        if (status != ENG_OK)
            cpu_no_memory(s, "the working memory of an instance");
    }
    if (status != ENG_OK) {
        cpu_instance_destroy(inst);
        return status;
    }
    *instance = inst;
    return ENG_OK;
}

void cpu_instance_destroy(eng_instance_state *instance)
{
    if (!instance)
        return;
    if (instance->arena && instance->tensors && instance->tasks && instance->bound) {
        eng_device_state *device = instance->plan->device;
        pthread_mutex_lock(&device->lock);
        device->stats.bytes_compute -= instance->arena_bytes;
        pthread_mutex_unlock(&device->lock);
    }
    cpu_memory_free(instance->arena, instance->arena_bytes);
    cpu_memory_free(instance->shared, instance->shared_bytes);
    if (instance->taken)
        cpu_memory_free(instance->taken, instance->n_taken * sizeof *instance->taken);
    cpu_own_destroy(instance);
    free(instance->tensors);
    free(instance->tasks);
    free(instance->bound);
    free(instance);
}
