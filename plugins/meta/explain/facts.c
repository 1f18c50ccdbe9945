/* Facts about exchanges and bound tensors that every form of the report has. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "explain.h"

/* What the exchange is called by those who know collectives. */
static const char *kind_name(const meta_exchange *e)
{
    switch (e->from) {
    case META_PARTIAL:
        if (e->to == META_REPLICATED)
            return meta_several(e->sources) ? "all_reduce" : "broadcast";
        return e->to == META_SHARDED ? "reduce_scatter" : "reduce";
    case META_SHARDED:
        if (e->to == META_SHARDED)
            return "all_to_all";
        return e->to == META_REPLICATED ? "all_gather" : "gather";
    default:
        return e->to == META_SHARDED ? "scatter" : meta_several(e->targets) ? "broadcast" : "transfer";
    }
}

static const char *algorithm_name(const meta_exchange *e)
{
    if (meta_exchange_by_chunks(e))
        return "reduce_scatter_all_gather";
    return e->from == META_PARTIAL && meta_several(e->sources) ? "exchange_and_add" : "copy";
}

/* Do all ends of the exchange lie in memory that the host sees? */
static const char *path_name(const meta_report *report, const meta_exchange *e)
{
    uint32_t staged = 0, mapped = 0;
    bool large = false;

    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        const meta_end *ends[] = {&e->src[r], &e->dst[r]};
        for (uint32_t k = 0; k < 2; k++) {
            if (!((k ? e->targets : e->sources) >> r & 1u) || ends[k]->tensor < 0)
                continue;
            bool seen = ends[k]->mappable && report->device->ranks[r].child.info->flags & ENG_DEVICE_HOST_MEMORY;
            mapped += seen;
            staged += !seen;
            large |= k == 0 && meta_gives_in_place(e, r);
        }
    }
    if (staged)
        return mapped ? "partly_staged" : "staged";
    return large ? "in_place" : "copied";
}

uint64_t meta_exchange_sent(const meta_exchange *e)
{
    uint64_t sent = 0;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        sent += e->sources >> r & 1u ? e->sent[r] : 0;
    return sent;
}

bool meta_exchange_single(const meta_exchange *e)
{
    return e->from == META_SINGLE || e->to == META_SINGLE;
}

meta_way meta_exchange_way(const meta_report *report, const meta_exchange *e)
{
    return (meta_way){.kind = kind_name(e),
                      .algorithm = algorithm_name(e),
                      .path = path_name(report, e),
                      .price = e->price};
}

bool meta_kept_apart(const eng_tensor *t, const meta_place *place)
{
    return place->kind == META_SINGLE && (t->use & ENG_USE_MASK) != ENG_USE_OUTPUT;
}

uint64_t meta_bytes_on(const meta_report *report, const eng_tensor *t, const meta_place *place, uint32_t rank)
{
    const eng_type_info *type = meta_type_info(report->device, t->type);

    return type && meta_place_holds(place, rank) ? meta_local_bytes(place, rank, type, t->ne) : 0;
}
