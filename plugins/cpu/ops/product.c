/* Which way a product is computed (product.h).  Compiled once per variant. */
#include "product.h"

#include "libengine/util/util.h"

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    (void)type;
    return CPU_V(cpu_gemm_scratch)(k, n);
}

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    (void)type;
    return floats(cpu_gemm_packed(k, n));
}

static int64_t grain(int64_t n)
{
    return CPU_V(cpu_gemm_blocked)(n) ? CPU_PANEL : CPU_DOT_ROWS;
}

static const cpu_products exact = {scratch_bytes, packed_bytes, CPU_V(cpu_gemm_pack), CPU_V(cpu_gemm_rows), grain, NULL};

const cpu_products *cpu_products_for(const cpu_task *task, const cpu_tensor *rows, int64_t n)
{
    const bool fast = task->node->precision == ENG_PRECISION_FAST;
    const cpu_variant *v = task->variant;
    const cpu_interleaved *kept = rows->group == EU_LANES ? v->planes : rows->group == EU_STRIP ? v->strips : NULL;
    const bool taken = fast && v->units && rows->ne[0] > 0 && v->units->takes(rows->type, rows->group, n);
    const bool rounded = kept && (kept->rounded >> rows->type & 1);
    const bool all_meet = task->node->op == ENG_OP_MUL_MAT;
    const cpu_products *instead = kept && kept->instead ? kept->instead(rows->type, rows->ne[0], n, fast, all_meet) : NULL;
    if (instead)
        return instead;
    if (kept && fast && (rounded || rows->group == EU_LANES))
        return &kept->fast;
    if (kept && (rows->group == EU_LANES || !taken))
        return &kept->exact;
    return taken ? &v->units->products : &exact;
}
