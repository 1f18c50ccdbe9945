/*
 * Option compile: a process that only compiles, beside another that runs the same passes.  Compilers work under a lock of
 * their process (PoCL) or in one thread, so two processes are twice as fast, if the driver keeps on disk what it has
 * compiled: each finds what the other was first to do.
 *
 * Of N such processes number I begins behind I/N of a plan's programs and goes backwards, round the end, while the process
 * that runs goes forwards: they meet, and need not know of one another.  Launches are given one group of work-items and
 * numbers that are zero, in the same order (queue.c): they make nothing.  Weights are not read, which leaves their memory untouched.
 */
#include "../host.h"

#define MOST 64

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
    return ENG_OK;
}

uint32_t cl_share_nth(const cl_device *device, uint32_t i, uint32_t n)
{
    if (device->shares == 0)
        return i;
    const uint32_t begin = (uint32_t)((uint64_t)n * device->share / device->shares); /* at least 0, at most n */
    return (begin + n - 1 - i) % n;
}
