/*
 * Moving regions between host memory and the tensors of a store.  All go through the device's transfer queue, which is
 * in order: the last command's event stands for those before it (device/wait.c).
 */
#include "../host.h"

/* Do all runs of a region lie in the tensor? */
static bool inside(const eng_region *r, uint64_t bytes)
{
    uint64_t last;
    if (r->count == 0 || r->bytes == 0)
        return true;
    if (__builtin_mul_overflow(r->count - 1, r->tensor_stride, &last) ||
        __builtin_add_overflow(last, r->tensor_offset, &last) || __builtin_add_overflow(last, r->bytes, &last))
        return false;
    return last <= bytes;
}

/* One command for `count` runs that lie in one piece. */
static cl_int enqueue(cl_command_queue queue, const cl_place *place, char *data, const eng_region *r, uint64_t count,
                      bool up, cl_event *event)
{
    bool dense = count == 1 || (r->tensor_stride == r->bytes && r->data_stride == r->bytes);
    if (dense) {
        size_t n = (size_t)(r->bytes * count);
        const size_t at = (size_t)place->at;
        return up ? clEnqueueWriteBuffer(queue, place->mem, CL_FALSE, at, n, data, 0, NULL, event)
                  : clEnqueueReadBuffer(queue, place->mem, CL_FALSE, at, n, data, 0, NULL, event);
    }
    /* the origin's x must stay within a row of the buffer: fold whole rows into y */
    size_t pitch = (size_t)r->tensor_stride;
    size_t origin[3] = {(size_t)place->at % pitch, (size_t)place->at / pitch, 0}, host[3] = {0, 0, 0};
    size_t extent[3] = {(size_t)r->bytes, (size_t)count, 1};
    return up ? clEnqueueWriteBufferRect(queue, place->mem, CL_FALSE, origin, host, extent, pitch, 0,
                                         (size_t)r->data_stride, 0, data, 0, NULL, event)
              : clEnqueueReadBufferRect(queue, place->mem, CL_FALSE, origin, host, extent, pitch, 0,
                                        (size_t)r->data_stride, 0, data, 0, NULL, event);
}

static cl_int move_runs(cl_command_queue queue, const cl_place *place, char *data, const eng_region *r, uint64_t count,
                        bool up, cl_event *last)
{
    cl_event event = NULL;
    const cl_int error = enqueue(queue, place, data, r, count, up, &event);
    cl_event_follow(last, event);
    return error;
}

bool cl_stored_place(const cl_range *range, uint64_t offset, cl_place *place)
{
    return cl_store_place(range->store, (uint32_t)range->tensor, offset, place);
}

/* A single run, piece by piece. */
static cl_int move_run(cl_command_queue queue, const cl_range *range, uint64_t offset, char *data, uint64_t bytes,
                       bool up, cl_event *last)
{
    cl_int error = CL_SUCCESS;
    cl_place place;
    while (bytes && error == CL_SUCCESS) {
        if (!range->place(range, offset, &place) || place.bytes == 0)
            return CL_INVALID_VALUE;
        uint64_t n = bytes < place.bytes ? bytes : place.bytes;
        eng_region one = {.bytes = n, .count = 1};
        error = move_runs(queue, &place, data, &one, 1, up, last);
        offset += n;
        data += n;
        bytes -= n;
    }
    return error;
}

cl_int cl_move_region(cl_command_queue queue, const cl_range *range, const eng_region *r, bool up, cl_event *last)
{
    cl_int error = CL_SUCCESS;
    bool rect = r->tensor_stride >= r->bytes && r->data_stride >= r->bytes;
    for (uint64_t i = 0; i < r->count && r->bytes && error == CL_SUCCESS;) {
        uint64_t offset = r->tensor_offset + i * r->tensor_stride, n = 1;
        char *data = (char *)r->data + i * r->data_stride;
        cl_place place;
        if (!range->place(range, offset, &place))
            return CL_INVALID_VALUE;
        if (place.bytes < r->bytes) {
            error = move_run(queue, range, offset, data, r->bytes, up, last);
        } else {
            if (rect && r->count > 1) {
                n = (place.bytes - r->bytes) / r->tensor_stride + 1;
                n = n < r->count - i ? n : r->count - i;
            }
            error = move_runs(queue, &place, data, r, n, up, last);
        }
        i += n;
    }
    return error;
}

/* Bytes of a packed tensor as they lie in its pieces. */
typedef struct packed_bytes {
    cl_device *device;
    const cl_range *range;
    cl_int error;
} packed_bytes;

static int move_packed_bytes(packed_bytes *x, uint64_t at, uint64_t bytes, char *data, bool up)
{
    cl_event last = NULL;
    x->error = move_run(x->device->transfer, x->range, at, data, bytes, up, &last);
    x->error = cl_event_settle(&last, x->error);
    return x->error != CL_SUCCESS;
}

static int read_packed(void *ctx, uint64_t at, uint64_t bytes, void *to)
{
    return move_packed_bytes(ctx, at, bytes, to, false);
}

static int write_packed(void *ctx, uint64_t at, uint64_t bytes, const void *from)
{
    return move_packed_bytes(ctx, at, bytes, (char *)(uintptr_t)from, true);
}

/* Where the host may use the tensor's memory: packs what a region of one run has of whole groups, from *begin to *end of the
 * tensor, without a copy in between. */
static void pack_in_place(const eu_packing *packing, const cl_range *range, const eng_region *r, uint64_t *begin,
                          uint64_t *end)
{
    const uint64_t group = packing->rows * packing->row_bytes;
    cl_place place;
    *begin = (r->tensor_offset + group - 1) / group * group;
    *end = *begin;
    while (r->count == 1 && range->place(range, *end, &place) && place.host) {
        const uint64_t past = r->tensor_offset + r->bytes, left = past > *end ? past - *end : 0;
        const uint64_t bytes = (left < place.bytes ? left : place.bytes) / group * group;
        if (bytes == 0)
            return;
        eu_pack_groups(packing, (const char *)r->data + (*end - r->tensor_offset), place.host, bytes);
        *end += bytes;
    }
}

/* Done when it returns. */
static cl_int move_packed(cl_device *device, const cl_range *range, const eng_region *r, bool up)
{
    const cl_stored *t = &range->store->tensors[range->tensor];
    packed_bytes x = {device, range, CL_SUCCESS};
    const eu_packed_memory memory = {read_packed, write_packed, &x};
    const eu_packing packing = eu_packing_of(t->type, cl_type_bytes(t->type), t->split.row_bytes, t->split.group);
    uint64_t begin = 0, end = 0;
    if (up)
        pack_in_place(&packing, range, r, &begin, &end);
    const bool some = begin < end;
    const eng_region rest[] = {some ? eu_region_part(r, r->tensor_offset, begin) : *r,
                               some ? eu_region_part(r, end, r->tensor_offset + r->bytes) : *r};
    int failed = 0;
    for (int i = 0; i < (some ? 2 : 1) && !failed; i++)
        failed = eu_packed_move(&packing, &rest[i], up, &memory);
    return failed < 0 ? CL_OUT_OF_HOST_MEMORY : x.error;
}

int cl_check_regions(const eng_store_state *s, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    if (tensor >= s->n)
        return cl_fail(s->device, ENG_ERR_INVALID, "%s" ENG_CAUSE "tensor %u of a store that has %u", s->device->info.name, tensor,
                       s->n);
    for (uint32_t i = 0; i < n; i++)
        if (!inside(&regions[i], s->tensors[tensor].split.bytes))
            return cl_fail(s->device, ENG_ERR_INVALID, "%s" ENG_CAUSE "region %u reaches past the end of the tensor (%llu bytes)",
                           s->device->info.name, i, (unsigned long long)s->tensors[tensor].split.bytes);
    return ENG_OK;
}

/* Data used in place are there already; nothing else may be written to them. */
static int pass_over(const eng_store_state *s, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    return eu_regions_in_place(s->tensors[tensor].data, regions, n)
               ? ENG_OK
               : cl_fail(s->device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                         "a tensor whose data are used in place must not be written", s->device->info.name);
}

/* Nobody is at work on the tensor: where the host shares its memory it copies itself, for a command and its thread take longer
 * than most of what is moved between runs.  false: the host does not. */
static bool copy_region(const cl_range *range, const eng_region *r, bool up)
{
    for (uint64_t i = 0; i < r->count && r->bytes; i++) {
        uint64_t offset = r->tensor_offset + i * r->tensor_stride, left = r->bytes;
        char *data = (char *)r->data + i * r->data_stride;
        while (left) {
            cl_place place;
            if (!range->place(range, offset, &place) || place.bytes == 0 || !place.host)
                return false;
            const uint64_t n = left < place.bytes ? left : place.bytes;
            memcpy(up ? place.host : data, up ? data : place.host, (size_t)n);
            offset += n;
            data += n;
            left -= n;
        }
    }
    return true;
}

static cl_int move_region(const cl_range *range, const eng_region *r, bool up, cl_event *last)
{
    cl_device *device = range->store->device;
    return range->store->tensors[range->tensor].split.group > 1 ? move_packed(device, range, r, up)
           : copy_region(range, r, up)                          ? CL_SUCCESS
                                                                : cl_move_region(device->transfer, range, r, up, last);
}

static int move(eng_store_state *s, uint32_t tensor, const eng_region *regions, uint32_t n, bool up)
{
    cl_device *device = s->device;
    const cl_range range = {.place = cl_stored_place, .store = s, .tensor = (int32_t)tensor};
    int status = cl_check_regions(s, tensor, regions, n);
    if (status != ENG_OK)
        return status;
    if (up && cl_store_unread(s, tensor))
        return ENG_OK;
    if (up && s->tensors[tensor].layout.in_place)
        return pass_over(s, tensor, regions, n);
    cl_int error = CL_SUCCESS;
    cl_event last = NULL;
    for (uint32_t i = 0; i < n && error == CL_SUCCESS; i++)
        error = move_region(&range, &regions[i], up, &last);
    error = cl_event_settle(&last, error);
    return error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, up ? "upload" : "download");
}

int cl_store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    return move(store, tensor, regions, n, true);
}

int cl_store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    return move(store, tensor, regions, n, false);
}
