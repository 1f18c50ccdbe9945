/* The tensor-parallel device: several devices behind the interface of one. */
#ifndef META_H
#define META_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <engine/plugin.h>

#include "libengine/util/util.h"

#include "cut/rule.h"

struct eng_plugin_state {
    const eng_services *services;
    eng_host *host;
};

/* One composed device ("leaf"), or one that only holds some tensors ("guest"). */
typedef struct meta_rank {
    char name[64]; /* as the host wrote it                                    */
    eng_child child;
    double share;  /* of 1; guests: 0                                         */
    bool guest;
    _Atomic uint64_t sent; /* bytes given to other ranks since open           */
    _Atomic uint64_t compute_bytes;
    uint64_t bytes[4];     /* persistent: weights, cache, state, io (lock)    */
    uint64_t replicated;   /* part of these that other ranks hold too (lock)  */
} meta_rank;
enum { META_BYTES_WEIGHTS, META_BYTES_CACHE, META_BYTES_STATE, META_BYTES_IO };
static inline uint32_t meta_bytes_kind(uint32_t use) /* ENG_USE_* */
{
    use &= ENG_USE_MASK;
    return use == ENG_USE_WEIGHT  ? META_BYTES_WEIGHTS
           : use == ENG_USE_CACHE ? META_BYTES_CACHE
           : use == ENG_USE_STATE ? META_BYTES_STATE
                                  : META_BYTES_IO;
}

struct eng_device_state {
    eng_plugin_state *plugin;
    pthread_mutex_t lock; /* ranks added, partitions, stores, bytes            */
    meta_rank ranks[META_MAX_RANKS];
    uint32_t n_leaves;
    uint32_t n_ranks;     /* leaves, then guests; see meta_device_mark         */
    uint32_t main_mask;   /* leaves whose share is not 0                       */
    bool mixed;           /* the main ranks are not all the same kind          */
    bool ahead;           /* option `ahead` (run/ahead.c)                      */
    double shares[META_MAX_RANKS];
    meta_partition *partitions; /* fixed once made                             */
    struct eng_store_state *stores;
    eu_arena arena;           /* of the partitions and the name              */
    const char *name;
    _Atomic uint64_t submits, plans_built;
};

/* NULL: unknown. */
static inline const eng_type_info *meta_type_info(const eng_device_state *device, uint32_t type)
{
    const eng_services *services = device->plugin->services;
    return services->type_info(services->host, type);
}
static inline const eng_op_info *meta_op_info(const eng_device_state *device, uint32_t op)
{
    const eng_services *services = device->plugin->services;
    return services->op_info(services->host, op);
}

/* Sets of ranks are bits: the first of a set, and whether it has more than one. */
static inline bool meta_several(uint32_t mask)
{
    return (mask & (mask - 1)) != 0;
}
static inline uint32_t meta_first(uint32_t mask)
{
    return mask ? (uint32_t)__builtin_ctz(mask) : 0;
}

/* Where the host wants a value; NULL: anywhere. */
static inline const eng_placement *meta_wished(const eng_tensor *t)
{
    const eng_placement *p = t->size >= offsetof(eng_tensor, place) + sizeof t->place ? t->place : NULL;
    return p && p->kind != ENG_PLACE_AUTO ? p : NULL;
}

/* -- device.c ------------------------------------------------------------------------ */

int meta_device_open(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device);
void meta_device_close(eng_device_state *device);
int meta_device_info(eng_device_state *device, eng_device_info *info);
int meta_device_stats(eng_device_state *device, eng_device_stats *all);
int meta_device_roof(eng_device_state *device, uint32_t what, double *per_second);
int meta_device_leaf_stats(eng_device_state *device, uint32_t leaf, eng_device_info *info,
                           eng_device_stats *leaf_stats);
/* The rank of that name: a leaf, a guest, or a new guest.  Under the lock. */
int meta_rank_of(eng_device_state *device, const char *name, uint32_t *rank);
/* An error of a rank's device says which rank it is of. */
int meta_blame(const eng_device_state *device, uint32_t rank, int status);
/* What stores and placements have added to the device: taken back if what it was for has
 * failed, before anybody else has seen it.  Both under the lock, which is held from one to the other. */
typedef struct meta_mark {
    uint32_t n_ranks;
    meta_partition *partitions;
} meta_mark;
meta_mark meta_device_mark(const eng_device_state *device);
void meta_device_restore(eng_device_state *device, const meta_mark *mark);
/* The partition of an axis, or NULL: the youngest.  Under the lock. */
meta_partition *meta_partition_find(const eng_device_state *device, uint32_t axis, int64_t extent);
/* One made for a value, shared out as the shares say: for axes that no store names.  Under
 * the lock; NULL: no memory. */
meta_partition *meta_partition_make(eng_device_state *device, uint32_t axis, int64_t extent, int64_t unit);
#define META_FAIL(device, status, ...)                                                                               \
    (device)->plugin->services->fail((device)->plugin->host, status, __VA_ARGS__)
static inline int meta_no_memory(const eng_device_state *device, const char *what)
{
    return device->plugin->services->fail_code(device->plugin->host, EU_NO_MEMORY_IN(device->name, what));
}

/* -- store.c, transfer.c, place.c --------------------------------------------------- */

/* eng_layout_info.layout of a tensor's parts. */
typedef struct meta_layouts {
    uint32_t of[META_MAX_RANKS];
} meta_layouts;

typedef struct meta_tensor {
    char *name;
    uint32_t type, rank, use;
    int64_t ne[ENG_MAX_RANK];
    uint64_t bytes;
    meta_place place;
    const char *along_cells; /* a cache, not split by its last axis: the reason   */
    const char *why; /* replicated although it need not be, or along_cells     */
    uint32_t child[META_MAX_RANKS]; /* index in the rank's store, or META_NONE  */
    meta_layouts layouts;
    eng_layout_info layout;         /* of all ranks together                    */
    const char *data;               /* the host's                               */
} meta_tensor;
#define META_NONE UINT32_MAX

struct eng_store_state {
    eng_device_state *device;
    struct eng_store_state *next; /* of the device, under its lock              */
    eu_arena arena;
    uint32_t n;
    meta_tensor *tensors;
    eng_store_state *child[META_MAX_RANKS]; /* NULL: the rank holds nothing      */
};

/* The i-th of the tensors that a host declares: its header may be newer and they longer. */
static inline const eng_store_tensor *meta_declared(const eng_store_tensor *tensors, uint32_t i)
{
    return (const eng_store_tensor *)(const void *)((const char *)tensors + (size_t)i * tensors->size);
}

/* Decides where every tensor of a store lives.  Under the lock. */
int meta_place_store(eng_device_state *device, const eng_store_tensor *declared, uint32_t n, meta_tensor *tensors);
/* Extents of the part of a tensor that a rank holds, and its bytes. */
void meta_local_ne(const meta_place *place, uint32_t rank, const int64_t *ne, int64_t *local);
static inline uint64_t meta_local_bytes(const meta_place *place, uint32_t rank, const eng_type_info *type,
                                        const int64_t *ne)
{
    int64_t local[ENG_MAX_RANK];
    meta_local_ne(place, rank, ne, local);
    return eu_shape_bytes(type, local, ENG_MAX_RANK);
}
/* Does the rank hold any of a bound tensor placed like this? */
static inline bool meta_place_holds(const meta_place *place, uint32_t rank)
{
    return place->kind == META_SINGLE ? place->rank == rank : (place->ranks >> rank & 1u);
}

int meta_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store);
void meta_store_destroy(eng_store_state *store);
int meta_store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info);
int meta_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
int meta_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);

/* -- plan.c, instance.c, queue.c, run.c, explain.c ----------------------------------- */

int meta_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer, char *reason,
                  size_t reason_bytes);
int meta_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan);
void meta_plan_destroy(eng_plan_state *plan);
int meta_plan_explain(eng_plan_state *plan, uint32_t format, void (*emit)(void *ctx, const char *text), void *ctx);
int meta_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                         eng_instance_state **instance);
void meta_instance_destroy(eng_instance_state *instance);
int meta_queue_create(eng_device_state *device, eng_queue_state **queue);
void meta_queue_destroy(eng_queue_state *queue);
int meta_queue_run(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                   const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket);
int meta_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                     uint32_t n, uint64_t *ticket);
int meta_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket);

#endif
