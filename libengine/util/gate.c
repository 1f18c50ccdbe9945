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

bool eu_gate_wait(eu_gate *gate, uint64_t least, uint64_t deadline, eu_spin *spin, bool may_spin)
{
    int spins = may_spin ? atomic_load_explicit(&spin->spins, memory_order_relaxed) : 0;
    for (int i = 0; i < spins; i++) {
        if (eu_gate_reached(gate, least)) {
            if (spins < EU_MOST_SPINS && i > EU_LEAST_SPINS / 2)
                atomic_store_explicit(&spin->spins, 2 * spins, memory_order_relaxed);
            return true;
        }
        eu_pause();
    }
    if (spins > EU_LEAST_SPINS)
        atomic_store_explicit(&spin->spins, spins / 2, memory_order_relaxed);
    return eu_gate_sleep(gate, least, deadline, NULL);
}
