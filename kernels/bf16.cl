/*
 * kernels/bf16.cl - the instruction of bf16.clh, for plugins/opencl/device/bf16.c.  words: sums of 16 lanes, 16 words that are
 * multiplied, by what, how many rounds, and whether these are of floats.  A round: as many products as SUMS instructions have.
 */
#include "launch.clh"
#include "types.clh"
#include "bf16.clh"

#define SUMS 12
#define EACH(i) UNROLL for (uint i = 0; i < SUMS; i++)

__kernel GROUP_OF(1) void bf16(__global uint *words)
{
    const float16 first = as_float16(vload16(0, words)), a = as_float16(vload16(1, words));
    const __global uint *by = words + 32;
    const uint rounds = words[33], floats = words[34];
    const float16 b = as_float(*by);
    float16 s[SUMS];
    EACH(i) s[i] = first + (float)i; /* or a compiler might have one chain for all */
    if (floats)
        for (uint r = 0; r < rounds; r++)
            EACH(i) s[i] = fma(a, b, fma(a, b, s[i]));
    else
        for (uint r = 0; r < rounds; r++)
            EACH(i) ADD_BFLOATS(s[i], a, by);
    float16 same = s[0];
    EACH(i) same = s[i] - (float)i == s[0] ? same : NAN;
    vstore16(as_uint16(same), 0, words);
}
