/*
 * Which cores are near which, and near which memory, as hwloc finds it.  Parts of the processor get neighbours:
 * systems number the second threads of cores behind all first ones, and some number sockets by turns, so that a
 * range of numbers may be half of every core or socket.
 */
#include "config.h"

#include "../cpu.h"
#include "topology.h"

#ifdef HAVE_HWLOC
#include <hwloc.h>

/* Sockets, caches, cores and memory alone: the rest takes time to be found. */
static hwloc_topology_t find(void)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t) != 0)
        return NULL;
    hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    const hwloc_obj_type_t kept[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE, HWLOC_OBJ_GROUP, HWLOC_OBJ_L3CACHE,
                                     HWLOC_OBJ_L2CACHE, HWLOC_OBJ_CORE};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        hwloc_topology_set_type_filter(t, kept[i], HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (hwloc_topology_load(t) == 0)
        return t;
    hwloc_topology_destroy(t);
    return NULL;
}

cpu_topology *cpu_topology_of(eng_plugin_state *plugin)
{
    pthread_mutex_lock(&plugin->lock);
    if (!plugin->topology)
        plugin->topology = find();
    cpu_topology *t = plugin->topology;
    pthread_mutex_unlock(&plugin->lock);
    return t;
}

void cpu_topology_end(cpu_topology *topology)
{
    if (topology)
        hwloc_topology_destroy(topology);
}

/* Those that the topology does not know stay behind the others. */
void cpu_topology_order(cpu_topology *topology, int *cores, uint32_t n)
{
    uint32_t placed = 0;
    for (hwloc_obj_t pu = NULL; topology && (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu));) {
        uint32_t i = placed;
        while (i < n && (unsigned)cores[i] != pu->os_index)
            i++;
        if (i == n)
            continue;
        const int core = cores[i];
        memmove(cores + placed + 1, cores + placed, (i - placed) * sizeof *cores);
        cores[placed++] = core;
    }
}

void cpu_topology_place(cpu_topology *topology, const int *cores, uint32_t n, void *memory, size_t bytes)
{
    if (!topology || n == 0 || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) < 2)
        return;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (uint32_t i = 0; set && i < n; i++)
        hwloc_bitmap_set(set, (unsigned)cores[i]);
    if (set)
        (void)hwloc_set_area_membind(topology, memory, bytes, set, HWLOC_MEMBIND_BIND, 0);
    hwloc_bitmap_free(set);
}

#else /* in the order of the system's numbers; memory is near who touches it first */

cpu_topology *cpu_topology_of(eng_plugin_state *plugin)
{
    (void)plugin;
    return NULL;
}

void cpu_topology_end(cpu_topology *topology)
{
    (void)topology;
}

void cpu_topology_order(cpu_topology *topology, int *cores, uint32_t n)
{
    (void)topology;
    (void)cores;
    (void)n;
}

void cpu_topology_place(cpu_topology *topology, const int *cores, uint32_t n, void *memory, size_t bytes)
{
    (void)topology;
    (void)cores;
    (void)n;
    (void)memory;
    (void)bytes;
}
#endif
