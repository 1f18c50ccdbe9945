/*
 * The device's compiler: from a program's whole text to a program.
 *
 * Compilers made of clang may read a header with all functions of OpenCL C anew for each program, which takes
 * them longer than most programs do (PoCL 3.1: 120 ms of 137).  So the header is left out by its guard, and
 * kernels/builtins.clh, which has what kernels use, put in its place.  That text refuses compilers of which
 * nothing is known; whatever is refused is compiled with the header, and so is all that follows on the device.
 */
#include "../host.h"

#define WITHOUT_HEADER " -D_OPENCL_H_"

/* The first lines of the compiler's log. */
static void read_log(const cl_device *device, cl_program program, char *log, size_t room)
{
    size_t bytes = 0;
    *log = '\0';
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *whole = bytes ? calloc(1, bytes + 1) : NULL;
    if (whole && clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL) == CL_SUCCESS)
        snprintf(log, room, "%s", whole);
    free(whole);
}

static int build_failed(cl_device *device, const char *file, const char *options, cl_program program, cl_int error)
{
    char log[1600];
    read_log(device, program, log, sizeof log);
    return cl_fail(device, error == CL_OUT_OF_HOST_MEMORY ? ENG_ERR_NOMEM : ENG_ERR_DEVICE,
                   "%s" ENG_CAUSE
                   "the device's compiler refuses %s.cl (options: %s): %s (%d)\n%s", device->info.name, file,
                   options, cl_error_name(error), (int)error, log);
}

/* part: to be linked. */
static cl_int compile(cl_device *device, const char *const texts[2], const size_t lengths[2], cl_uint n,
                      const char *options, bool part, cl_program *program)
{
    cl_int error;
    *program = clCreateProgramWithSource(device->context, n, (const char **)texts, lengths, &error);
    if (!*program)
        return error;
    return part ? clCompileProgram(*program, 1, &device->id, options, 0, NULL, NULL, NULL, NULL)
                : clBuildProgram(*program, 1, &device->id, options, NULL, NULL);
}

static bool refused(cl_int error)
{
    return error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE;
}

/* Without the compiler's own header; NULL in *program: it is to be had in the usual way alone, as the log says. */
static cl_int compile_bare(cl_device *device, const char *options, const eu_text *source, bool part, cl_program *program,
                           char *log, size_t room)
{
    char bare[1024 + sizeof WITHOUT_HEADER];
    eu_text declared = {0};
    *program = NULL;
    if (!device->bare || cl_source_whole(device, "", "builtins.clh", &declared) != ENG_OK) {
        eu_text_free(&declared);
        return CL_BUILD_PROGRAM_FAILURE;
    }
    snprintf(bare, sizeof bare, "%s" WITHOUT_HEADER, options);
    const char *const texts[2] = {declared.at, source->at};
    cl_int error = compile(device, texts, (size_t[2]){declared.n, source->n}, 2, bare, part, program);
    eu_text_free(&declared);
    if (refused(error)) {
        read_log(device, *program, log, room);
        clReleaseProgram(*program);
        *program = NULL;
    }
    return error;
}

static int compile_all(cl_device *device, const char *file, const char *options, const eu_text *source, bool part,
                       cl_program *program)
{
    cl_program p;
    char log[300] = "";
    cl_int error = compile_bare(device, options, source, part, &p, log, sizeof log);
    if (!p && refused(error)) {
        error = compile(device, (const char *const[2]){source->at}, (size_t[2]){source->n}, 1, options, part, &p);
        if (error == CL_SUCCESS && atomic_exchange(&device->bare, false))
            device->sv->log(device->sv->host, ENG_LOG_DEBUG,
                            "%s: programs are compiled with the compiler's header, from %s on: %s", device->info.name,
                            file, log);
    }
    if (!p)
        return cl_failed(device, error, "clCreateProgramWithSource");
    if (error != CL_SUCCESS) {
        int status = build_failed(device, file, options, p, error);
        clReleaseProgram(p);
        return status;
    }
    *program = p;
    return ENG_OK;
}

int cl_compile(cl_device *device, const char *file, const char *options, const eu_text *source, cl_program *program)
{
    return compile_all(device, file, options, source, false, program);
}

int cl_compile_part(cl_device *device, const char *file, const char *options, const eu_text *source, cl_program *program)
{
    return compile_all(device, file, options, source, true, program);
}

int cl_link(cl_device *device, const cl_program *parts, uint32_t n, cl_program *program)
{
    cl_int error;
    cl_program p = clLinkProgram(device->context, 1, &device->id, "", n, parts, NULL, NULL, &error);
    if (p && error == CL_SUCCESS) {
        *program = p;
        return ENG_OK;
    }
    char log[1600] = "";
    if (p) {
        read_log(device, p, log, sizeof log);
        clReleaseProgram(p);
    }
    return cl_fail(device, error == CL_OUT_OF_HOST_MEMORY ? ENG_ERR_NOMEM : ENG_ERR_DEVICE,
                   "%s" ENG_CAUSE "the device's linker refuses a series of launches: %s (%d)\n%s", device->info.name,
                   cl_error_name(error), (int)error, log);
}
