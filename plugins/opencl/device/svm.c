/*
 * Shared virtual memory.  The host may look into a buffer that lies in its memory only
 * while the buffer is mapped, unless that memory is fine-grained shared virtual memory
 * (OpenCL 2.0, 5.6.1): then both see what the other has done once a command is complete.
 */
#include "../host.h"

#include <dlfcn.h>

/* Of OpenCL 2.0: neither in the headers' version 1.2, nor perhaps in the loader. */
#define SVM_CAPABILITIES 0x1053
#define SVM_FINE_GRAIN_BUFFER (1 << 1)
#define SVM_FLAGS (CL_MEM_READ_WRITE | (cl_bitfield)1 << 10) /* fine-grained */
typedef void *(CL_API_CALL *svm_alloc)(cl_context context, cl_bitfield flags, size_t bytes, cl_uint alignment);
typedef void (CL_API_CALL *svm_free)(cl_context context, void *memory);

static svm_alloc find_alloc(void)
{
    return (svm_alloc)dlsym(RTLD_DEFAULT, "clSVMAlloc");
}

static svm_free find_free(void)
{
    return (svm_free)dlsym(RTLD_DEFAULT, "clSVMFree");
}

bool cl_svm_found(cl_device_id id)
{
    cl_bitfield caps = 0;
    return find_alloc() && find_free() &&
           clGetDeviceInfo(id, SVM_CAPABILITIES, sizeof caps, &caps, NULL) == CL_SUCCESS &&
           (caps & SVM_FINE_GRAIN_BUFFER);
}

void *cl_svm_alloc(cl_context context, size_t bytes)
{
    return find_alloc()(context, SVM_FLAGS, bytes, 0);
}

void cl_svm_free(cl_context context, void *memory)
{
    find_free()(context, memory);
}
