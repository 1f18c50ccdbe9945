/* One version of a value: made known, and what it serves for. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "planner.h"

meta_version *meta_version_alloc(meta_planner *p, const meta_place *place)
{
    meta_version *v = meta_failed(p) ? NULL : eu_arena_alloc(p->arena, sizeof *v);

    if (!v) {
        meta_planner_nomem(p);
        return NULL;
    }
    v->place = *place;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        v->local[r] = -1;
    return v;
}

meta_version *meta_version_add(meta_planner *p, int32_t value, meta_version *version)
{
    meta_version **at = &p->values[value].versions;

    while (version && *at)
        at = &(*at)->next;
    if (version)
        *at = version;
    return version;
}

meta_version *meta_version_new(meta_planner *p, int32_t value, const meta_place *place)
{
    return meta_version_add(p, value, meta_version_alloc(p, place));
}

/* Is the version what is wanted?  A rank that holds a replicated value whole
 * serves for a single one too. */
bool meta_version_serves(const meta_version *v, const meta_place *want)
{
    if (want->kind == META_SINGLE && v->place.kind == META_REPLICATED)
        return v->local[want->rank] >= 0;
    if (want->kind == META_PARTIAL && !want->owner) /* owned slots are a sum like any other */
        return v->place.kind == META_PARTIAL && v->place.ranks == want->ranks;
    return meta_place_equal(&v->place, want);
}

/* Ranks keep it packed, and of that there are no windows: parts of it are had only by an
 * exchange. */
bool meta_version_opaque(const meta_planner *p, int32_t value, const meta_version *from)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    return from->original && t->binding >= 0 && t->layout;
}

/* The rank that has all of it while the others have none, or -1: such a value is the same on
 * one rank, as a shard beside empty ones, and as the only addend. */
static int32_t alone(const meta_place *place)
{
    if (place->kind == META_SINGLE)
        return place->rank;
    if (place->kind == META_REPLICATED || __builtin_popcount(place->ranks) != 1)
        return -1;
    return (int32_t)meta_first(place->ranks);
}

bool meta_same_alone(const meta_place *a, const meta_place *b)
{
    return alone(a) >= 0 && alone(a) == alone(b);
}

bool meta_in_memory_of(const meta_planner *p, int32_t value, int32_t root)
{
    int32_t own = meta_tensor_of(p, value)->root;
    int32_t a = meta_tensor_of(p, own)->binding, b = meta_tensor_of(p, root)->binding;

    return own == root || (a >= 0 && b >= 0 && p->first[a] == p->first[b]);
}
