/*
 * What a queue remembers of submissions that fail (plugins/opencl/run/tickets.c): each wait is told of the first one that it asks
 * about, however many there are.  Events are the test's own; no OpenCL device is needed.
 */
#include "config.h"

#include "plugins/opencl/host.h"

#include "../tap.h"

enum { MOST = 1000 };
static int outcomes[MOST]; /* of an event, whose address is a place here */

bool cl_event_over(cl_event event, cl_int *outcome)
{
    *outcome = *(const int *)(const void *)event;
    return true;
}

cl_int cl_event_wait(cl_event event)
{
    return *(const int *)(const void *)event;
}

int cl_error_status(cl_int error)
{
    return error == CL_OUT_OF_RESOURCES ? ENG_ERR_LOST : ENG_ERR_DEVICE;
}

/* The loader's, which the plugin would call. */
cl_int clReleaseEvent(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

cl_int clRetainEvent(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    (void)n, (void)events;
    return CL_SUCCESS;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event)
{
    (void)queue, (void)n, (void)list, (void)event;
    return CL_OUT_OF_HOST_MEMORY;
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event)
{
    (void)queue, (void)n, (void)list, (void)event;
    return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

/* n submissions, of which every `each`th fails; then all are waited for, in order.  How many were told of wrongly. */
static unsigned wrong(unsigned n, unsigned each, unsigned *failed)
{
    atomic_bool lost = false;
    cl_tickets t = {.lost = &lost};
    cl_failure failure;
    uint64_t tickets[MOST], before = 0;
    unsigned bad = !cl_tickets_init(&t);
    *failed = 0;
    for (unsigned i = 0; i < n; i++) {
        outcomes[i] = i % each == 0 ? CL_INVALID_VALUE : CL_COMPLETE;
        cl_tickets_publish(&t, NULL, (cl_event)(void *)&outcomes[i], &tickets[i]);
    }
    for (unsigned i = 0; i < n; before = tickets[i++]) {
        const bool told = cl_tickets_wait(&t, before, tickets[i], UINT64_MAX, &failure) == CL_WAITED && failure.ticket == tickets[i];
        bad += told != (outcomes[i] < 0) || (told && failure.code != outcomes[i]);
        *failed += outcomes[i] < 0;
    }
    cl_tickets_end(&t);
    return bad;
}

int main(void)
{
    static const unsigned n[] = {60, 70, 150, 1000}, each[] = {1, 3};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
            unsigned failed, bad;
            if (n[i] / each[k] > CL_FAILURES && each[k] > 1)
                continue; /* of more that stand alone the last ones are remembered */
            bad = wrong(n[i], each[k], &failed);
            tap_check(bad == 0, "%u submissions, %u of which fail: %u are told of wrongly", n[i], failed, bad);
        }
    return tap_end(NULL);
}
