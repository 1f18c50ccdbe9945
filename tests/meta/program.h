/*
 * Random programs: a list of persistent tensors and a list of ops on them, made
 * from a seed and replayed on any device.
 */
#ifndef TESTS_META_PROGRAM_H
#define TESTS_META_PROGRAM_H

#include <stdbool.h>

#include "engine/engine.h"

#define PG_MAX_TENSORS 400
#define PG_MAX_OPS 400
#define PG_MAX_DIMS 3
#define PG_MAX_FACTORS 4

typedef struct pg_axis {
    const char *name;
    int64_t extent;
} pg_axis;
extern const pg_axis pg_axes[];
enum { PG_N_AXES = 6 };

typedef struct pg_tensor {
    uint32_t type, rank, use;
    int64_t ne[ENG_MAX_RANK];
    int64_t below; /* i32: values are -1 .. below - 1; ascending: 0, and so on to `below` */
    bool ascending, distinct;
    float scale, offset; /* floats: offset + scale * (-1 .. 1)                         */
    /* axes: per dimension, segments of up to four factors (axis number + 1, or 0) */
    struct {
        uint32_t n_segs;
        struct {
            uint32_t n;
            int axis[PG_MAX_FACTORS];
            int64_t extent[PG_MAX_FACTORS];
        } segs[3];
    } dims[ENG_MAX_RANK];
    char name[24];
    int forced; /* 0: the policy; 1: whole; 2: on a rank; 3: on a guest                */
    uint64_t seed;
} pg_tensor;

/* Operands: tensor t is -2 - t, result of op k (first or only) is k; -1: absent. */
typedef struct pg_op {
    uint32_t op, n_in, n_ip, n_fp;
    int in[ENG_MAX_INPUTS];
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
} pg_op;

typedef struct pg_program {
    pg_tensor tensors[PG_MAX_TENSORS];
    uint32_t n_tensors;
    pg_op ops[PG_MAX_OPS];
    uint32_t n_ops;
    uint64_t seed;
    bool overrides; /* some tensors are forced to places                              */
} pg_program;

/* Makes the program of a seed with about `nodes` ops; only the first `keep` of the
 * ops (not counting those that store results) remain. */
bool pg_make(eng_context *context, uint64_t seed, uint32_t nodes, uint32_t keep, bool overrides, pg_program *p);

/* What a run left: the f32 contents of every tensor that is no weight and no input,
 * one after another. */
typedef struct pg_results {
    float *data;
    uint64_t n;
    uint64_t exchanged; /* bytes sent between ranks                                   */
} pg_results;
bool pg_is_result(const pg_tensor *t);
uint64_t pg_count(const pg_tensor *t);

/* Runs it on a device; the caller frees results->data.  False after a failure, whose
 * text is in eng_last_error.  noise: the f32 tensors are changed by so much of their
 * values.  emit: gets the graph and what the device decided; may be NULL. */
bool pg_run(eng_context *context, const char *device, const pg_program *p, double noise, pg_results *results,
            eng_emit_func emit);

uint64_t pg_random(uint64_t *state);

#endif
