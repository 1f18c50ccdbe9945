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

static int32_t product(int lane, int32_t sign)
{
    int32_t sum = 0;
    for (int j = 0; j < 32; j += 8)
        sum += (((int32_t)(a_of(lane) >> j & 255) ^ sign) - sign) * (int8_t)(b >> j & 255);
    return sum;
}

/* Sums of 16 lanes, then what is multiplied, then by what. */
static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    int32_t words[2 * LANES + 1];
    for (int i = 0; i < LANES; i++) {
        words[i] = 1000 * i;
        words[LANES + i] = (int32_t)a_of(i);
    }
    words[2 * LANES] = (int32_t)b;
    const cl_int error = cl_trial_run(device, kernel, LANES, words, sizeof words);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < LANES; i++)
        *right = *right && words[i] == 1000 * i + product(i, 128);
    return error;
}

/* The same of processors, by both forms, and what else registers do (kernels/registers.clh). */
enum { TABLE = 2 * LANES, AT = 3 * LANES, PLACES = 4 * LANES, BYTES = 5 * LANES, BY = 6 * LANES, WORDS };

/* What becomes of lane i of the operands that are no sums. */
static bool right_lane(const uint32_t *given, const uint32_t *made, int i)
{
    uint32_t looked_up = 0, set = 0, less = 0;
    for (int j = 0; j < 4; j++) {
        const uint32_t at = 4 * (uint32_t)i + (uint32_t)j, byte = cl_trial_byte(given + BYTES, at);
        const bool has = cl_trial_byte(given + LANES, at) & 0x10u << j;
        looked_up |= cl_trial_byte(given + TABLE + i / 4 * 4, cl_trial_byte(given + AT, at) & 15) << 8 * j;
        set |= has ? 255u << 8 * j : 0;
        less |= (has ? 200 - byte : byte) << 8 * j;
    }
    return made[TABLE + i] == looked_up && made[AT + i] == set && made[PLACES + i] == given[PLACES + i] * given[PLACES + i] &&
           made[BYTES + i] == less;
}

static cl_int multiplies_registers(cl_device *device, cl_kernel kernel, bool *right)
{
    uint32_t words[WORDS], given[WORDS];
    for (int i = 0; i < LANES; i++) {
        given[i] = 1000u * (uint32_t)i;
        given[LANES + i] = a_of(i);
        given[TABLE + i] = 0x9e3779b9u * (uint32_t)(i + 1);
        given[AT + i] = 0x0f010e00u + 0x101u * (uint32_t)(i % 4);
        given[PLACES + i] = (uint32_t)(5 * i % LANES);
        given[BYTES + i] = 0xc8640100u - 0x01010000u * (uint32_t)i; /* none above 200 */
    }
    given[BY] = b;
    memcpy(words, given, sizeof words);
    const cl_int error = cl_trial_run(device, kernel, 1, words, sizeof words);
    *right = error == CL_SUCCESS;
    for (int i = 0; i < LANES; i++)
        *right = *right && (int32_t)words[i] == 1000 * i + 2 * product(i, 0) && right_lane(given, words, i);
    return error;
}

static bool may_have_it(const cl_device *device)
{
    if (!device->vec)
        return device->info.kind == ENG_DEVICE_GPU && device->max_group >= 256;
#if defined(__x86_64__)
    return device->info.kind == ENG_DEVICE_CPU && strstr(device->options, "-DWIDTH=16") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
#else
    return false;
#endif
}

int cl_dot4_find(cl_device *device)
{
    const char *word = device->sv->option(device->sv->host, "dot4");
    if (!word || !*word || !strcmp(word, "auto")) {
        if (may_have_it(device) && cl_caps_allowed(device, CL_CAP_DOT4) &&
            cl_trial(device, "dot products of bytes", "dot4", device->vec ? "-DLANES_DOT4=1" : "-DDOT4=1",
                     device->vec ? multiplies_registers : multiplies))
            device->caps |= CL_CAP_DOT4;
    } else if (!strcmp(word, "in-c"))
        device->caps |= device->vec || device->max_group >= 256 ? CL_CAP_DOT4_IN_C : 0;
    else if (!strcmp(word, "yes"))
        device->caps |= device->vec || device->max_group < 256 ? 0 : CL_CAP_DOT4;
    else if (strcmp(word, "no") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.dot4 is '%s'; it takes auto, no, yes or in-c", word);
    return ENG_OK;
}
