/* The plugin: its descriptor, options and tables of calls. */
#include "host.h"

#include <stdatomic.h>
#include <unistd.h>

/* Drivers have threads and connections, which a fork does not inherit, but state that says they are there. */
static int check_process(const eng_services *services)
{
    static _Atomic pid_t first;
    pid_t none = 0, own = getpid();
    if (atomic_compare_exchange_strong(&first, &none, own) || none == own)
        return ENG_OK;
    return services->fail(services->host, ENG_ERR_STATE,
                          "this process was forked after OpenCL was used in its parent, which OpenCL drivers do not live "
                          "through" ENG_ADVICE "create the parent's first context after forking, or call exec in the child");
}

static int plugin_open(const eng_services *services, eng_plugin_state **plugin)
{
    int status = check_process(services);
    if (status != ENG_OK)
        return status;
    eng_plugin_state *p = calloc(1, sizeof *p);
    if (!p || pthread_mutex_init(&p->found_lock, NULL) != 0) {
        free(p);
        return services->fail_code(services->host, EU_NO_MEMORY("opencl"));
    }
    p->sv = services;
    *plugin = p;
    return ENG_OK;
}

static void plugin_close(eng_plugin_state *plugin)
{
    pthread_mutex_destroy(&plugin->found_lock);
    free(plugin->found);
    free(plugin);
}

static int enumerate(eng_plugin_state *plugin, uint32_t index, eng_device_info *info)
{
    int status = cl_search(plugin);
    if (status != ENG_OK)
        return status;
    if (index >= plugin->n)
        return ENG_ERR_NOTFOUND;
    return cl_device_describe(plugin->sv, &plugin->found[index], index, info);
}

static const eng_plugin_option options[] = {
    {sizeof(eng_plugin_option), 0, "family", "auto",
     "family of kernels: vec (one work-item does a tile, for CPUs), simt (groups of work-items, for GPUs), auto"},
    {sizeof(eng_plugin_option), 0, "capabilities", "all",
     "capabilities to use: all, none, names to keep, or -name to do without (unified divide int-dot mma wmma dot4 dot2 bf16 tiles shuffle)"},
    {sizeof(eng_plugin_option), 0, "max_alloc", "0",
     "size of single allocations to keep to, in bytes (suffixes K, M, G); 0: what the device allows"},
    {sizeof(eng_plugin_option), 0, "memory", "0",
     "bytes that every device is said to have, and no more is given (suffixes K, M, G); 0: what the device says"},
    {sizeof(eng_plugin_option), 0, "kernels", "", "folder whose .cl and .clh files replace the kernels built in"},
    {sizeof(eng_plugin_option), 0, "fuse", "yes", "run neighbouring small ops in one launch: yes or no"},
    {sizeof(eng_plugin_option), 0, "series", "auto",
     "on processors launches that follow one another become one: auto (when a plan has run often, or what that needs is "
     "compiled), yes (at once), no"},
    {sizeof(eng_plugin_option), 0, "stream", "auto",
     "processors store results past their caches: auto (those that are larger), yes (all, for tests), no"},
    {sizeof(eng_plugin_option), 0, "apart", "no",
     "every tensor has a buffer of its own, so that a checking driver sees what reaches past it: yes or no"},
    {sizeof(eng_plugin_option), 0, "svm", "auto",
     "auto: scratch memory, inputs and outputs that the host uses, too, where a device has fine-grained shared virtual memory; off: never"},
    {sizeof(eng_plugin_option), 0, "matrix", "auto",
     "matrix unit for products, but of f32 and f16 in precision exact, too: auto (tried when the device is opened), no, mma, wmma "
     "or dpas (NVIDIA's, AMD's or Intel's, not tried), in-c, wmma-in-c, wmma12-in-c, mfma-in-c or dpas-in-c (the instruction in C, for tests)"},
    {sizeof(eng_plugin_option), 0, "shuffle", "auto",
     "cards' lanes exchange registers: auto (tried when the device is opened), no, in-c (the instruction in C, for tests)"},
    {sizeof(eng_plugin_option), 0, "dot4", "auto",
     "dot products of bytes for products in precision fast: auto (tried when the device is opened), no, yes (a card's, not "
     "tried), in-c (the instruction in C, for tests)"},
    {sizeof(eng_plugin_option), 0, "dot2", "auto",
     "weights in lanes, multiplied by sums of two products of bytes, on processors: auto (AVX2 without AVX-512, tried when such "
     "weights come), no, yes (wherever there is AVX2, tried), in-c (the instructions in C, for tests)"},
    {sizeof(eng_plugin_option), 0, "bf16", "auto",
     "columns are rounded to bf16 for weights of bf16 in precision fast, on processors: auto (AVX-512 BF16, where it is faster "
     "than floats, tried when such weights come), no, in-c (the instruction in C, for tests)"},
    {sizeof(eng_plugin_option), 0, "tiles", "auto",
     "a processor's matrix unit (AMX) for many columns: of bf16 weights, and in precision fast of all, rounded to bf16: auto (the process "
     "asks Linux for it when a device is opened; tried when such weights come), no, in-c (its work in C, for tests)"},
    {sizeof(eng_plugin_option), 0, "profile", "no",
     "time every launch by its event, for the plan's explanation (queues then wait for their work): yes or no"},
    {sizeof(eng_plugin_option), 0, "cache", "yes", "keep compiled kernels on disk: yes or no"},
    {sizeof(eng_plugin_option), 0, "compile", "no",
     "only compile, for another process that finds the kernels in the driver's cache: no, or I/N, share I of N (1/1: all); weights "
     "are not read and results are nothing"},
};

static const eng_plugin_calls plugin_calls = {
    .size = sizeof(eng_plugin_calls),
    .open = plugin_open,
    .close = plugin_close,
    .enumerate = enumerate,
    .device_open = cl_device_opened,
};

static int device_info(eng_device_state *device, eng_device_info *info)
{
    *info = device->info;
    info->memory_free = cl_budget_left(device) / device->parts;
    if (!cl_calls_by_itself())
        info->flags &= ~(uint32_t)ENG_DEVICE_HOST_CALLS;
    return ENG_OK;
}

static const eng_device_calls device_calls = {
    .size = sizeof(eng_device_calls),
    .close = cl_device_close,
    .info = device_info,
    .supports = cl_supports,
    .store_create = cl_store_create,
    .store_destroy = cl_store_destroy,
    .store_upload = cl_store_upload,
    .store_download = cl_store_download,
    .layout = cl_layout,
    .store_layout = cl_store_layout,
    .plan_create = cl_plan_create,
    .plan_destroy = cl_plan_destroy,
    .instance_create = cl_instance_create,
    .instance_destroy = cl_instance_destroy,
    .queue_create = cl_queue_create,
    .queue_destroy = cl_queue_destroy,
    .run = cl_queue_run,
    .write = cl_queue_write,
    .read = cl_queue_read,
    .wait = cl_queue_wait,
    .queue_after = cl_queue_after,
    .value_read = cl_value_read,
    .value_write = cl_value_write,
    .value_map = cl_value_map,
    .stats = cl_device_stats,
    .plan_explain = cl_plan_explain,
    .roof = cl_device_roof,
    .plan_launches = cl_plan_launches,
    .host_call = cl_queue_call,
    .run_through = cl_queue_run_through,
};

ENG_PLUGIN_EXPORT(opencl) = {
    .magic = ENG_PLUGIN_MAGIC,
    .size = sizeof(eng_plugin_descriptor),
    .abi_major = ENG_PLUGIN_ABI_MAJOR,
    .abi_minor = ENG_PLUGIN_ABI_MINOR,
    .name = "opencl",
    .version = PACKAGE_VERSION,
    .description = "every OpenCL device: GPUs, CPUs, accelerators",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .calls = &plugin_calls,
    .device_calls = &device_calls,
};
