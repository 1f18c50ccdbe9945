/* A store that has only shapes, and a context that has only axes: enough for
 * building graphs without a device. */
#ifndef TESTS_GRAPH_FIXTURE_H
#define TESTS_GRAPH_FIXTURE_H

#include "libengine/device/device.h"
#include "libengine/graph/graph.h"

#define FIXTURE_TENSORS 32

typedef struct fixture {
    eng_base base;
    eng_store store;
    eng_store_tensor tensors[FIXTURE_TENSORS];
    eng_layout_info layouts[FIXTURE_TENSORS];
    eng_graph *graph;
} fixture;

void fixture_begin(fixture *f, uint32_t n_params);
void fixture_end(fixture *f);
/* A bound tensor; extents end with 0 (write an empty dimension as -1). */
eng_value fixture_tensor(fixture *f, uint32_t type, const char *name, const eng_dim *dims, ...);

/* The value is there, with these extents; it was refused, and `part` is in the first error. */
void fixture_shape(const fixture *f, eng_value v, int64_t a, int64_t b, int64_t c, int64_t d);
void fixture_error(const fixture *f, eng_value v, const char *part);

#define FACTOR(a, e) {.axis = (a), .extent = (e)}

#endif
