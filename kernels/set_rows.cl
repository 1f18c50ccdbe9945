/*
 * kernels/set_rows.cl - a[:,ids[i,..],p,q] = b[:,i,p,q], encoded.
 *
 * This launch holds rows first .. first + count - 1 of a; other indices are
 * skipped.  -DAT= type of a, -DBT= type of b, -DWIDE: ids are i64.
 */
#include "encode.clh"

#ifdef WIDE
typedef long index_t;
#else
typedef int index_t;
#endif

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void
set_rows(gbytes a, ulong a_at, cbytes b, ulong b_at, cbytes ids, ulong ids_at, long n, long first, long count,
         long4 ne, long4 a_nb, long4 b_nb, long4 ids_nb, long per)
{
    const ulong block = (ulong)get_global_id(0) * per;
    long z = get_global_id(1);
    const long i = z % ne.x;
    z /= ne.x;
    const long p = z % ne.y, q = z / ne.y;
    if (q >= ne.z)
        return;
    const long id = *(__global const index_t *)(ids + ids_at + i * ids_nb.x + p * ids_nb.y + q * ids_nb.z);
    if (id < first || id >= first + count)
        return;
    a += a_at + (id - first) * a_nb.x + p * a_nb.y + q * a_nb.z;
    b += b_at + i * b_nb.x + p * b_nb.y + q * b_nb.z;
    for (ulong k = block; k < block + per && 32 * k < n; k++)
        ENC32(AT)(a, k, n, LD16(BT)(b, 2 * k, n), LD16(BT)(b, 2 * k + 1, n));
}
