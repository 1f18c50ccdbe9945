/*
 * Weighted sums of rows of V: a register tile of columns and vectors.  Rows whose decoding is one instruction are taken
 * as they lie if columns are few, those of blocks if these are very few.
 */
#include "values_tile.h"

CPU_INLINE void all_columns(const float *p, const cpu_rows v, float *sum, int64_t columns, const row_kind kind)
{
    later_rows next = later_rows_from(v.next, v.stride, v.e * kind.bytes / BLOCK);
    int64_t c = 0;
    for (; !kind.decode && columns > CPU_ATTN_FEW && c + 3 <= columns; c += 3, next.row = NULL) /* reads less */
        columns_of(p + c * CELLS, v, sum + c * v.e, 3, 4, kind, next, false);
    columns_by_four(p + c * CELLS, v, sum + c * v.e, columns - c, kind, next, false);
}

#define COLUMNS_OF(NAME, name, bytes, decode)                                                                          \
    static void columns_##name(const float *p, const cpu_rows v, float *sum, int64_t columns)                          \
    {                                                                                                                  \
        all_columns(p, v, sum, columns, (row_kind){ENG_TYPE_##NAME, bytes, decode});                                   \
    }
#define BLOCKS_OF(NAME, name, bytes) COLUMNS_OF(NAME, name, bytes, dec_##name)
#define IS_BLOCKS(NAME, name, bytes) || type == ENG_TYPE_##NAME
#define CASE_BLOCKS(NAME, name, bytes) case ENG_TYPE_##NAME: columns_##name(p, *v, sum, columns); break;
COLUMNS_OF(F32, f32, 4 * BLOCK, NULL)
COLUMNS_OF(F16, f16, 2 * BLOCK, NULL)
COLUMNS_OF(BF16, bf16, 2 * BLOCK, NULL)
BLOCK_TYPES(BLOCKS_OF)

bool CPU_V(cpu_attn_takes)(uint32_t type, int64_t columns)
{
    const bool half = type == ENG_TYPE_F16 || type == ENG_TYPE_BF16;
    const bool blocks = false BLOCK_TYPES(IS_BLOCKS);
    return type == ENG_TYPE_F32 || (CPU_HALVES && half && columns <= CPU_ATTN_FEW) || (blocks && columns <= BLOCK_COLUMNS);
}

void CPU_V(cpu_attn_values)(const float *p, const cpu_rows *v, float *sum, int64_t columns)
{
    switch (v->type) {
    case ENG_TYPE_F16: columns_f16(p, *v, sum, columns); break;
    case ENG_TYPE_BF16: columns_bf16(p, *v, sum, columns); break;
    BLOCK_TYPES(CASE_BLOCKS)
    default: columns_f32(p, *v, sum, columns); break;
    }
}
