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
    const cpu_planes *planes = task->variant->planes;
    if (planes && rows->group == EU_LANES)
        return fast ? &planes->fast : &planes->exact;
    const cpu_units *units = fast ? task->variant->units : NULL;
    return units && rows->ne[0] > 0 && units->takes(rows->type, n) ? &units->products : &exact;
}
