/*
 * kernels/set_rows.cl - a[:,ids[i,..],p,q] = b[:,i,p,q], encoded.
 *
 * This launch holds rows first .. first + count - 1 of a; other indices are
 * skipped.  -DAT= type of a, -DBT= type of b, -DWIDE: ids are i64.
 * -DGROUPED: AT has blocks of 256.
 */
#ifdef GROUPED
#define YT AT
#include "encode_256.clh"
#else
#include "encode.clh"
#endif
#include "indexed.clh"

#define SET_ROWS_NUMBERS(N) N(ulong, a_at) N(ulong, ids_at) N(ulong, b_at) INDEXED_NUMBERS(N, b)
#define SET_ROWS_BUFFERS(B) B(gbytes, a) B(cbytes, ids) B(cbytes, b)
NUMBERS(set_rows, SET_ROWS_NUMBERS);

#define SIXTEEN(g) LD16(BT)(b, g, n)

#ifdef GROUPED
KERNEL(GROUP_OF(LOCAL), set_rows_grouped, SET_ROWS_BUFFERS, set_rows)
#else
KERNEL(GROUP_OF(LOCAL), set_rows, SET_ROWS_BUFFERS, set_rows)
#endif
{
    UNPACK(SET_ROWS_NUMBERS)
    INDEXED_ROW;
    if (id < first || id >= first + count)
        return;
    a += a_at + (id - first) * a_row + along(i, a_nb);
    b += b_at + along(i, b_nb);
#ifdef GROUPED
    K_BLOCKS(a, unit, per, n, SIXTEEN);
#else
    for (ulong k = unit; k < unit + per && 32 * k < n; k++)
        ENC32(AT)(a, k, n, LD16(BT)(b, 2 * k, n), LD16(BT)(b, 2 * k + 1, n));
#endif
}
