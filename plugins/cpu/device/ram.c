/* How much memory the machine has for this process. */
#include "config.h"

#include <unistd.h>

#include "../cpu.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

typedef struct memory {
    uint64_t total, available;
} memory;

/* What a control group allows the process of `user`, a memory. */
static void limit_by_group(void *user, int version, const char *folder)
{
    static const struct group_files {
        const char *limit, *used, *file_cache;
    } versions[] = {
        [1] = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
        [2] = {"memory.max", "memory.current", "inactive_file "},
    };
    const struct group_files *v = &versions[version];
    memory *m = user;
    uint64_t limit = eu_read_number(folder, v->limit, ""), used = eu_read_number(folder, v->used, "");
    if (limit == UINT64_MAX)
        return;
    m->total = smaller(m->total, limit);
    if (used == UINT64_MAX)
        return;
    uint64_t cached = eu_read_number(folder, "memory.stat", v->file_cache);
    used = less(used, cached == UINT64_MAX ? 0 : cached); /* caches of files give way */
    m->available = smaller(m->available, less(limit, used));
}

void cpu_memory_find(uint64_t *total, uint64_t *available)
{
    long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
    memory m = {.total = page > 0 && pages > 0 ? (uint64_t)page * (uint64_t)pages : UINT64_MAX,
                .available = eu_read_number("/proc", "meminfo", "MemAvailable:")};
#ifdef _SC_AVPHYS_PAGES
    pages = sysconf(_SC_AVPHYS_PAGES);
    if (m.available == UINT64_MAX && page > 0 && pages > 0)
        m.available = (uint64_t)page * (uint64_t)pages;
#endif
    eu_groups("", "memory", limit_by_group, &m);
    *total = m.total == UINT64_MAX ? 0 : m.total;
    *available = m.available == UINT64_MAX ? 0 : m.available;
}

uint64_t cpu_memory_swap(void)
{
    uint64_t swap = eu_read_number("/proc", "meminfo", "SwapTotal:");
    return swap == UINT64_MAX ? 0 : swap;
}
