/*
 * How a processor multiplies weights in lanes.  Has it sums of two products of bytes, and does its driver's compiler take
 * them (kernels/dot2.clh)?  The first is asked of the processor that this runs on: an instruction that it lacks would end
 * the process.  The other is tried.
 */
#include "../host.h"

/* Registers of eight words: two that are multiplied, a table, places in it; then what became of them. */
enum { WORDS = 8, GIVEN = 4, MADE = 4 };

static uint32_t given(int i)
{
    return i < 3 * WORDS ? 0x9e3779b9u * (uint32_t)(i + 1) & 0x7fffffffu : 0x0f010e00u + 0x101u * (uint32_t)(i % WORDS / 4);
}

static int byte_of(const uint32_t *words, int i, bool sign)
{
    const uint32_t v = cl_trial_byte(words, (uint32_t)i);
    return sign ? (int8_t)v : (int)v;
}

/* Without sign no byte is above 127, so that no sum is beyond 16 bits. */
static bool right_words(const uint32_t *w, const uint32_t *made)
{
    uint32_t want[MADE * WORDS] = {0};
    for (int i = 0; i < WORDS; i++) {
        int pair[2];
        for (int j = 0; j < 2; j++)
            pair[j] = byte_of(w, 4 * i + 2 * j, false) * byte_of(w + WORDS, 4 * i + 2 * j, true) +
                      byte_of(w, 4 * i + 2 * j + 1, false) * byte_of(w + WORDS, 4 * i + 2 * j + 1, true);
        want[i] = (uint32_t)(pair[0] & 0xffff) | (uint32_t)pair[1] << 16;
        want[WORDS + i] = (uint32_t)((pair[0] + pair[1]) * 255);
        for (int j = 0; j < 4; j++) {
            const int at = byte_of(w + 3 * WORDS, 4 * i + j, false), half = i / 4 * 16; /* of a register */
            want[2 * WORDS + i] |= (uint32_t)byte_of(w + 2 * WORDS, half + at, false) << 8 * j;
            want[3 * WORDS + i] |= (byte_of(w, 4 * i + j, false) & byte_of(w + WORDS, 4 * i + j, false)) ==
                                             byte_of(w + WORDS, 4 * i + j, false)
                                         ? 255u << 8 * j
                                         : 0;
        }
    }
    return memcmp(want, made, sizeof want) == 0;
}

static cl_int multiplies(cl_device *device, cl_kernel kernel, bool *right)
{
    uint32_t words[(GIVEN + MADE) * WORDS];
    for (int i = 0; i < GIVEN * WORDS; i++)
        words[i] = i < WORDS ? given(i) & 0x7f7f7f7fu : given(i);
    words[WORDS] = words[0]; /* bytes that are equal */
    const cl_int error = cl_trial_run(device, kernel, 1, words, sizeof words);
    *right = error == CL_SUCCESS && right_words(words, words + GIVEN * WORDS);
    return error;
}

/* Where registers have 16 floats, products of floats are as fast; there it is sums of four products (dot4.c) or none. */
static bool may_have_it(const cl_device *device, bool wide)
{
#if defined(__x86_64__)
    return device->vec && device->info.kind == ENG_DEVICE_CPU && (wide || !strstr(device->options, "-DWIDTH=16")) &&
           __builtin_cpu_supports("avx2");
#else
    (void)device;
    (void)wide;
    return false;
#endif
}

int cl_dot2_options(cl_device *device)
{
    const char *word = device->sv->option(device->sv->host, "dot2");
    const bool yes = word && !strcmp(word, "yes");
    return cl_trial_option(device, "dot2", "yes", may_have_it(device, yes) && cl_caps_allowed(device, CL_CAP_DOT2), &device->dot2);
}

/* Sums of two products where they are wanted or where a register has eight floats, else of four where it has 16. */
const char *cl_lanes_options(cl_device *device)
{
    static const char *const options[] = {[CL_UNIT_NATIVE] = " -DDOT2=1", [CL_UNIT_IN_C] = " -DDOT2=2"};
    const int has = cl_trial_once(device, &device->dot2, "sums of two products of bytes", "dot2", "-DDOT2=1", multiplies);
    if (has != CL_UNIT_NONE)
        return options[has];
    if (!device->vec || !strstr(device->options, "-DWIDTH=16"))
        return "";
    return device->caps & CL_CAP_DOT4        ? " -DLANES_DOT4=1"
           : device->caps & CL_CAP_DOT4_IN_C ? " -DLANES_DOT4=2"
                                             : "";
}

uint64_t cl_lanes_types(cl_device *device)
{
    if (!device->vec)
        return device->caps & CL_CAP_MMA ? 0 EU_LANES_TYPES(EU_LANES_BIT) : 0;
    const char *options = cl_lanes_options(device);
    if (strstr(options, "DOT2"))
        return 0 EU_LANES_SMALL(EU_LANES_BIT) EU_LANES_LEAST(EU_LANES_BIT);
    if (!strstr(options, "DOT4"))
        return 0;
    const uint64_t types = 0 EU_LANES_TYPES(EU_LANES_BIT) EU_LANES_LEAST(EU_LANES_BIT);
    return types | (device->caps & CL_CAP_DOT4_IN_C || eu_gathers_pay() ? 0 EU_LANES_GRID(EU_LANES_BIT) : 0);
}
