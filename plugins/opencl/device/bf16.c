/*
 * Has the processor products of bf16, does its driver's compiler take them (kernels/bf16.clh), and are they faster than those of
 * floats?  The first is asked of the processor that this runs on: an instruction that it lacks would end the process.  All else
 * is tried, when weights come that want it.
 */
#include "../host.h"

enum { LANES = 16, BY = 2 * LANES, ROUNDS_AT, FLOATS, WORDS, TRIES = 5, ROUNDS = 1 << 18 };

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Two small whole numbers as bf16. */
static uint32_t pair_of(int low, int high)
{
    return bits_of((float)low) >> 16 | (bits_of((float)high) & 0xffff0000u);
}

static cl_int run(cl_device *device, cl_kernel kernel, uint32_t words[WORDS], uint32_t rounds, bool floats)
{
    for (int i = 0; i < LANES; i++) {
        words[i] = bits_of(100.0f * (float)i);
        words[LANES + i] = pair_of(i - 5, 3 * i + 1);
    }
    words[BY] = pair_of(7, -2);
    words[ROUNDS_AT] = rounds;
    words[FLOATS] = floats;
    return cl_trial_run(device, kernel, 1, words, WORDS * sizeof *words);
}

/* The shortest of some runs of either kind by turns, in ns: of bf16 and of floats. */
static cl_int durations(cl_device *device, cl_kernel kernel, uint64_t least[2])
{
    uint32_t words[WORDS];
    cl_int error = CL_SUCCESS;
    least[0] = least[1] = UINT64_MAX;
    for (int i = 0; i < 2 * TRIES && error == CL_SUCCESS; i++) {
        const uint64_t begin = eu_now();
        error = run(device, kernel, words, ROUNDS, i % 2);
        const uint64_t took = eu_now() - begin;
        least[i % 2] = took < least[i % 2] ? took : least[i % 2];
    }
    return error;
}

static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    uint32_t words[WORDS];
    uint64_t least[2];
    cl_int error = run(device, kernel, words, 2, false);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < LANES; i++)
        *right = *right && words[i] == bits_of(100.0f * (float)i + 2.0f * (float)(7 * (i - 5) - 2 * (3 * i + 1)));
    if (!*right)
        return error;
    error = durations(device, kernel, least);
    *right = error == CL_SUCCESS && 4 * least[0] < 3 * least[1]; /* a quarter less, of what is half where it is faster */
    return error;
}

static bool may_have_it(const cl_device *device)
{
#if defined(__x86_64__)
    return device->vec && device->info.kind == ENG_DEVICE_CPU && strstr(device->options, "-DWIDTH=16") &&
           __builtin_cpu_supports("avx512bf16");
#else
    (void)device;
    return false;
#endif
}

int cl_bf16_options(cl_device *device)
{
    return cl_trial_option(device, "bf16", NULL, may_have_it(device) && cl_caps_allowed(device, CL_CAP_BF16), &device->bf16);
}

uint32_t cl_bf16_caps(cl_device *device)
{
    static const uint32_t caps[] = {[CL_UNIT_NATIVE] = CL_CAP_BF16, [CL_UNIT_IN_C] = CL_CAP_BF16_IN_C, [CL_UNIT_NONE] = 0};
    return caps[cl_trial_once(device, &device->bf16, "products of bf16 that are faster than floats", "bf16", "-DBF16=1", multiplies)];
}
