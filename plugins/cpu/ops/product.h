/* How a product of rows with columns is computed: exactly (gemm.h), or by units where it may be fast. */
#ifndef CPU_PRODUCT_H
#define CPU_PRODUCT_H

#include "gemm.h"
#include "op.h"

/* For products with the rows of an operand. */
const cpu_products *CPU_V(cpu_products_for)(const cpu_task *task, const cpu_tensor *rows);
#define cpu_products_for CPU_V(cpu_products_for)

/* Rows of a portion at least: each begins with what must be done once for all rows. */
#define CPU_LEAST_ROWS 64

#endif
