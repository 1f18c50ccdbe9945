/*
 * Stores: persistent tensors.  Tensors share buffers; one larger than an
 * allocation is spread over several (split.c says where it is cut).
 */
#include "../host.h"

#define LEAST_ALIGNED 16 /* addresses at which data are used in place */

int cl_layout(cl_device *device, const eng_store_tensor *tensor, eng_layout_info *info)
{
    const eng_type_info *type = device->sv->type_info(device->sv->host, tensor->type);
    if (!type || cl_type_block(tensor->type) == 0)
        return cl_fail(device, ENG_ERR_UNSUPPORTED,
                       "%s" ENG_CAUSE "tensor '%s' has type %u, which the opencl plugin does not know", device->info.name,
                       tensor->name, tensor->type);
    /* what the device multiplies is asked only of types that may be in lanes: it may have to be tried */
    if (!eu_layout_lanes(tensor, type, UINT64_MAX, info) ||
        !eu_layout_lanes(tensor, type, cl_lanes_types(device), info))
        eu_layout_choose(tensor, type, info);
    if ((device->caps & CL_CAP_UNIFIED) && tensor->data && info->layout == 0 &&
        (uintptr_t)tensor->data % LEAST_ALIGNED == 0)
        info->in_place = ENG_IN_PLACE_ALL;
    return ENG_OK;
}

int cl_store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info)
{
    eu_layout_give(info, &store->tensors[tensor].layout);
    return ENG_OK;
}

bool cl_store_unread(const eng_store_state *store, uint32_t tensor)
{
    return store->device->shares && (store->tensors[tensor].use & ENG_USE_MASK) == ENG_USE_WEIGHT;
}

/* The buffers of a store while it is laid out. */
typedef struct cl_wanted {
    uint64_t bytes;
    const char *data; /* of the host's; NULL: of the device's                  */
} cl_wanted;

static uint64_t piece_bytes(const cl_split *split, uint32_t p)
{
    return p + 1 < split->n ? split->piece_bytes : split->bytes - (uint64_t)p * split->piece_bytes;
}

/* Assigns every piece its buffer and offset.  Pieces in the host's memory have a buffer each: those of
 * neighbours would overlap where they share a page. */
static int lay_out(eng_store_state *s, cl_wanted **buffers)
{
    cl_device *device = s->device;
    cl_wanted *list = NULL;
    uint64_t limit = device->max_alloc; /* a larger piece has a buffer of its own */
    size_t room = 0;
    uint32_t n = 0, shared = 0; /* number of the buffer that is being filled, + 1 */
    for (uint32_t i = 0; i < s->n; i++) {
        const cl_stored *t = &s->tensors[i];
        for (uint32_t p = 0; p < t->split.n; p++) {
            const uint64_t bytes = piece_bytes(&t->split, p);
            uint64_t at = shared && !t->data ? (list[shared - 1].bytes + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN : 0;
            const bool fits = shared && !t->data && !device->apart && at <= limit && bytes <= limit - at;
            if (!fits && !eu_reserve(list, room, (size_t)n + 1)) {
                free(list);
                return cl_no_memory(device, "a store");
            }
            if (!fits) {
                list[n++] = (cl_wanted){0, t->data ? t->data + p * t->split.piece_bytes : NULL};
                shared = t->data ? shared : n;
                at = 0;
            }
            const uint32_t mine = t->data ? n : shared;
            t->pieces[p] = (struct cl_store_piece){mine - 1, at};
            list[mine - 1].bytes = at + bytes;
        }
    }
    *buffers = list;
    s->n_blocks = n;
    return ENG_OK;
}

static int describe_one(eng_store_state *s, const eng_store_tensor *t, cl_stored *x)
{
    cl_device *device = s->device;
    x->type = t->type;
    x->use = t->use;
    x->layout = (eng_layout_info){.size = sizeof x->layout};
    int status = cl_layout(device, t, &x->layout);
    if (status != ENG_OK)
        return status;
    x->data = x->layout.in_place ? t->data : NULL;
    if (cl_split_shape(device, t->type, t->ne, t->rank, x->layout.layout, &x->split) != ENG_OK)
        return cl_fail(device, ENG_ERR_UNSUPPORTED,
                       "%s" ENG_CAUSE "a row of tensor '%s' is larger than the largest allocation, %llu bytes",
                       device->info.name, t->name, (unsigned long long)device->hard_limit);
    (x->data ? s->in_place : s->by_use)[t->use & ENG_USE_MASK] += x->split.bytes;
    return ENG_OK;
}

static int describe(eng_store_state *s, const eng_store_tensor *tensors)
{
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        int status = describe_one(s, (const eng_store_tensor *)((const char *)tensors + (size_t)i * tensors->size),
                                  &s->tensors[i]);
        if (status != ENG_OK)
            return status;
        pieces += s->tensors[i].split.n;
    }
    s->pieces = calloc(pieces + 1, sizeof *s->pieces);
    if (!s->pieces)
        return cl_no_memory(s->device, "a store");
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
    if (s->taken)
        cl_budget_note(s->device, s->in_place, true);
    return status;
}

/* Inputs and outputs alone are where the host reaches them, too, if there is such memory. */
static int create_block(const eng_store_state *s, uint64_t bytes, cl_block *block)
{
    uint64_t others = 0;
    for (uint32_t use = 0; use < CL_USES; use++)
        others += use == ENG_USE_INPUT || use == ENG_USE_OUTPUT ? 0 : s->by_use[use];
    if (others || s->device->apart || !s->device->svm)
        return cl_block_create(s->device, bytes, true, "persistent tensors", block);
    int status = cl_block_create_scratch(s->device, bytes, "inputs and outputs", block);
    if (status == ENG_OK)
        memset(block->host, 0, (size_t)bytes);
    return status;
}

int cl_store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store)
{
    cl_wanted *buffers = NULL;
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
        status = lay_out(s, &buffers);
    if (status == ENG_OK) {
        s->blocks = calloc(s->n_blocks + 1, sizeof *s->blocks);
        if (!s->blocks)
            status = cl_no_memory(device, "a store");
    }
    for (uint32_t i = 0; i < s->n_blocks && status == ENG_OK; i++)
        if (buffers[i].data && buffers[i].bytes)
            status = cl_block_wrap(device, buffers[i].data, buffers[i].bytes, "tensors", &s->blocks[i]);
        else if (buffers[i].bytes)
            status = create_block(s, buffers[i].bytes, &s->blocks[i]);
    free(buffers);
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
    if (s->taken) {
        cl_budget_give(s->device, s->by_use);
        cl_budget_note(s->device, s->in_place, false);
    }
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
