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

/* A product of experts, as one thread works on it. */
typedef struct experts_work {
    const cpu_task *task;
    const cpu_products *product;
    const int32_t *first;  /* of an expert's choices                         */
    const choice *sorted;
    int32_t *used;         /* experts that were chosen                       */
    int64_t n_used, grain; /* rows that are shared out at a time             */
    cpu_gemm g;
    uint8_t *scratch;
} experts_work;

/* Columns and results of an expert. */
static void choose_expert(experts_work *w, int64_t e)
{
    const cpu_tensor *a = w->task->in[0], *b = w->task->in[1], *o = w->task->out[0];
    w->g.n = w->first[e + 1] - w->first[e];
    for (int64_t c = 0; c < w->g.n; c++) {
        choice x = w->sorted[w->first[e] + c];
        w->g.b[c] = b->data + (b->ne[1] > 1 ? x.u * b->nb[1] : 0) + x.t * b->nb[2];
        w->g.o[c] = (float *)(o->data + x.u * o->nb[1] + x.t * o->nb[2]);
    }
    w->g.a = a->data + e * a->nb[2];
    w->g.blocked = CPU_V(cpu_gemm_blocked)(w->g.n);
}

/* Units begin .. end - 1 of those of all experts that are used. */
static void some_units(experts_work *w, int64_t begin, int64_t end, int64_t per_expert)
{
    const int64_t m = w->task->in[0]->ne[1];
    for (int64_t x = begin / per_expert; x * per_expert < end; x++) {
        const int64_t first = begin > x * per_expert ? begin - x * per_expert : 0;
        const int64_t last = end < (x + 1) * per_expert ? end - x * per_expert : per_expert;
        choose_expert(w, w->used[x]);
        w->product->rows(&w->g, first * w->grain, last * w->grain < m ? last * w->grain : m, w->scratch);
    }
}

static void run_mul_mat_id(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *ids = task->in[2];
    int64_t n = ids->ne[0] * ids->ne[1], m = a->ne[1], experts = a->ne[2], begin, end;
    uint8_t *scratch = run->scratch;
    experts_work w = {.task = task, .product = cpu_products_for(task, a),
                      .g = {.stride = a->nb[1], .group = a->group, .block = a->block, .block_bytes = a->block_bytes,
                            .type = a->type, .b_type = b->type, .k = a->ne[0],
                            .fast = task->node->precision == ENG_PRECISION_FAST}};
    w.g.b = (const uint8_t **)take_floats(&scratch, 2 * n);
    w.g.o = (float **)take_floats(&scratch, 2 * n);
    choice *sorted = (choice *)take_floats(&scratch, 2 * n);
    int32_t *first = (int32_t *)take_floats(&scratch, experts + 1);
    w.used = (int32_t *)take_floats(&scratch, experts);
    sort_choices(task, first, sorted, run->thread == 0);
    for (int64_t e = 0; e < experts; e++)
        if (first[e + 1] > first[e])
            w.used[w.n_used++] = (int32_t)e;
    w.first = first;
    w.sorted = sorted;
    w.scratch = scratch;
    /* that of few columns and that of many: one is a multiple of the other */
    const int64_t few = w.product->grain(1), many = w.product->grain(n);
    w.grain = few > many ? few : many;
    const int64_t per_expert = (m + w.grain - 1) / w.grain;
    cpu_portions p = cpu_portions_of(task, run, w.n_used * per_expert, 1, CPU_LEAST_ROWS / w.grain);
    while (cpu_take(&p, &begin, &end))
        some_units(&w, begin, end, per_expert);
}

CPU_DEFINE_TAKING(mul_mat_id, run_mul_mat_id, thread_bytes, NULL)
