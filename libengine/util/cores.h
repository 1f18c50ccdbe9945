/* The cores that this process may use, and what its control group allows it. */
#ifndef LIBENGINE_UTIL_CORES_H
#define LIBENGINE_UTIL_CORES_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of the cores that the calling thread may run on, the first `limit` of them; how many they are in all, at
 * least 1. */
uint32_t eu_cores(int *cores, uint32_t limit);
/* How many threads can run at once: those cores, or fewer where a control group limits the
 * processor time (a quota of 150 ms in 100 ms is two). */
uint32_t eu_core_count(void);
/* Lets the calling thread run on these cores alone.  A wish: failing costs only speed. */
void eu_stay_on_cores(const int *cores, uint32_t n);
/* The core that the calling thread is on, or was a moment ago; -1: the system does not say. */
int eu_core(void);
/* Moves the calling thread to another core, if there is one that it may use; it may come back.  Some microseconds. */
void eu_leave_core(int core);

/*
 * Linux's control groups, version 2 and 1.  Calls visit(user, version, folder) for the folder of the group that
 * this process is in for `controller` ("cpu", "memory"), then for those around it up to the
 * root; a container may see itself as the root.  `system` is put in front of /proc and /sys:
 * "", but for tests.
 */
typedef void (*eu_group_visit)(void *user, int version, const char *folder);
void eu_groups(const char *system, const char *controller, eu_group_visit visit, void *user);
/* The number after `name` in a file of a folder (in KiB where the line says so), or (name "") at
 * its beginning.  UINT64_MAX: there is none. */
uint64_t eu_read_number(const char *folder, const char *file, const char *name);
/* Cores' worth of time that the control groups allow, rounded up; UINT32_MAX: no limit. */
uint32_t eu_group_cores(const char *system);

#endif
