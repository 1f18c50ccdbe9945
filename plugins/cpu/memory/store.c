/*
 * Persistent tensors: one piece of memory, in the declared (GGUF) layout or packed.  What the host has in
 * memory already is used there, if it is to be neither packed nor moved to an address that the ops can read.
 */
#include "config.h"

#include <stdlib.h>

#include "../cpu.h"
#include "libengine/util/util.h"

/* Bytes of a declared tensor; false if they do not fit or its type is unknown. */
static bool tensor_bytes(const eng_store_tensor *t, uint64_t *bytes)
{
    const eng_type_info *type = cpu_type(t->type);
    if (!type)
        return false;
    uint64_t n = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        uint64_t ne = (uint64_t)t->ne[d];
        if (t->ne[d] < 0)
            return false;
        if (d == 0)
            ne = (ne + type->block - 1) / type->block * type->block_bytes;
        if (__builtin_mul_overflow(n, ne, &n))
            return false;
    }
    if (t->rank == 0)
        n = type->block_bytes;
    *bytes = n;
    return n < (uint64_t)1 << 62;
}

static void account(eng_device_state *device, const eng_store_state *store, bool add)
{
    pthread_mutex_lock(&device->lock);
    for (uint32_t i = 0; i < store->n; i++) {
        eng_device_stats *s = &device->stats;
        uint64_t *kind;
        switch (store->tensors[i].use & ENG_USE_MASK) {
        case ENG_USE_WEIGHT: kind = &s->bytes_weights; break;
        case ENG_USE_CACHE: kind = &s->bytes_cache; break;
        case ENG_USE_STATE: kind = &s->bytes_state; break;
        default: kind = &s->bytes_io; break;
        }
        *kind += add ? store->tensors[i].bytes : (uint64_t)0 - store->tensors[i].bytes;
    }
    pthread_mutex_unlock(&device->lock);
}

#define LEAST_ALIGNED 16 /* addresses at which data are used in place */

static uint64_t types_beside(const cpu_interleaved *kept, uint32_t type)
{
    const bool tried = type < 64 && kept->tried >> type & 1;
    return tried && !kept->pays() ? 0 : kept->types;
}

int cpu_layout(eng_device_state *device, const eng_store_tensor *tensor, eng_layout_info *info)
{
    const eng_type_info *type = cpu_type(tensor->type);
    if (!type)
        return device->services->fail(device->host, ENG_ERR_UNSUPPORTED,
                                      "cpu" ENG_CAUSE "type of '%s' must be one that is "
                                      "known here, got %u",
                                      tensor->name, (unsigned)tensor->type);
    const cpu_interleaved *planes = device->variant->planes, *strips = device->variant->strips;
    if (!(planes && eu_layout_lanes(tensor, type, types_beside(planes, tensor->type), info)) &&
        !(strips && eu_layout_strips(tensor, type, types_beside(strips, tensor->type), info)))
        eu_layout_choose(tensor, type, info);
    if (tensor->data && info->layout == 0 && (uintptr_t)tensor->data % LEAST_ALIGNED == 0)
        info->in_place = ENG_IN_PLACE_ALL;
    return ENG_OK;
}

int cpu_store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info)
{
    eu_layout_give(info, &store->tensors[tensor].layout);
    return ENG_OK;
}

/* What is known of a tensor before there is memory for it. */
static int describe(eng_device_state *device, const eng_store_tensor *t, uint64_t bytes, struct cpu_stored *stored)
{
    stored->bytes = bytes;
    stored->use = t->use;
    stored->layout = (eng_layout_info){.size = sizeof stored->layout};
    int status = cpu_layout(device, t, &stored->layout);
    if (status != ENG_OK)
        return status;
    if (stored->layout.in_place)
        stored->data = (uint8_t *)(uintptr_t)t->data; /* only ever read: ENG_USE_FIXED */
    const eng_type_info *type = cpu_type(t->type);
    const uint64_t row_bytes = (uint64_t)(t->rank ? t->ne[0] : 1) / type->block * type->block_bytes;
    stored->packing = eu_packing_of(t->type, type->block_bytes, row_bytes, stored->layout.rows);
    return ENG_OK;
}

int cpu_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store)
{
    const eng_services *s = device->services;
    eng_store_state *st = calloc(1, sizeof *st);
    if (st)
        st->tensors = calloc(n ? n : 1, sizeof *st->tensors);
    if (!st || !st->tensors) {
        free(st);
        return cpu_no_memory(s, "a store");
    }
    st->device = device;
    st->n = n;
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        const eng_store_tensor *t = (const eng_store_tensor *)((const char *)tensors + (size_t)i * tensors->size);
        uint64_t bytes;
        bool fits = tensor_bytes(t, &bytes);
        int status = fits ? describe(device, t, bytes, &st->tensors[i]) : ENG_OK;
        if (status != ENG_OK) {
            free(st->tensors);
            free(st);
            return status;
        }
        if (fits && !st->tensors[i].data)
            fits = !__builtin_add_overflow(total, cpu_aligned(bytes), &total) && total < SIZE_MAX / 2;
        if (!fits) {
            free(st->tensors);
            free(st);
            return s->fail(device->host, ENG_ERR_NOMEM, "cpu" ENG_CAUSE
                           "the store's tensors, up to %s, are larger than memory can be",
                           t->name ? t->name : "?");
        }
    }
    st->bytes = (size_t)total;
    st->memory = cpu_memory_near(device, st->bytes);
    if (!st->memory) {
        free(st->tensors);
        free(st);
        return cpu_memory_refused(device, total, "tensors");
    }
    uint8_t *p = st->memory;
    for (uint32_t i = 0; i < n; i++) {
        if (st->tensors[i].data)
            continue;
        st->tensors[i].data = p;
        p += cpu_aligned(st->tensors[i].bytes);
    }
    account(device, st, true);
    *store = st;
    return ENG_OK;
}

void cpu_store_destroy(eng_store_state *store)
{
    if (!store)
        return;
    account(store->device, store, false);
    cpu_memory_free(store->memory, store->bytes);
    free(store->tensors);
    free(store);
}

/* Are all runs of a region inside the tensor? */
static bool inside(uint64_t bytes, const eng_region *r)
{
    if (r->count == 0 || r->bytes == 0)
        return true;
    uint64_t last;
    if (__builtin_mul_overflow(r->count - 1, r->tensor_stride, &last) ||
        __builtin_add_overflow(last, r->tensor_offset, &last) || __builtin_add_overflow(last, r->bytes, &last))
        return false;
    return last <= bytes;
}

static int check_regions(const eng_device_state *device, uint64_t bytes, const eng_region *regions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!inside(bytes, &regions[i]))
            return device->services->fail(device->host, ENG_ERR_INVALID,
                                          "cpu" ENG_CAUSE "region %u reaches outside a tensor of %llu bytes",
                                          (unsigned)i, (unsigned long long)bytes);
    return ENG_OK;
}

int cpu_move(const eng_device_state *device, uint8_t *data, uint64_t bytes, const eng_region *regions, uint32_t n,
             bool upload)
{
    int status = check_regions(device, bytes, regions, n);
    if (status != ENG_OK)
        return status;
    for (uint32_t i = 0; i < n; i++) {
        const eng_region *r = &regions[i];
        for (uint64_t j = 0; j < r->count && r->bytes; j++) {
            uint8_t *host = (uint8_t *)r->data + j * r->data_stride;
            uint8_t *here = data + r->tensor_offset + j * r->tensor_stride;
            memcpy(upload ? here : host, upload ? host : here, (size_t)r->bytes);
        }
    }
    return ENG_OK;
}

static int read_packed(void *ctx, uint64_t at, uint64_t bytes, void *to)
{
    memcpy(to, ((const struct cpu_stored *)ctx)->data + at, (size_t)bytes);
    return 0;
}

static int write_packed(void *ctx, uint64_t at, uint64_t bytes, const void *from)
{
    memcpy(((const struct cpu_stored *)ctx)->data + at, from, (size_t)bytes);
    return 0;
}

/* Rows of whole groups, in the host's memory, that all threads pack. */
typedef struct pack_job {
    const eu_packing *packing;
    const uint8_t *rows;
    uint8_t *packed;
    uint64_t group_bytes;
    int64_t groups;
    int threads;
} pack_job;

static void pack_share(void *ctx, uint32_t thread)
{
    const pack_job *job = ctx;
    const cpu_run run = {.thread = (int)thread, .threads = job->threads};
    int64_t begin, end;
    cpu_share(&run, job->groups, 1, &begin, &end);
    const uint64_t at = (uint64_t)begin * job->group_bytes;
    eu_pack_groups(job->packing, job->rows + at, job->packed + at, (uint64_t)(end - begin) * job->group_bytes);
}

#define SHARED_BYTES (UINT64_C(1) << 20) /* what pays to be packed by all threads */

/* What a region brings of whole groups, without gaps, packed by all threads: from *begin to *end of the tensor. */
static void pack_together(eng_device_state *device, const struct cpu_stored *t, const eng_region *r, uint64_t *begin,
                          uint64_t *end)
{
    const uint64_t group = t->packing.rows * t->packing.row_bytes, stop = r->tensor_offset + r->bytes;
    *begin = (r->tensor_offset + group - 1) / group * group;
    *end = stop / group * group;
    if (r->count != 1 || *end < *begin || *end - *begin < SHARED_BYTES) {
        *end = *begin = stop;
        return;
    }
    pack_job job = {.packing = &t->packing, .rows = (const uint8_t *)r->data + (*begin - r->tensor_offset),
                    .packed = t->data + *begin, .group_bytes = group, .groups = (int64_t)((*end - *begin) / group),
                    .threads = device->threads};
    cpu_turn turn;
    cpu_turns_take(&device->turns, &turn, NULL);
    eu_team_run(device->team, (uint32_t)device->threads, pack_share, &job);
    cpu_turns_give(&device->turns, &turn);
}

static int move_packed(eng_device_state *device, const struct cpu_stored *t, const eng_region *regions, uint32_t n,
                       bool upload)
{
    const eu_packed_memory memory = {read_packed, write_packed, (void *)(uintptr_t)t};
    int status = check_regions(device, t->bytes, regions, n);
    for (uint32_t i = 0; i < n && status == ENG_OK; i++) {
        const eng_region *r = &regions[i];
        uint64_t begin = r->tensor_offset + r->bytes, end = begin;
        if (upload)
            pack_together(device, t, r, &begin, &end);
        const eng_region rest[] = {begin == end ? *r : eu_region_part(r, r->tensor_offset, begin),
                                   eu_region_part(r, end, r->tensor_offset + r->bytes)};
        for (int k = 0; k < (begin == end ? 1 : 2) && status == ENG_OK; k++)
            if (eu_packed_move(&t->packing, &rest[k], upload, &memory) != 0)
                status = device->services->fail_code(device->host, EU_NO_MEMORY_IN("cpu", "packing a tensor"));
    }
    return status;
}

/* Data used in place are there already; nothing else may be written to them. */
static int pass_over(const eng_device_state *device, const struct cpu_stored *t, const eng_region *regions, uint32_t n)
{
    return eu_regions_in_place(t->data, regions, n)
               ? ENG_OK
               : device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE
                                        "a tensor whose data are used in place must not be written");
}

static int move(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n, bool upload)
{
    eng_device_state *device = store->device;
    if (tensor >= store->n)
        return device->services->fail(device->host, ENG_ERR_INVALID, "cpu" ENG_CAUSE "the store has %u tensors, not %u",
                                      (unsigned)store->n, (unsigned)tensor + 1);
    const struct cpu_stored *t = &store->tensors[tensor];
    if (t->layout.layout)
        return move_packed(device, t, regions, n, upload);
    return upload && t->layout.in_place ? pass_over(device, t, regions, n)
                                        : cpu_move(device, t->data, t->bytes, regions, n, upload);
}

int cpu_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    return move(store, tensor, regions, n, true);
}

int cpu_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    return move(store, tensor, regions, n, false);
}
