/*
 * Has the device dot products of bytes, and does its driver's compiler take them (kernels/dot4.clh)?  The first is asked of a
 * processor, which is the one that this runs on: an instruction that it lacks would end the process.  All else is tried.
 */
#include "../host.h"

enum { LANES = 16 };

/* Words of four bytes: of processors the first have no sign. */
static uint32_t a_of(int lane)
{
    return 0xff0180feu - (uint32_t)lane * 0x01030507u;
}

static const uint32_t b = 0x8001ff7fu; /* -128 1 -1 127 */

/* Sums of 16 lanes, then what is multiplied, then by what. */
static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    const int32_t sign = device->vec ? 0 : 128;
    int32_t words[2 * LANES + 1];
    for (int i = 0; i < LANES; i++) {
        words[i] = 1000 * i;
        words[LANES + i] = (int32_t)a_of(i);
    }
    words[2 * LANES] = (int32_t)b;
    const cl_int error = cl_trial_run(device, kernel, device->vec ? 1 : LANES, words, sizeof words);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < LANES; i++) {
        int32_t want = 1000 * i;
        for (int j = 0; j < 32; j += 8)
            want += (((int32_t)(a_of(i) >> j & 255) ^ sign) - sign) * (int8_t)(b >> j & 255);
        *right = *right && words[i] == want;
    }
    return error;
}

static bool may_have_it(const cl_device *device)
{
    if (!device->vec)
        return device->info.kind == ENG_DEVICE_GPU && device->max_group >= 256;
#if defined(__x86_64__)
    return device->info.kind == ENG_DEVICE_CPU && strstr(device->options, "-DWIDTH=16") &&
           __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

int cl_dot4_find(cl_device *device)
{
    const char *word = device->sv->option(device->sv->host, "dot4");
    if (!word || !*word || !strcmp(word, "auto")) {
        if (may_have_it(device) && cl_caps_allowed(device, CL_CAP_DOT4) &&
            cl_trial(device, "dot products of bytes", "dot4", "-DDOT4=1", multiplies))
            device->caps |= CL_CAP_DOT4;
    } else if (!strcmp(word, "in-c"))
        device->caps |= device->vec || device->max_group >= 256 ? CL_CAP_DOT4_IN_C : 0;
    else if (!strcmp(word, "yes"))
        device->caps |= device->vec || device->max_group < 256 ? 0 : CL_CAP_DOT4;
    else if (strcmp(word, "no") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.dot4 is '%s'; it takes auto, no, yes or in-c", word);
    return ENG_OK;
}
