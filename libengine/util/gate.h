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
/* The same if there are any, after gate->at was moved otherwise (in one order for all threads). */
void eu_gate_tell(eu_gate *gate);

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
 * How long to look before sleeping, in nanoseconds, after a moment in which everybody looks: long, which is best where a core is free for each thread, for to
 * wake one takes longer than what it is waited for; or hardly, which is best on a machine that others use too, where
 * looking keeps away the thread that is waited for.  Which it is shows in how long waits take, so where they are not short
 * some are done in the other way from time to time, which is kept if they were shorter by a quarter.
 */
typedef struct eu_spin {
    _Atomic uint32_t limit;
    atomic_flag counting;  /* a thread uses what follows                             */
    bool trial;            /* the waits are in the other way                         */
    uint32_t waits, round; /* counted; so many between two trials                    */
    uint64_t waited;       /* nanoseconds, by them                                   */
    uint64_t usual;        /* mean of those before the trial                         */
} eu_spin;

#define EU_MOST_SPIN 100000
#define EU_LEAST_SPIN 5000

void eu_spin_init(eu_spin *spin);

/* Do waits of this kind end soon? */
static inline bool eu_spin_calm(eu_spin *spin)
{
    return atomic_load_explicit(&spin->limit, memory_order_relaxed) == EU_MOST_SPIN;
}

/* Waits as eu_gate_sleep does; looks before it sleeps, if it may. */
bool eu_gate_wait(eu_gate *gate, uint64_t least, uint64_t deadline, eu_spin *spin, bool may_spin);

#endif
