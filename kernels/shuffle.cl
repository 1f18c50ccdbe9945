/* kernels/shuffle.cl - do 32 neighbours exchange what they hold (plugins/opencl/device/shuffle.c)?  Each adds what another has,
 * for five others; where a compiler has no such instruction, all stays as it is. */
#include "launch.clh"

#if defined(__NV_CL_C_VERSION) || defined(__NVPTX__) || defined(__AMDGCN__)
#include "across.clh"
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void shuffle(__global float *o)
{
    const uint id = get_local_id(0);
    const float x = o[id];
    float s = 0.0f;
    for (uint mask = 1; mask < 32; mask <<= 1)
        s += across_xor(x, mask, 0) * mask;
    o[id] = s;
}
#else
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void shuffle(__global float *o)
{
}
#endif
