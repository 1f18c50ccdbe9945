/* How much memory the machine has for this process. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cpu.h"

/* The number after `name` (in KiB where the file says so), or in a file of one number; UINT64_MAX: none. */
static uint64_t read_number(const char *path, const char *name)
{
    FILE *f = fopen(path, "r");
    uint64_t found = UINT64_MAX;
    char line[256];
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

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The files of Linux's control groups, version 2 and 1. */
static const struct group_files {
    const char *line;   /* of /proc/self/cgroup: how it goes on is the group's path */
    const char *folder, *limit, *used, *file_cache;
} versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

static uint64_t group_number(const struct group_files *v, const char *path, const char *file, const char *name)
{
    char whole[1024];
    int n = snprintf(whole, sizeof whole, "%s%s/%s", v->folder, path, file);
    return n > 0 && (size_t)n < sizeof whole ? read_number(whole, name) : UINT64_MAX;
}

/* Limits of a group and of those that it is in.  A container may see itself as the root. */
static void limit_by_group(const struct group_files *v, char *path, uint64_t *total, uint64_t *available)
{
    for (;;) {
        uint64_t limit = group_number(v, path, v->limit, ""), used = group_number(v, path, v->used, "");
        if (limit != UINT64_MAX) {
            uint64_t cached = group_number(v, path, "memory.stat", v->file_cache);
            *total = smaller(*total, limit);
            if (used != UINT64_MAX) /* caches of files give way */
                *available = smaller(*available, less(limit, less(used, cached == UINT64_MAX ? 0 : cached)));
        }
        char *parent = strrchr(path, '/');
        if (!parent)
            return;
        *parent = 0;
    }
}

static void limit_by_groups(uint64_t *total, uint64_t *available)
{
    FILE *f = fopen("/proc/self/cgroup", "r");
    char line[512];

    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
            char *path = strstr(line, versions[i].line);
            if (path)
                limit_by_group(&versions[i], path + strlen(versions[i].line), total, available);
        }
    }
    if (f)
        fclose(f);
}

void cpu_memory_find(uint64_t *total, uint64_t *available)
{
    long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);

    *total = page > 0 && pages > 0 ? (uint64_t)page * (uint64_t)pages : UINT64_MAX;
    *available = read_number("/proc/meminfo", "MemAvailable:");
#ifdef _SC_AVPHYS_PAGES
    pages = sysconf(_SC_AVPHYS_PAGES);
    if (*available == UINT64_MAX && page > 0 && pages > 0)
        *available = (uint64_t)page * (uint64_t)pages;
#endif
    limit_by_groups(total, available);
    *total = *total == UINT64_MAX ? 0 : *total;
    *available = *available == UINT64_MAX ? 0 : *available;
}

uint64_t cpu_memory_swap(void)
{
    uint64_t swap = read_number("/proc/meminfo", "SwapTotal:");
    return swap == UINT64_MAX ? 0 : swap;
}
