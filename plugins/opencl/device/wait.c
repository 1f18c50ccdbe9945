/*
 * Waiting for commands.  clFinish and clWaitForEvents may fail without having waited, while the driver's threads still
 * copy from or to the host's memory: whoever then returned would let the host take that memory away.  So who gives host
 * memory to a command asks for the command's event until it is over.  And which threads wait.
 */
#include "../host.h"

#include <time.h>

/*
 * Some drivers (Intel's) have threads that wait for events do work.  Such a thread is none of the device's, and how many of them there
 * will be, nobody knows.  So a driver that has once called the host by one of the threads that come here is said not to call.
 */
static _Thread_local bool is_hosts;
static atomic_bool lacks_threads;

void cl_thread_waits(void)
{
    is_hosts = true;
}

void cl_thread_calls(void)
{
    if (is_hosts)
        atomic_store(&lacks_threads, true);
}

bool cl_calls_by_itself(void)
{
    return !atomic_load_explicit(&lacks_threads, memory_order_relaxed);
}

enum { IN_VAIN = 1000 }; /* half a second: a driver that knows nothing of its own event copies no more */

bool cl_event_over(cl_event event, cl_int *outcome)
{
    cl_int status = CL_QUEUED;
    if (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) != CL_SUCCESS ||
        status > CL_COMPLETE)
        return false;
    *outcome = status;
    return true;
}

cl_int cl_event_wait(cl_event event)
{
    const struct timespec pause = {0, 500000};
    cl_int status = CL_COMPLETE, error = CL_SUCCESS;
    cl_thread_waits();
    for (unsigned in_vain = 0; in_vain < IN_VAIN;) {
        if (clWaitForEvents(1, &event) == CL_SUCCESS)
            return CL_COMPLETE;
        error = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        if (error == CL_SUCCESS && status <= CL_COMPLETE)
            return status;
        in_vain = error == CL_SUCCESS ? 0 : in_vain + 1;
        nanosleep(&pause, NULL);
    }
    return error;
}

void cl_event_follow(cl_event *last, cl_event next)
{
    if (!next)
        return;
    if (*last)
        clReleaseEvent(*last);
    *last = next;
}

cl_int cl_event_settle(cl_event *last, cl_int error)
{
    if (!*last)
        return error;
    const cl_int outcome = cl_event_wait(*last);
    clReleaseEvent(*last);
    *last = NULL;
    return error == CL_SUCCESS ? outcome : error;
}
