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

/* Types with a decoder in kernels/types.clh, and with an encoder: in encode.clh, which takes 32 elements at a time, or
 * in encode_256.clh. */
static inline bool cl_decodes(uint32_t type)
{
    return cl_type_block(type) != 0 && !cl_is_index(type);
}

static inline bool cl_encodes_32(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_F32: case ENG_TYPE_F16: case ENG_TYPE_BF16: case ENG_TYPE_Q4_0: case ENG_TYPE_Q4_1:
    case ENG_TYPE_Q5_0: case ENG_TYPE_Q5_1: case ENG_TYPE_Q8_0: case ENG_TYPE_IQ4_NL: case ENG_TYPE_MXFP4: case ENG_TYPE_NVFP4:
        return true;
    default:
        return false;
    }
}

static inline bool cl_encodes_256(uint32_t type)
{
    return (type >= ENG_TYPE_Q2_K && type <= ENG_TYPE_Q6_K) || type == ENG_TYPE_IQ4_XS;
}

/* Elements that share a scale in a block of 256. */
static inline int64_t cl_group_elements(uint32_t type)
{
    return type == ENG_TYPE_Q4_K || type == ENG_TYPE_Q5_K || type == ENG_TYPE_IQ4_XS ? 32 : 16;
}

static inline bool cl_encodes(uint32_t type)
{
    return cl_encodes_32(type) || cl_encodes_256(type);
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

/* convert.c: y = x converted, for quantize, dequantize, cpy and store; search: iq4_nl's scales. */
eng_support cl_convert_supports(cl_device *device, const eng_tensor *x, const eng_tensor *y, char *reason,
                                size_t bytes);
int cl_convert_record(cl_recorder *r, int32_t x, int32_t y, bool search);

#endif
