#include "config.h"

#include "clock.h"
#include "gate.h"

bool eu_gate_init(eu_gate *gate)
{
    pthread_condattr_t attributes;
    atomic_init(&gate->at, 0);
    atomic_init(&gate->sleepers, 0);
    if (pthread_mutex_init(&gate->lock, NULL) != 0)
        return false;
    bool good = pthread_condattr_init(&attributes) == 0;
    if (good) {
        good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
               pthread_cond_init(&gate->moved, &attributes) == 0;
        pthread_condattr_destroy(&attributes);
    }
    if (!good)
        pthread_mutex_destroy(&gate->lock);
    return good;
}

void eu_gate_end(eu_gate *gate)
{
    pthread_cond_destroy(&gate->moved);
    pthread_mutex_destroy(&gate->lock);
}

void eu_gate_wake(eu_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->lock);
}

/*
 * Sleeping without losing a wake-up: the sleeper announces itself, then looks at the number; here
 * the number is moved, then sleepers are looked for.  Both in one order for all threads: one of
 * the two sees the other.
 */
void eu_gate_tell(eu_gate *gate)
{
    if (atomic_load(&gate->sleepers))
        eu_gate_wake(gate);
}

void eu_gate_move(eu_gate *gate, uint64_t at)
{
    atomic_store(&gate->at, at);
    eu_gate_tell(gate);
}

bool eu_gate_sleep(eu_gate *gate, uint64_t least, uint64_t deadline, const atomic_int *stop)
{
    struct timespec end = eu_timespec(deadline);
    bool reached;
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->sleepers, 1);
    while (!(reached = atomic_load(&gate->at) >= least) && !(stop && atomic_load(stop))) {
        if (deadline == EU_FOREVER)
            pthread_cond_wait(&gate->moved, &gate->lock);
        else if (pthread_cond_timedwait(&gate->moved, &gate->lock, &end) != 0 && eu_now() >= deadline)
            break;
    }
    reached = reached || atomic_load(&gate->at) >= least;
    atomic_fetch_sub(&gate->sleepers, 1);
    pthread_mutex_unlock(&gate->lock);
    return reached;
}

/* How often is looked between two looks at the clock. */
#define LOOKS 16

#define LEAST_ROUND 256 /* waits between two trials; twice as many after each that was in vain, up to ... */
#define MOST_ROUND 8192
#define TRIAL 64        /* waits */
#define SHORT 2000      /* nanoseconds, on average: less than to sleep and be woken */
#define LONG 1000000    /* nanoseconds: what is longer is not for what others do, or as bad */

void eu_spin_init(eu_spin *spin)
{
    *spin = (eu_spin){.limit = EU_MOST_SPIN, .round = LEAST_ROUND};
    atomic_flag_clear(&spin->counting);
}

/* Have the waits of a trial taken so long that it cannot be better any more?  Often the first few of them have. */
static bool in_vain(const eu_spin *spin)
{
    return spin->waited >= TRIAL * (spin->usual - spin->usual / 4);
}

static void set_limit(eu_spin *spin, uint32_t limit)
{
    atomic_store_explicit(&spin->limit, limit, memory_order_relaxed);
}

/* All waits of a round, or of a trial, are counted: to the next.  Where looking long makes them short nothing could be better. */
static void judge(eu_spin *spin)
{
    const uint32_t limit = atomic_load_explicit(&spin->limit, memory_order_relaxed);
    const uint32_t other = limit == EU_MOST_SPIN ? EU_LEAST_SPIN : EU_MOST_SPIN;
    if (!spin->trial) {
        spin->usual = spin->waited / spin->waits;
        spin->trial = spin->usual >= SHORT || limit == EU_LEAST_SPIN;
        if (spin->usual < SHORT) /* and long looks, if these are short, too */
            spin->usual = SHORT + SHORT / 3;
        set_limit(spin, spin->trial ? other : limit);
    } else {
        const bool change = in_vain(spin);
        spin->round = !change ? LEAST_ROUND : spin->round < MOST_ROUND ? 2 * spin->round : MOST_ROUND;
        spin->trial = false;
        set_limit(spin, change ? other : limit);
    }
    spin->waits = 0;
    spin->waited = 0;
}

/* So many waits took so long.  One that ends while another is counted is not. */
static void count(eu_spin *spin, uint64_t waited, uint32_t waits)
{
    if (atomic_flag_test_and_set_explicit(&spin->counting, memory_order_acquire))
        return;
    spin->waited += waited < LONG ? waited : LONG;
    spin->waits += waits;
    if (spin->waits >= (spin->trial ? TRIAL : spin->round) || (spin->trial && in_vain(spin)))
        judge(spin);
    atomic_flag_clear_explicit(&spin->counting, memory_order_release);
}

/* Looks until the gate has reached `least`, or for so long. */
static bool look(const eu_gate *gate, uint64_t least, uint64_t begin, uint32_t limit)
{
    while (eu_now() - begin < limit)
        for (int i = 0; i < LOOKS; i++) {
            if (eu_gate_reached(gate, least))
                return true;
            eu_pause();
        }
    return false;
}

/*
 * Looks for a moment, some 30 looks, without a clock.  What comes so soon is nearly all there is where a core is free for each
 * thread, and counting takes as long as the wait: so one in sixteen is counted, for all.
 */
#define SOON 32
#define ONE_IN 16

static bool comes_soon(const eu_gate *gate, uint64_t least, eu_spin *spin)
{
    for (int i = 0; i < SOON; i++) {
        if (eu_gate_reached(gate, least)) {
            if (least * UINT64_C(0x9e3779b97f4a7c15) < UINT64_MAX / ONE_IN) /* as good as chance */
                count(spin, 0, ONE_IN);
            return true;
        }
        eu_pause();
    }
    return false;
}

bool eu_gate_wait(eu_gate *gate, uint64_t least, uint64_t deadline, eu_spin *spin, bool may_spin)
{
    if (eu_gate_reached(gate, least))
        return true;
    if (!may_spin)
        return eu_gate_sleep(gate, least, deadline, NULL);
    if (comes_soon(gate, least, spin))
        return true;
    const uint64_t begin = eu_now();
    const bool reached = look(gate, least, begin, atomic_load_explicit(&spin->limit, memory_order_relaxed)) ||
                         eu_gate_sleep(gate, least, deadline, NULL);
    count(spin, eu_now() - begin, 1);
    return reached;
}
