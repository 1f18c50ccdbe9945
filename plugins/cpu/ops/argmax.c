/* The index of the largest element of each row, the lowest on ties. */
#include "loops.h"

#include "op.h"

#define AT_ONCE (8 * CPU_VL) /* elements of which the largest is found before its place */

/* The largest of AT_ONCE elements that are numbers, or -infinity. */
CPU_INLINE float largest_of(const float *a)
{
    vf most[2] = {v_set1(-INFINITY), v_set1(-INFINITY)};
    CPU_UNROLL
    for (int i = 0; i < AT_ONCE; i += 2 * CPU_VL) {
        most[0] = v_max(v_load(a + i), most[0]);
        most[1] = v_max(v_load(a + i + CPU_VL), most[1]);
    }
    return v_hmax(v_max(most[0], most[1]));
}

/* `best` or, of elements begin .. end - 1 that are numbers, the first that is larger than that one and all others. */
static int64_t better_of(const float *a, int64_t begin, int64_t end, int64_t best)
{
    for (int64_t i = begin; i < end; i++)
        if (a[i] == a[i] && (best < 0 || a[i] > a[best]))
            best = i;
    return best;
}

static int64_t place_of_largest(const float *a, int64_t n)
{
    int64_t best = -1, i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE)
        if (best < 0 || largest_of(a + i) > a[best])
            best = better_of(a, i, i + AT_ONCE, best);
    return better_of(a, i, n, best);
}

static void run_argmax(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end;
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), (float *)run->scratch);
        const int64_t best = place_of_largest(a, x->ne[0]);
        ((int32_t *)y->data)[r] = (int32_t)(best < 0 ? 0 : best);
    }
}

CPU_DEFINE(argmax, run_argmax)
