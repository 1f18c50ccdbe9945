/* The variants neondot and neonmm: the ops of neon, with dot products of bytes for weights in lanes, and for many columns
 * products of small matrices, in precision fast of bf16, too. */
#include "config.h"

#include "../cpu.h"
#include "../ops/gemm.h"

extern const cpu_op *const cpu_ops_neon[ENG_OP_LIMIT];
extern const cpu_interleaved cpu_planes_neondot, cpu_planes_pairs, cpu_strips_neon;
extern const cpu_units cpu_units_pairs;

#define VARIANT(called, by, ...)                                                                                            \
    const cpu_variant cpu_variant_##called = {                                                                         \
        .name = #called,                                                                                               \
        CPU_VARIANT_OPS,                                                                                               \
        .planes = &cpu_planes_##by,                                                                                    \
        .strips = &cpu_strips_neon,                                                                                    \
        __VA_ARGS__                                                                                                    \
    }
VARIANT(neondot, neondot);
VARIANT(neonmm, pairs, .units = &cpu_units_pairs);
