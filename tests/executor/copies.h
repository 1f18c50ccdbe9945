/* A long graph on a real device: the same array passed on from op to op, so that the result is known. */
#ifndef TESTS_EXECUTOR_COPIES_H
#define TESTS_EXECUTOR_COPIES_H

#include <stdbool.h>

#include "engine/engine.h"

enum { COPIES_X, COPIES_Y, COPIES_TENSORS };

typedef struct copies {
    const char *name;
    eng_device *device;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    int64_t width; /* of the array, floats */
    float *x, *y;  /* of the host */
} copies;

/* `device` NULL: it is opened (false: there is no such device).  Y = X after `nodes` ops. */
bool copies_open(copies *c, eng_context *context, eng_device *device, const char *name, int64_t width, int nodes);
void copies_close(copies *c, bool device_too);
/* X becomes a pattern of this number, on the device. */
void copies_give(copies *c, int number);
/* Is Y, read through the queue, what was given? */
bool copies_right(copies *c, int number);
eng_fence copies_submit(copies *c, const eng_fence *waits, uint32_t n);
float copies_value(int number, int64_t i);
double copies_now(void);

#endif
