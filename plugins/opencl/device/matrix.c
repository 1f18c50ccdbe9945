/*
 * Has the device a matrix unit that does as kernels/fragments.clh says?  No query tells: it is tried, where the kernels of
 * cards run.  A compiler that does not know the instruction either says so or leaves the sums as they are.
 */
#include "../host.h"

enum { M = 16, N = 16, K = 16, GROUP = 64 };
/* What the tiles of matrix_tile.clh take, and more in C. */
enum { LEAST_LOCAL = 48 << 10, LEAST_LOCAL_IN_C = 64 << 10 };

/* Kinds of units, as -DMATRIX= has them, and what option `matrix` calls those that are not tried, or in C. */
static const struct { const char *word, *what; uint32_t cap; } kinds[] = {
    [1] = {"mma", "matrix unit (mma)", CL_CAP_MMA},
    [2] = {"in-c", "matrix unit in C", CL_CAP_MMA},
    [3] = {"wmma", "matrix unit (wmma or mfma)", CL_CAP_WMMA},
    [4] = {"wmma-in-c", "matrix unit in C, as of gfx11", CL_CAP_WMMA},
    [5] = {"wmma12-in-c", "matrix unit in C, as of gfx12", CL_CAP_WMMA},
    [6] = {"mfma-in-c", "matrix unit in C, as of gfx942", CL_CAP_WMMA},
    [7] = {"dpas-in-c", "matrix unit in C, as of Intel", CL_CAP_WMMA},
    [8] = {"dpas", "matrix unit (dpas)", CL_CAP_WMMA},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MMA = 1, WMMA = 3, DPAS = 8 };

static float a_of(int row, int k)
{
    return (float)((row * 3 + k) % 7 - 3);
}

static float b_of(int k, int column)
{
    return (float)((k * 5 + column) % 11 - 5);
}

/* Sums of small whole numbers are exact whatever the order; `unit`: what they are multiples of. */
static cl_int multiply(cl_device *device, cl_kernel kernel, float unit, bool *right)
{
    float sums[M * N];
    for (int i = 0; i < M * N; i++)
        sums[i] = (float)i * unit;
    const cl_int error = cl_trial_run(device, kernel, GROUP, sums, sizeof sums);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < M * N; i++) {
        float want = (float)i;
        for (int k = 0; k < K; k++)
            want += a_of(i / N, k) * b_of(k, i % N);
        *right = *right && sums[i] == want * unit;
    }
    return error;
}

static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    return multiply(device, kernel, 1.0f, right);
}

static cl_int multiplies_halves(cl_device *device, cl_kernel kernel, bool *right)
{
    return multiply(device, kernel, 0x1p-24f, right);
}

/* halves: f16, with numbers below the normal ones, which weights have; else bf16. */
static bool try_kind(cl_device *device, int kind, bool halves)
{
    char options[48], what[64];
    snprintf(options, sizeof options, "-DMATRIX=%d%s", kind, halves ? " -DMULTIPLY_F16=1" : "");
    snprintf(what, sizeof what, "%s%s", kinds[kind].what, halves ? ", f16" : "");
    return cl_trial(device, what, "matrix", options, halves ? multiplies_halves : multiplies);
}

static void take(cl_device *device, int kind, bool halves)
{
    device->matrix = kind;
    device->matrix_halves = halves;
    device->caps |= kinds[kind].cap;
}

static void find_unit(cl_device *device)
{
    const bool dpas = cl_has_extension(device->id, "cl_intel_subgroup_matrix_multiply_accumulate");
    const int natives[] = {dpas ? DPAS : MMA, WMMA};
    for (size_t i = 0; i < sizeof natives / sizeof *natives && !device->matrix; i++)
        if (cl_caps_allowed(device, kinds[natives[i]].cap) && try_kind(device, natives[i], false))
            take(device, natives[i], try_kind(device, natives[i], true));
}

int cl_matrix_find(cl_device *device)
{
    const char *word = device->sv->option(device->sv->host, "matrix");
    const bool possible = !device->vec && device->max_group >= 256 && device->local_bytes >= LEAST_LOCAL;
    int kind = 1;
    if (!word || !*word || !strcmp(word, "auto")) {
        if (possible && device->info.kind == ENG_DEVICE_GPU)
            find_unit(device);
        return ENG_OK;
    }
    if (!strcmp(word, "no"))
        return ENG_OK;
    while (kind < N_KINDS && strcmp(word, kinds[kind].word) != 0)
        kind++;
    if (kind == N_KINDS)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.matrix is '%s'; it takes auto, no, mma, wmma, dpas, in-c, "
                       "wmma-in-c, wmma12-in-c, mfma-in-c or dpas-in-c", word);
    const bool native = kind == MMA || kind == WMMA || kind == DPAS;
    if (device->vec)
        return ENG_OK; /* kernels of processors have no use for it */
    if (!possible || (!native && device->local_bytes < LEAST_LOCAL_IN_C))
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "opencl.matrix = %s" ENG_CAUSE "its tiles need groups of 256 and %d KiB of "
                       "local memory; %s has groups of %zu and %llu KiB" ENG_ADVICE "use auto or no", word,
                       (native ? LEAST_LOCAL : LEAST_LOCAL_IN_C) >> 10, device->info.name, device->max_group,
                       (unsigned long long)device->local_bytes >> 10);
    if (!native && (!try_kind(device, kind, false) || !try_kind(device, kind, true)))
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "opencl.matrix = %s" ENG_CAUSE "%s does not multiply right" ENG_ADVICE
                       "use auto or no", word, kinds[kind].what);
    take(device, kind, true);
    return ENG_OK;
}
