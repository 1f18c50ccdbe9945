/* The plugin's door: the descriptor and the tables of calls behind it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stddef.h>
#include <stdlib.h>

#include "meta.h"

static int open_plugin(const eng_services *services, eng_plugin_state **plugin)
{
    if (services->size < offsetof(eng_services, parallel_wait) + sizeof services->parallel_wait)
        return services->fail(services->host, ENG_ERR_UNSUPPORTED,
                              "the meta plugin is newer than this libengine, which lacks services that it needs: "
                              "install both of one version");
    eng_plugin_state *p = calloc(1, sizeof *p);

    if (!p)
        return services->fail_code(services->host, EU_NO_MEMORY("the meta plugin"));
    p->services = services;
    p->host = services->host;
    *plugin = p;
    return ENG_OK;
}

static void close_plugin(eng_plugin_state *plugin)
{
    free(plugin);
}

static int enumerate(eng_plugin_state *plugin, uint32_t index, eng_device_info *info)
{
    (void)index;
    (void)info;
    return plugin->services->fail(plugin->host, ENG_ERR_NOTFOUND,
                                  "composed devices are opened by name, as in cpu/2 or opencl:0+opencl:1");
}

static const eng_plugin_option options[] = {
    {sizeof(eng_plugin_option), 0, "timeout", "0",
     "milliseconds that a device has for one submission, and twice that for a wait in which none gets further, or the "
     "run fails; 0: no limit"},
    {sizeof(eng_plugin_option), 0, "ahead", "yes",
     "yes: devices that can call the host between two pieces of their work get all of a short run at once and do its exchanges "
     "themselves, unless meta.timeout is set; no: step by step"},
};

static const eng_plugin_calls plugin_calls = {
    .size = sizeof plugin_calls,
    .open = open_plugin,
    .close = close_plugin,
    .enumerate = enumerate,
    .device_open = meta_device_open,
};

static const eng_device_calls device_calls = {
    .size = sizeof device_calls,
    .close = meta_device_close,
    .info = meta_device_info,
    .supports = meta_supports,
    .store_create = meta_store_create,
    .store_destroy = meta_store_destroy,
    .store_upload = meta_store_upload,
    .store_download = meta_store_download,
    .store_layout = meta_store_layout,
    .plan_create = meta_plan_create,
    .plan_destroy = meta_plan_destroy,
    .instance_create = meta_instance_create,
    .instance_destroy = meta_instance_destroy,
    .queue_create = meta_queue_create,
    .queue_destroy = meta_queue_destroy,
    .run = meta_queue_run,
    .write = meta_queue_write,
    .read = meta_queue_read,
    .stats = meta_device_stats,
    .leaf_stats = meta_device_leaf_stats,
    .plan_explain = meta_plan_explain,
    .roof = meta_device_roof,
};

ENG_PLUGIN_EXPORT(meta) = {
    .magic = ENG_PLUGIN_MAGIC,
    .size = sizeof(eng_plugin_descriptor),
    .abi_major = ENG_PLUGIN_ABI_MAJOR,
    .abi_minor = ENG_PLUGIN_ABI_MINOR,
    .name = "meta",
    .version = "0.1.0",
    .description = "several devices as one tensor-parallel device",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .flags = ENG_PLUGIN_COMPOSES,
    .calls = &plugin_calls,
    .device_calls = &device_calls,
};
