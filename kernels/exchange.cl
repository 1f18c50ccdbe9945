/* kernels/exchange.cl - do 32 neighbours exchange what they hold (plugins/opencl/device/shuffle.c)?  Each adds what another has,
 * for five others; where a compiler has no such instruction, all stays as it is. */
#include "launch.clh"

#if HAVE_SHUFFLE == 2 || defined(__NV_CL_C_VERSION) || defined(__NVPTX__) || defined(__AMDGCN__)
#include "across.clh"
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void exchange(__global float *o)
{
    __local float t[ACROSS_LOCAL(64)];
    const uint id = get_local_id(0);
    const float x = o[id];
    float s = 0.0f;
    for (uint mask = 1; mask < 32; mask <<= 1)
        s += across_xor(x, mask, t) * mask;
    o[id] = s;
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}
#else
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void exchange(__global float *o)
{
}
#endif
