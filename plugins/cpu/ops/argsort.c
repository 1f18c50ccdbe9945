/*
 * Indices that sort each row, lower index first on ties; NaN counts as -inf.  Runs are
 * merged two by two, which keeps the order of what is equal.
 */
#include "loops.h"

#include "op.h"

enum { RUN = 16 }; /* elements that are sorted by insertion */

/* Does element i, which stands before j, stay before it? */
CPU_INLINE bool stays(const float *x, int32_t i, int32_t j, bool descending)
{
    return descending ? x[i] >= x[j] : x[i] <= x[j];
}

static void insert_run(const float *x, int32_t *index, int64_t begin, int64_t end, bool descending)
{
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i;
        for (; at > begin && !stays(x, index[at - 1], (int32_t)i, descending); at--)
            index[at] = index[at - 1];
        index[at] = (int32_t)i;
    }
}

static void merge(const float *x, const int32_t *a, const int32_t *a_end, const int32_t *b_end, int32_t *out,
                  bool descending)
{
    const int32_t *b = a_end;
    while (a < a_end && b < b_end)
        *out++ = stays(x, *a, *b, descending) ? *a++ : *b++;
    memcpy(out, a, (size_t)(a_end - a) * sizeof *out);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *out);
}

/* spare: n numbers.  The result is in `out`. */
static void sort_row(const float *x, int64_t n, bool descending, int32_t *spare, int32_t *out)
{
    int32_t *from = out, *to = spare;
    for (int64_t begin = 0; begin < n; begin += RUN)
        insert_run(x, from, begin, begin + RUN < n ? begin + RUN : n, descending);
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            int64_t middle = begin + width < n ? begin + width : n, end = middle + width < n ? middle + width : n;
            merge(x, from + begin, from + middle, from + end, to + begin, descending);
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != out)
        memcpy(out, from, (size_t)n * sizeof *out);
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    return 3 * floats(task->in[0]->ne[0]);
}

static void run_argsort(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    uint8_t *scratch = run->scratch;
    int64_t begin, end, n = x->ne[0];
    float *buffer = take_floats(&scratch, n), *clean = take_floats(&scratch, n);
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *row = cpu_row_f32(x, row_number(x, r), buffer);
        for (int64_t i = 0; i < n; i++)
            clean[i] = row[i] == row[i] ? row[i] : -INFINITY;
        sort_row(clean, n, task->node->ip[ENG_ARGSORT_DESCENDING] != 0, (int32_t *)scratch, (int32_t *)y->data + r * n);
    }
}

CPU_DEFINE_WITH(argsort, run_argsort, thread_bytes, NULL)
