/* kernels/dot4.cl - one dot product of bytes in each of 16 lanes, for plugins/opencl/device/dot4.c: sums, then what is
 * multiplied, then by what. */
#include "launch.clh"
#include "dot4.clh"

#if VEC
__kernel GROUP_OF(1) void dot4(__global int *words)
{
    dot4_sums s = vload16(0, words);
    const dot4_sums a = vload16(1, words);
    ADD_DOT4(s, a, words + 32);
    vstore16(s, 0, words);
}
#else
__kernel GROUP_OF(16) void dot4(__global int *words)
{
    const uint i = get_local_id(0);
    words[i] = add_dot4(words[i], words[16 + i], words[32]);
}
#endif
