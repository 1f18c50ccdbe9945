/*
 * With how many threads an instance runs: all of the device's, or, while other programs keep them from running side by
 * side, one.  Threads that wait for one another some dozen times in a run wait for the system's time slices then: a token
 * of a small model that takes 0.3 ms took 0.7 to 5 with a busy program beside it, by one thread alone 0.4.  A run that is
 * slow for the work that it has is tried by one thread, and where that is faster, that goes on for a while.  Results are
 * the same bits.
 */
#ifndef CPU_RUN_PACE_H
#define CPU_RUN_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cpu_pace {
    double guess;    /* nanoseconds that one thread should take           */
    double together; /* that runs of all threads take, of late            */
    double alone;    /* that those of one thread took when it was tried   */
    double settled;  /* nanoseconds of runs by all threads before they are looked at */
    uint32_t runs;   /* by all threads, since then                        */
    uint32_t next;   /* the first of them after which one thread may be tried */
    uint32_t left;   /* of one thread that are still to come              */
    uint32_t round;  /* how many runs what is found out holds for         */
    bool trial;
} cpu_pace;

/* How many of `threads` the next run has. */
int cpu_pace_threads(const cpu_pace *pace, int threads);
/* A whole run of so many threads took so many nanoseconds. */
void cpu_pace_took(cpu_pace *pace, int threads, double nanoseconds);

#endif
