/* Inside the suite: a case, its operands, and how generators build it. */
#ifndef TESTS_CONFORMANCE_SUITE_H
#define TESTS_CONFORMANCE_SUITE_H

#include "conformance.h"
#include "../reference/ref.h"

#define CF_MAX_VIEWS 3
#define CF_ANY 2 /* ref_tensor.touched: may be written with anything */
#define CF_SHAPE(...)                                                                                                  \
    (const int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* How an operand lies in memory. */
typedef enum cf_layout {
    CF_PLAIN,
    CF_SWAP12,  /* dimensions 1 and 2 swapped in memory                       */
    CF_OFFSET,  /* part of dimension 1 of a larger tensor                     */
    CF_INNER,   /* part of dimension 0 of a larger tensor                     */
    CF_SWAP01   /* rows not contiguous                                        */
} cf_layout;
const char *cf_layout_name(cf_layout layout);

typedef struct cf_axes {
    eng_dim dims[ENG_MAX_RANK];
    eng_segment segments[16];
    eng_factor factors[48];
    uint32_t n_segments, n_factors;
    bool any;
} cf_axes;

/* Names of the axes along which a tensor can be cut: those of more than one unit. */
typedef struct cf_splits {
    char name[16][12];
    uint32_t n;
} cf_splits;

typedef struct cf_operand {
    bool present, inout, is_output;
    bool scratch;             /* reaches the op through a copy in scratch memory */
    int alias_of;             /* operand whose memory it shares; -1: its own   */
    const char *name;
    uint32_t type, use, rank;
    int64_t ne[ENG_MAX_RANK]; /* in memory, before the views                   */
    uint64_t n_bytes;
    unsigned char *bytes;     /* contents before the run                       */
    unsigned char *after;     /* what the device left                          */
    struct {
        uint32_t op;          /* permute, slice; first: hadamard               */
        int64_t ip[ENG_MAX_RANK];
    } view[CF_MAX_VIEWS];
    int n_views;
    cf_axes axes;             /* of the dimensions in memory                   */
    cf_axes seen_axes;        /* placed runs: of the dimensions behind the views */
    cf_splits splits, seen_splits;
    ref_tensor all, seen;     /* the oracle's: memory, and through the views   */
    ref_tensor made;          /* the oracle's result of a hadamard among the views */
} cf_operand;

/* How a result is judged. */
typedef enum cf_judge {
    CF_NEAR,    /* within the op's tolerance of its magnitude                  */
    CF_EXACT,   /* the same value; a NaN where a NaN is due                    */
    CF_ENCODED  /* decoded blocks: within a step of the format                 */
} cf_judge;

/* -- placements (placements.h) ---------------------------------------------------- */

/* How an operand comes to the placement that is asked for. */
typedef enum cf_how {
    CF_BOUND,    /* the value of the bound tensor, or a view of it, is placed    */
    CF_COMPUTED, /* an op's result is: a copy; partial sums are those of a product */
    CF_STORED    /* the store keeps the tensor there                             */
} cf_how;
/* What reads the result. */
typedef enum cf_then {
    CF_THEN_END,   /* nothing: the graph ends there                              */
    CF_THEN_SCALE, /* an op that is linear: a partial sum may flow through        */
    CF_THEN_RELU   /* one that is not                                            */
} cf_then;
typedef struct cf_force {
    uint8_t at;    /* operand; n_in, n_in + 1: results                          */
    uint8_t how;   /* cf_how                                                    */
    uint8_t kind;  /* eng_placement_kind                                        */
    uint8_t where; /* single: 0 the first rank, 1 the last, 2 a guest           */
    char axis[12]; /* sharded                                                   */
} cf_force;
typedef struct cf_cell {
    uint8_t naming; /* how the axes are named                                   */
    uint8_t then;   /* cf_then                                                  */
    uint8_t n;      /* placements asked for                                     */
    cf_force force[2];
    char text[200];
} cf_cell;

typedef struct cf_suite cf_suite;
typedef struct cf_case {
    cf_suite *suite;
    uint32_t op;
    char name[256];
    uint64_t random[1];       /* state of this case's generator                */
    cf_operand in[ENG_MAX_INPUTS];
    uint32_t n_in;
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    int64_t params[ENG_MAX_PLAN_PARAMS];
    uint32_t n_params;
    cf_operand out[ENG_MAX_OUTPUTS]; /* OUTPUT tensors; absent without results */
    const cf_cell *cell;      /* placements asked for; NULL: none              */
    uint32_t out_type;
    cf_judge judge;
    double terms;             /* how many terms the longest sum has            */
    bool search, corners;     /* encoders: parameter; odd values among them    */
    bool inexact;             /* what is encoded was itself computed           */
    bool optional;            /* a device may refuse it                        */
    uint32_t precision;       /* eng_precision                                 */
    const char *split;        /* axis that composed devices cut along          */
} cf_case;

struct cf_suite {
    eng_context *context;
    eng_device *device;
    eng_queue *queue;
    eng_conformance_options o;
    eng_conformance_summary sum;
    const char *device_name;
    bool composed;            /* the device splits: cases come once per axis   */
    struct cf_placing *placing; /* NULL: cases run as they are                 */
    char ranks[3][64];        /* names for cf_force.where                      */
    int64_t n_main;           /* ranks that have a share                       */
    bool reopens;             /* each cell of placements opens the device anew */
    uint32_t tag;             /* else its axes have names of their own; 0: no tag */
    int status;               /* stops the suite                               */
    double spent[ENG_OP_LIMIT]; /* seconds on each op                          */
    uint32_t thin;            /* quick: one case in so many, chosen by name    */
    uint32_t precision;       /* of the cases that are made now                */
    cf_case current;
    char detail[640];
};

/* -- for generators ----------------------------------------------------------- */

/* Starts a case; NULL if it is not wanted.  Then operands, then cf_run. */
cf_case *cf_begin(cf_suite *s, uint32_t op, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cf_run(cf_case *c);
#define CF_NOT_QUICK 1000000 /* for cf_thin: none of them */
/* In quick runs only one case in `one_in` of those that follow. */
void cf_thin(cf_suite *s, uint32_t one_in);
bool cf_wanted(const cf_suite *s, uint32_t op); /* any case of this op? */

uint64_t cf_random(cf_case *c);
int64_t cf_below(cf_case *c, int64_t n);           /* 0 .. n-1 */
double cf_uniform(cf_case *c, double lo, double hi);

/* Operand `slot`: random values in [-1, 1], random blocks of values around 1, or
 * zeros for integers.  ne: as the op sees it. */
cf_operand *cf_in(cf_case *c, int slot, const char *name, uint32_t type, uint32_t use, cf_layout layout,
                  const int64_t *ne, uint32_t rank);
/* The same memory as operand `of`. */
cf_operand *cf_alias(cf_case *c, int slot, const char *name, int of);
void cf_fill(cf_case *c, cf_operand *o, double lo, double hi);
/* One value: element number i in memory, plain types only. */
void cf_set(cf_operand *o, int64_t i, double v);
void cf_slice(cf_operand *o, int dim, int64_t begin, int64_t length);
void cf_permute(cf_operand *o, int a, int b); /* swaps two dimensions */
void cf_hadamard(cf_operand *o, int64_t group); /* before any other view */
int64_t cf_elements(const cf_operand *o); /* in memory */
/* Axes of dimension `dim` in memory: segments of factors "axis:extent", '*' for
 * none, outermost first: "kv_head:4 *:2 | ffn:8". */
void cf_axis(cf_case *c, cf_operand *o, int dim, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* One generator a family of ops. */
#define CF_CASES(name) void cf_cases_##name(cf_suite *s);
#include "cases.def"
#undef CF_CASES

/* -- inside ------------------------------------------------------------------- */

/* Tolerances of an op, in units of 2^-24 of a value's magnitude: of one element
 * and of a row (root of mean squares).  terms: as in cf_case. */
void cf_tolerance(uint32_t op, uint32_t precision, double terms, double *element, double *row);

typedef struct cf_errors {
    double row, abs; /* row: in units of the tolerance */
    uint64_t values;
} cf_errors;
/* Judges what the device left in an operand or output; detail says what is wrong. */
bool cf_judge_operand(const cf_case *c, const cf_operand *o, const ref_tensor *expected, cf_errors *e, char *detail,
                      size_t n);
/* Runs on the device: fills `after` of every operand.  ENG_OK, ENG_ERR_UNSUPPORTED
 * or a failure, with detail. */
int cf_execute(cf_case *c, char *detail, size_t n);
/* Operand i, or result i - n_in; NULL: absent. */
cf_operand *cf_operand_at(cf_case *c, uint32_t i);
/* The same if it has memory of its own. */
cf_operand *cf_owner_at(cf_case *c, uint32_t i);
/* The number of an axis; of none in a run without a device. */
uint32_t cf_axis_number(const cf_suite *s, const char *name);
/* Axes of a dimension as in cf_axis. */
void cf_axes_add(const cf_suite *s, cf_axes *a, int dim, const char *text);
/* Runs a case whose oracle's results are there, once. */
void cf_run_once(cf_case *c);
/* line.c: the case as engine-bench reads it, to be freed; NULL: no memory. */
char *cf_line(const cf_case *c);

#endif
