/* What attention.c and attention_values.c share. */
#ifndef CPU_ATTENTION_H
#define CPU_ATTENTION_H

#include "product.h"

/* sum[c][0 .. e - 1] += over j < n of p[c * stride + j] * v[j * e + ..]. */
void CPU_V(cpu_attn_values)(const float *p, int64_t stride, const float *v, int64_t e, int64_t n, float *sum,
                            int64_t columns);

#endif
