/*
 * Compiled programs are kept on disk, but not before the first results: to give a program's binary a driver may compile
 * every kernel once more (PoCL does: for any size of groups, where a launch compiles for one).  One program is kept when the
 * device is closed: nothing runs then, and nobody waits long.  Drivers with a cache of their own do not need even that to start soon.
 * (A thread that keeps them while others launch their kernels is no way: PoCL 3.1 then ends the process.)
 */
#include "../host.h"

void cl_keeper_add(cl_device *device, cl_program program, const cl_hash *hash, bool first)
{
    if (device->shares == 0 && (!device->unkept.program || first)) /* who only compiles leaves that to those who run */
        device->unkept = (cl_unkept){program, *hash};
}

void cl_keeper_end(cl_device *device)
{
    if (device->unkept.program && !device->lost)
        cl_cache_save(device, &device->unkept.hash, device->unkept.program);
}
