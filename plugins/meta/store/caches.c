/*
 * By heads, or along their cells?  Of K and V the last axis, the heads, needs no exchange:
 * every rank attends with the heads that it has.  But two heads cannot follow shares of
 * 3 : 1.  Along its cells a cache is as fine as wanted, and an attention meets more often
 * for it (merge.c).  So what the heads would leave on the wrong rank is weighed against
 * these meetings: cost.c has both prices.
 *
 * One attention's K and V must go the same way, or one of them would have to be moved in
 * every run.  So the caches of a store that have the same heads are decided on together,
 * whatever their types: a model's layers are all alike.
 *
 * The prices do not depend on what kind of devices there are: what a composition would hold
 * can be found on others (engine-generate --fit), and two contexts of a model agree.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "../device/cost.h"
#include "place.h"

/* The caches of a store that have their last axis in common. */
typedef struct group {
    meta_partition heads, cells;
    double bytes;
    uint32_t n;
    const char *why; /* along the cells; NULL: by heads                        */
} group;

typedef struct groups {
    group *items;
    uint32_t n;
    size_t capacity;
} groups;

/* The partition that an axis has, or as far as can be said the one that it will have. */
static meta_partition foresee(const eng_device_state *device, const meta_partition *axis)
{
    const meta_partition *known = meta_partition_in_use(device, axis->axis, axis->extent);
    meta_partition p = known ? *known : *axis;

    if (!known)
        meta_partition_solve(&p, device->shares, NULL, device->n_leaves);
    return p;
}

/* Of all that is cut by it, the part that the fullest rank has above its share. */
static double above(const eng_device_state *device, const meta_partition *p)
{
    double most = 0;

    for (uint32_t r = 0; r < device->n_leaves; r++) {
        double over = (double)meta_part_length(p, r) / (double)p->extent - device->shares[r];
        most = over > most ? over : most;
    }
    return most;
}

static bool fewer_than_ranks(const eng_device_state *device, const meta_partition *p)
{
    return meta_part_units(p) < __builtin_popcount(device->main_mask);
}

/* Is the tensor a cache that could go both ways?  Fills what its group has in common. */
static bool has_both(const eng_store_tensor *t, const meta_tensor *known, group *g)
{
    meta_choice choices[META_MAX_CHOICES];

    if ((t->use & ENG_USE_MASK) != ENG_USE_CACHE || !meta_may_be_cut(t))
        return false;
    uint32_t n = meta_choices(t, choices);
    if (n < 2)
        return false;
    g->heads = choices[n - 1].part;
    g->cells = choices[0].part;
    g->bytes = (double)known->bytes;
    g->n = 1;
    g->why = NULL;
    return true;
}

static group *find(const groups *all, const group *like)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i].heads.axis == like->heads.axis && all->items[i].heads.extent == like->heads.extent)
            return &all->items[i];
    return NULL;
}

static void decide(const eng_device_state *device, group *g)
{
    meta_partition heads = foresee(device, &g->heads), cells = foresee(device, &g->cells);

    if (fewer_than_ranks(device, &heads))
        g->why = "fewer heads than devices";
    else if (meta_cost_above_share(above(device, &heads) * g->bytes) >
             meta_cost_above_share(above(device, &cells) * g->bytes) + meta_cost_along_cells(g->n))
        g->why = "heads are too coarse";
}

static bool gather_groups(const eng_store_tensor *declared, uint32_t n, const meta_tensor *tensors, groups *all)
{
    group one;

    for (uint32_t i = 0; i < n; i++) {
        if (!has_both(meta_declared(declared, i), &tensors[i], &one))
            continue;
        group *g = find(all, &one);
        if (g) {
            g->bytes += one.bytes;
            g->n++;
        } else if (eu_reserve(all->items, all->capacity, (size_t)all->n + 1)) {
            all->items[all->n++] = one;
        } else {
            return false;
        }
    }
    return true;
}

int meta_caches_decide(eng_device_state *device, const eng_store_tensor *declared, uint32_t n, meta_tensor *tensors)
{
    groups all = {0};
    group one;
    int status = ENG_OK;

    if (!gather_groups(declared, n, tensors, &all))
        status = meta_no_memory(device, "the placement of caches");
    for (uint32_t i = 0; i < all.n; i++)
        decide(device, &all.items[i]);
    for (uint32_t i = 0; i < n && all.n && status == ENG_OK; i++)
        if (has_both(meta_declared(declared, i), &tensors[i], &one))
            tensors[i].along_cells = find(&all, &one)->why;
    free(all.items);
    return status;
}
