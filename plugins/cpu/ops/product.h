/* How a product of rows with columns is computed: exactly (gemm.h), or by units where it may be fast. */
#ifndef CPU_PRODUCT_H
#define CPU_PRODUCT_H

#include "gemm.h"
#include "op.h"

/* For products of an operand's rows with about n columns. */
const cpu_products *CPU_V(cpu_products_for)(const cpu_task *task, const cpu_tensor *rows, int64_t n);
#define cpu_products_for CPU_V(cpu_products_for)

/* Rows of a portion at least: each begins with what must be done once for all rows. */
#define CPU_LEAST_ROWS 64

/* Are n columns packed for all rows at once?  Beyond the limit they would take too much memory. */
#define CPU_PACK_LIMIT ((int64_t)16 << 20) /* elements */
#define CPU_WORTH_MEETING 12 /* columns that take long to pack: from so many on threads share that */
CPU_INLINE bool cpu_packs(int64_t k, int64_t n)
{
    return n * k <= CPU_PACK_LIMIT;
}

/* The product of a task, without its columns and results. */
CPU_INLINE cpu_gemm cpu_gemm_of(const cpu_task *task)
{
    const cpu_tensor *a = task->in[0];
    return (cpu_gemm){.stride = a->nb[1], .group = a->group, .block = a->block, .block_bytes = a->block_bytes,
                      .type = a->type, .b_type = task->in[1]->type, .k = a->ne[0],
                      .fast = task->node->precision == ENG_PRECISION_FAST};
}

/* Do both tasks multiply the same columns, and pack them in the same form? */
CPU_INLINE bool cpu_same_columns(const cpu_task *before, const cpu_task *task)
{
    const cpu_tensor *a = before->in[0], *b = task->in[0];
    return before->in[1] == task->in[1] && before->node->precision == task->node->precision && a->type == b->type &&
           a->group == b->group;
}

/* Units are `grain` rows, matrix after matrix of m rows: of units begin .. end - 1 those of matrix x. */
CPU_INLINE void rows_of_units(const cpu_products *product, const cpu_gemm *g, int64_t m, int64_t grain, int64_t x,
                              int64_t begin, int64_t end, uint8_t *scratch)
{
    const int64_t per_matrix = (m + grain - 1) / grain, before = x * per_matrix;
    const int64_t first = begin > before ? begin - before : 0;
    const int64_t last = end < before + per_matrix ? end - before : per_matrix;
    product->rows(g, first * grain, last * grain < m ? last * grain : m, scratch);
}

#endif
