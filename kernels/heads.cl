/*
 * kernels/heads.cl - what is done to rows of heads between products and attention, in one launch: several lines of steps
 * (queries, keys, values), each row of which goes through all steps of its line in registers (vec) or local memory (simt).
 *
 * The steps, in this order, each there or not (plugins/opencl/lower/heads.c); i is the line's number:
 *   -DNORM<i>=1  x / sqrt(mean(x^2) + eps) times a number; 2: times a weight, too
 *   -DROPE<i>=1  rotary embedding, the same for all lines (-DANGLES: there is any; rope.clh, -DNORMAL, -DPAIRS=)
 *   -DTURN<i>=1  Hadamard transform of groups of -DG= elements
 *   -DINTO<i>=1  stored in the row of a cache that ids name, as type -DTO<i>=; else as f32 where the line ends
 * -DLINES= lines, -DD<i>= elements of a row, -DMOST= the most of them.
 */
#if !VEC
#define GROUP LOCAL
#endif
#include "encode.clh"
#include "hadamard.clh"
#include "indexed.clh"
#include "rope.clh"

/* nb: along head and token of x; along head and token (of a cache: cell) of y. */
#define LINE_BUFFERS(B, i) B(cbytes, x##i) B(cbytes, w##i) B(gbytes, y##i)
#define LINE_NUMBERS(N, i)                                                                                             \
    N(ulong, x##i##_at) N(ulong, w##i##_at) N(ulong, y##i##_at) N(long4, nb##i) N(long, cells##i) N(int, heads##i)     \
    N(float, eps##i) N(float, factor##i)

#if LINES == 1
#define BUFFERS(B) LINE_BUFFERS(B, 0)
#define ALL_LINES(N) LINE_NUMBERS(N, 0)
#define EACH_LINE(X) X(0)
#elif LINES == 2
#define BUFFERS(B) LINE_BUFFERS(B, 0) LINE_BUFFERS(B, 1)
#define ALL_LINES(N) LINE_NUMBERS(N, 0) LINE_NUMBERS(N, 1)
#define EACH_LINE(X) X(0) X(1)
#else
#define BUFFERS(B) LINE_BUFFERS(B, 0) LINE_BUFFERS(B, 1) LINE_BUFFERS(B, 2)
#define ALL_LINES(N) LINE_NUMBERS(N, 0) LINE_NUMBERS(N, 1) LINE_NUMBERS(N, 2)
#define EACH_LINE(X) X(0) X(1) X(2)
#endif

#define HEADS_NUMBERS(N)                                                                                               \
    N(ulong, pos_at) N(ulong, ff_at) N(ulong, table_at) N(ulong, ids_at) N(long, pos_step) N(long, pos_stream)         \
    N(long, ids_step) N(long, rows) N(long, parts) N(long, each) N(int, offset) N(int, pairs) N(int, distance)         \
    N(float, scale) N(float, sign) N(float, turn) ALL_LINES(N)
#define HEADS_BUFFERS(B) B(cbytes, pos) B(cbytes, ff) B(cbytes, table) B(cbytes, ids) BUFFERS(B)
NUMBERS(heads, HEADS_NUMBERS);

/* Where line i's row of head h goes: to the token's row, or the cell's, of which there are cells. */
#define TO_1(id, t) (long)(id)
#define TO_0(id, t) (t)
#define TO_ROW(i) PASTE(TO_, PASTE(INTO, i))(id, t)
#define ROW_X(i) (x##i + x##i##_at + h * nb##i.x + t * nb##i.y)
#define ROW_Y(i) (y##i + y##i##_at + h * nb##i.z + to * nb##i.w)

#define TOKEN(unit, parts)                                                                                             \
    const long t = (unit) / (parts);                                                                                   \
    __global const int *position = (__global const int *)(pos + pos_at + t * pos_step);                                \
    const index_t id = ids ? *(__global const index_t *)(ids + ids_at + t * ids_step) : 0

#if VEC

/* Cosines and sines of a token, 16 at a time. */
static inline void angles(__global const rope_pair *table, fin ff, __global const int *pos, long stride, int pairs,
                          float scale, float sign, float *co, float *si)
{
    for (int i = 0; i < pairs; i += 16) {
        float turns[16];
        for (int j = 0; j < 16; j++)
            turns[j] = i + j < pairs ? turn_of(table, ff, pos, stride, i + j) : 0.0f;
        float16 c, s;
        cosines(vload16(0, turns), &c, &s);
        vstore16(scale * c, 0, co + i);
        vstore16(sign * scale * s, 0, si + i);
    }
}

/* Pairs i .. i + 15 of a row, or those left. */
static inline void rotate(float *row, const float *co, const float *si, int offset, int pairs, int distance)
{
    int i = 0;
    for (; i + 16 <= pairs; i += 16) {
        const float16 c = vload16(0, co + i), s = vload16(0, si + i);
        float16 u = vload16(0, row + FIRST(i)), v = vload16(0, row + SECOND16(i));
        rotate16(&u, &v, c, s);
        vstore16(u, 0, row + FIRST(i));
        vstore16(v, 0, row + SECOND16(i));
    }
    for (; i < pairs; i++) {
        const float u = row[FIRST(i)], v = row[SECOND(i)];
        row[FIRST(i)] = u * co[i] - v * si[i];
        row[SECOND(i)] = u * si[i] + v * co[i];
    }
}

#define LINE 0
#include "heads_line.clh"
#undef LINE
#if LINES > 1
#define LINE 1
#include "heads_line.clh"
#undef LINE
#endif
#if LINES > 2
#define LINE 2
#include "heads_line.clh"
#undef LINE
#endif

/* Row h of those that are left of the token's, if it is of line i. */
#define RUN(i)                                                                                                         \
    if (h < heads##i) {                                                                                                \
        const long to = TO_ROW(i);                                                                                     \
        if (to >= 0 && to < cells##i)                                                                                  \
            line##i(ROW_X(i), w##i + w##i##_at, ROW_Y(i), eps##i, factor##i, turn, offset, pairs, distance, co, si);   \
        continue;                                                                                                      \
    }                                                                                                                  \
    h -= heads##i;

/* A work-item: rows each * (g mod parts) ... of token g / parts. */
KERNEL(GROUP_OF(1), heads, HEADS_BUFFERS, heads)
{
    UNPACK(HEADS_NUMBERS)
    const long unit = ITEM(0), first = unit % parts * each, last = min(first + each, rows);
    TOKEN(unit, parts);
#if ANGLES
    float co[(PAIRS + 15) / 16 * 16], si[(PAIRS + 15) / 16 * 16];
    angles((__global const rope_pair *)(table + table_at), (fin)(ff + ff_at), position, pos_stream, pairs, scale, sign,
           co, si);
#else
    const float *co = 0, *si = 0;
#endif
    for (long row = first; row < last; row++) {
        long h = row;
        EACH_LINE(RUN)
    }
}

#else

/* What the group's row is: of line i if none before it had it. */
#define FIND(i)                                                                                                        \
    if (line < 0 && h < heads##i) {                                                                                    \
        const long to = TO_ROW(i);                                                                                     \
        line = i;                                                                                                      \
        stored = to >= 0 && to < cells##i;                                                                             \
        x = (fin)ROW_X(i);                                                                                             \
        w = (fin)(w##i + w##i##_at);                                                                                   \
        y = stored ? ROW_Y(i) : y##i;                                                                                  \
        elements = D##i;                                                                                               \
        halves = INTO_HALF##i;                                                                                         \
        norm = NORM##i;                                                                                                \
        rotated = ROPE##i;                                                                                             \
        turned = TURN##i;                                                                                              \
        into = INTO##i;                                                                                                \
        eps = eps##i;                                                                                                  \
        factor = factor##i;                                                                                            \
    } else if (line < 0) {                                                                                             \
        h -= heads##i;                                                                                                 \
    }
/* Halves are stored by all work-items, one element each; blocks, by one of 32. */
#define HALF_f16 1
#if PASTE(HALF_, TO0)
#define INTO_HALF0 1
#else
#define INTO_HALF0 0
#endif
#if PASTE(HALF_, TO1)
#define INTO_HALF1 1
#else
#define INTO_HALF1 0
#endif
#if PASTE(HALF_, TO2)
#define INTO_HALF2 1
#else
#define INTO_HALF2 0
#endif
#define ENCODE(i)                                                                                                      \
    if (line == i && !INTO_HALF##i)                                                                                    \
        ENC32(TO##i)(y, b, elements, vload16(0, part), vload16(1, part));

/* Elements, and pairs, of a work-item. */
#define OWN ((MOST + LOCAL - 1) / LOCAL)
#define PAIRS_OWN ((PAIRS + LOCAL - 1) / LOCAL)
#define EACH_OWN _Pragma("unroll") for (uint i = 0; i < OWN; i++)

/* A group: one row of a token, a work-item some columns.  All groups meet all barriers, whatever their line. */
KERNEL(GROUP_OF(LOCAL), heads, HEADS_BUFFERS, heads)
{
    UNPACK(HEADS_NUMBERS)
    __local float v[MOST], red[LOCAL];
    const uint item = get_local_id(0);
    long h = (long)get_group_id(0) % parts;
    int line = -1, halves = 0, norm = 0, rotated = 0, turned = 0, into = 0;
    uint elements = 0;
    bool stored = false;
    fin x = 0, w = 0;
    gbytes y = 0;
    float eps = 0.0f, factor = 1.0f, q = 0.0f;
    TOKEN((long)get_group_id(0), parts);
    EACH_LINE(FIND)
    /* All of a row, and of its weight, is on its way before anything is stored. */
    float own[OWN], weight[OWN];
    EACH_OWN
    {
        const uint c = min(item + i * LOCAL, elements - 1);
        own[i] = x[c];
        weight[i] = norm == 2 ? w[c] : 1.0f;
    }
#if ANGLES
    float co[PAIRS_OWN], si[PAIRS_OWN];
    _Pragma("unroll") for (uint i = 0; i < PAIRS_OWN; i++)
    {
        const int pair = min((int)(item + i * LOCAL), pairs - 1);
        float cosine, sine;
        turned_by(turn_of((__global const rope_pair *)(table + table_at), (fin)(ff + ff_at), position, pos_stream, pair), &cosine,
                  &sine);
        co[i] = scale * cosine;
        si[i] = sign * scale * sine;
    }
#endif
    EACH_OWN q += item + i * LOCAL < elements ? own[i] * own[i] : 0.0f;
    q = group_sum(q, red);
    const float f = norm ? 1.0f / sqrt(q / (float)elements + eps) : 1.0f;
    EACH_OWN
    {
        const uint c = item + i * LOCAL;
        if (c < elements)
            v[c] = norm ? own[i] * f * weight[i] * factor : own[i];
    }
#if ANGLES
    barrier(CLK_LOCAL_MEM_FENCE);
    _Pragma("unroll") for (uint j = 0; j < PAIRS_OWN; j++)
    {
        const int i = item + j * LOCAL;
        if (i < pairs && rotated) {
            const float u1 = v[FIRST(i)], u2 = v[SECOND(i)];
            v[FIRST(i)] = u1 * co[j] - u2 * si[j];
            v[SECOND(i)] = u1 * si[j] + u2 * co[j];
        }
    }
#endif
    for (uint n = 1; n < G; n *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = item; j < elements / 2 && turned; j += LOCAL) {
            const uint at = (j & ~(n - 1)) * 2 + (j & (n - 1));
            const float a = v[at], b = v[at + n], s = n == 1 ? turn : 1.0f;
            v[at] = (a + b) * s;
            v[at + n] = (a - b) * s;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = item; c < elements && stored && !into; c += LOCAL)
        ((fout)y)[c] = v[c];
    for (uint c = item; c < elements && stored && into && halves; c += LOCAL)
        ((__global ushort *)y)[c] = half_bits(v[c]);
    for (uint b = item; 32 * b < elements && stored && into && !halves; b += LOCAL) {
        float part[32];
        UNROLL for (uint j = 0; j < 32; j++)
            part[j] = 32 * b + j < elements ? v[32 * b + j] : 0.0f;
        EACH_LINE(ENCODE)
    }
}

#endif
