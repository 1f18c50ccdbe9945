/* The plugin: its descriptor, and the search for devices on all platforms. */
#include "host.h"

#include <dirent.h>
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
    if (!p || pthread_mutex_init(&p->budget_lock, NULL) != 0) {
        free(p);
        return services->fail(services->host, ENG_ERR_NOMEM, "out of memory");
    }
    p->sv = services;
    *plugin = p;
    return ENG_OK;
}

static void plugin_close(eng_plugin_state *plugin)
{
    pthread_mutex_destroy(&plugin->budget_lock);
    free(plugin->found);
    free(plugin);
}

/* Are there driver descriptions (*.icd) in a folder? */
static bool has_icd(const char *folder)
{
    DIR *dir = opendir(folder);
    bool found = false;
    if (!dir)
        return false;
    for (struct dirent *e; (e = readdir(dir)) != NULL && !found;) {
        size_t n = strlen(e->d_name);
        found = n > 4 && !strcmp(e->d_name + n - 4, ".icd");
    }
    closedir(dir);
    return found;
}

static int no_platform(eng_plugin_state *plugin, cl_int error)
{
    const eng_services *sv = plugin->sv;
    const char *vendors = getenv("OCL_ICD_VENDORS"), *install = "install your GPU vendor's OpenCL driver, or PoCL for "
                                                                "the "
                                                                "CPU (Debian: pocl-opencl-icd)";
    if (error != CL_SUCCESS && error != -1001)
        return sv->fail(sv->host, ENG_ERR_NOTFOUND, "the OpenCL loader reports %s (%d)", cl_error_name(error),
                        (int)error);
    if (vendors && *vendors)
        return sv->fail(sv->host, ENG_ERR_NOTFOUND,
                        "no OpenCL platform" ENG_CAUSE
                        "the environment variable OCL_ICD_VENDORS says to look for drivers in '%s' "
                        "only; "
                        "unset it, or %s",
                        vendors, install);
    if (!has_icd("/etc/OpenCL/vendors"))
        return sv->fail(sv->host, ENG_ERR_NOTFOUND,
                        "no OpenCL platform" ENG_CAUSE
                        "no driver is registered (no .icd file in /etc/OpenCL/vendors); %s",
                        install);
    return sv->fail(sv->host, ENG_ERR_NOTFOUND,
                    "no OpenCL platform" ENG_CAUSE
                    "drivers are registered in /etc/OpenCL/vendors, but none of them offers one; "
                    "run "
                    "'clinfo', see whether their libraries load and you may use the device (groups video, render)");
}

/* Why a device cannot be used; "" if it can. */
static void judge(cl_found *f)
{
    char version[128] = "";
    unsigned major = 0, minor = 0;
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    clGetDeviceInfo(f->id, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL);
    if (sscanf(version, "OpenCL %u.%u", &major, &minor) != 2 || major * 10 + minor < 12)
        snprintf(f->refused, sizeof f->refused, "it offers '%.60s'; OpenCL 1.2 is needed", version);
    else if (!available)
        snprintf(f->refused, sizeof f->refused, "its driver says that it is not available");
    else if (!compiler)
        snprintf(f->refused, sizeof f->refused, "it has no compiler for OpenCL C");
    else if (!little)
        snprintf(f->refused, sizeof f->refused, "it is not little-endian");
}

typedef struct named { cl_platform_id id; char name[256]; } named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static int add_devices(eng_plugin_state *plugin, cl_platform_id platform)
{
    cl_uint n = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n) != CL_SUCCESS || n == 0)
        return ENG_OK;
    cl_device_id *ids = calloc(n, sizeof(cl_device_id));
    cl_found *more = realloc(plugin->found, (plugin->n + n) * sizeof *more);
    if (more)
        plugin->found = more;
    if (!ids || !more) {
        free(ids);
        return plugin->sv->fail(plugin->sv->host, ENG_ERR_NOMEM, "out of memory");
    }
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL) != CL_SUCCESS)
        n = 0;
    for (cl_uint i = 0; i < n; i++) {
        cl_found *f = &plugin->found[plugin->n++];
        *f = (cl_found){.platform = platform, .id = ids[i]};
        judge(f);
    }
    free(ids);
    return ENG_OK;
}

/* Finds the devices once; platforms by name, so that numbers stay the same. */
int cl_search(eng_plugin_state *plugin)
{
    cl_uint n = 0;
    if (plugin->searched && plugin->n)
        return ENG_OK;
    cl_int error = clGetPlatformIDs(0, NULL, &n);
    if (error != CL_SUCCESS || n == 0)
        return no_platform(plugin, error);
    cl_platform_id *ids = calloc(n, sizeof(cl_platform_id));
    named *platforms = calloc(n, sizeof *platforms);
    int status = ENG_OK;
    if (!ids || !platforms) {
        status = plugin->sv->fail(plugin->sv->host, ENG_ERR_NOMEM, "out of memory");
        goto done;
    }
    error = clGetPlatformIDs(n, ids, NULL);
    if (error != CL_SUCCESS) {
        status = no_platform(plugin, error);
        goto done;
    }
    for (cl_uint i = 0; i < n; i++) {
        platforms[i].id = ids[i];
        clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof platforms[i].name - 1, platforms[i].name, NULL);
    }
    qsort(platforms, n, sizeof *platforms, by_name);
    for (cl_uint i = 0; i < n && status == ENG_OK; i++)
        status = add_devices(plugin, platforms[i].id);
    plugin->searched = status == ENG_OK;
    if (status == ENG_OK && plugin->n == 0)
        status = plugin->sv->fail(plugin->sv->host, ENG_ERR_NOTFOUND,
                                  "%u OpenCL platforms (first" ENG_CAUSE "%s), but no device on any of them" ENG_ADVICE
                                  "run 'clinfo', and "
                                  "see whether "
                                  "you may use the device (groups video, render)",
                                  n, platforms[0].name);
done:
    free(platforms);
    free(ids);
    return status;
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
     "capabilities to use: all, none, names to keep, or -name to do without (unified divide subgroups int-dot)"},
    {sizeof(eng_plugin_option), 0, "max_alloc", "0",
     "size of single allocations to keep to, in bytes (suffixes K, M, G); 0: what the device allows"},
    {sizeof(eng_plugin_option), 0, "memory", "0",
     "bytes that every device is said to have, and no more is given (suffixes K, M, G); 0: what the device says"},
    {sizeof(eng_plugin_option), 0, "kernels", "", "folder whose .cl and .clh files replace the kernels built in"},
    {sizeof(eng_plugin_option), 0, "fuse", "yes", "run neighbouring small ops in one launch: yes or no"},
    {sizeof(eng_plugin_option), 0, "apart", "no",
     "every tensor has a buffer of its own, so that a checking driver sees what reaches past it: yes or no"},
    {sizeof(eng_plugin_option), 0, "svm", "auto",
     "auto: scratch memory that the host uses, too, where a device has fine-grained shared virtual memory; off: never"},
    {sizeof(eng_plugin_option), 0, "cache", "yes", "keep compiled kernels on disk: yes or no"},
};

static const eng_plugin_calls plugin_calls = {
    .size = sizeof(eng_plugin_calls),
    .open = plugin_open,
    .close = plugin_close,
    .enumerate = enumerate,
    .device_open = cl_device_opened,
};

const eng_device_calls cl_device_calls = {
    .size = sizeof(eng_device_calls),
    .close = cl_device_close,
    .info = cl_device_get_info,
    .supports = cl_supports,
    .store_create = cl_store_create,
    .store_destroy = cl_store_destroy,
    .store_upload = cl_store_upload,
    .store_download = cl_store_download,
    .plan_create = cl_plan_create,
    .plan_destroy = cl_plan_destroy,
    .instance_create = cl_instance_create,
    .instance_destroy = cl_instance_destroy,
    .queue_create = cl_queue_create,
    .queue_destroy = cl_queue_destroy,
    .submit = cl_queue_submit,
    .write = cl_queue_write,
    .read = cl_queue_read,
    .wait = cl_queue_wait,
    .value_read = cl_value_read,
    .value_write = cl_value_write,
    .value_map = cl_value_map,
    .stats = cl_device_get_stats,
    .plan_explain = cl_plan_explain,
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
    .device_calls = &cl_device_calls,
};
