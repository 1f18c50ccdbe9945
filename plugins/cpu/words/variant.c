/* The variants avx2 and avx2vnni: their ops, with products of words, and of weights in lanes, which the second has dot
 * products of bytes for. */
#include "config.h"

#include "../cpu.h"
#include "words.h"

extern const cpu_op *const cpu_ops_avx2[ENG_OP_LIMIT];
extern const cpu_interleaved cpu_planes_avx2, cpu_planes_avx2vnni, cpu_strips_avx2;
extern const cpu_units cpu_units_avx2;

#define VARIANT(called)                                                                                                \
    const cpu_variant cpu_variant_##called = {                                                                         \
        .name = #called,                                                                                               \
        CPU_VARIANT_OPS,                                                                                               \
        .planes = &cpu_planes_##called,                                                                                \
        .strips = &cpu_strips_avx2,                                                                                    \
        .units = &cpu_units_avx2,                                                                                      \
    }
VARIANT(avx2);
VARIANT(avx2vnni);
