/* Versions of values: finding, pricing and making them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <string.h>

#include "planner.h"

#define WEIGHT_PENALTY 4.0 /* persistent tensors rather stay where they are      */

static uint64_t bytes_of(const meta_planner *p, int32_t value)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    int64_t nb[ENG_MAX_RANK];
    return meta_tensor_layout(p, t->type, t->ne, nb);
}

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
static bool serves(const meta_version *v, const meta_place *want)
{
    if (want->kind == META_SINGLE && v->place.kind == META_REPLICATED)
        return v->local[want->rank] >= 0;
    if (want->kind == META_PARTIAL && !want->owner) /* owned slots are a sum like any other */
        return v->place.kind == META_PARTIAL && v->place.ranks == want->ranks;
    return meta_place_equal(&v->place, want);
}

/* The node of which the value is a view, if it is one: what was brought to a place that
 * the host named is no view any more. */
static const eng_node *view_node(const meta_planner *p, int32_t value)
{
    int32_t maker = p->values[value].maker;
    if (maker < 0 || p->values[value].brought)
        return NULL;
    const eng_node *n = meta_node_of(p, maker);
    return meta_op_info(p->device, n->op)->flags & ENG_OPF_VIEW ? n : NULL;
}

meta_version *meta_versions(meta_planner *p, int32_t value)
{
    meta_value *v = &p->values[value];
    const eng_node *n = v->versions || meta_failed(p) ? NULL : view_node(p, value);

    if (n)
        meta_planner_view(p, n);
    if (v->wish && !v->brought && !p->heedless && v->versions && !meta_failed(p))
        meta_wish_bring(p, value);
    return v->versions;
}

meta_version *meta_version_original(meta_planner *p, int32_t value)
{
    meta_value *v = &p->values[value];

    if (v->made || v->maker < 0 || meta_failed(p))
        return v->made;
    const eng_node *n = meta_node_of(p, v->maker);
    if (!(meta_op_info(p->device, n->op)->flags & ENG_OPF_VIEW))
        return NULL;
    const meta_version *of = meta_version_original(p, n->in[0]);
    meta_version *own = of ? meta_view_version(p, n, of) : NULL;
    if (own && own->original)
        v->made = own;
    return v->made;
}

/* A view that shows all of its operand: better to move the operand. */
static bool shows_all(const eng_node *n)
{
    return n->op == ENG_OP_RESHAPE || n->op == ENG_OP_PERMUTE;
}

/* A view's version made from its operand's, if one fits. */
static meta_version *find_by_view(meta_planner *p, const eng_node *n, const meta_place *want)
{
    if (want->kind == META_REPLICATED || want->kind == META_SINGLE) {
        meta_version *v = meta_version_find(p, n->in[0], want);
        v = v ? meta_version_add(p, n->out[0], meta_view_version(p, n, v)) : NULL;
        return v && serves(v, want) ? v : NULL;
    }
    if (want->kind != META_SHARDED)
        return NULL;
    for (meta_version *v = meta_versions(p, n->in[0]); v; v = v->next) {
        meta_strategy s;
        if (v->place.kind == META_SHARDED &&
            meta_rule_apply(p->sv, p->graph, n, 0, &v->place.cut, NULL, &s) && meta_place_equal(&s.out[0], want))
            return meta_version_add(p, n->out[0], meta_view_version(p, n, v));
    }
    return NULL;
}

meta_version *meta_version_find(meta_planner *p, int32_t value, const meta_place *want)
{
    for (meta_version *v = meta_versions(p, value); v; v = v->next)
        if (serves(v, want))
            return v;
    const eng_node *n = view_node(p, value);
    return n && !meta_failed(p) ? find_by_view(p, n, want) : NULL;
}

/* -- prices ----------------------------------------------------------------------- */

/* The device may keep it in a layout of its own, of which there are no windows: parts of
 * it are had only by an exchange. */
static bool opaque(const meta_planner *p, int32_t value, const meta_version *from)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    return from->original && t->binding >= 0 && (t->use & ENG_USE_MATRIX);
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

static bool same_alone(const meta_place *a, const meta_place *b)
{
    return alone(a) >= 0 && alone(a) == alone(b);
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

static double price(const meta_planner *p, int32_t value, const meta_version *from, const meta_place *want)
{
    const meta_place *place = &from->place;
    double bytes = (double)bytes_of(p, value);
    uint32_t sources = meta_source_ranks(p, place), targets = meta_target_ranks(p, want);

    if (serves(from, want))
        return 0;
    if (want->kind == META_PARTIAL)
        return HUGE_VAL;
    if (same_alone(place, want))
        return 0;
    if (place->kind == META_REPLICATED && want->kind == META_SHARDED && !opaque(p, value, from))
        return meta_cost_touched(2 * bytes);
    if (place->kind == META_SHARDED && want->kind == META_SHARDED && meta_cut_same(&place->cut, &want->cut))
        return 0;
    if (place->kind == META_PARTIAL && want->kind == META_REPLICATED)
        return meta_cost_all_reduce(p->device, sources, targets, bytes);
    return meta_cost_meet(p->device, sources | targets,
                          taken(from, want, bytes, __builtin_popcount(sources),
                                __builtin_popcount(p->device->main_mask)));
}

/* The version from which it is had most cheaply. */
static meta_version *cheapest(meta_planner *p, int32_t value, const meta_place *want, double *cost)
{
    meta_version *best = NULL;

    *cost = HUGE_VAL;
    for (meta_version *v = meta_versions(p, value); v; v = v->next) {
        double c = price(p, value, v, want);
        if (c < *cost) {
            *cost = c;
            best = v;
        }
    }
    if (meta_tensor_of(p, value)->binding >= 0)
        *cost *= WEIGHT_PENALTY;
    return best;
}

/* Is the operand rather moved than this view of it?  Always if the view shows all of it; if
 * it shows a part, when all such parts together would cost more. */
static bool by_operand(meta_planner *p, const eng_node *n, const meta_place *want, double direct, double *cost)
{
    if (!n || (want->kind != META_REPLICATED && want->kind != META_SINGLE))
        return false;
    *cost = meta_version_cost(p, n->in[0], want);
    return shows_all(n) || *cost < direct * p->values[n->in[0]].n_slices;
}

double meta_version_cost(meta_planner *p, int32_t value, const meta_place *want)
{
    double direct, other;

    if (meta_version_find(p, value, want))
        return 0;
    const eng_node *n = view_node(p, value);
    cheapest(p, value, want, &direct);
    return by_operand(p, n, want, direct, &other) && (shows_all(n) || other < direct) ? other : direct;
}

/* -- making ------------------------------------------------------------------------- */

/* Every rank cuts its own part out of what it holds whole. */
static meta_version *cut_version(meta_planner *p, int32_t value, const meta_version *from, const meta_place *want)
{
    meta_version *v = meta_version_new(p, value, want);

    for (uint32_t r = 0; v && r < p->n_ranks; r++) {
        if (!(want->ranks >> r & 1u))
            continue;
        v->local[r] = meta_local_cut(p, r, from->local[r], &want->cut);
        if (v->local[r] < 0)
            return NULL;
    }
    return v;
}

/* The same elements on the same ranks, by the name of another axis or kind. */
static meta_version *renamed_version(meta_planner *p, int32_t value, const meta_version *from, const meta_place *want)
{
    meta_version *v = meta_version_new(p, value, want);

    if (v)
        memcpy(v->local, from->local, sizeof v->local);
    return v;
}

static meta_version *make(meta_planner *p, int32_t value, meta_version *from, const meta_place *want)
{
    if (serves(from, want))
        return from;
    if (want->kind == META_SHARDED && from->place.kind == META_REPLICATED && !opaque(p, value, from))
        return cut_version(p, value, from, want);
    if (same_alone(&from->place, want) || (want->kind == META_SHARDED && from->place.kind == META_SHARDED &&
                                           meta_cut_same(&from->place.cut, &want->cut)))
        return renamed_version(p, value, from, want);
    return meta_exchange_emit(p, value, from, want, false);
}

meta_version *meta_version_get(meta_planner *p, int32_t value, const meta_place *want)
{
    double cost, other;

    if (meta_failed(p))
        return NULL;
    meta_version *v = meta_version_find(p, value, want);
    if (v || meta_failed(p))
        return v;
    const eng_node *n = view_node(p, value);
    meta_version *best = cheapest(p, value, want, &cost);
    if (by_operand(p, n, want, cost, &other)) {
        v = meta_version_get(p, n->in[0], want);
        return v ? meta_version_add(p, value, meta_view_version(p, n, v)) : NULL;
    }
    if (!best) {
        p->status = META_FAIL(p->device, ENG_ERR_UNSUPPORTED,
                              "the value %s cannot be brought to where it is needed: declare the tensors that it is "
                              "made from with axis ENG_AXIS_WHOLE",
                              meta_tensor_of(p, value)->name);
        return NULL;
    }
    return make(p, value, best, want);
}

bool meta_in_memory_of(const meta_planner *p, int32_t value, int32_t root)
{
    int32_t own = meta_tensor_of(p, value)->root;
    int32_t a = meta_tensor_of(p, own)->binding, b = meta_tensor_of(p, root)->binding;

    return own == root || (a >= 0 && b >= 0 && p->first[a] == p->first[b]);
}

void meta_version_forget(meta_planner *p, int32_t root)
{
    meta_owned_forget(p, root);
    for (uint32_t i = 0; i < p->graph->n_tensors; i++) {
        meta_value *v = &p->values[i];
        if (!meta_in_memory_of(p, (int32_t)i, root))
            continue;
        if (v->brought) {
            v->brought = false;
            v->versions = v->made;
            if (v->made)
                v->made->next = NULL;
        }
        meta_version **at = &v->versions;
        while (*at) {
            if ((*at)->original)
                at = &(*at)->next;
            else
                *at = (*at)->next;
        }
    }
}
