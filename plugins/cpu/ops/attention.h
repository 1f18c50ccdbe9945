/* What attention.c and attention_values.c share. */
#ifndef CPU_ATTENTION_H
#define CPU_ATTENTION_H

#include "product.h"

#define CPU_ATTN_CELLS 64 /* cells of a block: weights of a column lie beside one another */

/* n rows of V, e elements of a type each, `stride` bytes apart. */
typedef struct cpu_rows {
    const uint8_t *at;
    int64_t stride, n, e;
    uint32_t type;
    bool together; /* without gaps */
} cpu_rows;

/* Are rows of that type taken as they are for so many columns, or decoded before? */
bool CPU_V(cpu_attn_takes)(uint32_t type, int64_t columns);
/* sum[c][0 .. e - 1] += over j < n of p[c][j] * row j, of a type that is taken. */
void CPU_V(cpu_attn_values)(const float *p, const cpu_rows *v, float *sum, int64_t columns);

#endif
