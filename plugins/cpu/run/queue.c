/*
 * Queues.  All work is done before the call returns: submit runs in the
 * calling thread and the device's workers, which walk the list of tasks
 * together and wait for one another only where a task needs what others have
 * not finished.
 */
#include "config.h"

#include <stdlib.h>

#include "../cpu.h"

int cpu_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    eng_queue_state *q = calloc(1, sizeof *q);
    if (!q)
        return device->services->fail(device->host, ENG_ERR_NOMEM, "cpu" ENG_CAUSE "out of memory");
    q->device = device;
    *queue = q;
    return ENG_OK;
}

void cpu_queue_destroy(eng_queue_state *queue)
{
    free(queue);
}

typedef struct cpu_submission {
    const cpu_task *tasks;
    uint32_t n;
    const int64_t *params;
    uint32_t n_params;
    eng_device_state *device;
    int threads;
    int way;
} cpu_submission;

static void walk(void *ctx, int thread)
{
    const cpu_submission *sub = ctx;
    cpu_run run = {.thread = thread, .threads = sub->threads, .params = sub->params, .n_params = sub->n_params,
                   .team = sub->device->team, .scratch = sub->device->scratch[thread]};
    cpu_run alone = run;
    alone.threads = 1;
    for (uint32_t i = 0; i < sub->n; i++) {
        const cpu_task *task = &sub->tasks[i];
        if (task->barrier[sub->way] && i > 0)
            cpu_barrier(&run);
        if (!task->serial[sub->way])
            task->run(task, &run);
        else if (thread == 0)
            task->run(task, &alone);
    }
}

/* Is there anything that more than one thread would do? */
static bool all_serial(const cpu_submission *sub)
{
    for (uint32_t i = 0; i < sub->n; i++)
        if (!sub->tasks[i].serial[sub->way])
            return false;
    return true;
}

int cpu_queue_submit(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                     const int64_t *params, uint32_t n_params, uint64_t *ticket)
{
    eng_device_state *device = queue->device;
    const eng_plan_state *plan = instance->plan;
    uint32_t sections = plan->graph->n_sections;
    if (first > sections || count > sections - first)
        return device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE "the plan has %u sections, not %u",
                                      (unsigned)sections, (unsigned)(first + count));
    if (n_params < plan->graph->n_params)
        return device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE
                                      "the plan takes %u parameters, %u were given",
                                      (unsigned)plan->graph->n_params, (unsigned)n_params);
    uint32_t begin = plan->section_first[first], end = plan->section_first[first + count];
    cpu_submission sub = {instance->tasks + begin, end - begin, params, n_params, device, device->threads,
                          cpu_team_calm(device->team) ? CPU_EAGER : CPU_SPARING};
    pthread_mutex_lock(&device->lock);
    if (all_serial(&sub)) {
        sub.threads = 1;
        walk(&sub, 0);
    } else {
        cpu_team_run(device->team, walk, &sub);
    }
    device->stats.submits++;
    pthread_mutex_unlock(&device->lock);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

static int outside(const eng_device_state *device, uint64_t offset, uint64_t bytes, uint64_t size)
{
    return device->services->fail(device->host, ENG_ERR_INVALID,
                                  "cpu" ENG_CAUSE "bytes %llu .. + %llu are outside a tensor of %llu bytes",
                                  (unsigned long long)offset, (unsigned long long)bytes, (unsigned long long)size);
}

/* The bytes of a stored tensor; NULL after a failure. */
static uint8_t *stored(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes)
{
    uint64_t size = tensor < store->n ? store->tensors[tensor].bytes : 0;
    if (tensor >= store->n || offset > size || bytes > size - offset) {
        outside(queue->device, offset, bytes, size);
        return NULL;
    }
    return store->tensors[tensor].data + offset;
}

int cpu_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                    const void *data, uint64_t *ticket)
{
    uint8_t *p = stored(queue, store, tensor, offset, bytes);
    if (!p)
        return ENG_ERR_INVALID;
    if (bytes)
        memcpy(p, data, (size_t)bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int cpu_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                   void *data, uint64_t *ticket)
{
    const uint8_t *p = stored(queue, store, tensor, offset, bytes);
    if (!p)
        return ENG_ERR_INVALID;
    if (bytes)
        memcpy(data, p, (size_t)bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int cpu_queue_wait(eng_queue_state *queue, uint64_t ticket, uint64_t timeout)
{
    (void)timeout; /* nothing is ever left to be done */
    if (ticket > queue->ticket)
        return queue->device->services->fail(queue->device->host, ENG_ERR_INVALID,
                                             "cpu" ENG_CAUSE
                                             "ticket %llu has not been given out yet", (unsigned long long)ticket);
    return ENG_OK;
}

/* The owner's memory behind a tensor of an instance; NULL after a failure. */
static uint8_t *value_data(const eng_instance_state *instance, int32_t tensor, uint64_t offset, uint64_t bytes)
{
    const eng_subgraph *g = instance->plan->graph;
    const eng_device_state *device = instance->plan->device;
    if (tensor < 0 || (uint32_t)tensor >= g->n_tensors) {
        device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE "the plan has %u tensors, not number %d",
                               (unsigned)g->n_tensors, (int)tensor);
        return NULL;
    }
    const eng_tensor *t = eng_subgraph_tensor(g, tensor);
    const cpu_tensor *here = &instance->tensors[tensor];
    if (t->root != tensor && !here->contiguous) {
        device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE
                               "%s is a view with gaps: name its owner", t->name);
        return NULL;
    }
    uint64_t size = t->root == tensor ? t->bytes : (uint64_t)here->rows * (uint64_t)(here->ne[0] / here->block) *
                                                       here->block_bytes;
    if (offset > size || bytes > size - offset) {
        outside(device, offset, bytes, size);
        return NULL;
    }
    return here->data + offset;
}

int cpu_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, uint64_t offset,
                   uint64_t bytes, void *data, uint64_t *ticket)
{
    const uint8_t *p = value_data(instance, tensor, offset, bytes);
    if (!p)
        return ENG_ERR_INVALID;
    if (bytes)
        memcpy(data, p, (size_t)bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int cpu_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, uint64_t offset,
                    uint64_t bytes, const void *data, uint64_t *ticket)
{
    uint8_t *p = value_data(instance, tensor, offset, bytes);
    if (!p)
        return ENG_ERR_INVALID;
    if (bytes)
        memcpy(p, data, (size_t)bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int cpu_value_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    uint8_t *p = value_data(instance, tensor, 0, 0);
    if (!p)
        return ENG_ERR_INVALID;
    *data = p;
    return ENG_OK;
}
