/* The host side's own structures: op files include opencl.h alone. */
#ifndef CL_HOST_H
#define CL_HOST_H

#include "opencl.h"

/* -- plugin ------------------------------------------------------------------- */

typedef struct cl_found {
    cl_platform_id platform;
    cl_device_id id;
    char refused[192]; /* why it cannot be used; "": it can                     */
    uint64_t held;     /* bytes, by all that have it open (found_lock)          */
    cl_context context; /* of all that have the whole of it open (found_lock) */
    uint32_t openings; /* of that context                                       */
} cl_found;

struct eng_plugin_state {
    const eng_services *sv;
    cl_found *found;
    size_t found_room;
    uint32_t n;
    bool searched;
    pthread_mutex_t found_lock; /* of what all that have a device open share   */
};

/* device.c */
int cl_device_describe(const eng_services *sv, const cl_found *found, uint32_t index, eng_device_info *info);
int cl_device_opened(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device);
void cl_device_close(eng_device_state *device);
int cl_device_stats(eng_device_state *device, eng_device_stats *stats);
/* svm.c: has the device fine-grained shared virtual memory?  alloc and free only if it has; alloc NULL: there is no more */
bool cl_svm_found(cl_device_id id);
void *cl_svm_alloc(cl_context context, size_t bytes);
void cl_svm_free(cl_context context, void *memory);
/* budget.c: `what` the bytes are for.  ENG_ERR_NOMEM: more than is left. */
int cl_budget_take(cl_device *device, const uint64_t bytes[CL_USES], const char *what);
void cl_budget_give(cl_device *device, const uint64_t bytes[CL_USES]);
/* For figures alone: what is in memory that is not the device's. */
void cl_budget_note(cl_device *device, const uint64_t bytes[CL_USES], bool add);
uint64_t cl_budget_left(cl_device *device); /* of the whole device; 0: none, or not known */
/* loops.c: ENG_ERR_UNSUPPORTED if the driver ends loops early */
int cl_loops_check(cl_device *device);
/* CL_CAP_MMA or CL_CAP_WMMA, and device->matrix, by option `matrix`; auto: what is tried and right. */
int cl_matrix_find(cl_device *device);
/* CL_CAP_SHUFFLE, and device->shuffle, by option `shuffle`; auto: where it is tried and right. */
int cl_shuffle_find(cl_device *device);
/* CL_CAP_DOT4 or CL_CAP_DOT4_IN_C, by option `dot4`. */
int cl_dot4_find(cl_device *device);
/* What options `dot2`, `bf16` and `tiles` say of these. */
int cl_dot2_options(cl_device *device);
int cl_bf16_options(cl_device *device);
int cl_tiles_options(cl_device *device);
/* share.c: option compile; which of n programs or launches comes i-th. */
int cl_share_options(cl_device *device);
uint32_t cl_share_nth(const cl_device *device, uint32_t i, uint32_t n);
/* roof.c */
int cl_device_roof(eng_device_state *device, uint32_t what, double *per_second);
/* search.c */
int cl_search(eng_plugin_state *plugin);
/* caps.c */
void cl_caps_find(cl_device *device);
bool cl_caps_mask(uint32_t *caps, const char *list);
bool cl_caps_allowed(const cl_device *device, uint32_t cap); /* does option `capabilities` leave it? */
void cl_caps_text(uint32_t caps, char *text, size_t bytes);
void cl_caps_defines(const cl_device *device, char *text, size_t bytes);
bool cl_has_extension(cl_device_id id, const char *name);

/* -- memory --------------------------------------------------------------------- */

/* One buffer; host is its memory where the host may use it without mapping, else NULL. */
typedef struct cl_block {
    cl_mem mem;
    void *host;
    uint64_t bytes;
} cl_block;
int cl_block_create(cl_device *device, uint64_t bytes, bool zero, const char *what, cl_block *block);
/* The same for scratch memory, whose values the host may look at and change. */
int cl_block_create_scratch(cl_device *device, uint64_t bytes, const char *what, cl_block *block);
void cl_block_destroy(cl_block *block);
/* The host's memory, which is only read and must outlive the block. */
int cl_block_wrap(cl_device *device, const void *data, uint64_t bytes, const char *what, cl_block *block);

/* Reads and writes of a range of a tensor: one OpenCL command per piece. */
typedef struct cl_place {
    cl_mem mem;
    uint64_t at;    /* of the byte asked for, in mem                           */
    uint64_t bytes; /* that follow in the same piece                           */
    void *host;     /* of the byte asked for, or NULL                          */
} cl_place;

typedef struct cl_stored {
    cl_split split;
    uint32_t type, use;
    eng_layout_info layout;
    const char *data; /* the host's, used in place, or NULL                    */
    struct cl_store_piece { uint32_t block; uint64_t at; } *pieces;
} cl_stored;

struct eng_store_state {
    cl_device *device;
    cl_stored *tensors;
    uint32_t n;
    cl_block *blocks;
    uint32_t n_blocks;
    struct cl_store_piece *pieces;
    uint64_t by_use[CL_USES];       /* of the device's memory                  */
    uint64_t in_place[CL_USES];     /* of the host's                           */
    bool taken; /* both are counted */
};
int cl_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store);
void cl_store_destroy(eng_store_state *store);
int cl_layout(cl_device *device, const eng_store_tensor *tensor, eng_layout_info *info);
int cl_store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info);
/* Is it a weight that nobody reads, since the device only compiles (option compile)? */
bool cl_store_unread(const eng_store_state *store, uint32_t tensor);
int cl_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
int cl_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
bool cl_store_place(const eng_store_state *store, uint32_t tensor, uint64_t offset, cl_place *place);

/* transfer.c: a tensor of a store or of an instance, and who knows its places; one region of it, to or from host
 * memory.  *last: the event of the last command, which takes the place of what was there. */
typedef struct cl_range {
    bool (*place)(const struct cl_range *range, uint64_t offset, cl_place *place);
    const eng_store_state *store;
    const eng_instance_state *instance;
    int32_t tensor;
} cl_range;
bool cl_stored_place(const cl_range *range, uint64_t offset, cl_place *place);
cl_int cl_move_region(cl_command_queue queue, const cl_range *range, const eng_region *r, bool up, cl_event *last);
int cl_check_regions(const eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);

/* wait.c.  over: the command is complete (outcome CL_COMPLETE) or has failed (its error).  wait: until it is over; its
 * outcome, or the error of a driver that no longer says.  follow: `next`, a later command of the same queue (NULL:
 * none), takes the place of *last.  settle: waits for *last, releases it; `error`, or if that is CL_SUCCESS the outcome. */
bool cl_event_over(cl_event event, cl_int *outcome);
cl_int cl_event_wait(cl_event event);
void cl_event_follow(cl_event *last, cl_event next);
cl_int cl_event_settle(cl_event *last, cl_int error);
/* The calling thread is one of the host's that waits for commands; it is one that a driver has call the host.  Have these always been
 * different threads? */
void cl_thread_waits(void);
void cl_thread_calls(void);
bool cl_calls_by_itself(void);

/* -- programs ------------------------------------------------------------------- */

/* Finds the program, or builds it.  Any number of threads: each program is built by one of them, for which those
 * wait that want the same; nobody waits for a program that he does not want.  prelude: text before that of the file;
 * count: which of how many it is (" 12/31"), for people; NULL: none. */
int cl_program_get(cl_device *device, const char *file, const char *options, const char *prelude, const char *count,
                   cl_program_entry **entry);
/* The same of kernels/series.cl behind `prelude`, which names the parts, linked with these: programs without options of
 * their own but -DSERIES=i.  compile false: only what is known or kept on disk; *entry is NULL where there is none. */
int cl_program_link(cl_device *device, const char *prelude, cl_program_entry *const *parts, uint32_t n, bool compile,
                    cl_program_entry **entry);
/* What tells a program from others, as a line of text. */
void cl_program_name(const cl_program_entry *entry, char *text, size_t bytes);
/* Has it been built? */
bool cl_program_there(cl_device *device, const char *file, const char *options, const char *prelude);
/* Of a program without a prelude, without building it. */
int cl_program_hash(cl_device *device, const char *file, const char *options, cl_hash *hash);
/* source.c: appends text and the kernel file behind it, with what they include. */
int cl_source_whole(cl_device *device, const char *prelude, const char *name, eu_text *out);
/* compile.c: from source alone */
int cl_compile(cl_device *device, const char *file, const char *options, const eu_text *source, cl_program *program);
/* The same, to be linked (program.c). */
int cl_compile_part(cl_device *device, const char *file, const char *options, const eu_text *source, cl_program *program);
int cl_link(cl_device *device, const cl_program *parts, uint32_t n, cl_program *program);
int cl_program_kernel(cl_device *device, cl_program_entry *entry, const char *name, cl_kernel *kernel);
void cl_programs_release(cl_device *device);
/* cache.c: binaries on disk.  load: NULL if there is none that works. */
void cl_hash_add(cl_hash *hash, const void *data, size_t bytes);
bool cl_cache_there(cl_device *device, const cl_hash *hash); /* a file is, which may be damaged */
cl_program cl_cache_load(cl_device *device, const cl_hash *hash, const char *options);
void cl_cache_save(cl_device *device, const cl_hash *hash, cl_program program);
/* What became of a program that was tried, beside it.  BEGUN: the process has ended meanwhile, or is at it. */
typedef enum cl_verdict { CL_UNTRIED, CL_BEGUN, CL_WRONG, CL_RIGHT } cl_verdict;
cl_verdict cl_verdict_load(cl_device *device, const cl_hash *hash, int32_t *by); /* by: the process that has begun */
uint32_t cl_verdict_times(cl_device *device, const cl_hash *hash); /* how many have begun */
/* One that came to no end says little, since its user may have ended the process; after so many nobody tries again. */
enum { CL_MOST_ENDED = 2 };
void cl_verdict_save(cl_device *device, const cl_hash *hash, cl_verdict verdict);
/* program.c: what became of a program that was linked when it ran first.  Until that is told a process may have ended by it, and
 * after two that have there is none. */
void cl_program_proved(cl_device *device, const cl_program_entry *entry, cl_verdict verdict);
/* trial.c: is kernel `file` of file.cl right on the device?  `runs` tells of a kernel: an error if it could not be run.  Tried
 * once for each version of the driver. */
bool cl_trial(cl_device *device, const char *what, const char *file, const char *options,
              cl_int (*runs)(cl_device *device, cl_kernel kernel, bool *right));
/* What option `name` says of instructions of processors that are tried when weights want them: auto or `too` (NULL: nothing
 * else), if the device may have them, no or in-c, as CL_UNIT_* to `unit`. */
int cl_trial_option(cl_device *device, const char *name, const char *too, bool may_have_it, int *unit);
/* Tries them, once; what has become of `unit`. */
int cl_trial_once(cl_device *device, int *unit, const char *what, const char *file, const char *options,
                cl_int (*runs)(cl_device *device, cl_kernel kernel, bool *right));
/* For `runs`: one group of `items` does the kernel, whose first argument is a buffer of these bytes; what it has after that
 * takes their place. */
cl_int cl_trial_run(cl_device *device, cl_kernel kernel, size_t items, void *words, size_t bytes);
static inline uint32_t cl_trial_byte(const uint32_t *words, uint32_t at)
{
    return words[at / 4] >> at % 4 * 8 & 255;
}
/* keeper.c.  add: a program that was built from source and lives as long as the device, with programs_lock held.  end: keeps
 * one of them on disk, before the programs go. */
void cl_keeper_add(cl_device *device, cl_program program, const cl_hash *hash, bool first);
void cl_keeper_end(cl_device *device);
/* embedded.c, made by the build */
typedef struct cl_source { const char *name; const unsigned char *text; size_t bytes; } cl_source;
extern const cl_source cl_sources[];

/* -- plans ---------------------------------------------------------------------- */

enum { CL_ARG_TENSOR = 1, CL_ARG_NONE, CL_ARG_TEMPORARY, CL_ARG_VALUE, CL_ARG_LOCAL, CL_ARG_PARAM, CL_ARG_CONSTANT };

typedef struct cl_recorded_arg {
    uint8_t kind;
    uint8_t bytes;   /* of a value                                             */
    uint16_t field;  /* where in the launch's numbers its own is               */
    uint16_t index;  /* in a series: its buffer, or what a parameter makes of it */
    int32_t tensor;
    uint64_t at;     /* offset or local bytes                                  */
    union {
        uint8_t value[32];
        cl_param number;
    };
} cl_recorded_arg;

/* Is it one of the kernel's own parameters, and not of its numbers? */
static inline bool cl_is_buffer(const cl_recorded_arg *arg)
{
    return arg->kind == CL_ARG_TENSOR || arg->kind == CL_ARG_NONE || arg->kind == CL_ARG_TEMPORARY ||
           arg->kind == CL_ARG_CONSTANT;
}

typedef struct cl_recorded_size {
    cl_param number; /* without a parameter: fixed                             */
    int64_t per, times;
    uint16_t index;  /* as of an argument                                      */
} cl_recorded_size;

typedef struct cl_recorded {
    uint32_t wanted;           /* until the plan is recorded: which of its programs */
    cl_program_entry *program;
    char kernel[48];
    const char *variant; /* of the op that it is (ops/variant.h), or NULL */
    uint32_t node;
    uint32_t first_arg, n_args;
    uint32_t numbers, bytes, align; /* of the kernel's last argument: where among the plan's, its size (kernels/launch.clh) */
    uint32_t dims;
    bool dynamic;    /* an argument or a size depends on a plan parameter      */
    size_t global[3], local[3];
    cl_recorded_size size[3];
    uint32_t series, function; /* the series that it belongs to, + 1, and its kernel's number there; 0: to none */
    uint32_t stage;            /* which one of that series it is               */
} cl_recorded;

/* Bytes of a launch's numbers, and where in the plan's those of the next launch begin. */
static inline uint32_t cl_numbers_size(const cl_recorded *l)
{
    return (l->bytes + l->align - 1) / l->align * l->align;
}

static inline uint32_t cl_numbers_end(const cl_recorded *l)
{
    return (l->numbers + cl_numbers_size(l) + 31) / 32 * 32;
}

/* Where a scratch tensor's owner lies. */
typedef struct cl_slot { uint32_t block; uint64_t at; } cl_slot;

/* A program that a plan's launches want (needed.c); missing: it was not there when the plan was recorded. */
typedef struct cl_needed {
    char *file, *options, *prelude;
    bool missing;
    cl_program_entry *program;
} cl_needed;

/*
 * Launches that can be one (lower/series.c, run/series.c; kernels/series.cl is told these numbers).  The program is asked
 * for when the plan has run some times: until it is there launches are what they are.
 */
enum { CL_SERIES_BUFFERS = 16, CL_SERIES_NUMBERS = 1024, CL_SERIES_VALUES = 32, CL_NO_BUFFER = 255,
       CL_SERIES_FIXED = 0xffff, CL_SERIES_HOST = 0xffff };
#define CL_SERIES_MOMENT UINT32_MAX
typedef struct cl_series {
    uint32_t first, n;         /* launches                                     */
    uint32_t section, n_calls; /* of the host: where sections from this one on end; in plans of several */
    bool calls;                /* it has been seen to; valid when it is ready  */
    uint32_t n_buffers, n_values;
    int64_t *spaces;           /* of each buffer, as cl_covered has them       */
    char *prelude;             /* of the program                               */
    cl_program_entry **parts;
    uint32_t n_parts;
    cl_program_entry *program; /* valid when it is ready                       */
    atomic_bool ready;
} cl_series;

/* What a launch took, of all its runs (option profile). */
typedef struct cl_spent { _Atomic uint64_t ns, runs; } cl_spent;

typedef struct cl_readers cl_readers;
struct eng_plan_state {
    cl_device *device;
    const eng_subgraph *graph;
    cl_recorded *launches;
    uint32_t n_launches;
    size_t launch_room;
    cl_spent *spent;           /* one a launch; NULL: they are not timed       */
    cl_needed *wanted;         /* until the plan is complete                   */
    uint32_t n_wanted;
    size_t wanted_room;
    cl_recorded_arg *args;
    uint32_t n_args;
    size_t arg_room;
    uint32_t *section_first;   /* n_sections + 1 launches                      */
    uint64_t temporary;        /* bytes needed by the greediest node           */
    uint64_t node_temporary;   /* of the node being recorded                   */
    cl_readers *readers;       /* by tensor; only owners of memory count       */
    cl_hash *chains;           /* of the texts of chains that there are (fuse.c) */
    uint32_t n_chains;
    size_t chain_room;
    uint8_t *constants;        /* until the plan is complete                   */
    uint64_t n_constants;
    size_t constant_room;
    cl_block constant_block;
    cl_slot *slots;            /* by tensor; only owners in scratch count      */
    uint64_t *arena;           /* bytes of each scratch buffer                 */
    size_t arena_room;
    uint32_t n_arena;
    cl_series *series;
    uint32_t n_series;
    pthread_mutex_t series_lock; /* of their programs while they are built     */
    atomic_bool begun;         /* instances ask for what there is of programs of series */
    atomic_uint runs;          /* until these are compiled                      */
    pthread_t builder;         /* of these                                     */
    bool building;             /* it has begun, and nobody has waited for it yet */
    bool alone;                /* each op has a launch of its own              */
    eng_plan_state *ops_alone; /* such a plan, for instances that bind a tensor twice; NULL: none needed it yet */
    pthread_mutex_t alone_lock;
};
/* lower/series.c.  find: of a plan whose programs are built.  end: before the plan goes. */
int cl_series_find(eng_plan_state *plan);
void cl_series_end(eng_plan_state *plan);
int cl_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan);
/* The same in which nothing is fused: what may share a launch is decided by slots, not by what is bound to them.  It goes with the plan. */
int cl_plan_ops_alone(eng_plan_state *plan, eng_plan_state **alone);
void cl_plan_destroy(eng_plan_state *plan);
int cl_plan_explain(eng_plan_state *plan, uint32_t format, void (*emit)(void *ctx, const char *text), void *ctx);
/* device/needed.c.  want: while recording; build: when all is recorded. */
int cl_programs_want(eng_plan_state *plan, const char *file, const char *options, const char *prelude, uint32_t *index);
int cl_programs_build(eng_plan_state *plan);
void cl_programs_forget(eng_plan_state *plan);
int cl_plan_launches(eng_plan_state *plan, uint64_t *launches);
int cl_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer, char *reason,
                size_t reason_bytes);
/* fuse.c: records several nodes from `index` on as one launch; how many nodes that
 * did, 0: none, the node is recorded by its op. */
uint32_t cl_fuse(cl_recorder *r, uint32_t index);
/* The bytes that a tensor covers; space tells buffers apart. */
typedef struct cl_covered { int64_t space; uint64_t first, last; } cl_covered;
#define CL_SPACE_TEMPORARY INT64_MIN /* of buffers that no tensor lies in */
#define CL_SPACE_CONSTANT (INT64_MIN + 1)
cl_covered cl_covered_by(const eng_plan_state *plan, int32_t tensor);
static inline bool cl_overlap(const cl_covered *a, const cl_covered *b)
{
    return a->space == b->space && a->first <= b->last && b->first <= a->last;
}
/* Does the tensor's memory lie in one piece? */
bool cl_in_one_piece(const cl_recorder *r, const eng_tensor *t);
/* readers.c.  Does the node only make a view? */
bool cl_is_view(const cl_device *device, const eng_node *node);
/* Is tensor `root`, or a view of it, an operand of any node but `by`?  Nodes that only make views do not count. */
int cl_readers_count(eng_plan_state *plan);
bool cl_used_elsewhere(const cl_recorder *r, int32_t root, const eng_node *by);
/* heads.c: the same for what is done to rows of heads. */
uint32_t cl_fuse_heads(cl_recorder *r, uint32_t index);
/* products.c: the same for products of one operand with several matrices. */
uint32_t cl_fuse_products(cl_recorder *r, uint32_t index);
/* epilogue.c: the element-wise node of one operand that alone reads result 0 of node `index` and can be applied to it before
 * it is stored, or NULL; *more: how many nodes further on it is. */
const eng_node *cl_epilogue(const cl_recorder *r, uint32_t index, uint32_t *more);
/* arena.c */
int cl_arena_place(eng_plan_state *plan);

typedef struct cl_bound { eng_store_state *store; uint32_t tensor; } cl_bound;

/* A series of an instance: its kernel, and the table of its stages; made when the program is there. */
typedef void cl_after(void *context, uint32_t section);
typedef struct cl_staged {
    cl_kernel kernel;
    cl_block table;
    uint32_t counters;         /* where in the table                           */
    uint32_t run;              /* of the last launch                           */
    bool failed;
    cl_after *after;           /* what the launch calls                        */
    void *context;
} cl_staged;

struct eng_instance_state {
    eng_plan_state *plan;
    cl_bound *bound;
    cl_block *arena;           /* plan->n_arena                                */
    cl_block temporary;
    cl_kernel *kernels;        /* one a launch                                 */
    uint8_t *numbers;          /* of all launches                              */
    cl_event *events;          /* one a launch, while they are timed; or NULL  */
    cl_staged *staged;         /* one a series                                 */
    uint64_t bytes;
};
int cl_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                       eng_instance_state **instance);
void cl_instance_destroy(eng_instance_state *instance);
/* place.c.  Byte `offset` of tensor's contiguous layout. */
bool cl_instance_place(const eng_instance_state *instance, int32_t tensor, uint64_t offset, cl_place *place);
/* The buffer of an argument of a launch, or NULL; *at: where in it. */
cl_mem cl_instance_buffer(const eng_instance_state *instance, const cl_recorded_arg *arg, cl_ulong *at);
/* What a plan's parameters make of a number, and of a launch's size in a dimension. */
int64_t cl_number_of(const int64_t *params, uint32_t n, const cl_param *p);
size_t cl_size_of(const int64_t *params, uint32_t n, const cl_recorded *launch, unsigned dim);
int cl_value_map(eng_instance_state *instance, int32_t tensor, void **data);
/* run/series.c.  begin: an instance of the plan is made.  want: a run of the plan begins.  launch: those of the launches
 * from .. to - 1 that belong to the series of the first, as one; how many these are, 0: it is not ready.  release: what an
 * instance has of series. */
void cl_series_begin(eng_plan_state *plan);
void cl_series_want(eng_plan_state *plan);
uint32_t cl_series_launch(cl_command_queue queue, eng_instance_state *instance, uint32_t from, uint32_t to,
                          const int64_t *params, uint32_t n_params, cl_event *event, cl_int *error);
/* All series of a plan that has its launches in them, and after(context, section) where a section is done; false: they
 * are not ready, or cannot.  *event: of the last that was given, which may not be the last there is if *error says so. */
bool cl_series_through(cl_command_queue queue, eng_instance_state *instance, const int64_t *params, uint32_t n_params,
                       cl_after *after, void *context, cl_event *event, cl_int *error);
void cl_series_release(eng_instance_state *instance);

/* -- queues ---------------------------------------------------------------------- */

int cl_queue_create(eng_device_state *device, eng_queue_state **queue);
void cl_queue_destroy(eng_queue_state *queue);
int cl_queue_run(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                 const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket);
int cl_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket);
int cl_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                  uint32_t n, uint64_t *ticket);
int cl_queue_wait(eng_queue_state *queue, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed);
int cl_queue_after(eng_queue_state *queue, eng_queue_state *other, uint64_t ticket);
int cl_queue_call(eng_queue_state *queue, void (*function)(void *ctx), void *ctx, uint64_t *ticket);
int cl_queue_run_through(eng_queue_state *queue, eng_instance_state *instance, const int64_t *params, uint32_t n_params,
                         void (*after)(void *ctx, uint32_t section), void *ctx, uint64_t *ticket);
int cl_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                  uint32_t n, uint64_t *ticket);
int cl_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket);

/* tickets.c: the submissions of one command queue, and how far it has come. */
typedef struct cl_failure { uint64_t ticket; cl_int code; } cl_failure;
/* Submissions that follow one another and failed alike. */
typedef struct cl_failed_run { uint64_t first, last; cl_int code; } cl_failed_run;
#define CL_FAILURES 64 /* the last ones are remembered */
typedef struct cl_tickets {
    pthread_mutex_t lock;   /* of all that follows                             */
    uint64_t next;          /* ticket of the next submission                   */
    uint64_t done;          /* all tickets up to here are done                 */
    cl_event *events;       /* of tickets done + 1 .. next - 1: at ticket % room */
    uint64_t room;
    cl_failed_run failures[CL_FAILURES];
    unsigned n_failures;
    atomic_bool *lost;      /* the device's                                    */
} cl_tickets;
bool cl_tickets_init(cl_tickets *tickets);
void cl_tickets_end(cl_tickets *tickets); /* all is done */
/* Gives a submission whose last command has this event (NULL: none) its ticket. */
void cl_tickets_publish(cl_tickets *tickets, cl_command_queue queue, cl_event event, uint64_t *ticket);
/* Until all up to the ticket is done; *failure: the first after `after` that has failed, or ticket 0. */
typedef enum cl_waited { CL_WAITED, CL_WAITED_IN_VAIN, CL_WAITED_FOR_NOTHING } cl_waited;
cl_waited cl_tickets_wait(cl_tickets *tickets, uint64_t after, uint64_t ticket, uint64_t timeout, cl_failure *failure);
/* What is enqueued to `queue` from now on begins when the ticket is done; *done: it is. */
cl_int cl_tickets_follow(cl_tickets *tickets, uint64_t ticket, cl_command_queue queue, bool *done);

#endif
