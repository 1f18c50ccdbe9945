/*
 * The conformance suite: every op of the op table, over types, shapes, layouts
 * and placements, run on a device through the public interface and compared
 * with the oracle in tests/reference.
 *
 * Every case is made from a seed of its own, which depends on the suite's seed
 * and the case's name only: a failing case runs again alone, with the same
 * numbers, by its name.  What is compared, and within what: tolerances.h.
 */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eng_conformance_outcome {
    ENG_CONFORMANCE_PASS = 0,
    ENG_CONFORMANCE_FAIL = 1,
    ENG_CONFORMANCE_UNSUPPORTED = 2 /* the device said no to a case that it may refuse */
} eng_conformance_outcome;

typedef struct eng_conformance_result {
    uint32_t size;
    uint32_t outcome;     /* eng_conformance_outcome                          */
    const char *device;
    const char *op;
    const char *name;     /* types, shapes and parameters of the case         */
    uint64_t seed;        /* the suite's: run again with it and the name      */
    uint64_t values;      /* compared                                         */
    double row_error;     /* largest relative error of a row, in units of the
                             tolerance (1: just tolerated)                    */
    double abs_error;     /* largest absolute error                           */
    const char *detail;   /* what is wrong, or why unsupported; else ""       */
    double seconds;       /* the device's part: building, running, reading    */
    const char *cell;     /* the placements asked for; NULL: none             */
    const char *line;     /* types and shapes as engine-bench reads them      */
} eng_conformance_result;

/* How much of the matrix of placements is run (eng_conformance_options.placements). */
enum {
    ENG_PLACEMENTS_NONE = 0,   /* cases as they are                           */
    ENG_PLACEMENTS_SAMPLE = 1, /* some cells of each op, chosen by the seed   */
    ENG_PLACEMENTS_SINGLES = 2, /* every placement of each operand and result, some pairs */
    ENG_PLACEMENTS_PAIRS = 3   /* and of every two                            */
};

typedef struct eng_conformance_options {
    uint32_t size;
    int quick;            /* fewer cases of each kind                         */
    const char *ops;      /* comma-separated names of ops; NULL: all          */
    const char *filter;   /* part of the case's name, or parts in their order
                             with '*' between them; NULL: all                 */
    uint64_t seed;        /* 0: the suite's default                           */
    int list;             /* report names only, run nothing                   */
    int oracle;           /* run on no device: the oracle's own results are
                             judged, after `tamper`.  For the suite's own test */
    int lenient;          /* any case may be refused: a device with something switched off */
    int placements;       /* ENG_PLACEMENTS_*: a composed device              */
    void (*report)(void *ctx, const eng_conformance_result *result); /* each case; may be NULL */
    /* Changes what the device gave before it is judged; may be NULL.  what: "out",
     * or the name of an operand that the op writes. */
    void (*tamper)(void *ctx, const char *what, uint32_t type, void *bytes, uint64_t n);
    void *ctx;
    const char *cell;     /* placements: only the cell of this text; NULL: all */
    const char *guest;    /* placements: the device outside the composition; NULL: a part of the cpu */
    /* For devices that are simulated: cases with more elements than this in operands and
     * results are skipped, and those of an op that has had so many seconds; 0: none are. */
    uint64_t largest;
    double seconds;
    int precision;            /* 1 + eng_precision: only its cases; 0: of all precisions */
} eng_conformance_options;

typedef struct eng_conformance_summary {
    uint32_t size;
    uint32_t reserved;
    uint64_t seed;
    uint64_t cells;       /* cases run: passed + failed + unsupported         */
    uint64_t passed, failed, unsupported;
    uint64_t values;
    double seconds;
    uint64_t skipped;     /* wanted, but too large or too late                */
} eng_conformance_summary;

/*
 * Runs the suite on one device.  ENG_OK if it ran, whatever it found; a negative
 * status if the device does not open, or if `ops` or `filter` name nothing
 * (ENG_ERR_NOTFOUND): nothing run is never a success.  The calling thread only.
 */
int eng_conformance_run(eng_context *context, const char *device, const eng_conformance_options *options,
                        eng_conformance_summary *summary);

/* The tolerances and their reasons, as text; op number `index`, NULL past the last. */
const char *eng_conformance_tolerance(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
