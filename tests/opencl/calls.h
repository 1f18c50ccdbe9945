/*
 * The OpenCL calls that the opencl plugin makes, each with its parameters and their names; included by
 * interposer.c, which defines what becomes of them:
 *
 *     STATUS(name, parameters, names)         returns an error code
 *     QUESTION(name, parameters, names)       the same, and writes an answer (what, bytes, value, all)
 *     COMMAND(name, parameters, names)        the same, ends in a wait list and an event (n_waits, waits, event)
 *     OBJECT(type, name, parameters, names)   returns an object, the error code through `error`
 *     RETAIN(name, parameters, names)         one reference more
 *     RELEASE(name, parameters, names)        and one less
 *
 * No include guard: it is read several times.
 */
#define P(...) (__VA_ARGS__)
#define WAITS cl_uint n_waits, const cl_event *waits, cl_event *event

STATUS(clGetPlatformIDs, P(cl_uint n, cl_platform_id *ids, cl_uint *found), P(n, ids, found))
STATUS(clGetPlatformInfo, P(cl_platform_id platform, cl_platform_info what, size_t bytes, void *value, size_t *all),
       P(platform, what, bytes, value, all))
STATUS(clGetDeviceIDs, P(cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *found),
       P(platform, type, n, ids, found))
QUESTION(clGetDeviceInfo, P(cl_device_id device, cl_device_info what, size_t bytes, void *value, size_t *all),
         P(device, what, bytes, value, all))
STATUS(clCreateSubDevices, P(cl_device_id device, const cl_device_partition_property *how, cl_uint n,
                             cl_device_id *parts, cl_uint *made),
       P(device, how, n, parts, made))

OBJECT(cl_context, clCreateContext,
       P(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *error),
       P(properties, n, devices, notify, data, error))
RETAIN(clRetainContext, P(cl_context context), P(context))
RELEASE(clReleaseContext, P(cl_context context), P(context))
OBJECT(cl_command_queue, clCreateCommandQueue,
       P(cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error),
       P(context, device, properties, error))
RELEASE(clReleaseCommandQueue, P(cl_command_queue queue), P(queue))

OBJECT(cl_mem, clCreateBuffer, P(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error),
       P(context, flags, bytes, host, error))
STATUS(clSetMemObjectDestructorCallback,
       P(cl_mem mem, void(CL_CALLBACK *notify)(cl_mem, void *), void *data), P(mem, notify, data))
RELEASE(clReleaseMemObject, P(cl_mem mem), P(mem))

OBJECT(cl_program, clCreateProgramWithSource,
       P(cl_context context, cl_uint n, const char **strings, const size_t *lengths, cl_int *error),
       P(context, n, strings, lengths, error))
OBJECT(cl_program, clCreateProgramWithBinary,
       P(cl_context context, cl_uint n, const cl_device_id *devices, const size_t *lengths,
         const unsigned char **binaries, cl_int *statuses, cl_int *error),
       P(context, n, devices, lengths, binaries, statuses, error))
STATUS(clBuildProgram,
       P(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
         void(CL_CALLBACK *notify)(cl_program, void *), void *data),
       P(program, n, devices, options, notify, data))
STATUS(clCompileProgram,
       P(cl_program program, cl_uint n, const cl_device_id *devices, const char *options, cl_uint n_headers,
         const cl_program *headers, const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data),
       P(program, n, devices, options, n_headers, headers, names, notify, data))
OBJECT(cl_program, clLinkProgram,
       P(cl_context context, cl_uint n, const cl_device_id *devices, const char *options, cl_uint n_programs,
         const cl_program *programs, void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *error),
       P(context, n, devices, options, n_programs, programs, notify, data, error))
STATUS(clGetProgramInfo, P(cl_program program, cl_program_info what, size_t bytes, void *value, size_t *all),
       P(program, what, bytes, value, all))
STATUS(clGetProgramBuildInfo,
       P(cl_program program, cl_device_id device, cl_program_build_info what, size_t bytes, void *value, size_t *all),
       P(program, device, what, bytes, value, all))
RELEASE(clReleaseProgram, P(cl_program program), P(program))
OBJECT(cl_kernel, clCreateKernel, P(cl_program program, const char *name, cl_int *error), P(program, name, error))
STATUS(clSetKernelArg, P(cl_kernel kernel, cl_uint index, size_t bytes, const void *value),
       P(kernel, index, bytes, value))
RELEASE(clReleaseKernel, P(cl_kernel kernel), P(kernel))

COMMAND(clEnqueueReadBuffer,
        P(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t at, size_t bytes, void *data, WAITS),
        P(queue, mem, blocking, at, bytes, data, n_waits, waits, event))
COMMAND(clEnqueueWriteBuffer,
        P(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t at, size_t bytes, const void *data, WAITS),
        P(queue, mem, blocking, at, bytes, data, n_waits, waits, event))
COMMAND(clEnqueueReadBufferRect,
        P(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *at, const size_t *host,
          const size_t *extent, size_t row, size_t slice, size_t host_row, size_t host_slice, void *data, WAITS),
        P(queue, mem, blocking, at, host, extent, row, slice, host_row, host_slice, data, n_waits, waits, event))
COMMAND(clEnqueueWriteBufferRect,
        P(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *at, const size_t *host,
          const size_t *extent, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *data, WAITS),
        P(queue, mem, blocking, at, host, extent, row, slice, host_row, host_slice, data, n_waits, waits, event))
COMMAND(clEnqueueFillBuffer,
        P(cl_command_queue queue, cl_mem mem, const void *pattern, size_t width, size_t at, size_t bytes, WAITS),
        P(queue, mem, pattern, width, at, bytes, n_waits, waits, event))
COMMAND(clEnqueueNativeKernel,
        P(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *what, size_t bytes, cl_uint n_mems, const cl_mem *mems,
          const void **places, WAITS),
        P(queue, function, what, bytes, n_mems, mems, places, n_waits, waits, event))
COMMAND(clEnqueueNDRangeKernel,
        P(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *first, const size_t *global,
          const size_t *local, WAITS),
        P(queue, kernel, dims, first, global, local, n_waits, waits, event))
COMMAND(clEnqueueMarkerWithWaitList, P(cl_command_queue queue, WAITS), P(queue, n_waits, waits, event))
COMMAND(clEnqueueBarrierWithWaitList, P(cl_command_queue queue, WAITS), P(queue, n_waits, waits, event))
STATUS(clFlush, P(cl_command_queue queue), P(queue))
STATUS(clFinish, P(cl_command_queue queue), P(queue))
STATUS(clWaitForEvents, P(cl_uint n, const cl_event *events), P(n, events))
STATUS(clGetEventInfo, P(cl_event event, cl_event_info what, size_t bytes, void *value, size_t *all),
       P(event, what, bytes, value, all))
STATUS(clGetEventProfilingInfo, P(cl_event event, cl_profiling_info what, size_t bytes, void *value, size_t *all),
       P(event, what, bytes, value, all))
RETAIN(clRetainEvent, P(cl_event event), P(event))
RELEASE(clReleaseEvent, P(cl_event event), P(event))

#undef P
#undef WAITS
#undef STATUS
#undef QUESTION
#undef COMMAND
#undef OBJECT
#undef RETAIN
#undef RELEASE
