/* What the device can do at most, by kernels/roof.cl: the best of several passes. */
#include "../host.h"

#define BYTES ((uint64_t)256 << 20)
#define PASSES 6 /* the first one pays for the compiler and for pages */
#define LEAST_ROUNDS 200u
#define MOST_ROUNDS 200000u
#define PASS_NS 30e6 /* of what computes */
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

/* Operations of a work-item in a round with one sum; of a matrix unit 4096 by 32 work-items. */
static double operations_of(const cl_device *device, uint32_t what)
{
    switch (what) {
    case ENG_ROOF_INT8: return device->vec ? 64 : 8;
    case ENG_ROOF_DOT: return device->vec && device->caps & CL_CAP_DOT4 ? 128 : 8;
    case ENG_ROOF_MATRIX: return device->vec ? 16384 : 128; /* rounds are of so many (roof.cl) */
    default: return device->vec ? 32 : 8;
    }
}

/* So many that a pass takes its time and no more, whatever the device; their argument has number 1. */
static cl_int choose_rounds(const trial *t, cl_ulong *rounds)
{
    cl_int error = run_once(t); /* pays for the compiler */
    const uint64_t begin = eu_now();
    error = error ? error : run_once(t);
    const double most = PASS_NS / (double)(eu_now() - begin + 1) * (double)*rounds;
    *rounds = most < *rounds ? *rounds : most < MOST_ROUNDS ? (cl_ulong)most : MOST_ROUNDS;
    return error ? error : clSetKernelArg(t->kernel, 1, sizeof *rounds, rounds);
}

/* All kernels that compute have the same arguments. */
static int try_computing(trial *t, uint32_t what, unsigned chains, double *per_second)
{
    cl_device *device = t->device;
    cl_ulong rounds = LEAST_ROUNDS;
    const cl_float half = 0.5f, one = 1.0f;
    cl_uint n = 0;
    t->items = (size_t)device->compute_units * 8 * t->group;
    int status = cl_block_create(device, t->items * sizeof(float), false, "measuring a roof", &t->to);
    if (status != ENG_OK)
        return status;
    cl_int error = give(t->kernel, &n, sizeof t->to.mem, &t->to.mem);
    error = error ? error : give(t->kernel, &n, sizeof rounds, &rounds);
    error = error ? error : give(t->kernel, &n, sizeof half, &half);
    error = error ? error : give(t->kernel, &n, sizeof one, &one);
    error = error ? error : choose_rounds(t, &rounds);
    t->work = operations_of(device, what) * chains * (double)rounds * (double)t->items;
    return error ? cl_failed(device, error, "measuring a roof") : measure(t, per_second);
}

static int try_kernel(cl_device *device, uint32_t what, unsigned chains, double *per_second)
{
    static const char *const names[] = {[ENG_ROOF_READ] = "read_all", [ENG_ROOF_COPY] = "copy_all", [ENG_ROOF_FMA] = "fma_all",
                                         [ENG_ROOF_INT8] = "int8_all", [ENG_ROOF_DOT] = "int8_all", [ENG_ROOF_MATRIX] = "matrix_all"};
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
    const int n = snprintf(options, sizeof options, "-DCHAINS=%u", chains);
    if (what == ENG_ROOF_DOT)
        snprintf(options + n, sizeof options - (size_t)n, "%s", device->caps & CL_CAP_DOT4 ? " -DDOT4=1" : " -DDOT=1");
    else if (what == ENG_ROOF_MATRIX && device->vec)
        snprintf(options + n, sizeof options - (size_t)n, " -DTILES_UNIT=1");
    else if (what == ENG_ROOF_MATRIX)
        snprintf(options + n, sizeof options - (size_t)n, " -DMATRIX=%d", device->matrix);
    int status = cl_program_get(device, "roof", options, NULL, NULL, &program);
    if (status == ENG_OK)
        status = cl_program_kernel(device, program, names[what], &t.kernel);
    if (status != ENG_OK)
        return status;
    status = what >= ENG_ROOF_FMA ? try_computing(&t, what, chains, per_second)
                                  : try_memory(&t, what == ENG_ROOF_COPY, bytes, per_second);
    cl_block_destroy(&t.from);
    cl_block_destroy(&t.to);
    clReleaseKernel(t.kernel);
    return status;
}

int cl_device_roof(eng_device_state *device, uint32_t what, double *per_second)
{
    static const unsigned chains[] = {6, 7, 12}; /* what 16 and 32 registers hold; the best of them */
    const uint32_t matrix = CL_CAP_MMA | CL_CAP_WMMA | CL_CAP_TILES;
    const uint32_t units = what == ENG_ROOF_DOT ? CL_CAP_INT_DOT | CL_CAP_DOT4 : what == ENG_ROOF_MATRIX ? matrix : 0;
    const uint32_t caps = device->caps | (what == ENG_ROOF_MATRIX ? cl_tiles_caps(device) : 0);
    double best = 0, found = 0;
    int status = ENG_OK;
    if (units && !(caps & units))
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "it has no %s", device->info.name,
                       what == ENG_ROOF_DOT ? "integer dot product" : "matrix unit that kernels use");
    if (what < ENG_ROOF_READ || what > ENG_ROOF_MATRIX)
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "it measures no roof number %u", device->info.name,
                       (unsigned)what);
    const size_t n = what >= ENG_ROOF_FMA ? sizeof chains / sizeof *chains : 1;
    for (size_t i = 0; i < n && status == ENG_OK; i++) {
        status = try_kernel(device, what, chains[i], &found);
        best = found > best ? found : best;
    }
    if (status == ENG_OK)
        *per_second = best;
    return status;
}
