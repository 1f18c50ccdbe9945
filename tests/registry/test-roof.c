/* What devices say they can do at most: figures that a machine can have, and refusals. */
#include "config.h"

#include <string.h>

#include "../tap.h"

/* Bytes and operations per second between a very slow machine's and what no device has yet. */
static bool plausible(double per_second)
{
    return per_second > 1e7 && per_second < 1e16;
}

/* Units that not every device has, or plugin measures; opencl devices all multiply bytes. */
static bool may_lack(const char *name, int roof)
{
    return roof > ENG_ROOF_INT8 || (roof == ENG_ROOF_INT8 && !strncmp(name, "cpu", 3));
}

static void measure(eng_context *context, const char *name)
{
    static const char *const what[] = {"", "read", "copied", "computed", "int8", "dot", "matrix"};
    eng_device *device;
    if (eng_device_open(context, name, &device) != ENG_OK) {
        tap_check(true, "%s # SKIP %s", name, eng_last_error());
        return;
    }
    for (int i = ENG_ROOF_READ; i <= ENG_ROOF_MATRIX; i++) {
        double per_second = -1;
        int status = eng_device_roof(device, (eng_roof)i, &per_second);
        const bool none = status == ENG_ERR_UNSUPPORTED && per_second == -1 && may_lack(name, i);
        tap_check(none || (status == ENG_OK && plausible(per_second)), "%s: %.3g %s in a second%s%s", name, per_second,
                  what[i], status ? ": " : "", status ? eng_last_error() : "");
    }
    double before = 5, after = before;
    int status = eng_device_roof(device, (eng_roof)7, &after);
    tap_check(status == ENG_ERR_INVALID && after == before && strstr(eng_last_error(), "got 7"),
              "%s: number 7 is refused", name);
    eng_device_close(device);
}

/* Kernels that use a matrix unit, here the one in C, have it measured. */
static void matrix_unit(eng_context *context)
{
    eng_device *device;
    double per_second = -1;
    if (eng_context_set_option(context, "opencl.family", "simt") ||
        eng_context_set_option(context, "opencl.matrix", "in-c") ||
        eng_device_open(context, "opencl:0", &device) != ENG_OK) {
        tap_check(true, "a matrix unit # SKIP %s", eng_last_error());
        return;
    }
    int status = eng_device_roof(device, ENG_ROOF_MATRIX, &per_second);
    tap_check(status == ENG_OK && plausible(per_second), "opencl:0: %.3g by the matrix unit in C%s%s", per_second,
              status ? ": " : "", status ? eng_last_error() : "");
    eng_device_close(device);
}

/* A plugin without the call. */
static void without(eng_context *context)
{
    eng_device *device;
    double per_second = 5;
    if (!tap_check(eng_device_open(context, "null", &device) == ENG_OK, "the null device opens"))
        return;
    int status = eng_device_roof(device, ENG_ROOF_READ, &per_second);
    tap_check(status == ENG_ERR_UNSUPPORTED && per_second == 5, "a device that measures none says so: %s",
              eng_last_error());
    status = eng_device_roof(NULL, ENG_ROOF_READ, &per_second);
    tap_check(status == ENG_ERR_INVALID, "no device: %s", eng_last_error());
    eng_device_close(device);
}

int main(void)
{
    static const char *const names[] = {"cpu", "cpu/2", "opencl:0", "opencl:0/2"};
    eng_context *context = tap_begin();
    if (!context)
        return 1;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        measure(context, names[i]);
    without(context);
    matrix_unit(context);
    return tap_end(context);
}
