/* The ways in which a node could run. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <string.h>

#include "choose.h"

void meta_everywhere(meta_strategy *s, const meta_place *place, uint32_t ranks)
{
    memset(s, 0, sizeof *s);
    s->rebase = -1;
    s->ranks = ranks;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        s->in[i] = *place;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        s->out[i] = *place;
}

/* One bit in, another answer out? */
static bool jumps(const meta_chooser *c)
{
    return (c->op->flags & ENG_OPF_DISCRETE) || meta_function_is(c->node, ENG_FUNCTION_STEPS);
}

static void try_replicated(meta_chooser *c)
{
    meta_strategy s;
    meta_place place = meta_place_replicated();
    /* what jumps must not be computed apart on devices that round differently */
    if (c->p->device->mixed && jumps(c))
        place = meta_place_single(meta_first(c->p->device->main_mask));
    meta_everywhere(&s, &place, place.kind == META_SINGLE ? 1u << place.rank : c->p->device->main_mask);
    meta_consider(c, &s);
}

static void try_single(meta_chooser *c, uint32_t rank)
{
    meta_strategy s;
    meta_place place = meta_place_single(rank);
    meta_everywhere(&s, &place, 1u << rank);
    meta_consider(c, &s);
}

static void try_cut(meta_chooser *c, uint32_t operand, const meta_cut *cut)
{
    const meta_cut *have[ENG_MAX_INPUTS] = {NULL};
    meta_strategy s;

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        if (c->node->in[i] < 0)
            continue;
        for (const meta_version *v = meta_versions(c->p, c->node->in[i]); v && !have[i]; v = v->next)
            if (v->place.kind == META_SHARDED && v->place.cut.part == cut->part)
                have[i] = &v->place.cut;
    }
    if (!meta_rule_apply(c->p->sv, c->p->graph, c->node, operand, cut, have, &s))
        return;
    meta_owned_result(c->node, &s);
    meta_consider(c, &s);
    if (meta_owned_operand(c->p, c->node, &s))
        meta_consider(c, &s);
}

/* May addends become infinite where their sum is not NaN?  A divisor may be zero: 0 / 0 on one
 * rank, inf on another.  (So may a factor of mul be infinite, but only where the graph's own
 * values are.) */
static bool may_blow_up(const eng_node *n)
{
    return n->op == ENG_OP_DIV ||
           (n->op == ENG_OP_SCALE && (!isfinite(n->fp[ENG_SCALE_S]) || !isfinite(n->fp[ENG_SCALE_B])));
}

/* Partial sums carried through: those of `partial` stay, the others are whole. */
static void try_partial_set(meta_chooser *c, uint32_t partial, uint32_t ranks)
{
    meta_strategy s;
    meta_place whole = meta_place_replicated(), sum = {.kind = META_PARTIAL, .ranks = ranks};

    if (!partial || may_blow_up(c->node) || !meta_rule_linear(c->op, c->node, partial))
        return;
    meta_everywhere(&s, &whole, ranks);
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (partial >> i & 1u)
            s.in[i] = sum;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++) {
        if (c->node->out[i] >= 0 && meta_tensor_of(c->p, c->node->out[i])->type != ENG_TYPE_F32)
            return;
        s.out[i] = sum;
    }
    meta_consider(c, &s);
}

/* Two sums of different ranks: who has a part of one only passes it on (meta_local_op). */
static void try_sum_of_sums(meta_chooser *c, const meta_version *a, const meta_version *b)
{
    const eng_tensor *out = meta_tensor_of(c->p, c->node->out[0]);
    meta_strategy s;

    if ((c->node->op != ENG_OP_ADD && c->node->op != ENG_OP_SUB) || out->type != ENG_TYPE_F32 ||
        memcmp(out->ne, meta_tensor_of(c->p, c->node->in[0])->ne, sizeof out->ne) != 0 ||
        memcmp(out->ne, meta_tensor_of(c->p, c->node->in[1])->ne, sizeof out->ne) != 0)
        return;
    meta_place sum = {.kind = META_PARTIAL, .ranks = a->place.ranks | b->place.ranks};
    meta_everywhere(&s, &sum, sum.ranks);
    s.in[0].ranks = a->place.ranks;
    s.in[1].ranks = b->place.ranks;
    meta_consider(c, &s);
}

static void try_partial(meta_chooser *c)
{
    const meta_version *sums[2] = {NULL};
    uint32_t all = 0, ranks = 0;

    for (uint32_t i = 0; i < c->op->n_in; i++) {
        const meta_version *v = c->node->in[i] >= 0 ? meta_versions(c->p, c->node->in[i]) : NULL;
        if (!v || v->place.kind != META_PARTIAL)
            continue;
        if (i < 2)
            sums[i] = v;
        if (!ranks)
            ranks = v->place.ranks;
        if (ranks == v->place.ranks)
            all |= 1u << i;
        if (!c->p->values[c->node->in[i]].full_use)
            try_partial_set(c, 1u << i, v->place.ranks);
    }
    if (all & (all - 1))
        try_partial_set(c, all, ranks);
    else if (sums[0] && sums[1])
        try_sum_of_sums(c, sums[0], sums[1]);
}

/* The operands written in place say how the node runs. */
static bool try_inout(meta_chooser *c)
{
    bool any = false;

    for (uint32_t i = 0; i < c->op->n_in; i++) {
        if (!meta_is_inout(c, i))
            continue;
        const meta_version *v = meta_version_original(c->p, c->node->in[i]);
        if (any || !v)
            return true; /* no op has two; nothing fits */
        any = true;
        if (meta_forced_rank(c) >= 0)
            continue; /* in a copy on that rank */
        if (v->place.kind == META_REPLICATED)
            try_replicated(c);
        else if (v->place.kind == META_SINGLE)
            try_single(c, v->place.rank);
        else if (v->place.kind == META_SHARDED)
            try_cut(c, i, &v->place.cut);
        if (!meta_place_equal(&c->best.in[i], &v->place))
            c->cost = HUGE_VAL;
    }
    return any;
}

void meta_choose(meta_chooser *c)
{
    int forced = meta_forced_rank(c);

    if (try_inout(c))
        return;
    if (forced >= 0) {
        try_single(c, (uint32_t)forced);
        return;
    }
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        if (c->node->in[i] < 0)
            continue;
        for (const meta_version *v = meta_versions(c->p, c->node->in[i]); v; v = v->next) {
            if (v->place.kind == META_SHARDED)
                try_cut(c, i, &v->place.cut);
            else if (v->place.kind == META_SINGLE)
                try_single(c, v->place.rank);
        }
    }
    meta_strategy s;
    if (meta_owned_apply(c->p, c->node, &s))
        meta_consider(c, &s);
    try_partial(c);
    try_replicated(c);
}
