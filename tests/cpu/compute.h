/* One op computed on the cpu plugin, or another: what the tests beside share. */
#ifndef TESTS_CPU_COMPUTE_H
#define TESTS_CPU_COMPUTE_H

#include <engine/engine.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct device {
    eng_context *context;
    eng_device *device;
    char name[32];
    int64_t rounds_from, weights_from; /* so many columns are never exact in precision fast; of weights in a layout of their own */
    bool emulated; /* slow: instructions that the processor lacks */
} device;

typedef struct operand {
    uint32_t type;
    int64_t ne[4];
    const void *data;
    bool weight; /* declared as models do, so that a device may keep it in a layout of its own */
} operand;

typedef eng_value (*builder)(eng_graph *g, const eng_value *in, const void *what);

/* The operand as type `what` (const uint32_t *). */
eng_value build_encode(eng_graph *g, const eng_value *in, const void *what);
/* The second operand's columns times the first one's rows; in precision `what` (const uint32_t *), or the graph's own if NULL. */
eng_value build_product(eng_graph *g, const eng_value *in, const void *what);

/* The third operand's choices of the first one's matrices, with the second one's columns; `what` as of build_product. */
eng_value build_experts(eng_graph *g, const eng_value *in, const void *what);

/* From -1 to 1, of a seed that goes on. */
float number(uint64_t *s);
/* n of them, some 40 times as large, to be freed. */
float *numbers(int64_t n, uint64_t seed);
/* What `build` makes of up to seven operands, ready to be computed, in several runs if need be; _end also after a failure. */
typedef struct computation {
    eng_store *store;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    uint32_t result; /* of the store */
} computation;
bool computation_begin(computation *c, const device *d, const operand *in, uint32_t n, operand result, builder build,
                       const void *what);
/* `valid`: the plan's parameter. */
bool computation_run(const computation *c, int64_t valid, void *out);
void computation_end(computation *c);
/* One run of it: what `build` makes of the operands, to be freed; NULL: it failed, and why is printed.  `valid`: the plan's parameter. */
void *compute(const device *d, const operand *in, uint32_t n, operand result, builder build, const void *what,
              int64_t valid);
/* numbers() of these extents, of which those that are 0 are none, as a type that can be encoded; to be freed. */
void *encode(const device *d, uint32_t type, const int64_t *ne, uint64_t seed);
/* A variant of the plugin with so many threads, amx on a processor without in the process itself (tiles.h); false: the
 * machine has no such variant. */
bool open_device(device *d, const char *simd, int threads);
/* Another plugin's, with an option; false: there is none. */
bool open_other(device *d, const char *name, const char *option, const char *value);
void close_device(device *d);

#endif
