/* The host's data to and from the ranks' parts of stored tensors: regions of the whole become
 * regions of shards. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "../meta.h"

typedef struct region_list {
    eng_region *items;
    uint32_t n;
    size_t capacity;
    bool failed;
} region_list;

static void add_region(region_list *l, eng_region r)
{
    if (r.count == 0 || r.bytes == 0)
        return;
    if (!eu_reserve(l->items, l->capacity, (size_t)l->n + 1))
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

/* Of one repetition above the dimension, the runs that the bytes [begin, end) touch: both ends
 * clipped, what is between them as one region.  There may be thousands, so none is looked at in vain. */
static void clip_runs(region_list *l, const meta_piece *p, uint64_t j, char *data, uint64_t begin, uint64_t end)
{
    uint64_t base = p->full + j * p->full_s2;
    uint64_t i0 = begin < base + p->run ? 0 : (begin - base - p->run) / p->full_s1 + 1;
    uint64_t i1 = end <= base ? 0 : (end - base + p->full_s1 - 1) / p->full_s1;

    i1 = i1 < p->n1 ? i1 : p->n1;
    if (i0 >= i1)
        return;
    clip_run(l, p, j, i0, data, begin, end);
    if (i1 - i0 > 2)
        add_region(l, (eng_region){.data = data + (base + (i0 + 1) * p->full_s1 - begin),
                                   .data_stride = p->full_s1,
                                   .tensor_offset = p->local + j * p->local_s2 + (i0 + 1) * p->local_s1,
                                   .tensor_stride = p->local_s1,
                                   .bytes = p->run,
                                   .count = i1 - i0 - 2});
    if (i1 - i0 > 1)
        clip_run(l, p, j, i1 - 1, data, begin, end);
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
    if (p->full_s2 == 0 || p->run == 0) /* no elements */
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
        clip_runs(l, p, j, data, begin, end);
    }
}

/* The rank's part of a tensor, by regions of that part. */
static int move_part(eng_store_state *store, uint32_t tensor, uint32_t rank, const eng_region *regions, uint32_t n,
                     bool up)
{
    const eng_device_calls *calls = store->device->ranks[rank].child.calls;
    uint32_t local = store->tensors[tensor].child[rank];

    return meta_blame(store->device, rank, up ? calls->store_upload(store->child[rank], local, regions, n)
                                              : calls->store_download(store->child[rank], local, regions, n));
}

static int move_shard(eng_store_state *store, uint32_t tensor, uint32_t rank, const eng_region *regions, uint32_t n,
                      bool up)
{
    eng_device_state *d = store->device;
    const meta_tensor *t = &store->tensors[tensor];
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
        status = meta_no_memory(d, "the regions of a tensor");
    else if (l.n)
        status = move_part(store, tensor, rank, l.items, l.n, up);
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
        status = t->place.kind == META_SHARDED ? move_shard(store, tensor, r, regions, n, true)
                                               : move_part(store, tensor, r, regions, n, true);
    }
    return status;
}

/* Of a tensor that is not split, from the first rank that has it. */
int meta_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    const meta_tensor *t = &store->tensors[tensor];
    int status = ENG_OK;

    for (uint32_t r = 0; r < META_MAX_RANKS && status == ENG_OK; r++) {
        if (t->child[r] == META_NONE)
            continue;
        if (t->place.kind != META_SHARDED)
            return move_part(store, tensor, r, regions, n, false);
        status = move_shard(store, tensor, r, regions, n, false);
    }
    return status;
}
