/*
 * kernels/add_id.cl - o[:,u,t] = a[:,u,t] + b[:,ids[u,t]]; an index outside b's rows adds nothing.
 * ids_b: strides of ids along u and t, of b's rows, and their number.
 */
#include "row.clh"

__kernel EACH_ATTRIBUTES void add_id(cbytes a, ulong a_at, cbytes b, ulong b_at, cbytes ids, ulong ids_at, gbytes o,
                                     ulong o_at, long4 ne, long4 as, long4 os, long4 ids_b, int chunk, int rows_per)
{
    EACH(const int id = *(__global const int *)(ids + ids_at + r % ne.s1 * ids_b.s0 + r / ne.s1 * ids_b.s1);
         const bool skip = id < 0 || id >= ids_b.s3; fin x = (fin)(a + a_at + row_at(r, ne, as));
         fin y = (fin)(b + b_at + (skip ? 0 : id * ids_b.s2)); fout out = (fout)(o + o_at + row_at(r, ne, os)),
         vstore16(skip ? vload16(0, x + c) : vload16(0, x + c) + vload16(0, y + c), 0, out + c),
         out[c] = skip ? x[c] : x[c] + y[c])
}
