/* Stores: each rank's part in a store of its own device, and moving data there. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "meta.h"

static void account(eng_device_state *device, const meta_tensor *t, uint32_t rank, uint64_t bytes, int sign)
{
    uint32_t kind = meta_bytes_kind(t->use);
    uint64_t more = sign > 0 ? bytes : (uint64_t)0 - bytes;

    device->ranks[rank].bytes[kind] += more;
    if (t->place.kind == META_REPLICATED && kind != META_BYTES_IO && (device->main_mask & (device->main_mask - 1)))
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
            return META_FAIL(d, ENG_ERR_INVALID, "%s has the unknown type %u", given->name,
                             (unsigned)given->type);
        t->name = meta_arena_format(&store->arena, "%s", given->name);
        if (!t->name)
            return meta_no_memory(d, "a store");
        t->type = given->type;
        t->rank = given->rank;
        t->use = given->use;
        memcpy(t->ne, given->ne, sizeof t->ne);
        for (uint32_t k = t->rank; k < ENG_MAX_RANK; k++)
            t->ne[k] = 1;
        t->bytes = meta_shape_bytes(type, t->ne);
        for (uint32_t r = 0; r < META_MAX_RANKS; r++)
            t->child[r] = META_NONE;
    }
    return ENG_OK;
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
        t->child[rank] = n++;
    }
    return n ? meta_blame(store->device, rank, c->calls->store_create(c->state, local, n, &store->child[rank])) : ENG_OK;
}

int meta_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store)
{
    eng_store_state *s = calloc(1, sizeof *s);
    eng_store_tensor *local = calloc(n + 1u, sizeof *local);

    if (s) {
        s->device = device;
        s->n = n;
        s->tensors = meta_arena_alloc(&s->arena, (n + 1u) * sizeof *s->tensors);
    }
    int status = s && local && s->tensors ? describe(s, tensors) : meta_no_memory(device, "a store");
    pthread_mutex_lock(&device->lock);
    if (status == ENG_OK)
        status = meta_place_store(device, tensors, n, s->tensors);
    for (uint32_t r = 0; r < device->n_ranks && status == ENG_OK; r++)
        status = create_child(s, r, tensors, local);
    if (status == ENG_OK) {
        s->next = device->stores;
        device->stores = s;
        account_store(s, 1);
    }
    pthread_mutex_unlock(&device->lock);
    free(local);
    if (status != ENG_OK) {
        for (uint32_t r = 0; s && r < META_MAX_RANKS; r++)
            if (s->child[r])
                device->ranks[r].child.calls->store_destroy(s->child[r]);
        if (s)
            meta_arena_end(&s->arena);
        free(s);
        return status;
    }
    *store = s;
    return ENG_OK;
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
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        if (store->child[r])
            d->ranks[r].child.calls->store_destroy(store->child[r]);
    meta_arena_end(&store->arena);
    free(store);
}

/* -- regions of shards ------------------------------------------------------------------ */

typedef struct region_list {
    eng_region *items;
    uint32_t n, capacity;
    bool failed;
} region_list;

static void add_region(region_list *l, eng_region r)
{
    if (r.count == 0 || r.bytes == 0)
        return;
    if (!meta_grow((void **)&l->items, l->n, &l->capacity, sizeof *l->items))
        l->failed = true;
    else
        l->items[l->n++] = r;
}

/* One run of a piece, clipped to the bytes [begin, end) of the tensor. */
static void clip_run(region_list *l, const meta_piece *p, uint64_t j, uint64_t i, char *data, uint64_t begin,
                     uint64_t end)
{
    uint64_t full = p->full + j * p->full_s2 + i * p->full_s1, stop = full + p->run;
    uint64_t from = full > begin ? full : begin, to = stop < end ? stop : end;

    if (from < to)
        add_region(l, (eng_region){.data = data + (from - begin),
                                   .tensor_offset = p->local + j * p->local_s2 + i * p->local_s1 + (from - full),
                                   .bytes = to - from,
                                   .count = 1});
}

/* Repetitions j0 .. j1-1 that the range covers whole: as few regions as can be. */
static void whole_runs(region_list *l, const meta_piece *p, uint64_t j0, uint64_t j1, char *data, uint64_t begin)
{
    eng_region r = {.bytes = p->run};

    if (j1 - j0 >= p->n1) {
        for (uint64_t i = 0; i < p->n1; i++) {
            r.data = data + (p->full + j0 * p->full_s2 + i * p->full_s1 - begin);
            r.data_stride = p->full_s2;
            r.tensor_offset = p->local + j0 * p->local_s2 + i * p->local_s1;
            r.tensor_stride = p->local_s2;
            r.count = j1 - j0;
            add_region(l, r);
        }
        return;
    }
    for (uint64_t j = j0; j < j1; j++) {
        r.data = data + (p->full + j * p->full_s2 - begin);
        r.data_stride = p->full_s1;
        r.tensor_offset = p->local + j * p->local_s2;
        r.tensor_stride = p->local_s1;
        r.count = p->n1;
        add_region(l, r);
    }
}

/* What of the bytes [begin, begin + bytes) of the tensor lies in a piece. */
static void map_range(region_list *l, const meta_piece *p, char *data, uint64_t begin, uint64_t bytes)
{
    if (p->full_s2 == 0) /* no elements */
        return;
    uint64_t end = begin + bytes;
    uint64_t first = begin / p->full_s2, last = (end + p->full_s2 - 1) / p->full_s2; /* touched */
    uint64_t j0 = (begin + p->full_s2 - 1) / p->full_s2, j1 = end / p->full_s2;      /* covered */

    last = last < p->n2 ? last : p->n2;
    for (uint64_t j = first; j < last && !l->failed; j++) {
        if (j >= j0 && j < j1) {
            whole_runs(l, p, j, j1 < last ? j1 : last, data, begin);
            j = (j1 < last ? j1 : last) - 1;
            continue;
        }
        for (uint64_t i = 0; i < p->n1; i++)
            clip_run(l, p, j, i, data, begin, end);
    }
}

static int move_shard(eng_store_state *store, uint32_t tensor, uint32_t rank, const eng_region *regions, uint32_t n,
                      bool up)
{
    eng_device_state *d = store->device;
    const meta_tensor *t = &store->tensors[tensor];
    const eng_child *c = &d->ranks[rank].child;
    meta_piece pieces[META_MAX_SEGS];
    region_list l = {NULL, 0, 0, false};

    meta_cut_pieces(&t->place.cut, rank, t->ne, meta_type_info(d, t->type), pieces);
    for (uint32_t k = 0; k < n; k++)
        for (uint64_t i = 0; i < regions[k].count; i++)
            for (uint32_t s = 0; s < t->place.cut.n_segs; s++)
                map_range(&l, &pieces[s], (char *)regions[k].data + i * regions[k].data_stride,
                          regions[k].tensor_offset + i * regions[k].tensor_stride, regions[k].bytes);
    int status = ENG_OK;
    if (l.failed)
        status = META_FAIL(d, ENG_ERR_NOMEM, "out of host memory for the regions of %s", t->name);
    else if (l.n)
        status = meta_blame(d, rank, up ? c->calls->store_upload(store->child[rank], t->child[rank], l.items, l.n)
                                        : c->calls->store_download(store->child[rank], t->child[rank], l.items, l.n));
    free(l.items);
    return status;
}

int meta_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    const meta_tensor *t = &store->tensors[tensor];
    int status = ENG_OK;

    for (uint32_t r = 0; r < META_MAX_RANKS && status == ENG_OK; r++) {
        if (t->child[r] == META_NONE)
            continue;
        if (t->place.kind == META_SHARDED)
            status = move_shard(store, tensor, r, regions, n, true);
        else
            status = meta_blame(store->device, r,
                                store->device->ranks[r].child.calls->store_upload(store->child[r], t->child[r], regions, n));
    }
    return status;
}

int meta_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    const meta_tensor *t = &store->tensors[tensor];

    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (t->child[r] == META_NONE)
            continue;
        const eng_device_calls *calls = store->device->ranks[r].child.calls;
        int status = t->place.kind == META_SHARDED
                         ? move_shard(store, tensor, r, regions, n, false)
                         : meta_blame(store->device, r,
                                      calls->store_download(store->child[r], t->child[r], regions, n));
        if (status != ENG_OK || t->place.kind != META_SHARDED)
            return status;
    }
    return ENG_OK;
}
