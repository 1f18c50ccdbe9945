/*
 * Has the processor tiles (AMX), may the process use them, does its driver's compiler take the instructions (kernels/tiles.clh),
 * and are products right?  The first two are asked when the device is opened, of the processor and the system that this runs on:
 * the device is in the same process.  All else is tried, when weights come that want it.
 */
#include "../host.h"

#include "libengine/util/util.h"

enum { ROWS = 16, WORDS = 16, TILE = ROWS * WORDS, BYTES = 3 * TILE, ALL = 7 * TILE }; /* see kernels/tiles.cl */

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

static uint32_t four_of(int (*number)(int, int), int i, int word)
{
    uint32_t four = 0;
    for (int b = 0; b < 4; b++)
        four |= (uint32_t)(uint8_t)number(i, 4 * word + b) << 8 * b;
    return four;
}

/* What of a column and a row comes to: of bf16, or of bytes, those of the row without a sign or with. */
static int product(int c, int r, int k, bool without_sign)
{
    int sum = 0;
    for (int i = 0; i < k; i++)
        sum += element(c, i) * (without_sign ? (uint8_t)weight(r, i) : weight(r, i));
    return sum;
}

static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    uint32_t words[ALL];
    for (int i = 0; i < ROWS; i++)
        for (int w = 0; w < WORDS; w++) {
            words[i * WORDS + w] = pair_of(element(i, 2 * w), element(i, 2 * w + 1));
            words[TILE + w * ROWS + i] = pair_of(weight(i, 2 * w), weight(i, 2 * w + 1));
            words[2 * TILE + i * WORDS + w] = bits_of(0.5f);
            words[BYTES + i * WORDS + w] = four_of(element, i, w);
            words[BYTES + TILE + w * ROWS + i] = four_of(weight, i, w);
            words[BYTES + 2 * TILE + i * WORDS + w] = words[BYTES + 3 * TILE + i * WORDS + w] = 7;
        }
    const cl_int error = cl_trial_run(device, kernel, 1, words, sizeof words);
    *right = error == CL_SUCCESS;
    for (int c = 0; c < ROWS; c++)
        for (int r = 0; r < ROWS; r++) {
            const uint32_t *at = words + c * ROWS + r;
            *right = *right && at[2 * TILE] == bits_of((float)product(c, r, 2 * WORDS, false) + 0.5f) &&
                     (int)at[BYTES + 2 * TILE] == product(c, r, 4 * WORDS, false) + 7 &&
                     (int)at[BYTES + 3 * TILE] == product(c, r, 4 * WORDS, true) + 7;
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
