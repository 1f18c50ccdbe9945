/*
 * Queues.  All work is done before the call returns: run works in the calling
 * thread and the device's workers, which walk the list of tasks together and wait
 * for one another only where a task needs what others have not finished.
 *
 * Where they all wait for one another the run can be left, to be gone on with
 * later: if the caller's time is up, or another queue's run has waited long enough.
 */
#include "config.h"

#include <stdlib.h>

#include "../cpu.h"

#define SLICE 2000000 /* ns that a run has for itself where others wait */

int cpu_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    eng_queue_state *q = calloc(1, sizeof *q);
    if (!q)
        return cpu_no_memory(device->services, "a queue");
    q->device = device;
    *queue = q;
    return ENG_OK;
}

void cpu_queue_destroy(eng_queue_state *queue)
{
    free(queue);
}

/* -- runs -------------------------------------------------------------------------- */

typedef struct cpu_submission {
    eng_instance_state *instance;
    const cpu_task *tasks;
    uint32_t n;
    const int64_t *params;
    uint32_t n_params;
    eng_device_state *device;
    bool whole;         /* all sections: the instance's pace counts          */
    int threads;
    int way;
    bool shared;        /* any of the tasks is                               */
    eng_run *control;   /* may be NULL                                       */
    uint32_t from;      /* the task to begin with                            */
    atomic_uint stop;   /* the task before which all leave; n: none          */
    uint32_t answer;    /* why: ENG_RUN_*; GO_ON: others wait                */
    uint64_t slice_end; /* 0: nobody has been seen waiting                   */
} cpu_submission;

/* Asked by thread 0, at the end of a task. */
static bool must_leave(cpu_submission *sub)
{
    if (sub->control && (sub->answer = sub->control->poll(sub->control)) != ENG_RUN_GO_ON)
        return true;
    if (atomic_load_explicit(&sub->device->turns.waiting, memory_order_relaxed) == 0)
        return false;
    uint64_t now = eu_now();
    if (sub->slice_end == 0)
        sub->slice_end = now + SLICE;
    return now >= sub->slice_end;
}

/* Do all threads leave before task i?  Thread 0 has said so before it came to the barrier. */
static bool leaves(cpu_submission *sub, const cpu_run *run, uint32_t i)
{
    if (run->thread == 0 && must_leave(sub))
        atomic_store_explicit(&sub->stop, i, memory_order_relaxed);
    cpu_barrier(run);
    return atomic_load_explicit(&sub->stop, memory_order_relaxed) <= i;
}

static void walk(void *ctx, uint32_t thread)
{
    cpu_submission *sub = ctx;
    cpu_run run = {.thread = (int)thread, .threads = sub->threads, .params = sub->params, .n_params = sub->n_params,
                   .team = sub->device->team, .scratch = sub->device->scratch[thread]};
    cpu_run alone = run;
    alone.thread = 0;
    alone.threads = 1;
    const bool together = run.threads > 1, has_own = together && sub->way == CPU_EAGER;
    for (uint32_t i = sub->from; i < sub->n; i++) {
        const cpu_task *task = &sub->tasks[i];
        if ((task->barrier[sub->way] || !together) && i > sub->from && leaves(sub, &run, i))
            return;
        const cpu_by by = task->by[sub->way];
        if (has_own && task->own)
            task = &task->own[thread];
        if (by == CPU_BY_ALL)
            task->run(task, &run);
        else if (thread == 0 || by == CPU_BY_EACH)
            task->run(task, &alone);
        else
            alone.packed = false; /* not by this thread */
    }
}

/* Is there anything that more than one thread would do? */
static bool any_shared(const cpu_submission *sub)
{
    for (uint32_t i = 0; i < sub->n; i++)
        if (sub->tasks[i].by[sub->way] == CPU_BY_ALL)
            return true;
    return false;
}

/* No portion of any task from `from` on is taken. */
static void put_back(const cpu_submission *sub)
{
    for (uint32_t i = sub->from; i < sub->n; i++)
        for (int t = 0; sub->tasks[i].taken && t < sub->device->threads; t++)
            atomic_store_explicit(&sub->tasks[i].taken[t].portions, 0, memory_order_relaxed);
}

/* By all threads, or as many as are worth it. */
static void run_together(cpu_submission *sub)
{
    put_back(sub);
    const bool from_begin = sub->from == 0;
    const uint64_t begin = eu_now();
    eu_team_run(sub->device->team, (uint32_t)sub->threads, walk, sub);
    if (sub->whole && from_begin && atomic_load_explicit(&sub->stop, memory_order_relaxed) >= sub->n)
        cpu_pace_took(&sub->instance->pace, sub->threads, (double)(eu_now() - begin));
}

/* How, and by how many threads.  A run that has been left goes on as it began: where its values are depends on that. */
static void choose_way(cpu_submission *sub)
{
    eng_instance_state *inst = sub->instance;
    if (sub->from == 0) {
        inst->way = eu_team_calm(sub->device->team) ? CPU_EAGER : CPU_SPARING;
        inst->threads = sub->whole ? cpu_pace_threads(&inst->pace, sub->device->threads) : sub->device->threads;
    }
    sub->way = inst->way;
    sub->shared = any_shared(sub);
    sub->threads = sub->shared ? inst->threads : 1;
}

/* From one end of its turn to the next; what the caller has answered, if it did not come to the end. */
static uint32_t run_tasks(cpu_submission *sub)
{
    eng_device_state *device = sub->device;
    cpu_turn turn;
    for (;;) {
        uint32_t answer = cpu_turns_take(&device->turns, &turn, sub->control);
        if (answer != ENG_RUN_GO_ON)
            return answer;
        atomic_store_explicit(&sub->stop, sub->n, memory_order_relaxed);
        sub->slice_end = 0;
        choose_way(sub);
        if (sub->shared)
            run_together(sub);
        else
            walk(sub, 0);
        cpu_turns_give(&device->turns, &turn);
        sub->from = atomic_load_explicit(&sub->stop, memory_order_relaxed);
        if (sub->from >= sub->n || sub->answer != ENG_RUN_GO_ON)
            return sub->answer;
    }
}

int cpu_queue_run(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                  const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket)
{
    eng_device_state *device = queue->device;
    const eng_plan_state *plan = instance->plan;
    uint32_t sections = plan->graph->n_sections;
    (void)ticket; /* it is done when this returns */
    if (first > sections || count > sections - first)
        return device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE "the plan has %u sections, not %u",
                                      (unsigned)sections, (unsigned)(first + count));
    if (n_params < plan->graph->n_params)
        return device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE
                                      "the plan takes %u parameters, %u were given",
                                      (unsigned)plan->graph->n_params, (unsigned)n_params);
    uint32_t begin = plan->section_first[first], end = plan->section_first[first + count];
    cpu_submission sub = {.instance = instance, .tasks = instance->tasks + begin, .n = end - begin, .params = params,
                          .n_params = n_params, .device = device, .whole = count == sections, .control = control,
                          .from = control ? (uint32_t)control->position : 0};
    if (sub.from < sub.n && run_tasks(&sub) == ENG_RUN_CANCEL)
        return ENG_ERR_CANCELLED;
    if (sub.from < sub.n) {
        control->position = sub.from;
        return ENG_YIELDED;
    }
    pthread_mutex_lock(&device->lock);
    device->stats.submits++;
    pthread_mutex_unlock(&device->lock);
    return ENG_OK;
}

/* -- moving data --------------------------------------------------------------------- */

int cpu_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket)
{
    (void)queue, (void)ticket;
    return cpu_store_upload(store, tensor, regions, n);
}

int cpu_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket)
{
    (void)queue, (void)ticket;
    return cpu_store_download(store, tensor, regions, n);
}

/* The owner's memory behind a tensor of an instance, and its size; NULL after a failure. */
static uint8_t *value_data(const eng_instance_state *instance, int32_t tensor, uint64_t *bytes)
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
    if (t->layout) {
        device->services->fail(device->host, ENG_ERR_UNSUPPORTED, "cpu" ENG_CAUSE
                               "%s is packed: it has no place where its rows lie as in a file", t->name);
        return NULL;
    }
    if (t->root != tensor && !here->contiguous) {
        device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE
                               "%s is a view with gaps: name its owner", t->name);
        return NULL;
    }
    *bytes = t->root == tensor ? t->bytes : (uint64_t)here->rows * (uint64_t)(here->ne[0] / here->block) *
                                                here->block_bytes;
    return here->data;
}

/* Of a packed tensor, which is only ever read whole rows at a time: as the store gives it. */
static const cpu_bound *packed_value(const eng_instance_state *instance, int32_t tensor)
{
    const eng_subgraph *g = instance->plan->graph;
    const eng_tensor *t = tensor >= 0 && (uint32_t)tensor < g->n_tensors ? eng_subgraph_tensor(g, tensor) : NULL;
    return t && t->layout && t->binding >= 0 && t->root == tensor ? &instance->bound[t->binding] : NULL;
}

int cpu_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket)
{
    uint64_t bytes;
    const cpu_bound *packed = packed_value(instance, tensor);
    (void)ticket;
    if (packed)
        return cpu_store_download(packed->store, packed->tensor, regions, n);
    uint8_t *data = value_data(instance, tensor, &bytes);
    return data ? cpu_move(queue->device, data, bytes, regions, n, false) : ENG_ERR_INVALID;
}

int cpu_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket)
{
    uint64_t bytes;
    uint8_t *data = value_data(instance, tensor, &bytes);
    (void)ticket;
    return data ? cpu_move(queue->device, data, bytes, regions, n, true) : ENG_ERR_INVALID;
}

int cpu_value_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    uint64_t bytes;
    uint8_t *p = value_data(instance, tensor, &bytes);
    if (!p)
        return ENG_ERR_INVALID;
    *data = p;
    return ENG_OK;
}
