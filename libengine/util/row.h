/* What an op's row says of one node: does it take these operands, what work is it, a small case. */
#ifndef LIBENGINE_UTIL_ROW_H
#define LIBENGINE_UTIL_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <engine/plugin.h>

/* Types and strides of the node's operands, types of its results.  false: `why` (room > 0)
 * says which one is not what the row accepts. */
bool eu_row_accepts(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node, char *why, size_t room);

/* Operations, and bytes read and written: of operands that are cut by an index, only the
 * rows that the indices can name; of pools of states those that are read and those that are written. */
typedef struct eu_work {
    double operations, bytes;
} eu_work;
eu_work eu_row_work(const eng_op_info *info, const eng_subgraph *graph, const eng_node *node);

/* "exact" or "fast"; "" if unknown. */
const char *eu_precision_name(uint32_t precision);
/* Of a graph, for reports: "exact", or "fast in 3 nodes". */
const char *eu_precision_text(const eng_subgraph *graph, char *text, size_t room);

/* The row's small case, with `asked` where the type that is asked about stands.  An operand's
 * extents and its type; false: absent. */
bool eu_row_sample_operand(const eng_op_info *info, uint32_t operand, uint32_t asked, int64_t ne[ENG_MAX_RANK],
                           uint32_t *type);
void eu_row_sample_params(const eng_op_info *info, uint32_t asked, int64_t ip[ENG_MAX_IPARAMS],
                          double fp[ENG_MAX_FPARAMS]);

#endif
