/* The null plugin: descriptor, options, enumeration, the tables of calls. */
#include "null.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An option as a number; what is no number is refused with the cause. */
static int number_option(const eng_services *s, const char *name, uint64_t *number)
{
    const char *text = s->option(s->host, name);
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end)
        return s->fail(s->host, ENG_ERR_INVALID, "null" ENG_CAUSE "option null.%s is '%s'" ENG_ADVICE
                       "give a whole number", name, text);
    *number = n;
    return ENG_OK;
}

static int null_open(const eng_services *services, eng_plugin_state **result)
{
    uint64_t n_devices;
    int status = number_option(services, "devices", &n_devices);
    if (status < 0)
        return status;
    eng_plugin_state *plugin = calloc(1, sizeof *plugin);
    if (!plugin)
        return null_no_memory(services, "the plugin");
    plugin->services = services; /* stays valid until close */
    plugin->n_devices = n_devices < 16 ? (uint32_t)n_devices : 16;
    *result = plugin;
    return ENG_OK;
}

/* Which ops its devices take. */
static int accept_option(const eng_services *s, eng_device_state *device)
{
    const char *text = s->option(s->host, "accept");
    device->measures = strcmp(text, "measure") == 0;
    device->accepts_all = device->measures || strcmp(text, "all") == 0;
    if (!device->accepts_all && strcmp(text, "copies") != 0)
        return s->fail(s->host, ENG_ERR_INVALID, "null" ENG_CAUSE "option null.accept is '%s'" ENG_ADVICE
                       "give copies, all or measure", text);
    return ENG_OK;
}

/* "q4_K:8 f16:32": of which types how many rows are kept together. */
static int rows_option(const eng_services *s, eng_device_state *device)
{
    const char *text = s->option(s->host, "rows");
    for (const char *p = text; *p; p += strspn(p, " ")) {
        char name[32];
        unsigned rows;
        int length = 0;
        uint32_t type = 0;
        const bool read = sscanf(p, "%31[^: ]:%3u%n", name, &rows, &length) == 2 && length && rows < 256;
        while (type < sizeof device->rows && !(s->type_info(s->host, type) && !strcmp(s->type_info(s->host, type)->name, name)))
            type++;
        if (!read || type == sizeof device->rows || (p[length] && p[length] != ' '))
            return s->fail(s->host, ENG_ERR_INVALID, "null" ENG_CAUSE "option null.rows is '%s'" ENG_ADVICE
                           "give types and numbers of rows below 256, such as 'q4_K:8 f16:32'", text);
        device->rows[type] = (uint8_t)rows;
        p += length;
    }
    return ENG_OK;
}

static void null_close(eng_plugin_state *plugin)
{
    free(plugin);
}

static int null_enumerate(eng_plugin_state *plugin, uint32_t index, eng_device_info *info)
{
    const eng_services *s = plugin->services;
    if (index >= plugin->n_devices)
        return s->fail(s->host, ENG_ERR_NOTFOUND, "null" ENG_CAUSE "option null.devices is %u", plugin->n_devices);
    null_device_info(info);
    if (index)
        snprintf(info->name, sizeof info->name, "null:%u", index);
    else
        snprintf(info->name, sizeof info->name, "null");
    return ENG_OK;
}

static int null_open_device(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device)
{
    int status = null_device_open(plugin, request, device);
    uint64_t memory = 0;
    if (status < 0)
        return status;
    status = number_option(plugin->services, "memory", &memory);
    if (status == ENG_OK)
        status = accept_option(plugin->services, *device);
    if (status == ENG_OK)
        status = rows_option(plugin->services, *device);
    if (status < 0)
        null_device_close(*device);
    else
        (*device)->memory = memory;
    return status;
}

static const eng_plugin_option options[] = {
    {sizeof(eng_plugin_option), 0, "devices", "1", "how many devices there are"},
    {sizeof(eng_plugin_option), 0, "memory", "0", "bytes that a device has; 0: as much as the host"},
    {sizeof(eng_plugin_option), 0, "accept", "copies",
     "ops to take: copies; all (others give zeros: to measure what is around a device); or "
     "measure (all, on a device that holds nothing and counts what it would)"},
    {sizeof(eng_plugin_option), 0, "rows", "",
     "rows of matrices that a device keeps together, by type: 'q4_K:8 f16:32'; a composition cuts them so"},
};

static const eng_plugin_calls calls = {
    .size = sizeof calls,
    .open = null_open,
    .close = null_close,
    .enumerate = null_enumerate,
    .device_open = null_open_device,
};

/* wait and queue_after - nothing is ever left to be done - leaf_stats and plan_explain are left out: the engine puts
 * stubs in their place. */
static const eng_device_calls device_calls = {
    .size = sizeof device_calls,
    .close = null_device_close,
    .info = null_device_figures,
    .supports = null_supports,
    .store_create = null_store_create,
    .store_destroy = null_store_destroy,
    .layout = null_layout,
    .store_upload = null_store_upload,
    .store_download = null_store_download,
    .plan_create = null_plan_create,
    .plan_destroy = null_plan_destroy,
    .instance_create = null_instance_create,
    .instance_destroy = null_instance_destroy,
    .queue_create = null_queue_create,
    .queue_destroy = null_queue_destroy,
    .run = null_run_sections,
    .write = null_write,
    .read = null_read,
    .value_read = null_value_read,
    .value_write = null_value_write,
    .value_map = null_value_map,
    .stats = null_device_stats,
};

ENG_PLUGIN_EXPORT(null) = {
    .magic = ENG_PLUGIN_MAGIC,
    .size = sizeof(eng_plugin_descriptor),
    .abi_major = ENG_PLUGIN_ABI_MAJOR,
    .abi_minor = ENG_PLUGIN_ABI_MINOR,
    .name = "null",
    .version = NULL_VERSION,
    .description = "computes nothing: template for plugins and subject of tests",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .flags = NULL_FLAGS,
    .calls = &calls,
    .device_calls = &device_calls,
};
