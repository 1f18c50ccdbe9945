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

/* The same of processors, by both forms, with a table and places before what is multiplied by. */
static cl_int multiplies_registers(cl_device *device, cl_kernel kernel, bool *right)
{
    enum { TABLE = 2 * LANES, AT = 3 * LANES, BY = 4 * LANES };
    uint32_t words[BY + 1], looked_up[LANES] = {0}, set[LANES] = {0};
    for (int i = 0; i < LANES; i++) {
        words[i] = 1000u * (uint32_t)i;
        words[LANES + i] = a_of(i);
        words[TABLE + i] = 0x9e3779b9u * (uint32_t)(i + 1);
        words[AT + i] = 0x0f010e00u + 0x101u * (uint32_t)(i % 4);
        for (int j = 0; j < 32; j += 8)
            set[i] |= a_of(i) >> j & 0x10u << j / 8 ? 255u << j : 0;
    }
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < 32; j += 8) {
            const uint32_t at = words[AT + i] >> j & 15;
            looked_up[i] |= (words[TABLE + i / 4 * 4 + (int)(at / 4)] >> at % 4 * 8 & 255) << j;
        }
    words[BY] = b;
    const cl_int error = cl_trial_run(device, kernel, 1, words, sizeof words);
    *right = error == CL_SUCCESS && !memcmp(words + TABLE, looked_up, sizeof looked_up) &&
             !memcmp(words + AT, set, sizeof set);
    for (int i = 0; i < LANES; i++)
        *right = *right && (int32_t)words[i] == 1000 * i + 2 * product(i, 0);
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
