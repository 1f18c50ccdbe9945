/* Types and shapes, and where a tensor larger than one allocation is cut. */
#include "../opencl.h"

typedef struct cl_type_row { uint32_t block, bytes; const char *name; } cl_type_row;

static const cl_type_row types[ENG_TYPE_LIMIT] = {
#define ENG_TYPE(id, number, name, block, bytes) [number] = {block, bytes, name},
#include <engine/types.def>
#undef ENG_TYPE
};

uint32_t cl_type_block(uint32_t type)
{
    return type < ENG_TYPE_LIMIT ? types[type].block : 0;
}

uint32_t cl_type_bytes(uint32_t type)
{
    return type < ENG_TYPE_LIMIT ? types[type].bytes : 0;
}

const char *cl_type_name(uint32_t type)
{
    return type < ENG_TYPE_LIMIT && types[type].name ? types[type].name : "an unknown type";
}

bool cl_is_float(uint32_t type)
{
    return type == ENG_TYPE_F32 || type == ENG_TYPE_F16 || type == ENG_TYPE_BF16;
}

uint64_t cl_elements(const eng_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        n *= (uint64_t)t->ne[d];
    return n;
}

uint64_t cl_rows(const eng_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t d = 1; d < t->rank; d++)
        n *= (uint64_t)t->ne[d];
    return t->rank && t->ne[0] == 0 ? 0 : n;
}

bool cl_rows_contiguous(const eng_tensor *t)
{
    return t->rank == 0 || t->ne[0] <= (int64_t)cl_type_block(t->type) || t->nb[0] == (int64_t)cl_type_bytes(t->type);
}

bool cl_contiguous(const eng_tensor *t)
{
    uint32_t block = cl_type_block(t->type);
    int64_t next = cl_type_bytes(t->type);
    if (!block)
        return false;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->ne[d] == 0)
            return true;
        if (t->ne[d] != 1 && t->nb[d] != next)
            return false;
        next *= d == 0 ? t->ne[0] / block : t->ne[d];
    }
    return true;
}

void cl_matrix_options(cl_device *device, const eng_tensor *t, char options[CL_OPTIONS])
{
    const int n = snprintf(options, CL_OPTIONS, "-DAT=%s", cl_type_name(t->type));
    if (t->layout == EU_LANES)
        snprintf(options + n, CL_OPTIONS - (size_t)n, " -DPACK=%u%s", t->layout, cl_lanes_options(device));
    else if (t->layout)
        snprintf(options + n, CL_OPTIONS - (size_t)n, " -DPACK=%u -DPACK_BYTES=%u", t->layout, cl_type_bytes(t->type));
}

int cl_split_shape(const cl_device *device, uint32_t type, const int64_t *ne, uint32_t rank, uint32_t layout,
                   cl_split *split)
{
    uint64_t block = cl_type_block(type), unit_rows;
    if (!block)
        return ENG_ERR_UNSUPPORTED;
    cl_split s = {.rows = 1, .n = 1, .group = layout ? layout : 1};
    uint64_t n0 = rank ? (uint64_t)ne[0] : 1;
    if (__builtin_mul_overflow((n0 + block - 1) / block, (uint64_t)cl_type_bytes(type), &s.row_bytes))
        return ENG_ERR_UNSUPPORTED;
    for (uint32_t d = 1; d < rank; d++)
        if (__builtin_mul_overflow(s.rows, (uint64_t)ne[d], &s.rows))
            return ENG_ERR_UNSUPPORTED;
    if (__builtin_mul_overflow(s.rows, s.row_bytes, &s.bytes))
        return ENG_ERR_UNSUPPORTED;
    s.piece_rows = s.rows;
    s.piece_bytes = s.bytes;
    if (s.bytes > device->max_alloc) {
        /* the largest slice that fits one allocation; rows of a packed group stay together */
        unit_rows = s.rows;
        for (uint32_t d = rank; d-- > 1 && unit_rows * s.row_bytes > device->max_alloc;)
            unit_rows /= (uint64_t)ne[d];
        if (unit_rows % s.group)
            unit_rows = s.group;
        uint64_t units = device->max_alloc / (unit_rows * s.row_bytes);
        if (unit_rows * s.row_bytes > device->hard_limit)
            return ENG_ERR_UNSUPPORTED;
        s.piece_rows = units ? units * unit_rows : unit_rows;
        s.piece_bytes = s.piece_rows * s.row_bytes;
        s.n = (uint32_t)((s.rows + s.piece_rows - 1) / s.piece_rows);
    }
    *split = s;
    return ENG_OK;
}

int cl_split_of(const cl_device *device, const eng_subgraph *graph, const eng_tensor *t, cl_split *split)
{
    const eng_tensor *root = eng_subgraph_tensor(graph, t->root);
    if (root->binding >= 0)
        return cl_split_shape(device, root->type, root->ne, root->rank, root->layout, split);
    cl_split s = {.bytes = root->bytes, .rows = 1, .piece_rows = 1, .n = 1, .group = 1};
    s.row_bytes = s.piece_bytes = s.bytes;
    uint64_t block = cl_type_block(root->type);
    if (block && root->rank) {
        s.row_bytes = ((uint64_t)root->ne[0] + block - 1) / block * cl_type_bytes(root->type);
        s.rows = s.piece_rows = cl_rows(root);
    }
    *split = s;
    return ENG_OK;
}
