#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cores.h"

/* -- the affinity mask ------------------------------------------------------------- */

uint32_t eu_cores(int *cores, uint32_t limit)
{
    uint32_t n = 0;
#ifdef HAVE_SCHED_SETAFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set) && n++ < limit)
                cores[n - 1] = i;
#endif
    if (n > 0)
        return n;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (n = 0; n < (online > 0 ? (uint32_t)online : 1); n++)
        if (n < limit)
            cores[n] = (int)n;
    return n;
}

void eu_stay_on_cores(const int *cores, uint32_t n)
{
#ifdef HAVE_SCHED_SETAFFINITY
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < n; i++)
        if (cores[i] < CPU_SETSIZE)
            CPU_SET(cores[i], &set);
    if (n > 0)
        (void)sched_setaffinity(0, sizeof set, &set);
#else
    (void)cores;
    (void)n;
#endif
}

int eu_core(void)
{
#ifdef HAVE_SCHED_GETCPU
    return sched_getcpu();
#else
    return -1;
#endif
}

void eu_leave_core(int core)
{
#ifdef HAVE_SCHED_SETAFFINITY
    cpu_set_t usual, others;
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof usual, &usual) != 0)
        return;
    others = usual;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        (void)sched_setaffinity(0, sizeof usual, &usual);
#else
    (void)core;
#endif
}

uint32_t eu_core_count(void)
{
    uint32_t cores = eu_cores(NULL, 0), allowed = eu_group_cores("");
    return cores < allowed ? cores : allowed;
}

/* -- control groups ------------------------------------------------------------------ */

uint64_t eu_read_number(const char *folder, const char *file, const char *name)
{
    char path[1536], line[256];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
    uint64_t found = UINT64_MAX;
    size_t n = strlen(name);
    while (f && found == UINT64_MAX && fgets(line, sizeof line, f)) {
        char *end;
        if (strncmp(line, name, n) != 0)
            continue;
        unsigned long long v = strtoull(line + n, &end, 10);
        if (end != line + n)
            found = strstr(end, "kB") ? (uint64_t)v << 10 : (uint64_t)v;
    }
    if (f)
        fclose(f);
    return found;
}

/* Is `controller` one of the names between the two colons of a line of /proc/self/cgroup? */
static bool names_controller(const char *names, const char *end, const char *controller)
{
    size_t n = strlen(controller);
    while (names < end) {
        const char *comma = memchr(names, ',', (size_t)(end - names));
        const char *last = comma ? comma : end;
        if ((size_t)(last - names) == n && memcmp(names, controller, n) == 0)
            return true;
        names = last + 1;
    }
    return false;
}

/* From the group `path` below `root` to the root itself. */
static void visit_up(const char *root, char *path, int version, eu_group_visit visit, void *user)
{
    for (;;) {
        char folder[1280];
        int n = snprintf(folder, sizeof folder, "%s%s", root, path);
        if (n > 0 && (size_t)n < sizeof folder)
            visit(user, version, folder);
        char *parent = strrchr(path, '/');
        if (!parent)
            return;
        *parent = 0;
    }
}

void eu_groups(const char *system, const char *controller, eu_group_visit visit, void *user)
{
    char line[768], root[512];
    snprintf(root, sizeof root, "%s/proc/self/cgroup", system);
    FILE *f = fopen(root, "re");
    while (f && fgets(line, sizeof line, f)) { /* number:controllers:path */
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        bool unified = path == names + 1;
        if (!unified && !names_controller(names + 1, path, controller))
            continue;
        snprintf(root, sizeof root, "%s/sys/fs/cgroup%s%s", system, unified ? "" : "/", unified ? "" : controller);
        visit_up(root, path + 1, unified ? 2 : 1, visit, user);
    }
    if (f)
        fclose(f);
}

/* "max 100000" or "150000 100000" */
static bool quota_2(const char *folder, uint64_t *quota, uint64_t *period)
{
    char path[1536];
    unsigned long long q = 0, p = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *f = fopen(path, "re");
    bool limited = f && fscanf(f, "%llu %llu", &q, &p) == 2;
    if (f)
        fclose(f);
    *quota = q;
    *period = p;
    return limited;
}

static void limit_cores(void *user, int version, const char *folder)
{
    uint32_t *least = user;
    uint64_t quota, period;
    if (version == 2) {
        if (!quota_2(folder, &quota, &period))
            return;
    } else {
        quota = eu_read_number(folder, "cpu.cfs_quota_us", "");
        period = eu_read_number(folder, "cpu.cfs_period_us", "");
    }
    /* -1, "no limit" of version 1, is read as a number beyond all sense */
    if (quota > INT64_MAX || period == 0 || period > INT64_MAX)
        return;
    uint64_t cores = quota / period + (quota % period != 0);
    cores = cores ? cores : 1;
    if (cores < *least)
        *least = (uint32_t)cores;
}

uint32_t eu_group_cores(const char *system)
{
    uint32_t least = UINT32_MAX;
    eu_groups(system, "cpu", limit_cores, &least);
    return least;
}
