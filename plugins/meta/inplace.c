/*
 * Writing in place where the shards do not allow it: the tensor is brought
 * together on every main rank, the op writes there, and each rank takes its own
 * part back.  Dear, but right; explain lists it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "planner.h"

/* The operand as a window into the copy of its whole tensor: writes must land there. */
static meta_version *window_of_copy(meta_planner *p, int32_t value, const meta_version *whole)
{
    meta_place place = meta_place_replicated();
    meta_version *v = meta_version_get(p, value, &place);

    for (uint32_t r = 0; v && r < p->n_ranks; r++) {
        if (!(p->device->main_mask >> r & 1u))
            continue;
        const eng_tensor *t = p->ranks[r].tensors;
        if (t[v->local[r]].root != t[whole->local[r]].root)
            return NULL;
    }
    return v;
}

meta_version *meta_inplace_begin(meta_planner *p, int32_t value, meta_version **whole)
{
    int32_t root = eng_subgraph_tensor(p->graph, value)->root;
    meta_place place = meta_place_replicated();

    *whole = meta_version_get(p, root, &place);
    return *whole ? window_of_copy(p, value, *whole) : NULL;
}

/* Every holder of a part of the tensor stores it from its copy of the whole. */
static void take_back(meta_planner *p, int32_t root, const meta_version *whole, const meta_version *own)
{
    const eng_tensor *t = eng_subgraph_tensor(p->graph, root);

    for (uint32_t r = 0; r < p->n_ranks && !meta_failed(p); r++) {
        if (own->local[r] < 0)
            continue;
        int32_t x = own->place.kind == META_SHARDED ? meta_local_cut(p, r, whole->local[r], &own->place.cut)
                                                    : whole->local[r];
        eng_node *n = x < 0 ? NULL : meta_local_node(p, r, ENG_OP_STORE, t->name, -1);
        if (!n)
            return;
        n->in[0] = own->local[r];
        n->in[1] = x;
    }
}

void meta_inplace_end(meta_planner *p, int32_t value, meta_version *whole)
{
    int32_t root = eng_subgraph_tensor(p->graph, value)->root;
    meta_value *v = &p->values[root];

    if (meta_failed(p) || v->versions == whole)
        return;
    if (v->versions->place.kind == META_PARTIAL) {
        /* scratch that was a sum: what was written is the value from now on */
        whole->original = true;
        whole->next = NULL;
        v->versions = whole;
        for (uint32_t i = 0; i < p->graph->n_tensors; i++)
            if ((int32_t)i != root && eng_subgraph_tensor(p->graph, (int32_t)i)->root == root)
                p->values[i].versions = NULL;
        return;
    }
    take_back(p, root, whole, v->versions);
    meta_planner_note(p, meta_arena_format(p->arena, "%s is gathered and written back: an op writes into it across its "
                                                     "shards",
                                           eng_subgraph_tensor(p->graph, root)->name));
}
