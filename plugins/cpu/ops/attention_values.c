/* Weighted sums of rows of V: a register tile of columns and vectors. */
#include "attention.h"

/* `cols` columns, `vectors` vectors of a row. */
CPU_INLINE void tile(const float *p, int64_t stride, const float *v, int64_t e, int64_t n, float *sum, const int cols,
                     const int vectors)
{
    vf s[4][4];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int i = 0; i < vectors; i++)
            s[c][i] = v_load(sum + c * e + i * CPU_VL);
    for (int64_t j = 0; j < n; j++)
        CPU_UNROLL
        for (int i = 0; i < vectors; i++) {
            vf x = v_load(v + j * e + i * CPU_VL);
            CPU_UNROLL
            for (int c = 0; c < cols; c++)
                s[c][i] = v_fma(x, v_set1(p[c * stride + j]), s[c][i]);
        }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int i = 0; i < vectors; i++)
            v_store(sum + c * e + i * CPU_VL, s[c][i]);
}

CPU_INLINE void columns_of(const float *p, int64_t stride, const float *v, int64_t e, int64_t n, float *sum,
                           const int cols)
{
    int64_t i = 0;
    for (; i + 2 * CPU_VL <= e; i += 2 * CPU_VL)
        tile(p, stride, v + i, e, n, sum + i, cols, 2);
    for (; i + CPU_VL <= e; i += CPU_VL)
        tile(p, stride, v + i, e, n, sum + i, cols, 1);
    for (; i < e; i++)
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            for (int64_t j = 0; j < n; j++)
                sum[c * e + i] += p[c * stride + j] * v[j * e + i];
}

void CPU_V(cpu_attn_values)(const float *p, int64_t stride, const float *v, int64_t e, int64_t n, float *sum,
                            int64_t columns)
{
    int64_t c = 0;
    for (; c + 4 <= columns; c += 4)
        columns_of(p + c * stride, stride, v, e, n, sum + c * e, 4);
    for (; c < columns; c++)
        columns_of(p + c * stride, stride, v, e, n, sum + c * e, 1);
}
