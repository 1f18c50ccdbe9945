/*
 * The null plugin: the smallest complete plugin, made to be copied (README.md).
 *
 * It keeps tensors in host memory and computes only what needs no arithmetic:
 * copies between equal types.  With the option null.accept=all it takes any op and
 * gives zeros: what a run then costs is what everything around the device costs.  With
 * null.accept=measure it has no memory besides: data written are dropped, zeros are
 * read, and its statistics tell what another device would need.  One object, one source
 * file; the same names would be found in any other plugin.
 */
#ifndef NULL_H
#define NULL_H

/* libengine's own is of libengine's version, and only used when it is named; a copy shows its device as others do. */
#ifdef NULL_IN_TREE
#include "config.h"
#define NULL_VERSION PACKAGE_VERSION
#define NULL_FLAGS ENG_PLUGIN_ON_REQUEST
#else
#define NULL_VERSION "0.1"
#define NULL_FLAGS 0
#endif

#include <stdbool.h>
#include <string.h>

#include <engine/plugin.h>

struct eng_plugin_state {
    const eng_services *services;
    uint32_t n_devices;
};

struct eng_device_state {
    const eng_services *services;
    uint64_t memory; /* bytes of stores and scratch allowed; 0: any */
    uint64_t used;   /* atomically */
    bool accepts_all; /* ops that it does not compute too */
    bool measures;    /* counts what it would hold, and holds nothing */
    uint8_t rows[64]; /* that it keeps together, of matrices of each type; 0: as they come */
    eng_device_stats stats; /* atomically, field by field */
};

/* What every call of the plugin says that gets no memory for `what`; returns ENG_ERR_NOMEM. */
static inline int null_no_memory(const eng_services *s, const char *what)
{
    return s->fail_code(s->host, ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1, "null" ENG_CAUSE "out of memory for %s",
                        what);
}

typedef struct null_tensor {
    unsigned char *data;
    uint64_t bytes;
    uint32_t use;
} null_tensor;

struct eng_store_state {
    eng_device_state *device;
    uint32_t n;
    null_tensor *tensors;
};

struct eng_plan_state {
    eng_device_state *device;
    const eng_subgraph *graph; /* stays valid until the plan is destroyed */
    uint32_t *first;           /* section -> its first node; then the number of nodes */
};

struct eng_instance_state {
    eng_plan_state *plan;
    unsigned char *scratch;
    unsigned char **bound; /* memory of each binding */
};

struct eng_queue_state {
    eng_device_state *device;
};

/* All that is not static is hidden by -fvisibility=hidden; only the descriptor is exported. */

/* device.c */
void null_device_info(eng_device_info *info); /* of any null device */
int null_device_open(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device);
void null_device_close(eng_device_state *device);
int null_device_figures(eng_device_state *device, eng_device_info *info); /* with its memory */
int null_device_stats(eng_device_state *device, eng_device_stats *stats);
/* Memory that counts against the device's limit; zeroed; NULL: refused, with the reason told. */
void *null_alloc(eng_device_state *device, uint64_t bytes, uint32_t use);
void null_free(eng_device_state *device, void *memory, uint64_t bytes, uint32_t use);

/* Data for the host: zeros from a device that holds nothing. */
static inline void null_give(const eng_device_state *device, void *to, const unsigned char *from, uint64_t bytes)
{
    if (device->measures)
        memset(to, 0, bytes);
    else
        memcpy(to, from, bytes);
}

/* store.c */
int null_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store);
void null_store_destroy(eng_store_state *store);
int null_layout(eng_device_state *device, const eng_store_tensor *tensor, eng_layout_info *info);
int null_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
int null_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);

/* Regions to and from a tensor whose data are there. */
void null_move_in(const eng_device_state *device, unsigned char *to, const eng_region *regions, uint32_t n);
void null_move_out(const eng_device_state *device, const unsigned char *from, const eng_region *regions, uint32_t n);

/* plan.c */
int null_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer, char *reason,
                  size_t reason_bytes);
int null_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan);
void null_plan_destroy(eng_plan_state *plan);
int null_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                         eng_instance_state **instance);
void null_instance_destroy(eng_instance_state *instance);
/* Where a tensor's data begin. */
unsigned char *null_address(const eng_instance_state *instance, const eng_tensor *tensor);
int null_run(eng_instance_state *instance, const eng_node *node);

/* queue.c */
int null_queue_create(eng_device_state *device, eng_queue_state **queue);
void null_queue_destroy(eng_queue_state *queue);
int null_run_sections(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                      const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket);
int null_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
               uint64_t *ticket);
int null_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
              uint64_t *ticket);
int null_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket);
int null_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                     uint32_t n, uint64_t *ticket);
int null_value_map(eng_instance_state *instance, int32_t tensor, void **data);

#endif
