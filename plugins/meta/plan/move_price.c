/* What it costs to bring a value from one version to where it is wanted. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>

#include "planner.h"

static uint64_t bytes_of(const meta_planner *p, int32_t value)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    int64_t nb[ENG_MAX_RANK];
    return meta_tensor_layout(p, t->type, t->ne, nb);
}

/* Bytes that the busiest of the takers takes from others. */
static double taken(const meta_version *from, const meta_place *want, double bytes, double n_sources, double n)
{
    switch (from->place.kind) {
    case META_SHARDED:
        return want->kind == META_SINGLE ? bytes : bytes * (n - 1) / n / (want->kind == META_SHARDED ? n : 1);
    case META_PARTIAL:
        return bytes * (want->kind == META_SHARDED ? (n_sources - 1) / n : n_sources);
    default:
        return bytes / (want->kind == META_SHARDED ? n : 1);
    }
}

double meta_version_price(const meta_planner *p, int32_t value, const meta_version *from, const meta_place *want)
{
    const meta_place *place = &from->place;
    double bytes = (double)bytes_of(p, value);
    uint32_t sources = meta_source_ranks(p, place), targets = meta_target_ranks(p, want);

    if (meta_version_serves(from, want))
        return 0;
    if (want->kind == META_PARTIAL)
        return HUGE_VAL;
    if (meta_same_alone(place, want))
        return 0;
    if (place->kind == META_REPLICATED && want->kind == META_SHARDED && !meta_version_opaque(p, value, from))
        return meta_cost_touched(2 * bytes);
    if (place->kind == META_SHARDED && want->kind == META_SHARDED && meta_cut_same(&place->cut, &want->cut))
        return 0;
    if (place->kind == META_PARTIAL && want->kind == META_REPLICATED)
        return meta_cost_all_reduce(p->device, sources, targets, bytes);
    return meta_cost_meet(p->device, sources | targets,
                          taken(from, want, bytes, __builtin_popcount(sources),
                                __builtin_popcount(p->device->main_mask)));
}
