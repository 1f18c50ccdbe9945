/* What a device can do, by asking it: never by the names of vendors. */
#include "../host.h"

static const struct { uint32_t bit; const char *name, *define; } names[] = {
    {CL_CAP_UNIFIED, "unified", NULL}, /* define: for kernels, NULL: none asks      */
    {CL_CAP_DIVIDE, "divide", NULL},
    {CL_CAP_INT_DOT, "int-dot", "HAVE_INT_DOT"},
    {CL_CAP_MMA, "mma", NULL},
    {CL_CAP_WMMA, "wmma", NULL},
    {CL_CAP_DOT4, "dot4", NULL},
    {CL_CAP_DOT2, "dot2", NULL},
    {CL_CAP_SHUFFLE, "shuffle", NULL},
    {CL_CAP_BF16, "bf16", NULL},
    {CL_CAP_TILES, "tiles", NULL},
};
enum { N_NAMES = sizeof names / sizeof names[0] };

bool cl_has_extension(cl_device_id id, const char *name)
{
    size_t bytes = 0, length = strlen(name);
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0)
        return false;
    char *list = calloc(1, bytes + 1);
    bool found = false;
    if (list && clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, list, NULL) == CL_SUCCESS)
        for (const char *p = list; (p = strstr(p, name)) && !found; p += length)
            found = (p == list || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0');
    free(list);
    return found;
}

void cl_caps_find(cl_device *device)
{
    cl_device_id id = device->id;
    cl_device_fp_config single = 0;
    cl_bool unified = CL_FALSE;
    clGetDeviceInfo(id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    clGetDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    uint32_t caps = unified ? CL_CAP_UNIFIED : 0;
    caps |= single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? CL_CAP_DIVIDE : 0;
    caps |= cl_has_extension(id, "cl_khr_integer_dot_product") ? CL_CAP_INT_DOT : 0;
    device->caps = caps;
}

/* list: "all", or names after which nothing else is kept, or "-name" to remove. */
bool cl_caps_mask(uint32_t *caps, const char *list)
{
    uint32_t keep = 0, drop = 0;
    bool only = false;
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " ,+");
        bool minus = n > 0 && *p == '-', known = n == 0 || (n == 3 && !strncmp(p, "all", 3));
        if (n == 4 && !strncmp(p, "none", 4))
            known = only = true;
        for (unsigned i = 0; i < N_NAMES; i++) {
            if (strlen(names[i].name) != n - minus || strncmp(p + minus, names[i].name, n - minus) != 0)
                continue;
            known = true;
            only |= !minus;
            *(minus ? &drop : &keep) |= names[i].bit;
        }
        if (!known)
            return false;
        p += n + (p[n] != '\0');
    }
    *caps &= (only ? keep : UINT32_MAX) & ~drop;
    return true;
}

bool cl_caps_allowed(const cl_device *device, uint32_t cap)
{
    const char *list = device->sv->option(device->sv->host, "capabilities");
    return !list || (cl_caps_mask(&cap, list) && cap);
}

void cl_caps_text(uint32_t caps, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < N_NAMES && at < bytes; i++)
        if (caps & names[i].bit)
            at += (size_t)snprintf(text + at, bytes - at, "%s%s", at ? " " : "", names[i].name);
}

void cl_caps_defines(const cl_device *device, char *text, size_t bytes)
{
    cl_uint width = 0; /* floats of a register: how many sums kernels of the vec family keep there (dots.clh) */
    clGetDeviceInfo(device->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, NULL);
    size_t at = (size_t)snprintf(text, bytes, "-cl-std=CL1.2 -w -D%s=1 -DMAX_GROUP=%zu -DWIDTH=%u",
                                 device->vec ? "VEC" : "SIMT", device->max_group, width >= 16 ? 16 : 8);
    for (unsigned i = 0; i < N_NAMES && at < bytes; i++)
        if ((device->caps & names[i].bit) && names[i].define)
            at += (size_t)snprintf(text + at, bytes - at, " -D%s=1", names[i].define);
    if (device->shuffle && at < bytes)
        at += (size_t)snprintf(text + at, bytes - at, " -DHAVE_SHUFFLE=%d", device->shuffle);
    if ((device->caps & CL_CAP_DIVIDE) && at < bytes)
        snprintf(text + at, bytes - at, " -cl-fp32-correctly-rounded-divide-sqrt");
}
