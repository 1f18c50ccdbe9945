/*
 * Choosing how each node runs: candidates, their price, and carrying out the
 * cheapest.  Nodes are taken in the order of the graph and nothing here depends
 * on anything but the graph and the placements, so a plan is always the same.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner.h"

#define RETURNED 1.05 /* times the price of an exchange: see leaves_the_rest */

typedef struct chooser {
    meta_planner *p;
    const eng_node *node;
    const eng_op_info *op;
    uint32_t index;
    meta_strategy best;
    double cost;
} chooser;

int meta_planner_nomem(meta_planner *p)
{
    if (p->status == ENG_OK)
        p->status = meta_no_memory(p->device, "a plan");
    return p->status;
}

/* -- prices ------------------------------------------------------------------------ */

static double bytes_of(const meta_planner *p, int32_t value, const meta_place *place)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    int64_t nb[ENG_MAX_RANK];
    double bytes = (double)meta_tensor_layout(p, t->type, t->ne, nb), most = 0;

    if (place->kind != META_SHARDED)
        return bytes;
    for (uint32_t r = 0; r < place->cut.part->n_ranks; r++) {
        double part = (double)meta_part_length(place->cut.part, r) / (double)place->cut.part->extent;
        most = part > most ? part : most;
    }
    return bytes * most;
}

/* Work of the busiest rank. */
static double work(const chooser *c, const meta_strategy *s)
{
    const eng_node *n = c->node;
    double bytes = 0, flops = 0;

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (n->in[i] >= 0)
            bytes += bytes_of(c->p, n->in[i], &s->in[i]);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (n->out[i] >= 0)
            bytes += bytes_of(c->p, n->out[i], &s->out[i]);
    if (n->op == ENG_OP_MUL_MAT || n->op == ENG_OP_MUL_MAT_ID) {
        double k = (double)meta_tensor_of(c->p, n->in[1])->ne[0];
        flops = bytes_of(c->p, n->out[0], &s->out[0]) / 4 * 2 * k;
        if (s->in[1].kind == META_SHARDED && s->out[0].kind == META_PARTIAL)
            flops *= bytes_of(c->p, n->in[1], &s->in[1]) / (bytes_of(c->p, n->in[1], &s->out[0]) + 1);
    }
    return meta_cost_touched(bytes) + meta_cost_flops(flops);
}

/* Will the other ranks want the result of a node that runs on one?  Yes if they have an operand,
 * and if they are likely to get one: what several ops read is not all read on one rank. */
static bool wanted_by_others(const chooser *c, bool main)
{
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        int32_t in = c->node->in[i];
        if (in < 0 || c->p->values[in].maker < 0)
            continue;
        if (main && c->p->values[in].n_readers > 1)
            return true;
        for (const meta_version *v = meta_versions(c->p, in); v; v = v->next)
            if (v->place.kind != META_SINGLE)
                return true;
    }
    return false;
}

/* Of a result on one rank that others will want.  On one of the main ranks it is a little more
 * than to bring the operand to all: that serves whoever else reads the operand, and leaves the
 * result where nothing has to be brought again.  If all that is made of it is made from tensors
 * that are each on one rank, it is brought to these when they need it. */
static double leaves_the_rest(const chooser *c, const meta_strategy *s)
{
    const eng_device_state *device = c->p->device;
    int32_t out = c->node->out[0];

    if (s->out[0].kind != META_SINGLE)
        return 0;
    bool main = device->main_mask >> s->out[0].rank & 1u;
    if (!main)
        return wanted_by_others(c, main) ? meta_cost_meet(device, device->main_mask, 0) / 2 : 0;
    if (out < 0 || c->p->values[out].n_readers == 0)
        return 0;
    const meta_value *v = &c->p->values[out];
    uint32_t rank = 1u << s->out[0].rank;
    if (!v->everywhere)
        return v->wanted & ~rank && !(v->wanted & rank)
                   ? meta_cost_meet(device, v->wanted | rank, bytes_of(c->p, out, &s->out[0]))
                   : 0;
    return wanted_by_others(c, main)
               ? meta_cost_meet(device, device->main_mask, bytes_of(c->p, out, &s->out[0])) * RETURNED
               : 0;
}

/* Of one number for each row of the result. */
static double number_bytes(const chooser *c)
{
    const eng_tensor *t = meta_tensor_of(c->p, c->node->out[0]);
    double bytes = sizeof(float);

    for (uint32_t d = 1; d < ENG_MAX_RANK; d++)
        bytes *= (double)t->ne[d];
    return bytes;
}

static void consider(chooser *c, const meta_strategy *s)
{
    double cost = work(c, s) + leaves_the_rest(c, s);

    for (uint32_t i = 0; i < ENG_MAX_INPUTS && cost < c->cost; i++) {
        if (c->node->in[i] < 0)
            continue;
        bool again = false; /* the same operand twice moves once */
        for (uint32_t k = 0; k < i; k++)
            again |= c->node->in[k] == c->node->in[i] && meta_place_equal(&s->in[k], &s->in[i]);
        if (!again)
            cost += meta_version_cost(c->p, c->node->in[i], &s->in[i]);
    }
    if (s->merge || s->lengths) /* norms twice: a result on shards may have to be gathered next */
        cost += meta_cost_meet(c->p->device, s->ranks, number_bytes(c)) * (s->lengths ? 2 : 1);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (c->node->out[i] >= 0 && s->out[i].kind == META_PARTIAL)
            cost += meta_cost_all_reduce(c->p->device, s->out[i].ranks, c->p->device->main_mask,
                                         bytes_of(c->p, c->node->out[i], &s->out[i]));
    if (cost < c->cost) {
        c->cost = cost;
        c->best = *s;
    }
}

/* -- candidates ---------------------------------------------------------------------- */

static void everywhere(meta_strategy *s, const meta_place *place, uint32_t ranks)
{
    memset(s, 0, sizeof *s);
    s->rebase = -1;
    s->ranks = ranks;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        s->in[i] = *place;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        s->out[i] = *place;
}

static void try_replicated(chooser *c)
{
    meta_strategy s;
    meta_place place = meta_place_replicated();
    /* what jumps must not be computed apart on devices that round differently */
    if (c->p->device->mixed && (c->op->flags & ENG_OPF_DISCRETE))
        place = meta_place_single(meta_first(c->p->device->main_mask));
    everywhere(&s, &place, place.kind == META_SINGLE ? 1u << place.rank : c->p->device->main_mask);
    consider(c, &s);
}

static void try_single(chooser *c, uint32_t rank)
{
    meta_strategy s;
    meta_place place = meta_place_single(rank);
    everywhere(&s, &place, 1u << rank);
    consider(c, &s);
}

static void try_cut(chooser *c, uint32_t operand, const meta_cut *cut)
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
    consider(c, &s);
    if (meta_owned_operand(c->p, c->node, &s))
        consider(c, &s);
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
static void try_partial_set(chooser *c, uint32_t partial, uint32_t ranks)
{
    meta_strategy s;
    meta_place whole = meta_place_replicated(), sum = {.kind = META_PARTIAL, .ranks = ranks};

    if (!partial || may_blow_up(c->node) || !meta_rule_linear(c->op, c->node, partial))
        return;
    everywhere(&s, &whole, ranks);
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (partial >> i & 1u)
            s.in[i] = sum;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++) {
        if (c->node->out[i] >= 0 && meta_tensor_of(c->p, c->node->out[i])->type != ENG_TYPE_F32)
            return;
        s.out[i] = sum;
    }
    consider(c, &s);
}

/* Two sums of different ranks: who has a part of one only passes it on (meta_local_op). */
static void try_sum_of_sums(chooser *c, const meta_version *a, const meta_version *b)
{
    const eng_tensor *out = meta_tensor_of(c->p, c->node->out[0]);
    meta_strategy s;

    if ((c->node->op != ENG_OP_ADD && c->node->op != ENG_OP_SUB) || out->type != ENG_TYPE_F32 ||
        memcmp(out->ne, meta_tensor_of(c->p, c->node->in[0])->ne, sizeof out->ne) != 0 ||
        memcmp(out->ne, meta_tensor_of(c->p, c->node->in[1])->ne, sizeof out->ne) != 0)
        return;
    meta_place sum = {.kind = META_PARTIAL, .ranks = a->place.ranks | b->place.ranks};
    everywhere(&s, &sum, sum.ranks);
    s.in[0].ranks = a->place.ranks;
    s.in[1].ranks = b->place.ranks;
    consider(c, &s);
}

static void try_partial(chooser *c)
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

static bool is_inout(const chooser *c, uint32_t i)
{
    return i < c->op->n_in && c->op->in[i].inout && c->node->in[i] >= 0;
}

/* The one rank that can run the node, or -1. */
static int forced_rank(const chooser *c)
{
    return c->p->forced ? c->p->forced[c->index] : -1;
}

/* The operands written in place say how the node runs. */
static bool try_inout(chooser *c)
{
    bool any = false;

    for (uint32_t i = 0; i < c->op->n_in; i++) {
        if (!is_inout(c, i))
            continue;
        const meta_version *v = meta_version_original(c->p, c->node->in[i]);
        if (any || !v)
            return true; /* no op has two; nothing fits */
        any = true;
        if (forced_rank(c) >= 0)
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

static void try_all(chooser *c)
{
    int forced = forced_rank(c);

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
        consider(c, &s);
    try_partial(c);
    try_replicated(c);
}

/* -- carrying out --------------------------------------------------------------------- */

void meta_planner_note(meta_planner *p, char *text)
{
    if (text && meta_grow((void **)&p->notes, p->n_notes, &p->cap_notes, sizeof *p->notes))
        p->notes[p->n_notes++] = text;
}

static void not_in_place(const chooser *c)
{
    const char *target = c->node->name;

    for (uint32_t i = 0; i < c->op->n_in; i++)
        if (is_inout(c, i))
            target = meta_tensor_of(c->p, meta_tensor_of(c->p, c->node->in[i])->root)->name;
    c->p->status = META_FAIL(c->p->device, ENG_ERR_UNSUPPORTED,
                             "%s (%s) writes into %s in a way that its shards do not allow: declare that tensor with "
                             "axis ENG_AXIS_WHOLE",
                             c->node->name, c->op->name, target);
}

static void run_node(chooser *c, meta_version *target)
{
    meta_planner *p = c->p;
    const meta_strategy *s = &c->best;
    meta_version *in[ENG_MAX_INPUTS] = {NULL}, *out[ENG_MAX_OUTPUTS] = {NULL};

    for (uint32_t i = 0; i < ENG_MAX_INPUTS && !meta_failed(p); i++)
        if (c->node->in[i] >= 0)
            in[i] = !is_inout(c, i) ? meta_version_get(p, c->node->in[i], &s->in[i])
                    : target        ? target
                                    : meta_version_original(p, c->node->in[i]);
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS && !meta_failed(p); i++) {
        if (c->node->out[i] < 0)
            continue;
        out[i] = meta_version_new(p, c->node->out[i], &s->out[i]);
        if (out[i])
            out[i]->original = true;
        p->values[c->node->out[i]].made = out[i];
    }
    bool several = meta_several(s->ranks);
    if (meta_failed(p))
        return;
    if (s->merge && several) {
        meta_merge_attention(p, (int32_t)c->index, s, in, out[0]);
    } else if (s->lengths && several) {
        meta_split_norm(p, (int32_t)c->index, s, in, out[0]);
    } else {
        for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++)
            if (s->ranks >> r & 1u)
                meta_local_op(p, r, (int32_t)c->index, s, in, out);
    }
    if (meta_failed(p))
        return;
    p->n_run[c->node->out[0] >= 0 ? s->out[0].kind : s->in[0].kind]++;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (c->node->out[i] >= 0)
            meta_versions(p, c->node->out[i]); /* where the host wants it, at once */
}

/* Copies of what an op has written in place are copies no more. */
static void forget_copies(const chooser *c)
{
    for (uint32_t i = 0; i < c->op->n_in && !meta_failed(c->p); i++)
        if (is_inout(c, i))
            meta_version_forget(c->p, meta_tensor_of(c->p, c->node->in[i])->root);
}

/* The op writes into a copy of the whole tensor, which is then written back. */
static void run_on_copy(chooser *c)
{
    meta_planner *p = c->p;
    int forced = forced_rank(c);
    meta_place place = forced < 0 ? meta_place_replicated() : meta_place_single((uint32_t)forced);
    meta_version *whole = NULL, *target = NULL;
    int32_t value = -1;

    for (uint32_t i = 0; i < c->op->n_in; i++)
        if (is_inout(c, i))
            value = c->node->in[i];
    if (value < 0) {
        p->status = META_FAIL(p->device, ENG_ERR_INTERNAL, "no way was found to run %s (%s); please report the graph",
                              c->node->name, c->op->name);
        return;
    }
    target = meta_inplace_begin(p, value, &place, &whole);
    if (!target) {
        if (!meta_failed(p))
            not_in_place(c);
        return;
    }
    everywhere(&c->best, &place, forced < 0 ? p->device->main_mask : 1u << forced);
    run_node(c, target);
    if (!meta_failed(p))
        meta_inplace_end(p, value, &place, whole);
}

void meta_planner_view(meta_planner *p, const eng_node *node)
{
    meta_place whole = meta_place_replicated();

    for (meta_version *v = meta_versions(p, node->in[0]); v; v = v->next)
        if (meta_version_add(p, node->out[0], meta_view_version(p, node, v)) || meta_failed(p))
            return;
    meta_version *v = meta_version_get(p, node->in[0], &whole);
    if (v)
        meta_version_add(p, node->out[0], meta_view_version(p, node, v));
}

static void plan_node(meta_planner *p, uint32_t index)
{
    chooser c = {.p = p, .node = eng_subgraph_node(p->graph, index), .index = index, .cost = HUGE_VAL};

    c.op = meta_op_info(p->device, c.node->op);
    if (!c.op || c.node->op == ENG_OP_EXTERN) {
        p->status = META_FAIL(p->device, ENG_ERR_UNSUPPORTED, "op %" PRIu32 " cannot run on a composed device",
                              c.node->op);
        return;
    }
    if (c.op->flags & ENG_OPF_VIEW) {
        meta_planner_view(p, c.node);
        return;
    }
    try_all(&c);
    if (meta_failed(p))
        return;
    if (c.cost == HUGE_VAL)
        run_on_copy(&c);
    else
        run_node(&c, NULL);
    forget_copies(&c);
}

/* -- all of it --------------------------------------------------------------------------- */

static void bind(meta_planner *p)
{
    for (uint32_t b = 0; b < p->graph->n_bindings && !meta_failed(p); b++) {
        int32_t value = p->graph->binding_tensor[b];
        const eng_tensor *t = meta_tensor_of(p, value);
        meta_version *v = meta_version_new(p, value, &p->places[b]);
        int64_t ne[ENG_MAX_RANK];
        if (!v)
            return;
        v->original = true;
        p->values[value].made = v;
        for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++) {
            if (!meta_place_holds(&p->places[b], r))
                continue;
            meta_local_ne(&p->places[b], r, t->ne, ne);
            v->local[r] = meta_local_binding(p, r, t, b, ne);
        }
    }
}

int meta_planner_run(meta_planner *p)
{
    p->values = meta_arena_alloc(p->arena, ((size_t)p->graph->n_tensors + 1) * sizeof *p->values);
    if (!p->values)
        return meta_planner_nomem(p);
    for (uint32_t i = 0; i < p->graph->n_tensors; i++) {
        p->values[i].maker = -1;
        p->values[i].wish = p->wishes ? p->wishes[i] : NULL;
    }
    meta_find_uses(p);
    bind(p);
    for (uint32_t k = 0; k < p->graph->n_nodes && !meta_failed(p); k++)
        plan_node(p, k);
    if (!meta_failed(p))
        meta_join_exchanges(p);
    return p->status;
}

void meta_planner_end(meta_planner *p)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        meta_rgraph *g = &p->ranks[r];
        free(g->tensors);
        free(g->nodes);
        free(g->bindings);
        free(g->bound_to);
        free(g->origin);
        free(g->stops);
        memset(g, 0, sizeof *g);
    }
    free(p->exchanges);
    free(p->notes);
    p->exchanges = NULL;
    p->notes = NULL;
}
