/*
 * kernels/get_rows.cl - o[:,i,p,q] = a[:,ids[i,p,q],p,q] as f32 (i32 stays).
 *
 * This launch holds rows first .. first + count - 1 of the rows_total that
 * indices may name.  Others leave the result alone, save that first = 0 writes
 * the zeros of skipped indices.  -DAT= type of a, -DWIDE: ids are i64.
 */
#include "types.clh"

#ifdef WIDE
typedef long index_t;
#else
typedef int index_t;
#endif

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void
get_rows(cbytes a, ulong a_at, cbytes ids, ulong ids_at, gbytes o, ulong o_at, long n, long first, long count,
         long rows_total, long4 ne, long4 a_nb, long4 ids_nb, long4 o_nb, long per)
{
    const ulong g0 = (ulong)get_global_id(0) * per;
    long z = get_global_id(1);
    const long i = z % ne.x;
    z /= ne.x;
    const long p = z % ne.y, q = z / ne.y;
    if (q >= ne.z)
        return;
    const long id = *(__global const index_t *)(ids + ids_at + i * ids_nb.x + p * ids_nb.y + q * ids_nb.z);
    const bool skip = id < 0 || id >= rows_total;
    if (skip ? first != 0 : id < first || id >= first + count)
        return;
    __global float *y = (__global float *)(o + o_at + i * o_nb.x + p * o_nb.y + q * o_nb.z);
    a += a_at + (skip ? 0 : id - first) * a_nb.x + p * a_nb.y + q * a_nb.z;
    for (ulong g = g0; g < g0 + per && 16 * g < n; g++)
        st16_f32(y, g, n, skip ? (float16)0.0f : LD16(AT)(a, g, n));
}
