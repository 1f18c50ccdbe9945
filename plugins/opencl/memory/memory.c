/*
 * Buffers.  Where device and host share memory the plugin allocates it itself,
 * on huge pages where the system has them, and lends it to OpenCL: it begins as
 * zeros and costs no copy.
 *
 * Scratch memory, as inputs and outputs, is fine-grained shared virtual memory (device/svm.c) where the device
 * has it, so that values which devices exchange need no command to be read and written.
 */
#include "../host.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#define HUGE_PAGE (2u << 20)

typedef struct lent {
    void *memory, *mapping;
    size_t bytes;       /* of the mapping                                   */
    cl_context context; /* of shared virtual memory, else NULL */
} lent;

/* OpenCL has let go of the buffer: no command uses it any more. */
static void CL_CALLBACK returned(cl_mem mem, void *data)
{
    lent *l = data;
    (void)mem;
    if (l->context) {
        cl_svm_free(l->context, l->memory);
        clReleaseContext(l->context);
    } else {
        munmap(l->mapping, l->bytes);
    }
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

/* A buffer in the host's memory `l`, which it takes over. */
static int lend(cl_device *device, uint64_t bytes, const char *what, lent *l, cl_block *block)
{
    cl_block b = {.bytes = bytes, .host = l->context ? l->memory : NULL};
    cl_int error;
    b.mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)bytes, l->memory, &error);
    if (!b.mem) {
        returned(NULL, l);
        return cl_fail(device, cl_error_status(error), "%s" ENG_CAUSE
                       "no memory for %s (%llu bytes): %s", device->info.name, what,
                       (unsigned long long)bytes, cl_error_name(error));
    }
    error = clSetMemObjectDestructorCallback(b.mem, returned, l);
    if (error != CL_SUCCESS) {
        clReleaseMemObject(b.mem);
        returned(NULL, l);
        return cl_failed(device, error, "clSetMemObjectDestructorCallback");
    }
    *block = b;
    return ENG_OK;
}

static int no_host_memory(cl_device *device, uint64_t bytes, const char *what, lent *l)
{
    free(l);
    return cl_fail(device, ENG_ERR_NOMEM, "%s" ENG_CAUSE "no host memory for %s (%llu bytes)", device->info.name, what,
                   (unsigned long long)bytes);
}

/* Memory that ends where a page ends of which nobody may touch the next one. */
static void *fenced_memory(uint64_t bytes, lent *l)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    char *p = mmap(NULL, (size_t)(size + page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    *l = (lent){.memory = p + (size - bytes), .mapping = p, .bytes = (size_t)(size + page)};
    mprotect(p + size, (size_t)page, PROT_NONE);
    return l->memory;
}

static int create_shared(cl_device *device, uint64_t bytes, const char *what, cl_block *block)
{
    uint64_t mapped = 0;
    lent *l = malloc(sizeof *l);
    void *memory = !l ? NULL : device->apart ? fenced_memory(bytes, l) : host_memory(bytes, &mapped);
    if (!memory)
        return no_host_memory(device, bytes, what, l);
    if (!device->apart)
        *l = (lent){.memory = memory, .mapping = memory, .bytes = (size_t)mapped};
    return lend(device, bytes, what, l, block);
}

static uint64_t block_bytes(const cl_device *device, uint64_t bytes)
{
    return device->apart ? bytes : (bytes + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN;
}

int cl_block_create_scratch(cl_device *device, uint64_t bytes, const char *what, cl_block *block)
{
    bytes = block_bytes(device, bytes);
    if (!device->svm)
        return cl_block_create(device, bytes, false, what, block);
    lent *l = malloc(sizeof *l);
    void *memory = l ? cl_svm_alloc(device->context, (size_t)bytes) : NULL;
    if (!memory)
        return no_host_memory(device, bytes, what, l);
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t end = ((uintptr_t)memory + (uintptr_t)bytes) / HUGE_PAGE * HUGE_PAGE;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#endif
    const cl_int error = clRetainContext(device->context); /* until the memory is given back */
    if (error != CL_SUCCESS) {
        cl_svm_free(device->context, memory);
        free(l);
        return cl_failed(device, error, "clRetainContext");
    }
    *l = (lent){.memory = memory, .bytes = (size_t)bytes, .context = device->context};
    return lend(device, bytes, what, l, block);
}

static int fill_zero(cl_device *device, cl_mem mem, uint64_t bytes)
{
    const cl_uint zero = 0;
    cl_event done = NULL;
    cl_int error = clEnqueueFillBuffer(device->transfer, mem, &zero, bytes % 4 ? 1 : 4, 0, (size_t)bytes, 0, NULL, &done);
    error = cl_event_settle(&done, error);
    return error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, "filling memory with zeros");
}

int cl_block_create(cl_device *device, uint64_t bytes, bool zero, const char *what, cl_block *block)
{
    cl_int error;
    bytes = block_bytes(device, bytes);
    if (device->caps & CL_CAP_UNIFIED)
        return create_shared(device, bytes, what, block);
    cl_block b = {.bytes = bytes};
    b.mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
    if (!b.mem)
        return cl_fail(device, cl_error_status(error), "%s" ENG_CAUSE "no device memory for %s (%llu bytes): %s",
                       device->info.name, what, (unsigned long long)bytes, cl_error_name(error));
    int status = zero && device->shares == 0 ? fill_zero(device, b.mem, bytes) : ENG_OK; /* or nobody looks at it */
    if (status != ENG_OK) {
        clReleaseMemObject(b.mem);
        return status == ENG_ERR_DEVICE ? status
                                        : cl_fail(device, status, "%s" ENG_CAUSE "no device memory for %s (%llu bytes)",
                                                  device->info.name, what, (unsigned long long)bytes);
    }
    *block = b;
    return ENG_OK;
}

int cl_block_wrap(cl_device *device, const void *data, uint64_t bytes, const char *what, cl_block *block)
{
    cl_int error;
    cl_block b = {.bytes = bytes};
    b.mem = clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, (size_t)bytes, (void *)(uintptr_t)data,
                           &error);
    if (!b.mem)
        return cl_fail(device, cl_error_status(error), "%s" ENG_CAUSE "%s cannot be used in place (%llu bytes): %s" ENG_ADVICE
                       "load them without mapping the file", device->info.name, what, (unsigned long long)bytes,
                       cl_error_name(error));
    *block = b;
    return ENG_OK;
}

void cl_block_destroy(cl_block *block)
{
    if (block->mem)
        clReleaseMemObject(block->mem);
    *block = (cl_block){0};
}
