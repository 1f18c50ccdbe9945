/*
 * What no query tells is tried on the device: a kernel is run and its numbers are compared.  Once: what became of it is
 * kept beside the compiled kernels, by all that the program is made of and the version of the driver.
 *
 * A driver may end the process instead of refusing an instruction, and a library cannot try that in a child.  So it is
 * written down that a trial has begun, and by whom: who finds that waits while that process lives, or else does without, and at
 * most one process ends so (engine-probe's own child, where that comes first).
 */
#include "../host.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

cl_int cl_trial_run(cl_device *device, cl_kernel kernel, size_t items, void *words, size_t bytes)
{
    cl_event done = NULL;
    cl_int error;
    cl_mem mem = clCreateBuffer(device->context, CL_MEM_COPY_HOST_PTR, bytes, words, &error);
    if (!mem)
        return error;
    error = clSetKernelArg(kernel, 0, sizeof mem, &mem);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(device->transfer, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = clEnqueueReadBuffer(device->transfer, mem, CL_FALSE, 0, bytes, words, 0, NULL, &done);
    error = cl_event_settle(&done, error);
    clReleaseMemObject(mem);
    return error;
}

/* Memory, or the device, may be there another time.  (CL_OUT_OF_RESOURCES is what NVIDIA's driver says of a kernel that went wrong.) */
static bool says_nothing(cl_int error)
{
    return error == CL_OUT_OF_HOST_MEMORY || error == CL_MEM_OBJECT_ALLOCATION_FAILURE || cl_error_status(error) == ENG_ERR_LOST;
}

static cl_verdict try_now(cl_device *device, const char *file, const char *options,
                          cl_int (*runs)(cl_device *device, cl_kernel kernel, bool *right))
{
    cl_program_entry *program;
    cl_kernel kernel;
    bool right = false;
    int status = cl_program_get(device, file, options, NULL, NULL, &program);
    if (status != ENG_OK)
        return status == ENG_ERR_DEVICE ? CL_WRONG : CL_UNTRIED; /* refused, or no memory for it */
    status = cl_program_kernel(device, program, file, &kernel);
    if (status != ENG_OK)
        return status == ENG_ERR_NOMEM ? CL_UNTRIED : CL_WRONG;
    const cl_int error = runs(device, kernel, &right);
    clReleaseKernel(kernel);
    return says_nothing(error) ? CL_UNTRIED : error == CL_SUCCESS && right ? CL_RIGHT : CL_WRONG;
}

/* What is known; of a trial that another process is at, once that is over.  Who only compiles takes it for right meanwhile, as it
 * mostly is: what was compiled in vain is never run. */
enum { MOST_WAIT_MS = 10000, STEP_MS = 20 };
static cl_verdict known_verdict(cl_device *device, const cl_hash *hash)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    int32_t by;
    cl_verdict verdict = cl_verdict_load(device, hash, &by);
    for (int ms = 0; verdict == CL_BEGUN && by > 0 && ms < MOST_WAIT_MS && (kill(by, 0) == 0 || errno == EPERM); ms += STEP_MS) {
        if (device->shares)
            return CL_RIGHT;
        nanosleep(&step, NULL);
        verdict = cl_verdict_load(device, hash, &by);
    }
    return verdict == CL_BEGUN && cl_verdict_times(device, hash) < CL_MOST_ENDED ? CL_UNTRIED : verdict;
}

bool cl_trial(cl_device *device, const char *what, const char *file, const char *options,
              cl_int (*runs)(cl_device *device, cl_kernel kernel, bool *right))
{
    static const char *const words[] = {"could not be tried", "was being tried when processes ended: it is not used",
                                        "is not there, or wrong", "is right"};
    cl_hash hash;
    if (cl_program_hash(device, file, options, &hash) != ENG_OK)
        return false;
    cl_verdict verdict = device->cached ? known_verdict(device, &hash) : CL_UNTRIED;
    const bool known = verdict != CL_UNTRIED;
    if (!known) {
        device->sv->log(device->sv->host, ENG_LOG_INFO, "%s: trying: %s", device->info.name, what);
        const bool saved = device->cached && device->shares == 0;
        if (saved)
            cl_verdict_save(device, &hash, CL_BEGUN);
        verdict = try_now(device, file, options, runs);
        if (saved)
            cl_verdict_save(device, &hash, verdict);
    }
    device->sv->log(device->sv->host, verdict == CL_BEGUN ? ENG_LOG_INFO : ENG_LOG_DEBUG, "%s: %s %s%s",
                    device->info.name, what, words[verdict], known ? " (known from before)" : "");
    return verdict == CL_RIGHT;
}

int cl_trial_option(cl_device *device, const char *name, const char *too, bool may_have_it, int *unit)
{
    const char *word = device->sv->option(device->sv->host, name);
    *unit = CL_UNIT_NONE;
    if (!word || !*word || !strcmp(word, "auto") || (too && !strcmp(word, too)))
        *unit = may_have_it ? CL_UNIT_UNTRIED : CL_UNIT_NONE;
    else if (!strcmp(word, "in-c"))
        *unit = device->vec ? CL_UNIT_IN_C : CL_UNIT_NONE;
    else if (strcmp(word, "no") != 0)
        return cl_fail(device, ENG_ERR_INVALID, "opencl.%s is '%s'; it takes auto, no%s%s or in-c", name, word, too ? ", " : "",
                       too ? too : "");
    return ENG_OK;
}

int cl_trial_once(cl_device *device, int *unit, const char *what, const char *file, const char *options,
                cl_int (*runs)(cl_device *device, cl_kernel kernel, bool *right))
{
    pthread_mutex_lock(&device->trials_lock);
    if (*unit == CL_UNIT_UNTRIED) /* only now: a kernel takes some time to compile */
        *unit = cl_trial(device, what, file, options, runs) ? CL_UNIT_NATIVE : CL_UNIT_NONE;
    const int has = *unit;
    pthread_mutex_unlock(&device->trials_lock);
    return has;
}
