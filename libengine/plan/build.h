/* Floor 4: a copy of a sub-graph, placed and compiled for one device. */
#ifndef LIBENGINE_BUILD_H
#define LIBENGINE_BUILD_H

#include "../base/base.h"

/* See plan_build and plan_release of the services in plugin.h. */
int eng_plan_build(const eng_child *child, const eng_subgraph *graph, const eng_subgraph **placed,
                   eng_plan_state **plan);
void eng_plan_unbuild(const eng_child *child, const eng_subgraph *placed, eng_plan_state *plan);

/*
 * Chooses arena_offset of every scratch owner so that tensors that live at the
 * same time do not overlap; returns the arena's size, or UINT64_MAX if it does not
 * fit in 64 bits or memory runs out.  unshared: the sum without reuse.
 */
uint64_t eng_place(const eng_subgraph *graph, eng_tensor *tensors, uint32_t alignment, uint64_t *unshared);

#endif
