/*
 * engine/engine.h - the host's interface to libengine.
 *
 * One path: create a context; open a device by name; declare persistent
 * tensors in a store and upload them; build a graph of ops and seal it;
 * compile it to a plan for the device; bind the plan to stores as an instance;
 * submit the instance to a queue for every token, wait on the fence.
 *
 * Errors.  Calls that can fail return eng_status (0 or negative); the text
 * naming cause and cure is eng_last_error() of the same thread.  Out-arguments
 * are written only on success.  A NULL where an object or an array is needed is
 * such a failure.  The library never aborts, exits, prints, installs signal
 * handlers or changes the locale.
 *
 * Sizes.  Structs begin with their size, which the caller sets (or *_defaults):
 * what a shorter one lacks has its default, what a longer one has besides is
 * ignored, and 0 in what is given back.
 *
 * Ownership.  What *_create and *_open return belongs to the caller, who ends
 * it with the matching *_destroy, *_close or *_release; these take NULL.  What
 * other calls return is borrowed from the object asked and lives as long as
 * it.  An object keeps what it was made from alive: the order of destruction
 * does not matter, except that a context goes last: eng_context_destroy answers
 * ENG_ERR_BUSY while a device of it is open.  What a queue still works on must
 * not be destroyed: wait for the fence first, or destroy the queue, which waits.
 *
 * Threads.  A context, devices, stores' descriptions, sealed graphs, plans and
 * queues may be used from any thread at once, and so may opened GGUF files.  A graph
 * under construction, an instance, a store's contents and a GGUF writer belong to
 * one thread at a time.  Work is ordered within a queue, and between queues by the
 * fences that are waited for: an instance that was submitted to one queue, or a
 * tensor that its work writes, is ready for another when the fence is passed.
 *
 * Processes.  A context and all that was made of it - devices, stores, plans,
 * queues, fences - belong to the process that created the context.  In a child of
 * fork they have neither their threads nor their connections: calls that would need
 * them answer ENG_ERR_STATE and say so, and destroying them does nothing.  Graphs,
 * GGUF files and what only describes (infos, names) can be read on.  The child
 * creates a context of its own; OpenCL, which drivers do not let live through a
 * fork, is refused there if the parent has used it (a child that then calls exec is
 * like any other process).  Nothing may be in another thread of the parent's while
 * it forks that the child is to use.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "gguf.h"
#include "ops.h"
#include "plugin.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eng_context eng_context;
typedef struct eng_device eng_device;
typedef struct eng_store eng_store;
typedef struct eng_graph eng_graph;
typedef struct eng_plan eng_plan;
typedef struct eng_instance eng_instance;
typedef struct eng_queue eng_queue;

/* -- errors, log, version -------------------------------------------------- */

/* "0.1.0".  Thread-safe. */
ENG_API const char *eng_version(void);
/* A short text for a status code, never NULL.  Thread-safe. */
ENG_API const char *eng_status_name(int status);
/* Text of the calling thread's last failure, one line for people; "" if none.
 * Valid until the thread's next failing call. */
ENG_API const char *eng_last_error(void);
/* The same in parts, for programs; the texts are valid as long. */
ENG_API int eng_last_error_info(eng_error *error);
/* For libraries on top: make it the calling thread's last failure, printf-like (ENG_CAUSE,
 * ENG_ADVICE: types.h), and return `status`.  index: eng_error.index.  eng_fail_in leaves the last failure as it is and
 * puts what only the caller knows ("override pattern ...") before its subject. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
ENG_API int eng_fail(int status, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
ENG_API int eng_fail_code(int status, uint32_t code, int32_t index, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
ENG_API int eng_fail_in(int status, const char *format, ...);

/* Receives log lines (no newline at the end); called from any thread. */
typedef void (*eng_log_func)(void *user, int level, const char *source, const char *text);

/* -- types and ops --------------------------------------------------------- */

/* NULL for an unknown number or name.  Thread-safe. */
ENG_API const eng_type_info *eng_type_get(uint32_t type);
ENG_API const eng_type_info *eng_type_find(const char *name); /* in any capitals */
/* A name for people, of types too that GGUF files have and the engine has not ("iq3_s"); "unknown". */
ENG_API const char *eng_type_name(uint32_t type);
/* Bytes of a row of `elements`; 0 if they are not whole blocks.  */
ENG_API uint64_t eng_row_bytes(uint32_t type, int64_t elements);
/* The op's row in the op table; NULL if unknown.  Iterate op from 1 to
 * ENG_OP_LIMIT - 1 for all.  Thread-safe. */
ENG_API const eng_op_info *eng_op_get(uint32_t op);
ENG_API const eng_op_info *eng_op_find(const char *name);
ENG_API const char *eng_unary_name(int64_t kind);
ENG_API const char *eng_glu_name(int64_t kind);

/* -- fences and the trace -------------------------------------------------------- */

/* A point in a queue.  A value, copied freely; fence.queue must still exist when
 * it is waited on.  {0}: the fence of nothing, passed already. */
typedef struct eng_fence {
    eng_queue *queue;
    uint64_t ticket; /* work of a queue is counted from 1 on                   */
} eng_fence;

/* What is done when, and by whom: called by the thread that does it, with locks held, so
 * it does little and calls nothing of the library. */
typedef enum eng_work_kind { ENG_WORK_RUN = 1, ENG_WORK_WRITE = 2, ENG_WORK_READ = 3 } eng_work_kind;
typedef enum eng_trace_phase {
    ENG_TRACE_BEGIN = 1, /* the thread begins or goes on with it; asynchronous devices are given it  */
    ENG_TRACE_YIELD = 2, /* the thread leaves it for now                        */
    ENG_TRACE_END = 3    /* it is done, or will not be; of asynchronous devices: that is known */
} eng_trace_phase;
typedef struct eng_trace_event {
    uint32_t size;
    uint32_t phase; /* eng_trace_phase                                         */
    uint32_t kind;  /* eng_work_kind                                           */
    int32_t status; /* at the end: what has become of it                       */
    eng_fence fence; /* its queue and its number                               */
    uint64_t time;  /* nanoseconds of the monotonic clock                      */
} eng_trace_event;
typedef void (*eng_trace_func)(void *user, const eng_trace_event *event);

/* -- context ---------------------------------------------------------------- */

typedef struct eng_context_params {
    uint32_t size;              /* sizeof(eng_context_params)                 */
    uint32_t flags;             /* ENG_CONTEXT_*                              */
    const char *plugin_path;    /* ':'-separated folders searched first; NULL */
    eng_log_func log;           /* NULL: no log                               */
    void *log_user;
    int log_level;              /* eng_log_level: lines above it are dropped  */
    int reserved;
    eng_trace_func trace;       /* NULL: none; it costs nothing then           */
    void *trace_user;
} eng_context_params;
enum {
    ENG_CONTEXT_NO_ENVIRONMENT = 1, /* ignore ENGINE_* variables              */
    ENG_CONTEXT_NO_LOAD = 2         /* find plugin files but load none        */
};

/*
 * Searches for plugins - params->plugin_path, ENGINE_PLUGIN_PATH, the folder
 * libengine/ABI (the plugin ABI's major number) beside the library, the install
 * directory; never the working directory - and loads each that passes the
 * pre-flight.
 * Succeeds even if none does.  params may be NULL.
 */
ENG_API int eng_context_create(const eng_context_params *params, eng_context **context);
ENG_API int eng_context_destroy(eng_context *context);

/* Sets a plugin's or the engine's option ("cpu.threads", "opencl.max_alloc").
 * Before the devices that it concerns are opened.  ENG_ERR_NOTFOUND for a name
 * that nobody declares. */
ENG_API int eng_context_set_option(eng_context *context, const char *name, const char *value);

typedef struct eng_option_info {
    uint32_t size;
    uint32_t reserved;
    const char *name;        /* "cpu.threads"                                 */
    const char *environment; /* "ENGINE_CPU_THREADS"                          */
    const char *value;
    const char *default_value;
    const char *source;      /* "default", "environment" or "host"            */
    const char *help;
} eng_option_info;
/* Option number `index`, sorted by name; ENG_ERR_NOTFOUND past the last. */
ENG_API int eng_context_option(eng_context *context, uint32_t index, eng_option_info *info);

/* An axis of tensor parallelism by name ("kv_head"): in a context, the same name gives
 * the same number.  ENG_AXIS_NONE on failure.  eng_axis_name: "" if unknown. */
ENG_API uint32_t eng_context_axis(eng_context *context, const char *name);
ENG_API const char *eng_axis_name(eng_context *context, uint32_t axis);

/* -- plugins ---------------------------------------------------------------- */

typedef enum eng_plugin_status {
    ENG_PLUGIN_FOUND = 0,    /* not loaded: ENG_CONTEXT_NO_LOAD                 */
    ENG_PLUGIN_LOADED = 1,
    ENG_PLUGIN_SHADOWED = 2, /* a plugin of the same name was found earlier    */
    ENG_PLUGIN_DISABLED = 3, /* switched off by ENGINE_PLUGINS                 */
    ENG_PLUGIN_REJECTED = 4
} eng_plugin_status;

typedef struct eng_plugin_info {
    uint32_t size;
    uint32_t status;         /* eng_plugin_status                             */
    const char *name;
    const char *path;        /* the file                                      */
    const char *version;     /* "" if never read                              */
    const char *description;
    const char *stage;       /* where it was rejected: "file", "dependency", "symbol",
                                "descriptor", "abi", "table", "name", "open", "devices"; else "" */
    const char *reason;      /* the true reason, one line                     */
    const char *advice;      /* what to do about it                           */
    uint32_t n_devices;
    uint32_t reserved;
} eng_plugin_info;
/* Candidate number `index` in order of search; ENG_ERR_NOTFOUND past the last. */
ENG_API int eng_context_plugin(eng_context *context, uint32_t index, eng_plugin_info *info);

/* -- devices ---------------------------------------------------------------- */

/* Device number `index` of all loaded plugins that enumerate, sorted by plugin
 * name and index; ENG_ERR_NOTFOUND past the last. */
ENG_API int eng_context_device_info(eng_context *context, uint32_t index, eng_device_info *info);

/*
 * Opens a device by name:
 *     part   := plugin[:index][/parts[.part]]
 *     device := part(+part)*[@share(:share)*]
 * "cpu", "opencl:0" one device; "opencl:0/2.1" its second half; "opencl:0/2"
 * both halves composed; "+" composes; a final "@" gives one share per leaf
 * (two leaves for "opencl:0/2").  Compositions are opened by the plugin that
 * composes (meta); "opencl:0@1" is a composition of one, which unlike the plain
 * device can keep tensors elsewhere (eng_store_tensor.device).  Other spellings
 * of a device that is listed ("opencl", "cpu:0") are no other devices: infos
 * have the listed name.
 */
ENG_API int eng_device_open(eng_context *context, const char *name, eng_device **device);
ENG_API void eng_device_close(eng_device *device);
ENG_API int eng_device_get_info(eng_device *device, eng_device_info *info);
ENG_API int eng_device_get_stats(eng_device *device, eng_device_stats *stats);
/* The devices it is composed of, guests last; a plain device is its own only
 * leaf.  ENG_ERR_NOTFOUND past the last. */
ENG_API int eng_device_leaf(eng_device *device, uint32_t leaf, eng_device_info *info, eng_device_stats *stats);
/*
 * What the device can do at most, measured now by a small kernel of its plugin's own, which works on up to 512 MB of
 * its memory for up to a second: bytes or operations per second, the best of several passes.  A composed device's
 * ranks are measured side by side.  Work that runs at the same time makes it less.  What an op takes is compared with
 * this ("the roof"; Williams, Waterman, Patterson, doi:10.1145/1498765.1498785).  ENG_ERR_UNSUPPORTED: the device's
 * plugin does not measure it; ENG_ERR_INVALID: `what` is no eng_roof.
 */
ENG_API int eng_device_roof(eng_device *device, eng_roof what, double *per_second);
/* Would this device run node number `node` of a sealed graph?  If not, or slowly,
 * `reason` (may be NULL) says why.  A composed device asks those that it is composed of: an
 * op that only some of them can run is slow, as those alone will run it.  eng_plan_create asks for every node itself.
 * The graph's stores may be of any device: over stores of the null plugin's, which
 * with the option null.accept=measure hold nothing, a graph can be asked about
 * before a byte of it is placed. */
ENG_API int eng_device_supports(eng_device *device, const eng_graph *graph, uint32_t node, eng_support *answer,
                                char *reason, size_t reason_bytes);

/* -- stores: persistent tensors --------------------------------------------- */

/* Declares all of `tensors` (copied, names, axes and readers too); memory holds zeros, or what a
 * tensor's `data` are: eng_store_load with nothing to be told. */
ENG_API int eng_store_create(eng_device *device, const eng_store_tensor *tensors, uint32_t n, eng_store **store);
/*
 * The host's memory in which `data` of a store's tensors lie: row after row, as a GGUF file has
 * them, at any address.  It must be readable and stay unchanged (a mapped file: be neither written
 * nor truncated by anybody) until `release`, which is called once: when no device uses the
 * memory any more, at the latest in the store's destruction, and before eng_store_load
 * returns a failure.  `copied` is told of parts that were copied to a device and will not be read
 * again: the host may give back their pages.  Any function may be NULL.  They are called by
 * the threads that are in calls about the store, without locks held.
 */
typedef struct eng_store_data {
    uint32_t size;
    uint32_t flags; /* ENG_DATA_*                                              */
    void *user;
    void (*release)(void *user);
    void (*copied)(void *user, const void *data, uint64_t bytes);
    /* Bytes that are there.  Not 0: stop, eng_store_load ends with ENG_ERR_CANCELLED. */
    int (*progress)(void *user, uint64_t done, uint64_t total);
} eng_store_data;
enum { ENG_DATA_COPY = 1 }; /* use nothing in place: the memory is released when eng_store_load returns */
/*
 * A store some of whose tensors have `data`: a device that shares the host's memory uses them where
 * they are, if their address is a multiple of 16 and it has no better form for them
 * (eng_layout); others copy, and have done so when this returns.  A tensor with data is never
 * written again, neither by the host nor by a plan.
 */
ENG_API int eng_store_load(eng_device *device, const eng_store_tensor *tensors, uint32_t n, const eng_store_data *from,
                           eng_store **store);
ENG_API void eng_store_destroy(eng_store *store);
ENG_API uint32_t eng_store_count(const eng_store *store);
ENG_API const eng_store_tensor *eng_store_get(const eng_store *store, uint32_t tensor);
/* Bytes of the tensor in its contiguous layout. */
ENG_API uint64_t eng_store_bytes(const eng_store *store, uint32_t tensor);
/* In which form the device keeps a tensor, and whether in memory of the host's. */
ENG_API int eng_store_layout(const eng_store *store, uint32_t tensor, eng_layout_info *info);
/* Blocking; the queues that use the tensor must be idle.  offset and bytes in the
 * contiguous layout. */
ENG_API int eng_store_write(eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, const void *data);
ENG_API int eng_store_read(eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, void *data);

/* -- graphs ------------------------------------------------------------------ */

/* A tensor of a graph, of that one alone: an index, or negative after a failure.  Builders accept
 * a failed operand and fail too without changing the first error, so a graph is
 * written without checks and the error comes out at eng_graph_seal. */
typedef int32_t eng_value;
#define ENG_NO_VALUE ((eng_value) - 1) /* an optional operand that is absent   */
#define ENG_BAD_VALUE ((eng_value) - 2)

/* n_params: plan parameters (at most ENG_MAX_PLAN_PARAMS) given at submit. */
ENG_API int eng_graph_create(eng_context *context, uint32_t n_params, eng_graph **graph);
ENG_API void eng_graph_destroy(eng_graph *graph);
/* A bound tensor.  slot: which of the stores given to eng_instance_create (0 for
 * the first); each slot is one store.  The same tensor twice gives the same value.
 * The store shows shapes, types and axes: other stores of the device that have the
 * same may take its place in an instance. */
ENG_API eng_value eng_graph_tensor(eng_graph *graph, uint32_t slot, const eng_store *store, uint32_t tensor);
/* Adds a node.  in: n_in operands, ENG_NO_VALUE for absent optional ones; ip, fp:
 * parameters in the order of ops.h, missing ones 0; out: the results (may be
 * NULL).  Returns the first result (an inout op without results: operand 0). */
ENG_API eng_value eng_graph_op(eng_graph *graph, uint32_t op, const eng_value *in, uint32_t n_in, const int64_t *ip,
                               uint32_t n_ip, const double *fp, uint32_t n_fp, eng_value *out);
/* How exact the products added from now on are to be (ENG_PRECISION_EXACT in a new graph); ops
 * that cannot be fast stay exact.  ENG_ERR_INVALID for another number, ENG_ERR_STATE once the
 * graph is sealed. */
ENG_API int eng_graph_precision(eng_graph *graph, eng_precision precision);
ENG_API const char *eng_precision_name(uint32_t precision); /* "exact", "fast"; "" if unknown */
/* Names a value for messages and dumps. */
ENG_API void eng_graph_name(eng_graph *graph, eng_value value, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Names the axes of an anonymous value (what the rules cannot know, e.g. after a
 * reshape that the host understands better); dims as in eng_store_tensor. */
ENG_API int eng_graph_set_axes(eng_graph *graph, eng_value value, const eng_dim *dims, uint32_t rank);
/*
 * Says where a device composed of others is to keep a value (copied; kind AUTO takes
 * it back): for tests, and for hosts that know better than the planner.  Sharded:
 * `axis` must stand in the value's axes, named by its store or by
 * eng_graph_set_axes.  Partial: of f32 values.  For persistent tensors rather use
 * `device` and `axis` of eng_store_tensor, which move no data in a run: here a bound
 * tensor stays where its store has it, and readers get a copy.  ENG_ERR_INVALID if
 * the value has no such axis or type, ENG_ERR_STATE once the graph is sealed.
 */
ENG_API int eng_graph_place(eng_graph *graph, eng_value value, const eng_placement *placement);
/*
 * Keeps a value as it is at this point of the graph, for eng_instance_read: each instance has memory of
 * its own for it, to which a run copies it.  A bound tensor is kept anyway, in its store.  ENG_ERR_INVALID if there is
 * no such value, ENG_ERR_STATE once the graph is sealed.
 */
ENG_API int eng_graph_keep(eng_graph *graph, eng_value value);
/* The last value that has this name; ENG_NO_VALUE if none has. */
ENG_API eng_value eng_graph_find(const eng_graph *graph, const char *name);
/* Shape and type of a value; valid until the graph is destroyed or grows. */
ENG_API const eng_tensor *eng_graph_get(const eng_graph *graph, eng_value value);
/* Ends construction; reports the first error of any builder call. */
ENG_API int eng_graph_seal(eng_graph *graph);
/* The sealed graph as plugins see it. */
ENG_API const eng_subgraph *eng_graph_view(const eng_graph *graph);
/* Writes the graph piece by piece, as ENG_EXPLAIN_TEXT or ENG_EXPLAIN_GRAPHVIZ;
 * ENG_ERR_UNSUPPORTED as JSON. */
typedef void (*eng_emit_func)(void *ctx, const char *text);
ENG_API int eng_graph_dump(const eng_graph *graph, eng_explain_format format, eng_emit_func emit, void *ctx);
/*
 * A point in a graph under construction, to which it can be taken back: tensors, nodes
 * and bindings added since are gone, and so is an error that came since.  Values of that
 * time are numbers that will be given again.  What was named or placed since of older
 * values stays so, and the precision asked for.  A host that probes what a builder takes marks, builds, looks and
 * undoes.  A NULL graph has a mark that nothing can be taken back to.
 */
typedef struct eng_mark {
    uint32_t n_tensors, n_nodes, n_bindings;
    int32_t status; /* of the graph: ENG_OK, or its first error              */
} eng_mark;
ENG_API eng_mark eng_graph_mark(const eng_graph *graph);
/* ENG_ERR_STATE if the graph is sealed, ENG_ERR_INVALID if it has less than the mark. */
ENG_API int eng_graph_undo(eng_graph *graph, eng_mark mark);

/* Builders, one an op; see ops.def for what they compute. */
ENG_API eng_value eng_mul_mat(eng_graph *g, eng_value a, eng_value b);
ENG_API eng_value eng_mul_mat_id(eng_graph *g, eng_value a, eng_value b, eng_value ids);
ENG_API eng_value eng_hadamard(eng_graph *g, eng_value x, int64_t group);
ENG_API eng_value eng_quantize(eng_graph *g, eng_value x, uint32_t type, int search);
ENG_API eng_value eng_dequantize(eng_graph *g, eng_value x, uint32_t type);
ENG_API eng_value eng_cpy(eng_graph *g, eng_value x, uint32_t type);
ENG_API eng_value eng_cont(eng_graph *g, eng_value x);
ENG_API int eng_store_value(eng_graph *g, eng_value dst, eng_value x);
ENG_API eng_value eng_gated_delta_net(eng_graph *g, eng_value q, eng_value k, eng_value v, eng_value gate,
                                      eng_value beta, eng_value state, eng_value src, eng_value dst, eng_value cu,
                                      int grouped, int64_t slots);
ENG_API eng_value eng_ssm_conv(eng_graph *g, eng_value x, eng_value w, eng_value state, eng_value src, eng_value dst,
                               eng_value cu, int64_t slots);
ENG_API eng_value eng_ssm_scan(eng_graph *g, eng_value x, eng_value dt, eng_value a, eng_value b, eng_value c,
                               eng_value state, eng_value src, eng_value dst, eng_value cu, int64_t slots);
typedef struct eng_attention_params {
    uint32_t size;
    int32_t kv_param; /* number of the plan parameter with the valid cells; -1: all */
    int64_t window;
    int32_t causal;
    int32_t reserved;
    int64_t block;
    double scale, softcap, max_bias;
    eng_value pos, seq, cpos, cseq, mask, sinks, table; /* pos is required     */
    int64_t first;  /* number of K's and V's first cell, if they are part of a cache */
    eng_value *lse; /* not NULL: gets the second result                       */
    int64_t run, period; /* period > 0: they are runs of `run` cells in every `period` of it */
    eng_value clast; /* last sequence of each cell, cseq being its first; since 3.1  */
} eng_attention_params;
/* All absent, causal, scale 1. */
ENG_API void eng_attention_defaults(eng_attention_params *p);
ENG_API eng_value eng_attention(eng_graph *g, eng_value q, eng_value k, eng_value v, const eng_attention_params *p);
ENG_API eng_value eng_get_rows(eng_graph *g, eng_value a, eng_value ids);
ENG_API int eng_set_rows(eng_graph *g, eng_value a, eng_value b, eng_value ids);
ENG_API eng_value eng_rms_norm(eng_graph *g, eng_value x, eng_value w, double eps);
ENG_API eng_value eng_norm(eng_graph *g, eng_value x, eng_value w, eng_value bias, double eps);
ENG_API eng_value eng_l2_norm(eng_graph *g, eng_value x, double eps);
ENG_API eng_value eng_group_norm(eng_graph *g, eng_value x, int64_t groups, double eps);
typedef struct eng_rope_params {
    uint32_t size;
    int32_t mode; /* ENG_ROPE_* */
    int64_t n_dims, n_ctx_orig, offset;
    int32_t inverse, reserved;
    int64_t sections[4];
    double base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
} eng_rope_params;
/* neox, base 10000, scale 1, no YaRN. */
ENG_API void eng_rope_defaults(eng_rope_params *p);
ENG_API eng_value eng_rope(eng_graph *g, eng_value x, eng_value pos, eng_value ff, const eng_rope_params *p);
ENG_API eng_value eng_soft_max(eng_graph *g, eng_value x, eng_value mask, eng_value sinks, double scale,
                               double max_bias);
ENG_API eng_value eng_add(eng_graph *g, eng_value a, eng_value b);
ENG_API eng_value eng_sub(eng_graph *g, eng_value a, eng_value b);
ENG_API eng_value eng_mul(eng_graph *g, eng_value a, eng_value b);
ENG_API eng_value eng_div(eng_graph *g, eng_value a, eng_value b);
ENG_API eng_value eng_scale(eng_graph *g, eng_value x, double s, double b);
ENG_API eng_value eng_clamp(eng_graph *g, eng_value x, double min, double max);
ENG_API eng_value eng_unary(eng_graph *g, eng_value x, int kind);
typedef struct eng_glu_params {
    uint32_t size;
    int32_t swapped;     /* without b: the gate is the second half of a's rows  */
    double alpha, limit; /* of ENG_GLU_SWIGLU_OAI                              */
} eng_glu_params;
/* The first half is the gate; alpha 1.702, limit 7. */
ENG_API void eng_glu_defaults(eng_glu_params *p);
/* kind: ENG_GLU_*; p: NULL for the defaults. */
ENG_API eng_value eng_glu(eng_graph *g, eng_value a, eng_value b, int kind, const eng_glu_params *p);
ENG_API eng_value eng_add_id(eng_graph *g, eng_value a, eng_value b, eng_value ids);
ENG_API eng_value eng_concat(eng_graph *g, eng_value a, eng_value b, int dim);
ENG_API eng_value eng_repeat(eng_graph *g, eng_value x, const int64_t *ne, uint32_t rank);
ENG_API eng_value eng_pad(eng_graph *g, eng_value x, const int64_t *left, const int64_t *right, uint32_t rank);
ENG_API eng_value eng_reshape(eng_graph *g, eng_value x, const int64_t *ne, uint32_t rank);
ENG_API eng_value eng_permute(eng_graph *g, eng_value x, const int *dims, uint32_t rank);
ENG_API eng_value eng_slice(eng_graph *g, eng_value x, int dim, int64_t begin, int64_t length);
/* Any layout of x's memory, x contiguous: extents ne[], strides nb[] in bytes and an offset
 * in bytes, all of rank entries.  Nothing may be written through it if elements overlap. */
ENG_API eng_value eng_view(eng_graph *g, eng_value x, const int64_t *ne, const int64_t *nb, uint32_t rank,
                           int64_t offset);
ENG_API eng_value eng_argmax(eng_graph *g, eng_value x);
/* Indices that sort each row, from the smallest or from the largest. */
ENG_API eng_value eng_argsort(eng_graph *g, eng_value x, int descending);
ENG_API eng_value eng_cumsum(eng_graph *g, eng_value x);
ENG_API eng_value eng_top_k(eng_graph *g, eng_value x, int64_t k);
ENG_API eng_value eng_sum_rows(eng_graph *g, eng_value x);

/* -- plans --------------------------------------------------------------------- */

/* Compiles a sealed graph for a device of its context, or finds the plan compiled for an
 * equal graph before (the device keeps the last ones).  Asks the device whether it
 * supports every node; places scratch memory by lifetime.  The graph may go afterwards.
 * A composed device cuts the graph as the bound tensors are cut.  It takes them from its
 * stores by name, shape and type; if one is not there, or lies in several ways, it waits for
 * the first instance, and eng_instance_create then tells what cannot be. */
ENG_API int eng_plan_create(eng_device *device, const eng_graph *graph, eng_plan **plan);
ENG_API void eng_plan_release(eng_plan *plan);
typedef struct eng_plan_info {
    uint32_t size;
    uint32_t n_nodes;          /* of the graph, views included                */
    uint64_t scratch_bytes;    /* memory of an instance, after reuse; 0 for a
                                  device composed of others: eng_plan_explain */
    uint64_t unshared_bytes;   /* the same if nothing were reused             */
    uint64_t n_launches;       /* pieces of work that a run gives the device: fewer than nodes
                                  where several are one; 0: the device does not say */
} eng_plan_info;
ENG_API int eng_plan_get_info(const eng_plan *plan, eng_plan_info *info);
/* Plans that the device has compiled so far (cache hits not counted). */
ENG_API uint64_t eng_device_plans_built(const eng_device *device);
/* Writes what was decided for the plan: its memory, and what the device has to tell
 * (nothing is no failure; as JSON or graphviz it is an empty object or graph). */
ENG_API int eng_plan_explain(const eng_plan *plan, eng_explain_format format, eng_emit_func emit, void *ctx);

/* Memory of one run, bound to stores: stores[slot] for each slot of the graph; one
 * store may be given for several.  ENG_ERR_INVALID if an op then writes in place what it reads through another
 * slot, unless the graph was built with one store in both. */
ENG_API int eng_instance_create(eng_plan *plan, eng_store *const *stores, uint32_t n_stores, eng_instance **instance);
ENG_API void eng_instance_destroy(eng_instance *instance);

/* -- queues and fences ----------------------------------------------------------- */

/*
 * A queue does work in order: each begins when the one before is done, and when the
 * fences are passed that it waits for (n_waits of them, copied), which may be of other
 * queues and other devices of the context.  Giving it work never waits for any of that.  A fence
 * exists only once its work was given, so no work can wait for itself.
 *
 * On a device that computes with the host's processors work is done by the thread
 * that waits for it (eng_fence_wait), or, if nobody does, by a thread of the library
 * soon after: at once where that happens again and again.
 *
 * A failure is the fence's: whoever waits for it is told the same, as often as they ask.
 * Work that was queued behind it before a wait has told it to the host, and work of other queues
 * that waits for its fence, is not done and carries the same failure; what a device
 * has begun on its own by then is done, and carries it too.  Once it was told, the queue
 * does new work again.
 */
ENG_API int eng_queue_create(eng_device *device, eng_queue **queue);
/* Waits for the queue's work; cancel it first if that is not wanted.  No other thread uses
 * the queue then; work of other queues may still wait for its fences. */
ENG_API void eng_queue_destroy(eng_queue *queue);
/* All work that was given to the queue and is not done ends with ENG_ERR_CANCELLED: what runs at
 * the end of the task that it is at (what has been given to an asynchronous device and cannot
 * be called back is done), the rest at once.  The queue does what is given to it afterwards. */
ENG_API int eng_queue_cancel(eng_queue *queue);
/* fence may be NULL.  The instance, and the data of regions, are the queue's until the
 * fence is passed; the regions themselves are copied. */
ENG_API int eng_queue_submit(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_instance *instance,
                             const int64_t *params, uint32_t n_params, eng_fence *fence);
/* The host's data to and from a tensor: many rows, with strides, in one call (eng_range: bytes that lie
 * together).  Where several regions have the same bytes it is not said whose are written. */
ENG_API int eng_queue_write(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_store *store,
                            uint32_t tensor, const eng_region *regions, uint32_t n_regions, eng_fence *fence);
ENG_API int eng_queue_read(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_store *store,
                           uint32_t tensor, const eng_region *regions, uint32_t n_regions, eng_fence *fence);
/* What the instance's last run has left of a value that was kept (eng_graph_keep) or is a bound tensor: as
 * eng_queue_read.  The value's number is the graph's that the plan was made from.  ENG_ERR_NOTFOUND if it was not
 * kept. */
ENG_API int eng_instance_read(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_instance *instance,
                              eng_value value, const eng_region *regions, uint32_t n_regions, eng_fence *fence);
/* The address of such a value in the host's memory, if the device has it there in the contiguous layout
 * (ENG_ERR_UNSUPPORTED if not: eng_instance_read serves always).  It is as long-lived as the instance, and may
 * be used while no queue works on that. */
ENG_API int eng_instance_map(eng_instance *instance, eng_value value, void **data);
/* timeout in nanoseconds; UINT64_MAX: for ever; 0: only asks.  ENG_ERR_TIMEOUT: it is not done yet, and
 * goes on; it can be waited for again.  Else what has become of the fence's work. */
ENG_API int eng_fence_wait(eng_fence fence, uint64_t timeout);

#ifdef __cplusplus
}
#endif
#endif
