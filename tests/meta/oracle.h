/*
 * A program evaluated by the oracle, op by op in double precision.
 *
 * Beside the exact values (lane 0) it carries lanes in which every result is moved by
 * a few roundings of f32, in units of the magnitude that the oracle gives it.  How far
 * the lanes lie apart is what f32 arithmetic may do to a value, however the graph
 * amplifies it: no device is asked for it.
 *
 * Ops that jump (choosing, encoding) are not judged by such a bound.  Their `tap` is
 * what the device itself chose; it must be a right answer for operands as far from the
 * oracle's as the lanes are, and all lanes go on from it.
 */
#ifndef TESTS_META_ORACLE_H
#define TESTS_META_ORACLE_H

#include "program.h"
#include "tests/reference/ref.h"

#define PG_MAX_LANES 10
#define PG_SLACK 12.0 /* a tolerance is so many times what the lanes lie apart */

typedef struct pg_value {
    ref_tensor t;
    uint32_t type;
    int root;   /* the persistent tensor whose memory it is, or -1            */
    bool owned; /* has memory of its own                                      */
} pg_value;

typedef struct pg_lane {
    pg_value tensors[PG_MAX_TENSORS];
    pg_value values[2][PG_MAX_OPS];
} pg_lane;

typedef struct pg_oracle {
    pg_lane *lanes[PG_MAX_LANES];
    uint32_t n_lanes;
    uint64_t state;
    char error[400];
} pg_oracle;

pg_oracle *pg_oracle_create(uint32_t lanes, uint64_t seed);
void pg_oracle_free(pg_oracle *o);
/* The tensor's contents before the first run. */
bool pg_oracle_add(pg_oracle *o, const pg_program *p, uint32_t tensor);
/* Op k.  device: what the device's tensors hold after this run, by tensor; NULL: no
 * device, ops that jump answer as the oracle does.  False: error. */
bool pg_oracle_step(pg_oracle *o, const pg_program *p, uint32_t k, double *const *device);
/* Values of the ops go, tensors stay: before another run. */
void pg_oracle_next_run(pg_oracle *o, const pg_program *p);
pg_value *pg_oracle_value(pg_oracle *o, uint32_t lane, int ref);

/* Arrays of n elements, lanes of one value: how far from lane 0 the stretch that element
 * `at` lies in may be. */
double pg_tolerance(double *const *x, uint32_t n_lanes, int64_t n, int64_t row, int64_t at);
/* A value's elements in order, lane by lane; false: no memory.  Free each. */
bool pg_oracle_flatten(pg_oracle *o, int ref, double **x);

/* -- choose.c: ops that jump -------------------------------------------------- */

/* x: lanes of the operand (rows of ne0); got: the device's choice, k a row. */
bool pg_choice_fits(pg_oracle *o, const pg_op *op, double *const *x, int64_t ne0, int64_t rows, const double *got,
                    int64_t k);
/* x: lanes of n values about to become `type`; touched: which of them (NULL: all).  got:
 * what the device made of them, or NULL.  All lanes become that, or the oracle's
 * encoding. */
bool pg_convert(pg_oracle *o, uint32_t type, double *const *x, int64_t n, int64_t row, const unsigned char *touched,
                const double *got);

#endif
