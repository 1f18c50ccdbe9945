/* Moving a value between ranks: the barrier nodes in their graphs, and the record
 * by which the ranks carry it out. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

uint32_t meta_source_ranks(const meta_planner *p, const meta_place *from)
{
    switch (from->kind) {
    case META_REPLICATED:
        return 1u << meta_first(p->device->main_mask);
    case META_SINGLE:
        return 1u << from->rank;
    default:
        return from->ranks;
    }
}

uint32_t meta_target_ranks(const meta_planner *p, const meta_place *to)
{
    switch (to->kind) {
    case META_REPLICATED:
        return to->ranks ? to->ranks : p->device->main_mask;
    case META_SINGLE:
        return 1u << to->rank;
    default:
        return to->ranks;
    }
}

static bool pieces(meta_planner *p, meta_end *end, uint32_t rank, const meta_place *place, const eng_tensor *t)
{
    if (place->kind != META_SHARDED)
        return true;
    end->n_pieces = place->cut.n_segs;
    end->pieces = eu_arena_alloc(p->arena, end->n_pieces * sizeof *end->pieces);
    if (!end->pieces) {
        meta_planner_nomem(p);
        return false;
    }
    meta_cut_pieces(&place->cut, rank, t->ne, meta_type_info(p->device, t->type), end->pieces);
    return true;
}

static void fill_end(const meta_planner *p, meta_end *end, uint32_t rank, int32_t tensor)
{
    const meta_rgraph *g = &p->ranks[rank];
    const eng_tensor *t = &g->tensors[tensor];
    const eng_tensor *root = &g->tensors[t->root];
    int64_t nb[ENG_MAX_RANK];

    end->tensor = t->root;
    end->offset = t->offset;
    end->bytes = meta_tensor_layout(p, t->type, t->ne, nb);
    end->mappable = !(root->binding >= 0 && root->layout);
}

/* From cut to cut: every target takes its part from each shard that has some of it. */
static void fill_moves(meta_planner *p, meta_exchange *e, uint32_t target, const meta_place *from, const meta_place *to,
                       const eng_tensor *t)
{
    const eng_type_info *type = meta_type_info(p->device, t->type);
    meta_end *end = &e->dst[target];
    uint32_t n = 0;

    for (int fill = 0; fill < 2 && !meta_failed(p); fill++) {
        end->n_moves = 0;
        for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++) {
            meta_move *at = fill ? end->moves + end->n_moves : NULL;
            if (!(e->sources >> r & 1u))
                continue;
            if (!meta_cut_moves(t->ne, type, &from->cut, r, &to->cut, target, at, fill ? UINT32_MAX : 0, &n))
                meta_planner_nomem(p);
            end->n_moves += n;
        }
        if (!fill && !(end->moves = eu_arena_alloc(p->arena, (end->n_moves + 1) * sizeof *end->moves))) {
            end->n_moves = 0; /* whoever still counts them finds none */
            meta_planner_nomem(p);
        }
    }
}

uint64_t meta_exchange_pair(const meta_exchange *e, uint32_t from, uint32_t to)
{
    uint64_t moved = 0;

    if (from == to || !(e->sources >> from & 1u) || !(e->targets >> to & 1u))
        return 0;
    if (meta_exchange_by_chunks(e)) /* a chunk of its own addends, and one of the sum */
        return 2 * (e->bytes / (uint64_t)__builtin_popcount(e->targets));
    for (uint32_t i = 0; i < e->dst[to].n_moves; i++)
        moved += e->dst[to].moves[i].source == from ? meta_move_bytes(&e->dst[to].moves[i]) : 0;
    if (e->from == META_SHARDED && e->to == META_SHARDED)
        return moved;
    return e->to == META_SHARDED ? e->dst[to].bytes : e->src[from].bytes;
}

static void count_sent(meta_exchange *e)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        for (uint32_t to = 0; to < META_MAX_RANKS; to++)
            e->sent[r] += meta_exchange_pair(e, r, to);
}

static void set_price(const meta_planner *p, meta_exchange *e)
{
    uint64_t most = 0;

    for (uint32_t to = 0; to < META_MAX_RANKS; to++) {
        uint64_t taken = 0;
        for (uint32_t from = 0; from < META_MAX_RANKS; from++)
            taken += meta_exchange_pair(e, from, to);
        most = taken > most ? taken : most;
    }
    e->price = e->from == META_PARTIAL && e->to == META_REPLICATED
                   ? meta_cost_all_reduce(p->device, e->sources, e->targets, (double)e->bytes)
                   : meta_cost_meet(p->device, e->sources | e->targets, (double)most);
}

/* The node that ends the section, with what this rank gives and gets. */
static void emit_rank(meta_planner *p, meta_exchange *e, uint32_t rank, const eng_tensor *t, const meta_place *from,
                      int32_t x, meta_version *v)
{
    meta_rgraph *g = &p->ranks[rank];
    int32_t y = -1;

    if (e->sources >> rank & 1u) {
        if (x < 0)
            return;
        fill_end(p, &e->src[rank], rank, x);
        if (!pieces(p, &e->src[rank], rank, from, t))
            return;
    }
    if (e->targets >> rank & 1u) {
        int64_t ne[ENG_MAX_RANK];
        meta_local_ne(&v->place, rank, t->ne, ne);
        y = v->local[rank] = meta_local_scratch(p, rank, t, ne);
        if (y < 0)
            return;
        fill_end(p, &e->dst[rank], rank, y);
        if (!pieces(p, &e->dst[rank], rank, &v->place, t))
            return;
        if (e->from == META_SHARDED && e->to == META_SHARDED)
            fill_moves(p, e, rank, from, &v->place, t);
    }
    eng_node *n = meta_local_node(p, rank, ENG_OP_EXTERN, t->name, -1);
    if (!n)
        return;
    n->in[0] = x;
    n->out[0] = y;
    if (!eu_reserve(g->stops, g->cap_stops, (size_t)g->n_stops + 1)) {
        meta_planner_nomem(p);
        return;
    }
    g->stops[g->n_stops++] = (meta_stop){.exchange = p->n_exchanges, .section = n->section};
}

bool meta_exchange_make(meta_planner *p, const eng_tensor *t, const meta_version *from, meta_version *to, bool copy)
{
    meta_exchange *e = eu_arena_alloc(p->arena, sizeof *e);
    int64_t nb[ENG_MAX_RANK];

    if (!e || !eu_reserve(p->exchanges, p->cap_exchanges, (size_t)p->n_exchanges + 1)) {
        meta_planner_nomem(p);
        return false;
    }
    e->name = t->name;
    e->from = from->place.kind;
    e->to = to->place.kind;
    e->bytes = meta_tensor_layout(p, t->type, t->ne, nb);
    e->sources = meta_source_ranks(p, &from->place);
    e->targets = meta_target_ranks(p, &to->place);
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        e->src[r].tensor = e->dst[r].tensor = -1;
    /* who has all of it already needs nothing */
    bool whole = !copy && (e->from == META_REPLICATED || !meta_several(e->sources));
    for (uint32_t r = 0; r < p->n_ranks && whole && e->to != META_SHARDED; r++) {
        if ((e->targets >> r & 1u) && from->local[r] >= 0) {
            to->local[r] = from->local[r];
            e->targets &= ~(1u << r);
        }
    }
    if (e->targets == 0)
        return true;
    int32_t given[META_MAX_RANKS];
    for (uint32_t r = 0; r < p->n_ranks; r++) /* copies first: the barrier nodes stay together */
        given[r] = e->sources >> r & 1u ? meta_local_contiguous(p, r, from->local[r]) : -1;
    for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++)
        if ((e->sources | e->targets) >> r & 1u)
            emit_rank(p, e, r, t, &from->place, given[r], to);
    count_sent(e);
    set_price(p, e);
    p->exchanges[p->n_exchanges++] = e;
    return !meta_failed(p);
}

meta_version *meta_exchange_emit(meta_planner *p, int32_t value, meta_version *from, const meta_place *to, bool copy)
{
    meta_version *v = meta_version_new(p, value, to);

    return v && meta_exchange_make(p, meta_tensor_of(p, value), from, v, copy) ? v : NULL;
}
