/*
 * Buffers.  Where device and host share memory the plugin allocates it itself,
 * on huge pages where the system has them, and lends it to OpenCL: it begins as
 * zeros, costs no copy and has an address that stays.
 */
#include "host.h"

#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#define HUGE_PAGE (2u << 20)

typedef struct lent { void *memory; size_t bytes; } lent;

/* OpenCL has let go of the buffer: no command uses it any more. */
static void CL_CALLBACK returned(cl_mem mem, void *data)
{
    lent *l = data;
    (void)mem;
    munmap(l->memory, l->bytes);
    free(l);
}

static void *host_memory(uint64_t bytes, uint64_t *mapped)
{
    uint64_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096, size = (bytes + unit - 1) / unit * unit;
    uint64_t spare = unit == HUGE_PAGE ? HUGE_PAGE : 0;
    char *p = mmap(NULL, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (spare) {
        /* give back what lies before the first huge page and after the last */
        char *begin = (char *)(((uintptr_t)p + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
        if (begin > p)
            munmap(p, (size_t)(begin - p));
        size_t after = (size_t)(p + size + spare - (begin + size));
        if (after)
            munmap(begin + size, after);
        p = begin;
#ifdef MADV_HUGEPAGE
        madvise(p, size, MADV_HUGEPAGE);
#endif
    }
    *mapped = size;
    return p;
}

static int create_shared(cl_device *device, uint64_t bytes, const char *what, cl_block *block)
{
    cl_block b = {.bytes = bytes};
    cl_int error;
    lent *l = malloc(sizeof *l);
    b.host = l ? host_memory(bytes, &b.mapped) : NULL;
    if (!b.host) {
        free(l);
        return cl_fail(device, ENG_ERR_NOMEM, "%s: no host memory for %s (%llu bytes)", device->info.name, what,
                       (unsigned long long)bytes);
    }
    *l = (lent){b.host, (size_t)b.mapped};
    b.mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)bytes, b.host, &error);
    if (!b.mem) {
        munmap(l->memory, l->bytes);
        free(l);
        return cl_fail(device, cl_error_status(error), "%s: no memory for %s (%llu bytes): %s", device->info.name, what,
                       (unsigned long long)bytes, cl_error_name(error));
    }
    error = clSetMemObjectDestructorCallback(b.mem, returned, l);
    if (error != CL_SUCCESS) {
        clReleaseMemObject(b.mem);
        munmap(l->memory, l->bytes);
        free(l);
        return cl_failed(device, error, "clSetMemObjectDestructorCallback");
    }
    if (device->info.kind != ENG_DEVICE_CPU)
        b.host = NULL; /* shared, but only a CPU sees it without mapping */
    *block = b;
    return ENG_OK;
}

static int fill_zero(cl_device *device, cl_mem mem, uint64_t bytes)
{
    const cl_uint zero = 0;
    pthread_mutex_lock(&device->transfer_lock);
    cl_int error =
        clEnqueueFillBuffer(device->transfer, mem, &zero, sizeof zero, 0, (size_t)(bytes / 4 * 4), 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = clFinish(device->transfer);
    pthread_mutex_unlock(&device->transfer_lock);
    return error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, "filling memory with zeros");
}

int cl_block_create(cl_device *device, uint64_t bytes, bool zero, const char *what, cl_block *block)
{
    cl_int error;
    bytes = (bytes + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN;
    if (device->caps & CL_CAP_UNIFIED)
        return create_shared(device, bytes, what, block);
    cl_block b = {.bytes = bytes};
    b.mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
    if (!b.mem)
        return cl_fail(device, cl_error_status(error), "%s: no device memory for %s (%llu bytes): %s",
                       device->info.name, what, (unsigned long long)bytes, cl_error_name(error));
    int status = zero ? fill_zero(device, b.mem, bytes) : ENG_OK;
    if (status != ENG_OK) {
        clReleaseMemObject(b.mem);
        return status == ENG_ERR_DEVICE ? status
                                        : cl_fail(device, status, "%s: no device memory for %s (%llu bytes)",
                                                  device->info.name, what, (unsigned long long)bytes);
    }
    *block = b;
    return ENG_OK;
}

void cl_block_destroy(cl_block *block)
{
    if (block->mem)
        clReleaseMemObject(block->mem);
    *block = (cl_block){0};
}
