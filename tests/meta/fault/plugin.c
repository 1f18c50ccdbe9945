/* Descriptor, options, and everything that only passes on. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"

static int open_plugin(const eng_services *services, eng_plugin_state **plugin)
{
    eng_plugin_state *p = calloc(1, sizeof *p);
    if (!p)
        return services->fail(services->host, ENG_ERR_NOMEM, "fault: out of memory");
    p->services = services;
    p->host = services->host;
    *plugin = p;
    return ENG_OK;
}

static void close_plugin(eng_plugin_state *plugin)
{
    free(plugin);
}

/* Devices exist when they are named: fault:0, fault:1, ... */
static int enumerate(eng_plugin_state *plugin, uint32_t index, eng_device_info *info)
{
    if (index >= 8)
        return plugin->services->fail(plugin->host, ENG_ERR_NOTFOUND, "fault has 8 devices");
    info->kind = ENG_DEVICE_NULL;
    info->flags = ENG_DEVICE_HOST_MEMORY | ENG_DEVICE_ASYNCHRONOUS;
    info->alignment = 64;
    snprintf(info->name, sizeof info->name, "fault:%u", (unsigned)index);
    return ENG_OK;
}

static uint64_t number(const eng_plugin_state *p, const char *option)
{
    return strtoull(p->services->option(p->host, option), NULL, 10);
}

/* The name behind device `index`: of a list the one at its place, or the last. */
static void wrapped_name(const char *list, uint32_t index, char *name, size_t size)
{
    const char *end = strchr(list, ',');
    while (index-- > 0 && end) {
        list = end + 1;
        end = strchr(list, ',');
    }
    snprintf(name, size, "%.*s", end ? (int)(end - list) : (int)strlen(list), list);
}

static const struct {
    const char *name;
    fault_site site;
} kinds[] = {
    [FAULT_NONE] = {"none", FAULT_NOWHERE},
    [FAULT_ERROR] = {"error", FAULT_AT_SUBMIT},
    [FAULT_WAIT] = {"wait", FAULT_AT_SUBMIT},
    [FAULT_LOST] = {"lost", FAULT_AT_SUBMIT},
    [FAULT_HANG] = {"hang", FAULT_AT_SUBMIT},
    [FAULT_STALL] = {"stall", FAULT_AT_SUBMIT},
    [FAULT_BLOCK] = {"block", FAULT_AT_SUBMIT},
    [FAULT_BLOCKED_WAIT] = {"blocked-wait", FAULT_AT_WAIT},
    [FAULT_BLOCKED_VALUE] = {"blocked-value", FAULT_AT_VALUE},
    [FAULT_CALL] = {"call", FAULT_AT_CALL},
    [FAULT_UNCALLED] = {"uncalled", FAULT_AT_CALL},
    [FAULT_THROUGH] = {"through", FAULT_AT_THROUGH},
    [FAULT_THROUGH_UNCALLED] = {"through-uncalled", FAULT_AT_THROUGH},
    [FAULT_THROUGH_REFUSED] = {"through-refused", FAULT_AT_THROUGH},
    [FAULT_TRANSFER] = {"transfer", FAULT_AT_TRANSFER},
    [FAULT_REFUSE] = {"refuse", FAULT_AT_MAKING},
};

static fault_kind find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return (fault_kind)i;
    return FAULT_NONE;
}

static int open_device(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device)
{
    const eng_services *s = plugin->services;
    eng_device_state *d = calloc(1, sizeof *d);
    char name[64];
    if (!d)
        return s->fail(s->host, ENG_ERR_NOMEM, "fault: out of memory");
    d->services = s;
    d->host = plugin->host;
    snprintf(d->name, sizeof d->name, "fault:%u", (unsigned)request->index);
    wrapped_name(s->option(plugin->host, "device"), request->index, name, sizeof name);
    int status = s->device_open(plugin->host, name, &d->child);
    if (status != ENG_OK) {
        free(d);
        return status;
    }
    if (number(plugin, "index") == request->index)
        d->kind = find_kind(s->option(plugin->host, "kind"));
    d->site = kinds[d->kind].site;
    d->at = number(plugin, "at");
    d->times = number(plugin, "times");
    d->hold = number(plugin, "hold");
    d->staged = number(plugin, "staged") != 0;
    d->calls_host = number(plugin, "calls") != 0;
    d->most_tensors = number(plugin, "tensors");
    if (request->index - number(plugin, "index") < number(plugin, "refusing"))
        snprintf(d->refuse, sizeof d->refuse, "%s", s->option(plugin->host, "refuse"));
    *device = d;
    return ENG_OK;
}

static const eng_plugin_option options[] = {
    {sizeof(eng_plugin_option), 0, "device", "cpu/2.0,cpu/2.1",
     "what fault:0, fault:1, ... are; the last for the rest"},
    {sizeof(eng_plugin_option), 0, "kind", "none",
     "what happens at a submission: none, error, wait, lost, hang, stall or block; at a wait: blocked-wait; at a "
     "transfer between sections: blocked-value; at a call of the host: call or uncalled; at a run of all sections with such calls: through, "
     "through-uncalled or through-refused; at one of the host's: transfer; when something is made: refuse"},
    {sizeof(eng_plugin_option), 0, "index", "0", "to which device"},
    {sizeof(eng_plugin_option), 0, "at", "1", "at which of these calls, from 1 on"},
    {sizeof(eng_plugin_option), 0, "times", "1", "to how many of them from there on"},
    {sizeof(eng_plugin_option), 0, "gate", "shut", "what blocks does so until this is another word"},
    {sizeof(eng_plugin_option), 0, "hold", "0", "milliseconds that work hangs or submit stalls; 0: work never ends"},
    {sizeof(eng_plugin_option), 0, "refuse", "", "an op that it does not support"},
    {sizeof(eng_plugin_option), 0, "refusing", "1", "how many devices from it on do not"},
    {sizeof(eng_plugin_option), 0, "staged", "0", "1: the host does not reach the devices' memory"},
    {sizeof(eng_plugin_option), 0, "calls", "0", "1: devices that work in the calling thread call the host in it, too"},
    {sizeof(eng_plugin_option), 0, "tensors", "0", "how many a graph may have; 0: any number"},
};

static const eng_plugin_calls plugin_calls = {
    .size = sizeof plugin_calls,
    .open = open_plugin,
    .close = close_plugin,
    .enumerate = enumerate,
    .device_open = open_device,
};

ENG_PLUGIN_EXPORT(fault) = {
    .magic = ENG_PLUGIN_MAGIC,
    .size = sizeof(eng_plugin_descriptor),
    .abi_major = ENG_PLUGIN_ABI_MAJOR,
    .abi_minor = ENG_PLUGIN_ABI_MINOR,
    .name = "fault",
    .version = "0",
    .description = "devices that fail as told: for tests",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .flags = ENG_PLUGIN_ON_REQUEST,
    .calls = &plugin_calls,
    .device_calls = &fault_device_calls,
};

/* -- passing on -------------------------------------------------------------------- */

bool fault_hits(eng_device_state *device, fault_site site)
{
    if (device->site != site)
        return false;
    uint64_t number = atomic_fetch_add(&device->calls, 1) + 1;
    return number >= device->at && number - device->at < device->times;
}

void fault_block(const eng_device_state *device)
{
    const struct timespec look = {.tv_nsec = 1000000};
    while (strcmp(device->services->option(device->host, "gate"), "shut") == 0)
        nanosleep(&look, NULL);
}

int fault_making(eng_device_state *device)
{
    if (atomic_load(&device->lost))
        return fault_lost(device);
    if (fault_hits(device, FAULT_AT_MAKING))
        return device->services->fail(device->host, ENG_ERR_NOMEM, "%s: planted: no memory", device->name);
    return ENG_OK;
}

int fault_transfer(eng_device_state *device)
{
    if (atomic_load(&device->lost))
        return fault_lost(device);
    if (fault_hits(device, FAULT_AT_TRANSFER))
        return device->services->fail(device->host, ENG_ERR_DEVICE, "%s: planted: the transfer has failed",
                                      device->name);
    return ENG_OK;
}

int fault_lost(const eng_device_state *device)
{
    return device->services->fail(device->host, ENG_ERR_LOST, "%s: planted: the device is lost", device->name);
}

static void close_device(eng_device_state *device)
{
    device->services->device_close(device->host, &device->child);
    free(device);
}

static int device_info(eng_device_state *device, eng_device_info *info)
{
    uint32_t size = info->size;
    char name[sizeof info->name];
    memcpy(name, info->name, sizeof name);
    memcpy(info, device->child.info, size < sizeof *info ? size : sizeof *info);
    memcpy(info->name, name, sizeof name);
    info->flags = (info->flags | ENG_DEVICE_ASYNCHRONOUS) & ~(uint32_t)ENG_DEVICE_YIELDS; /* whatever is behind it */
    if (device->calls_host)
        info->flags |= ENG_DEVICE_HOST_CALLS;
    if (device->staged)
        info->flags &= ~(uint32_t)ENG_DEVICE_HOST_MEMORY;
    return ENG_OK;
}

static int supports(eng_device_state *device, const eng_subgraph *graph, uint32_t node, eng_support *answer,
                    char *reason, size_t reason_bytes)
{
    const eng_op_info *op = device->services->op_info(device->host, eng_subgraph_node(graph, node)->op);

    if (op && strcmp(op->name, device->refuse) == 0) {
        *answer = ENG_SUPPORT_NO;
        snprintf(reason, reason_bytes, "planted: no %s", op->name);
        return ENG_OK;
    }
    return device->child.calls->supports(device->child.state, graph, node, answer, reason, reason_bytes);
}

static int store_create(eng_device_state *device, const eng_store_tensor *tensors, uint32_t n, eng_store_state **store)
{
    eng_store_state *s = calloc(1, sizeof *s);
    if (!s)
        return device->services->fail(device->host, ENG_ERR_NOMEM, "fault: out of memory");
    s->device = device;
    int status = fault_making(device);
    if (status == ENG_OK)
        status = device->child.calls->store_create(device->child.state, tensors, n, &s->inner);
    if (status == ENG_OK)
        *store = s;
    else
        free(s);
    return status;
}

static void store_destroy(eng_store_state *store)
{
    store->device->child.calls->store_destroy(store->inner);
    free(store);
}

static int store_upload(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    int status = fault_transfer(store->device);
    return status == ENG_OK ? store->device->child.calls->store_upload(store->inner, tensor, regions, n) : status;
}

static int store_download(eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    int status = fault_transfer(store->device);
    return status == ENG_OK ? store->device->child.calls->store_download(store->inner, tensor, regions, n) : status;
}

/* Who passes a tensor's data on has to say who uses them. */
static int layout(eng_device_state *device, const eng_store_tensor *tensor, eng_layout_info *info)
{
    return device->child.calls->layout(device->child.state, tensor, info);
}

static int store_layout(eng_store_state *store, uint32_t tensor, eng_layout_info *info)
{
    return store->device->child.calls->store_layout(store->inner, tensor, info);
}

static int plan_create(eng_device_state *device, const eng_subgraph *graph, eng_plan_state **plan)
{
    if (device->most_tensors && graph->n_tensors > device->most_tensors)
        return device->services->fail(device->host, ENG_ERR_UNSUPPORTED, "%s: planted: %u tensors", device->name,
                                      (unsigned)graph->n_tensors);
    eng_plan_state *p = calloc(1, sizeof *p);
    if (!p)
        return device->services->fail(device->host, ENG_ERR_NOMEM, "fault: out of memory");
    p->device = device;
    p->n_bindings = graph->n_bindings;
    int status = fault_making(device);
    if (status == ENG_OK)
        status = device->child.calls->plan_create(device->child.state, graph, &p->inner);
    if (status == ENG_OK)
        *plan = p;
    else
        free(p);
    return status;
}

static void plan_destroy(eng_plan_state *plan)
{
    plan->device->child.calls->plan_destroy(plan->inner);
    free(plan);
}

static int instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                           eng_instance_state **instance)
{
    eng_device_state *device = plan->device;
    eng_instance_state *i = calloc(1, sizeof *i);
    eng_store_state **inner = calloc(plan->n_bindings + 1u, sizeof *inner);
    if (!i || !inner) {
        free(i);
        free(inner);
        return device->services->fail(device->host, ENG_ERR_NOMEM, "fault: out of memory");
    }
    for (uint32_t b = 0; b < plan->n_bindings; b++)
        inner[b] = stores[b]->inner;
    i->device = device;
    int status = fault_making(device);
    if (status == ENG_OK)
        status = device->child.calls->instance_create(plan->inner, inner, tensors, &i->inner);
    free(inner);
    if (status == ENG_OK)
        *instance = i;
    else
        free(i);
    return status;
}

static void instance_destroy(eng_instance_state *instance)
{
    instance->device->child.calls->instance_destroy(instance->inner);
    free(instance);
}

static int value_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    return instance->device->child.calls->value_map(instance->inner, tensor, data);
}

static int stats(eng_device_state *device, eng_device_stats *all)
{
    return device->child.calls->stats(device->child.state, all);
}

const eng_device_calls fault_device_calls = {
    .size = sizeof fault_device_calls,
    .close = close_device,
    .info = device_info,
    .supports = supports,
    .store_create = store_create,
    .store_destroy = store_destroy,
    .store_upload = store_upload,
    .store_download = store_download,
    .layout = layout,
    .store_layout = store_layout,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .instance_create = instance_create,
    .instance_destroy = instance_destroy,
    .queue_create = fault_queue_create,
    .queue_destroy = fault_queue_destroy,
    .run = fault_run,
    .write = fault_write,
    .read = fault_read,
    .wait = fault_wait,
    .value_read = fault_value_read,
    .value_write = fault_value_write,
    .host_call = fault_host_call,
    .run_through = fault_run_through,
    .value_map = value_map,
    .stats = stats,
};
