/* Stores: each rank's part in a store of its own device. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "../meta.h"

static void account(eng_device_state *device, const meta_tensor *t, uint32_t rank, uint64_t bytes, int sign)
{
    uint32_t kind = meta_bytes_kind(t->use);
    uint64_t more = sign > 0 ? bytes : (uint64_t)0 - bytes;

    device->ranks[rank].bytes[kind] += more;
    if (t->place.kind == META_REPLICATED && kind != META_BYTES_IO && meta_several(device->main_mask))
        device->ranks[rank].replicated += more;
}

static void account_store(eng_store_state *store, int sign)
{
    eng_device_state *d = store->device;

    for (uint32_t i = 0; i < store->n; i++) {
        const meta_tensor *t = &store->tensors[i];
        const eng_type_info *type = meta_type_info(d, t->type);
        for (uint32_t r = 0; r < META_MAX_RANKS; r++)
            if (t->child[r] != META_NONE)
                account(d, t, r, meta_local_bytes(&t->place, r, type, t->ne), sign);
    }
}

/* What the store remembers of the tensors; places are chosen next. */
static int describe(eng_store_state *store, const eng_store_tensor *declared)
{
    eng_device_state *d = store->device;

    for (uint32_t i = 0; i < store->n; i++) {
        meta_tensor *t = &store->tensors[i];
        const eng_store_tensor *given = meta_declared(declared, i);
        const eng_type_info *type = meta_type_info(d, given->type);
        if (!type)
            return META_FAIL(d, ENG_ERR_INVALID, "%s has the unknown type %u", given->name, (unsigned)given->type);
        t->name = eu_arena_string(&store->arena, given->name);
        if (!t->name)
            return meta_no_memory(d, "a store");
        t->type = given->type;
        t->rank = given->rank;
        t->use = given->use;
        t->data = given->data;
        memcpy(t->ne, given->ne, sizeof t->ne);
        for (uint32_t k = t->rank; k < ENG_MAX_RANK; k++)
            t->ne[k] = 1;
        t->bytes = eu_shape_bytes(type, t->ne, ENG_MAX_RANK);
        for (uint32_t r = 0; r < META_MAX_RANKS; r++)
            t->child[r] = META_NONE;
    }
    return ENG_OK;
}

/* Where the rank's part lies in the host's memory, if it is one stretch of it; else NULL. */
static const char *part_of_data(const eng_device_state *d, const meta_tensor *t, uint32_t rank)
{
    meta_piece piece[META_MAX_SEGS];

    if (!t->data || t->place.kind != META_SHARDED)
        return t->data;
    if (t->place.cut.n_segs != 1)
        return NULL;
    meta_cut_pieces(&t->place.cut, rank, t->ne, meta_type_info(d, t->type), piece);
    return piece->n1 == 1 && piece->n2 == 1 && piece->run > 0 ? t->data + piece->full : NULL;
}

static int create_child(eng_store_state *store, uint32_t rank, const eng_store_tensor *declared,
                        eng_store_tensor *local)
{
    const eng_child *c = &store->device->ranks[rank].child;
    uint32_t n = 0;

    for (uint32_t i = 0; i < store->n; i++) {
        meta_tensor *t = &store->tensors[i];
        if (!meta_place_holds(&t->place, rank))
            continue;
        eng_store_tensor *s = &local[n];
        memset(s, 0, sizeof *s);
        s->size = sizeof *s;
        s->type = t->type;
        s->rank = t->rank;
        s->use = t->use;
        meta_local_ne(&t->place, rank, t->ne, s->ne);
        s->name = t->name;
        s->role = meta_declared(declared, i)->role;
        s->layer = meta_declared(declared, i)->layer;
        s->layout = meta_declared(declared, i)->layout;
        s->readers = meta_declared(declared, i)->readers;
        s->n_readers = meta_declared(declared, i)->n_readers;
        s->data = part_of_data(store->device, t, rank);
        t->child[rank] = n++;
    }
    if (n == 0)
        return ENG_OK;
    return meta_blame(store->device, rank, c->calls->store_create(c->state, local, n, &store->child[rank]));
}

/* What the ranks have made of a tensor, and one number for all of that. */
static int ask_layouts(eng_store_state *store, meta_tensor *t)
{
    bool any = false, all = true;

    t->layout = (eng_layout_info){.size = sizeof t->layout, .rows = 1};
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (t->child[r] == META_NONE)
            continue;
        eng_layout_info info = {.size = sizeof info, .rows = 1, .name = "file"};
        int status = store->device->ranks[r].child.calls->store_layout(store->child[r], t->child[r], &info);
        if (status != ENG_OK)
            return meta_blame(store->device, r, status);
        t->layouts.of[r] = info.layout;
        if (info.layout)
            t->layout.layout = (t->layout.layout ^ (info.layout * (META_MAX_RANKS + 1) + r)) * 16777619u | 1u;
        if (!t->layout.name[0])
            memcpy(t->layout.name, info.name, sizeof t->layout.name);
        else if (strcmp(t->layout.name, info.name) != 0)
            memcpy(t->layout.name, "mixed", sizeof "mixed");
        any |= info.in_place != ENG_IN_PLACE_NONE;
        all &= info.in_place == ENG_IN_PLACE_ALL;
    }
    t->layout.in_place = !any ? ENG_IN_PLACE_NONE : all ? ENG_IN_PLACE_ALL : ENG_IN_PLACE_PART;
    return ENG_OK;
}

int meta_store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info)
{
    eu_layout_give(info, &store->tensors[tensor].layout);
    return ENG_OK;
}

static void end_store(eng_store_state *store)
{
    if (!store)
        return;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        if (store->child[r])
            store->device->ranks[r].child.calls->store_destroy(store->child[r]);
    eu_arena_end(&store->arena);
    free(store);
}

int meta_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store)
{
    eng_store_state *s = calloc(1, sizeof *s);
    eng_store_tensor *local = calloc(n + 1u, sizeof *local);

    if (s) {
        s->device = device;
        s->n = n;
        s->tensors = eu_arena_alloc(&s->arena, (n + 1u) * sizeof *s->tensors);
    }
    int status = s && local && s->tensors ? describe(s, tensors) : meta_no_memory(device, "a store");
    pthread_mutex_lock(&device->lock);
    const meta_mark mark = meta_device_mark(device);
    if (status == ENG_OK)
        status = meta_place_store(device, tensors, n, s->tensors);
    for (uint32_t r = 0; r < device->n_ranks && status == ENG_OK; r++)
        status = create_child(s, r, tensors, local);
    for (uint32_t i = 0; i < n && status == ENG_OK; i++)
        status = ask_layouts(s, &s->tensors[i]);
    if (status == ENG_OK) {
        s->next = device->stores;
        device->stores = s;
        account_store(s, 1);
        *store = s;
    } else { /* the next one is placed as if there had been none */
        end_store(s);
        meta_device_restore(device, &mark);
    }
    pthread_mutex_unlock(&device->lock);
    free(local);
    return status;
}

void meta_store_destroy(eng_store_state *store)
{
    if (!store)
        return;
    eng_device_state *d = store->device;
    pthread_mutex_lock(&d->lock);
    for (eng_store_state **at = &d->stores; *at; at = &(*at)->next) {
        if (*at == store) {
            *at = store->next;
            break;
        }
    }
    account_store(store, -1);
    pthread_mutex_unlock(&d->lock);
    end_store(store);
}
