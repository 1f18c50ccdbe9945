/*
 * Has the device a matrix unit that does as kernels/matrix.clh says?  No query tells: it is tried, where the kernels of
 * cards run.  A compiler that does not know the instruction either says so or leaves the sums as they are.
 */
#include "../host.h"

enum { M = 16, N = 8, K = 16, GROUP = 32 };
/* What the tiles of matrix_tile.clh take; in C a little more. */
enum { LEAST_LOCAL = 48 << 10 };

static float a_of(int row, int k)
{
    return (float)((row * 3 + k) % 7 - 3);
}

static float b_of(int k, int column)
{
    return (float)((k * 5 + column) % 11 - 5);
}

/* Sums of small whole numbers are exact whatever the order. */
static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    float sums[M * N];
    for (int i = 0; i < M * N; i++)
        sums[i] = (float)i;
    const cl_int error = cl_trial_run(device, kernel, GROUP, sums, sizeof sums);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < M * N; i++) {
        float want = (float)i;
        for (int k = 0; k < K; k++)
            want += a_of(i / N, k) * b_of(k, i % N);
        *right = *right && sums[i] == want;
    }
    return error;
}

int cl_matrix_find(cl_device *device)
{
    const char *word = device->sv->option(device->sv->host, "matrix");
    const bool possible = !device->vec && device->max_group >= 256 && device->local_bytes >= LEAST_LOCAL;
    if (!word || !*word || !strcmp(word, "auto")) {
        if (possible && device->info.kind == ENG_DEVICE_GPU && cl_caps_allowed(device, CL_CAP_MMA) &&
            cl_trial(device, "matrix unit", "matrix", "-DMATRIX=1", multiplies))
            device->caps |= CL_CAP_MMA;
    } else if (!strcmp(word, "in-c"))
        device->caps |=
            possible && cl_trial(device, "matrix unit in C", "matrix", "-DMATRIX=2", multiplies) ? CL_CAP_MMA_IN_C : 0;
    else if (!strcmp(word, "yes"))
        device->caps |= possible ? CL_CAP_MMA : 0;
    else if (strcmp(word, "no") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.matrix is '%s'; it takes auto, no, yes or in-c", word);
    return ENG_OK;
}
