/*
 * Random programs: a list of persistent tensors and a list of ops on them, made
 * from a seed and replayed on any device, and by the oracle.
 */
#ifndef TESTS_META_PROGRAM_H
#define TESTS_META_PROGRAM_H

#include <stdbool.h>

#include "engine/engine.h"

#define PG_MAX_TENSORS 500
#define PG_MAX_OPS 480
#define PG_MAX_FACTORS 4
#define PG_MAX_RUNS 2

typedef struct pg_axis {
    const char *name;
    int64_t extent;
} pg_axis;
enum { PG_N_AXES = 6 };
extern const pg_axis pg_axes[PG_N_AXES];

/* A dimension's segments of up to four factors: axis number + 1, or 0. */
typedef struct pg_dim {
    uint32_t n_segs;
    struct {
        uint32_t n;
        int axis[PG_MAX_FACTORS];
        int64_t extent[PG_MAX_FACTORS];
    } segs[2];
} pg_dim;

/* A forced placement: kind AUTO: none. */
typedef struct pg_place {
    uint32_t kind; /* eng_placement_kind                                       */
    int axis;      /* number                                                   */
    int device;    /* leaf number (modulo what there is), or -1, -2: a guest   */
} pg_place;

/* How the contents of a tensor are drawn from its seed. */
typedef enum pg_contents {
    PG_PLAIN = 0,     /* floats: offset + scale * (-1 .. 1); i32: -1 .. below - 1      */
    PG_DISTINCT = 1,  /* i32: all different, some -1                                  */
    PG_ASCENDING = 2, /* i32: 0, and so on to `below`                                 */
    PG_STATE_ROWS = 3, /* i32: 2, 3, ... in order, some -1                             */
    PG_MASK = 4       /* floats: -infinity now and then                              */
} pg_contents;

typedef struct pg_tensor {
    uint32_t type, rank, use;
    int64_t ne[ENG_MAX_RANK];
    uint32_t contents; /* pg_contents                                         */
    int64_t below;
    float scale, offset;
    pg_dim dims[ENG_MAX_RANK];
    pg_place place;
    char name[16];
    int forced;   /* 0: the policy; 1: whole; 2: on a rank; 3: on a guest; 4: along `axis` */
    int axis;
    int store;    /* of the two that the graph is bound to                    */
    bool written; /* some op writes into it                                   */
    bool hostile; /* any bits: not numbers, infinities, the largest and the least; random blocks */
    uint64_t seed;
} pg_tensor;

/* Operands: tensor t is -2 - t; the first result of op k is k, its second one
 * PG_SECOND + k; -1: absent. */
#define PG_SECOND 100000
typedef struct pg_op {
    uint32_t op; /* ENG_OP_NONE: taken out                                    */
    uint32_t n_in, n_ip, n_fp;
    int in[ENG_MAX_INPUTS];
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    uint32_t out_type[2]; /* of the results; rank 0: there is none            */
    int64_t out_ne[2][ENG_MAX_RANK];
    bool named;           /* dims are given to the result                     */
    pg_dim dims[ENG_MAX_RANK];
    pg_place place;
    int tap;      /* >= 0: this tensor holds the device's own result after a run  */
    bool for_tap; /* stores another op's result for that purpose              */
} pg_op;

typedef struct pg_program {
    pg_tensor tensors[PG_MAX_TENSORS];
    uint32_t n_tensors;
    pg_op ops[PG_MAX_OPS];
    uint32_t n_ops;
    uint64_t seed;
    uint32_t runs;      /* how often it is submitted                          */
    int64_t cells;      /* its plan parameter: valid cells of caches          */
    bool overrides;     /* tensors are forced to places                       */
    bool placed;        /* values are                                         */
    bool twice;         /* the first store is bound in two slots                */
    bool searches;      /* encodes as a type that the cpu plugin alone can        */
} pg_program;

/* Makes the program of a seed with about `nodes` ops. */
bool pg_make(eng_context *context, uint64_t seed, uint32_t nodes, pg_program *p);
uint32_t pg_live_ops(const pg_program *p);

/* -- data.c ------------------------------------------------------------------ */

uint64_t pg_random(uint64_t *state);
uint64_t pg_count(const pg_tensor *t);
uint64_t pg_bytes(const pg_tensor *t);
/* The contents of a tensor before the first run; outputs are poisoned. */
void pg_fill(const pg_tensor *t, void *bytes);
/* Is it compared after a run? */
bool pg_is_result(const pg_tensor *t);

/* The store's form of axes. */
typedef struct pg_axes_of {
    eng_dim dims[ENG_MAX_RANK];
    eng_segment segs[ENG_MAX_RANK][2];
    eng_factor factors[ENG_MAX_RANK][2][PG_MAX_FACTORS];
} pg_axes_of;
void pg_make_axes(eng_context *context, const pg_dim *dims, uint32_t rank, pg_axes_of *a);

/* -- replay.c ---------------------------------------------------------------- */

/* What the runs left: of every tensor that is compared, its elements decoded. */
typedef struct pg_results {
    double *data[PG_MAX_RUNS][PG_MAX_TENSORS];
    uint64_t exchanged; /* bytes sent between ranks                                   */
    uint32_t placed;    /* values placed                                              */
} pg_results;
void pg_results_free(pg_results *r);

/* Runs it on a device; the caller frees the results.  A status other than ENG_OK:
 * its text is in eng_last_error.  emit: gets the graph and what the device decided;
 * may be NULL. */
int pg_run(eng_context *context, const char *device, const pg_program *p, pg_results *results, eng_emit_func emit);

/* -- judge.c ----------------------------------------------------------------- */

typedef struct pg_verdict {
    bool good;
    char text[512];
    uint64_t rows, loose; /* rows judged; of these with a tolerance above 5% of the tensor */
    double worst;         /* error over tolerance                                     */
} pg_verdict;
/* Are the results what the oracle says? */
void pg_judge(const pg_program *p, const pg_results *results, pg_verdict *v);

/* -- shrink.c, print.c ------------------------------------------------------- */

/* Does this program still fail in the same way? */
typedef bool (*pg_fails_func)(void *ctx, const pg_program *p);
void pg_shrink(pg_program *p, pg_fails_func fails, void *ctx);
void pg_print(const pg_program *p, eng_emit_func emit, void *ctx);

#endif
