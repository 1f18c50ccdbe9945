/* Versions of values: finding, making and forgetting them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <string.h>

#include "planner.h"

#define WEIGHT_PENALTY 4.0 /* persistent tensors rather stay where they are      */

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

static void bring(meta_planner *p, int32_t value);

void meta_versions_of_view(meta_planner *p, const eng_node *node)
{
    meta_place whole = meta_place_replicated();

    for (meta_version *v = meta_versions(p, node->in[0]); v; v = v->next)
        if (meta_version_add(p, node->out[0], meta_view_version(p, node, v)) || meta_failed(p))
            return;
    meta_version *v = meta_version_get(p, node->in[0], &whole);
    if (v)
        meta_version_add(p, node->out[0], meta_view_version(p, node, v));
}

meta_version *meta_versions(meta_planner *p, int32_t value)
{
    meta_value *v = &p->values[value];
    const eng_node *n = v->versions || meta_failed(p) ? NULL : view_node(p, value);

    if (n)
        meta_versions_of_view(p, n);
    if (v->wish && !v->brought && !p->heedless && v->versions && !meta_failed(p))
        bring(p, value);
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
        return v && meta_version_serves(v, want) ? v : NULL;
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
        if (meta_version_serves(v, want))
            return v;
    const eng_node *n = view_node(p, value);
    return n && !meta_failed(p) ? find_by_view(p, n, want) : NULL;
}

/* -- prices ----------------------------------------------------------------------- */

/* The version from which it is had most cheaply. */
static meta_version *cheapest(meta_planner *p, int32_t value, const meta_place *want, double *cost)
{
    meta_version *best = NULL;

    *cost = HUGE_VAL;
    for (meta_version *v = meta_versions(p, value); v; v = v->next) {
        double c = meta_version_price(p, value, v, want);
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
    if (meta_version_serves(from, want))
        return from;
    if (want->kind == META_SHARDED && from->place.kind == META_REPLICATED && !meta_version_opaque(p, value, from))
        return cut_version(p, value, from, want);
    if (meta_same_alone(&from->place, want) || (want->kind == META_SHARDED && from->place.kind == META_SHARDED &&
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

/* -- bringing --------------------------------------------------------------------------
 *
 * Where the host asked for it (wish.c): a value is brought as soon as it is made or, if it
 * was there before the run or has been written in place, when it is next read.
 */

/* Whole on every main rank, in memory that any op may read: a matrix may be kept in a
 * layout of its own. */
static meta_version *readable_whole(meta_planner *p, int32_t value)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    meta_place whole = meta_place_replicated();

    if (t->binding >= 0 && t->layout)
        return meta_exchange_emit(p, value, p->values[value].versions, &whole, true);
    return meta_version_get(p, value, &whole);
}

/* As addends: those that there are, or made of the whole. */
static meta_version *addends(meta_planner *p, int32_t value)
{
    for (meta_version *v = meta_versions(p, value); v; v = v->next)
        if (v->place.kind == META_PARTIAL)
            return v;
    return meta_wish_addends(p, value, readable_whole(p, value));
}

/* The version of exactly that placement. */
static meta_version *placed(meta_planner *p, int32_t value, const meta_place *wish)
{
    if (wish->kind == META_PARTIAL)
        return addends(p, value);
    meta_version *v = meta_version_get(p, value, wish);
    if (!v || v->place.kind == wish->kind)
        return v;
    meta_version *own = meta_version_alloc(p, wish); /* one of those who hold the whole */
    if (own)
        own->local[wish->rank] = v->local[wish->rank];
    return own;
}

static void bring(meta_planner *p, int32_t value)
{
    meta_value *v = &p->values[value];
    const meta_place *wish = v->wish;

    v->wish = NULL; /* on the way there it may be read where it is */
    meta_version *there = placed(p, value, wish);
    v->wish = wish;
    v->brought = true;
    if (!there)
        return;
    there->next = NULL;
    v->versions = there;
}

/* -- forgetting ------------------------------------------------------------------------ */

/* After a write into the ids nobody knows any more who owns what (owned.c). */
static void forget_owners(meta_planner *p, int32_t root)
{
    for (uint32_t i = 0; i < p->graph->n_tensors; i++)
        for (meta_version *v = p->values[i].versions; v; v = v->next)
            if (v->place.owner && meta_in_memory_of(p, v->place.owner - 1, root))
                v->place.owner = 0;
}

void meta_version_forget(meta_planner *p, int32_t root)
{
    forget_owners(p, root);
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
