/* Axes that a tensor may be cut along, and the partitions that the device has of them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "place.h"

meta_partition *meta_partition_find(eng_device_state *device, uint32_t axis, int64_t extent)
{
    for (meta_partition *p = device->partitions; p; p = p->next)
        if (p->axis == axis && p->extent == extent)
            return p;
    return NULL;
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
