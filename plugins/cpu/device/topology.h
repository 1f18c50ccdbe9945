/* The machine's cores and memory as they lie.  Without hwloc nothing is known, and everything stays as it is. */
#ifndef CPU_TOPOLOGY_H
#define CPU_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include <engine/plugin.h>

typedef struct hwloc_topology cpu_topology;

/* Found when first asked for, some milliseconds, and kept as long as the plugin is open; NULL: not known.  Any
 * thread. */
cpu_topology *cpu_topology_of(eng_plugin_state *plugin);
void cpu_topology_end(cpu_topology *topology);
/* The numbers of cores, so that those near one another (threads of a core, a cache, a socket) follow one another. */
void cpu_topology_order(cpu_topology *topology, int *cores, uint32_t n);
/* Wishes memory near these cores, of pages that nobody has touched yet; failing costs only speed. */
void cpu_topology_place(cpu_topology *topology, const int *cores, uint32_t n, void *memory, size_t bytes);

#endif
