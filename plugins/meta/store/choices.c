/* Axes that a tensor may be cut along, and the partitions that the device has of them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "place.h"

meta_partition *meta_partition_find(const eng_device_state *device, uint32_t axis, int64_t extent)
{
    for (meta_partition *p = device->partitions; p; p = p->next)
        if (p->axis == axis && p->extent == extent)
            return p;
    return NULL;
}

/* Is a tensor of a store cut by it? */
static bool cuts_tensors(const eng_device_state *device, const meta_partition *p)
{
    for (const eng_store_state *s = device->stores; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->tensors[i].place.kind == META_SHARDED && s->tensors[i].place.cut.part == p)
                return true;
    return false;
}

const meta_partition *meta_partition_in_use(const eng_device_state *device, uint32_t axis, int64_t extent)
{
    const meta_partition *p = meta_partition_find(device, axis, extent);

    return p && cuts_tensors(device, p) ? p : NULL;
}

/* Is it the same in all that was decided? */
static bool same(const meta_partition *a, const meta_partition *b)
{
    size_t n = a->n_ranks;

    return a->axis == b->axis && a->extent == b->extent && a->unit == b->unit && n == b->n_ranks &&
           memcmp(a->begin, b->begin, (n + 1) * sizeof *a->begin) == 0 &&
           memcmp(a->want, b->want, n * sizeof *a->want) == 0;
}

bool meta_partition_keep(eng_device_state *device, const meta_partition *made)
{
    meta_partition **at = &device->partitions, *p;

    while (*at && !same(*at, made))
        at = &(*at)->next;
    p = *at;
    if (p) {
        *at = p->next;
    } else {
        p = eu_arena_alloc(&device->arena, sizeof *p);
        if (!p)
            return false;
        *p = *made;
    }
    p->next = device->partitions;
    device->partitions = p;
    return true;
}

meta_partition *meta_partition_make(eng_device_state *device, uint32_t axis, int64_t extent, int64_t unit)
{
    meta_partition *p = eu_arena_alloc(&device->arena, sizeof *p);

    if (!p)
        return NULL;
    p->axis = axis;
    p->extent = extent;
    p->unit = unit;
    meta_partition_solve(p, device->shares, NULL, device->n_leaves);
    p->next = device->partitions;
    device->partitions = p;
    return p;
}

/* Adds the axis if the tensor can be cut along it at all. */
static void add_choice(meta_choice *choices, uint32_t *n, const eng_store_tensor *t, uint32_t axis, int64_t extent)
{
    meta_choice *c = &choices[*n];
    for (uint32_t i = 0; i < *n; i++)
        if (choices[i].part.axis == axis)
            return;
    memset(c, 0, sizeof *c);
    c->part.axis = axis;
    c->part.extent = extent;
    if (extent > 1 && meta_cut_from_dims(t->dims, t->rank, t->ne, &c->part, &c->cut))
        ++*n;
}

uint32_t meta_choices(const eng_store_tensor *t, meta_choice *choices)
{
    uint32_t n = 0;

    for (uint32_t d = 0; t->dims && d < t->rank; d++) {
        uint32_t before = n;
        if (!t->dims[d].n_segments)
            continue;
        const eng_segment *s = &t->dims[d].segments[0];
        for (uint32_t i = 0; i < s->n_factors && n == before && n < META_MAX_CHOICES; i++)
            if (s->factors[i].axis != ENG_AXIS_NONE && (t->axis == ENG_AXIS_NONE || t->axis == s->factors[i].axis))
                add_choice(choices, &n, t, s->factors[i].axis, s->factors[i].extent);
    }
    return n;
}
