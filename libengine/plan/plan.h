/* Floor 4: plans - memory placed by lifetime, compiled by the device, cached. */
#ifndef LIBENGINE_PLAN_H
#define LIBENGINE_PLAN_H

#include "../graph/graph.h"
#include "build.h"

struct eng_plan {
    eng_device *device;
    const eng_subgraph *placed; /* the plan's own copy of the graph          */
    eng_plan_state *state;
    eng_graph_binding *bindings;
    uint64_t hash;
    uint64_t unshared_bytes;
    uint32_t n_slots;
    int references; /* under the device's lock                               */
};

struct eng_instance {
    eng_plan *plan;
    eng_instance_state *state;
    eng_store **stores; /* n_slots, retained                                 */
    eng_store *kept;    /* of values that are kept; NULL: none are           */
};
/* keep.c: a store for the values that the plan keeps; NULL if it keeps none. */
int eng_kept_create(const eng_plan *plan, eng_store **kept);

void eng_plan_retain(eng_plan *plan);

#endif
