/*
 * The k largest elements of each row, largest first, lower index first on
 * ties; NaN counts as -inf.  A heap of the best k so far, its worst on top.
 */
#include "op.h"

typedef struct candidate {
    float value;
    int32_t index;
} candidate;

/* Does a come before b? */
CPU_INLINE bool before(candidate a, candidate b)
{
    return a.value > b.value || (a.value == b.value && a.index < b.index);
}

/* Lets the element at `i` sink below those that come later in the order. */
static void sift(candidate *heap, int64_t n, int64_t i)
{
    for (;;) {
        int64_t worst = i, left = 2 * i + 1;
        if (left < n && before(heap[worst], heap[left]))
            worst = left;
        if (left + 1 < n && before(heap[worst], heap[left + 1]))
            worst = left + 1;
        if (worst == i)
            return;
        candidate t = heap[i];
        heap[i] = heap[worst];
        heap[worst] = t;
        i = worst;
    }
}

static void top_row(const float *x, int64_t n, int64_t k, candidate *heap, int32_t *out)
{
    if (k <= 0)
        return;
    for (int64_t i = 0; i < n; i++) {
        candidate c = {x[i] == x[i] ? x[i] : -INFINITY, (int32_t)i};
        if (i < k) {
            heap[i] = c;
            if (i == k - 1)
                for (int64_t j = k / 2; j-- > 0;)
                    sift(heap, k, j);
        } else if (before(c, heap[0])) {
            heap[0] = c;
            sift(heap, k, 0);
        }
    }
    for (int64_t left = k; left > 0; left--) { /* the worst comes out first */
        out[left - 1] = heap[0].index;
        heap[0] = heap[left - 1];
        sift(heap, left - 1, 0);
    }
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    return floats(task->in[0]->ne[0]) + floats(2 * task->out[0]->ne[0]);
}

static void run_top_k(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    uint8_t *scratch = run->scratch;
    float *buffer = take_floats(&scratch, x->ne[0]);
    int64_t begin, end, k = y->ne[0];
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++)
        top_row(cpu_row_f32(x, row_number(x, r), buffer), x->ne[0], k, (candidate *)scratch,
                (int32_t *)y->data + r * k);
}

CPU_DEFINE_WITH(top_k, run_top_k, thread_bytes, NULL)
