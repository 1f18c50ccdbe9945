/*
 * Each token's products with the experts it chose: the columns of an expert
 * are gathered, then it is a matrix product.  Threads share out the rows of
 * all experts that were chosen.  Where packing takes long and a packed column
 * stands alone, each is packed once for all experts that its token chose, and
 * those of an expert are brought together: products read them for each strip.
 */
#include "product.h"

/* Columns of all tokens: one each, or one for each expert that it chose. */
static int64_t all_columns(const cpu_task *task)
{
    const cpu_tensor *b = task->in[1];
    return b->ne[1] * b->ne[2];
}

/* Columns of an expert, if all are chosen as often. */
static int64_t columns_each(const cpu_task *task)
{
    const cpu_tensor *ids = task->in[2];
    const int64_t experts = task->in[0]->ne[2], choices = ids->ne[0] * ids->ne[1];
    return experts > 0 && choices > experts ? choices / experts : 1;
}

/* 0: they are not packed here. */
static size_t packed_bytes(const cpu_task *task)
{
    const cpu_tensor *a = task->in[0];
    const cpu_products *product = cpu_products_for(task, a, columns_each(task));
    const int64_t n = all_columns(task);
    const bool packs = product->column_bytes && cpu_packs(a->ne[0], n);
    return packs ? product->packed_bytes(a->type, a->ne[0], n) : 0;
}

static size_t shared_bytes(const cpu_task *task, int threads)
{
    return threads > 1 && all_columns(task) >= CPU_WORTH_MEETING ? packed_bytes(task) : 0;
}

static size_t thread_bytes(const cpu_task *task, int threads)
{
    const cpu_tensor *a = task->in[0], *ids = task->in[2];
    const int64_t n = ids->ne[0] * ids->ne[1], all = all_columns(task), experts = a->ne[2];
    const cpu_products *product = cpu_products_for(task, a, columns_each(task));
    const size_t packed = packed_bytes(task);
    const size_t columns =
        packed ? product->scratch_bytes(a->type, a->ne[0], 0) + product->packed_bytes(a->type, a->ne[0], n)
               : product->scratch_bytes(a->type, a->ne[0], n);
    return columns + 3 * floats(2 * n) + floats(experts + 1) + floats(experts) + floats(2 * all) + floats(all) +
           (shared_bytes(task, threads) ? 0 : packed);
}

/* What is packed for all threads: the same columns in the same form. */
static bool again(const cpu_task *before, const cpu_task *task, int threads)
{
    return cpu_same_columns(before, task) && columns_each(before) == columns_each(task) && shared_bytes(task, threads) > 0;
}

/* One chosen expert of one token. */
typedef struct choice {
    int32_t u, t;
} choice;

/* Sorts the choices by expert: those of expert e are first[e] .. first[e + 1]
 * - 1.  The results of those that are skipped are zeroed. */
static void sort_choices(const cpu_task *task, int32_t *first, choice *sorted, bool zero)
{
    const cpu_tensor *ids = task->in[2], *o = task->out[0];
    int64_t experts = task->in[0]->ne[2];
    memset(first, 0, (size_t)(experts + 1) * sizeof *first);
    for (int64_t t = 0; t < ids->ne[1]; t++)
        for (int64_t u = 0; u < ids->ne[0]; u++) {
            int64_t e = index_at(ids, ids->data + u * ids->nb[0] + t * ids->nb[1]);
            if (e >= 0 && e < experts)
                first[e + 1]++;
            else if (zero)
                memset(o->data + u * o->nb[1] + t * o->nb[2], 0, (size_t)o->ne[0] * sizeof(float));
        }
    for (int64_t e = 0; e < experts; e++)
        first[e + 1] += first[e];
    for (int64_t t = 0; t < ids->ne[1]; t++)
        for (int64_t u = 0; u < ids->ne[0]; u++) {
            int64_t e = index_at(ids, ids->data + u * ids->nb[0] + t * ids->nb[1]);
            if (e >= 0 && e < experts)
                sorted[first[e]++] = (choice){(int32_t)u, (int32_t)t};
        }
    for (int64_t e = experts; e > 0; e--) /* each has moved to where the next begins */
        first[e] = first[e - 1];
    first[0] = 0;
}

/* What a run knows: choices by expert, experts that were chosen, all columns. */
typedef struct experts {
    choice *sorted;
    int32_t *first, *used;
    int64_t n_used;
    cpu_gemm all;    /* packed: all of them, or those that `there` has         */
    uint8_t *own;    /* where this thread packs them; NULL: all are packed, or none */
    int32_t *there;
    uint8_t *near;   /* packed columns of an expert                             */
} experts;

/* Column i, packed. */
static const uint8_t *packed_column(const cpu_products *product, experts *x, int64_t i)
{
    if (x->own && !x->there[i]) {
        product->pack(&x->all, i, i + 1, x->own);
        x->there[i] = true;
    }
    return (const uint8_t *)x->all.packed + (size_t)i * product->column_bytes(x->all.type, x->all.k);
}

/* Columns and results of an expert. */
static void choose_expert(const cpu_task *task, experts *x, int64_t e, const cpu_products *product, cpu_gemm *g)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *o = task->out[0];
    const size_t bytes = x->all.packed ? product->column_bytes(a->type, a->ne[0]) : 0;
    g->n = x->first[e + 1] - x->first[e];
    for (int64_t c = 0; c < g->n; c++) {
        const choice chosen = x->sorted[x->first[e] + c];
        const int64_t i = chosen.t * b->ne[1] + (b->ne[1] > 1 ? chosen.u : 0);
        g->b[c] = x->all.b[i];
        g->o[c] = (float *)(o->data + chosen.u * o->nb[1] + chosen.t * o->nb[2]);
        if (bytes)
            memcpy(x->near + (size_t)c * bytes, packed_column(product, x, i), bytes);
    }
    g->a = a->data + e * a->nb[2];
    g->packed = bytes ? x->near : NULL;
    g->blocked = CPU_V(cpu_gemm_blocked)(g->n);
}

static void list_columns(const cpu_tensor *b, const uint8_t **columns)
{
    for (int64_t t = 0, c = 0; t < b->ne[2]; t++)
        for (int64_t u = 0; u < b->ne[1]; u++, c++)
            columns[c] = b->data + u * b->nb[1] + t * b->nb[2];
}

/* Who needs them is known, and what is packed for all is. */
static void begin_run(const cpu_task *task, cpu_run *run, const cpu_products *product, experts *x, uint8_t **scratch)
{
    const cpu_tensor *ids = task->in[2];
    const int64_t n = ids->ne[0] * ids->ne[1], all = all_columns(task), count = task->in[0]->ne[2];
    x->sorted = (choice *)take_floats(scratch, 2 * n);
    x->first = (int32_t *)take_floats(scratch, count + 1);
    x->used = (int32_t *)take_floats(scratch, count);
    sort_choices(task, x->first, x->sorted, run->thread == 0);
    for (int64_t e = 0; e < count; e++)
        if (x->first[e + 1] > x->first[e])
            x->used[x->n_used++] = (int32_t)e;
    x->all.n = all;
    x->all.b = (const uint8_t **)take_floats(scratch, 2 * all);
    list_columns(task->in[1], x->all.b);
    if (task->shared) {
        int64_t begin, end;
        cpu_share(run, all, 1, &begin, &end);
        if (!task->again) {
            product->pack(&x->all, begin, end, task->shared);
            cpu_barrier(run);
        }
        x->all.packed = task->shared;
    } else if (packed_bytes(task) > 0) {
        x->there = (int32_t *)take_floats(scratch, all);
        memset(x->there, 0, (size_t)all * sizeof *x->there);
        x->all.packed = x->own = *scratch;
        *scratch += packed_bytes(task);
    }
    if (x->all.packed) {
        x->near = *scratch;
        *scratch += product->packed_bytes(x->all.type, x->all.k, n);
    }
}

static void run_mul_mat_id(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *ids = task->in[2];
    const int64_t n = ids->ne[0] * ids->ne[1], m = a->ne[1];
    int64_t begin, end;
    uint8_t *scratch = run->scratch;
    const cpu_products *product = cpu_products_for(task, a, columns_each(task));
    experts x = {.all = cpu_gemm_of(task)};
    begin_run(task, run, product, &x, &scratch);
    cpu_gemm g = x.all;
    g.b = (const uint8_t **)take_floats(&scratch, 2 * n);
    g.o = (float **)take_floats(&scratch, 2 * n);
    /* that of few columns and that of many: one is a multiple of the other */
    const int64_t few = product->grain(1), many = product->grain(n), grain = few > many ? few : many;
    const int64_t per_expert = (m + grain - 1) / grain;
    cpu_portions p = cpu_portions_of(task, run, x.n_used * per_expert, CPU_LEAST_ROWS / grain);
    int64_t chosen = -1;
    while (cpu_take(&p, &begin, &end))
        for (int64_t i = begin / per_expert; i * per_expert < end; i++) {
            if (i != chosen)
                choose_expert(task, &x, x.used[i], product, &g);
            chosen = i;
            rows_of_units(product, &g, m, grain, i, begin, end, scratch);
        }
}

CPU_DEFINE_AGAIN(mul_mat_id, run_mul_mat_id, thread_bytes, shared_bytes, again)
