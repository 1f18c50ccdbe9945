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
NUMBERS(hadamard, HADAMARD_NUMBERS);

#define BEGIN                                                                                                          \
    ROW_INDEX(get_global_id(1), ne);                                                                                   \
    x += x_at + along(i, x_nb);                                                                                        \
    y += y_at + along(i, y_nb)

#if VEC

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void hadamard(cbytes x, gbytes y,
                                                                      const hadamard_numbers numbers)
{
    UNPACK(HADAMARD_NUMBERS)
    BEGIN;
    const ulong step = max(CHUNK, 16 * LANES) / 16, first = get_global_id(0) * step;
    float16 v[LANES];
    for (ulong g = first; g < first + step && 16 * g < n; g += LANES) {
        for (uint j = 0; j < LANES; j++)
            v[j] = within(LD16(XT)(x, g + j, n) * scale);
        across(v);
        for (uint j = 0; j < LANES; j++)
            st16_f32((__global float *)y, g + j, n, v[j]);
    }
}

#else

#define SIZE (G > CHUNK ? G : CHUNK)

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void hadamard(cbytes x, gbytes y,
                                                                          const hadamard_numbers numbers)
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
