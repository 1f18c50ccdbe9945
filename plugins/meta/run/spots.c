/*
 * Where the values of exchanges are on the host: the devices' own memory where it is
 * mapped, else staging memory of the instance.  Decided once, so that a run neither
 * decides nor allocates.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "run.h"

/* The host's address of one side of an exchange, if the device gives one. */
static char *map(const eng_instance_state *inst, uint32_t rank, const meta_end *end)
{
    const eng_child *c = &inst->variant->device->ranks[rank].child;
    void *data = NULL;

    if (end->tensor < 0 || !end->mappable || !(c->info->flags & ENG_DEVICE_HOST_MEMORY) ||
        c->calls->value_map(inst->child[rank], end->tensor, &data) != ENG_OK || !data)
        return NULL;
    return (char *)data + end->offset;
}

static void *page(uint64_t bytes)
{
    return aligned_alloc(4096, (size_t)((bytes + 4095) & ~(uint64_t)4095));
}

/* Where a rank's sides of all exchanges are.  What is given as a copy goes through two
 * staging buffers in turns; what is taken and not mapped, through one. */
static void place_spots(eng_instance_state *inst, uint32_t rank, uint64_t *give, uint64_t *take)
{
    const meta_variant *v = inst->variant;
    uint32_t copies = 0, before[2] = {META_NEVER, META_NEVER};

    for (uint32_t i = 0; i < v->n_exchanges; i++) {
        const meta_end *s = &v->exchanges[i]->src[rank], *d = &v->exchanges[i]->dst[rank];
        meta_spot *from = &inst->src[rank][i], *to = &inst->dst[rank][i];
        to->mapped = to->data = map(inst, rank, d);
        from->mapped = from->data = map(inst, rank, s);
        from->before = META_NEVER;
        from->lent = from->mapped && meta_gives_in_place(v->exchanges[i], rank);
        if (d->tensor >= 0 && !to->mapped && d->bytes > *take)
            *take = d->bytes;
        if (s->tensor < 0 || from->lent)
            continue;
        if (s->bytes > *give)
            *give = s->bytes;
        from->data = NULL; /* until there is the buffer */
        from->before = before[copies & 1u];
        before[copies++ & 1u] = i;
    }
}

/* Addresses and staging memory of a rank: all that a run will need. */
bool meta_spots_rank(eng_instance_state *inst, uint32_t rank)
{
    const meta_variant *v = inst->variant;
    uint64_t give = 0, take = 0;
    uint32_t copies = 0;

    inst->src[rank] = calloc(v->n_exchanges + 1u, sizeof(meta_spot));
    inst->dst[rank] = calloc(v->n_exchanges + 1u, sizeof(meta_spot));
    if (!inst->src[rank] || !inst->dst[rank])
        return false;
    place_spots(inst, rank, &give, &take);
    inst->give[rank][0] = give ? page(give) : NULL;
    inst->give[rank][1] = give ? page(give) : NULL;
    inst->take[rank] = take ? page(take) : NULL;
    for (uint32_t i = 0; i < v->n_exchanges; i++) {
        if (v->exchanges[i]->src[rank].tensor >= 0 && !inst->src[rank][i].lent)
            inst->src[rank][i].data = inst->give[rank][copies++ & 1u];
        if (!inst->dst[rank][i].mapped)
            inst->dst[rank][i].data = inst->take[rank];
    }
    return (!give || (inst->give[rank][0] && inst->give[rank][1])) && (!take || inst->take[rank]);
}

bool meta_spots_sums(eng_instance_state *inst)
{
    const meta_variant *v = inst->variant;
    uint64_t most = 0;

    for (uint32_t i = 0; i < v->n_exchanges; i++) {
        const meta_exchange *e = v->exchanges[i];
        if (meta_exchange_by_chunks(e) && e->bytes > most)
            most = e->bytes;
    }
    if (!most)
        return true;
    inst->sum[0] = page(most);
    inst->sum[1] = page(most);
    return inst->sum[0] && inst->sum[1];
}

void meta_spots_end(eng_instance_state *inst)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        free(inst->src[r]);
        free(inst->dst[r]);
        free(inst->give[r][0]);
        free(inst->give[r][1]);
        free(inst->take[r]);
        free(inst->calls[r]);
    }
    free(inst->sum[0]);
    free(inst->sum[1]);
}
