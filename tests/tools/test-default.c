/* The device that engine-generate takes where none is named. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "tools/generate_default.h"

#define GIB (1ull << 30)

static eng_device_info device(const char *name, uint32_t kind, const char *identity, uint64_t free)
{
    eng_device_info d = {.size = sizeof d, .kind = kind, .memory_free = free, .memory_total = free};
    snprintf(d.name, sizeof d.name, "%s", name);
    snprintf(d.identity, sizeof d.identity, "%s", identity);
    return d;
}

static void expect(const char *what, const eng_device_info *list, uint32_t n, uint64_t bytes, bool shares,
                   const char *want)
{
    char name[256] = "";
    bool any = choose_default(list, n, bytes, shares, name, sizeof name);
    tap_check(any == (want != NULL) && strcmp(name, want ? want : "") == 0, "%s: %s", what, name);
}

int main(void)
{
    const eng_device_info list[] = {
        device("cpu", ENG_DEVICE_CPU, "", 64 * GIB), device("opencl:0", ENG_DEVICE_GPU, "pci 1", 8 * GIB),
        device("opencl:1", ENG_DEVICE_CPU, "", 64 * GIB), device("opencl:2", ENG_DEVICE_ACCELERATOR, "pci 2", 4 * GIB),
        device("opencl:3", ENG_DEVICE_GPU, "pci 1", 8 * GIB), /* the first once more, by another driver */
    };
    const eng_device_info unknown[] = {device("a:0", ENG_DEVICE_GPU, "", 0),
                                       device("a:1", ENG_DEVICE_GPU, "", 4 * GIB)};
    const eng_device_info half[] = {device("a:0", ENG_DEVICE_GPU, "", 4 * GIB), device("a:1", ENG_DEVICE_GPU, "", 0)};
    expect("none", list, 0, 1, true, NULL);
    expect("the processor", list, 1, 100 * GIB, true, "cpu");
    expect("the first accelerator", list, 5, 7 * GIB, true, "opencl:0");
    expect("all that are accelerators, each once", list, 5, 8 * GIB, true, "opencl:0+opencl:2@8192:4096");
    expect("with the shares of another", list, 5, 8 * GIB, false, "opencl:0+opencl:2");
    expect("one that is too small, and alone", list, 3, 10 * GIB, true, "opencl:0");
    expect("memory that is not known", unknown, 2, 10 * GIB, true, "a:0");
    expect("shares that are not known", half, 2, 10 * GIB, true, "a:0+a:1");
    return tap_end(NULL);
}
