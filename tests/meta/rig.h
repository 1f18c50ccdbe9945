/*
 * What tests of the composed device share: one graph on one device, from opening to
 * closing, and dimensions that name an axis.
 */
#ifndef TESTS_META_RIG_H
#define TESTS_META_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "../tap.h"

typedef struct rig {
    eng_context *context; /* not closed with the rest                            */
    eng_device *device;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
} rig;

/* What a plan says of itself; append: an eng_emit_func that fills it. */
typedef struct rig_text {
    char data[1 << 16];
    size_t length;
} rig_text;
void rig_append(void *text, const char *piece);

/* A dimension with an axis, outermost of two factors or alone; it refers to *d. */
typedef struct rig_dim {
    eng_factor factors[2];
    eng_segment segment;
} rig_dim;
eng_dim rig_axis(rig_dim *d, uint32_t axis, int64_t extent, int64_t inner);

/* A device and an empty graph; whatever comes of it, rig_close follows.  All return
 * false after an error, whose text is in eng_last_error. */
bool rig_open(rig *g, eng_context *context, const char *device, uint32_t n_params);
void rig_close(rig *g);
/* Tensors belong to no layer, and need no name and no size of the structure. */
eng_store *rig_make_store(eng_device *device, eng_store_tensor *tensors, uint32_t n);
bool rig_store(rig *g, eng_store_tensor *tensors, uint32_t n);
/* A tensor of the store whole. */
bool rig_write(rig *g, uint32_t tensor, const void *data);
bool rig_read(rig *g, uint32_t tensor, void *data);
/* The store's first n tensors as values of the graph. */
void rig_values(rig *g, eng_value *values, uint32_t n);
/* Seals the graph; plan, instance and queue. */
bool rig_plan(rig *g);
bool rig_run(rig *g, const int64_t *params, uint32_t n);
bool rig_explain(const rig *g, eng_explain_format format, rig_text *text);
/* JSON, as tests/probe/json-check has it. */
bool rig_is_json(const rig_text *t);
/* Every quotation is closed in its line, and every bracket. */
bool rig_is_drawing(const rig_text *t);

/* A context with the plugin of tests/meta/fault, whose devices are those listed; NULL, and
 * the reason is printed. */
eng_context *rig_fault_context(const char *devices);

#endif
