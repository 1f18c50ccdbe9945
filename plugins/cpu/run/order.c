/*
 * Who does which task, and where threads wait for one another.
 *
 * What is worth it is shared out; the rest thread 0 does alone while the others wait for it.  A small task whose
 * result others need next (a norm before a product) would cost them a wait: such a value every thread computes for
 * itself, into memory of its own (own.c), if it can do so without waiting for more than it waits for anyhow.
 */
#include "config.h"

#include <stdlib.h>

#include "order.h"

/* Work of fewer nanoseconds than this is done by one thread: joining the others costs
 * more.  Those that spin are joined in some tenths of a microsecond, the longer the
 * more they are; those that sleep must be woken. */
static double alone_below(int way, int threads)
{
    return way == CPU_EAGER ? 300.0 * threads : 2000.0 * threads;
}

/* A run can be left where all threads meet: so they do after this many nanoseconds of work. */
#define MOST_APART 2e6
/* Of a value that every thread computes for itself: bytes, of which eng_place keeps those of no other tensor near
 * (libengine/plan/place.c), and nanoseconds, for with many threads more is worth a wait than each should do. */
#define MOST_OWN 16384
#define MOST_WORK 2000.0

void cpu_order_share(eng_instance_state *inst)
{
    const eng_plan_state *plan = inst->plan;
    const int threads = plan->device->threads;
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        cpu_task *task = &inst->tasks[i];
        for (int way = 0; way < CPU_WAYS; way++)
            task->by[way] = threads == 1 || task->nanoseconds < alone_below(way, threads) ? CPU_BY_ONE : CPU_BY_ALL;
    }
}

/* -- values that each thread may have for itself -------------------------------------------------- */

/* What is known of an owner's memory. */
typedef struct cpu_value {
    int32_t section; /* of the task that makes it                            */
    bool common;     /* the host sees it, another section does, or it is large */
    bool wanted;     /* by a task that is shared out, or by one whose own result is */
} cpu_value;

typedef struct cpu_order_state {
    eng_instance_state *inst;
    const eng_subgraph *graph;
    const size_t *shared_bytes;
    cpu_value *values; /* by owner's number                                  */
    bool *own;
    int way;
    EU_ARRAY(struct cpu_span) since[2]; /* what all threads have touched since they met, and what thread 0 alone has */
} cpu_order_state;

static int32_t root_of(const cpu_order_state *o, int32_t tensor)
{
    return eng_subgraph_tensor(o->graph, tensor)->root;
}

static void find_makers(cpu_order_state *o)
{
    for (uint32_t i = 0; i < o->graph->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(o->graph, (int32_t)i);
        /* integers choose what is done, in which threads must not differ (one may be the host's, in a mode of its own) */
        o->values[i].common = t->binding >= 0 || t->bytes > MOST_OWN || t->type != ENG_TYPE_F32;
    }
    for (uint32_t i = 0; i < o->inst->plan->n_nodes; i++) {
        const cpu_task *task = &o->inst->tasks[i];
        for (uint32_t k = 0; k < task->info->n_in; k++)
            if (task->in[k] && task->info->in[k].inout)
                o->values[root_of(o, task->node->in[k])].common = true;
        for (int k = 0; k < ENG_MAX_OUTPUTS; k++)
            if (task->out[k])
                o->values[root_of(o, task->node->out[k])].section = task->node->section;
    }
}

/* Nodes that are no tasks show the host what they touch; views show nothing. */
static void find_readers(cpu_order_state *o)
{
    for (uint32_t i = 0; i < o->graph->n_nodes; i++) {
        const eng_node *node = eng_subgraph_node(o->graph, i);
        for (int k = 0; k < ENG_MAX_INPUTS; k++)
            if (node->in[k] >= 0) {
                cpu_value *v = &o->values[root_of(o, node->in[k])];
                v->common = v->common || node->op == ENG_OP_EXTERN || node->section != v->section;
            }
        for (int k = 0; k < ENG_MAX_OUTPUTS && node->op == ENG_OP_EXTERN; k++)
            if (node->out[k] >= 0)
                o->values[root_of(o, node->out[k])].common = true;
    }
}

/* Could each thread do it for itself? */
static bool may_be_by_each(const cpu_order_state *o, uint32_t i)
{
    const cpu_task *task = &o->inst->tasks[i];
    bool may = task->by[o->way] == CPU_BY_ONE && o->shared_bytes[i] == 0 && task->nanoseconds < MOST_WORK;
    bool wanted = false;
    for (uint32_t k = 0; k < task->info->n_in; k++)
        may = may && !task->info->in[k].inout;
    for (int k = 0; k < ENG_MAX_OUTPUTS && may; k++)
        if (task->out[k]) {
            const cpu_value *v = &o->values[root_of(o, task->node->out[k])];
            may = !v->common;
            wanted = wanted || v->wanted;
        }
    return may && wanted;
}

/* Values whose readers thread 0 has all to itself are as well its own alone. */
static void find_wanted(cpu_order_state *o)
{
    for (uint32_t i = o->inst->plan->n_nodes; i-- > 0;) {
        const cpu_task *task = &o->inst->tasks[i];
        if (task->by[o->way] == CPU_BY_ALL || may_be_by_each(o, i))
            for (int k = 0; k < ENG_MAX_INPUTS; k++)
                if (task->in[k])
                    o->values[root_of(o, task->node->in[k])].wanted = true;
    }
}

/* -- who waits for whom --------------------------------------------------------------------------- */

/* Memory that all threads touch, or thread 0 alone. */
typedef struct cpu_span {
    uintptr_t begin, end;
    bool write, alone;
} cpu_span;

enum { MOST_SPANS = ENG_MAX_INPUTS + ENG_MAX_OUTPUTS + 1 };

static cpu_span tensor_span(const cpu_tensor *t, bool write, bool alone)
{
    uintptr_t begin = (uintptr_t)t->data, end = begin;
    if (t->ne[0] > 0 && t->rows > 0) {
        end = begin + t->block_bytes + (uintptr_t)((t->ne[0] / t->block - 1) * t->nb[0]);
        for (int d = 1; d < ENG_MAX_RANK; d++)
            end += (uintptr_t)((t->ne[d] - 1) * t->nb[d]);
    }
    return (cpu_span){begin, end, write, alone};
}

/* Has each thread the tensor's value for itself? */
static bool is_own(const cpu_order_state *o, int32_t tensor)
{
    return o->way == CPU_EAGER && o->own[root_of(o, tensor)];
}

/* What the task touches; of a value that each thread has for itself others see nothing. */
static int task_spans(const cpu_order_state *o, uint32_t i, cpu_span *out)
{
    const cpu_task *task = &o->inst->tasks[i];
    const bool alone = task->by[o->way] == CPU_BY_ONE;
    int n = 0;
    for (int k = 0; k < ENG_MAX_INPUTS; k++)
        if (task->in[k] && !is_own(o, task->node->in[k]))
            out[n++] = tensor_span(task->in[k], task->info->in[k].inout, alone);
    for (int k = 0; k < ENG_MAX_OUTPUTS; k++)
        if (task->out[k] && !is_own(o, task->node->out[k]))
            out[n++] = tensor_span(task->out[k], true, alone);
    if (o->shared_bytes[i])
        out[n++] = (cpu_span){(uintptr_t)task->shared, (uintptr_t)task->shared + o->shared_bytes[i], !task->again, alone};
    return n;
}

/*
 * A task waits if it touches what an earlier one, since the last wait, has
 * written, or writes what it has touched; except that thread 0 need not wait
 * for itself.
 */
static bool must_wait(const cpu_order_state *o, const cpu_span *mine, int n)
{
    for (int j = 0; j < n; j++)
        for (int alone = 0; alone <= !mine[j].alone; alone++)
            for (size_t i = 0; i < o->since[alone].n; i++) {
                const cpu_span *a = &o->since[alone].at[i], *b = &mine[j];
                if ((a->write || b->write) && a->begin < b->end && b->begin < a->end)
                    return true;
            }
    return false;
}

static void done_by(cpu_order_state *o, uint32_t i, cpu_by by)
{
    cpu_task *task = &o->inst->tasks[i];
    task->by[o->way] = (uint8_t)by;
    for (int k = 0; k < ENG_MAX_OUTPUTS && o->way == CPU_EAGER; k++)
        if (task->out[k])
            o->own[root_of(o, task->node->out[k])] = by == CPU_BY_EACH;
}

/* Has the task done by `by`: must it wait then?  What it touches is in mine[0 .. *n - 1]. */
static bool waits_if(cpu_order_state *o, uint32_t i, cpu_by by, cpu_span *mine, int *n)
{
    done_by(o, i, by);
    *n = task_spans(o, i, mine);
    return must_wait(o, mine, *n);
}

/* Places the task's barrier behind those before it.  Each thread does it for itself unless all must wait for that where
 * thread 0 alone need not. */
static bool place(cpu_order_state *o, uint32_t i, double *apart)
{
    cpu_task *task = &o->inst->tasks[i];
    cpu_span mine[MOST_SPANS];
    int n;
    cpu_by by = task->by[o->way];
    const bool may = o->way == CPU_EAGER && may_be_by_each(o, i);
    const bool must = task->barrier[o->way] || *apart > MOST_APART;
    if (may && (must || waits_if(o, i, by, mine, &n) || !waits_if(o, i, CPU_BY_EACH, mine, &n)))
        by = CPU_BY_EACH;
    const bool waits = waits_if(o, i, by, mine, &n) || must;
    if (waits) {
        task->barrier[o->way] = true;
        o->since[0].n = o->since[1].n = 0;
        *apart = 0;
    }
    *apart += task->nanoseconds;
    if (o->shared_bytes[i] && task->variant->ops[task->node->op]->again) /* all threads have met behind what it wrote, and read it */
        mine[n - 1].write = false;
    for (int j = 0; j < n; j++)
        if (!eu_array_add(&o->since[mine[j].alone], mine[j]))
            return false;
    return true;
}

static bool place_all(cpu_order_state *o)
{
    const eng_plan_state *plan = o->inst->plan;
    double apart = 0;
    uint32_t section = 0;
    o->since[0].n = o->since[1].n = 0;
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        /* a section may be submitted on its own: it begins afresh */
        while (section < plan->graph->n_sections && plan->section_first[section] <= i) {
            if (plan->section_first[section] == i && i > 0)
                o->inst->tasks[i].barrier[o->way] = true;
            section++;
        }
        if (!place(o, i, &apart))
            return false;
    }
    return true;
}

bool cpu_order(eng_instance_state *inst, const size_t *shared_bytes, bool *own)
{
    if (inst->plan->device->threads == 1)
        return true; /* which waits for nobody */
    cpu_order_state o = {.inst = inst, .graph = inst->plan->graph, .shared_bytes = shared_bytes, .own = own,
                         .way = CPU_EAGER};
    o.values = eu_zeroed(o.graph->n_tensors, sizeof *o.values);
    bool placed = o.values != NULL;
    if (placed) {
        find_makers(&o);
        find_readers(&o);
        find_wanted(&o);
        placed = place_all(&o);
    }
    for (o.way = CPU_EAGER + 1; o.way < CPU_WAYS && placed; o.way++)
        placed = place_all(&o);
    eu_array_free(&o.since[0]);
    eu_array_free(&o.since[1]);
    free(o.values);
    return placed;
}
