/* Matrix product: rows of a (any type) with columns of b. */
#include "product.h"

/* All columns of b that meet one matrix of a: n of them, for each of the r x s
 * matrices of b that share it. */
static int64_t columns(const cpu_task *task)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1];
    int64_t matrices = a->ne[2] * a->ne[3];
    return matrices > 0 ? b->ne[1] * (b->ne[2] * b->ne[3] / matrices) : 0;
}

/* Columns packed once for all threads, if they share one matrix. */
static size_t shared_bytes(const cpu_task *task, int threads)
{
    const cpu_tensor *a = task->in[0];
    const int64_t n = columns(task), k = a->ne[0];
    const cpu_products *product = cpu_products_for(task, a, n);
    const bool many = CPU_V(cpu_gemm_blocked)(n) || (product->column_bytes && n >= CPU_WORTH_MEETING);
    bool pays = threads > 1 && a->ne[2] * a->ne[3] == 1 && many && cpu_packs(k, n);
    return pays ? product->packed_bytes(a->type, k, n) : 0;
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    const cpu_tensor *a = task->in[0];
    const int64_t n = columns(task);
    const cpu_products *product = cpu_products_for(task, a, n);
    const bool packed = product->column_bytes && shared_bytes(task, threads) > 0;
    return 2 * floats(2 * n) + product->scratch_bytes(a->type, a->ne[0], packed ? 0 : n);
}

/* Where the columns for matrix (p, q) of a lie, and where their results go. */
static void find_columns(const cpu_task *task, cpu_gemm *g, int64_t p, int64_t q)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *o = task->out[0];
    int64_t r = b->ne[2] / a->ne[2], s = b->ne[3] / a->ne[3], c = 0;
    for (int64_t y = q * s; y < (q + 1) * s; y++)
        for (int64_t x = p * r; x < (p + 1) * r; x++)
            for (int64_t j = 0; j < b->ne[1]; j++, c++) {
                g->b[c] = b->data + j * b->nb[1] + x * b->nb[2] + y * b->nb[3];
                g->o[c] = (float *)(o->data + j * o->nb[1] + x * o->nb[2] + y * o->nb[3]);
            }
    g->a = a->data + p * a->nb[2] + q * a->nb[3];
    g->n = c;
}

/* Columns first .. last - 1 only. */
static cpu_gemm narrowed(const cpu_gemm *g, int64_t first, int64_t last)
{
    cpu_gemm part = *g;
    part.b += first;
    part.o += first;
    part.n = last - first;
    return part;
}

/* Each thread takes some columns. */
static void share_columns(const cpu_task *task, const cpu_run *run, const cpu_products *product, cpu_gemm *g,
                          uint8_t *scratch)
{
    const cpu_tensor *a = task->in[0];
    int64_t begin, end;
    cpu_share(run, columns(task), product->column_bytes ? CPU_PACKED_TOGETHER : CPU_TILE, &begin, &end);
    for (int64_t x = 0; x < a->ne[2] * a->ne[3]; x++) {
        find_columns(task, g, x % a->ne[2], x / a->ne[2]);
        cpu_gemm part = narrowed(g, begin, end);
        if (task->shared && product->column_bytes) {
            product->pack(g, begin, end, task->shared);
            part.packed = (const uint8_t *)task->shared + (size_t)begin * product->column_bytes(a->type, g->k);
        }
        product->rows(&part, 0, a->ne[1], scratch);
    }
}

/* Units of rows that threads share out, of a matrix. */
static int64_t units_of(const cpu_products *product, int64_t m, int64_t n)
{
    const int64_t grain = product->grain(n);
    return (m + grain - 1) / grain;
}

/* Are they too few for the threads, so that columns are shared out instead? */
static bool has_few_units(int64_t units, int64_t n, int threads)
{
    return CPU_V(cpu_gemm_blocked)(n) && units < 2 * threads && n >= 4 * CPU_TILE;
}

/* The same columns in the same form, q, k and v of a layer, say. */
static bool again(const cpu_task *before, const cpu_task *task, int threads)
{
    const cpu_tensor *a = before->in[0], *b = task->in[0];
    const int64_t n = columns(task);
    const cpu_products *product = cpu_products_for(task, b, n);
    return cpu_same_columns(before, task) && a->ne[2] * a->ne[3] == 1 && b->ne[2] * b->ne[3] == 1 &&
           !has_few_units(units_of(product, a->ne[1], n), n, threads) &&
           !has_few_units(units_of(product, b->ne[1], n), n, threads);
}

/* For all threads, unless the task before has. */
static void pack_shared(const cpu_task *task, const cpu_run *run, const cpu_products *product, cpu_gemm *g)
{
    int64_t begin, end;
    find_columns(task, g, 0, 0);
    cpu_share(run, g->n, g->blocked ? CPU_TILE : 1, &begin, &end);
    if (!task->again) {
        product->pack(g, begin, end, task->shared);
        cpu_barrier(run);
    }
    g->packed = task->shared;
}

static void run_mul_mat(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0];
    int64_t n = columns(task), m = a->ne[1], matrices = a->ne[2] * a->ne[3], begin, end;
    if (n == 0 || m == 0)
        return;
    uint8_t *scratch = run->scratch;
    const bool packed_before = task->again && run->packed;
    run->packed = false;
    const cpu_products *product = cpu_products_for(task, a, n);
    cpu_gemm g = cpu_gemm_of(task);
    g.blocked = CPU_V(cpu_gemm_blocked)(n);
    g.b = (const uint8_t **)take_floats(&scratch, 2 * n);
    g.o = (float **)take_floats(&scratch, 2 * n);
    const int64_t grain = product->grain(n), per_matrix = units_of(product, m, n);
    if (has_few_units(matrices * per_matrix, n, run->threads)) {
        share_columns(task, run, product, &g, scratch);
        return;
    }
    if (task->shared)
        pack_shared(task, run, product, &g);
    /* where rows() would, each thread packs for all its portions, and for the tasks behind that do so again */
    uint8_t *own = product->column_bytes && !task->shared ? scratch : NULL;
    if (own)
        scratch += product->packed_bytes(a->type, g.k, n);
    cpu_portions p = cpu_portions_of(task, run, matrices * per_matrix, CPU_LEAST_ROWS / grain);
    int64_t packed = packed_before ? 0 : -1; /* the matrix whose columns are there */
    if (own && packed_before)
        g.packed = own;
    while (cpu_take(&p, &begin, &end))
        for (int64_t x = begin / per_matrix; x * per_matrix < end; x++) {
            find_columns(task, &g, x % a->ne[2], x / a->ne[2]);
            if (own && packed != x) {
                product->pack(&g, 0, g.n, own);
                g.packed = own;
                packed = x;
            }
            rows_of_units(product, &g, m, grain, x, begin, end, scratch);
        }
    run->packed = own && packed == 0;
}

CPU_DEFINE_AGAIN(mul_mat, run_mul_mat, thread_bytes, shared_bytes, again)
