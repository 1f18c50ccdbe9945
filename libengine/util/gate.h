/*
 * Waiting: a number that only grows, and threads that wait until it is large enough; at first by
 * looking again - what they wait for mostly comes at once -, then asleep.
 */
#ifndef LIBENGINE_UTIL_GATE_H
#define LIBENGINE_UTIL_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct eu_gate {
    _Alignas(64) _Atomic uint64_t at;
    atomic_uint sleepers;
    pthread_mutex_t lock;
    pthread_cond_t moved; /* on the monotonic clock */
} eu_gate;

/* false: the system has no room for it. */
bool eu_gate_init(eu_gate *gate);
void eu_gate_end(eu_gate *gate);

/* Moves the gate to `at`, which is not below where it is, and wakes who waits. */
void eu_gate_move(eu_gate *gate, uint64_t at);
/* Lets those that sleep look at `stop` again. */
void eu_gate_wake(eu_gate *gate);

static inline bool eu_gate_reached(const eu_gate *gate, uint64_t least)
{
    return atomic_load_explicit(&gate->at, memory_order_acquire) >= least;
}

/* Sleeps until the gate has reached `least` (true), the moment `deadline` of eu_now() has passed,
 * or *stop is not 0 (stop may be NULL). */
bool eu_gate_sleep(eu_gate *gate, uint64_t least, uint64_t deadline, const atomic_int *stop);

/* Some 10 to 50 nanoseconds, by processor. */
static inline void eu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/*
 * How often to look before sleeping.  A wait that ends in sleep halves the number for the next, one
 * that was long but does not doubles it: on a machine that others use too, looking again only
 * keeps away the thread that is waited for.
 */
typedef struct eu_spin {
    atomic_int spins;
} eu_spin;

#define EU_MOST_SPINS 2000
#define EU_LEAST_SPINS 200

static inline void eu_spin_init(eu_spin *spin)
{
    atomic_init(&spin->spins, EU_MOST_SPINS);
}

/* Do waits of this kind end soon? */
static inline bool eu_spin_calm(eu_spin *spin)
{
    return atomic_load_explicit(&spin->spins, memory_order_relaxed) > EU_MOST_SPINS / 8;
}

/* Waits as eu_gate_sleep does; looks before it sleeps, if it may. */
bool eu_gate_wait(eu_gate *gate, uint64_t least, uint64_t deadline, eu_spin *spin, bool may_spin);

#endif
