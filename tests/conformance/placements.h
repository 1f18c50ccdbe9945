/*
 * Placements: every op with its operands and results wherever a composed device can
 * keep a value.
 *
 * A few small cases of each op are taken from the generators; each is run once in
 * every cell.  A cell forces one placement or two on operands and results - whole
 * everywhere, cut along each axis, a sum of addends, on the first rank, the last or a
 * guest - and leaves the others to the device.  Placements, axes and pairs come from
 * the op's row and its operands: a new row is covered when it has a case, and without
 * one the run fails.
 */
#ifndef TESTS_CONFORMANCE_PLACEMENTS_H
#define TESTS_CONFORMANCE_PLACEMENTS_H

#include "suite.h"

#define CF_NAMINGS 4

int cf_placing_begin(cf_suite *s);
void cf_placing_end(cf_suite *s);
/* Chooses among the cases described so far, and reports ops without any. */
int cf_placing_choose(cf_suite *s);
/* Are cases only described now, to be chosen from? */
bool cf_only_describes(const cf_suite *s);
bool cf_placing_wants(cf_suite *s, uint32_t op, const char *name);
/* Notes a described case. */
void cf_placing_note(cf_case *c);
/* Runs a case in its cells. */
void cf_placing_run(cf_case *c);

/* An operand as a sum of addends that are not zero anywhere: the product of ones and of
 * parts, both cut along the terms of the sum. */
typedef struct cf_addends {
    float *parts;            /* CF_TERMS for each element; NULL: none          */
    int64_t n;               /* elements                                       */
    uint32_t ones, tensor;   /* in the store                                   */
    float one[8];
    cf_axes axes[2];
} cf_addends;
#define CF_TERMS 8
/* Adds the two tensors if this is an operand that is forced to be partial as computed, and its
 * values allow it.  false: no memory. */
bool cf_addends_declare(cf_addends *a, cf_case *c, const cf_force *f, eng_store_tensor *t, uint32_t *n);
eng_value cf_addends_sum(const cf_addends *a, const cf_operand *o, eng_graph *graph, const eng_store *store);
int cf_addends_upload(const cf_addends *a, eng_store *store);

/* Extents of the letters of the op's row, from what is seen of the operands; -1: unknown. */
void cf_letter_extents(cf_case *c, int64_t extent[ENG_MAX_LETTERS]);
/* Names the dimensions of all operands and results after the letters of the op's row.
 * naming 0: a letter is an axis; 1: an axis and something inside; 2: something outside and
 * an axis; 3: two segments of an axis. */
void cf_name_axes(cf_case *c, int naming);

#endif
