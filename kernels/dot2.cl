/* kernels/dot2.cl - the instructions of dot2.clh, for plugins/opencl/device/dot2.c: two registers that are multiplied, a
 * table, places in it; then what became of them. */
#include "launch.clh"
#include "registers.clh"

__kernel GROUP_OF(1) void dot2(__global uint *words)
{
    const uint8 a = vload8(0, words), b = vload8(1, words), v = dot2_of(a, b);
    vstore8(v, 4, words);
    vstore8(as_uint8(sums2(v, 255)), 5, words);
    vstore8(lookup(vload8(2, words), vload8(3, words)), 6, words);
    vstore8(where(a, b, 255), 7, words);
}
