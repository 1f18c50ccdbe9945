/* What the op files of matrix products, conversions, attention and recurrences share. */
#ifndef CL_HOT_H
#define CL_HOT_H

#include "../opencl.h"

static inline int64_t cl_ceil(int64_t n, int64_t d)
{
    return (n + d - 1) / d;
}

static inline int64_t cl_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cl_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Extent and stride of dimension d, which may lie past the rank. */
static inline int64_t cl_ne(const eng_tensor *t, unsigned d)
{
    return d < t->rank ? t->ne[d] : 1;
}

static inline int64_t cl_nb(const eng_tensor *t, unsigned d)
{
    return d < t->rank ? t->nb[d] : 0;
}

static inline bool cl_is_index(uint32_t type)
{
    return type == ENG_TYPE_I32 || type == ENG_TYPE_I64;
}

/* Types with a decoder in kernels/types.clh, and with an encoder in encode.clh. */
static inline bool cl_decodes(uint32_t type)
{
    return cl_type_block(type) != 0 && !cl_is_index(type);
}

static inline bool cl_encodes(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_F32: case ENG_TYPE_F16: case ENG_TYPE_BF16: case ENG_TYPE_Q4_0: case ENG_TYPE_Q4_1:
    case ENG_TYPE_Q5_0: case ENG_TYPE_Q5_1: case ENG_TYPE_Q8_0: case ENG_TYPE_IQ4_NL: case ENG_TYPE_MXFP4:
        return true;
    default:
        return false;
    }
}

/* Adds an operand whose strides the caller sets: w->nb[w->n - 1][]. */
static inline void cl_walk_operand(cl_walk *w, int32_t tensor, uint64_t row_bytes)
{
    w->tensor[w->n] = tensor;
    w->row_bytes[w->n] = row_bytes;
    w->n++;
}

static inline uint64_t cl_row_bytes(const eng_tensor *t)
{
    uint64_t block = cl_type_block(t->type);
    return block ? ((uint64_t)cl_ne(t, 0) + block - 1) / block * cl_type_bytes(t->type) : 0;
}

/* Work-items of a group for kernels without local memory. */
static inline size_t cl_group(const cl_device *device)
{
    return device->vec ? 1 : device->max_group < 64 ? device->max_group : 64;
}

/* Products: in family simt a tile is the work of 256 work-items, which not every device has in a group.  Up to so many
 * columns are not worth one; CL_LANE_COLUMNS of them read the matrix once (kernels/lanes.clh). */
enum { CL_FEW_COLUMNS = 8, CL_LANE_COLUMNS = 4 };
static inline bool cl_has_tiles(const cl_device *device)
{
    return device->vec || device->max_group >= 256;
}

/* In family vec few columns are those for which tiles gain nothing (MOST_COLUMNS of mul_mat.cl and mul_mat_id.cl). */
static inline int64_t cl_few_columns(const cl_device *device)
{
    return device->vec ? 16 : CL_FEW_COLUMNS;
}

static inline bool cl_in_rows(const cl_device *device, int64_t columns)
{
    return columns <= cl_few_columns(device) || !cl_has_tiles(device);
}

/* Rows of a work-item of family vec, of `rows` in all: in multiples of 4, several work-items for every compute unit, but
 * none that reads less than 16 KiB if that can be had with 64 rows: that takes less time than another thread does to wake. */
static inline int64_t cl_rows_each(const cl_device *device, int64_t rows, uint64_t row_bytes)
{
    const int64_t least = cl_max(4, 16384 / cl_max(1, (int64_t)row_bytes) & ~(int64_t)3);
    return cl_min(64, cl_max(least, rows / (8 * (int64_t)device->compute_units) & ~(int64_t)3));
}

/* Columns of a group of family simt. */
static inline int64_t cl_lane_columns(int64_t columns)
{
    return columns <= 2 ? columns : CL_LANE_COLUMNS;
}

/* Rows of such a group, as in kernels/lanes.clh. */
static inline int64_t cl_lane_rows(int64_t columns)
{
    return cl_lane_columns(columns) > 2 ? 2 : 4;
}

/* A tile on cards (kernels/tile.clh): rows, work-items of a group, columns where there are so many. */
enum { CL_TILE_ROWS = 128, CL_TILE_GROUP = 256 };
static inline int64_t cl_tile_columns(int64_t columns)
{
    return columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
}

/* Build options of a product with that many columns. */
static inline void cl_product_options(const cl_device *device, const eng_tensor *a, const eng_tensor *b,
                                      int64_t columns, char options[CL_OPTIONS + 64])
{
    char matrix[CL_OPTIONS];
    const bool rows = cl_in_rows(device, columns);
    cl_matrix_options(a, matrix);
    int n = snprintf(options, CL_OPTIONS + 64, "%s -DBT=%s%s", matrix, cl_type_name(b->type),
                     !rows ? " -DTILES" : device->vec && columns == 1 ? " -DONE" : "");
    if (!device->vec)
        snprintf(options + n, (size_t)(CL_OPTIONS + 64 - n), rows ? " -DCOLS=%lld" : " -DTILE_N=%lld",
                 (long long)(rows ? cl_lane_columns(columns) : cl_tile_columns(columns)));
}

/* convert.c: y = x converted, for quantize, dequantize, cpy and store; search: iq4_nl's scales. */
eng_support cl_convert_supports(cl_device *device, const eng_tensor *x, const eng_tensor *y, char *reason,
                                size_t bytes);
int cl_convert_record(cl_recorder *r, int32_t x, int32_t y, bool search);

#endif
