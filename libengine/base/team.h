/*
 * A team of threads that run the same function side by side.
 *
 * Member 0 is the thread that calls; members 1 .. n-1 are threads that the team
 * keeps, so that member i is the same thread every time.  Waiting members spin
 * for a short while - the next call mostly comes soon - and then sleep; they do
 * not spin if the team is larger than the number of cores it may use.
 *
 * A team is used by one thread at a time and not from within its own function.
 *
 * A caller that must not be held up by a member for ever starts the team without itself
 * and waits for a limited time: members that are still running are waited for later.
 */
#ifndef LIBENGINE_TEAM_H
#define LIBENGINE_TEAM_H

#include "base.h"

typedef struct eng_team eng_team;

/* *team may be NULL (it is made) and grows when count does. */
int eng_team_run(eng_team **team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx);
/* All calls on threads that the team keeps; returns at once.  Nothing else is asked of the
 * team until eng_team_wait has returned true, but eng_team_end, which waits for them. */
int eng_team_start(eng_team **team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx);
/* false: some are still running after `timeout` nanoseconds (UINT64_MAX: no limit). */
bool eng_team_wait(eng_team *team, uint64_t timeout);
void eng_team_end(eng_team **team);

/* Cores that the calling thread may run on. */
uint32_t eng_cores(void);

#endif
