/*
 * A team of threads that run the same function side by side.
 *
 * The team keeps its threads: member i is the same one every time.  Between calls they wait at
 * a gate, which spins only while there is a core for each of them beside the calls of this module's
 * other teams.  Signals are blocked in them: they are for the host's own threads.
 *
 * A team is used by one thread at a time and not from within its own function.  A caller that must
 * not be held up by a member for ever starts the team without itself and waits for a limited time.
 */
#ifndef LIBENGINE_UTIL_TEAM_H
#define LIBENGINE_UTIL_TEAM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eu_team eu_team;

/* A team of no threads, which will be kept on these cores (n_cores 0: anywhere).  NULL: no memory. */
eu_team *eu_team_create(const int *cores, uint32_t n_cores);
/* Makes it keep at least `threads`; returns how many there are, fewer where the system refuses. */
uint32_t eu_team_grow(eu_team *team, uint32_t threads);
/* fn(ctx, 0 .. count - 1), the first by the caller, the others by threads kept, of which there are count - 1 at least.
 * Returns when all are done. */
void eu_team_run(eu_team *team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx);
/* All of them by threads kept; returns at once.  Nothing else is asked of the team until
 * eu_team_wait has returned true, but eu_team_end, which waits. */
void eu_team_start(eu_team *team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx);
/* false: some are still running after `timeout` nanoseconds (EU_FOREVER: no limit). */
bool eu_team_wait(eu_team *team, uint64_t timeout);
/* Called by every member of a call: they wait for one another. */
void eu_team_barrier(eu_team *team);
/* Do waits end soon, with every thread on a core of its own? */
bool eu_team_calm(eu_team *team);
void eu_team_end(eu_team *team); /* may be NULL */

#endif
