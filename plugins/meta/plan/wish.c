/*
 * Placements that the host asked for (eng_tensor.place): what they mean here, and a
 * value as addends.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>

#include "planner.h"

/* -- meaning -------------------------------------------------------------------------- */

/* The extent of the axis in the first factor that names it; 0: none does. */
static int64_t axis_extent(const eng_tensor *t, uint32_t axis)
{
    for (uint32_t d = 0; t->dims && d < t->rank; d++)
        for (uint32_t s = 0; s < t->dims[d].n_segments; s++)
            for (uint32_t i = 0; i < t->dims[d].segments[s].n_factors; i++)
                if (t->dims[d].segments[s].factors[i].axis == axis)
                    return t->dims[d].segments[s].factors[i].extent;
    return 0;
}

static int refuse(eng_device_state *device, const eng_tensor *t, uint32_t axis, const char *cause)
{
    const eng_plugin_state *plugin = device->plugin;

    return META_FAIL(device, ENG_ERR_UNSUPPORTED, "%s cannot be sharded along axis \"%s\" of %s: %s", t->name,
                     plugin->services->axis_name(plugin->host, axis), device->name, cause);
}

static int sharded(eng_device_state *device, const eng_tensor *t, uint32_t axis, meta_place *place)
{
    const eng_type_info *type = meta_type_info(device, t->type);
    meta_partition like = {.axis = axis, .extent = axis_extent(t, axis)};
    meta_cut cut;

    if (like.extent < 1)
        return refuse(device, t, axis, "it has no units; leave the placement of an empty value to the device");
    if (!type || !meta_cut_from_dims(t->dims, t->rank, t->ne, &like, &cut))
        return refuse(device, t, axis,
                      "the axis must stand in one dimension only, in each of its segments once and with one extent; "
                      "name the value's axes so, with eng_graph_set_axes");
    cut.part = meta_partition_find(device, axis, like.extent);
    if (!cut.part) {
        cut.part = &like;
        int64_t unit = meta_cut_unit(&cut, type->block);
        if (!unit)
            return refuse(device, t, axis,
                          "the repetitions of the axis are not whole blocks of the value's type; use a "
                          "type of smaller blocks or another axis");
        cut.part = meta_partition_make(device, axis, like.extent, unit);
        if (!cut.part)
            return meta_no_memory(device, "the partition of an axis");
    }
    if (!meta_cut_aligned(&cut, type->block))
        return refuse(device, t, axis, "the units that each device has of the axis are not whole blocks of the value's "
                                       "type; use a type of smaller blocks, or shares that fall between blocks");
    *place = meta_place_sharded(&cut);
    return ENG_OK;
}

static int resolve(eng_device_state *device, const eng_tensor *t, const eng_placement *wanted, meta_place *place)
{
    uint32_t rank = 0;
    int status = ENG_OK;

    switch (wanted->kind) {
    case ENG_PLACE_REPLICATED:
        *place = meta_place_replicated();
        break;
    case ENG_PLACE_SHARDED:
        return sharded(device, t, wanted->axis, place);
    case ENG_PLACE_PARTIAL:
        if (t->type != ENG_TYPE_F32)
            return META_FAIL(device, ENG_ERR_UNSUPPORTED, "%s cannot be kept as addends on %s" ENG_CAUSE
                             "only f32 values can",
                             t->name, device->name);
        *place = (meta_place){.kind = META_PARTIAL, .ranks = device->main_mask};
        break;
    case ENG_PLACE_SINGLE:
        status = meta_rank_of(device, wanted->device, &rank);
        *place = meta_place_single(rank);
        break;
    default:
        return META_FAIL(device, ENG_ERR_UNSUPPORTED, "%s is to be placed in a way (%" PRIu32 ") that %s does not know",
                         t->name, wanted->kind, device->name);
    }
    return status;
}

int meta_wishes(eng_device_state *device, const eng_subgraph *graph, eu_arena *arena,
                const meta_place *const **wishes)
{
    const meta_place **list = NULL;
    int status = ENG_OK;

    pthread_mutex_lock(&device->lock);
    const meta_mark mark = meta_device_mark(device);
    for (uint32_t i = 0; i < graph->n_tensors && status == ENG_OK; i++) {
        const eng_tensor *t = eng_subgraph_tensor(graph, (int32_t)i);
        const eng_placement *wanted = meta_wished(t);
        if (!wanted)
            continue;
        if (!list)
            list = eu_arena_alloc(arena, graph->n_tensors * sizeof(const meta_place *));
        meta_place *place = list ? eu_arena_alloc(arena, sizeof *place) : NULL;
        if (!place)
            status = meta_no_memory(device, "the placements of a graph");
        else
            status = resolve(device, t, wanted, place);
        if (status == ENG_OK)
            list[i] = place;
    }
    if (status != ENG_OK)
        meta_device_restore(device, &mark);
    pthread_mutex_unlock(&device->lock);
    *wishes = list;
    return status;
}

/* -- addends --------------------------------------------------------------------------- */

/* One rank's addend: the range of the value that is its own among zeros. */
static int32_t addend(meta_planner *p, uint32_t rank, int32_t whole, int64_t begin, int64_t end)
{
    int32_t x = meta_local_contiguous(p, rank, whole);
    int64_t flat[ENG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, nb[ENG_MAX_RANK];

    if (x < 0)
        return -1;
    eng_tensor t = p->ranks[rank].tensors[x], line = t;
    int64_t n = 1;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        n *= t.ne[d];
    line.rank = 1;
    flat[0] = end - begin;
    meta_tensor_layout(p, t.type, flat, nb);
    x = meta_local_window(p, rank, x, flat, nb, (uint64_t)begin * sizeof(float), &line);
    flat[0] = n;
    int32_t y = x < 0 ? -1 : meta_local_scratch(p, rank, &line, flat);
    eng_node *node = y < 0 ? NULL : meta_local_node(p, rank, ENG_OP_PAD, t.name, -1);
    if (!node)
        return -1;
    node->in[0] = x;
    node->out[0] = y;
    node->ip[ENG_PAD_LEFT0] = begin;
    node->ip[ENG_PAD_RIGHT0] = n - end;
    meta_tensor_layout(p, t.type, t.ne, nb);
    return meta_local_window(p, rank, y, t.ne, nb, 0, &t);
}

/* Each rank holds a range of the elements and zeros: exact whatever the values are, and no
 * rank's addend can be taken for the value.  With fewer elements than ranks some have none. */
meta_version *meta_wish_addends(meta_planner *p, int32_t value, const meta_version *whole)
{
    uint32_t ranks = p->device->main_mask, n = (uint32_t)__builtin_popcount(ranks), i = 0;
    const eng_tensor *t = meta_tensor_of(p, value);
    int64_t elements = 1;

    meta_version *sum = whole ? meta_version_alloc(p, &(meta_place){.kind = META_PARTIAL}) : NULL;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        elements *= t->ne[d];
    for (uint32_t r = 0; sum && r < p->n_ranks; r++) {
        if (!(ranks >> r & 1u))
            continue;
        int64_t begin = elements * i / n, end = elements * (i + 1) / n;
        i++;
        if (begin == end && elements > 0)
            continue;
        sum->place.ranks |= 1u << r;
        sum->local[r] = elements ? addend(p, r, whole->local[r], begin, end) : whole->local[r];
        if (sum->local[r] < 0)
            return NULL;
    }
    return sum;
}
