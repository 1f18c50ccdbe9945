/* The op table of a variant: every row of the engine's that is computed has an entry. */
#include "op.h"

#define ENG_OP(id, number, name, ...) extern const cpu_op CPU_V(cpu_op_##name);
#define ENG_OP_STRUCTURE(...)
#include <engine/ops.def>

const cpu_op *const CPU_V(cpu_ops)[ENG_OP_LIMIT] = {
#define ENG_OP(id, number, name, ...) [number] = &CPU_V(cpu_op_##name),
#define ENG_OP_STRUCTURE(...)
#include <engine/ops.def>
};

#ifndef CPU_VARIANT_ABOVE /* else a higher folder has it, with more than ops */
#define STRING2(x) #x
#define STRING(x) STRING2(x)

#if CPU_HALVES
extern const cpu_interleaved CPU_V(cpu_strips);
#endif

const cpu_variant CPU_PASTE(cpu_variant, CPU_SUFFIX) = {
    .name = STRING(CPU_SUFFIX),
    CPU_VARIANT_OPS,
#if CPU_HALVES
    .strips = &CPU_V(cpu_strips),
#endif
};
#endif
