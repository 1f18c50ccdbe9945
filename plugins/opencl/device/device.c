/* Devices: describing them, opening one or a part of one, closing. */
#include "../host.h"

#ifndef CL_DEVICE_UUID_KHR
#define CL_DEVICE_UUID_KHR 0x106A
#endif
#ifndef CL_DEVICE_PCI_BUS_ID_NV
#define CL_DEVICE_PCI_BUS_ID_NV 0x4008
#define CL_DEVICE_PCI_SLOT_ID_NV 0x4009
#endif

/* A text property without leading blanks; "" if there is none. */
static void text_of(cl_device_id id, cl_uint property, char *text, size_t bytes)
{
    char buffer[512] = "";
    if (clGetDeviceInfo(id, property, sizeof buffer - 1, buffer, NULL) != CL_SUCCESS)
        buffer[0] = '\0';
    const char *p = buffer + strspn(buffer, " ");
    snprintf(text, bytes, "%s", p);
}

static void identity_of(cl_device_id id, char *text, size_t bytes)
{
    unsigned char uuid[16];
    cl_uint bus, slot;
    text[0] = '\0';
    if (cl_has_extension(id, "cl_khr_device_uuid") &&
        clGetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof uuid, uuid, NULL) == CL_SUCCESS) {
        for (unsigned i = 0; i < 16; i++)
            snprintf(text + 2 * i, bytes - 2 * i, "%02x", uuid[i]);
    } else if (cl_has_extension(id, "cl_nv_device_attribute_query") &&
               clGetDeviceInfo(id, CL_DEVICE_PCI_BUS_ID_NV, sizeof bus, &bus, NULL) == CL_SUCCESS &&
               clGetDeviceInfo(id, CL_DEVICE_PCI_SLOT_ID_NV, sizeof slot, &slot, NULL) == CL_SUCCESS) {
        snprintf(text, bytes, "pci %02x:%02x", bus, slot);
    }
}

static cl_device_type type_of(cl_device_id id)
{
    cl_device_type type = 0;
    clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type;
}

/* All of info but what depends on how the device is opened. */
static void describe(const cl_found *found, cl_device_id id, eng_device_info *info)
{
    cl_ulong memory = 0, largest = 0;
    cl_uint units = 1, align_bits = 0;
    cl_device_type type = type_of(id);
    char platform[256] = "", driver[128];
    clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL);
    clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL);
    clGetPlatformInfo(found->platform, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    text_of(id, CL_DRIVER_VERSION, driver, sizeof driver);
    *info = (eng_device_info){.size = sizeof *info};
    info->kind = type & CL_DEVICE_TYPE_GPU ? ENG_DEVICE_GPU
               : type & CL_DEVICE_TYPE_CPU ? ENG_DEVICE_CPU : ENG_DEVICE_ACCELERATOR;
    info->compute_units = units;
    info->memory_total = memory;
    info->memory_free = memory;
    info->max_allocation = largest;
    info->alignment = CL_ALIGN;
    text_of(id, CL_DEVICE_NAME, info->description, sizeof info->description);
    snprintf(info->driver, sizeof info->driver, "%.60s %.60s", platform, driver);
    identity_of(id, info->identity, sizeof info->identity);
}

static int parse_bytes(const eng_services *sv, const char *option, const char *text, uint64_t *bytes)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 10);
    static const char suffixes[] = "kKmMgG";
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    unsigned shift = suffix ? 10u * (unsigned)((suffix - suffixes) / 2 + 1) : 0;
    if (end == text || text[0] == '-' || end[shift != 0] != '\0' || v > UINT64_MAX >> shift)
        return sv->fail(sv->host, ENG_ERR_INVALID, "opencl.%s is '%s'; it takes bytes, such as 65536, 512M or 2G", option,
                        text);
    *bytes = (uint64_t)v << shift;
    return ENG_OK;
}

/* The memory that the host says all devices have, instead of what they say. */
static int pretend_memory(const eng_services *sv, eng_device_info *info)
{
    const char *text = sv->option(sv->host, "memory");
    uint64_t bytes = 0;
    int status = text && *text ? parse_bytes(sv, "memory", text, &bytes) : ENG_OK;
    if (status == ENG_OK && bytes)
        info->memory_total = info->memory_free = bytes;
    return status;
}

static bool wants_svm(const eng_services *sv)
{
    const char *svm = sv->option(sv->host, "svm");
    return !svm || strcmp(svm, "off") != 0;
}

/* May a kernel of the queue be a function of the host's?  (OpenCL 1.2, 5.12; graphics cards have no such.) */
static bool calls_host(cl_device_id id)
{
    cl_device_exec_capabilities can = 0;
    return clGetDeviceInfo(id, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL) == CL_SUCCESS &&
           (can & CL_EXEC_NATIVE_KERNEL);
}

static void say_capabilities(const cl_device *device, eng_device_info *info)
{
    cl_caps_text(device->caps, info->capabilities, sizeof info->capabilities);
    size_t at = strlen(info->capabilities);
    snprintf(info->capabilities + at, sizeof info->capabilities - at, "%s%s", at ? " " : "", device->vec ? "vec" : "simt");
}

static void find_limits(cl_device *device);
static int read_options(cl_device *device);

int cl_device_describe(const eng_services *sv, const cl_found *found, uint32_t index, eng_device_info *info)
{
    eng_device_info i;
    describe(found, found->id, &i);
    int status = pretend_memory(sv, &i);
    if (status != ENG_OK)
        return status;
    snprintf(i.name, sizeof i.name, "opencl:%u", index);
    cl_device device = {.id = found->id, .sv = sv, .info = i};
    find_limits(&device);
    cl_caps_find(&device);
    if (found->refused[0])
        snprintf(i.capabilities, sizeof i.capabilities, "unusable: %s", found->refused);
    else if (read_options(&device) == ENG_OK) /* as the device says when it is open; else opening it tells what is wrong */
        say_capabilities(&device, &i);
    i.flags |= ENG_DEVICE_ASYNCHRONOUS;
    if ((device.caps & CL_CAP_UNIFIED) && wants_svm(sv) && cl_svm_found(found->id))
        i.flags |= ENG_DEVICE_HOST_MEMORY;
    if (calls_host(found->id))
        i.flags |= ENG_DEVICE_HOST_CALLS;
    *info = i;
    return ENG_OK;
}

/* -- parts ------------------------------------------------------------------- */

/*
 * Sub-devices stay for the life of the process and serve every later opening: a
 * driver's own threads may look at one for a moment after the last object that
 * used it was released (PoCL's do when they let go of an event).
 */
typedef struct cl_parts {
    struct cl_parts *next;
    cl_device_id whole;
    uint32_t n;
    cl_device_id part[ENG_MAX_RANKS];
} cl_parts;
static cl_parts *all_parts;
static pthread_mutex_t parts_lock = PTHREAD_MUTEX_INITIALIZER;

/* Asked before it is tried: drivers without sub-devices may lack the call itself, and the loader then jumps to NULL. */
static bool can_cut(cl_device_id whole, cl_device_partition_property way, uint32_t n)
{
    cl_device_partition_property ways[16] = {0};
    cl_uint most = 0;
    size_t bytes = 0;
    if (clGetDeviceInfo(whole, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL) != CL_SUCCESS ||
        most < n || clGetDeviceInfo(whole, CL_DEVICE_PARTITION_PROPERTIES, sizeof ways, ways, &bytes) != CL_SUCCESS)
        return false;
    for (size_t i = 0; i < bytes / sizeof *ways; i++)
        if (ways[i] == way)
            return true;
    return false;
}

static bool create_parts(cl_parts *p, uint32_t units)
{
    cl_device_partition_property how[ENG_MAX_RANKS + 3];
    cl_uint made = 0;
    uint32_t n = 0;
    how[n++] = CL_DEVICE_PARTITION_BY_COUNTS;
    for (uint32_t i = 0; i < p->n; i++)
        how[n++] = (cl_device_partition_property)(units / p->n + (i < units % p->n));
    how[n++] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
    how[n] = 0;
    if (can_cut(p->whole, how[0], p->n) && clCreateSubDevices(p->whole, how, p->n, p->part, &made) == CL_SUCCESS)
        return made >= p->n;
    how[0] = CL_DEVICE_PARTITION_EQUALLY;
    how[1] = (cl_device_partition_property)(units / p->n);
    how[2] = 0;
    return units % p->n == 0 && can_cut(p->whole, how[0], p->n) &&
           clCreateSubDevices(p->whole, how, p->n, p->part, &made) == CL_SUCCESS && made >= p->n;
}

/* NULL: the device cannot be cut, or there is no memory. */
static const cl_parts *find_parts(cl_device_id whole, uint32_t n, uint32_t units)
{
    pthread_mutex_lock(&parts_lock);
    cl_parts *p = all_parts;
    while (p && (p->whole != whole || p->n != n))
        p = p->next;
    if (!p && (p = calloc(1, sizeof *p))) {
        p->whole = whole;
        p->n = n;
        if (create_parts(p, units)) {
            p->next = all_parts;
            all_parts = p;
        } else {
            free(p);
            p = NULL;
        }
    }
    pthread_mutex_unlock(&parts_lock);
    return p;
}

/*
 * Part `part` of `parts` as a sub-device with its share of the compute units.
 * A device that cannot be cut, or has too few units, is used whole by every part
 * (each has a queue of its own).
 */
static void cut(cl_device *device, uint32_t parts, uint32_t part, uint32_t units)
{
    if (parts > ENG_MAX_RANKS || units < parts)
        return;
    const cl_parts *p = find_parts(device->id, parts, units);
    if (p)
        device->id = p->part[part];
}

/* Local memory that the simt kernels may take, which is the least that a full profile has; the vec
 * kernels need none. */
#define SIMT_LOCAL 32768u
#define SIMT_GROUP 64u /* work-items of a group, likewise */

/* -- options ------------------------------------------------------------------ */

static int yes_or_no(cl_device *device, const char *option, bool otherwise, bool *answer)
{
    const char *text = device->sv->option(device->sv->host, option);
    if (text && *text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.%s is '%s'; it takes yes or no", option, text);
    *answer = text && *text ? !strcmp(text, "yes") : otherwise;
    return ENG_OK;
}

/* Half of the cache that the device names; what is read on the way takes the other half. */
static uint64_t half_cache(const cl_device *device)
{
    cl_ulong cache = 0;
    clGetDeviceInfo(device->id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache, &cache, NULL);
    return cache ? cache / 2 : UINT64_MAX;
}

static int read_series(cl_device *device)
{
    const char *text = device->sv->option(device->sv->host, "series");
    device->series = text && !strcmp(text, "yes") ? CL_SERIES_YES : text && !strcmp(text, "no") ? CL_SERIES_NO : CL_SERIES_AUTO;
    if (text && *text && strcmp(text, "auto") != 0 && device->series == CL_SERIES_AUTO)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.series is '%s'; it takes auto, yes or no", text);
    return ENG_OK;
}

static int read_options(cl_device *device)
{
    const eng_services *sv = device->sv;
    const char *family = sv->option(sv->host, "family"), *caps = sv->option(sv->host, "capabilities");
    const char *largest = sv->option(sv->host, "max_alloc");
    uint64_t limit = 0;
    int status = yes_or_no(device, "fuse", true, &device->fuse);
    if (status == ENG_OK)
        status = yes_or_no(device, "apart", false, &device->apart);
    if (status == ENG_OK)
        status = yes_or_no(device, "profile", false, &device->profile);
    if (status == ENG_OK)
        status = yes_or_no(device, "cache", true, &device->cached);
    if (status == ENG_OK)
        status = cl_share_options(device);
    if (status == ENG_OK)
        status = read_series(device);
    if (status != ENG_OK)
        return status;
    if (family && !strcmp(family, "vec"))
        device->vec = true;
    else if (family && !strcmp(family, "simt"))
        device->vec = false;
    else if (family && *family && strcmp(family, "auto") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.family is '%s'; it takes auto, vec or simt", family);
    if (!device->vec && (device->local_bytes < SIMT_LOCAL || device->max_group < SIMT_GROUP))
        return cl_fail(device, ENG_ERR_UNSUPPORTED,
                       "opencl.family is 'simt', whose kernels need %u bytes of local memory and groups of %u; %s has %llu "
                       "and %zu: leave it at auto",
                       SIMT_LOCAL, SIMT_GROUP, device->info.name, (unsigned long long)device->local_bytes,
                       device->max_group);
    if (caps && !cl_caps_mask(&device->caps, caps)) {
        char all[128];
        cl_caps_text(UINT32_MAX, all, sizeof all);
        return cl_fail(device, ENG_ERR_INVALID,
                       "opencl.capabilities is '%s'; it takes all, none, names to keep or -names to drop, of: %s", caps,
                       all);
    }
    const char *svm = sv->option(sv->host, "svm");
    if (svm && strcmp(svm, "auto") != 0 && strcmp(svm, "off") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.svm is '%s'; it takes auto or off", svm);
    device->svm = (device->caps & CL_CAP_UNIFIED) && !device->apart && wants_svm(sv) && cl_svm_found(device->id);
    const char *stream = sv->option(sv->host, "stream");
    if (stream && *stream && strcmp(stream, "auto") != 0 && strcmp(stream, "yes") != 0 && strcmp(stream, "no") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.stream is '%s'; it takes auto, yes or no", stream);
    device->stream_least = stream && !strcmp(stream, "yes") ? 0 : stream && !strcmp(stream, "no") ? UINT64_MAX : half_cache(device);
    if (largest && *largest && strcmp(largest, "0") != 0) {
        status = parse_bytes(sv, "max_alloc", largest, &limit);
        if (status != ENG_OK)
            return status;
        if (limit < CL_ALIGN)
            return cl_fail(device, ENG_ERR_INVALID, "opencl.max_alloc is %llu bytes; at least %u are needed",
                           (unsigned long long)limit, CL_ALIGN);
        if (limit < device->max_alloc)
            device->max_alloc = limit;
    }
    device->max_alloc = device->max_alloc / CL_ALIGN * CL_ALIGN;
    device->hard_limit = device->hard_limit / CL_ALIGN * CL_ALIGN;
    return ENG_OK;
}

static void find_limits(cl_device *device)
{
    cl_device_id id = device->id;
    cl_ulong local = 0;
    cl_uint width = 0;
    size_t items[3] = {1, 1, 1};
    clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof device->max_group, &device->max_group, NULL);
    clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL);
    clGetDeviceInfo(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, NULL);
    if (items[0] && items[0] < device->max_group)
        device->max_group = items[0];
    device->local_bytes = local;
    device->compute_units = device->info.compute_units;
    device->max_alloc = device->info.max_allocation ? device->info.max_allocation : 1u << 30;
    device->hard_limit = device->max_alloc;
    /* A processor without vectors of its own, as its driver says, runs work-items side by side in its registers. */
    device->side_by_side = device->info.kind == ENG_DEVICE_CPU && width == 1;
    device->vec = (device->info.kind == ENG_DEVICE_CPU && !device->side_by_side) || local < SIMT_LOCAL ||
                  device->max_group < SIMT_GROUP;
}

/* What the cache of binaries is keyed by, besides source and options. */
static void make_key(cl_device *device, const cl_found *found)
{
    char platform[160] = "", version[96], name[160], driver[96];
    clGetPlatformInfo(found->platform, CL_PLATFORM_VERSION, sizeof platform - 1, platform, NULL);
    text_of(device->id, CL_DEVICE_VERSION, version, sizeof version);
    text_of(device->id, CL_DEVICE_NAME, name, sizeof name);
    text_of(device->id, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(device->key, sizeof device->key, "%s|%s|%s|%s|%u", platform, version, name, driver, device->compute_units);
}

static cl_context new_context(const cl_device *device, const cl_found *found, cl_int *error)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)found->platform, 0};
    return clCreateContext(properties, 1, &device->id, NULL, NULL, error);
}

/* Drivers let a card's contexts take turns, so that parts of a card in contexts of their own would wait for one another.
 * Whoever has the whole device, or a part of it that OpenCL knows nothing of, shares one. */
static cl_int find_context(cl_device *device, cl_found *found)
{
    cl_int error = CL_SUCCESS;
    if (device->id != found->id) {
        device->context = new_context(device, found, &error);
        return error;
    }
    pthread_mutex_lock(&device->plugin->found_lock);
    if (found->openings == 0)
        found->context = new_context(device, found, &error);
    if (found->context && (found->openings == 0 || (error = clRetainContext(found->context)) == CL_SUCCESS)) {
        device->context = found->context;
        found->openings++;
    }
    pthread_mutex_unlock(&device->plugin->found_lock);
    return error;
}

static void leave_context(cl_device *device)
{
    cl_found *found = device->found;
    if (!device->context)
        return;
    pthread_mutex_lock(&device->plugin->found_lock);
    if (device->context == found->context && --found->openings == 0)
        found->context = NULL;
    pthread_mutex_unlock(&device->plugin->found_lock);
    clReleaseContext(device->context);
}

static int open_context(cl_device *device, cl_found *found)
{
    cl_int error = find_context(device, found);
    if (!device->context)
        return cl_failed(device, error, "clCreateContext");
    device->transfer = clCreateCommandQueue(device->context, device->id, 0, &error);
    if (!device->transfer)
        return cl_failed(device, error, "clCreateCommandQueue");
    return ENG_OK;
}

static int set_up(cl_device *device, cl_found *found, const eng_device_request *request)
{
    describe(found, device->id, &device->info);
    snprintf(device->info.name, sizeof device->info.name, "%s",
             request->name && *request->name ? request->name : "opencl");
    if (found->refused[0])
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s (%s) cannot be used" ENG_CAUSE "%s", device->info.name,
                       device->info.description, found->refused);
    int status = pretend_memory(device->sv, &device->info);
    if (status != ENG_OK)
        return status;
    const uint64_t total = device->whole_memory = device->info.memory_total;
    device->parts = request->parts > 1 ? request->parts : 1;
    if (request->parts > 1) {
        char name[64];
        memcpy(name, device->info.name, sizeof name);
        cut(device, request->parts, request->part, device->info.compute_units);
        describe(found, device->id, &device->info);
        memcpy(device->info.name, name, sizeof name);
        device->info.memory_total = device->info.memory_free = total / request->parts;
    }
    find_limits(device);
    cl_caps_find(device);
    status = read_options(device);
    if (status != ENG_OK)
        return status;
    device->info.max_allocation = device->max_alloc;
    device->info.flags |= ENG_DEVICE_ASYNCHRONOUS;
    if (device->svm)
        device->info.flags |= ENG_DEVICE_HOST_MEMORY;
    if (calls_host(device->id) && !device->profile) /* times are taken section by section */
        device->info.flags |= ENG_DEVICE_HOST_CALLS;
    cl_caps_defines(device, device->options, sizeof device->options);
    make_key(device, found);
    device->bare = device->info.kind == ENG_DEVICE_CPU; /* what is known to gain by it is processors' */
    status = open_context(device, found);
    if (status == ENG_OK)
        status = cl_loops_check(device);
    if (status == ENG_OK) { /* kernels are told of it: before any other program */
        status = cl_shuffle_find(device);
        cl_caps_defines(device, device->options, sizeof device->options);
    }
    if (status == ENG_OK)
        status = cl_matrix_find(device);
    if (status == ENG_OK)
        status = cl_dot4_find(device);
    if (status == ENG_OK)
        status = cl_dot2_options(device);
    if (status == ENG_OK)
        status = cl_bf16_options(device);
    if (status == ENG_OK)
        status = cl_tiles_options(device);
    if (status == ENG_OK)
        say_capabilities(device, &device->info); /* with what only trying tells */
    return status;
}

int cl_device_opened(eng_plugin_state *plugin, const eng_device_request *request, eng_device_state **device)
{
    const eng_services *sv = plugin->sv;
    int status = cl_search(plugin);
    if (status != ENG_OK)
        return status;
    if (request->index >= plugin->n)
        return sv->fail(sv->host, ENG_ERR_NOTFOUND, "%s" ENG_CAUSE "there are %u OpenCL devices, numbered from 0",
                        request->name ? request->name : "opencl", plugin->n);
    if (request->parts > 1 && request->part >= request->parts)
        return sv->fail(sv->host, ENG_ERR_INVALID, "part %u of %u", request->part, request->parts);
    cl_device *d = calloc(1, sizeof *d);
    if (!d)
        return sv->fail_code(sv->host, EU_NO_MEMORY("opencl"));
    d->plugin = plugin;
    d->sv = sv;
    d->found = &plugin->found[request->index]; /* found once: it stays where it is */
    d->id = d->found->id;
    pthread_mutex_init(&d->programs_lock, NULL);
    pthread_mutex_init(&d->trials_lock, NULL);
    status = set_up(d, d->found, request);
    if (status != ENG_OK) {
        cl_device_close(d);
        return status;
    }
    *device = d;
    return ENG_OK;
}

void cl_device_close(eng_device_state *device)
{
    if (!device)
        return;
    cl_keeper_end(device);
    cl_programs_release(device);
    if (device->transfer)
        clReleaseCommandQueue(device->transfer);
    leave_context(device);
    pthread_mutex_destroy(&device->programs_lock);
    pthread_mutex_destroy(&device->trials_lock);
    free(device);
}

int cl_device_stats(eng_device_state *device, eng_device_stats *stats)
{
    cl_figures *f = &device->figures;
    const eng_device_stats own = {.size = sizeof own,
                                  .bytes_weights = f->bytes[ENG_USE_WEIGHT],
                                  .bytes_cache = f->bytes[ENG_USE_CACHE],
                                  .bytes_state = f->bytes[ENG_USE_STATE],
                                  .bytes_io = f->bytes[0] + f->bytes[ENG_USE_INPUT] + f->bytes[ENG_USE_OUTPUT],
                                  .bytes_compute = f->bytes[CL_USE_SCRATCH],
                                  .submits = f->submits,
                                  .plans_built = f->plans_built,
                                  .compiled = f->compiled,
                                  .share = 1};
    eu_give_stats(stats, &own);
    return ENG_OK;
}
