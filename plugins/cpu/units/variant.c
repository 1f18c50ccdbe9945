/* The variant avx512vnni: the ops of avx512, with units, by which weights in lanes are multiplied, too. */
#include "config.h"

#include "../cpu.h"
#include "units.h"

extern const cpu_op *const cpu_ops_avx512[ENG_OP_LIMIT];
extern const cpu_interleaved cpu_planes_avx512vnni, cpu_strips_avx512;
extern const cpu_units cpu_units_avx512vnni;

const cpu_variant cpu_variant_avx512vnni = {
    .name = "avx512vnni",
    CPU_VARIANT_OPS,
    .planes = &cpu_planes_avx512vnni,
    .strips = &cpu_strips_avx512,
    .units = &cpu_units_avx512vnni,
};
