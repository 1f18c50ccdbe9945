/*
 * Values that every thread computes for itself: each has memory for them and tasks whose operands lie there.  Those
 * of a thread lie to one another as in the arena, which says what is never needed at the same time; what lies between
 * them there is left out.
 */
#include "config.h"

#include <stdlib.h>

#include "order.h"

typedef struct cpu_place {
    uint64_t begin, end; /* in the arena                                     */
    uint64_t shift;      /* what is taken off for that in a thread's memory  */
} cpu_place;

static int by_begin(const void *a, const void *b)
{
    const cpu_place *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Makes one place of those that share memory; returns how many remain, and a thread's bytes. */
static size_t join(cpu_place *places, size_t n, size_t *bytes)
{
    size_t joined = 0;
    *bytes = 0;
    qsort(places, n, sizeof *places, by_begin);
    for (size_t i = 0; i < n; i++) {
        cpu_place *last = joined ? &places[joined - 1] : NULL;
        if (last && places[i].begin < last->end)
            last->end = places[i].end > last->end ? places[i].end : last->end;
        else
            places[joined++] = places[i];
    }
    for (size_t i = 0; i < joined; i++) {
        places[i].shift = places[i].begin - *bytes;
        *bytes += cpu_aligned(places[i].end - places[i].begin);
    }
    return joined;
}

static const cpu_place *place_of(const cpu_place *places, size_t n, uint64_t at)
{
    size_t first = 0, end = n;
    while (end - first > 1) {
        const size_t middle = first + (end - first) / 2;
        if (places[middle].begin <= at)
            first = middle;
        else
            end = middle;
    }
    return &places[first];
}

/* What there is to copy for each thread: tensors (number[t] of tensor t, or -1) and tasks. */
typedef struct cpu_own_counts {
    int32_t *number;
    int32_t tensors;
    size_t tasks;
} cpu_own_counts;

static bool meets_own(const cpu_own_counts *c, const eng_node *node)
{
    for (int k = 0; k < ENG_MAX_INPUTS; k++)
        if (node->in[k] >= 0 && c->number[node->in[k]] >= 0)
            return true;
    for (int k = 0; k < ENG_MAX_OUTPUTS; k++)
        if (node->out[k] >= 0 && c->number[node->out[k]] >= 0)
            return true;
    return false;
}

/* Numbers the tensors whose owner is each thread's own, and finds places for these owners. */
static size_t count(const eng_instance_state *inst, const bool *own, cpu_own_counts *c, cpu_place *places)
{
    const eng_subgraph *g = inst->plan->graph;
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        c->number[i] = own[t->root] ? c->tensors++ : -1;
        if (own[i])
            places[n++] = (cpu_place){t->arena_offset, t->arena_offset + cpu_aligned(t->bytes ? t->bytes : 1), 0};
    }
    for (uint32_t i = 0; i < inst->plan->n_nodes; i++)
        c->tasks += meets_own(c, inst->tasks[i].node);
    return n;
}

static void make_tensors(eng_instance_state *inst, const cpu_own_counts *c, const cpu_place *places, size_t n)
{
    const eng_subgraph *g = inst->plan->graph;
    for (int thread = 0; thread < inst->plan->device->threads; thread++)
        for (uint32_t i = 0; i < g->n_tensors; i++) {
            if (c->number[i] < 0)
                continue;
            const uint64_t root = eng_subgraph_tensor(g, eng_subgraph_tensor(g, (int32_t)i)->root)->arena_offset;
            cpu_tensor *t = &inst->own.tensors[thread * c->tensors + c->number[i]];
            *t = inst->tensors[i];
            t->data = inst->own.memory + (size_t)thread * inst->own.bytes + (t->data - inst->arena) -
                      place_of(places, n, root)->shift;
        }
}

static void make_tasks(eng_instance_state *inst, const cpu_own_counts *c)
{
    const int threads = inst->plan->device->threads;
    cpu_task *next = inst->own.tasks;
    for (uint32_t i = 0; i < inst->plan->n_nodes; i++) {
        cpu_task *task = &inst->tasks[i];
        if (!meets_own(c, task->node))
            continue;
        for (int thread = 0; thread < threads; thread++) {
            const cpu_tensor *tensors = inst->own.tensors + thread * c->tensors;
            next[thread] = *task;
            for (int k = 0; k < ENG_MAX_INPUTS; k++)
                if (task->in[k] && c->number[task->node->in[k]] >= 0)
                    next[thread].in[k] = &tensors[c->number[task->node->in[k]]];
            for (int k = 0; k < ENG_MAX_OUTPUTS; k++)
                if (task->out[k] && c->number[task->node->out[k]] >= 0)
                    next[thread].out[k] = &tensors[c->number[task->node->out[k]]];
        }
        task->own = next;
        next += threads;
    }
}

bool cpu_own_create(eng_instance_state *inst, const bool *own)
{
    const size_t n = inst->plan->graph->n_tensors, threads = (size_t)inst->plan->device->threads;
    cpu_own_counts c = {.number = eu_zeroed(n, sizeof *c.number)};
    cpu_place *places = eu_zeroed(n, sizeof *places);
    bool made = c.number && places;
    size_t n_places = made ? count(inst, own, &c, places) : 0;
    if (n_places > 0) {
        n_places = join(places, n_places, &inst->own.bytes);
        inst->own.memory = cpu_memory_get(threads * inst->own.bytes);
        inst->own.tensors = eu_zeroed(threads * (size_t)c.tensors, sizeof *inst->own.tensors);
        inst->own.tasks = eu_zeroed(threads * c.tasks, sizeof *inst->own.tasks);
        made = inst->own.memory && inst->own.tensors && inst->own.tasks;
        if (made) {
            make_tensors(inst, &c, places, n_places);
            make_tasks(inst, &c);
        }
    }
    free(c.number);
    free(places);
    return made;
}

void cpu_own_destroy(eng_instance_state *inst)
{
    cpu_memory_free(inst->own.memory, inst->own.bytes * (size_t)inst->plan->device->threads);
    free(inst->own.tensors);
    free(inst->own.tasks);
}
