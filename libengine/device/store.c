/* Stores: persistent tensors, declared at once, checked and copied.  (Their data: load.c.) */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "device.h"

const eng_placement *eng_placement_copy(eu_arena *arena, const eng_placement *placement)
{
    eng_placement *p = eu_arena_alloc(arena, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (eng_placement){.size = sizeof *p, .kind = placement->kind, .axis = placement->axis};
    if (placement->kind == ENG_PLACE_SINGLE && (p->device = eu_arena_string(arena, placement->device)) == NULL)
        return NULL;
    return p;
}

const eng_dim *eng_dims_copy(eu_arena *arena, const eng_dim *dims, uint32_t rank)
{
    if (!dims)
        return NULL;
    eng_dim *copy = eu_arena_alloc(arena, rank * sizeof *copy);
    if (!copy)
        return NULL;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t n = dims[i].n_segments;
        eng_segment *segments = eu_arena_alloc(arena, n * sizeof *segments);
        if (!segments)
            return NULL;
        for (uint32_t s = 0; s < n; s++) {
            const eng_segment *from = &dims[i].segments[s];
            eng_factor *factors = eu_arena_alloc(arena, from->n_factors * sizeof *factors);
            if (!factors)
                return NULL;
            if (from->n_factors)
                memcpy(factors, from->factors, from->n_factors * sizeof *factors);
            segments[s] = (eng_segment){.n_factors = from->n_factors, .factors = factors};
        }
        copy[i] = (eng_dim){.n_segments = n, .segments = segments};
    }
    return copy;
}

/* More than the engine takes would silently have no axes. */
static int check_size(const eng_store_tensor *t, uint32_t d, uint64_t n, uint64_t most, const void *array,
                      const char *what)
{
    if (n > most)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s', dimension %u" ENG_CAUSE
                        "%llu %s; there are at most %llu", t->name, d,
                        (unsigned long long)n, what, (unsigned long long)most);
    if (n > 0 && !array)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s', dimension %u" ENG_CAUSE
                        "it is to have %llu %s, but the pointer to them is "
                        "NULL", t->name, d, (unsigned long long)n, what);
    return ENG_OK;
}

/* The segments of a dimension must make up its extent. */
static int check_dim(const eng_store_tensor *t, uint32_t d)
{
    const eng_dim *dim = &t->dims[d];
    uint64_t extent = 0;
    int status = check_size(t, d, dim->n_segments, ENG_MAX_SEGMENTS, dim->segments, "segments");
    if (status < 0 || dim->n_segments == 0)
        return status;
    for (uint32_t s = 0; s < dim->n_segments; s++) {
        const eng_segment *segment = &dim->segments[s];
        uint64_t length = 1, full = 1; /* full: devices count with the extents beside an extent of 0 */
        status = check_size(t, d, segment->n_factors, ENG_MAX_FACTORS, segment->factors, "factors of a segment");
        if (status < 0)
            return status;
        for (uint32_t f = 0; f < segment->n_factors; f++) {
            int64_t e = segment->factors[f].extent;
            if (e < 0 || !eu_mul(full, e > 0 ? (uint64_t)e : 1, &full) || full > INT64_MAX / 2)
                return eng_fail(ENG_ERR_INVALID, "tensor '%s', dimension %u" ENG_CAUSE
                                "a factor of segment %u has an impossible "
                                "extent", t->name, d, s);
            length *= (uint64_t)e;
        }
        if (__builtin_add_overflow(extent, length, &extent))
            return eng_fail(ENG_ERR_INVALID, "tensor '%s', dimension %u" ENG_CAUSE
                            "its segments are too long", t->name, d);
    }
    if (extent != (uint64_t)t->ne[d])
        return eng_fail(ENG_ERR_INVALID, "tensor '%s', dimension %u" ENG_CAUSE
                        "its axes' factors make up %llu elements, but the "
                        "dimension has %lld", t->name, d, (unsigned long long)extent, (long long)t->ne[d]);
    return ENG_OK;
}

/* That the op is known and reads the type there is looked at when a graph does it. */
static int check_reader(const eng_store_tensor *t, uint32_t i)
{
    const eng_reader *r = &t->readers[i];
    if (r->op == 0 || r->op >= ENG_OP_LIMIT || r->operand >= ENG_MAX_INPUTS)
        return eng_fail(ENG_ERR_INVALID,
                        "tensor '%s', reader %u" ENG_CAUSE "op and operand must be an op's number (1 .. %d) and "
                        "an operand of it (0 .. %d), got %u and %u",
                        t->name, i, ENG_OP_LIMIT - 1, ENG_MAX_INPUTS - 1, r->op, r->operand);
    if (r->precisions == 0 || r->precisions >> ENG_PRECISIONS)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s', reader %u" ENG_CAUSE
                        "precisions must be a sum of bits 1 << eng_precision, got %u", t->name, i, r->precisions);
    return ENG_OK;
}

static int check_layout(const eng_store_tensor *t)
{
    int status = ENG_OK;
    if (t->layout > ENG_LAYOUT_PACKED)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "layout must be one of ENG_LAYOUT_*, got %u", t->name,
                        t->layout);
    if (t->layout == ENG_LAYOUT_PACKED && t->n_readers == 0)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "it is to be packed, and nobody is said to read it"
                        ENG_ADVICE "list the ops that read it in readers", t->name);
    status = check_size(t, 0, t->n_readers, ENG_OP_LIMIT, t->readers, "readers");
    for (uint32_t i = 0; i < t->n_readers && status >= 0; i++)
        status = check_reader(t, i);
    return status;
}

static int check_tensor(const eng_store_tensor *t, uint64_t *bytes)
{
    const eng_type_info *type = eng_type_get(t->type);
    uint32_t use = t->use & ENG_USE_MASK;
    if (!type)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "unknown data type %u", t->name, t->type);
    if (t->rank < 1 || t->rank > ENG_MAX_RANK)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE
                        "rank %u; a tensor has 1 to %d dimensions", t->name, t->rank,
                        ENG_MAX_RANK);
    if (use < ENG_USE_WEIGHT || use > ENG_USE_OUTPUT)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE
                        "use %u is none of ENG_USE_WEIGHT, _CACHE, _STATE, _INPUT, "
                        "_OUTPUT", t->name, use);
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->ne[d] < 0)
            return eng_fail(ENG_ERR_INVALID, "tensor '%s', dimension %u" ENG_CAUSE "negative extent %lld", t->name, d,
                            (long long)t->ne[d]);
        int status = t->dims ? check_dim(t, d) : ENG_OK;
        if (status < 0)
            return status;
    }
    if (t->ne[0] % type->block != 0)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE
                        "rows of %lld elements are not whole blocks of type %s (%u "
                        "elements)" ENG_ADVICE
                        "choose a type whose block divides the row", t->name, (long long)t->ne[0],
                        type->name, type->block);
    if (!eu_shape_layout(type, t->ne, t->rank, NULL, bytes))
        return eng_fail(ENG_ERR_INVALID, "tensor '%s' is larger than memory can be", t->name);
    return check_layout(t);
}

/* One declared tensor into the store's memory; dims are checked before copied. */
static int copy_tensor(eng_store *store, uint32_t i, const eng_store_tensor *given)
{
    eng_store_tensor *t = &store->tensors[i];
    size_t known = given->size < sizeof *t ? given->size : sizeof *t;
    t->axis = ENG_AXIS_NONE;
    t->layer = -1;
    memcpy(t, given, known);
    t->size = sizeof *t;
    if (!t->name)
        t->name = "";
    for (uint32_t d = t->rank; d < ENG_MAX_RANK; d++)
        t->ne[d] = 1;
    int status = check_tensor(t, &store->bytes[i]);
    if (status < 0)
        return status;
    t->use = (t->use & ~(uint32_t)ENG_USE_FIXED) | (t->data ? ENG_USE_FIXED : 0);
    bool has_dims = t->dims != NULL, has_device = t->device != NULL;
    t->dims = eng_dims_copy(&store->memory, t->dims, t->rank);
    t->name = eu_arena_string(&store->memory, t->name);
    if (has_device)
        t->device = eu_arena_string(&store->memory, t->device);
    eng_reader *readers = t->n_readers ? eu_arena_alloc(&store->memory, t->n_readers * sizeof *readers) : NULL;
    if (!t->name || (has_dims && !t->dims) || (has_device && !t->device) || (t->n_readers && !readers))
        return eng_fail_memory();
    if (readers)
        memcpy(readers, t->readers, t->n_readers * sizeof *readers);
    t->readers = readers;
    return ENG_OK;
}

static int store_fill(eng_store *store, const eng_store_tensor *tensors, uint32_t n)
{
    store->tensors = eu_arena_alloc(&store->memory, n * sizeof *store->tensors);
    store->bytes = eu_arena_alloc(&store->memory, n * sizeof *store->bytes);
    store->layouts = eu_arena_alloc(&store->memory, n * sizeof *store->layouts);
    store->data = eu_arena_alloc(&store->memory, n * sizeof *store->data);
    if (!store->tensors || !store->bytes || !store->layouts || !store->data)
        return eng_fail_memory();
    /* the host's struct may be shorter or longer than ours: step by its size */
    size_t stride = n ? tensors[0].size : 0;
    if (n && stride < offsetof(eng_store_tensor, dims))
        return eng_fail(ENG_ERR_INVALID, "eng_store_create" ENG_CAUSE "set the size field of every eng_store_tensor to "
                        "sizeof(eng_store_tensor)");
    for (uint32_t i = 0; i < n; i++) {
        const eng_store_tensor *given = (const eng_store_tensor *)((const char *)tensors + i * stride);
        if (given->size != stride)
            return eng_fail(ENG_ERR_INVALID, "eng_store_create" ENG_CAUSE
                            "tensor %u has size %u, but tensor 0 has %zu" ENG_ADVICE "set the "
                            "size field of every eng_store_tensor to sizeof(eng_store_tensor)", i, given->size, stride);
        int status = copy_tensor(store, i, given);
        if (status < 0)
            return status;
    }
    store->n = n;
    for (uint32_t i = 0; i < n; i++) {
        store->data[i] = store->tensors[i].data;
        if (store->from.flags & ENG_DATA_COPY)
            store->tensors[i].data = NULL;
    }
    const unsigned words = eng_failure_words();
    int status = eng_answer(store->device->calls->store_create(store->device->state, store->tensors, n, &store->state),
                            words, store->device->info.name, "store_create");
    if (status >= 0 && !store->state)
        return eng_fail(ENG_ERR_INTERNAL,
                        "%s" ENG_CAUSE "the plugin's store_create answered %d and gave no store" ENG_ADVICE
                        "report it to the plugin's author",
                        store->device->info.name, status);
    return status;
}

/* What the device has made of the tensors. */
static int ask_layouts(eng_store *store)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < store->n && status >= 0; i++) {
        store->layouts[i] = (eng_layout_info){.size = sizeof *store->layouts, .rows = 1, .name = "file"};
        const unsigned words = eng_failure_words();
        status = eng_answer(store->device->calls->store_layout(store->state, i, &store->layouts[i]), words,
                            store->device->info.name, "store_layout");
    }
    return status;
}

static void destroy(eng_store *store)
{
    if (store->state)
        store->device->calls->store_destroy(store->state);
    eng_store_let_go(store);
    eu_arena_end(&store->memory);
    free(store);
}

int eng_store_load(eng_device *device, const eng_store_tensor *tensors, uint32_t n, const eng_store_data *from,
                   eng_store **result)
{
    eng_store none = {.n = 0}, *store = NULL; /* whoever's memory it is is told, however early this fails */
    int status = eng_store_take(&none, from);
    if (status >= 0 && (!device || !result || (n && !tensors)))
        status = eng_fail(ENG_ERR_INVALID, "eng_store_create" ENG_CAUSE "device, tensors or store is NULL");
    if (status >= 0)
        status = eng_device_check(device);
    if (status >= 0 && !(store = calloc(1, sizeof *store)))
        status = eng_fail_memory();
    if (status < 0) {
        eng_store_let_go(&none);
        return status;
    }
    store->device = device;
    store->references = 1;
    store->from = none.from;
    status = store_fill(store, tensors, n);
    if (status >= 0)
        status = ask_layouts(store);
    if (status >= 0)
        status = eng_store_copy_data(store);
    if (status < 0) {
        destroy(store);
        return status;
    }
    eng_device_retain(device);
    *result = store;
    return ENG_OK;
}

int eng_store_create(eng_device *device, const eng_store_tensor *tensors, uint32_t n, eng_store **store)
{
    return eng_store_load(device, tensors, n, NULL, store);
}

void eng_store_retain(eng_store *store)
{
    __atomic_fetch_add(&store->references, 1, __ATOMIC_RELAXED);
}

void eng_store_destroy(eng_store *store)
{
    if (!store || eng_inherited(store->device->context) ||
        __atomic_sub_fetch(&store->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    eng_device *device = store->device;
    destroy(store);
    eng_device_release(device);
}

uint32_t eng_store_count(const eng_store *store)
{
    return store ? store->n : 0;
}

const eng_store_tensor *eng_store_get(const eng_store *store, uint32_t tensor)
{
    return store && tensor < store->n ? &store->tensors[tensor] : NULL;
}

uint64_t eng_store_bytes(const eng_store *store, uint32_t tensor)
{
    return store && tensor < store->n ? store->bytes[tensor] : 0;
}

int eng_store_layout(const eng_store *store, uint32_t tensor, eng_layout_info *info)
{
    if (!store || tensor >= store->n || !info)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_store_layout" ENG_CAUSE "store or info is NULL, or the store has no tensor "
                        "number %u",
                        tensor);
    return eng_give(info, &store->layouts[tensor], sizeof store->layouts[tensor], "eng_layout_info");
}

/* Used by the blocking calls here and by those of queues. */
int eng_store_check(const eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, const void *data)
{
    if (!store)
        return eng_fail(ENG_ERR_INVALID, "the store is NULL");
    if (tensor >= store->n)
        return eng_fail(ENG_ERR_INVALID, "the store has %u tensors; there is no number %u", store->n, tensor);
    if (bytes > store->bytes[tensor] || offset > store->bytes[tensor] - bytes)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s' has %llu bytes; %llu bytes at %llu reach past its end",
                        store->tensors[tensor].name, (unsigned long long)store->bytes[tensor],
                        (unsigned long long)bytes, (unsigned long long)offset);
    if (bytes && !data)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "data is NULL", store->tensors[tensor].name);
    return eng_device_check(store->device);
}

int eng_store_check_regions(const eng_store *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    int status = eng_store_check(store, tensor, 0, 0, NULL);
    if (status >= 0 && n > 0 && !regions)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "the array of %u regions is NULL",
                        store->tensors[tensor].name, n);
    for (uint32_t i = 0; i < n && status >= 0; i++) {
        const eng_region *r = &regions[i];
        uint64_t end = 0;
        if (r->bytes == 0 || r->count == 0)
            continue;
        if (!r->data)
            return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "data of region %u is NULL",
                            store->tensors[tensor].name, i);
        if (__builtin_mul_overflow(r->count - 1, r->tensor_stride, &end) ||
            __builtin_add_overflow(end, r->tensor_offset, &end) || __builtin_add_overflow(end, r->bytes, &end) ||
            end > store->bytes[tensor])
            return eng_fail(ENG_ERR_INVALID, "tensor '%s'" ENG_CAUSE "it has %llu bytes, region %u - %llu runs of %llu bytes "
                            "from %llu on, every %llu - reaches past its end", store->tensors[tensor].name,
                            (unsigned long long)store->bytes[tensor], i, (unsigned long long)r->count,
                            (unsigned long long)r->bytes, (unsigned long long)r->tensor_offset,
                            (unsigned long long)r->tensor_stride);
    }
    return status;
}

int eng_store_write(eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, const void *data)
{
    int status = eng_store_check(store, tensor, offset, bytes, data);
    if (status >= 0)
        status = eng_store_check_written(store, tensor);
    if (status < 0 || bytes == 0)
        return status;
    eng_region region = {.data = (void *)(uintptr_t)data, .tensor_offset = offset, .bytes = bytes, .count = 1};
    return eng_store_upload(store, tensor, &region);
}

int eng_store_read(eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, void *data)
{
    int status = eng_store_check(store, tensor, offset, bytes, data);
    if (status < 0 || bytes == 0)
        return status;
    eng_region region = {.data = data, .tensor_offset = offset, .bytes = bytes, .count = 1};
    const unsigned words = eng_failure_words();
    return eng_answer(store->device->calls->store_download(store->state, tensor, &region, 1), words,
                      store->device->info.name, "store_download");
}
