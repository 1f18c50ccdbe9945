/* Rows of blocks in groups, and regions of them as a file has them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"

#define WINDOW (UINT64_C(2) << 20)

bool eu_reads_packed(uint32_t op, uint32_t operand)
{
    return operand == 0 && (op == ENG_OP_MUL_MAT || op == ENG_OP_MUL_MAT_ID || op == ENG_OP_GET_ROWS);
}

bool eu_packable(const eng_store_tensor *tensor, const eng_type_info *type)
{
    for (uint32_t i = 0; i < tensor->n_readers; i++)
        if (!eu_reads_packed(tensor->readers[i].op, tensor->readers[i].operand))
            return false;
    return tensor->n_readers > 0 && type->block > 1 && tensor->rank >= 2 && tensor->ne[0] > 0 && tensor->ne[1] > 0 &&
           tensor->ne[1] % EU_PACKED_ROWS == 0;
}

void eu_layout_choose(const eng_store_tensor *tensor, const eng_type_info *type, eng_layout_info *info)
{
    const bool packed = tensor->layout == ENG_LAYOUT_PACKED && eu_packable(tensor, type);
    info->layout = packed ? EU_PACKED_ROWS : 0;
    info->rows = packed ? EU_PACKED_ROWS : 1;
    info->in_place = ENG_IN_PLACE_NONE;
    snprintf(info->name, sizeof info->name, packed ? "rows%d" : "file", EU_PACKED_ROWS);
}

bool eu_regions_in_place(const void *data, const eng_region *regions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const eng_region *r = &regions[i];
        if ((const char *)r->data != (const char *)data + r->tensor_offset || (r->count > 1 && r->data_stride != r->tensor_stride))
            return false;
    }
    return true;
}

void eu_packed_row(const eu_packing *p, const void *packed, uint64_t row, uint64_t first, uint64_t n, void *out)
{
    const uint64_t step = (uint64_t)p->rows * p->block_bytes;
    const char *from = (const char *)packed + row / p->rows * p->rows * p->row_bytes + row % p->rows * p->block_bytes;
    for (uint64_t b = 0; b < n; b++)
        memcpy((char *)out + b * p->block_bytes, from + (first + b) * step, p->block_bytes);
}

/* Whole groups: rows one after the other to blocks side by side. */
static void pack(const eu_packing *p, const char *rows, char *packed, uint64_t bytes)
{
    const uint64_t group = p->rows * p->row_bytes, blocks = p->row_bytes / p->block_bytes;
    for (uint64_t at = 0; at < bytes; at += group)
        for (uint64_t b = 0; b < blocks; b++)
            for (uint32_t r = 0; r < p->rows; r++)
                memcpy(packed + at + (b * p->rows + r) * p->block_bytes, rows + at + r * p->row_bytes + b * p->block_bytes,
                       p->block_bytes);
}

static void unpack(const eu_packing *p, const char *packed, char *rows, uint64_t bytes)
{
    for (uint64_t r = 0; r * p->row_bytes < bytes; r++)
        eu_packed_row(p, packed, r, 0, p->row_bytes / p->block_bytes, rows + r * p->row_bytes);
}

/* What of the region's runs lies in the bytes [begin, begin + bytes) of the tensor, to or from `rows`.  Returns how
 * many bytes that are. */
static uint64_t copy_runs(const eng_region *r, uint64_t begin, uint64_t bytes, char *rows, bool up)
{
    const uint64_t stop = begin + bytes, past = r->tensor_offset + r->bytes; /* the end of run 0 */
    uint64_t done = 0, first = begin >= past && r->tensor_stride ? (begin - past) / r->tensor_stride : 0;
    for (uint64_t i = first; i < r->count; i++) {
        const uint64_t from = r->tensor_offset + i * r->tensor_stride, to = from + r->bytes;
        const uint64_t lo = from > begin ? from : begin, hi = to < stop ? to : stop;
        if (from >= stop && r->tensor_stride)
            break;
        if (lo >= hi)
            continue;
        char *data = (char *)r->data + i * r->data_stride + (lo - from);
        memcpy(up ? rows + (lo - begin) : data, up ? data : rows + (lo - begin), (size_t)(hi - lo));
        done += hi - lo;
    }
    return done;
}

/* Does the region alone give every byte of [begin, begin + bytes)? */
static bool covers(const eng_region *r, uint64_t begin, uint64_t bytes)
{
    const bool dense = r->count == 1 || r->tensor_stride == r->bytes;
    return dense && r->tensor_offset <= begin && begin + bytes <= r->tensor_offset + r->bytes * r->count;
}

static int move_window(const eu_packing *p, const eng_region *r, bool up, const eu_packed_memory *memory, uint64_t at,
                       uint64_t bytes, char *rows, char *packed)
{
    int status = 0;
    if (!up || !covers(r, at, bytes)) {
        status = memory->read(memory->ctx, at, bytes, packed);
        if (status)
            return status;
        unpack(p, packed, rows, bytes);
    }
    if (copy_runs(r, at, bytes, rows, up) == 0 || !up)
        return 0;
    pack(p, rows, packed, bytes);
    return memory->write(memory->ctx, at, bytes, packed);
}

int eu_packed_move(const eu_packing *p, const eng_region *r, bool up, const eu_packed_memory *memory)
{
    const uint64_t group = p->rows * p->row_bytes, window = (WINDOW / group + 1) * group;
    if (r->count == 0 || r->bytes == 0)
        return 0;
    const uint64_t end = r->tensor_offset + (r->count - 1) * r->tensor_stride + r->bytes;
    const uint64_t last = (end + group - 1) / group * group; /* a tensor is whole groups */
    char *rows = malloc(window), *packed = malloc(window);
    int status = rows && packed ? 0 : -1;
    for (uint64_t at = r->tensor_offset / group * group; at < last && status == 0; at += window)
        status = move_window(p, r, up, memory, at, last - at < window ? last - at : window, rows, packed);
    free(rows);
    free(packed);
    return status;
}
