/*
 * Pieces of the host's memory.
 *
 * A system that promises more than it has ends the process when the promise is called in.
 * So what the devices hold together never exceeds the machine's memory (that of the
 * process's control group, where it is limited): the piece that would is refused.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../cpu.h"
#include "../device/topology.h"

#define HUGE ((size_t)2 << 20)

/* Of all devices of the process: the memory is the same for all of them. */
static _Atomic uint64_t held;

/* What all pieces together may be; 0: not known. */
static uint64_t most(void)
{
    static _Atomic uint64_t known;
    uint64_t bytes = atomic_load(&known), available;

    if (bytes == 0) {
        cpu_memory_find(&bytes, &available);
        bytes += bytes ? cpu_memory_swap() : 0;
        atomic_store(&known, bytes);
    }
    return bytes;
}

/* Counts bytes as held if there are so many left.  In one step: what is refused must not be in the way of others. */
static bool take(uint64_t bytes)
{
    uint64_t limit = most(), before = atomic_load(&held);

    do {
        if (limit != 0 && (before > limit || bytes > limit - before))
            return false;
    } while (!atomic_compare_exchange_weak(&held, &before, before + bytes));
    return true;
}

/* So many bytes from where a huge page may begin: systems lay out what is no multiple of one as it comes. */
static void *map_pages(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HUGE) /* no address space has it, and less would be mapped */
        return NULL;
    char *p = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = -(uintptr_t)p & (HUGE - 1);
    const size_t end = (before + bytes + page - 1) / page * page;
    if (before > 0)
        munmap(p, before);
    if (end < bytes + HUGE)
        munmap(p + end, bytes + HUGE - end);
    return p + before;
}

/* Large memory comes from the system directly: it is zero without being
 * touched, and each thread's first touch places it near that thread. */
static void *get_large(size_t bytes)
{
    if (!take(bytes))
        return NULL;
    void *p = map_pages(bytes);
    if (!p) {
        atomic_fetch_sub(&held, bytes);
        return NULL;
    }
#if defined(HAVE_MADVISE) && defined(MADV_HUGEPAGE)
    (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void *cpu_memory_get(size_t bytes)
{
    void *p = NULL;

    if (bytes >= HUGE)
        return get_large(bytes);
    if (bytes == 0)
        bytes = CPU_ALIGN;
    if (posix_memalign(&p, CPU_ALIGN, bytes))
        return NULL;
    memset(p, 0, bytes);
    return p;
}

/* Who fills a store is any thread of the host's, and its first touch would decide. */
void *cpu_memory_near(const eng_device_state *device, size_t bytes)
{
    void *p = cpu_memory_get(bytes);
    if (p && bytes >= HUGE)
        cpu_topology_place(device->topology, device->cores, device->n_cores, p, bytes);
    return p;
}

void cpu_memory_free(void *memory, size_t bytes)
{
    if (!memory)
        return;
    if (bytes < HUGE) {
        free(memory);
        return;
    }
    munmap(memory, bytes);
    atomic_fetch_sub(&held, bytes);
}

int cpu_memory_refused(const eng_device_state *device, uint64_t bytes, const char *what)
{
    const double mib = 1048576;
    return device->services->fail(device->host, ENG_ERR_NOMEM,
                                  "cpu" ENG_CAUSE
                                  "no memory for %.1f MiB of %s: this process holds %.1f MiB of the %.1f MiB that there "
                                  "are for it, and the system has the last word" ENG_ADVICE
                                  "free something, or ask for less",
                                  (double)bytes / mib, what, (double)atomic_load(&held) / mib, (double)most() / mib);
}
