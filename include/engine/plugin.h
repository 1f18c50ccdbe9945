/*
 * engine/plugin.h - the contract between libengine and a backend plugin.
 *
 * A plugin is a loadable module that exports one object,
 *
 *     const eng_plugin_descriptor  NAME_LTX_eng_plugin_descriptor;
 *
 * (NAME is the file name without its suffix; ENG_PLUGIN_EXPORT(NAME) spells
 * it).  The descriptor is data: it is read and judged before any function of
 * the plugin is called.  Every table begins with its size in bytes and is only
 * ever appended to; the engine copies it into a table of its own and puts
 * stubs that answer ENG_ERR_UNSUPPORTED in the place of calls that the plugin
 * leaves NULL or does not know yet.
 *
 * A plugin has no undefined eng_* symbol: what it needs of the engine it is
 * handed as a table of services.  That too begins with its size and only grows:
 * an older engine of the same major number may have a shorter one.  A plugin
 * that uses a service added after 3.0 compares services->size in its open, and
 * fails if the service is not there.  It never aborts, exits,
 * prints, installs signal handlers or changes the locale.  It frees what it
 * allocates and nothing else.
 *
 * Errors.  A failing call returns an eng_status and has first told the cause
 * through services->fail(), once, where it was first known.  Out-arguments are
 * written only on success.
 *
 * Threads.  open, close and enumerate are called under a lock.  Device calls
 * may come from any thread, several at once, except that one queue, one store
 * and one instance are each used by one thread at a time - and not always by the
 * same; `wait` alone may be called beside other calls of the queue, and by several.
 */
#ifndef ENGINE_PLUGIN_H
#define ENGINE_PLUGIN_H

#include "ops.h"
#include "store.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ENG_PLUGIN_MAGIC 0x4e474e45u /* "ENGN", little endian */
#define ENG_PLUGIN_ABI_MAJOR 3u      /* equal, or the plugin is refused      */
#define ENG_PLUGIN_ABI_MINOR 1u      /* the plugin's may be lower or higher  */

#if defined(_WIN32)
#define ENG_PLUGIN_VISIBLE __declspec(dllexport)
#else
#define ENG_PLUGIN_VISIBLE __attribute__((visibility("default")))
#endif
#define ENG_PLUGIN_EXPORT(name)                                                \
    ENG_PLUGIN_VISIBLE extern const eng_plugin_descriptor                      \
        name##_LTX_eng_plugin_descriptor;                                      \
    const eng_plugin_descriptor name##_LTX_eng_plugin_descriptor

/* Objects of the plugin: it defines the structs. */
typedef struct eng_plugin_state eng_plugin_state;     /* the opened plugin    */
typedef struct eng_device_state eng_device_state;     /* one opened device    */
typedef struct eng_store_state eng_store_state;       /* persistent tensors   */
typedef struct eng_plan_state eng_plan_state;         /* a compiled sub-graph */
typedef struct eng_instance_state eng_instance_state; /* plan + memory        */
typedef struct eng_queue_state eng_queue_state;       /* order of execution   */

/* The host's side of the services: opaque to plugins. */
typedef struct eng_host eng_host;

/* -- sub-graphs: what a plan is made of ----------------------------------- */

/*
 * A tensor of a sub-graph.  nb[] are strides in bytes; nb[0] is the size of a
 * block (of an element, for plain types), nb[1] of a row, and so on; a
 * dimension past rank has extent 1.  A tensor that shares memory with another
 * (a view) names the owner in root; its data begin `offset` bytes after the
 * owner's.  An owner's root is its own index.  An owner is either bound
 * (binding >= 0: memory of a store) or scratch (binding -1): then its data
 * begin at arena_offset of the instance's scratch memory, a place that the
 * engine has chosen by lifetime, aligned to the device's alignment, at least
 * nb-wise contiguous and padded to a multiple of that alignment.
 */
typedef struct eng_tensor {
    uint32_t size; /* of this struct                                         */
    uint32_t type; /* eng_type                                               */
    uint32_t rank;
    uint32_t use;  /* ENG_USE_* of a bound tensor, else 0                    */
    int64_t ne[ENG_MAX_RANK];
    int64_t nb[ENG_MAX_RANK];
    int32_t root;
    int32_t binding;
    uint64_t offset;
    uint64_t arena_offset;
    uint64_t bytes;      /* an owner's memory, without padding               */
    const eng_dim *dims; /* rank entries: axes; NULL: all anonymous          */
    const char *name;    /* for messages; never NULL                         */
    const eng_placement *place; /* where the host wants it; NULL: anywhere.  For a
                            device that composes: readers see the value there,
                            and nothing else is done with it before it is there.
                            Writes in place stay where the store has it       */
    uint32_t layout;     /* of a bound tensor: eng_layout_info.layout of the stores that
                            it is bound to; what shares memory with it has it, too    */
    uint32_t reserved;
} eng_tensor;

/* A node: one op.  in[] and out[] are indices of tensors; -1: absent. */
typedef struct eng_node {
    uint32_t size;
    uint32_t op; /* eng_op */
    int32_t in[ENG_MAX_INPUTS];
    int32_t out[ENG_MAX_OUTPUTS];
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    int32_t section; /* 0, or more after an ENG_OPF_BARRIER node             */
    uint32_t precision; /* eng_precision; EXACT if the op has no ENG_OPF_PRECISION */
    const char *name; /* for messages; never NULL                            */
} eng_node;

/*
 * A whole sub-graph, in execution order.  It and all it points to stay valid
 * and unchanged until the plan is destroyed.  Views appear as nodes too;
 * plain devices skip them (ENG_OPF_VIEW): root and offset say it all.
 */
typedef struct eng_subgraph {
    uint32_t size;
    uint32_t n_tensors;
    uint32_t n_nodes;
    uint32_t n_bindings;
    uint32_t n_sections;    /* at least 1                                    */
    uint32_t n_params;      /* plan parameters given at submit               */
    uint64_t arena_bytes;   /* scratch memory of an instance                 */
    const eng_tensor *tensors;
    size_t tensor_stride;   /* bytes from one eng_tensor to the next         */
    const eng_node *nodes;
    size_t node_stride;
    const int32_t *binding_tensor; /* binding -> index of its tensor         */
} eng_subgraph;

static inline const eng_tensor *eng_subgraph_tensor(const eng_subgraph *g, int32_t i)
{
    return i < 0 ? NULL : (const eng_tensor *)((const char *)g->tensors + (size_t)i * g->tensor_stride);
}

static inline const eng_node *eng_subgraph_node(const eng_subgraph *g, uint32_t i)
{
    return (const eng_node *)((const char *)g->nodes + (size_t)i * g->node_stride);
}

/* -- devices -------------------------------------------------------------- */

typedef enum eng_device_kind {
    ENG_DEVICE_CPU = 1,
    ENG_DEVICE_GPU = 2,
    ENG_DEVICE_ACCELERATOR = 3,
    ENG_DEVICE_META = 4, /* composed of others                               */
    ENG_DEVICE_NULL = 5
} eng_device_kind;

enum {
    ENG_DEVICE_PLACES_MEMORY = 1, /* the plugin does its own memory placement:
                                     arena_offset is not filled in           */
    ENG_DEVICE_HOST_MEMORY = 2,   /* value_map gives directly usable memory  */
    ENG_DEVICE_ASYNCHRONOUS = 4,  /* run, write and read only begin the work */
    ENG_DEVICE_YIELDS = 8,        /* run asks to be told when to leave       */
    ENG_DEVICE_HOST_CALLS = 16    /* has host_call: later in 3.1             */
};

typedef struct eng_device_info {
    uint32_t size;
    uint32_t kind;           /* eng_device_kind                              */
    uint32_t flags;          /* ENG_DEVICE_*                                 */
    uint32_t compute_units;
    uint64_t memory_total;   /* bytes; 0: unknown                            */
    uint64_t memory_free;    /* bytes; 0: unknown                            */
    uint64_t max_allocation; /* bytes; 0: no limit                           */
    uint32_t alignment;      /* of scratch tensors, a power of two           */
    uint32_t reserved;
    char name[64];           /* "cpu", "opencl:0", "opencl:0/2.1"            */
    char description[128];   /* "Intel(R) Xeon(R) Processor"                 */
    char driver[128];        /* "PoCL 3.1"                                   */
    char identity[64];       /* UUID, PCI address or "": stable between runs */
    char capabilities[256];  /* "unified dot4 ...", space-separated          */
} eng_device_info;

/* What to open: plugin[:index][/parts[.part]], or a composition. */
typedef struct eng_device_request {
    uint32_t size;
    uint32_t index;
    uint32_t parts;          /* 1: the whole device                          */
    uint32_t part;           /* 0 .. parts-1                                 */
    const char *name;        /* plain: as it is listed; else as the host wrote it */
    uint32_t n_leaves;       /* meta: the devices composed ...               */
    uint32_t reserved;
    const char *const *leaves;
    const double *shares;    /* ... and their shares, or NULL: not given     */
} eng_device_request;

typedef enum eng_support {
    ENG_SUPPORT_NO = 0,
    ENG_SUPPORT_SLOW = 1,    /* right, by a slow path                        */
    ENG_SUPPORT_YES = 2
} eng_support;

/* One figure of a device's report (ENG_STAT_*). */
typedef struct eng_device_stats {
    uint32_t size;
    uint32_t reserved;
    uint64_t bytes_weights;    /* held now, by kind                          */
    uint64_t bytes_replicated; /* part of the above that other ranks hold too */
    uint64_t bytes_cache;
    uint64_t bytes_state;
    uint64_t bytes_io;
    uint64_t bytes_compute;    /* scratch of living instances                */
    uint64_t bytes_exchanged;  /* sent to other ranks since open             */
    uint64_t submits;
    uint64_t plans_built;
    double share;              /* 1 for a plain device                       */
    uint64_t compiled;         /* programs of kernels that a compiler worked on: since 3.1.  Passes
                                  in which it grows say nothing of the device's speed */
} eng_device_stats;

/* What a device can do at most, whatever the op: bytes or operations in a second. */
typedef enum eng_roof {
    ENG_ROOF_READ = 1, /* bytes read, from memory much larger than the caches  */
    ENG_ROOF_COPY = 2, /* bytes read and bytes written, of such a copy         */
    ENG_ROOF_FMA = 3,  /* f32 operations: two for each fused multiply and add  */
    /* Later in 3.1: two operations for each product that is added to a sum.      */
    ENG_ROOF_INT8 = 4,  /* of bytes, in a loop, as the device's compiler makes it */
    ENG_ROOF_DOT = 5,   /* of bytes, by an integer dot product that the device has */
    ENG_ROOF_MATRIX = 6 /* of bf16 or bytes, by a matrix unit that kernels use */
} eng_roof;

/* A device opened through the services: a child of the meta plugin. */
typedef struct eng_device_calls eng_device_calls;
typedef struct eng_child {
    const eng_device_calls *calls; /* complete: no entry is NULL             */
    eng_device_state *state;
    const eng_device_info *info;
    void *handle;                  /* for device_close                       */
} eng_child;

/*
 * What a run asks at the end of a task, wherever it could stop; by any of its threads.
 * ENG_RUN_YIELD: somebody waits for the thread.  A device that can go on later
 * (ENG_DEVICE_YIELDS) notes in `position` where, leaves *ticket alone and returns
 * ENG_YIELDED; run is then called again with that position and all else the same, but
 * maybe by another thread, and nothing runs on the queue in between.  Others go on.
 * ENG_RUN_CANCEL: the work is no longer wanted.  run returns ENG_ERR_CANCELLED as soon as
 * it can, without a text, and is not called again for it.
 */
typedef struct eng_run {
    uint32_t size;
    uint32_t reserved;
    uint32_t (*poll)(const struct eng_run *run);
    uint64_t position; /* 0 at first; what it means is the device's affair      */
} eng_run;
enum { ENG_RUN_GO_ON = 0, ENG_RUN_YIELD = 1, ENG_RUN_CANCEL = 2 };
#define ENG_YIELDED 1 /* no failure: there is more to do                       */

/*
 * Calls of a device.  The engine keeps the order: run, write and read of a queue are
 * called one after the other, each when what it waits for is done.  A synchronous device
 * does the work in the calling thread (and threads of its own) and leaves *ticket 0.  An
 * asynchronous one (ENG_DEVICE_ASYNCHRONOUS) begins it and gives a ticket, which grows with
 * each call; its queue does the work in that order.  Work that fails before it is begun
 * is told by the call, and has no ticket.
 */
struct eng_device_calls {
    uint32_t size;
    uint32_t reserved;

    void (*close)(eng_device_state *device);
    int (*info)(eng_device_state *device, eng_device_info *info);

    /* Can this node run, with the shapes and types it has in `graph`?  If not
     * (or slowly), the reason goes to `reason` (may be NULL). */
    int (*supports)(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer,
                    char *reason, size_t reason_bytes);

    /* All persistent tensors of one purpose at once.  Memory holds zeros.  A tensor's `data` stay
     * readable and unchanged until store_destroy: a device that shares the host's memory may
     * use them where they are (store_layout says so), and never writes to them or reads past
     * their end.  The others are uploaded next, by regions of `data` themselves: those that are
     * used in place are passed over. */
    int (*store_create)(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store);
    void (*store_destroy)(eng_store_state *store);
    /* Data are copied before the call returns.  Queues of the device must be
     * idle as far as they use the tensor: input and output tensors are better
     * moved through a queue. */
    int (*store_upload)(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
    int (*store_download)(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
    /* How a tensor declared so would be kept; how one of a store is.  Optional: as in the
     * file, in memory of the device's. */
    int (*layout)(eng_device_state *device, const eng_store_tensor *tensor, eng_layout_info *info);
    int (*store_layout)(eng_store_state *store, uint32_t tensor, eng_layout_info *info);

    int (*plan_create)(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan);
    void (*plan_destroy)(eng_plan_state *plan);

    /* stores[i], tensors[i]: what binding i of the sub-graph is bound to. */
    int (*instance_create)(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                           eng_instance_state **instance);
    void (*instance_destroy)(eng_instance_state *instance);

    int (*queue_create)(eng_device_state *device, eng_queue_state **queue);
    void (*queue_destroy)(eng_queue_state *queue); /* waits for its work */

    /* Runs sections first .. first+count-1 of an instance.  params: valid until the call
     * returns.  control may be NULL: nobody asks it to leave. */
    int (*run)(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
               const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket);
    /* The n regions of a tensor, valid until the call returns; their data must stay valid
     * until the ticket is done.  Regions lie in the tensor; where several have the same
     * bytes it is not said whose are written. */
    int (*write)(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                 uint32_t n, uint64_t *ticket);
    int (*read)(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                uint32_t n, uint64_t *ticket);
    /* Returns when the work of this ticket and all before it is done: ENG_OK, or the failure
     * of the first after the ticket `after` that has failed; its ticket is then in *failed
     * (may be NULL).  timeout in nanoseconds; UINT64_MAX: for ever; 0: only ask;
     * ENG_ERR_TIMEOUT: it is not done.  Called by asynchronous devices' users alone. */
    int (*wait)(eng_queue_state *queue, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed);
    /* What is given to the queue from now on begins when the work of another queue of the
     * same device, up to that ticket of it, is done; does not wait for it.  Optional. */
    int (*queue_after)(eng_queue_state *queue, eng_queue_state *other, uint64_t ticket);

    /* Scratch and bound tensors of an instance, by index in the sub-graph, in
     * the tensor's contiguous layout: for collectives between sections. */
    int (*value_read)(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                      uint32_t n, uint64_t *ticket);
    int (*value_write)(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor,
                       const eng_region *regions, uint32_t n, uint64_t *ticket);
    /* The host's address of an owner's data; stable for the life of the
     * instance; may be used while the queue is idle.  Optional. */
    int (*value_map)(eng_instance_state *instance, int32_t tensor, void **data);

    int (*stats)(eng_device_state *device, eng_device_stats *stats);
    /* Stats of the devices this one is composed of; ENG_ERR_NOTFOUND past the
     * last.  Optional. */
    int (*leaf_stats)(eng_device_state *device, uint32_t leaf, eng_device_info *info, eng_device_stats *stats);
    /* What the device has decided for a plan, in one of the formats (eng_explain_format;
     * ENG_ERR_UNSUPPORTED for one that it does not write).  `emit` gets it piece by
     * piece.  Optional. */
    int (*plan_explain)(eng_plan_state *plan, uint32_t format, void (*emit)(void *ctx, const char *text), void *ctx);

    /* Since 3.1.  Measures a roof (eng_roof) now, by a small kernel of the plugin's own, the best of several
     * passes; ENG_ERR_UNSUPPORTED for one that it does not know.  Optional. */
    int (*roof)(eng_device_state *device, uint32_t what, double *per_second);
    /* Since 3.1.  Launches that a run of all sections gives the device.  Optional. */
    int (*plan_launches)(eng_plan_state *plan, uint64_t *launches);

    /* Later in 3.1.  A thread of the device's calls function(ctx) when the work given to the queue before is done; what
     * is given after begins when the function has returned.  It may use what value_map gave and wait for other devices'
     * queues, but gives no queue anything: whether several devices' functions can wait for one another, who would have
     * them do so tries first, and looks before each run whether `info` still has ENG_DEVICE_HOST_CALLS.  If the work
     * before fails it may never be called: the ticket says so, as any other.  Devices with that flag. */
    int (*host_call)(eng_queue_state *queue, void (*function)(void *ctx), void *ctx, uint64_t *ticket);
    /* Later in 3.1.  Runs all sections as one piece of work, in which threads of the device's call after(ctx, s) when section
     * s is done, for each of them, in their order and one after another; what that may do is as for host_call.  If the work fails,
     * calls that have not begun may never come.  ctx and the instance are used until the ticket is done.  ENG_ERR_UNSUPPORTED is no
     * failure: it cannot be done with this instance, or not yet, and nothing has begun; whoever asked gives the sections by `run`
     * and host_call.  Another failure may come when some of it has begun: then *ticket is set, and that much is waited for.
     * Nobody asks whether it is still wanted.  Optional, for devices with ENG_DEVICE_HOST_CALLS. */
    int (*run_through)(eng_queue_state *queue, eng_instance_state *instance, const int64_t *params, uint32_t n_params,
                       void (*after)(void *ctx, uint32_t section), void *ctx, uint64_t *ticket);
};

/* -- services: what the engine gives a plugin ------------------------------ */

/* The parsed row of an op; ops.def tells what its columns mean. */
typedef enum eng_axis_class {
    ENG_CLASS_PASS = 0,
    ENG_CLASS_REDUCE = 1,
    ENG_CLASS_LSE = 2,
    ENG_CLASS_SUMSQ = 3,
    ENG_CLASS_INDEX = 4,
    ENG_CLASS_WHOLE = 5
} eng_axis_class;

#define ENG_MAX_LETTERS 24
#define ENG_LETTER_PRIVATE 0xff /* a dimension written "_"                   */

typedef struct eng_rule_dim {
    uint8_t n_letters;  /* 1, or more for a product                          */
    uint8_t broadcast;  /* written with ~                                    */
    uint8_t letters[3]; /* outermost first: indices of letters, or PRIVATE   */
} eng_rule_dim;

/* How an operand may lie in memory. */
typedef enum eng_strides {
    ENG_STRIDES_ROWS = 0,      /* any, but the elements of a row are neighbours */
    ENG_STRIDES_ANY = 1,
    ENG_STRIDES_CONTIGUOUS = 2
} eng_strides;

/* Where a result has its type from. */
typedef enum eng_type_source {
    ENG_TYPE_OF_ROW = 0,     /* the only one in `types`                      */
    ENG_TYPE_OF_OPERAND = 1, /* operand number type_index                    */
    ENG_TYPE_OF_VALUES = 2,  /* the same if that is an integer type, else f32 */
    ENG_TYPE_OF_PARAM = 3    /* ip[type_index]                               */
} eng_type_source;

typedef struct eng_rule_operand {
    char name[8];
    uint8_t optional;
    uint8_t inout;
    uint8_t linear;      /* partial sums may flow through it alone           */
    uint8_t n_dims;      /* always ENG_MAX_RANK: "..." is spelled out         */
    uint8_t strides;     /* eng_strides                                      */
    uint8_t in_place;    /* a result as large may lie where it was           */
    uint8_t type_source; /* of a result: eng_type_source                     */
    uint8_t type_index;
    uint64_t types;      /* bit n: type number n is accepted, or possible    */
    eng_rule_dim dims[ENG_MAX_RANK];
} eng_rule_operand;

/* One product of a row's column "work". */
#define ENG_MAX_WORK 4
#define ENG_WORK_OPERAND 0x40 /* + number: elements of an operand            */
#define ENG_WORK_RESULT 0x80  /* + number: of a result                       */
typedef struct eng_work_term {
    double times;
    uint8_t n_factors;
    uint8_t factors[3]; /* letters, or as above                              */
} eng_work_term;

/* One of a row's parameters: ip[first .. first + count - 1], or fp[]. */
#define ENG_MAX_PARAMS 16
typedef struct eng_param_info {
    char name[16];
    uint8_t is_float;
    uint8_t first;
    uint8_t count;
    uint8_t reserved;
} eng_param_info;

typedef struct eng_op_info {
    uint32_t size;
    uint32_t op;
    uint32_t flags; /* ENG_OPF_*                                             */
    uint8_t n_in;
    uint8_t n_out;
    uint8_t n_letters;
    uint8_t linear_together; /* linear in operands 0 and 1 jointly ("a+b")   */
    eng_rule_operand in[ENG_MAX_INPUTS];
    eng_rule_operand out[ENG_MAX_OUTPUTS];
    uint8_t letter_class[ENG_MAX_LETTERS]; /* eng_axis_class                 */
    char letter_name[ENG_MAX_LETTERS][8];
    uint8_t n_params;
    uint8_t n_ip;       /* numbers of params, arrays counted in full         */
    uint8_t n_fp;
    uint8_t n_work;
    eng_param_info param[ENG_MAX_PARAMS];
    eng_work_term work[ENG_MAX_WORK];
    const char *name;
    const char *rule;
    const char *types;
    const char *params;
    const char *expression; /* of an op that works element by element; else NULL */
    const char *sample;
    const char *doc;
} eng_op_info;

typedef enum eng_log_level { ENG_LOG_ERROR = 0, ENG_LOG_WARN = 1, ENG_LOG_INFO = 2, ENG_LOG_DEBUG = 3 } eng_log_level;

typedef struct eng_services {
    uint32_t size;
    uint32_t reserved;
    eng_host *host;

    /* Keep the failure for the calling thread and return status; ENG_CAUSE and ENG_ADVICE
     * in the format mark its parts (types.h).  fail_in leaves the last failure as it is and
     * puts what only the caller knows before its subject. */
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    int (*fail)(eng_host *host, int status, const char *format, ...);
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    int (*fail_code)(eng_host *host, int status, uint32_t code, int32_t index, const char *format, ...);
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    int (*fail_in)(eng_host *host, int status, const char *format, ...);
    /* The calling thread's last failure, in parts. */
    int (*error_info)(eng_host *host, eng_error *error);
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    void (*log)(eng_host *host, int level, const char *format, ...);
    const char *(*last_error)(eng_host *host); /* the calling thread's text  */

    /* Value of one of the plugin's own options (declared in its descriptor):
     * set by the host, else from the environment, else the default. */
    const char *(*option)(eng_host *host, const char *name);

    const eng_op_info *(*op_info)(eng_host *host, uint32_t op);       /* NULL: unknown */
    const eng_type_info *(*type_info)(eng_host *host, uint32_t type); /* NULL: unknown */
    /* Folder where the plugin may keep what it can make again, created; NULL:
     * none.  Folder of installed data. */
    const char *(*cache_dir)(eng_host *host);
    const char *(*data_dir)(eng_host *host);

    /* Devices of other plugins. */
    int (*device_open)(eng_host *host, const char *name, eng_child *child);
    void (*device_close)(eng_host *host, eng_child *child);
    /* Copies `graph`, chooses roots' arena_offset and arena_bytes by lifetime
     * for that device, asks supports for every node, and has the device compile
     * it.  plan_release destroys both. */
    int (*plan_build)(eng_host *host, const eng_child *child, const eng_subgraph *graph, const eng_subgraph **placed,
                      eng_plan_state **plan);
    void (*plan_release)(eng_host *host, const eng_child *child, const eng_subgraph *placed, eng_plan_state *plan);
    /* Runs `count` calls of fn(ctx, i) on threads that the engine keeps for the
     * plugin, i on the same thread each time, and returns when all are done.
     * The calling thread is one of them. */
    int (*parallel)(eng_host *host, void **team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx);
    void (*parallel_end)(eng_host *host, void **team);
    /* The name that the host gave an axis ("kv_head"); "" if unknown. */
    const char *(*axis_name)(eng_host *host, uint32_t axis);
    /* Like parallel, but all calls are on threads that the engine keeps, and it returns at
     * once.  Nothing else is asked of the team until parallel_wait has returned 1 - all calls
     * are done; 0: not within `timeout` nanoseconds - but parallel_end, which waits. */
    int (*parallel_start)(eng_host *host, void **team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx);
    int (*parallel_wait)(eng_host *host, void **team, uint64_t timeout);
} eng_services;

/* -- the plugin ------------------------------------------------------------ */

typedef struct eng_plugin_option {
    uint32_t size;
    uint32_t reserved;
    const char *name;          /* "threads": the host writes "cpu.threads", the
                                  environment ENGINE_CPU_THREADS             */
    const char *default_value; /* never NULL                                 */
    const char *help;
} eng_plugin_option;

typedef struct eng_plugin_calls {
    uint32_t size;
    uint32_t reserved;
    int (*open)(const eng_services *services, eng_plugin_state **plugin); /* mandatory */
    void (*close)(eng_plugin_state *plugin);                             /* mandatory */
    /* Describes device `index`; ENG_ERR_NOTFOUND past the last.  When index 0
     * is not found, services->fail has told why.  Mandatory. */
    int (*enumerate)(eng_plugin_state *plugin, uint32_t index, eng_device_info *info);
    /* Mandatory. */
    int (*device_open)(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device);
} eng_plugin_calls;

typedef struct eng_plugin_descriptor {
    uint32_t magic;     /* ENG_PLUGIN_MAGIC                                  */
    uint32_t size;      /* of this struct                                    */
    uint32_t abi_major;
    uint32_t abi_minor;
    const char *name;   /* what devices are called by; the file's name       */
    const char *version;
    const char *description;
    const eng_plugin_option *options; /* n_options entries                   */
    uint32_t n_options;
    uint32_t flags;     /* ENG_PLUGIN_*                                      */
    const eng_plugin_calls *calls;
    const eng_device_calls *device_calls;
} eng_plugin_descriptor;
enum {
    ENG_PLUGIN_COMPOSES = 1,  /* opens compositions; enumerates nothing       */
    ENG_PLUGIN_ON_REQUEST = 2 /* devices are only used when named             */
};

#ifdef __cplusplus
}
#endif
#endif
