/*
 * What is held of a device's memory.  OpenCL promises memory that it does not have
 * yet, and the lack would show only when the memory is used; so what does not fit is
 * refused here.  The memory is that of the device found, however often it is opened,
 * whole or in parts: parts may have more or less of it than their number says, as
 * their shares do.
 */
#include "../host.h"

static uint64_t sum(const uint64_t bytes[CL_USES])
{
    uint64_t all = 0;
    for (unsigned i = 0; i < CL_USES; i++)
        if (__builtin_add_overflow(all, bytes[i], &all))
            return UINT64_MAX;
    return all;
}

/* Adds to the figures of this opening, or takes away. */
static void account(cl_device *device, const uint64_t bytes[CL_USES], bool add)
{
    for (unsigned i = 0; i < CL_USES; i++)
        if (bytes[i])
            atomic_fetch_add_explicit(&device->figures.bytes[i], add ? bytes[i] : 0 - bytes[i], memory_order_relaxed);
}

int cl_budget_take(cl_device *device, const uint64_t bytes[CL_USES], const char *what)
{
    const double mib = 1048576;
    const uint64_t wanted = sum(bytes), total = device->whole_memory;
    pthread_mutex_lock(&device->plugin->found_lock);
    const uint64_t held = device->found->held;
    const bool fits = total == 0 || (held <= total && wanted <= total - held);
    if (fits)
        device->found->held += wanted;
    pthread_mutex_unlock(&device->plugin->found_lock);
    if (!fits)
        return cl_fail(device, ENG_ERR_NOMEM,
                       "%s" ENG_CAUSE
                       "%.1f MiB for %s, but the device has %.1f MiB, of which %.1f are taken: spread it over more "
                       "devices, or ask for less", device->info.name, (double)wanted / mib, what, (double)total / mib,
                       (double)held / mib);
    account(device, bytes, true);
    return ENG_OK;
}

void cl_budget_give(cl_device *device, const uint64_t bytes[CL_USES])
{
    account(device, bytes, false);
    pthread_mutex_lock(&device->plugin->found_lock);
    device->found->held -= sum(bytes);
    pthread_mutex_unlock(&device->plugin->found_lock);
}

void cl_budget_note(cl_device *device, const uint64_t bytes[CL_USES], bool add)
{
    account(device, bytes, add);
}

uint64_t cl_budget_left(cl_device *device)
{
    pthread_mutex_lock(&device->plugin->found_lock);
    const uint64_t held = device->found->held;
    pthread_mutex_unlock(&device->plugin->found_lock);
    return held < device->whole_memory ? device->whole_memory - held : 0;
}
