/*
 * Ranks waiting for one another.  Every rank has a counter that only grows;
 * whoever needs something of it waits until the counter is there: for a moment by
 * looking again, then asleep.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "run.h"

/* Pauses before sleeping.  The least is about what sleeping and being woken costs; where ranks
 * share cores, each pause keeps one away. */
#define MOST_SPINS 4000
#define LEAST_SPINS 300
#define SHARED_SPINS 50
/* A sleep longer than this means that the rank waited for is slow, or that others use the
 * cores: then threads that sleep are woken at once, and threads that always run are the
 * ones that wait for a core.  So the rank's next waits go to sleep early, twice as many
 * each time, and fewer again when looking has served well. */
#define LONG_SLEEP 500000 /* ns */
#define LEAST_PENALTY 256 /* waits */
#define MOST_PENALTY 16384

int meta_progress_init(eng_queue_state *q)
{
    q->may_spin = eu_core_count() >= q->device->n_leaves;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        atomic_init(&q->progress[r].waits_for, META_THROUGH);
        if (eu_gate_init(&q->progress[r].gate))
            continue;
        while (r-- > 0)
            eu_gate_end(&q->progress[r].gate);
        return meta_no_memory(q->device, "the locks of a queue");
    }
    return ENG_OK;
}

void meta_progress_end(eng_queue_state *q)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        eu_gate_end(&q->progress[r].gate);
}

uint64_t meta_progress_of_all(const eng_queue_state *q)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < q->n_members; i++)
        sum += atomic_load(&q->progress[q->members[i]].gate.at);
    return sum;
}

/* Who keeps those that wait for `rank` waiting: it, or whoever it waits for itself. */
static uint32_t held_up_by(const eng_queue_state *q, uint32_t rank)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        int next = atomic_load(&q->progress[rank].waits_for);
        if (next < 0)
            break;
        rank = (uint32_t)next;
    }
    return rank;
}

bool meta_held_up(const eng_queue_state *q, uint32_t *rank)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        *rank = q->members[i];
        if (atomic_load(&q->progress[*rank].waits_for) == META_NOBODY)
            return true;
    }
    return false;
}

int meta_no_progress(const eng_queue_state *q)
{
    return META_FAIL(q->device, ENG_ERR_TIMEOUT,
                     "it has been waited for longer than meta.timeout (%llu ms) allows, and nobody has got further",
                     (unsigned long long)(q->timeout / 1000000u));
}

/* Until the counter is there, or the run has failed, or (false) nobody has got further for a
 * time.  A rank's own device is given the timeout and started later: whoever waits for ranks
 * waits twice as long, so that the rank can tell what it knows.  Nor is a long wait a fault:
 * a rank that takes part at the end of a run waits for all that the others do before. */
static bool sleep_for_stage(const eng_queue_state *q, meta_progress *p, uint64_t stage)
{
    uint64_t limit = q->timeout < UINT64_MAX / 4 ? 2 * q->timeout : EU_FOREVER;
    uint64_t deadline = eu_deadline(limit), seen = limit < EU_FOREVER ? meta_progress_of_all(q) : 0;
    bool in_time = true;

    while (in_time && !eu_gate_sleep(&p->gate, stage, deadline, &q->failed) && !atomic_load(&q->failed)) {
        uint64_t all = meta_progress_of_all(q);
        in_time = all != seen;
        seen = all;
        deadline = eu_deadline(limit);
    }
    return in_time;
}

static bool await_asleep(eng_queue_state *q, meta_progress *own, uint32_t rank, uint64_t stage)
{
    meta_progress *p = &q->progress[rank];
    uint64_t from = eu_now();

    atomic_store(&own->waits_for, (int)rank);
    bool in_time = sleep_for_stage(q, p, stage);
    atomic_store(&own->waits_for, META_NOBODY);
    if (eu_gate_reached(&p->gate, stage)) {
        if (own->asleep == 0 && eu_now() - from > LONG_SLEEP) {
            own->penalty = own->penalty == 0           ? LEAST_PENALTY :
                           own->penalty < MOST_PENALTY ? own->penalty * 2 :
                                                         own->penalty;
            own->asleep = own->penalty;
            own->awake = 0;
        }
        return true;
    }
    if (!in_time)
        meta_run_fail(q, held_up_by(q, rank), meta_no_progress(q));
    return false;
}

/* How often this wait looks again before it sleeps. */
static uint32_t spins(const eng_queue_state *q, meta_progress *own)
{
    if (!q->may_spin)
        return SHARED_SPINS;
    if (own->asleep > 0) {
        own->asleep--;
        return LEAST_SPINS;
    }
    if (own->penalty > 0 && ++own->awake > MOST_PENALTY) {
        own->penalty /= 2;
        own->awake = 0;
    }
    return MOST_SPINS;
}

bool meta_await(eng_queue_state *q, uint32_t self, uint32_t rank, uint64_t stage)
{
    meta_progress *p = &q->progress[rank], *own = &q->progress[self];

    if (eu_gate_reached(&p->gate, stage))
        return true;
    for (uint32_t n = spins(q, own), i = 0; i < n; i++) {
        if (eu_gate_reached(&p->gate, stage))
            return true;
        if (atomic_load_explicit(&q->failed, memory_order_relaxed))
            return false;
        eu_pause();
    }
    return await_asleep(q, own, rank, stage);
}

void meta_advance(eng_queue_state *q, uint32_t rank, uint64_t stage)
{
    eu_gate_move(&q->progress[rank].gate, stage);
}

void meta_run_fail(eng_queue_state *q, uint32_t rank, int status)
{
    const eng_services *sv = q->device->plugin->services;
    int none = -1;

    if (atomic_compare_exchange_strong(&q->blame, &none, (int)rank)) {
        const char *text = sv->last_error(sv->host);
        snprintf(q->text, sizeof q->text, "%s", text ? text : "");
        atomic_store(&q->failed, status);
    }
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        eu_gate_wake(&q->progress[r].gate);
}
