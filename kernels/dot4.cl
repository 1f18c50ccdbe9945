/*
 * kernels/dot4.cl - dot products of bytes in each of 16 lanes, for plugins/opencl/device/dot4.c: sums, then what is
 * multiplied, then (of processors) a table, places in it, places of words, and bytes; then by what is multiplied.
 *
 * On processors both forms of the instruction are added; in place of the table comes what was looked up there, in place of
 * the places 255 for each byte of the first operand that has a certain bit, in place of the others words that are gathered,
 * and in place of the bytes 200 less them where that bit is set (registers.clh).
 */
#include "launch.clh"

#if VEC
#include "registers.clh"

static __constant uint squares[] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

__kernel GROUP_OF(1) void dot4(__global int *data)
{
    sums s = vload16(0, data);
    const sums a = vload16(1, data);
    const words table = AS_WORDS(vload16(2, data)), at = AS_WORDS(vload16(3, data));
    const words bits = (words)0x80402010u;
    ADD_DOT4(s, a, data + 96);
    ADD_PRODUCTS(s, a, (words)(uint)data[96]);
    vstore16(s, 0, data);
    vstore16(AS_INTS(lookup(table, at)), 2, data);
    vstore16(AS_INTS(where(AS_WORDS(a), bits, 255)), 3, data);
    vstore16(AS_INTS(gather(squares, AS_WORDS(vload16(4, data)))), 4, data);
    vstore16(AS_INTS(less_where(AS_WORDS(a), bits, AS_WORDS(vload16(5, data)), 200)), 5, data);
}
#else
#include "dot4.clh"

__kernel GROUP_OF(16) void dot4(__global int *words)
{
    const uint i = get_local_id(0);
    words[i] = add_dot4(words[i], words[16 + i], words[32]);
}
#endif
