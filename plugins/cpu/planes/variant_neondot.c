/* The variant neondot: the ops of neon, with dot products of bytes for weights in lanes. */
#include "config.h"

#include "../cpu.h"
#include "../ops/gemm.h"

extern const cpu_op *const cpu_ops_neon[ENG_OP_LIMIT];
extern const cpu_interleaved cpu_planes_neondot, cpu_strips_neon;

const cpu_variant cpu_variant_neondot = {
    .name = "neondot",
    .ops = cpu_ops_neon,
    .formats = cpu_formats,
    .to_f16 = CPU_V(cpu_to_f16),
    .read = CPU_V(cpu_read),
    .copy = CPU_V(cpu_copy),
    .fma = CPU_V(cpu_fma),
    .planes = &cpu_planes_neondot,
    .strips = &cpu_strips_neon,
};
