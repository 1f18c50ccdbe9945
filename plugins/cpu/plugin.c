/* The cpu plugin: its descriptor, options and tables of calls. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "device/topology.h"

static int plugin_open(const eng_services *services, eng_plugin_state **plugin)
{
    eng_plugin_state *p = calloc(1, sizeof *p);
    if (!p)
        return cpu_no_memory(services, "the plugin");
    p->services = services;
    pthread_mutex_init(&p->lock, NULL);
    *plugin = p;
    return ENG_OK;
}

static void plugin_close(eng_plugin_state *plugin)
{
    if (!plugin)
        return;
    cpu_topology_end(plugin->topology);
    pthread_mutex_destroy(&plugin->lock);
    free(plugin);
}

static const char *option_or_auto(const eng_services *s, const char *name)
{
    const char *value = s->option(s->host, name);
    return value && *value ? value : "auto";
}

static int plugin_enumerate(eng_plugin_state *plugin, uint32_t index, eng_device_info *info)
{
    const eng_services *s = plugin->services;
    int status = index > 0 ? ENG_ERR_NOTFOUND : cpu_machine_describe(s, info);
    const char *amx = option_or_auto(s, "amx"); /* who only lists devices need not do what a processor lacks */
    const cpu_variant *variant = cpu_variant_find(option_or_auto(s, "simd"), strcmp(amx, "emulated") ? amx : "off");
    if (status == ENG_OK && variant) /* as the device says when it is open */
        snprintf(info->capabilities, sizeof info->capabilities, "%s", variant->name);
    return status;
}

static int device_open(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device)
{
    const eng_services *s = plugin->services;
    if (request->index > 0)
        return s->fail(s->host, ENG_ERR_NOTFOUND, "cpu:%u: there is one cpu device, cpu:0", (unsigned)request->index);
    const char *amx = option_or_auto(s, "amx");
    if (strcmp(amx, "auto") && strcmp(amx, "off") && strcmp(amx, "emulated"))
        return s->fail(s->host, ENG_ERR_INVALID, "cpu.amx is '%s'; it takes auto, off or emulated", amx);
    const char *simd = option_or_auto(s, "simd");
    const cpu_variant *variant = cpu_variant_find(simd, amx);
    if (!variant && !strcmp(simd, "amx") && !strcmp(amx, "off"))
        return s->fail(s->host, ENG_ERR_INVALID, "cpu.simd = amx" ENG_CAUSE "cpu.amx is off" ENG_ADVICE
                       "leave one of them as auto");
    if (!variant)
        return s->fail(s->host, ENG_ERR_UNSUPPORTED,
                       "cpu.simd = %s" ENG_CAUSE "unknown, or this processor lacks it, or (amx) the system does not grant it, since "
                       "a thread has a stack for signals that is too small" ENG_ADVICE
                       "use auto, scalar, avx2, avx2vnni, avx512, avx512vnni, amx, neon, neondot or neonmm", simd);
    return cpu_device_open(plugin, request, variant, device);
}

static void device_close(eng_device_state *device)
{
    if (device)
        cpu_scratch_free(device);
    cpu_device_close(device);
}

static const eng_plugin_option options[] = {
    {sizeof(eng_plugin_option), 0, "threads", "0",
     "threads of the whole device; 0: one for each core the process may use"},
    {sizeof(eng_plugin_option), 0, "simd", "auto",
     "instruction set: auto, scalar, avx2, avx2vnni, avx512, avx512vnni, amx, neon, neondot or neonmm; one the machine lacks is refused"},
    {sizeof(eng_plugin_option), 0, "amx", "auto",
     "matrix unit of bytes and bf16: auto, off, or emulated: where the processor has none the process itself does what it lacks, as tests do"},
    {sizeof(eng_plugin_option), 0, "memory", "0",
     "bytes that the device is said to have, all of them free (suffixes K, M, G); 0: what the machine has"},
    {sizeof(eng_plugin_option), 0, "stream", "auto",
     "store results past the caches: auto (those that are larger than half of them), yes (all, for tests), no"},
};

static const eng_plugin_calls calls = {
    .size = sizeof calls,
    .open = plugin_open,
    .close = plugin_close,
    .enumerate = plugin_enumerate,
    .device_open = device_open,
};

static const eng_device_calls device_calls = {
    .size = sizeof device_calls,
    .close = device_close,
    .info = cpu_device_info,
    .supports = cpu_supports,
    .store_create = cpu_store_create,
    .store_destroy = cpu_store_destroy,
    .store_upload = cpu_store_upload,
    .store_download = cpu_store_download,
    .layout = cpu_layout,
    .store_layout = cpu_store_layout,
    .plan_create = cpu_plan_create,
    .plan_destroy = cpu_plan_destroy,
    .instance_create = cpu_instance_create,
    .instance_destroy = cpu_instance_destroy,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .run = cpu_queue_run,
    .write = cpu_queue_write,
    .read = cpu_queue_read,
    .value_read = cpu_value_read,
    .value_write = cpu_value_write,
    .value_map = cpu_value_map,
    .stats = cpu_device_stats,
    .roof = cpu_device_roof,
    .plan_launches = cpu_plan_launches,
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
    .device_calls = &device_calls,
};
