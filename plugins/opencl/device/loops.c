/*
 * Drivers that run a graphics pipeline's code on a processor may end a work-item's loops after 65535 rounds
 * in all, without a word (Mesa's llvmpipe, seen in 22.3): whatever is large comes out wrong.  They are known by
 * native vectors of one float, so that no other device is asked.
 */
#include "../host.h"

static int run(cl_device *device, cl_kernel kernel, cl_uint rounds, cl_uint *number)
{
    cl_int error = clSetKernelArg(kernel, 1, sizeof rounds, &rounds);
    if (error == CL_SUCCESS)
        error = cl_trial_run(device, kernel, 1, number, sizeof *number);
    return error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, "trying how long loops are");
}

int cl_loops_check(cl_device *device)
{
    const char *family = device->sv->option(device->sv->host, "family");
    const cl_uint rounds = 1u << 17;
    cl_uint x = 1, number = 1;
    cl_program_entry *program;
    cl_kernel kernel;
    if (!device->side_by_side || (family && (!strcmp(family, "vec") || !strcmp(family, "simt"))))
        return ENG_OK;
    int status = cl_program_get(device, "loops", NULL, NULL, NULL, &program);
    if (status == ENG_OK)
        status = cl_program_kernel(device, program, "loops", &kernel);
    if (status != ENG_OK)
        return status;
    for (cl_uint i = 0; i < rounds; i++)
        x = (x ^ i) * 1664525u + 1013904223u;
    status = run(device, kernel, rounds, &number);
    clReleaseKernel(kernel);
    if (status == ENG_OK && number != x)
        return cl_fail(device, ENG_ERR_UNSUPPORTED,
                       "%s (%s) is not used" ENG_CAUSE
                       "its driver ends loops before they are done, so that large tensors would "
                       "come out wrong" ENG_ADVICE
                       "use the cpu plugin, another driver for this processor (PoCL), or, with small "
                       "graphs and at your risk, the option opencl.family=simt",
                       device->info.name, device->info.description);
    return status;
}
