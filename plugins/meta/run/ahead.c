/*
 * Runs given ahead.  A rank whose device calls the host between two pieces of its work (host_call) has all sections and
 * exchanges of a run put in its queue at once: the exchanges are done by the device's own thread, and neither that one nor the
 * rank's sleeps until the other has woken it, which takes longer than a section of a small model.
 *
 * Such a call waits for other ranks and keeps its thread meanwhile.  So it has to be seen that the threads of all ranks can
 * wait for one another: tried once for a queue, with a limit.  And two runs must not do it at the same time, each with a
 * thread that the other needs: the second goes step by step.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <time.h>

#include "run.h"

#define TRIAL 100000000u /* ns: of a device that is not at work */
#define LOOK_AGAIN 20000

/* -- of an instance --------------------------------------------------------------------- */

#define MOST_COLUMNS 16 /* of products: what takes long is better left between two exchanges */

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

bool meta_ahead_rank(eng_instance_state *inst, uint32_t rank)
{
    const meta_part *part = &inst->variant->parts[rank];
    if (part->n_stops == 0 || eu_most_columns(part->placed) > MOST_COLUMNS || !(inst->variant->device->ranks[rank].child.info->flags & ENG_DEVICE_HOST_CALLS) ||
        !all_mapped(inst, rank))
        return true;
    inst->calls[rank] = calloc(part->n_stops, sizeof *inst->calls[rank]);
    if (inst->calls[rank])
        inst->may_ahead |= 1u << rank;
    return inst->calls[rank] != NULL;
}

/* -- whether threads can wait for one another ------------------------------------------------ */

typedef struct trial {
    uint32_t ranks;
    uint64_t deadline;
    atomic_uint there, failed;
} trial;

static void meet_others(void *ctx)
{
    trial *t = ctx;
    const unsigned all = (unsigned)__builtin_popcount(t->ranks);
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN};
    atomic_fetch_add(&t->there, 1);
    while (atomic_load(&t->there) < all && eu_now() < t->deadline)
        nanosleep(&pause, NULL);
    if (atomic_load(&t->there) < all)
        atomic_store(&t->failed, 1);
}

/* By one thread, as runs are: a device that calls before it returns, or only when it is waited for, is of no use. */
static void try_ranks(eng_queue_state *q, uint32_t ranks)
{
    trial t = {.ranks = ranks, .deadline = eu_deadline(TRIAL)};
    uint64_t ticket[META_MAX_RANKS] = {0};
    uint32_t asked = 0;
    q->ahead_tried |= ranks;
    for (uint32_t left = ranks; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        if (q->device->ranks[r].child.calls->host_call(q->child[r], meet_others, &t, &ticket[r]) == ENG_OK)
            asked |= 1u << r;
    }
    bool all = asked == ranks;
    for (; asked; asked &= asked - 1)
        all &= meta_child_wait(q, meta_first(asked), ticket[meta_first(asked)], UINT64_MAX) == ENG_OK;
    if (all && !atomic_load(&t.failed))
        q->ahead_able |= ranks;
}

/* -- of a run -------------------------------------------------------------------------------- */

static atomic_flag taken = ATOMIC_FLAG_INIT; /* by the run of the process that is given ahead */

void meta_ahead_begin(eng_queue_state *q)
{
    const uint32_t may = q->instance->may_ahead;
    q->ahead = 0;
    if (!may || !q->device->ahead || q->timeout != UINT64_MAX || atomic_flag_test_and_set(&taken))
        return;
    if (may & ~q->ahead_tried)
        try_ranks(q, may);
    q->ahead = may & q->ahead_able;
    if (!q->ahead)
        atomic_flag_clear(&taken);
}

void meta_ahead_end(eng_queue_state *q)
{
    if (q->ahead)
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
