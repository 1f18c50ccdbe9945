/*
 * Writing in place where the shards do not allow it, or where not every rank that
 * holds the tensor can run the op: the tensor is brought together, on every main
 * rank or on the one that can, the op writes there, and each holder takes its own
 * part back.  Dear, but right; explain lists it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "planner.h"

/* The operand as a window into the copy of its whole tensor: writes must land there. */
static meta_version *window_of_copy(meta_planner *p, int32_t value, const meta_place *place, const meta_version *whole)
{
    uint32_t ranks = meta_target_ranks(p, place);
    meta_version *v = meta_version_get(p, value, place);

    for (uint32_t r = 0; v && r < p->n_ranks; r++) {
        if (!(ranks >> r & 1u))
            continue;
        const eng_tensor *t = p->ranks[r].tensors;
        if (t[v->local[r]].root != t[whole->local[r]].root)
            return NULL;
    }
    return v;
}

meta_version *meta_inplace_begin(meta_planner *p, int32_t value, const meta_place *place, meta_version **whole)
{
    int32_t root = meta_tensor_of(p, value)->root;

    /* copies made for readers need not be windows into the copy of the whole */
    meta_version_forget(p, root);
    p->heedless = true;
    *whole = meta_version_get(p, root, place);
    meta_version *window = *whole ? window_of_copy(p, value, place, *whole) : NULL;
    p->heedless = false;
    return window;
}

/* What rank r, a holder of `own`, has to store; -1: failed. */
static int32_t part_for(meta_planner *p, int32_t root, uint32_t r, meta_version *from, const meta_version *have,
                        const meta_version *own)
{
    if (have->local[r] >= 0) {
        bool cut = own->place.kind == META_SHARDED && have->place.kind != META_SHARDED;
        return cut ? meta_local_cut(p, r, have->local[r], &own->place.cut) : have->local[r];
    }
    if (own->place.kind == META_SHARDED) {
        p->status = META_FAIL(p->device, ENG_ERR_INTERNAL,
                              "what was written into %s has no way back to %s" ENG_ADVICE "please report the graph",
                              meta_tensor_of(p, root)->name, p->device->ranks[r].name);
        return -1;
    }
    meta_place there = meta_place_single(r); /* a guest, or the only holder */
    meta_version *v = meta_exchange_emit(p, root, from, &there, false);
    return v ? v->local[r] : -1;
}

/* Every holder of a part of the tensor stores it from what was written. */
static void take_back(meta_planner *p, int32_t root, meta_version *from, const meta_version *own)
{
    const eng_tensor *t = meta_tensor_of(p, root);
    const meta_version *have = from;

    if (from->place.kind == META_SINGLE && own->place.kind != META_SINGLE)
        have = meta_exchange_emit(p, root, from, &own->place, false);
    for (uint32_t r = 0; have && r < p->n_ranks && !meta_failed(p); r++) {
        if (own->local[r] < 0)
            continue;
        int32_t x = part_for(p, root, r, from, have, own);
        if (x == own->local[r]) /* written where it lives */
            continue;
        eng_node *n = x < 0 ? NULL : meta_local_node(p, r, ENG_OP_STORE, t->name, -1);
        if (!n)
            return;
        n->in[0] = own->local[r];
        n->in[1] = x;
    }
}

static void note_back(meta_planner *p, int32_t root, const meta_place *place)
{
    const char *name = meta_tensor_of(p, root)->name;

    if (place->kind == META_SINGLE)
        meta_planner_note(p, eu_arena_format(p->arena, "%s is written on %s and then sent to where it lives: an op "
                                                         "that writes into it runs there alone",
                                               name, p->device->ranks[place->rank].name));
    else
        meta_planner_note(p, eu_arena_format(p->arena, "%s is gathered and written back: an op writes into it across "
                                                         "its shards",
                                               name));
}

void meta_inplace_end(meta_planner *p, int32_t value, const meta_place *place, meta_version *whole)
{
    int32_t root = meta_tensor_of(p, value)->root;
    const meta_version *own = p->values[root].made; /* of a store: ops write into nothing else */
    meta_version from = *whole;

    if (meta_failed(p) || (own == whole && whole->place.kind == place->kind))
        return;
    if (place->kind == META_SINGLE) { /* of a replicated tensor only this rank's is written */
        from.place = *place;
        for (uint32_t r = 0; r < META_MAX_RANKS; r++)
            from.local[r] = r == place->rank ? whole->local[r] : -1;
    }
    take_back(p, root, &from, own);
    note_back(p, root, place);
}
