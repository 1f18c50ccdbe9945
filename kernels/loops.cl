/* kernels/loops.cl - does a work-item go round a loop as often as it should (plugins/opencl/device/loops.c)? */
__kernel void loops(__global uint *number, uint rounds)
{
    uint x = number[0];
    for (uint i = 0; i < rounds; i++)
        x = (x ^ i) * 1664525u + 1013904223u;
    number[0] = x;
}
