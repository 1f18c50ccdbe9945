/*
 * The opencl plugin: what its files have in common, and the contract between
 * the host side and the op files (ops/<op>.c).
 *
 * How a plan comes about.  plan.c walks the sub-graph and calls record() of the
 * op's row for every node.  An op records launches: a kernel, its sizes, its
 * arguments.  Arguments that name a tensor stay symbolic; instance.c makes one
 * cl_kernel object per launch and sets every argument once, so that a submit
 * sets nothing but what depends on plan parameters, and enqueues.
 *
 * Memory.  A tensor's memory may lie in several cl_mem pieces, because a device
 * limits the size of one allocation (and option max_alloc lowers the limit).  A
 * piece holds a whole number of units, a unit being the largest of: a slice
 * along the outermost dimensions that fits, else a row.  So pieces never cut a
 * row, and cut inside a plane (dimension 2) only if a plane does not fit one
 * allocation.  Where the cuts are follows from the declared shape alone
 * (cl_split_of); an op sees them when it records.  A tensor argument is a buffer,
 * of the piece that holds the byte named, and that byte's offset in the buffer.
 *
 * Arguments.  A kernel's parameters are its buffers (and local memory) in the order
 * of the calls, then one struct of all its numbers, offsets among them, in the order
 * of the calls (kernels/launch.clh): drivers copy each argument by itself at every
 * launch, which costs more than a small kernel takes.
 *
 * Scratch tensors always lie in one piece.  Offsets of tensors are multiples of
 * CL_ALIGN bytes, unless the tensor is a view.
 *
 * Order.  A queue is in order: a launch sees all that earlier ones wrote.
 */
#ifndef CL_OPENCL_H
#define CL_OPENCL_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <engine/plugin.h>

#include "libengine/util/util.h"

#define CL_ALIGN 256u /* of scratch tensors and of tensors in a store */

typedef struct eng_plugin_state cl_plugin;
typedef struct cl_program_entry cl_program_entry;

/* -- devices ---------------------------------------------------------------- */

/* What a device can do, found by asking it, as far as anything depends on it.  Option `capabilities` masks them. */
enum {
    CL_CAP_UNIFIED = 1,   /* host and device share memory: buffers are the plugin's own memory */
    CL_CAP_DIVIDE = 2,    /* division and roots are rounded right: programs are built so */
    CL_CAP_INT_DOT = 4,   /* cl_khr_integer_dot_product: for variants of kernels */
    CL_CAP_MMA = 8,       /* mma.sync, which no query tells: tried, or in C (matrix.c)       */
    CL_CAP_WMMA = 16,     /* the same of AMD's wmma or mfma and Intel's dpas: other fragments */
    CL_CAP_DOT4 = 32,     /* dot products of bytes, which no query tells: tried (dot4.c)    */
    CL_CAP_DOT4_IN_C = 64, /* the same in C: any device, by option `dot4`, for tests        */
    CL_CAP_DOT2 = 128,    /* sums of two products of bytes, of processors: tried when weights want them (dot2.c) */
    CL_CAP_SHUFFLE = 256, /* 32 neighbours exchange registers, which no query tells: tried (shuffle.c) */
    CL_CAP_BF16 = 512,    /* products of bf16, of processors: tried when weights want them (bf16.c)   */
    CL_CAP_BF16_IN_C = 1024, /* the same in C: processors, by option `bf16`, for tests       */
    CL_CAP_TILES = 2048,  /* tiles of bf16, of processors (AMX): tried when weights want them (tiles.c)  */
    CL_CAP_TILES_IN_C = 4096 /* the same in C: processors, by option `tiles`, for tests      */
};

/* Bytes are counted by what they are held for: ENG_USE_*, and scratch memory. */
enum { CL_USE_SCRATCH = ENG_USE_MASK, CL_USES };

/* Of this opening of a device.  Any thread adds, without a lock: a submit waits for nobody. */
typedef struct cl_figures {
    _Atomic uint64_t submits, plans_built, compiled;
    _Atomic uint64_t bytes[CL_USES];
} cl_figures;

/* A program, by a hash of all that it is made of: its name on disk. */
typedef struct cl_hash { uint64_t a, b; } cl_hash;
/* The first program that was built from source (keeper.c); NULL: none was. */
typedef struct cl_unkept { cl_program program; cl_hash hash; } cl_unkept;

struct eng_device_state {
    cl_plugin *plugin;
    const eng_services *sv;
    cl_device_id id;
    cl_context context;
    cl_command_queue transfer; /* uploads, downloads, fills: in order, any thread enqueues */

    uint32_t caps;           /* CL_CAP_*                                        */
    bool fuse;               /* several small ops in one launch                 */
    bool profile;            /* launches are timed by events             */
    bool cached;             /* compiled programs are kept on disk              */
    uint32_t share, shares;  /* of compiling, which is all that is done; 0: runs (option compile) */
    bool compiles_late;      /* a kernel when it is launched, and not with its program */
    bool apart;              /* every tensor in a buffer of its own size        */
    int series;              /* CL_SERIES_*: launches that follow one another become one (lower/series.c) */
    bool svm;                /* scratch memory is the host's, too (svm.c)       */
    bool side_by_side;       /* a processor whose driver says that it has no vectors */
    bool vec;                /* kernel family: vec (CPUs) or simt (GPUs)        */
    uint32_t compute_units;
    size_t max_group;        /* work-items of a group                           */
    uint64_t local_bytes;    /* local memory of a group                         */
    uint64_t max_alloc;      /* bytes of one buffer, as option max_alloc wants   */
    uint64_t hard_limit;     /* bytes of one buffer, as the device allows        */
    uint64_t stream_least;   /* results of so many bytes are stored past the caches, by option stream */

    eng_device_info info;
    char options[256];       /* given to every build                            */
    char key[640];           /* identifies compiler and device in the cache     */

    pthread_mutex_t programs_lock; /* of the list and of what is in it; never held while the compiler runs */
    cl_program_entry *programs;
    cl_unkept unkept;
    cl_figures figures;
    uint64_t whole_memory;   /* of the device that this may be a part of; 0: not known */
    uint32_t parts;          /* that it was cut into                            */
    struct cl_found *found;
    atomic_bool lost;        /* found by any thread                             */
    pthread_mutex_t trials_lock; /* of what is tried when weights want it: CL_UNIT_NONE .. */
    bool matrix_halves;      /* its unit multiplies f16 right, too               */
    int matrix, shuffle;     /* the kind of its unit (matrix.c), how lanes exchange registers (shuffle.c), or 0 */
    int dot2, bf16, tiles;   /* as dot2.c, bf16.c and tiles.c have it            */
    atomic_bool bare;        /* programs are compiled without the compiler's own header, as long as none was refused */
};
typedef struct eng_device_state cl_device;

/* Option series: never; when a plan has run often; when it is made. */
enum { CL_SERIES_NO, CL_SERIES_AUTO, CL_SERIES_YES };
/* Instructions that are tried when weights want them. */
enum { CL_UNIT_NONE, CL_UNIT_NATIVE, CL_UNIT_IN_C, CL_UNIT_UNTRIED };
/* CL_CAP_BF16, CL_CAP_BF16_IN_C or none.  It is found out the first time. */
uint32_t cl_bf16_caps(cl_device *device);
/* The same of CL_CAP_TILES. */
uint32_t cl_tiles_caps(cl_device *device);
/* How programs multiply weights in lanes (kernels/registers.clh), and a set of the types that the device keeps so.
 * It is found out the first time. */
const char *cl_lanes_options(cl_device *device);
uint64_t cl_lanes_types(cl_device *device);

/* Text of an OpenCL error code, and the engine's status for it. */
const char *cl_error_name(cl_int error);
int cl_error_status(cl_int error);
/* sv->fail with "what: CL_NAME (advice)"; returns the status. */
int cl_failed(cl_device *device, cl_int error, const char *what);
#define cl_fail(device, status, ...) ((device)->sv->fail((device)->sv->host, (status), __VA_ARGS__))
/* Of the host; returns ENG_ERR_NOMEM. */
#define cl_no_memory(device, what)                                                                                   \
    ((device)->sv->fail_code((device)->sv->host, EU_NO_MEMORY_IN((device)->info.name, (what))))

/* -- where tensors are cut --------------------------------------------------- */

typedef struct cl_split {
    uint64_t bytes;       /* of the whole tensor                               */
    uint64_t row_bytes;   /* of dimension 0, whole blocks                      */
    uint64_t rows;        /* all further dimensions                            */
    uint64_t piece_rows;  /* rows of each piece but the last                   */
    uint64_t piece_bytes; /* piece_rows * row_bytes                            */
    uint32_t n;           /* pieces, at least 1                                */
    uint32_t group;       /* rows packed together; 1: as in the file           */
} cl_split;

/* Cuts of a contiguous tensor (layout: eng_layout_info.layout); a row, or a group of packed ones, larger than max_alloc is a piece of its own.
 * ENG_ERR_UNSUPPORTED (without text) if one row is larger than the device allows. */
int cl_split_shape(const cl_device *device, uint32_t type, const int64_t *ne, uint32_t rank, uint32_t layout,
                   cl_split *split);
/* Cuts of the memory that tensor t shares, that is, of its root. */
int cl_split_of(const cl_device *device, const eng_subgraph *graph, const eng_tensor *t, cl_split *split);
/* What kernels that read matrix t as their operand a are built with (packed.clh): "-DAT=q4_0", and how it is packed. */
#define CL_OPTIONS 128
void cl_matrix_options(cl_device *device, const eng_tensor *t, char options[CL_OPTIONS]);

/* -- recording launches -------------------------------------------------------- */

typedef struct cl_recorder {
    cl_device *device;
    const eng_subgraph *graph;
    const eng_node *node;
    const eng_node *epilogue; /* applied to result 0 before it is stored, in whose place its own is; NULL: none */
    eng_plan_state *plan;
    int status; /* of the first failure: the calls below do nothing after it   */
} cl_recorder;

/*
 * Begins a launch of kernel `name` of kernels/<file>.cl, built with `options`
 * ("-DTYPE=8 -DKEEP"; NULL: none) besides those every build gets:
 *     -DVEC=1 or -DSIMT=1, -DMAX_GROUP=n, -DHAVE_INT_DOT ..., after the
 *     CL_CAP_* names.
 * Programs are built once per device and kept on disk.  Lines #include "x.clh"
 * of a kernel file are replaced by kernels/x.clh.  The cl_arg_* calls that
 * follow give its arguments in order; cl_size or cl_size_param its sizes.
 */
void cl_launch(cl_recorder *r, const char *file, const char *name, const char *options);
/* The same with text of the caller before that of the file. */
void cl_launch_with(cl_recorder *r, const char *file, const char *name, const char *options, const char *prelude);

/* A buffer, __global uchar *, and a number, ulong: the piece that holds byte `offset`
 * of tensor t (counted from the tensor's own begin in its root's contiguous
 * layout), and where in the piece it is. */
void cl_arg_tensor(cl_recorder *r, int32_t tensor, uint64_t offset);
/* An absent operand: (NULL, 0).  cl_arg_operand: the node's operand i, or NULL. */
void cl_arg_none(cl_recorder *r);
void cl_arg_operand(cl_recorder *r, unsigned i);
void cl_arg_result(cl_recorder *r, unsigned i);
/* The same for byte `at` of temporary memory (cl_temporary). */
void cl_arg_temporary(cl_recorder *r, uint64_t at);
void cl_arg_int(cl_recorder *r, int32_t value);
void cl_arg_long(cl_recorder *r, int64_t value);
void cl_arg_float(cl_recorder *r, float value);
/* A number that is a long4: values[0..3]. */
void cl_arg_long4(cl_recorder *r, const int64_t *values);
void cl_arg_local(cl_recorder *r, size_t bytes); /* __local memory */
/* A number that plan parameter `param` makes: the parameter less `less`, of which with
 * period > 0 only the first `run` of every `period` count, clamped to [0, limit].
 * param -1: limit itself. */
typedef struct cl_param {
    int64_t param, less, run, period, limit;
} cl_param;
/* It as an int, set at each submit (at once, if there is no parameter). */
void cl_arg_param(cl_recorder *r, const cl_param *number);

/* Work-items and group of each dimension.  Every dimension is rounded up to
 * whole groups: kernels test their ids against an argument. */
void cl_size(cl_recorder *r, unsigned dims, const size_t *global, const size_t *local);
void cl_size1(cl_recorder *r, uint64_t global, size_t local);
void cl_size2(cl_recorder *r, uint64_t g0, size_t l0, uint64_t g1, size_t l1);
void cl_size3(cl_recorder *r, uint64_t g0, size_t l0, uint64_t g1, size_t l1, uint64_t g2, size_t l2);
/* After cl_size*: dimension `dim` becomes, at each submit,
 * max(1, ceil(number / per)) * times, rounded up as above and never above what
 * cl_size gave. */
void cl_size_param(cl_recorder *r, unsigned dim, const cl_param *number, int64_t per, int64_t times);

/* Temporary memory for the launches of this node alone; returns where it begins
 * (for cl_arg_temporary).  Its content at the node's begin is unspecified.  All
 * temporary memory of a node is one buffer. */
uint64_t cl_temporary(cl_recorder *r, uint64_t bytes);
/* What is temporary in rounds has the same memory in each: begin before them, again before each, end behind them. */
typedef struct cl_rounds { uint64_t begin, most; } cl_rounds;
cl_rounds cl_rounds_begin(const cl_recorder *r);
void cl_rounds_again(cl_recorder *r, cl_rounds *rounds);
void cl_rounds_end(cl_recorder *r, cl_rounds *rounds);

/* Constants that the host has computed: kept once for the plan.  cl_arg_constant
 * gives a buffer and an offset. */
uint64_t cl_constant(cl_recorder *r, const void *data, uint64_t bytes);
void cl_arg_constant(cl_recorder *r, uint64_t at);

/* Any other failure: keeps status; give the text with cl_fail. */
#define cl_refuse(r, status_, ...) ((r)->status = cl_fail((r)->device, (status_), __VA_ARGS__))

/* -- reading the graph ---------------------------------------------------------- */

static inline const eng_tensor *cl_in(const eng_subgraph *g, const eng_node *node, unsigned i)
{
    return eng_subgraph_tensor(g, node->in[i]);
}

static inline const eng_tensor *cl_out(const eng_subgraph *g, const eng_node *node, unsigned i)
{
    return eng_subgraph_tensor(g, node->out[i]);
}

uint64_t cl_elements(const eng_tensor *t);
uint64_t cl_rows(const eng_tensor *t);             /* elements / ne[0]; 0 if empty */
bool cl_contiguous(const eng_tensor *t);           /* dense in dimension order     */
bool cl_rows_contiguous(const eng_tensor *t);      /* nb[0] is the block           */
uint32_t cl_type_block(uint32_t type);             /* elements; 0: unknown type    */
uint32_t cl_type_bytes(uint32_t type);             /* of a block                   */
const char *cl_type_name(uint32_t type);
bool cl_is_float(uint32_t type);                   /* f32, f16, bf16               */

/*
 * Walks: for ops that treat every row (or element) alike.  A walk is a space of
 * extents ne[] and operands, each with its strides in that space (0 where it is
 * broadcast) and the bytes that one step's row takes.  cl_walk_run calls fn once
 * for each part of the space in which every operand lies in one piece and
 * dimensions from `dims` on have extent 1; dimension 0 is cut only if `elements` is
 * set and nothing else helps.  In a part,
 * offset[] are moved to its first row: give them to cl_arg_tensor.
 */
#define CL_WALK_OPERANDS 12
typedef struct cl_walk {
    int64_t ne[ENG_MAX_RANK];
    int64_t first[ENG_MAX_RANK];     /* where the part begins in the whole      */
    bool elements;                   /* dimension 0 may be cut, too (plain types) */
    unsigned n;
    int32_t tensor[CL_WALK_OPERANDS]; /* -1: absent                             */
    uint64_t offset[CL_WALK_OPERANDS];
    uint64_t row_bytes[CL_WALK_OPERANDS];
    int64_t nb[CL_WALK_OPERANDS][ENG_MAX_RANK];
} cl_walk;
/* The space of tensor t, without operands. */
void cl_walk_begin(cl_walk *w, const eng_tensor *t);
/* Adds a tensor: strides 0 where its extent is 1 and the space's is not. */
void cl_walk_add(cl_walk *w, const eng_subgraph *g, int32_t tensor);
/* Joins neighbouring dimensions from `from` on where all operands allow it. */
void cl_walk_join(cl_walk *w, unsigned from);
/* cl_walk_join from 0 if no operand is in pieces, else from 1. */
void cl_walk_flatten(const cl_recorder *r, cl_walk *w);
int cl_walk_run(cl_recorder *r, const cl_walk *w, unsigned dims,
                void (*fn)(cl_recorder *r, const cl_walk *part, void *ctx), void *ctx);
/* Gives operand i of a part as an argument pair (none if absent). */
void cl_arg_walk(cl_recorder *r, const cl_walk *part, unsigned i);

/* -- the op table -------------------------------------------------------------- */

typedef struct cl_op {
    /* As eng_device_calls.supports, of what the op's row accepts; reason has at least 1
     * byte.  NULL: yes. */
    eng_support (*supports)(cl_device *device, const eng_subgraph *graph, const eng_node *node, char *reason,
                            size_t reason_bytes);
    /* Records the node's launches; returns r->status. */
    int (*record)(cl_recorder *r, const eng_node *node);
    /* It takes an epilogue: its kernels apply EPILOGUE(type, value) to what they store (each.h). */
    bool epilogue;
} cl_op;

/* ops/<op>.c each define one; ops/each.c all those that work element by element. */
#define ENG_OP(id, number, name, ...) extern const cl_op cl_op_##name;
#define ENG_OP_STRUCTURE(...)
#include <engine/ops.def>

/* snprintf to reason; no returns ENG_SUPPORT_NO.  slow returns ENG_SUPPORT_SLOW: right, but another shape of the op, or
 * another device, would be much faster. */
eng_support cl_no(char *reason, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
eng_support cl_slow(char *reason, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
