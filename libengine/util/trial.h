/* Which of two ways is faster on this machine: tried, once, where no flag of the processor tells. */
#ifndef LIBENGINE_UTIL_TRIAL_H
#define LIBENGINE_UTIL_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* duration(false) and duration(true) take nanoseconds in the one way and in the other.  Does the other take at most
 * `sixths` sixths of the time?  The least of `tries` each, by turns; *known, at first 0, keeps the answer. */
static inline bool eu_trial(atomic_int *known, uint64_t (*duration)(bool other), int tries, uint64_t sixths)
{
    int answer = atomic_load_explicit(known, memory_order_relaxed); /* 0: not yet; 1: no; 2: yes */
    if (answer == 0) {
        uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
        for (int t = 0; t < 2 * tries; t++) {
            const uint64_t now = duration(t % 2);
            least[t % 2] = now < least[t % 2] ? now : least[t % 2];
        }
        answer = 6 * least[1] <= sixths * least[0] ? 2 : 1;
        atomic_store_explicit(known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

#endif
