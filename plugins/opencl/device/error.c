/* OpenCL error codes as text and as the engine's status codes. */
#include "../opencl.h"

#include <stdarg.h>

const char *cl_error_name(cl_int error)
{
    switch (error) {
#define CASE(name) case name: return #name
    CASE(CL_SUCCESS);
    CASE(CL_DEVICE_NOT_FOUND);
    CASE(CL_DEVICE_NOT_AVAILABLE);
    CASE(CL_COMPILER_NOT_AVAILABLE);
    CASE(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CASE(CL_OUT_OF_RESOURCES);
    CASE(CL_OUT_OF_HOST_MEMORY);
    CASE(CL_PROFILING_INFO_NOT_AVAILABLE);
    CASE(CL_MEM_COPY_OVERLAP);
    CASE(CL_IMAGE_FORMAT_MISMATCH);
    CASE(CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CASE(CL_BUILD_PROGRAM_FAILURE);
    CASE(CL_MAP_FAILURE);
    CASE(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    CASE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CASE(CL_COMPILE_PROGRAM_FAILURE);
    CASE(CL_LINKER_NOT_AVAILABLE);
    CASE(CL_LINK_PROGRAM_FAILURE);
    CASE(CL_DEVICE_PARTITION_FAILED);
    CASE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    CASE(CL_INVALID_VALUE);
    CASE(CL_INVALID_DEVICE_TYPE);
    CASE(CL_INVALID_PLATFORM);
    CASE(CL_INVALID_DEVICE);
    CASE(CL_INVALID_CONTEXT);
    CASE(CL_INVALID_QUEUE_PROPERTIES);
    CASE(CL_INVALID_COMMAND_QUEUE);
    CASE(CL_INVALID_HOST_PTR);
    CASE(CL_INVALID_MEM_OBJECT);
    CASE(CL_INVALID_BINARY);
    CASE(CL_INVALID_BUILD_OPTIONS);
    CASE(CL_INVALID_PROGRAM);
    CASE(CL_INVALID_PROGRAM_EXECUTABLE);
    CASE(CL_INVALID_KERNEL_NAME);
    CASE(CL_INVALID_KERNEL_DEFINITION);
    CASE(CL_INVALID_KERNEL);
    CASE(CL_INVALID_ARG_INDEX);
    CASE(CL_INVALID_ARG_VALUE);
    CASE(CL_INVALID_ARG_SIZE);
    CASE(CL_INVALID_KERNEL_ARGS);
    CASE(CL_INVALID_WORK_DIMENSION);
    CASE(CL_INVALID_WORK_GROUP_SIZE);
    CASE(CL_INVALID_WORK_ITEM_SIZE);
    CASE(CL_INVALID_GLOBAL_OFFSET);
    CASE(CL_INVALID_EVENT_WAIT_LIST);
    CASE(CL_INVALID_EVENT);
    CASE(CL_INVALID_OPERATION);
    CASE(CL_INVALID_BUFFER_SIZE);
    CASE(CL_INVALID_GLOBAL_WORK_SIZE);
    CASE(CL_INVALID_PROPERTY);
    CASE(CL_INVALID_COMPILER_OPTIONS);
    CASE(CL_INVALID_LINKER_OPTIONS);
    CASE(CL_INVALID_DEVICE_PARTITION_COUNT);
#undef CASE
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    case -9999: return "an illegal memory access reported by the driver";
    default: return "an OpenCL error without a name";
    }
}

int cl_error_status(cl_int error)
{
    switch (error) {
    case CL_SUCCESS: return ENG_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_BUFFER_SIZE: return ENG_ERR_NOMEM;
    case CL_DEVICE_NOT_FOUND: return ENG_ERR_NOTFOUND;
    case CL_DEVICE_NOT_AVAILABLE: return ENG_ERR_LOST;
    case CL_COMPILER_NOT_AVAILABLE: return ENG_ERR_UNSUPPORTED;
    default: return ENG_ERR_DEVICE;
    }
}

static const char *advice(cl_int error)
{
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES: return ": the device is out of memory" ENG_ADVICE "use fewer or smaller tensors, or more devices";
    case CL_OUT_OF_HOST_MEMORY: return ": the host is out of memory";
    case CL_DEVICE_NOT_AVAILABLE: return ": the device is gone" ENG_ADVICE "open it again";
    default: return "";
    }
}

int cl_failed(cl_device *device, cl_int error, const char *what)
{
    int status = cl_error_status(error);
    if (status == ENG_ERR_LOST)
        device->lost = true;
    return cl_fail(device, status, "%s" ENG_CAUSE
                   "%s: %s (%d)%s", device->info.name, what, cl_error_name(error), (int)error,
                   advice(error));
}

eng_support cl_no(char *reason, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, bytes, format, args);
    va_end(args);
    return ENG_SUPPORT_NO;
}

eng_support cl_slow(char *reason, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, bytes, format, args);
    va_end(args);
    return ENG_SUPPORT_SLOW;
}
