/*
 * Runs given ahead.  A rank whose device calls the host between two pieces of its work (host_call) has all sections and
 * exchanges of a run put in its queue at once: the exchanges are done by the device's own thread, and neither that one nor the
 * rank's sleeps until the other has woken it, which takes longer than a section of a small model.
 *
 * Where a device can, that is one piece of work (run_through), which saves what each section and call takes by itself.
 *
 * Such a call waits for other ranks and keeps its thread meanwhile, and nobody can tell which threads devices share.  So
 *
 * - all ranks of a run whose devices call the host are given ahead, or none: one that is not might need the thread;
 * - whether their threads can wait for one another is tried, with a limit, before the first such run; but if one is a part
 *   of another, it is chance whether the larger one's call keeps a thread of the smaller one's, in the trial as in a run;
 * - one run of a process does it at a time: two would each keep a thread that the other needs;
 * - what is given is small: it cannot be cancelled, and for large work it does not matter.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"

/* -- of an instance --------------------------------------------------------------------- */

#define MOST_BYTES 256e6 /* of a rank: a processor reads and multiplies these in some ten milliseconds */
#define MOST_OPERATIONS 2e9

/* Is all that the rank gives and takes in memory that the host shares? */
static bool all_mapped(const eng_instance_state *inst, uint32_t rank)
{
    const meta_variant *v = inst->variant;
    for (uint32_t i = 0; i < v->n_exchanges; i++)
        if ((v->exchanges[i]->src[rank].tensor >= 0 && !inst->src[rank][i].mapped) ||
            (v->exchanges[i]->dst[rank].tensor >= 0 && !inst->dst[rank][i].mapped))
            return false;
    return true;
}

static bool is_small(const eng_instance_state *inst, uint32_t rank)
{
    const eng_subgraph *g = inst->variant->parts[rank].placed;
    eu_work sum = {0, 0};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_op_info *op = meta_op_info(inst->variant->device, eng_subgraph_node(g, i)->op);
        if (!op || (op->flags & (ENG_OPF_VIEW | ENG_OPF_BARRIER)))
            continue;
        const eu_work work = eu_row_work(op, g, eng_subgraph_node(g, i));
        sum.operations += work.operations;
        sum.bytes += work.bytes;
    }
    return sum.bytes <= MOST_BYTES && sum.operations <= MOST_OPERATIONS;
}

/* Has one of two devices some threads of the other's, but not all of the same?  By their names: "opencl:0" and
 * "opencl:0/2.1", or parts of different sizes. */
static bool may_overlap(const char *a, const char *b)
{
    const size_t n = strcspn(a, "/"), m = strcspn(b, "/");
    if (n != m || memcmp(a, b, n) != 0)
        return false;
    return strtoul(a[n] ? a + n + 1 : "1", NULL, 10) != strtoul(b[m] ? b + m + 1 : "1", NULL, 10);
}

static bool any_overlap(const eng_device_state *device, uint32_t ranks)
{
    for (uint32_t left = ranks; left; left &= left - 1)
        for (uint32_t others = left & (left - 1); others; others &= others - 1)
            if (may_overlap(device->ranks[meta_first(left)].child.info->name,
                            device->ranks[meta_first(others)].child.info->name))
                return true;
    return false;
}

bool meta_ahead_find(eng_instance_state *inst)
{
    const meta_variant *v = inst->variant;
    uint32_t ranks = 0;
    for (uint32_t left = v->ranks; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        if (!is_small(inst, r))
            return true;
        if (v->parts[r].n_stops == 0 || !(v->device->ranks[r].child.info->flags & ENG_DEVICE_HOST_CALLS))
            continue;
        if (!all_mapped(inst, r))
            return true;
        ranks |= 1u << r;
    }
    if (any_overlap(v->device, ranks))
        return true;
    for (uint32_t left = ranks; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        inst->calls[r] = calloc(v->parts[r].n_stops, sizeof *inst->calls[r]);
        if (!inst->calls[r])
            return false;
    }
    inst->may_ahead = ranks;
    return true;
}

/* -- whether threads can wait for one another ------------------------------------------------ */

#define TRIAL 100000000u /* ns: of a device that is not at work */
#define LOOK_AGAIN 20000
#define RUNS_BETWEEN 64 /* after one in vain, and then twice as many: the devices may have been at work */

typedef struct trial {
    uint32_t ranks;
    uint64_t deadline;
    atomic_uint there, failed;
} trial;

/* Until all are there. */
static bool await_others(trial *t)
{
    const unsigned all = (unsigned)__builtin_popcount(t->ranks);
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN};
    while (atomic_load(&t->there) < all && eu_now() < t->deadline)
        nanosleep(&pause, NULL);
    return atomic_load(&t->there) == all;
}

static void meet_others(void *ctx)
{
    trial *t = ctx;
    atomic_fetch_add(&t->there, 1);
    if (!await_others(t))
        atomic_store(&t->failed, 1);
}

/* Do the devices still say that they call? */
static bool all_call(const eng_queue_state *q, uint32_t ranks)
{
    for (; ranks; ranks &= ranks - 1) {
        const eng_child *c = &q->device->ranks[meta_first(ranks)].child;
        eng_device_info info = {.size = sizeof info};
        if (c->calls->info(c->state, &info) != ENG_OK || !(info.flags & ENG_DEVICE_HOST_CALLS))
            return false;
    }
    return true;
}

/* By one thread, which asks the devices for nothing before all are there: one that calls before host_call returns, or only when
 * it is waited for, by the thread that waits (Intel's runtime), is of no use. */
static bool can_wait(eng_queue_state *q, uint32_t ranks)
{
    trial t = {.ranks = ranks, .deadline = eu_deadline(TRIAL)};
    uint64_t ticket[META_MAX_RANKS] = {0};
    uint32_t asked = 0;
    for (uint32_t left = ranks; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        if (q->device->ranks[r].child.calls->host_call(q->child[r], meet_others, &t, &ticket[r]) == ENG_OK)
            asked |= 1u << r;
    }
    bool all = asked == ranks && await_others(&t);
    for (; asked; asked &= asked - 1)
        all &= meta_child_wait(q, meta_first(asked), ticket[meta_first(asked)], UINT64_MAX) == ENG_OK;
    return all && !atomic_load(&t.failed);
}

static void in_vain(meta_ahead_set *set)
{
    set->able = false;
    set->between = set->between ? set->between * 2 : RUNS_BETWEEN;
    set->pause = set->between;
}

/* Have the threads of these ranks, and maybe others, been seen to wait for one another?  Tried if not. */
static bool is_able(eng_queue_state *q, uint32_t ranks)
{
    meta_ahead_set *set = NULL;
    for (uint32_t i = 0; i < META_AHEAD_SETS; i++) {
        if (q->ahead_sets[i].able && (ranks & ~q->ahead_sets[i].ranks) == 0)
            return true;
        if (q->ahead_sets[i].ranks == ranks)
            set = &q->ahead_sets[i];
    }
    if (!set) {
        set = &q->ahead_sets[q->ahead_next++ % META_AHEAD_SETS];
        *set = (meta_ahead_set){.ranks = ranks};
    }
    if (set->pause > 0) {
        set->pause--;
        return false;
    }
    set->able = can_wait(q, ranks);
    if (!set->able)
        in_vain(set);
    return set->able;
}

/* -- of a run -------------------------------------------------------------------------------- */

static atomic_flag taken = ATOMIC_FLAG_INIT; /* by the run of the process that is given ahead */

void meta_ahead_begin(eng_queue_state *q)
{
    const uint32_t may = q->instance->may_ahead;
    q->ahead = 0;
    q->went_through = false;
    if (!may || !q->device->ahead || q->timeout != UINT64_MAX || atomic_flag_test_and_set(&taken))
        return;
    q->ahead = is_able(q, may) && all_call(q, may) ? may : 0;
    if (!q->ahead)
        atomic_flag_clear(&taken);
}

void meta_ahead_end(eng_queue_state *q)
{
    if (!q->ahead)
        return;
    for (uint32_t i = 0; i < META_AHEAD_SETS && q->ahead_stuck; i++)
        if (q->ahead_sets[i].able && (q->ahead & ~q->ahead_sets[i].ranks) == 0)
            in_vain(&q->ahead_sets[i]);
    q->by_sections |= q->ahead_stuck && q->went_through; /* what was tried are calls between pieces of work */
    q->ahead_stuck = false;
    atomic_flag_clear(&taken);
}

/* By a thread of the rank's device. */
static void exchange(void *ctx)
{
    meta_call *c = ctx;
    if (atomic_load(&c->member->queue->failed) || !meta_exchange_run(c->member, c->exchange))
        return;
    if (c->release)
        meta_member_release(c->member);
}

bool meta_ahead_exchange(meta_member *m, meta_member *ahead, uint32_t stop, bool release)
{
    eng_queue_state *q = m->queue;
    meta_call *c = &q->instance->calls[m->rank][stop];
    *c = (meta_call){ahead, q->instance->variant->parts[m->rank].stops[stop].exchange, release};
    const int status = q->device->ranks[m->rank].child.calls->host_call(q->child[m->rank], exchange, c, &m->pending);
    if (status != ENG_OK)
        meta_run_fail(q, m->rank, status);
    m->busy |= status == ENG_OK;
    return status == ENG_OK;
}

/* By a thread of the rank's device: what comes behind a section. */
static void after_section(void *ctx, uint32_t section)
{
    meta_through *t = ctx;
    meta_member *m = t->member;
    const meta_part *part = &m->queue->instance->variant->parts[m->rank];
    const uint32_t begin = t->stop;
    for (; t->stop < part->n_stops && part->stops[t->stop].section <= (int32_t)section; t->stop++)
        if (atomic_load(&m->queue->failed) || !meta_exchange_run(m, part->stops[t->stop].exchange)) {
            t->stop = part->n_stops;
            return;
        }
    if (t->stop > begin)
        meta_member_release(m);
}

bool meta_ahead_through(meta_member *m, meta_member *ahead)
{
    eng_queue_state *q = m->queue;
    meta_through *t = &q->instance->through[m->rank];
    if (q->by_sections)
        return false;
    *t = (meta_through){.member = ahead};
    const int status = q->device->ranks[m->rank].child.calls->run_through(q->child[m->rank], q->instance->child[m->rank], q->params,
                                                                          q->n_params, after_section, t, &m->pending);
    if (status == ENG_ERR_UNSUPPORTED)
        return false;
    if (status != ENG_OK)
        meta_run_fail(q, m->rank, status);
    m->busy = status == ENG_OK || m->pending > 0; /* what failed may have begun */
    q->went_through = true;
    return true;
}
