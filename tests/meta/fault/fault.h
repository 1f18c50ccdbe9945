/*
 * A plugin for tests: its devices are other devices, to which something happens at a
 * chosen call.  See the options in plugin.c.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <engine/plugin.h>

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_ERROR, /* run fails                                                     */
    FAULT_WAIT,  /* run succeeds, the work fails: wait tells it                   */
    FAULT_LOST,  /* the device fails everything from there on                     */
    FAULT_HANG,  /* the work does not end, or not for some time                   */
    FAULT_STALL, /* run itself does not return for some time                      */
    FAULT_BLOCK, /* run itself does not return until the test opens the gate      */
    FAULT_BLOCKED_WAIT,  /* nor wait, whatever its timeout                        */
    FAULT_BLOCKED_VALUE, /* nor the transfer of a value between sections          */
    FAULT_TRANSFER,      /* the host's transfers fail                             */
    FAULT_CALL,  /* host_call fails                                               */
    FAULT_UNCALLED, /* work before it fails: nothing of the queue is done until wait has told */
    FAULT_THROUGH,  /* run_through fails                                            */
    FAULT_THROUGH_UNCALLED, /* it succeeds, its work fails and calls nobody         */
    FAULT_THROUGH_REFUSED,  /* it cannot be done                                    */
    FAULT_REFUSE /* no memory for a store, a plan, an instance or a queue         */
} fault_kind;

/* The calls among which a kind's are counted. */
typedef enum fault_site { FAULT_NOWHERE, FAULT_AT_SUBMIT, FAULT_AT_WAIT, FAULT_AT_VALUE, FAULT_AT_CALL,
                          FAULT_AT_THROUGH, FAULT_AT_TRANSFER, FAULT_AT_MAKING } fault_site;

struct eng_plugin_state {
    const eng_services *services;
    eng_host *host;
};

struct eng_device_state {
    const eng_services *services;
    eng_host *host;
    eng_child child;
    char name[64];
    fault_kind kind;
    fault_site site;
    uint64_t at, times, hold; /* the first call hit, how many, milliseconds         */
    _Atomic uint64_t calls;   /* so far, at the site                                */
    atomic_bool lost;
    char refuse[32]; /* an op                                                    */
    uint64_t most_tensors; /* of a graph; 0: any number                              */
    bool staged; /* the host does not reach its memory                             */
    bool calls_host; /* has host_call, whatever is behind it                           */
};

struct eng_store_state {
    eng_device_state *device;
    eng_store_state *inner;
};

struct eng_plan_state {
    eng_device_state *device;
    uint32_t n_bindings;
    eng_plan_state *inner;
};

struct eng_instance_state {
    eng_device_state *device;
    eng_instance_state *inner;
};

/* Work that has not been given to the device behind: it hangs. */
typedef struct fault_held {
    bool there;
    uint64_t until; /* nanoseconds of the monotonic clock; UINT64_MAX: never         */
    eng_instance_state *instance;
    uint32_t first, count, n_params;
    int64_t params[ENG_MAX_PLAN_PARAMS];
} fault_held;

struct eng_queue_state {
    eng_device_state *device;
    eng_queue_state *inner;
    uint64_t ticket, inner_ticket, inner_settled;
    uint64_t failed; /* the work of this ticket has: to be told by wait; 0: none      */
    bool dead;       /* nothing more is done until wait has told why               */
    fault_held held;
};

extern const eng_device_calls fault_device_calls;

/* Is this call at the site one to be hit? */
bool fault_hits(eng_device_state *device, fault_site site);
/* Returns when the test opens the gate. */
void fault_block(const eng_device_state *device);
int fault_lost(const eng_device_state *device);
/* Creates nothing, or transfers nothing: ENG_OK if the device is well. */
int fault_making(eng_device_state *device);
int fault_transfer(eng_device_state *device);
int fault_queue_create(eng_device_state *device, eng_queue_state **queue);
void fault_queue_destroy(eng_queue_state *queue);
int fault_run(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
              const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket);
int fault_host_call(eng_queue_state *queue, void (*function)(void *ctx), void *ctx, uint64_t *ticket);
int fault_run_through(eng_queue_state *queue, eng_instance_state *instance, const int64_t *params, uint32_t n_params,
                      void (*after)(void *ctx, uint32_t section), void *ctx, uint64_t *ticket);
int fault_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
                uint64_t *ticket);
int fault_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
               uint64_t *ticket);
int fault_wait(eng_queue_state *queue, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed);
int fault_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                     uint32_t n, uint64_t *ticket);
int fault_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                      uint32_t n, uint64_t *ticket);

#endif
