/*
 * kernels/hadamard.cl - fast Walsh-Hadamard transform of groups of a row.
 *
 * -DXT= type of x, -DG= elements of a group, a power of two.  A chunk is the
 * larger of a group and CHUNK elements; chunks of a row are along dimension 0
 * of the launch, rows along dimension 1.
 */
#include "hadamard.clh"
#include "index.clh"
#include "types.clh"

#define HADAMARD_NUMBERS(N)                                                                                            \
    N(ulong, x_at) N(ulong, y_at) N(long, n) N(float, scale) N(long4, ne) N(long4, x_nb) N(long4, y_nb)
#define HADAMARD_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(hadamard, HADAMARD_NUMBERS);

#define F32_f32 1
#if PASTE(F32_, XT)
#define IS_F32 1
#else
#define IS_F32 0
#endif

#define BEGIN                                                                                                          \
    ROW_INDEX(ITEM(1), ne);                                                                                            \
    x += x_at + along(i, x_nb);                                                                                        \
    y += y_at + along(i, y_nb)

/* Of LANES work-items that share a group: its row, its first element, and whether there is one. */
#define BEGIN_GROUP                                                                                                    \
    const ulong per_row = n / G, group = ITEM(0) / LANES;                                                              \
    const long4 of_row = row_index(group / per_row, ne);                                                               \
    const bool mine = of_row.w < ne.w;                                                                                 \
    const ulong at = group % per_row * G;                                                                              \
    x += x_at + (mine ? along(of_row, x_nb) : 0);                                                                      \
    y += y_at + (mine ? along(of_row, y_nb) : 0)

#if VEC

#if G < 16 /* a register may be more than there is */
#define LOAD(g) LD16(XT)(x, g, n)
#define STORE(g, v) st16_f32((__global float *)y, g, n, v)
#else
#define LOAD(g) DEC16(XT)(x, g)
#define STORE(g, v) STORE16(v, (__global float *)y + 16 * (g))
#endif

KERNEL(GROUP_OF(1), hadamard, HADAMARD_BUFFERS, hadamard)
{
    UNPACK(HADAMARD_NUMBERS)
    BEGIN;
    const ulong step = max(CHUNK, 16 * LANES) / 16, first = ITEM(0) * step;
    float16 v[LANES];
    for (ulong g = first; g < first + step && 16 * g < n; g += LANES) {
        for (uint j = 0; j < LANES; j++) {
            AHEAD(x + (g + j) * (BLOCK_BYTES(XT) / 2) + 2048); /* where it was best */
            v[j] = within(LOAD(g + j) * scale);
        }
        across(v);
        for (uint j = 0; j < LANES; j++)
            STORE(g + j, v[j]);
    }
}

#elif G >= 16 && G <= 512 && HAVE_SHUFFLE

/*
 * A lane has four times 4 elements side by side in registers, so that lanes load and store 16 bytes beside one another;
 * LANES of them are a group, and change places from register to register.  The launch's first dimension runs over the
 * groups of all rows.
 */
#include "across.clh"

#define LANES (G / 16)
#define FOUR_AT(i) (at + 4 * (lane + LANES * (i)))

WAITING float4 across_xor4(float4 v, uint mask, __local float *t)
{
    return (float4)(across_xor(v.x, mask, t), across_xor(v.y, mask, t), across_xor(v.z, mask, t),
                    across_xor(v.w, mask, t));
}

KERNEL(GROUP_OF(LOCAL), hadamard, HADAMARD_BUFFERS, hadamard)
{
    UNPACK(HADAMARD_NUMBERS)
    __local float t[ACROSS_LOCAL(LOCAL)];
    const uint lane = get_local_id(0) % LANES;
    float4 v[4];

    BEGIN_GROUP;
    if (IS_F32 && ((ulong)x & 15) == 0)
        UNROLL for (uint i = 0; i < 4; i++) v[i] =
            mine ? *(__global const float4 *)(x + 4 * FOUR_AT(i)) : (float4)0.0f;
    else
        UNROLL for (uint i = 0; i < 4; i++) v[i] =
            mine ? (float4)(PASTE(dec1_, XT)(x, FOUR_AT(i)), PASTE(dec1_, XT)(x, FOUR_AT(i) + 1),
                            PASTE(dec1_, XT)(x, FOUR_AT(i) + 2), PASTE(dec1_, XT)(x, FOUR_AT(i) + 3))
                 : (float4)0.0f;
    UNROLL for (uint i = 0; i < 4; i++)
    {
        const float4 a = v[i] * scale, b = (float4)(a.x + a.y, a.x - a.y, a.z + a.w, a.z - a.w);
        v[i] = (float4)(b.xy + b.zw, b.xy - b.zw);
    }
    UNROLL for (uint mask = 1; mask < LANES; mask <<= 1)
    {
        const float sign = lane & mask ? -1.0f : 1.0f;
        UNROLL for (uint i = 0; i < 4; i++) v[i] = fma((float4)sign, v[i], across_xor4(v[i], mask, t));
    }
    const float4 a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
    if (mine && ((ulong)y & 15) == 0)
        UNROLL for (uint i = 0; i < 4; i++) *(__global float4 *)(y + 4 * FOUR_AT(i)) = v[i];
    else if (mine)
        UNROLL for (uint i = 0; i < 4; i++) vstore4(v[i], 0, (__global float *)y + FOUR_AT(i));
}

#elif G >= 16 && G <= 1024

/*
 * A lane has 16 elements in registers, LANES of them are a group: first those LANES apart, then neighbours, then (for
 * more than 256) those 16 apart; in between they change places in local memory.  A work-group does 1024 elements, of one
 * row or of several: the launch's first dimension runs over the groups of all rows.
 */
#define LANES (G / 16)
#define SIZE 1024
#define PLACE(i) ((i) + (i) / 16) /* so that lanes side by side use different banks */

/* Sums and differences of elements `from`, 2 from, .. below `to` apart. */
static inline void stages(float *v, uint from, uint to)
{
    UNROLL for (uint h = 1; h < 16; h *= 2) {
        if (h < from || h >= to)
            continue;
        UNROLL for (uint j = 0; j < 16; j++) {
            if (j & h)
                continue;
            const float a = v[j], b = v[j + h];
            v[j] = a + b;
            v[j + h] = a - b;
        }
    }
}

KERNEL(GROUP_OF(LOCAL), hadamard, HADAMARD_BUFFERS, hadamard)
{
    UNPACK(HADAMARD_NUMBERS)
    __local float t[PLACE(SIZE)];
    const uint id = get_local_id(0), lane = id % LANES, first = id / LANES * G; /* of the group's elements in t */
    float v[16];

    BEGIN_GROUP;
    UNROLL for (uint j = 0; j < 16; j++)
        v[j] = mine ? PASTE(dec1_, XT)(x, at + lane + LANES * j) * scale : 0.0f;
    stages(v, 1, 16);
#if LANES > 1
    UNROLL for (uint j = 0; j < 16; j++) t[PLACE(first + lane + LANES * j)] = v[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (uint j = 0; j < 16; j++) v[j] = t[PLACE(first + 16 * lane + j)];
    stages(v, 1, LANES);
#endif
#if LANES > 16
#define APART(j) (first + lane % 16 + (lane / 16 * 4 + (j) / 4) * 64 + (j) % 4 * 16)
    UNROLL for (uint j = 0; j < 16; j++) t[PLACE(first + 16 * lane + j)] = v[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (uint j = 0; j < 16; j++) v[j] = t[PLACE(APART(j))];
    stages(v, 1, LANES / 16);
    if (mine)
        UNROLL for (uint j = 0; j < 16; j++)
            ((__global float *)y)[at + APART(j) - first] = v[j];
#else
    if (mine) {
        __global float *to = (__global float *)y + at + 16 * lane;
        if (((ulong)to & 15) == 0)
            UNROLL for (uint j = 0; j < 4; j++)
                ((__global float4 *)to)[j] = (float4)(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
        else
            UNROLL for (uint j = 0; j < 16; j++) to[j] = v[j];
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}

#else

#define SIZE (G > CHUNK ? G : CHUNK)

KERNEL(GROUP_OF(LOCAL), hadamard, HADAMARD_BUFFERS, hadamard)
{
    UNPACK(HADAMARD_NUMBERS)
    __local float v[SIZE];
    BEGIN;
    const ulong first = get_group_id(0) * SIZE;
    const uint id = get_local_id(0), count = first < n ? min((ulong)SIZE, n - first) : 0;
    for (uint j = id; j < SIZE; j += LOCAL)
        v[j] = j < count ? PASTE(dec1_, XT)(x, first + j) * scale : 0.0f;
    for (uint h = 1; h < G; h *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = id; j < SIZE / 2; j += LOCAL) {
            const uint at = (j & ~(h - 1)) * 2 + (j & (h - 1));
            const float a = v[at], b = v[at + h];
            v[at] = a + b;
            v[at + h] = a - b;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = id; j < count; j += LOCAL)
        ((__global float *)y)[first + j] = v[j];
}

#endif
