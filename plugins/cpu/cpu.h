/*
 * What the files of the cpu plugin share.
 *
 * Most of the plugin is compiled once.  ops/ is compiled once per
 * instruction set (scalar, avx2, avx512, neon) with other flags and another
 * suffix; each copy ends in one table, struct cpu_variant, and a device uses
 * the table that suits the machine.  avx2vnni, avx512vnni and neondot are
 * avx2, avx512 and neon with dot products of bytes (planes/, units/), amx and
 * neonmm the last two with products of matrices (tiles/, planes/pairs.c).
 */
#ifndef CPU_H
#define CPU_H

#include <pthread.h>
#include <stdatomic.h>

#include <engine/plugin.h>

#include "libengine/util/util.h"

#include "format.h"
#include "run/pace.h"

typedef struct cpu_task cpu_task;
typedef struct cpu_run cpu_run;
typedef struct cpu_variant cpu_variant;
struct cpu_gemm;

/* Two ways to share out an instance's tasks: what pays where threads find one
 * another at once, and where they must be woken. */
enum { CPU_EAGER, CPU_SPARING, CPU_WAYS };

/* Who does a task: all threads, a share each; thread 0, for it is too small to share; or every thread the whole of it,
 * into memory of its own, so that none waits for the result (CPU_EAGER). */
typedef enum cpu_by { CPU_BY_ALL, CPU_BY_ONE, CPU_BY_EACH } cpu_by;

/* Portions of a thread's share that have been begun, by whomever; in a line of its own. */
typedef struct cpu_taken {
    _Alignas(64) atomic_int portions;
} cpu_taken;

/* One node of an instance, ready to run. */
struct cpu_task {
    void (*run)(const cpu_task *task, cpu_run *run);
    const cpu_variant *variant;
    const eng_node *node;
    const eng_op_info *info;
    const cpu_tensor *in[ENG_MAX_INPUTS]; /* NULL: absent                    */
    const cpu_tensor *out[ENG_MAX_OUTPUTS];
    uint8_t *shared;  /* scratch that all threads of the task share          */
    bool barrier[CPU_WAYS]; /* wait for all threads before it                */
    uint8_t by[CPU_WAYS];   /* cpu_by                                        */
    double nanoseconds; /* a guess at the time that one thread takes         */
    const cpu_task *own; /* the task of each thread where it meets values that every thread has for itself; NULL: it does not */
    bool again;       /* it begins as the task before did, whose columns are packed for it, too */
    bool past;        /* the caches: they would not keep the result (ops/past.h) */
    cpu_taken *taken; /* of each thread's share; NULL: every thread does its own (cpu_take) */
};

/* One thread's part in the work of a submit. */
struct cpu_run {
    int thread, threads;
    const int64_t *params;
    uint32_t n_params;
    eu_team *team;
    uint8_t *scratch; /* this thread's own memory                            */
    bool packed;      /* it has what the task before packed, for one that does so again */
};

/* -- the op table ------------------------------------------------------------ */

typedef struct cpu_op {
    void (*run)(const cpu_task *task, cpu_run *run);
    /* Bytes of scratch for each thread, and shared by them; NULL: none. */
    size_t (*thread_bytes)(const cpu_task *task, int threads);
    size_t (*shared_bytes)(const cpu_task *task, int threads);
    bool takes; /* by cpu_take, once in a run                                */
    /* Would b pack what a, the task before it, has packed, in the same place?  NULL: it does not. */
    bool (*again)(const cpu_task *a, const cpu_task *b, int threads);
} cpu_op;

#define CPU_PACKED_TOGETHER 16 /* columns */

/* A way to multiply rows of a type with columns of k elements: scratch that it needs for n of them, columns packed
 * before (as cpu_gemm_pack) and their bytes, aligned, rows m0 .. m1 - 1 of the product, and how many rows threads share
 * out at a time. */
typedef struct cpu_products {
    size_t (*scratch_bytes)(uint32_t type, int64_t k, int64_t n);
    size_t (*packed_bytes)(uint32_t type, int64_t k, int64_t n);
    void (*pack)(const struct cpu_gemm *g, int64_t c0, int64_t c1, void *out);
    void (*rows)(const struct cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
    int64_t (*grain)(int64_t n);
    /* Of a packed column, if those from a multiple of CPU_PACKED_TOGETHER on lie behind those before, and packing takes so
     * long that of several calls of rows() each should be given packed ones, which takes the scratch of none (and with
     * packed_bytes() that of as many); else NULL.  For mul_mat_id columns lie one after another. */
    size_t (*column_bytes)(uint32_t type, int64_t k);
} cpu_products;

/* Units for small numbers, which a variant may have for products in precision fast (units/). */
typedef struct cpu_units {
    cpu_products products;
    bool (*takes)(uint32_t type, uint32_t group, int64_t n); /* rows in such groups, with n columns */
    double (*dot)(int64_t rounds, float *sum); /* for a roof, as fma of a variant: dot products of bytes; NULL: none */
} cpu_units;

/* Products of weights with rows side by side, which a variant may have. */
typedef struct cpu_interleaved {
    cpu_products exact, fast;
    uint64_t types;     /* that are kept so: a bit each */
    uint64_t tried;     /* those of them that are only if that pays on this machine */
    bool (*pays)(void); /* NULL: there are none */
    uint64_t rounded;   /* of strips: types for which there is `fast`; others are exact, or for units */
    /* What products of that type with about n columns of k elements are done by instead, in fast or in exact, with all columns
     * or with those that are chosen for it; NULL: by these (or it is NULL: so are all).  Where it never is in fast, `fast` is left out. */
    const cpu_products *(*instead)(uint32_t type, int64_t k, int64_t n, bool fast, bool all_meet);
} cpu_interleaved;

/*
 * Attention's blocks of CPU_ATTN_CELLS cells by a matrix unit, which a variant may have: d elements of a key, e of a value, so
 * many queries, `group` of each token; types of caches, and bytes of their rows.  Scores are [query][cell], sums [query][e]; of
 * both there are CPU_ATTN_TOGETHER queries or a multiple, the last without a meaning.  Keys and values are rows
 * (ops/attention.h) as the caches have them, or, if the unit wants that, of floats, one after another, CELLS of them: zeros where
 * there are no cells.  `next` (ops/rows.h) is what is asked for meanwhile: with keys the block's values, with values the next keys.
 */
#define CPU_ATTN_TOGETHER 16
typedef struct cpu_attn_shape {
    int64_t d, e, columns, group;
    uint32_t key, value;
    int64_t key_bytes, value_bytes;
} cpu_attn_shape;
struct cpu_rows;
struct later_rows;
typedef struct cpu_attn_unit {
    bool floats;
    bool (*takes)(const cpu_attn_shape *s);
    size_t (*scratch_bytes)(const cpu_attn_shape *s);
    void (*queries)(const cpu_attn_shape *s, const uint8_t *const *q, uint8_t *scratch);
    void (*scores)(const cpu_attn_shape *s, const struct cpu_rows *k, const struct later_rows *next, float *score, uint8_t *scratch);
    void (*values)(const cpu_attn_shape *s, const struct cpu_rows *v, const struct later_rows *next, const float *p, float *sum,
                   uint8_t *scratch); /* adds */
    void (*end)(void); /* after the last block of a chunk; NULL: nothing to be done */
} cpu_attn_unit;

/* The gated delta rule in chunks by a matrix unit, which a variant may have for precision fast: heads of s keys, which have
 * one gate or one each; tokens begin .. end - 1 of some units (ops/delta.h) of a sequence, which are heads side by side. */
#define CPU_DELTA_HEADS 4 /* at once: of each token what they read is one piece of memory */
struct delta_unit;
typedef struct cpu_delta_unit {
    bool (*takes)(int64_t s, bool one_gate);
    size_t (*scratch_bytes)(int64_t s);
    void (*run)(const cpu_task *task, const struct delta_unit *units, int64_t n, int64_t begin, int64_t end, uint8_t *scratch);
} cpu_delta_unit;

struct cpu_variant {
    const char *name;
    bool (*works)(void);       /* tried once where the processor has them; NULL: no need */
    const cpu_op *const *ops;  /* by op number; NULL: nothing to compute      */
    const cpu_format *formats; /* by type number, CPU_TYPES entries           */
    void (*to_f16)(const float *x, uint16_t *out, int64_t n);
    /* For roofs: a sum of n floats; a copy of n floats between aligned addresses, past the caches; operations done in
     * so many rounds of nothing but fused multiply and add. */
    float (*read)(const float *x, int64_t n);
    void (*copy)(const float *x, float *y, int64_t n);
    double (*fma)(int64_t rounds, float *sum);
    double (*matrix)(int64_t rounds, float *sum); /* of a matrix unit; NULL: none */
    const cpu_units *units; /* NULL: none                                    */
    const cpu_attn_unit *attention, *attention_fast; /* exact; in precision fast tried before that; NULL: none */
    const cpu_delta_unit *delta;    /* NULL: none                            */
    const cpu_interleaved *planes, *strips; /* of EU_LANES (planes/) and EU_STRIP rows (ops/gemm_strips.c); NULL: none */
};

/* What a variant has of its own of the ops with whose suffix a file is compiled. */
#define CPU_VARIANT_OPS                                                                                                \
    .ops = CPU_V(cpu_ops), .formats = cpu_formats, .to_f16 = CPU_V(cpu_to_f16), .read = CPU_V(cpu_read),               \
    .copy = CPU_V(cpu_copy), .fma = CPU_V(cpu_fma)

extern const cpu_variant cpu_variant_scalar, cpu_variant_avx2, cpu_variant_avx2vnni, cpu_variant_avx512,
    cpu_variant_avx512vnni, cpu_variant_amx, cpu_variant_neon, cpu_variant_neondot,
    cpu_variant_neonmm;
/* The best variant for this machine, or the one asked for by name; NULL if it
 * does not exist or cannot run here.  `amx`: the option of that name. */
const cpu_variant *cpu_variant_find(const char *name, const char *amx);

/* -- the threads of a run ------------------------------------------------------- */

/* All of them wait for one another. */
static inline void cpu_barrier(const cpu_run *run)
{
    if (run->threads > 1)
        eu_team_barrier(run->team);
}

/* This thread's share of `total` units, in multiples of `grain`. */
static inline void cpu_share(const cpu_run *run, int64_t total, int64_t grain, int64_t *begin, int64_t *end)
{
    int64_t groups = (total + grain - 1) / grain;
    int64_t b = groups * run->thread / run->threads * grain, e = groups * (run->thread + 1) / run->threads * grain;
    *begin = b < total ? b : total;
    *end = e < total ? e : total;
}

/*
 * Work that is taken in portions: a thread's own share first, then what others have not begun of theirs, so that one
 * that is held up (a busy neighbour on its core, a slower core) keeps the others waiting for a portion and not for its
 * share.  Who does what is not known before: results must not depend on it.
 */
typedef struct cpu_portions {
    cpu_taken *taken; /* NULL: every thread does its own share               */
    cpu_run share;    /* whose share is being taken from                     */
    int64_t total, each; /* units, and those of a portion                    */
    int left;         /* shares that have not been looked at                 */
} cpu_portions;

#define CPU_PORTIONS 8 /* of a share */

/* `least`: units of a portion, unless a share is smaller. */
static inline cpu_portions cpu_portions_of(const cpu_task *task, const cpu_run *run, int64_t total, int64_t least)
{
    const int64_t each = total / run->threads / CPU_PORTIONS, most = each > least ? each : least;
    cpu_taken *taken = run->threads > 1 ? task->taken : NULL;
    return (cpu_portions){taken, *run, total, most > 0 ? most : 1, taken ? run->threads : 1};
}

/* The next portion; false: there is none. */
static inline bool cpu_take(cpu_portions *p, int64_t *begin, int64_t *end)
{
    for (; p->left > 0; p->left--, p->share.thread = (p->share.thread + 1) % p->share.threads) {
        cpu_share(&p->share, p->total, 1, begin, end);
        if (!p->taken) {
            p->left--;
            return *begin < *end;
        }
        atomic_int *portions = &p->taken[p->share.thread].portions;
        int64_t first = *begin + atomic_load_explicit(portions, memory_order_relaxed) * p->each;
        if (first < *end)
            first = *begin + atomic_fetch_add_explicit(portions, 1, memory_order_relaxed) * p->each;
        if (first < *end) {
            *begin = first;
            *end = *end - first > p->each ? first + p->each : *end;
            return true;
        }
    }
    return false;
}

/* -- turns of runs with the team (turns.c) --------------------------------------- */

typedef struct cpu_turn {
    struct cpu_turn *after;
} cpu_turn;
typedef struct cpu_turns {
    pthread_mutex_t lock;
    pthread_cond_t next;
    cpu_turn *first, *last; /* the first has its turn                        */
    atomic_int waiting;     /* the others: may be read without the lock      */
} cpu_turns;
bool cpu_turns_init(cpu_turns *turns);
void cpu_turns_end(cpu_turns *turns);
/* ENG_RUN_GO_ON: it is this one's turn.  Else what `control` (may be NULL) has answered meanwhile. */
uint32_t cpu_turns_take(cpu_turns *turns, cpu_turn *turn, const eng_run *control);
void cpu_turns_give(cpu_turns *turns, cpu_turn *turn);

/* -- devices --------------------------------------------------------------------- */

struct eng_plugin_state {
    const eng_services *services;
    pthread_mutex_t lock;             /* of what follows                         */
    struct hwloc_topology *topology;  /* see topology.h                          */
};

struct eng_device_state {
    const eng_services *services;
    eng_host *host;
    const cpu_variant *variant;
    eu_team *team;
    int threads;
    struct hwloc_topology *topology; /* NULL: not known, or a whole machine's   */
    int *cores;               /* on which a part's threads are kept          */
    uint32_t n_cores;         /* 0: anywhere                                 */
    uint64_t past_from;       /* bytes of results that are stored past the caches */
    cpu_turns turns;          /* with the team and scratch                   */
    pthread_mutex_t lock;     /* of the statistics                           */
    uint8_t **scratch;        /* each thread's, grown as instances need it   */
    size_t scratch_bytes;
    eng_device_info info;
    eng_device_stats stats;
};

struct eng_store_state {
    eng_device_state *device;
    uint32_t n;
    struct cpu_stored {
        uint8_t *data;
        uint64_t bytes;
        uint32_t use;
        eng_layout_info layout;
        eu_packing packing;
    } *tensors;
    uint8_t *memory;
    size_t bytes;
};

struct eng_queue_state {
    eng_device_state *device;
};

/* A compiled sub-graph: the list of its nodes that do something. */
struct eng_plan_state {
    eng_device_state *device;
    const eng_subgraph *graph;
    uint32_t n_nodes;
    uint32_t *nodes;          /* indices into graph                          */
    uint32_t *section_first;  /* n_sections + 1: positions in nodes          */
};

/* What a binding of a plan is bound to. */
typedef struct cpu_bound {
    eng_store_state *store;
    uint32_t tensor;
} cpu_bound;

struct eng_instance_state {
    eng_plan_state *plan;
    cpu_bound *bound;         /* graph->n_bindings                           */
    cpu_tensor *tensors;      /* one for each of the graph's                 */
    cpu_task *tasks;          /* plan->n_nodes                               */
    uint8_t *arena;
    size_t arena_bytes;
    uint8_t *shared;
    size_t shared_bytes;
    cpu_taken *taken;         /* of the tasks that are taken in portions, one after another */
    size_t n_taken;
    struct cpu_own {          /* values that each thread computes for itself (run/own.c) */
        uint8_t *memory;      /* `bytes` of each thread, one after another   */
        size_t bytes;
        cpu_tensor *tensors;
        cpu_task *tasks;
    } own;
    cpu_pace pace;
    int way, threads;         /* of the run that is not at its end           */
};

#define CPU_MAX_CORES 1024

/* Does the processor have them: scalar, avx2, avx2vnni, avx512, avx512vnni, amx, neon, neondot or neonmm?  `amx`: off, or as the plugin's
 * option of that name says. */
bool cpu_machine_runs(const char *instructions, const char *amx);
/* The whole machine as a device: what enumerate says. */
int cpu_machine_describe(const eng_services *services, eng_device_info *info);
/* Bytes that the last caches of so many cores keep, together. */
uint64_t cpu_machine_cache(uint32_t cores);
/* Memory of the machine that the process may have, and what of it programs can still get, in bytes; 0: not known. */
void cpu_memory_find(uint64_t *total, uint64_t *available);
uint64_t cpu_memory_swap(void); /* what the system may put elsewhere, in bytes */
/* Zeroed memory aligned to CPU_ALIGN, in large pages where it is large; NULL: there is no more. */
void *cpu_memory_get(size_t bytes);
/* The same, for a store: near the device's cores. */
void *cpu_memory_near(const eng_device_state *device, size_t bytes);
void cpu_memory_free(void *memory, size_t bytes);
/* Small things of the host, for `what`: says so, and returns ENG_ERR_NOMEM. */
static inline int cpu_no_memory(const eng_services *services, const char *what)
{
    return services->fail_code(services->host, EU_NO_MEMORY_IN("cpu", what));
}
/* The same with figures, of memory for tensors. */
int cpu_memory_refused(const eng_device_state *device, uint64_t bytes, const char *what);

/* Larger working memory for every thread, or what there was: living instances need that. */
int cpu_scratch_grow(eng_device_state *device, size_t bytes);
void cpu_scratch_free(eng_device_state *device);

const eng_type_info *cpu_type(uint32_t type); /* NULL: unknown */

int cpu_device_open(eng_plugin_state *plugin, const eng_device_request *request, const cpu_variant *variant,
                    eng_device_state **device);
void cpu_device_close(eng_device_state *device); /* its scratch is freed by then */
int cpu_device_info(eng_device_state *device, eng_device_info *info);
int cpu_device_stats(eng_device_state *device, eng_device_stats *stats);
int cpu_device_roof(eng_device_state *device, uint32_t what, double *per_second);
int cpu_supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer, char *reason,
                 size_t reason_bytes);
/* Views only name memory, extern nodes only end a section. */
bool cpu_idle(const eng_op_info *info);
int cpu_plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan);
void cpu_plan_destroy(eng_plan_state *plan);
int cpu_plan_launches(eng_plan_state *plan, uint64_t *launches);
int cpu_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                        eng_instance_state **instance);
void cpu_instance_destroy(eng_instance_state *instance);
int cpu_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store);
void cpu_store_destroy(eng_store_state *store);
int cpu_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
int cpu_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n);
int cpu_layout(eng_device_state *device, const eng_store_tensor *tensor, eng_layout_info *info);
int cpu_store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info);
/* Regions to or from a tensor whose data are there. */
int cpu_move(const eng_device_state *device, uint8_t *data, uint64_t bytes, const eng_region *regions, uint32_t n,
             bool upload);
int cpu_queue_create(eng_device_state *device, eng_queue_state **queue);
void cpu_queue_destroy(eng_queue_state *queue);
int cpu_queue_run(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                  const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket);
int cpu_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket);
int cpu_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket);
int cpu_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket);
int cpu_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket);
int cpu_value_map(eng_instance_state *instance, int32_t tensor, void **data);

#endif
