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
void eu_gate_move(eu_gate *gate, uint64_t at)
{
    atomic_store(&gate->at, at);
    if (atomic_load(&gate->sleepers))
        eu_gate_wake(gate);
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
#define TRIAL 32        /* waits */
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

/* All waits of a round, or of a trial, are counted: to the next. */
static void judge(eu_spin *spin)
{
    const uint32_t limit = atomic_load_explicit(&spin->limit, memory_order_relaxed);
    bool change = true; /* to the trial, and back */
    if (!spin->trial) {
        spin->usual = spin->waited / spin->waits;
    } else {
        change = in_vain(spin);
        spin->round = !change ? LEAST_ROUND : spin->round < MOST_ROUND ? 2 * spin->round : MOST_ROUND;
    }
    if (change)
        atomic_store_explicit(&spin->limit, limit == EU_MOST_SPIN ? EU_LEAST_SPIN : EU_MOST_SPIN, memory_order_relaxed);
    spin->trial = !spin->trial;
    spin->waits = 0;
    spin->waited = 0;
}

/* A wait took so long.  One that ends while another is counted is not. */
static void count(eu_spin *spin, uint64_t waited)
{
    if (atomic_flag_test_and_set_explicit(&spin->counting, memory_order_acquire))
        return;
    spin->waited += waited < LONG ? waited : LONG;
    if (++spin->waits >= (spin->trial ? TRIAL : spin->round) || (spin->trial && in_vain(spin)))
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

bool eu_gate_wait(eu_gate *gate, uint64_t least, uint64_t deadline, eu_spin *spin, bool may_spin)
{
    if (eu_gate_reached(gate, least))
        return true;
    if (!may_spin)
        return eu_gate_sleep(gate, least, deadline, NULL);
    const uint64_t begin = eu_now();
    const bool reached = look(gate, least, begin, atomic_load_explicit(&spin->limit, memory_order_relaxed)) ||
                         eu_gate_sleep(gate, least, deadline, NULL);
    count(spin, eu_now() - begin);
    return reached;
}
