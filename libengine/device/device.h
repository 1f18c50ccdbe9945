/* Floor 2: devices and what lives on them, with checked calls. */
#ifndef LIBENGINE_DEVICE_H
#define LIBENGINE_DEVICE_H

#include "../base/base.h"
#include "../executor/executor.h"

/*
 * An opened device.  Reference-counted: stores, queues and plans hold it.
 * `calls` is complete (stubs for what the plugin lacks).
 */
struct eng_device {
    eng_context *context;
    const eng_device_calls *calls;
    eng_device_state *state;
    eng_device_info info;
    int references;               /* under lock                              */
    pthread_mutex_t lock;
    struct eng_plan_cache *plans; /* floor 4's; NULL until first used        */
    void (*plans_destroy)(struct eng_plan_cache *plans); /* ends it at last release */
    uint64_t plans_built;
};

/* A device of the plugin's, just opened; on failure the state is closed.  name: how
 * it is called.  `calls` must live as long as the context. */
int eng_device_create(eng_context *context, const eng_device_calls *calls, eng_device_state *state, const char *name,
                      eng_device **device);
/* ENG_ERR_STATE in a process that was forked after the device was opened: no call may reach the plugin then. */
static inline int eng_device_check(const eng_device *device)
{
    return eng_inherited(device->context) ? eng_refuse_inherited("device ", device->info.name) : ENG_OK;
}
void eng_device_retain(eng_device *device);
void eng_device_release(eng_device *device); /* the last one closes it; nothing, in a fork of the process that opened
                                              * it */
/* The texts that a plugin has written end, with a whole character, whether it has ended them or not. */
void eng_device_end_texts(eng_device_info *info);
/* For messages about two devices that ought to be one: "" if their names tell them apart. */
const char *eng_device_other(const eng_device *a, const eng_device *b);

struct eng_store {
    eng_device *device;
    eng_store_state *state;
    uint32_t n;
    eng_store_tensor *tensors; /* deep copies, in `memory`                   */
    uint64_t *bytes;           /* of each tensor, contiguous                 */
    eng_layout_info *layouts;  /* of each tensor                             */
    eng_store_data from;       /* release: NULL once it was called           */
    const void **data;         /* of each tensor: the host's, or NULL; while it is loaded */
    eu_arena memory;
    int references;            /* instances bound to it hold one             */
};
void eng_store_retain(eng_store *store);
/* eng_store_destroy drops one reference. */
/* Is this range within the tensor? */
int eng_store_check(const eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, const void *data);
int eng_store_check_regions(const eng_store *store, uint32_t tensor, const eng_region *regions, uint32_t n);
/* load.c: takes over the host's memory; copies what the device does not use in place; gives it back, once. */
int eng_store_take(eng_store *store, const eng_store_data *from);
int eng_store_copy_data(eng_store *store);
void eng_store_let_go(eng_store *store);
int eng_store_upload(eng_store *store, uint32_t tensor, const eng_region *region);
/* May the host write to it? */
int eng_store_check_written(const eng_store *store, uint32_t tensor);

struct eng_queue {
    eng_device *device;
    eng_timeline *timeline;
};

/* Gives the queue work; a fence for it if wanted. */
int eng_queue_push(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, const eng_work *work, eng_fence *fence);

/* Deep copy of a dim list into an arena; NULL in, NULL out (or no memory). */
const eng_dim *eng_dims_copy(eu_arena *arena, const eng_dim *dims, uint32_t rank);
const eng_placement *eng_placement_copy(eu_arena *arena, const eng_placement *placement);

/* A plugin's table of device calls completed with stubs. */
void eng_device_calls_complete(eng_device_calls *complete, const eng_device_calls *given);

#endif
