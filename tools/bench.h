/*
 * engine-bench: how long ops take on a device, beside what the device could do.  bench.c the command line; bench_case.c
 * lines that describe a case; bench_run.c running one; bench_report.c, bench_json.c, bench_compare.c and bench_plot.c
 * what is told of it; bench_model.c whole models.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "convert.h"
#include "engine/engine.h"

#define BENCH_PROGRAM "engine-bench"
#define BENCH_SCHEMA "engine-bench/1"
#define BENCH_LISTED 64 /* values that a line may list */

/* -- cases -------------------------------------------------------------------- */

/* What an operand holds. */
typedef enum bench_fill {
    BENCH_ANY,       /* random values; of integers zeros                         */
    BENCH_SCATTERED, /* "%N": integers below N, no two alike among the first N   */
    BENCH_ASCENDING, /* "+N": N, N + 1, ...                                      */
    BENCH_NAMED    /* ":a:b:c"                                                 */
} bench_fill;

typedef struct bench_operand {
    bool present;
    uint32_t type, rank;
    int64_t ne[ENG_MAX_RANK];
    bench_fill fill;
    int64_t number;
    int64_t listed[BENCH_LISTED];
    uint32_t n_listed;
} bench_operand;

typedef struct bench_case {
    char *text; /* the line without superfluous spaces */
    const eng_op_info *op;
    bench_operand in[ENG_MAX_INPUTS];
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    eng_precision precision;
    uint32_t layout;
    char device[64]; /* "": those of the command line */
} bench_case;

typedef struct bench_cases {
    bench_case *at;
    size_t room;
    uint32_t n;
} bench_cases;

/* Adds the case of a line; nothing for an empty one or a comment.  false: why. */
bool bench_case_add(bench_cases *cases, const char *line, char *why, size_t room);
void bench_cases_free(bench_cases *cases);

/* -- figures ------------------------------------------------------------------- */

enum { BENCH_ROOFS = ENG_ROOF_MATRIX + 1 };

typedef struct bench_device {
    char name[64];
    eng_device *device;
    eng_device_info info;
    double roof[BENCH_ROOFS]; /* per second; 0: not measured, or the device has none */
    double empty;             /* seconds of a run that does nothing */
} bench_device;

typedef struct bench_result {
    const bench_case *what;
    const bench_device *where;
    int status;         /* of what failed, and why: then nothing else holds     */
    char why[1024];
    double first;       /* seconds of the first run, compilers included         */
    double median, low, high; /* seconds of one op                              */
    uint32_t samples, copies; /* ops side by side in a sample                   */
    double bytes, operations; /* of one op                                      */
    uint64_t launches;  /* of one op, rounded up; 0: unknown                    */
    int roof;           /* the one that binds; 0: none was measured             */
    double share;       /* of it: 1 is all that the device can do               */
} bench_result;

typedef struct bench_results {
    bench_result *at;
    size_t room;
    uint32_t n;
} bench_results;

typedef struct bench_settings {
    double seconds;       /* that a case may take, its preparation not counted  */
    uint64_t working_set; /* bytes that the operands of a sample have at least  */
} bench_settings;

/* Its figures for one device.  Failures are in the result. */
void bench_run(eng_context *context, converter *converter, bench_device *device, const bench_case *what,
               const bench_settings *settings, bench_result *result);
/* Roofs of a device that is open, and what an empty run takes. */
void bench_measure(eng_context *context, bench_device *device);
double bench_median(double *values, uint32_t n); /* sorts them */

const char *bench_roof_name(int roof);
/* In words: what does products of bytes and matrices, and how fast. */
void bench_units_text(const bench_device *device, char *text, size_t room);
double bench_geometric(double sum_of_logs, uint32_t n);

/* -- reports ------------------------------------------------------------------- */

void bench_print_device(FILE *out, const bench_device *device); /* its roofs */
void bench_print_head(FILE *out);
void bench_print(FILE *out, const bench_result *result);
void bench_print_json(const bench_device *devices, uint32_t n_devices, const bench_results *results);
/* An earlier report (--json), read before anything is measured; NULL: it said why.  Of json_decref. */
struct json_t *bench_compared(const char *file);
/* Beside each case what that report has of it. */
void bench_compare(const struct json_t *report, const bench_results *results);
/* A picture of the shares, as SVG, written aside and renamed; false: it said why. */
bool bench_plot(const char *file, const bench_results *results);

enum { BENCH_LENGTHS = 8 };

/* Numbers of tokens, cells or sequences that a model is timed with. */
typedef struct bench_lengths {
    int64_t at[BENCH_LENGTHS];
    uint32_t n;
} bench_lengths;

typedef struct bench_model_settings {
    const char *file;
    bench_lengths prefill, behind, sequences;
    uint32_t type_k, type_v; /* of the caches */
    uint32_t precision;      /* eng_precision */
} bench_model_settings;

/* Prefill and decode of a model on every device; the exit code. */
int bench_model(eng_context *context, const bench_device *devices, uint32_t n, const bench_model_settings *settings,
                bool json);

#endif
