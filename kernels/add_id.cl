/*
 * kernels/add_id.cl - o[:,u,t] = a[:,u,t] + b[:,ids[u,t]]; an index outside b's rows adds nothing.
 * ids_b: strides of ids along u and t, of b's rows, and their number.
 */
#include "row.clh"

#define ADD_ID_NUMBERS(N)                                                                                              \
    N(ulong, a_at) N(ulong, b_at) N(ulong, ids_at) N(ulong, o_at) N(long4, ne) N(long4, as) N(long4, os)               \
    N(long4, ids_b) N(int, chunk) N(int, rows_per)
#define ADD_ID_BUFFERS(B) B(cbytes, a) B(cbytes, b) B(cbytes, ids) B(gbytes, o)
NUMBERS(add_id, ADD_ID_NUMBERS);

KERNEL(EACH_ATTRIBUTES, add_id, ADD_ID_BUFFERS, add_id)
{
    UNPACK(ADD_ID_NUMBERS)
    EACH(const int id = *(__global const int *)(ids + ids_at + r % ne.s1 * ids_b.s0 + r / ne.s1 * ids_b.s1);
         const bool skip = id < 0 || id >= ids_b.s3; fin x = (fin)(a + a_at + row_at(r, ne, as));
         fin y = (fin)(b + b_at + (skip ? 0 : id * ids_b.s2)); fout out = (fout)(o + o_at + row_at(r, ne, os)),
         vstore16(skip ? vload16(0, x + c) : vload16(0, x + c) + vload16(0, y + c), 0, out + c),
         out[c] = skip ? x[c] : x[c] + y[c])
}
