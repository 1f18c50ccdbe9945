/* The cpu plugin: its descriptor, options, and the one device it enumerates. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"

static const eng_type_info types[] = {
#define ENG_TYPE(id, number, name, block, bytes) {number, block, bytes, 0, name},
#include <engine/types.def>
#undef ENG_TYPE
};

const eng_type_info *cpu_type(uint32_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

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

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

const cpu_variant *cpu_variant_find(const char *name)
{
    bool best = !name[0] || !strcmp(name, "auto");
#if defined(CPU_HAVE_X86) && defined(__GNUC__)
    if ((best || !strcmp(name, "avx512")) && runs_avx512())
        return &cpu_variant_avx512;
    if ((best || !strcmp(name, "avx2")) && runs_avx2())
        return &cpu_variant_avx2;
#endif
    return best || !strcmp(name, "scalar") ? &cpu_variant_scalar : NULL;
}

static int plugin_open(const eng_services *services, eng_plugin_state **plugin)
{
    eng_plugin_state *p = calloc(1, sizeof *p);
    if (!p)
        return services->fail(services->host, ENG_ERR_NOMEM, "cpu" ENG_CAUSE "out of memory");
    p->services = services;
    *plugin = p;
    return ENG_OK;
}

static void plugin_close(eng_plugin_state *plugin)
{
    free(plugin);
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

static int plugin_enumerate(eng_plugin_state *plugin, uint32_t index, eng_device_info *info)
{
    if (index > 0)
        return ENG_ERR_NOTFOUND;
    int cores[1024];
    eng_device_info i = {.size = sizeof i, .kind = ENG_DEVICE_CPU, .flags = ENG_DEVICE_HOST_MEMORY,
                         .compute_units = (uint32_t)cpu_cores(cores, 1024), .alignment = CPU_ALIGN};
    int status = find_memory(plugin->services, &i);
    if (status != ENG_OK)
        return status;
    snprintf(i.name, sizeof i.name, "cpu");
    processor_name(i.description, sizeof i.description);
    snprintf(i.driver, sizeof i.driver, "cpu plugin " "%s", PACKAGE_VERSION);
    snprintf(i.capabilities, sizeof i.capabilities, "scalar");
#if defined(CPU_HAVE_X86) && defined(__GNUC__)
    if (runs_avx2())
        strcat(i.capabilities, " avx2");
    if (runs_avx512())
        strcat(i.capabilities, " avx512");
#endif
    *info = i;
    return ENG_OK;
}

static const eng_plugin_option options[] = {
    {sizeof(eng_plugin_option), 0, "threads", "0",
     "threads of the whole device; 0: one for each core the process may use"},
    {sizeof(eng_plugin_option), 0, "simd", "auto",
     "instruction set: auto, scalar, avx2 or avx512; one the machine lacks is refused"},
    {sizeof(eng_plugin_option), 0, "memory", "0",
     "bytes that the device is said to have, all of them free (suffixes K, M, G); 0: what the machine has"},
};

static const eng_plugin_calls calls = {
    .size = sizeof calls,
    .open = plugin_open,
    .close = plugin_close,
    .enumerate = plugin_enumerate,
    .device_open = cpu_device_open,
};

ENG_PLUGIN_EXPORT(cpu) = {
    .magic = ENG_PLUGIN_MAGIC,
    .size = sizeof(eng_plugin_descriptor),
    .abi_major = ENG_PLUGIN_ABI_MAJOR,
    .abi_minor = ENG_PLUGIN_ABI_MINOR,
    .name = "cpu",
    .version = PACKAGE_VERSION,
    .description = "the host's processor, with its vector instructions",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .flags = 0,
    .calls = &calls,
    .device_calls = &cpu_device_calls,
};
