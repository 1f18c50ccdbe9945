/*
 * The oracle: every op of the op table in plain C and double precision.
 *
 * It shares no code with any plugin and uses nothing of the library but the
 * installed headers' numbers.  Tensors are arrays of double with strides in
 * elements, whatever the type their values came from; a value is what the
 * decoder of that type says, exactly.
 *
 * Each result carries beside its values a magnitude: the sum of the absolute
 * values of the terms that were added up to make it (times what the op's
 * arithmetic amplifies).  A result computed in f32 is wrong by a small multiple
 * of 2^-24 of its magnitude, whatever cancels; a tolerance stated in these units
 * is as tight for a row of small values as for a row of large ones.
 */
#ifndef TESTS_REFERENCE_REF_H
#define TESTS_REFERENCE_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ops.h"
#include "engine/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ref_tensor {
    int64_t ne[ENG_MAX_RANK];
    int64_t st[ENG_MAX_RANK];  /* strides in elements                        */
    double *data;
    double *mag;               /* magnitudes; same layout; may be NULL       */
    unsigned char *touched;    /* same layout; may be NULL.  Inout operands: written.
                                  Results: 0 where any value will do (padding) */
} ref_tensor;

/* Memory for ne[0..rank-1] elements, zeroed, contiguous.  false: no memory. */
bool ref_alloc(ref_tensor *t, const int64_t *ne, uint32_t rank, bool with_mag, bool with_touched);
void ref_free(ref_tensor *t); /* of what ref_alloc made, not of a view */
int64_t ref_count(const ref_tensor *t);
int64_t ref_rows(const ref_tensor *t); /* elements / ne[0]; 0 if none */
/* Views: share the memory of t. */
ref_tensor ref_permute(const ref_tensor *t, const int64_t *dim);
ref_tensor ref_slice(const ref_tensor *t, int dim, int64_t begin, int64_t length);
ref_tensor ref_reshape(const ref_tensor *t, const int64_t *ne, uint32_t rank); /* t contiguous */
/* Extents, strides and an offset in bytes, as the op view has them; t contiguous, of that type. */
ref_tensor ref_layout(const ref_tensor *t, uint32_t type, const int64_t *ip);
/* Next index in order, dimension 0 fastest; false after the last. */
bool ref_next(const int64_t *ne, int64_t *i);
int64_t ref_at(const ref_tensor *t, const int64_t *i);
/* The same with indices wrapped to t's extents (broadcast). */
int64_t ref_at_mod(const ref_tensor *t, const int64_t *i);
/* Offset of element (i0, i1, i2, i3). */
static inline int64_t ref_at4(const ref_tensor *t, int64_t i0, int64_t i1, int64_t i2, int64_t i3)
{
    return i0 * t->st[0] + i1 * t->st[1] + i2 * t->st[2] + i3 * t->st[3];
}

/* -- types ------------------------------------------------------------------ */

uint32_t ref_block(uint32_t type);       /* elements of a block; 0: unknown */
uint32_t ref_block_bytes(uint32_t type);
const char *ref_type_name(uint32_t type);
double ref_half(uint16_t h);
uint16_t ref_to_half(double x);          /* to nearest, ties to even */
uint16_t ref_to_bf16(float x);
/* n elements, whole blocks. */
void ref_decode(uint32_t type, const void *blocks, double *x, int64_t n);
/* The encoders of the format descriptions, in f32 arithmetic; false: this type's
 * encoder searches and is not written here.  search: as the op's parameter. */
bool ref_encode(uint32_t type, const double *x, void *blocks, int64_t n, bool search);
bool ref_can_encode(uint32_t type, bool search);
bool ref_read_only(uint32_t type); /* the engine has no encoder of it        */
/* Distance between neighbouring representable values around each of the n values
 * that `blocks` hold: what "one step" means in a tolerance. */
void ref_steps(uint32_t type, const void *blocks, double *step, int64_t n);
/* Blocks of random bits whose scales are near `scale` and finite.  rnd: 64 random
 * bits a call. */
void ref_random_blocks(uint32_t type, void *blocks, int64_t n, double scale, uint64_t (*rnd)(void *), void *ctx);

/* -- ops ---------------------------------------------------------------------- */

typedef struct ref_call {
    uint32_t op;
    uint32_t out_type;  /* type of a result that the parameters do not name   */
    ref_tensor *in[ENG_MAX_INPUTS]; /* NULL: absent                           */
    int64_t ip[ENG_MAX_IPARAMS];
    double fp[ENG_MAX_FPARAMS];
    const int64_t *params;          /* plan parameters                        */
    ref_tensor out[ENG_MAX_OUTPUTS];
    uint32_t n_out;
} ref_call;

/* Computes the op: results are made here (ref_free each), inout operands are
 * changed in place.  0, or -1 for no memory, or -2 for operands that the op does
 * not take. */
int ref_eval(ref_call *call);

/* One op a function, called by ref_eval: ref_op_mul_mat, ... */
#define ENG_OP(id, number, name, ...) int ref_op_##name(ref_call *c);
#include "engine/ops.def"
/* Of an op that works element by element, the value alone: y is x if there is one operand. */
#define ENG_OP_EACH(id, number, name, ...) double ref_each_##name(const ref_call *c, double x, double y, double *mag);
#include "engine/ops.def"
#define ENG_UNARY(id, number, name, ...) double ref_unary_##name(double x, double *mag);
#include "engine/ops.def"
#define ENG_GLU(id, number, name, ...) double ref_glu_##name(const ref_call *c, double x, double y, double *mag);
#include "engine/ops.def"

/* ALiBi slope of head h of n. */
double ref_slope(double max_bias, int64_t h, int64_t n);
/* A value of an index operand; out of 0 .. limit-1: -1. */
int64_t ref_index(double value, int64_t limit);

#ifdef __cplusplus
}
#endif
#endif
