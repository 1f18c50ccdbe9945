/*
 * Stores: persistent tensors.  Tensors share buffers; one larger than an
 * allocation is spread over several (split.c says where it is cut).
 */
#include "../host.h"

/* Assigns every piece its buffer and offset; sizes[] of the buffers. */
static int lay_out(eng_store_state *s, uint64_t **sizes)
{
    cl_device *device = s->device;
    uint64_t *list = NULL, limit = device->max_alloc; /* a larger piece has a buffer of its own */
    size_t room = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const cl_split *split = &s->tensors[i].split;
        for (uint32_t p = 0; p < split->n; p++) {
            uint64_t bytes = p + 1 < split->n ? split->piece_bytes : split->bytes - (uint64_t)p * split->piece_bytes;
            uint64_t at = n ? (list[n - 1] + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN : 0;
            if (n == 0 || device->apart || at > limit || bytes > limit - at) {
                if (!eu_reserve(list, room, (size_t)n + 1)) {
                    free(list);
                    return cl_no_memory(device, "a store");
                }
                list[n++] = 0;
                at = 0;
            }
            s->tensors[i].pieces[p] = (struct cl_store_piece){n - 1, at};
            list[n - 1] = at + bytes;
        }
    }
    *sizes = list;
    s->n_blocks = n;
    return ENG_OK;
}

static int describe(eng_store_state *s, const eng_store_tensor *tensors)
{
    cl_device *device = s->device;
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const eng_store_tensor *t = (const eng_store_tensor *)((const char *)tensors + (size_t)i * tensors->size);
        cl_stored *x = &s->tensors[i];
        x->type = t->type;
        x->use = t->use;
        x->ne0 = t->rank ? t->ne[0] : 1;
        if (cl_type_block(t->type) == 0)
            return cl_fail(device, ENG_ERR_UNSUPPORTED,
                           "%s" ENG_CAUSE
                           "tensor '%s' has type %u, which the opencl plugin does not know", device->info.name,
                           t->name, t->type);
        if (cl_split_shape(device, t->type, t->ne, t->rank, t->use, &x->split) != ENG_OK)
            return cl_fail(device, ENG_ERR_UNSUPPORTED,
                           "%s" ENG_CAUSE "a row of tensor '%s' is larger than the largest allocation, %llu bytes",
                           device->info.name, t->name, (unsigned long long)device->hard_limit);
        pieces += x->split.n;
        s->by_use[t->use & ENG_USE_MASK] += x->split.bytes;
    }
    s->pieces = calloc(pieces + 1, sizeof *s->pieces);
    if (!s->pieces)
        return cl_no_memory(device, "a store");
    struct cl_store_piece *next = s->pieces;
    for (uint32_t i = 0; i < s->n; i++) {
        s->tensors[i].pieces = next;
        next += s->tensors[i].split.n;
    }
    return ENG_OK;
}

static int take(eng_store_state *s)
{
    char what[48];
    snprintf(what, sizeof what, "%u tensor%s", (unsigned)s->n, s->n == 1 ? "" : "s");
    int status = cl_budget_take(s->device, s->by_use, what);
    s->taken = status == ENG_OK;
    return status;
}

int cl_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store)
{
    uint64_t *sizes = NULL;
    eng_store_state *s = calloc(1, sizeof *s);
    if (s)
        s->tensors = calloc((size_t)n + 1, sizeof *s->tensors);
    if (!s || !s->tensors) {
        free(s);
        return cl_no_memory(device, "a store");
    }
    s->device = device;
    s->n = n;
    int status = describe(s, tensors);
    if (status == ENG_OK)
        status = take(s);
    if (status == ENG_OK)
        status = lay_out(s, &sizes);
    if (status == ENG_OK) {
        s->blocks = calloc(s->n_blocks + 1, sizeof *s->blocks);
        if (!s->blocks)
            status = cl_no_memory(device, "a store");
    }
    for (uint32_t i = 0; i < s->n_blocks && status == ENG_OK; i++)
        if (sizes[i])
            status = cl_block_create(device, sizes[i], true, "persistent tensors", &s->blocks[i]);
    free(sizes);
    if (status != ENG_OK) {
        cl_store_destroy(s);
        return status;
    }
    *store = s;
    return ENG_OK;
}

void cl_store_destroy(eng_store_state *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->blocks && i < s->n_blocks; i++)
        cl_block_destroy(&s->blocks[i]);
    if (s->taken)
        cl_budget_give(s->device, s->by_use);
    free(s->blocks);
    free(s->pieces);
    free(s->tensors);
    free(s);
}

bool cl_store_place(const eng_store_state *store, uint32_t tensor, uint64_t offset, cl_place *place)
{
    const cl_stored *t = &store->tensors[tensor];
    if (offset >= t->split.bytes)
        return false;
    uint64_t p = offset / t->split.piece_bytes, in = offset - p * t->split.piece_bytes;
    uint64_t left = t->split.bytes - offset, here = t->split.piece_bytes - in;
    const cl_block *block = &store->blocks[t->pieces[p].block];
    place->mem = block->mem;
    place->at = t->pieces[p].at + in;
    place->bytes = left < here ? left : here;
    place->host = block->host ? (char *)block->host + place->at : NULL;
    return true;
}
