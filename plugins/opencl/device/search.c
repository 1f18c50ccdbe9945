/* The search for devices on all platforms. */
#include "../host.h"

#include <dirent.h>

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
    if (!ids || !eu_reserve(plugin->found, plugin->found_room, (size_t)plugin->n + n)) {
        free(ids);
        return plugin->sv->fail_code(plugin->sv->host, EU_NO_MEMORY("opencl"));
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
        status = plugin->sv->fail_code(plugin->sv->host, EU_NO_MEMORY("opencl"));
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
