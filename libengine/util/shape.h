/* Shapes: extents, strides and bytes of tensors, and the letters of an op's rule. */
#ifndef LIBENGINE_UTIL_SHAPE_H
#define LIBENGINE_UTIL_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/plugin.h"

/*
 * Of a contiguous tensor with `rank` extents: the strides of all ENG_MAX_RANK dimensions (an empty tensor has those of
 * one row) and its bytes.  false, and what is written means nothing: an extent is negative, rows are no whole blocks,
 * or bytes or elements - those of an empty tensor without its zeros, too - do not fit in 62 bits.  nb and bytes may be
 * NULL.
 */
bool eu_shape_layout(const eng_type_info *type, const int64_t *ne, uint32_t rank, int64_t *nb, uint64_t *bytes);
/* The bytes alone, of a shape that has been checked. */
uint64_t eu_shape_bytes(const eng_type_info *type, const int64_t *ne, uint32_t rank);
/* Does every dimension step as in a contiguous tensor?  One of extent 1 never steps. */
bool eu_shape_contiguous(const eng_type_info *type, const int64_t *ne, const int64_t *nb);
/*
 * Strides of a tensor seen with other extents `to` of the same product, over the same memory: runs of its
 * dimensions that follow one another without gaps may be divided anew.  false: it would have to be copied.
 */
bool eu_shape_regroup(const eng_type_info *type, const int64_t *ne, const int64_t *nb, const int64_t *to,
                      int64_t *to_nb);

/* -- letters ---------------------------------------------------------------------- */

/*
 * Gives every letter of the op's rule its extent, from the extents of operands and results (entries and `out` may be
 * NULL: not there, not known).  A letter that is only ever broadcast has extent 1.  extent: ENG_MAX_LETTERS entries.
 * Nothing is checked: eu_rule_disagrees does that.
 */
void eu_rule_bind(const eng_op_info *op, const int64_t *const *in, const int64_t *const *out, int64_t *extent);
/* The product of a dimension's letters, 1 if it has none; false: it does not fit in 63 bits. */
bool eu_rule_extent(const eng_rule_dim *dim, const int64_t *extent, int64_t *product);
/* The first dimension whose extent is not what the letters make it, *want; -1: none.  *want -1: that does not fit in 63
 * bits. */
int eu_rule_disagrees(const eng_rule_operand *rule, const int64_t *ne, const int64_t *extent, int64_t *want);

#endif
