#include "config.h"

#include "pace.h"

#define LONGEST 20e6  /* nanoseconds: in longer runs threads meet seldom          */
#define SLOW 2.0      /* times the guess: what makes one thread worth a trial     */
#define BETTER 0.75   /* of the time: what makes it worth a change                */
#define SETTLE 50e6   /* nanoseconds that do not count: memory is touched, threads wake and find cores */
#define AGAIN 10e6    /* the same of threads that have slept meanwhile            */
#define WINDOW 8      /* runs that do                                             */
#define TRIAL 3
#define LEAST_ROUND 128 /* twice as many each time that it is found again, up to ... */
#define MOST_ROUND 2048

int cpu_pace_threads(const cpu_pace *pace, int threads)
{
    return pace->left > 0 ? 1 : threads;
}

/* What has been found out holds for a round; the next one is longer. */
static uint32_t next_round(cpu_pace *pace)
{
    const uint32_t round = pace->round ? pace->round : LEAST_ROUND;
    pace->round = 2 * round < MOST_ROUND ? 2 * round : MOST_ROUND;
    return round;
}

static void took_alone(cpu_pace *pace, double nanoseconds)
{
    if (pace->left == 0)
        return;
    pace->left--;
    if (pace->trial && (pace->alone == 0 || nanoseconds < pace->alone))
        pace->alone = nanoseconds;
    if (pace->left > 0)
        return;
    if (!pace->trial) {
        pace->settled = SETTLE - AGAIN;
        pace->runs = 0;
        pace->next = 0;
    } else if (pace->alone < BETTER * pace->together) {
        pace->left = next_round(pace);
    } else {
        pace->next = pace->runs + next_round(pace);
    }
    pace->trial = false;
}

static void took_together(cpu_pace *pace, double nanoseconds)
{
    if (pace->settled < SETTLE) {
        pace->settled += nanoseconds;
        return;
    }
    pace->runs++;
    const uint32_t n = pace->runs < WINDOW ? pace->runs : WINDOW;
    pace->together = n == 1 ? nanoseconds : pace->together + (nanoseconds - pace->together) / n;
    if (n < WINDOW)
        return;
    if (pace->together <= SLOW * pace->guess) {
        pace->round = 0;
        pace->next = 0;
    } else if (pace->runs >= pace->next) {
        pace->trial = true;
        pace->alone = 0;
        pace->left = TRIAL;
    }
}

void cpu_pace_took(cpu_pace *pace, int threads, double nanoseconds)
{
    if (pace->guess > LONGEST)
        return;
    if (threads == 1)
        took_alone(pace, nanoseconds);
    else
        took_together(pace, nanoseconds);
}
