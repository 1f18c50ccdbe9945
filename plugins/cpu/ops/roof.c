/* Loops that do nothing but read, or nothing but multiply and add: what ops are compared with (run/roof.c). */
#include "op.h"
#include "past.h"

#define STREAMS 4 /* read side by side: more than one is needed to keep the memory busy */
#define CHAINS 12 /* independent sums: latency times throughput of the instruction, and registers to hold them */

float CPU_V(cpu_read)(const float *x, int64_t n)
{
    /* not a power of two apart: streams would share the sets of the caches */
    const int64_t each = n > 4096 * STREAMS ? (n / STREAMS / (2 * CPU_VL) - 33) * (2 * CPU_VL) : 0;
    vf s[2 * STREAMS] = {{0}};
    float sum = 0;
    for (int64_t i = 0; i < each; i += 2 * CPU_VL)
        CPU_UNROLL for (int j = 0; j < STREAMS; j++) {
            s[2 * j] += v_load(x + j * each + i);
            s[2 * j + 1] += v_load(x + j * each + i + CPU_VL);
        }
    for (int64_t i = STREAMS * each; i < n; i++)
        sum += x[i];
    CPU_UNROLL for (int j = 1; j < 2 * STREAMS; j++)
        s[0] += s[j];
    for (int i = 0; i < CPU_VL; i++)
        sum += s[0][i];
    return sum;
}

void CPU_V(cpu_copy)(const float *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + CPU_VL <= n; i += CPU_VL)
        store_past(y + i, v_load(x + i));
    for (; i < n; i++)
        y[i] = x[i];
    past_end();
}

double CPU_V(cpu_fma)(int64_t rounds, float *sum)
{
    const vf half = v_set1(0.5f), one = v_set1(1.0f + *sum);
    vf s[CHAINS];
    CPU_UNROLL for (int j = 0; j < CHAINS; j++)
        s[j] = v_set1((float)j);
    for (int64_t i = 0; i < rounds; i++)
        CPU_UNROLL for (int j = 0; j < CHAINS; j++)
            s[j] = v_fma(s[j], half, one);
    CPU_UNROLL for (int j = 1; j < CHAINS; j++)
        s[0] += s[j];
    *sum = s[0][0];
    return 2.0 * CHAINS * CPU_VL * (double)rounds;
}
