/* The variants of the ops that were built, and which of them suits the machine. */
#include "config.h"

#include "../cpu.h"

const cpu_variant *cpu_variant_find(const char *name, const char *amx)
{
    static const cpu_variant *const variants[] = { /* best first */
#ifdef CPU_HAVE_X86
        &cpu_variant_amx, &cpu_variant_avx512vnni, &cpu_variant_avx512, &cpu_variant_avx2vnni, &cpu_variant_avx2,
#endif
#ifdef CPU_HAVE_NEON
        &cpu_variant_neonmm, &cpu_variant_neondot, &cpu_variant_neon,
#endif
        &cpu_variant_scalar,
    };
    const bool best = !name[0] || !strcmp(name, "auto");
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const cpu_variant *v = variants[i];
        if ((best || !strcmp(name, v->name)) && cpu_machine_runs(v->name, amx) && (!v->works || v->works()))
            return v;
    }
    return NULL;
}
