/*
 * Each token's products with the experts it chose: the columns of an expert
 * are gathered, then it is a matrix product.  Threads share out the rows of
 * all experts that were chosen.
 */
#include "product.h"

static size_t thread_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    const cpu_tensor *a = task->in[0], *ids = task->in[2];
    int64_t n = ids->ne[0] * ids->ne[1];
    return cpu_products_for(task, a)->scratch_bytes(a->type, a->ne[0], n) + 4 * floats(2 * n) + floats(a->ne[2] + 1) +
           floats(a->ne[2]);
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

/* Columns and results of an expert. */
static void choose_expert(const cpu_task *task, const int32_t *first, const choice *sorted, int64_t e, cpu_gemm *g)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *o = task->out[0];
    g->n = first[e + 1] - first[e];
    for (int64_t c = 0; c < g->n; c++) {
        choice x = sorted[first[e] + c];
        g->b[c] = b->data + (b->ne[1] > 1 ? x.u * b->nb[1] : 0) + x.t * b->nb[2];
        g->o[c] = (float *)(o->data + x.u * o->nb[1] + x.t * o->nb[2]);
    }
    g->a = a->data + e * a->nb[2];
    g->blocked = CPU_V(cpu_gemm_blocked)(g->n);
}

static void run_mul_mat_id(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *ids = task->in[2];
    int64_t n = ids->ne[0] * ids->ne[1], m = a->ne[1], experts = a->ne[2], n_used = 0, begin, end;
    uint8_t *scratch = run->scratch;
    const cpu_products *product = cpu_products_for(task, a);
    cpu_gemm g = {.stride = a->nb[1], .group = a->group, .block = a->block, .block_bytes = a->block_bytes,
                  .type = a->type, .b_type = b->type, .k = a->ne[0],
                  .fast = task->node->precision == ENG_PRECISION_FAST};
    g.b = (const uint8_t **)take_floats(&scratch, 2 * n);
    g.o = (float **)take_floats(&scratch, 2 * n);
    choice *sorted = (choice *)take_floats(&scratch, 2 * n);
    int32_t *first = (int32_t *)take_floats(&scratch, experts + 1), *used = (int32_t *)take_floats(&scratch, experts);
    sort_choices(task, first, sorted, run->thread == 0);
    for (int64_t e = 0; e < experts; e++)
        if (first[e + 1] > first[e])
            used[n_used++] = (int32_t)e;
    /* that of few columns and that of many: one is a multiple of the other */
    const int64_t few = product->grain(1), many = product->grain(n), grain = few > many ? few : many;
    const int64_t per_expert = (m + grain - 1) / grain;
    cpu_portions p = cpu_portions_of(task, run, n_used * per_expert, CPU_LEAST_ROWS / grain);
    while (cpu_take(&p, &begin, &end))
        for (int64_t x = begin / per_expert; x * per_expert < end; x++) {
            choose_expert(task, first, sorted, used[x], &g);
            rows_of_units(product, &g, m, grain, x, begin, end, scratch);
        }
}

CPU_DEFINE_TAKING(mul_mat_id, run_mul_mat_id, thread_bytes, NULL)
