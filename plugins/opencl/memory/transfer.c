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

/* Runs that lie in bytes [begin, begin + bytes) of the tensor, to or from `window`. */
static void window_copy(const eng_region *r, uint64_t begin, uint64_t bytes, uint8_t *window, bool up)
{
    for (uint64_t i = 0; i < r->count; i++) {
        uint64_t from = r->tensor_offset + i * r->tensor_stride, to = from + r->bytes;
        uint64_t lo = from > begin ? from : begin, hi = to < begin + bytes ? to : begin + bytes;
        if (lo >= hi)
            continue;
        uint8_t *data = (uint8_t *)r->data + i * r->data_stride + (lo - from);
        if (up)
            memcpy(window + (lo - begin), data, (size_t)(hi - lo));
        else
            memcpy(data, window + (lo - begin), (size_t)(hi - lo));
    }
}

/* Does the region alone give every byte of [begin, begin + bytes)? */
static bool covers(const eng_region *r, uint64_t begin, uint64_t bytes)
{
    bool dense = r->count == 1 || r->tensor_stride == r->bytes;
    return dense && r->tensor_offset <= begin && begin + bytes <= r->tensor_offset + r->bytes * r->count;
}

/* A window of whole groups of a packed tensor: read, changed, written. */
static cl_int packed_window(eng_store_state *s, uint32_t tensor, const eng_region *r, uint64_t begin, uint64_t bytes,
                            uint8_t *plain, uint8_t *packed, bool up)
{
    const cl_stored *t = &s->tensors[tensor];
    uint64_t group = t->split.group * t->split.row_bytes;
    const cl_range range = {.place = cl_stored_place, .store = s, .tensor = (int32_t)tensor};
    cl_int error = CL_SUCCESS;
    cl_event last = NULL;
    if (!up || !covers(r, begin, bytes)) {
        error = move_run(s->device->transfer, &range, begin, (char *)packed, bytes, false, &last);
        error = cl_event_settle(&last, error);
        for (uint64_t at = 0; at < bytes && error == CL_SUCCESS; at += group)
            cl_unpack_rows(t->type, t->split.group, t->split.row_bytes, packed + at, plain + at);
    }
    if (error != CL_SUCCESS)
        return error;
    window_copy(r, begin, bytes, plain, up);
    if (!up)
        return CL_SUCCESS;
    for (uint64_t at = 0; at < bytes; at += group)
        cl_pack_rows(t->type, t->split.group, t->split.row_bytes, plain + at, packed + at);
    error = move_run(s->device->transfer, &range, begin, (char *)packed, bytes, true, &last);
    return cl_event_settle(&last, error);
}

static cl_int move_packed(eng_store_state *s, uint32_t tensor, const eng_region *r, bool up)
{
    const cl_stored *t = &s->tensors[tensor];
    uint64_t group = t->split.group * t->split.row_bytes;
    if (r->count == 0 || r->bytes == 0)
        return CL_SUCCESS;
    uint64_t window = ((4u << 20) / group + 1) * group;
    uint64_t first = r->tensor_offset / group * group;
    uint64_t last = r->tensor_offset + (r->count - 1) * r->tensor_stride + r->bytes;
    uint8_t *plain = malloc(window), *packed = malloc(window);
    cl_int error = plain && packed ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    for (uint64_t at = first; at < last && error == CL_SUCCESS; at += window) {
        uint64_t end = at + window < t->split.bytes ? at + window : t->split.bytes;
        if (end > (last + group - 1) / group * group)
            end = (last + group - 1) / group * group;
        error = packed_window(s, tensor, r, at, end - at, plain, packed, up);
    }
    free(plain);
    free(packed);
    return error;
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

static int move(eng_store_state *s, uint32_t tensor, const eng_region *regions, uint32_t n, bool up)
{
    cl_device *device = s->device;
    const cl_range range = {.place = cl_stored_place, .store = s, .tensor = (int32_t)tensor};
    int status = cl_check_regions(s, tensor, regions, n);
    if (status != ENG_OK)
        return status;
    cl_int error = CL_SUCCESS;
    cl_event last = NULL;
    for (uint32_t i = 0; i < n && error == CL_SUCCESS; i++)
        error = s->tensors[tensor].split.group > 1 ? move_packed(s, tensor, &regions[i], up)
                                                   : cl_move_region(device->transfer, &range, &regions[i], up, &last);
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
