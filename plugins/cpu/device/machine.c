/* What the machine is: its processor, what that can do, and its memory as hosts are told it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"

#include "../cpu.h"

#if defined(CPU_HAVE_X86) && defined(__GNUC__)
#include <cpuid.h>

/* Some compilers' __builtin_cpu_supports does not know it. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool runs_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

/* Nor all of them this one: bit 4 of EAX of the second leaf 7. */
static bool runs_avx2vnni(void)
{
    unsigned a, b, c, d;
    return runs_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool runs_avx512vnni(void)
{
    return runs_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool runs_amx(const char *amx)
{
    const bool emulated = !strcmp(amx, "emulated");
    if (!runs_avx512vnni() || !__builtin_cpu_supports("avx512bf16") || (!emulated && strcmp(amx, "auto")))
        return false;
    return eu_amx_there() ? eu_amx_may() : emulated;
}
#endif

#if defined(CPU_HAVE_NEON)
#ifdef __linux__
#include <sys/auxv.h>

static bool has_dot_products(void)
{
    enum { ASIMDDP = 1 << 20 };
    return (getauxval(AT_HWCAP) & ASIMDDP) != 0;
}

/* Of bytes and of bf16: processors have both (Armv8.6), or neither. */
static bool has_matrix_products(void)
{
    enum { I8MM = 1 << 13, BF16 = 1 << 14 };
    return has_dot_products() && (getauxval(AT_HWCAP2) & (I8MM | BF16)) == (I8MM | BF16);
}
#elif defined(__APPLE__)
#include <sys/sysctl.h>

static bool has_feature(const char *name)
{
    int there = 0;
    size_t bytes = sizeof there;
    return sysctlbyname(name, &there, &bytes, NULL, 0) == 0 && there;
}

static bool has_dot_products(void)
{
    return has_feature("hw.optional.arm.FEAT_DotProd");
}

static bool has_matrix_products(void)
{
    return has_dot_products() && has_feature("hw.optional.arm.FEAT_I8MM") && has_feature("hw.optional.arm.FEAT_BF16");
}
#else
static bool has_dot_products(void)
{
    return false;
}

static bool has_matrix_products(void)
{
    return false;
}
#endif
#endif

bool cpu_machine_runs(const char *instructions, const char *amx)
{
    (void)amx;
#if defined(CPU_HAVE_X86) && defined(__GNUC__)
    if (!strcmp(instructions, "avx2"))
        return runs_avx2();
    if (!strcmp(instructions, "avx2vnni"))
        return runs_avx2vnni();
    if (!strcmp(instructions, "avx512"))
        return runs_avx512();
    if (!strcmp(instructions, "avx512vnni"))
        return runs_avx512vnni();
    if (!strcmp(instructions, "amx"))
        return runs_amx(amx);
#endif
#if defined(CPU_HAVE_NEON)
    if (!strcmp(instructions, "neon")) /* no aarch64 is without */
        return true;
    if (!strcmp(instructions, "neondot"))
        return has_dot_products();
    if (!strcmp(instructions, "neonmm"))
        return has_matrix_products();
#endif
    return !strcmp(instructions, "scalar");
}

/* "model name" of the first processor, where the system tells. */
static void processor_name(char *out, size_t bytes)
{
    snprintf(out, bytes, "%s", "processor");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f)
        return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        value += 1 + (value[1] == ' ');
        value[strcspn(value, "\n")] = 0;
        snprintf(out, bytes, "%s", value);
        break;
    }
    fclose(f);
}

static int find_memory(const eng_services *s, eng_device_info *info)
{
    const char *text = s->option(s->host, "memory");
    static const char suffixes[] = "kKmMgG";
    char *end;
    unsigned long long v = strtoull(text ? text : "0", &end, 10);
    const char *suffix = text && *end ? strchr(suffixes, *end) : NULL;
    unsigned shift = suffix ? 10u * (unsigned)((suffix - suffixes) / 2 + 1) : 0;
    if (text && (end == text || *text == '-' || end[shift != 0] || v > UINT64_MAX >> shift))
        return s->fail(s->host, ENG_ERR_INVALID, "cpu.memory is '%s'; it takes bytes, such as 65536, 512M or 2G", text);
    if (v) {
        info->memory_total = info->memory_free = (uint64_t)v << shift;
        return ENG_OK;
    }
    cpu_memory_find(&info->memory_total, &info->memory_free);
    return ENG_OK;
}

#define CACHE_USUAL ((uint64_t)32 << 20) /* of the last level */
#define CACHE_CORES 8                    /* that share one: at least, where there are as many */

/* One of the third level, as Linux says (sysconf has all of a package's with some processors, one's with others); 0: it
 * does not. */
static uint64_t third_cache(void)
{
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    unsigned long long kib = 0;
    char unit = 0;
    const bool said = f && fscanf(f, "%llu%c", &kib, &unit) == 2 && unit == 'K';
    if (f)
        fclose(f);
    return said ? (uint64_t)kib << 10 : 0;
}

/* Too much said costs less than too little: what caches would have kept is not sent past them. */
uint64_t cpu_machine_cache(uint32_t cores)
{
    const uint64_t one = third_cache();
    return (one ? one : CACHE_USUAL) * (1 + (cores - 1) / CACHE_CORES);
}

int cpu_machine_describe(const eng_services *services, eng_device_info *info)
{
    uint32_t cores = eu_core_count();
    eng_device_info i = {.size = sizeof i, .kind = ENG_DEVICE_CPU, .flags = ENG_DEVICE_HOST_MEMORY | ENG_DEVICE_YIELDS,
                         .compute_units = cores < CPU_MAX_CORES ? cores : CPU_MAX_CORES, .alignment = CPU_ALIGN};
    int status = find_memory(services, &i);
    if (status != ENG_OK)
        return status;
    snprintf(i.name, sizeof i.name, "cpu");
    processor_name(i.description, sizeof i.description);
    snprintf(i.driver, sizeof i.driver, "cpu plugin %s", PACKAGE_VERSION);
    *info = i;
    return ENG_OK;
}
