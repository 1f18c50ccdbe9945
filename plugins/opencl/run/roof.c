/* What the device can do at most, by kernels/roof.cl: the best of several passes. */
#include "../host.h"

#define BYTES ((uint64_t)256 << 20)
#define PASSES 6 /* the first one pays for the compiler and for pages */
#define ROUNDS 200000u
#define EACH 4096u /* vectors of a work-item (vec): 256 KiB */

typedef struct trial {
    cl_device *device;
    cl_kernel kernel;
    cl_block from, to;
    size_t items, group;
    double work; /* bytes or operations of a pass */
} trial;

static cl_int run_once(const trial *t)
{
    cl_event done = NULL;
    cl_int error = clEnqueueNDRangeKernel(t->device->transfer, t->kernel, 1, NULL, &t->items, &t->group, 0, NULL, &done);
    if (error == CL_SUCCESS)
        error = clFlush(t->device->transfer);
    return cl_event_settle(&done, error);
}

static int measure(const trial *t, double *per_second)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < PASSES; i++) {
        uint64_t begin = eu_now();
        cl_int error = run_once(t);
        if (error != CL_SUCCESS)
            return cl_failed(t->device, error, "measuring a roof");
        uint64_t took = eu_now() - begin;
        best = took < best && i > 0 ? took : best;
    }
    *per_second = t->work / ((double)best * 1e-9);
    return ENG_OK;
}

static cl_int give(cl_kernel kernel, cl_uint *n, size_t bytes, const void *value)
{
    return clSetKernelArg(kernel, (*n)++, bytes, value);
}

/* read_all and copy_all have the same arguments. */
static int try_memory(trial *t, bool copy, uint64_t bytes, double *per_second)
{
    cl_device *device = t->device;
    const cl_ulong vectors = bytes / (device->vec ? 64 : 16), each = EACH;
    cl_uint n = 0;
    t->items = device->vec ? (size_t)(vectors / EACH) : (size_t)device->compute_units * 8 * t->group;
    t->work = (copy ? 2.0 : 1.0) * (double)bytes;
    int status = cl_block_create(device, bytes, false, "measuring a roof", &t->from);
    if (status == ENG_OK)
        status = cl_block_create(device, copy ? bytes : t->items * sizeof(float), true, "measuring a roof", &t->to);
    if (status != ENG_OK)
        return status;
    const cl_float any = 1.0f; /* a system may have one page of zeros for all that was never written */
    cl_event done = NULL;
    cl_int error = clEnqueueFillBuffer(device->transfer, t->from.mem, &any, sizeof any, 0, (size_t)bytes, 0, NULL, &done);
    error = cl_event_settle(&done, error);
    error = error ? error : give(t->kernel, &n, sizeof t->from.mem, &t->from.mem);
    error = error ? error : give(t->kernel, &n, sizeof t->to.mem, &t->to.mem);
    error = error ? error : give(t->kernel, &n, sizeof vectors, &vectors);
    error = error ? error : give(t->kernel, &n, sizeof each, &each);
    return error ? cl_failed(device, error, "measuring a roof") : measure(t, per_second);
}

static int try_fma(trial *t, unsigned chains, double *per_second)
{
    cl_device *device = t->device;
    const cl_ulong rounds = ROUNDS;
    const cl_float half = 0.5f, one = 1.0f;
    cl_uint n = 0;
    t->items = (size_t)device->compute_units * 8 * t->group;
    t->work = 2.0 * chains * (device->vec ? 16 : 4) * ROUNDS * (double)t->items;
    int status = cl_block_create(device, t->items * sizeof(float), false, "measuring a roof", &t->to);
    if (status != ENG_OK)
        return status;
    cl_int error = give(t->kernel, &n, sizeof t->to.mem, &t->to.mem);
    error = error ? error : give(t->kernel, &n, sizeof rounds, &rounds);
    error = error ? error : give(t->kernel, &n, sizeof half, &half);
    error = error ? error : give(t->kernel, &n, sizeof one, &one);
    return error ? cl_failed(device, error, "measuring a roof") : measure(t, per_second);
}

static int try_kernel(cl_device *device, uint32_t what, unsigned chains, double *per_second)
{
    static const char *const names[] = {[ENG_ROOF_READ] = "read_all", [ENG_ROOF_COPY] = "copy_all", [ENG_ROOF_FMA] = "fma_all"};
    trial t = {.device = device, .group = device->vec ? 1 : 256};
    cl_program_entry *program;
    char options[32];
    uint64_t bytes = BYTES;
    while (bytes > device->max_alloc)
        bytes /= 2;
    if (t.group > device->max_group || bytes < EACH * 64)
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "its roofs are measured by groups of %zu work-items on "
                       "buffers of at least %u bytes; it has groups of %zu, buffers of %llu", device->info.name, t.group,
                       EACH * 64, device->max_group, (unsigned long long)device->max_alloc);
    snprintf(options, sizeof options, "-DCHAINS=%u", chains);
    int status = cl_program_get(device, "roof", options, NULL, NULL, &program);
    if (status == ENG_OK)
        status = cl_program_kernel(device, program, names[what], &t.kernel);
    if (status != ENG_OK)
        return status;
    status = what == ENG_ROOF_FMA ? try_fma(&t, chains, per_second) : try_memory(&t, what == ENG_ROOF_COPY, bytes, per_second);
    cl_block_destroy(&t.from);
    cl_block_destroy(&t.to);
    clReleaseKernel(t.kernel);
    return status;
}

int cl_device_roof(eng_device_state *device, uint32_t what, double *per_second)
{
    static const unsigned chains[] = {6, 7, 12}; /* what 16 and 32 registers hold; the best of them */
    double best = 0, found = 0;
    int status = ENG_OK;
    if (what < ENG_ROOF_READ || what > ENG_ROOF_FMA)
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "it measures no roof number %u", device->info.name,
                       (unsigned)what);
    const size_t n = what == ENG_ROOF_FMA ? sizeof chains / sizeof *chains : 1;
    for (size_t i = 0; i < n && status == ENG_OK; i++) {
        status = try_kernel(device, what, chains[i], &found);
        best = found > best ? found : best;
    }
    if (status == ENG_OK)
        *per_second = best;
    return status;
}
