/*
 * Has the processor tiles (AMX), may the process use them, does its driver's compiler take the instructions (kernels/tiles.clh),
 * and are products right?  The first two are asked when the device is opened, of the processor and the system that this runs on:
 * the device is in the same process.  All else is tried, when weights come that want it.
 */
#include "../host.h"

#include "libengine/util/util.h"

enum { ROWS = 16, WORDS = 16, TILE = ROWS * WORDS, ALL = 3 * TILE }; /* columns, lines of weights, results */

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Small whole numbers: element k of a column, and of a row. */
static int element(int c, int k)
{
    return (7 * c + 3 * k) % 31 - 15;
}

static int weight(int r, int k)
{
    return (5 * r + 11 * k) % 61 - 30;
}

static uint32_t pair_of(int low, int high)
{
    return bits_of((float)low) >> 16 | (bits_of((float)high) & 0xffff0000u);
}

static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    uint32_t words[ALL];
    for (int i = 0; i < ROWS; i++)
        for (int w = 0; w < WORDS; w++) {
            words[i * WORDS + w] = pair_of(element(i, 2 * w), element(i, 2 * w + 1));
            words[TILE + w * ROWS + i] = pair_of(weight(i, 2 * w), weight(i, 2 * w + 1));
            words[2 * TILE + i * WORDS + w] = bits_of(0.5f);
        }
    const cl_int error = cl_trial_run(device, kernel, 1, words, sizeof words);
    *right = error == CL_SUCCESS;
    for (int c = 0; c < ROWS; c++)
        for (int r = 0; r < ROWS; r++) {
            int sum = 0;
            for (int k = 0; k < 2 * WORDS; k++)
                sum += element(c, k) * weight(r, k);
            *right = *right && words[2 * TILE + c * ROWS + r] == bits_of((float)sum + 0.5f);
        }
    return error;
}

static bool has_bf16(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

static bool may_have_it(const cl_device *device)
{
    return device->vec && device->info.kind == ENG_DEVICE_CPU && strstr(device->options, "-DWIDTH=16") && cl_caps_allowed(device, CL_CAP_TILES) &&
           eu_amx_there() && has_bf16() && eu_amx_may();
}

int cl_tiles_options(cl_device *device)
{
    const int status = cl_trial_option(device, "tiles", NULL, true, &device->tiles);
    if (device->tiles == CL_UNIT_UNTRIED && !may_have_it(device)) /* who does not want it asks the system for nothing */
        device->tiles = CL_UNIT_NONE;
    return status;
}

uint32_t cl_tiles_caps(cl_device *device)
{
    static const uint32_t caps[] = {[CL_UNIT_NATIVE] = CL_CAP_TILES, [CL_UNIT_IN_C] = CL_CAP_TILES_IN_C, [CL_UNIT_NONE] = 0};
    return caps[cl_trial_once(device, &device->tiles, "products of tiles", "tiles", "-DTILES_UNIT=1", multiplies)];
}
