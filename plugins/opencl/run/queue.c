/* Queues: one in-order command queue each.  What a call gives it is one submission (tickets.c). */
#include "../host.h"

struct eng_queue_state {
    cl_device *device;
    cl_command_queue queue;
    cl_tickets tickets;
};

int cl_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    cl_int error;
    eng_queue_state *q = calloc(1, sizeof *q);
    if (!q || !cl_tickets_init(&q->tickets)) {
        free(q);
        return cl_no_memory(device, "a queue");
    }
    q->device = device;
    q->tickets.lost = &device->lost;
    q->queue = clCreateCommandQueue(device->context, device->id, device->profile ? CL_QUEUE_PROFILING_ENABLE : 0,
                                    &error);
    if (!q->queue) {
        cl_tickets_end(&q->tickets);
        free(q);
        return cl_failed(device, error, "clCreateCommandQueue");
    }
    *queue = q;
    return ENG_OK;
}

void cl_queue_destroy(eng_queue_state *q)
{
    cl_failure failure;
    if (!q)
        return;
    cl_tickets_wait(&q->tickets, 0, q->tickets.next - 1, UINT64_MAX, &failure);
    clReleaseCommandQueue(q->queue);
    cl_tickets_end(&q->tickets);
    free(q);
}

/* -- calls of the host ---------------------------------------------------------------- */

typedef struct host_call {
    void (*function)(void *ctx);
    void *ctx;
} host_call;

static void CL_CALLBACK call_host(void *what)
{
    const host_call *c = what; /* the driver's copy */
    cl_thread_calls();
    c->function(c->ctx);
}

int cl_queue_call(eng_queue_state *q, void (*function)(void *ctx), void *ctx, uint64_t *ticket)
{
    host_call call = {function, ctx};
    cl_event event = NULL;
    cl_thread_waits();
    if (!(q->device->info.flags & ENG_DEVICE_HOST_CALLS))
        return cl_fail(q->device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "the device does not call the host", q->device->info.name);
    cl_int error = clEnqueueNativeKernel(q->queue, call_host, &call, sizeof call, 0, NULL, NULL, 0, NULL, &event);
    if (error != CL_SUCCESS)
        return cl_failed(q->device, error, "clEnqueueNativeKernel");
    cl_tickets_publish(&q->tickets, q->queue, event, ticket);
    return ENG_OK;
}

/* -- runs ------------------------------------------------------------------------- */

/* Sets what a launch takes from the plan's parameters. */
static cl_int set_params(const eng_instance_state *x, uint32_t i, const int64_t *params, uint32_t n, size_t *global)
{
    const cl_recorded *l = &x->plan->launches[i];
    uint8_t *numbers = x->numbers + l->numbers;
    cl_uint index = 0; /* of the numbers: behind the buffers                    */
    for (uint32_t a = 0; a < l->n_args; a++) {
        const cl_recorded_arg *arg = &x->plan->args[l->first_arg + a];
        if (arg->kind == CL_ARG_PARAM) {
            const cl_int value = (cl_int)cl_number_of(params, n, &arg->number);
            memcpy(numbers + arg->field, &value, sizeof value);
        } else if (arg->kind != CL_ARG_VALUE) {
            index++;
        }
    }
    const cl_int error = clSetKernelArg(x->kernels[i], index, cl_numbers_size(l), numbers);
    if (error != CL_SUCCESS)
        return error;
    for (unsigned d = 0; d < l->dims; d++)
        global[d] = cl_size_of(params, n, l, d);
    return CL_SUCCESS;
}

static int launch_failed(eng_queue_state *q, const eng_instance_state *x, uint32_t i, cl_int error)
{
    const cl_recorded *l = &x->plan->launches[i];
    if (cl_error_status(error) == ENG_ERR_LOST)
        q->device->lost = true;
    return cl_fail(q->device, cl_error_status(error), "%s" ENG_CAUSE "node '%s': launch of kernel %s: %s (%d)",
                   q->device->info.name, eng_subgraph_node(x->plan->graph, l->node)->name, l->kernel, cl_error_name(error),
                   (int)error);
}

/* Launches i and those up to `to` that go with it as one (series.c); *n: how many these are. */
static int launch(eng_queue_state *q, eng_instance_state *x, uint32_t i, uint32_t to, const int64_t *params,
                  uint32_t n_params, cl_event *last, uint32_t *n)
{
    const eng_plan_state *plan = x->plan;
    const cl_recorded *l = &plan->launches[i];
    size_t global[3] = {l->global[0], l->global[1], l->global[2]};
    cl_int error = CL_SUCCESS;
    *n = l->series ? cl_series_launch(q->queue, x, i, to, params, n_params, last, &error) : 0;
    if (*n == 0) {
        cl_event *event = x->events ? &x->events[i] : i + 1 == to ? last : NULL;
        *n = 1;
        if (l->dynamic)
            error = set_params(x, i, params, n_params, global);
        if (error == CL_SUCCESS)
            error = clEnqueueNDRangeKernel(q->queue, x->kernels[i], l->dims, NULL, global, l->local, 0, NULL, event);
    }
    return error == CL_SUCCESS ? ENG_OK : launch_failed(q, x, i, error);
}

/* Adds what launches took, as their events say, and lets the events go but the last launch's, which is returned. */
static cl_event note_times(eng_instance_state *x, uint32_t from, uint32_t to)
{
    cl_event last = NULL;
    for (uint32_t i = from; i < to && x->events; i++) {
        cl_ulong begin = 0, end = 0;
        if (!x->events[i])
            continue;
        if (clGetEventProfilingInfo(x->events[i], CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL) == CL_SUCCESS &&
            clGetEventProfilingInfo(x->events[i], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS &&
            end >= begin) {
            atomic_fetch_add_explicit(&x->plan->spent[i].ns, end - begin, memory_order_relaxed);
            atomic_fetch_add_explicit(&x->plan->spent[i].runs, 1, memory_order_relaxed);
        }
        if (i + 1 == to)
            last = x->events[i];
        else
            clReleaseEvent(x->events[i]);
        x->events[i] = NULL;
    }
    return last;
}

static int fail_lost(const eng_queue_state *q)
{
    return cl_fail(q->device, ENG_ERR_LOST, "%s" ENG_CAUSE "the device is gone" ENG_ADVICE "open it again", q->device->info.name);
}

/* -- in the place of a run (option compile) ----------------------------------------------------- */

/* All numbers of a launch are zero, extents among them: its kernel finds nothing to do, whatever its buffers hold.  It may divide by
 * them before that, which PoCL's processors step over. */
static cl_int set_nothing(const eng_instance_state *x, uint32_t i)
{
    const cl_recorded *l = &x->plan->launches[i];
    cl_uint index = 0;
    for (uint32_t a = 0; a < l->n_args; a++) {
        const uint32_t kind = x->plan->args[l->first_arg + a].kind;
        index += kind != CL_ARG_PARAM && kind != CL_ARG_VALUE;
    }
    memset(x->numbers + l->numbers, 0, cl_numbers_size(l));
    return clSetKernelArg(x->kernels[i], index, cl_numbers_size(l), x->numbers + l->numbers);
}

/* Drivers that compile a kernel when it is launched do so for groups of that size; others have compiled it with its program. */
static int compile_launches(eng_queue_state *q, const eng_instance_state *x, uint32_t from, uint32_t to, eng_run *control,
                            uint64_t *ticket)
{
    const cl_device *device = q->device;
    const uint32_t n = device->vec && device->compiles_late ? to - from : 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = from + cl_share_nth(device, i, n);
        const cl_recorded *l = &x->plan->launches[at];
        cl_int error = set_nothing(x, at);
        if (error == CL_SUCCESS)
            error = clEnqueueNDRangeKernel(q->queue, x->kernels[at], l->dims, NULL, l->local, l->local, 0, NULL, NULL);
        if (error != CL_SUCCESS)
            return launch_failed(q, x, at, error);
        clFinish(q->queue);
        if (control && control->poll(control) == ENG_RUN_CANCEL)
            return ENG_ERR_CANCELLED;
    }
    cl_tickets_publish(&q->tickets, q->queue, NULL, ticket);
    return ENG_OK;
}

int cl_queue_run(eng_queue_state *q, eng_instance_state *x, uint32_t first, uint32_t count, const int64_t *params,
                 uint32_t n_params, eng_run *control, uint64_t *ticket)
{
    const eng_plan_state *plan = x->plan;
    cl_thread_waits();
    uint32_t sections = plan->graph->n_sections ? plan->graph->n_sections : 1;
    if (first > sections || count > sections - first)
        return cl_fail(q->device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                       "sections %u..%u of a plan that has %u", q->device->info.name,
                       first, first + count, sections);
    if (q->device->lost)
        return fail_lost(q);
    uint32_t from = plan->section_first[first], to = plan->section_first[first + count];
    cl_event event = NULL;
    if (q->device->shares)
        return compile_launches(q, x, from, to, control, ticket);
    if (from == 0 && to > 0) /* the first that has work */
        cl_series_want(x->plan);
    for (uint32_t i = from, n; i < to; i += n) {
        int status = launch(q, x, i, to, params, n_params, &event, &n);
        if (status == ENG_OK && i + n < to && control && control->poll(control) == ENG_RUN_CANCEL)
            status = ENG_ERR_CANCELLED;
        if (status != ENG_OK) {
            clFinish(q->queue); /* nothing half-enqueued runs behind the caller's back */
            if ((event = note_times(x, from, to)))
                clReleaseEvent(event);
            return status;
        }
    }
    if (x->events && to > from) {
        clFinish(q->queue);
        event = note_times(x, from, to);
    }
    atomic_fetch_add_explicit(&q->device->figures.submits, 1, memory_order_relaxed);
    cl_tickets_publish(&q->tickets, q->queue, event, ticket);
    return ENG_OK;
}

int cl_queue_run_through(eng_queue_state *q, eng_instance_state *x, const int64_t *params, uint32_t n_params,
                         void (*after)(void *ctx, uint32_t section), void *ctx, uint64_t *ticket)
{
    cl_event event = NULL;
    cl_int error = CL_SUCCESS;
    cl_thread_waits();
    if (q->device->lost)
        return fail_lost(q);
    if (q->device->shares || !(q->device->info.flags & ENG_DEVICE_HOST_CALLS) || !cl_calls_by_itself() ||
        !cl_series_through(q->queue, x, params, n_params, after, ctx, &event, &error))
        return ENG_ERR_UNSUPPORTED;
    if (event)
        cl_tickets_publish(&q->tickets, q->queue, event, ticket);
    if (error != CL_SUCCESS)
        return cl_failed(q->device, error, "launch of all sections");
    atomic_fetch_add_explicit(&q->device->figures.submits, 1, memory_order_relaxed);
    return ENG_OK;
}

/* -- moving data -------------------------------------------------------------------- */

static bool value_place(const cl_range *range, uint64_t offset, cl_place *place)
{
    return cl_instance_place(range->instance, range->tensor, offset, place);
}

static int transfer(eng_queue_state *q, const cl_range *range, const eng_region *regions, uint32_t n, bool up,
                    uint64_t *ticket)
{
    cl_event last = NULL;
    cl_int error = CL_SUCCESS;
    for (uint32_t i = 0; i < n && error == CL_SUCCESS; i++)
        error = cl_move_region(q->queue, range, &regions[i], up, &last);
    if (error != CL_SUCCESS)
        return cl_failed(q->device, cl_event_settle(&last, error), up ? "write" : "read");
    cl_tickets_publish(&q->tickets, q->queue, last, ticket);
    return ENG_OK;
}

/* Of a packed tensor: done when it returns; its ticket stands behind the queue's work, for which the packing waits. */
static int transfer_packed(eng_queue_state *q, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                           uint32_t n, bool up, uint64_t *ticket)
{
    cl_failure earlier; /* is told by whoever waits for that work */
    cl_tickets_wait(&q->tickets, 0, q->tickets.next - 1, UINT64_MAX, &earlier);
    const int status = up ? cl_store_upload(store, tensor, regions, n) : cl_store_download(store, tensor, regions, n);
    if (status == ENG_OK)
        cl_tickets_publish(&q->tickets, q->queue, NULL, ticket);
    return status;
}

static int transfer_stored(eng_queue_state *q, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                           uint32_t n, bool up, uint64_t *ticket)
{
    const cl_range range = {.place = cl_stored_place, .store = store, .tensor = (int32_t)tensor};
    int status = cl_check_regions(store, tensor, regions, n);
    if (status != ENG_OK)
        return status;
    if (up && cl_store_unread(store, tensor)) {
        cl_tickets_publish(&q->tickets, q->queue, NULL, ticket);
        return ENG_OK;
    }
    return store->tensors[tensor].split.group > 1 ? transfer_packed(q, store, tensor, regions, n, up, ticket)
                                                  : transfer(q, &range, regions, n, up, ticket);
}

int cl_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket)
{
    return transfer_stored(queue, store, tensor, regions, n, true, ticket);
}

int cl_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                  uint32_t n, uint64_t *ticket)
{
    return transfer_stored(queue, store, tensor, regions, n, false, ticket);
}

int cl_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                  uint32_t n, uint64_t *ticket)
{
    const cl_range range = {.place = value_place, .instance = instance, .tensor = tensor};
    const eng_tensor *t = eng_subgraph_tensor(instance->plan->graph, tensor);
    if (t && t->layout && t->root == tensor) {
        const cl_bound *b = &instance->bound[t->binding];
        return transfer_packed(queue, b->store, b->tensor, regions, n, false, ticket);
    }
    return transfer(queue, &range, regions, n, false, ticket);
}

int cl_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                   uint32_t n, uint64_t *ticket)
{
    const cl_range range = {.place = value_place, .instance = instance, .tensor = tensor};
    return transfer(queue, &range, regions, n, true, ticket);
}

/* -- waiting ------------------------------------------------------------------------- */

int cl_queue_wait(eng_queue_state *q, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed)
{
    cl_failure failure;
    cl_thread_waits();
    switch (cl_tickets_wait(&q->tickets, after, ticket, timeout, &failure)) {
    case CL_WAITED_FOR_NOTHING:
        return cl_fail(q->device, ENG_ERR_INVALID, "%s" ENG_CAUSE "ticket %llu has not been given out", q->device->info.name,
                       (unsigned long long)ticket);
    case CL_WAITED_IN_VAIN:
        return cl_fail(q->device, ENG_ERR_TIMEOUT, "%s" ENG_CAUSE "the work is not done after %llu ns", q->device->info.name,
                       (unsigned long long)timeout);
    default:
        break;
    }
    if (failure.ticket == 0)
        return ENG_OK;
    if (failed)
        *failed = failure.ticket;
    return cl_failed(q->device, failure.code, "work of the queue failed");
}

int cl_queue_after(eng_queue_state *q, eng_queue_state *other, uint64_t ticket)
{
    bool done;
    cl_int error = cl_tickets_follow(&other->tickets, ticket, q->queue, &done);
    if (error != CL_SUCCESS)
        return cl_failed(q->device, error, "clEnqueueBarrierWithWaitList");
    return done ? cl_fail(q->device, ENG_ERR_STATE, "%s" ENG_CAUSE "the work is done already", q->device->info.name) : ENG_OK;
}
