/* The variant avx2: its ops, with products of weights in lanes and of words. */
#include "config.h"

#include "../cpu.h"
#include "words.h"

extern const cpu_op *const cpu_ops_avx2[ENG_OP_LIMIT];
extern const cpu_planes cpu_planes_avx2;
extern const cpu_units cpu_units_avx2;

const cpu_variant cpu_variant_avx2 = {
    .name = "avx2",
    .ops = cpu_ops_avx2,
    .formats = cpu_formats,
    .to_f16 = CPU_V(cpu_to_f16),
    .read = CPU_V(cpu_read),
    .copy = CPU_V(cpu_copy),
    .fma = CPU_V(cpu_fma),
    .planes = &cpu_planes_avx2,
    .units = &cpu_units_avx2,
};
