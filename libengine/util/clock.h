/* The monotonic clock, in nanoseconds. */
#ifndef LIBENGINE_UTIL_CLOCK_H
#define LIBENGINE_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define EU_SECOND UINT64_C(1000000000)
#define EU_FOREVER UINT64_MAX

static inline uint64_t eu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * EU_SECOND + (uint64_t)t.tv_nsec;
}

/* Seconds since some moment. */
static inline double eu_seconds(void)
{
    return (double)eu_now() * 1e-9;
}

/* The moment after so many nanoseconds; too late to be told: EU_FOREVER. */
static inline uint64_t eu_deadline(uint64_t timeout)
{
    uint64_t now = eu_now();
    return timeout < EU_FOREVER / 2 ? now + timeout : EU_FOREVER;
}

/* For pthread_cond_timedwait of a condition on this clock. */
static inline struct timespec eu_timespec(uint64_t moment)
{
    return (struct timespec){.tv_sec = (time_t)(moment / EU_SECOND), .tv_nsec = (long)(moment % EU_SECOND)};
}

#endif
