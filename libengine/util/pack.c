/* Rows of blocks in groups, and regions of them as a file has them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"

#define WINDOW (UINT64_C(2) << 20)
#define STRIP_BYTES(type, element) ((type) == ENG_TYPE_BF16 ? 2 * (element) : (element))
#define INLINE static inline __attribute__((always_inline)) /* so that copies have sizes that are known */

bool eu_reads_packed(uint32_t op, uint32_t operand)
{
    return operand == 0 && (op == ENG_OP_MUL_MAT || op == ENG_OP_MUL_MAT_ID || op == ENG_OP_GET_ROWS);
}

eu_lanes eu_lanes_of(uint32_t type)
{
    switch (type) {
#define FORM(NAME, run, lead, tail)                                                                                    \
    case ENG_TYPE_##NAME: return (eu_lanes){run, lead, tail};
        EU_LANES_TYPES(FORM) EU_LANES_LEAST(FORM) EU_LANES_GRID(FORM)
#undef FORM
    default: return (eu_lanes){0};
    }
}

eu_packing eu_packing_of(uint32_t type, uint32_t block_bytes, uint64_t row_bytes, uint32_t rows)
{
    eu_packing p = {.row_bytes = row_bytes, .block_bytes = block_bytes, .rows = rows};
    if (rows == EU_LANES)
        p.lanes = eu_lanes_of(type);
    else if (rows == EU_STRIP)
        p.block_bytes = STRIP_BYTES(type, block_bytes);
    return p;
}

/* A matrix of whole groups of rows, read by products, and by nothing but what reads such?  What is only looked up is
 * better as it is. */
static bool groups_serve(const eng_store_tensor *tensor, uint32_t rows)
{
    bool products = false;
    for (uint32_t i = 0; i < tensor->n_readers; i++) {
        if (!eu_reads_packed(tensor->readers[i].op, tensor->readers[i].operand))
            return false;
        products |= tensor->readers[i].op != ENG_OP_GET_ROWS;
    }
    return products && tensor->rank >= 2 && tensor->ne[0] > 0 && tensor->ne[1] > 0 && tensor->ne[1] % rows == 0;
}

bool eu_packable(const eng_store_tensor *tensor, const eng_type_info *type)
{
    return type->block > 1 && groups_serve(tensor, EU_PACKED_ROWS);
}

void eu_layout_choose(const eng_store_tensor *tensor, const eng_type_info *type, eng_layout_info *info)
{
    const bool packed = tensor->layout == ENG_LAYOUT_PACKED && eu_packable(tensor, type);
    info->layout = packed ? EU_PACKED_ROWS : 0;
    info->rows = packed ? EU_PACKED_ROWS : 1;
    info->in_place = ENG_IN_PLACE_NONE;
    snprintf(info->name, sizeof info->name, packed ? "rows%d" : "file", EU_PACKED_ROWS);
}

bool eu_layout_lanes(const eng_store_tensor *tensor, const eng_type_info *type, uint64_t types, eng_layout_info *info)
{
    if (tensor->layout == ENG_LAYOUT_FILE || type->type >= 64 || !(types >> type->type & 1) ||
        !eu_packable(tensor, type) || tensor->ne[1] % EU_LANES || !eu_lanes_of(type->type).run)
        return false;
    info->layout = info->rows = EU_LANES;
    info->in_place = ENG_IN_PLACE_NONE;
    snprintf(info->name, sizeof info->name, "lanes%d", EU_LANES);
    return true;
}

bool eu_layout_strips(const eng_store_tensor *tensor, const eng_type_info *type, uint64_t types, eng_layout_info *info)
{
    if (tensor->layout == ENG_LAYOUT_FILE || type->type >= 64 || !(types >> type->type & 1) || type->block > 1 ||
        !groups_serve(tensor, EU_STRIP) ||
        tensor->ne[0] * type->block_bytes % STRIP_BYTES(type->type, type->block_bytes))
        return false;
    info->layout = info->rows = EU_STRIP;
    info->in_place = ENG_IN_PLACE_NONE;
    snprintf(info->name, sizeof info->name, "rows%d", EU_STRIP);
    return true;
}

eng_region eu_region_part(const eng_region *r, uint64_t from, uint64_t to)
{
    eng_region part = *r;
    part.tensor_offset = from;
    part.data = (char *)r->data + (from - r->tensor_offset);
    part.bytes = to - from;
    return part;
}

bool eu_regions_in_place(const void *data, const eng_region *regions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const eng_region *r = &regions[i];
        if ((const char *)r->data != (const char *)data + r->tensor_offset ||
            (r->count > 1 && r->data_stride != r->tensor_stride))
            return false;
    }
    return true;
}

/* `n` runs of `run` bytes of a lane's block, each beside those of the other lanes. */
INLINE void move_runs(char **lanes, char **block, uint32_t lane, uint32_t n, uint32_t run, bool up)
{
    char *side = *lanes + lane * run;
    for (uint32_t i = 0; i < n; i++, side += EU_LANES * run, *block += run)
        memcpy(up ? side : *block, up ? *block : side, run);
    *lanes += n * EU_LANES * run;
}

/* A row's block, at `block` in its order, to or from its lane of the blocks at `lanes`. */
INLINE void move_lane(const eu_packing *p, char *lanes, char *block, uint32_t lane, bool up)
{
    const eu_lanes form = p->lanes;
    if (form.run == 1)
        move_runs(&lanes, &block, lane, form.lead, 1, up);
    else
        move_runs(&lanes, &block, lane, form.lead, 2, up);
    move_runs(&lanes, &block, lane, (p->block_bytes - (uint32_t)form.run * form.lead - 2u * form.tail) / 4, 4, up);
    move_runs(&lanes, &block, lane, form.tail, 2, up);
}

/* n pieces of a row, each beside those of the other rows. */
INLINE void gather(const char *from, uint64_t step, uint64_t n, const uint32_t bytes, char *out)
{
    for (uint64_t b = 0; b < n; b++)
        memcpy(out + b * bytes, from + b * step, bytes);
}

void eu_packed_row(const eu_packing *p, const void *packed, uint64_t row, uint64_t first, uint64_t n, void *out)
{
    const uint64_t step = (uint64_t)p->rows * p->block_bytes, group = row / p->rows * p->rows * p->row_bytes;
    const uint32_t lane = (uint32_t)(row % p->rows);
    const char *from = (const char *)packed + group + first * step, *own = from + lane * p->block_bytes;
    if (p->lanes.run)
        for (uint64_t b = 0; b < n; b++, from += step)
            move_lane(p, (char *)(uintptr_t)from, (char *)out + b * p->block_bytes, lane, false);
    else if (p->block_bytes == 2)
        gather(own, step, n, 2, out);
    else if (p->block_bytes == 4)
        gather(own, step, n, 4, out);
    else
        gather(own, step, n, p->block_bytes, out);
}

/* A group of EU_STRIP rows, some elements of each row at a time: all rows' lines at once are often in one set of the
 * cache. */
INLINE void pack_strip(const char *rows, char *packed, uint64_t row_bytes, const uint32_t bytes)
{
    const uint64_t some = 64;
    for (uint64_t at = 0; at < row_bytes; at += some)
        for (uint32_t r = 0; r < EU_STRIP; r++)
            for (uint64_t b = at; b < at + some && b < row_bytes; b += bytes)
                memcpy(packed + b * EU_STRIP + r * bytes, rows + r * row_bytes + b, bytes);
}

static void pack_strips(const eu_packing *p, const char *rows, char *packed, uint64_t bytes)
{
    const uint64_t group = p->rows * p->row_bytes;
    for (uint64_t at = 0; at < bytes; at += group)
        if (p->block_bytes == 2)
            pack_strip(rows + at, packed + at, p->row_bytes, 2);
        else
            pack_strip(rows + at, packed + at, p->row_bytes, 4);
}

void eu_pack_groups(const eu_packing *p, const void *rows, void *packed, uint64_t bytes)
{
    const uint64_t group = p->rows * p->row_bytes, beside = p->rows * p->block_bytes;
    if (p->rows == EU_STRIP) {
        pack_strips(p, rows, packed, bytes);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += group)
        for (uint64_t b = 0; b * p->block_bytes < p->row_bytes; b++)
            for (uint32_t r = 0; r < p->rows; r++) {
                char *block = (char *)(uintptr_t)rows + at + r * p->row_bytes + b * p->block_bytes;
                char *to = (char *)packed + at + b * beside;
                if (p->lanes.run)
                    move_lane(p, to, block, r, true);
                else
                    memcpy(to + r * p->block_bytes, block, p->block_bytes);
            }
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
    eu_pack_groups(p, rows, packed, bytes);
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
