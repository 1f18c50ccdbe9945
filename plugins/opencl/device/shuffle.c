/* Do 32 neighbouring work-items exchange registers as kernels/across.clh says?  No query tells: it is tried, where the kernels
 * of cards run. */
#include "../host.h"

enum { GROUP = 64, NEIGHBOURS = 32 };

static float held(int item)
{
    return (float)(item * 5 % 23 - 7);
}

/* Sums of small whole numbers are exact whatever the order. */
static cl_int exchanges(cl_device *device, cl_kernel kernel, bool *right)
{
    float x[GROUP];
    for (int i = 0; i < GROUP; i++)
        x[i] = held(i);
    const cl_int error = cl_trial_run(device, kernel, GROUP, x, sizeof x);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < GROUP; i++) {
        float want = 0;
        for (int mask = 1; mask < NEIGHBOURS; mask <<= 1)
            want += held(i ^ mask) * (float)mask;
        *right = *right && x[i] == want;
    }
    return error;
}

int cl_shuffle_find(cl_device *device)
{
    enum { NATIVE = 1, IN_C };
    const char *word = device->sv->option(device->sv->host, "shuffle");
    const bool possible = !device->vec && device->max_group >= GROUP;
    device->shuffle = 0;
    if (!word || !*word || !strcmp(word, "auto")) {
        if (possible && device->info.kind == ENG_DEVICE_GPU && cl_caps_allowed(device, CL_CAP_SHUFFLE) &&
            cl_trial(device, "exchange of registers", "exchange", "-DHAVE_SHUFFLE=1", exchanges))
            device->shuffle = NATIVE;
    } else if (!strcmp(word, "in-c")) {
        if (possible && !cl_trial(device, "exchange of registers in C", "exchange", "-DHAVE_SHUFFLE=2", exchanges))
            return cl_fail(device, ENG_ERR_UNSUPPORTED, "opencl.shuffle = in-c" ENG_CAUSE "it exchanges what it should not"
                           ENG_ADVICE "use auto or no");
        device->shuffle = possible ? IN_C : 0;
    } else if (strcmp(word, "no") != 0) {
        return cl_fail(device, ENG_ERR_INVALID, "opencl.shuffle is '%s'; it takes auto, no or in-c", word);
    }
    device->caps |= device->shuffle ? CL_CAP_SHUFFLE : 0;
    return ENG_OK;
}
