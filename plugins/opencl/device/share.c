/*
 * Option compile: a process that only compiles, beside another that runs the same passes.  Compilers work under a lock of
 * their process (PoCL) or in one thread, so two processes are twice as fast, if the driver keeps on disk what it has
 * compiled: each finds what the other was first to do.
 *
 * Of N such processes number I begins behind I/N of a plan's programs and goes backwards, round the end, while the process
 * that runs goes forwards: they meet, and need not know of one another.  Where kernels are compiled when they are
 * launched (PoCL), launches are given one group of work-items and numbers that are zero, in the same order (queue.c).  Weights are not read, which leaves their memory untouched.
 */
#include "../host.h"

#define MOST 64

/* PoCL does, and takes a division by zero for nothing, unless its user wants to see it. */
static bool compiles_late(const cl_device *device)
{
    char name[128] = "";
    const char *handled = getenv("POCL_SIGFPE_HANDLER");
    if (!device->found) /* it is only described */
        return false;
    clGetPlatformInfo(device->found->platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    return device->info.kind == ENG_DEVICE_CPU && strstr(name, "Portable Computing Language") && (!handled || strcmp(handled, "0") != 0);
}

int cl_share_options(cl_device *device)
{
    const char *text = device->sv->option(device->sv->host, "compile");
    unsigned share = 0, of = 0;
    int end = 0;
    if (!text || !*text || !strcmp(text, "no"))
        return ENG_OK;
    if (sscanf(text, "%u/%u%n", &share, &of, &end) != 2 || text[end] || share < 1 || share > of || of > MOST)
        return cl_fail(device, ENG_ERR_INVALID,
                       "opencl.compile is '%s'; it takes no, or I/N, such as 1/1: share I of N, at most %d, which are counted from 1",
                       text, MOST);
    device->share = share;
    device->shares = of;
    device->compiles_late = compiles_late(device);
    return ENG_OK;
}

uint32_t cl_share_nth(const cl_device *device, uint32_t i, uint32_t n)
{
    if (device->shares == 0)
        return i;
    const uint32_t begin = (uint32_t)((uint64_t)n * device->share / device->shares); /* at least 0, at most n */
    return (begin + n - 1 - i) % n;
}
