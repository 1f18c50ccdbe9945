/*
 * kernels/get_rows.cl - o[:,i,p,q] = a[:,ids[i,p,q],p,q] as f32 (i32 stays).
 *
 * This launch holds rows first .. first + count - 1 of the rows_total that
 * indices may name.  Others leave the result alone, save that first = 0 writes
 * the zeros of skipped indices.  -DAT= type of a, -DWIDE: ids are i64; a may be packed.
 */
#define DECODED AT
#define SMALL
#include "blocks.clh"
#include "indexed.clh"
#include "packed.clh"

#define GET_ROWS_NUMBERS(N) N(ulong, a_at) N(ulong, ids_at) N(ulong, o_at) INDEXED_NUMBERS(N, o) N(long, rows_total)
#define GET_ROWS_BUFFERS(B) B(cbytes, a) B(cbytes, ids) B(gbytes, o)
NUMBERS(get_rows, GET_ROWS_NUMBERS);

KERNEL(GROUP_OF(LOCAL), get_rows, GET_ROWS_BUFFERS, get_rows)
{
    UNPACK(GET_ROWS_NUMBERS)
    INDEXED_ROW;
    const bool skip = id < 0 || id >= rows_total;
    if (skip ? first != 0 : id < first || id >= first + count)
        return;
    __global float *y = (__global float *)(o + o_at + along(i, o_nb));
    a = ROW_A(a + a_at + along(i, a_nb), skip ? 0 : id - first, a_row);
#if PACK == 8 || WHOLE_BLOCKS(AT)
    for (ulong g = unit; skip && g < unit + per && 16 * g < n; g++)
        st16_f32(y, g, n, (float16)0.0f);
#if PACK == 8
    const ulong past = min((unit + per) * 16, (ulong)n) / ELEMENTS;
    for (ulong j = unit * 16 / ELEMENTS; !skip && j < past; j++)
        lane_block(a, j, y + j * ELEMENTS);
#else
    for (ulong j = unit / 16; !skip && j < (unit + per) / 16 && 256 * j < n; j++)
        decode_256(BLOCK_A(a, j), y + 256 * j);
#endif
#else
    for (ulong g = unit; g < unit + per && 16 * g < n; g++)
        st16_f32(y, g, n, skip ? (float16)0.0f : LD_A(a, g, n));
#endif
}
