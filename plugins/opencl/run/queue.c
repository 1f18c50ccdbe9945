/*
 * Queues: one in-order command queue each.  Every submission's last command has
 * an event; a ring of them tells how far the queue has come.
 */
#include "../host.h"

#include <time.h>

#define RING 64u

struct eng_queue_state {
    cl_device *device;
    cl_command_queue queue;
    uint64_t next;          /* ticket of the next submission                   */
    uint64_t done;          /* all tickets up to here are done                 */
    cl_event ring[RING];    /* of tickets done + 1 .. next - 1                  */
    int failure;            /* first since the last wait that told it          */
    cl_int failure_code;
};

int cl_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    cl_int error;
    eng_queue_state *q = calloc(1, sizeof *q);
    if (!q)
        return cl_no_memory(device, "a queue");
    q->device = device;
    q->next = 1;
    q->queue = clCreateCommandQueue(device->context, device->id, 0, &error);
    if (!q->queue) {
        free(q);
        return cl_failed(device, error, "clCreateCommandQueue");
    }
    *queue = q;
    return ENG_OK;
}

/* Notes the outcome of the oldest submission, which is done. */
static void retire(eng_queue_state *q, cl_int status)
{
    uint64_t ticket = q->done + 1;
    cl_event event = q->ring[ticket % RING];
    if (status < 0 && q->failure == ENG_OK) {
        q->failure = cl_error_status(status);
        q->failure_code = status;
    }
    if (cl_error_status(status) == ENG_ERR_LOST)
        q->device->lost = true; /* at once: the next submit may come before the wait that tells it */
    if (event)
        clReleaseEvent(event);
    q->ring[ticket % RING] = NULL;
    q->done = ticket;
}

/* Retires all up to the ticket (the queue is in order), as soon as it is done. */
static void wait_for(eng_queue_state *q, uint64_t ticket)
{
    cl_event last = q->ring[ticket % RING];
    if (last && ticket > q->done)
        clWaitForEvents(1, &last); /* one wait for all; should it fail, each is waited for below */
    while (q->done < ticket) {
        cl_event event = q->ring[(q->done + 1) % RING];
        retire(q, event ? cl_event_wait(event) : CL_COMPLETE);
    }
}

/* A place for the next ticket: the ring never overflows. */
static void make_room(eng_queue_state *q)
{
    if (q->next - q->done > RING - 1)
        wait_for(q, q->done + RING / 2);
}

static void publish(eng_queue_state *q, cl_event event, uint64_t *ticket)
{
    /* no command: done when all before it is */
    if (!event && clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &event) != CL_SUCCESS) {
        event = NULL;
        wait_for(q, q->next - 1);
    }
    q->ring[q->next % RING] = event;
    if (ticket)
        *ticket = q->next;
    q->next++;
    clFlush(q->queue);
}

void cl_queue_destroy(eng_queue_state *q)
{
    if (!q)
        return;
    wait_for(q, q->next - 1);
    clReleaseCommandQueue(q->queue);
    free(q);
}

static int64_t number_of(const int64_t *params, uint32_t n, const cl_param *p)
{
    if (p->param >= (int64_t)n)
        return p->limit;
    int64_t v = params[p->param] - p->less;
    if (v > 0 && p->period > 0) {
        int64_t rest = v % p->period;
        v = v / p->period * p->run + (rest < p->run ? rest : p->run);
    }
    return v < 0 ? 0 : v > p->limit ? p->limit : v;
}

/* Sets what a launch takes from the plan's parameters. */
static cl_int set_params(const eng_plan_state *plan, const cl_recorded *l, cl_kernel kernel, const int64_t *params,
                         uint32_t n, size_t *global)
{
    cl_uint index = 0;
    for (uint32_t a = 0; a < l->n_args; a++) {
        const cl_recorded_arg *arg = &plan->args[l->first_arg + a];
        if (arg->kind == CL_ARG_PARAM) {
            cl_int value = (cl_int)number_of(params, n, &arg->number);
            cl_int error = clSetKernelArg(kernel, index, sizeof value, &value);
            if (error != CL_SUCCESS)
                return error;
        }
        bool pair = arg->kind != CL_ARG_VALUE && arg->kind != CL_ARG_LOCAL && arg->kind != CL_ARG_PARAM;
        index += pair ? 2 : 1; /* a buffer and an offset                     */
    }
    for (unsigned d = 0; d < l->dims; d++) {
        const cl_recorded_size *s = &l->size[d];
        if (s->number.param < 0)
            continue;
        uint64_t v = (uint64_t)number_of(params, n, &s->number),
                 parts = (v + (uint64_t)s->per - 1) / (uint64_t)s->per;
        uint64_t size = (parts ? parts : 1) * (uint64_t)s->times;
        size = (size + l->local[d] - 1) / l->local[d] * l->local[d];
        if (size < global[d])
            global[d] = (size_t)size;
    }
    return CL_SUCCESS;
}

static int launch(eng_queue_state *q, eng_instance_state *x, uint32_t i, const int64_t *params, uint32_t n_params,
                  cl_event *event)
{
    const eng_plan_state *plan = x->plan;
    const cl_recorded *l = &plan->launches[i];
    size_t global[3] = {l->global[0], l->global[1], l->global[2]};
    cl_int error = CL_SUCCESS;
    if (l->dynamic)
        error = set_params(plan, l, x->kernels[i], params, n_params, global);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(q->queue, x->kernels[i], l->dims, NULL, global, l->local, 0, NULL, event);
    if (error == CL_SUCCESS)
        return ENG_OK;
    if (cl_error_status(error) == ENG_ERR_LOST)
        q->device->lost = true;
    return cl_fail(q->device, cl_error_status(error), "%s" ENG_CAUSE "node '%s': launch of kernel %s: %s (%d)",
                   q->device->info.name, eng_subgraph_node(plan->graph, l->node)->name, l->kernel, cl_error_name(error),
                   (int)error);
}

int cl_queue_submit(eng_queue_state *q, eng_instance_state *x, uint32_t first, uint32_t count, const int64_t *params,
                    uint32_t n_params, uint64_t *ticket)
{
    const eng_plan_state *plan = x->plan;
    uint32_t sections = plan->graph->n_sections ? plan->graph->n_sections : 1;
    if (first > sections || count > sections - first)
        return cl_fail(q->device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                       "sections %u..%u of a plan that has %u", q->device->info.name,
                       first, first + count, sections);
    if (q->device->lost)
        return cl_fail(q->device, ENG_ERR_LOST, "%s" ENG_CAUSE "the device is gone" ENG_ADVICE
                       "open it again", q->device->info.name);
    uint32_t from = plan->section_first[first], to = plan->section_first[first + count];
    cl_event event = NULL;
    make_room(q);
    for (uint32_t i = from; i < to; i++) {
        int status = launch(q, x, i, params, n_params, i + 1 == to ? &event : NULL);
        if (status != ENG_OK) {
            clFinish(q->queue); /* nothing half-enqueued runs behind the caller's back */
            return status;
        }
    }
    atomic_fetch_add_explicit(&q->device->figures.submits, 1, memory_order_relaxed);
    publish(q, event, ticket);
    return ENG_OK;
}

/* A range of a bound or scratch tensor, piece by piece. */
typedef struct range {
    const eng_store_state *store;
    const eng_instance_state *instance;
    int32_t tensor;
} range;

static bool place_of(const range *r, uint64_t offset, cl_place *place)
{
    return r->store ? cl_store_place(r->store, (uint32_t)r->tensor, offset, place)
                    : cl_instance_place(r->instance, r->tensor, offset, place);
}

static int transfer(eng_queue_state *q, const range *r, uint64_t offset, uint64_t bytes, char *out, const char *in,
                    uint64_t *ticket)
{
    const bool up = in != NULL;
    cl_event last = NULL;
    cl_int error = CL_SUCCESS;
    make_room(q);
    while (bytes && error == CL_SUCCESS) {
        cl_place place;
        cl_event event = NULL;
        if (!place_of(r, offset, &place) || place.bytes == 0) {
            cl_event_settle(&last, CL_SUCCESS);
            return cl_fail(q->device, ENG_ERR_INVALID, "%s" ENG_CAUSE "%llu bytes reach past the end of the tensor",
                           q->device->info.name, (unsigned long long)bytes);
        }
        size_t n = (size_t)(bytes < place.bytes ? bytes : place.bytes);
        error = up ? clEnqueueWriteBuffer(q->queue, place.mem, CL_FALSE, (size_t)place.at, n, in, 0, NULL, &event)
                   : clEnqueueReadBuffer(q->queue, place.mem, CL_FALSE, (size_t)place.at, n, out, 0, NULL, &event);
        cl_event_follow(&last, event);
        offset += n;
        bytes -= n;
        in = up ? in + n : NULL;
        out = up ? NULL : out + n;
    }
    if (error != CL_SUCCESS)
        return cl_failed(q->device, cl_event_settle(&last, error), up ? "write" : "read");
    publish(q, last, ticket);
    return ENG_OK;
}

static int check_store(eng_queue_state *q, const eng_store_state *store, uint32_t tensor, uint64_t offset,
                       uint64_t bytes)
{
    if (tensor >= store->n)
        return cl_fail(q->device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                       "tensor %u of a store that has %u", q->device->info.name, tensor,
                       store->n);
    const cl_stored *t = &store->tensors[tensor];
    if (t->split.group > 1)
        return cl_fail(q->device, ENG_ERR_UNSUPPORTED,
                       "%s" ENG_CAUSE "a matrix kept in the device's own layout is moved by upload and download only",
                       q->device->info.name);
    if (offset > t->split.bytes || bytes > t->split.bytes - offset)
        return cl_fail(q->device, ENG_ERR_INVALID,
                       "%s" ENG_CAUSE
                       "%llu bytes at %llu reach past the end of the tensor (%llu bytes)", q->device->info.name,
                       (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)t->split.bytes);
    return ENG_OK;
}

int cl_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                   const void *data, uint64_t *ticket)
{
    int status = check_store(queue, store, tensor, offset, bytes);
    range r = {.store = store, .tensor = (int32_t)tensor};
    return status != ENG_OK ? status : transfer(queue, &r, offset, bytes, NULL, data, ticket);
}

int cl_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                  void *data, uint64_t *ticket)
{
    int status = check_store(queue, store, tensor, offset, bytes);
    range r = {.store = store, .tensor = (int32_t)tensor};
    return status != ENG_OK ? status : transfer(queue, &r, offset, bytes, data, NULL, ticket);
}

int cl_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, uint64_t offset, uint64_t bytes,
                  void *data, uint64_t *ticket)
{
    range r = {.instance = instance, .tensor = tensor};
    return transfer(queue, &r, offset, bytes, data, NULL, ticket);
}

int cl_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, uint64_t offset,
                   uint64_t bytes, const void *data, uint64_t *ticket)
{
    range r = {.instance = instance, .tensor = tensor};
    return transfer(queue, &r, offset, bytes, NULL, data, ticket);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Asks until the ticket is done or the time is over: OpenCL has no timed wait. */
static bool poll_for(eng_queue_state *q, uint64_t ticket, uint64_t timeout)
{
    uint64_t begin = now();
    long pause = 2000;
    for (;;) {
        while (q->done < ticket) {
            cl_event event = q->ring[(q->done + 1) % RING];
            cl_int outcome = CL_COMPLETE;
            if (event && !cl_event_over(event, &outcome))
                break;
            retire(q, outcome);
        }
        if (q->done >= ticket)
            return true;
        if (now() - begin >= timeout)
            return false;
        nanosleep(&(struct timespec){0, pause}, NULL);
        pause = pause < 500000 ? 2 * pause : pause;
    }
}

int cl_queue_wait(eng_queue_state *q, uint64_t ticket, uint64_t timeout)
{
    if (ticket >= q->next)
        return cl_fail(q->device, ENG_ERR_INVALID, "%s" ENG_CAUSE
                       "ticket %llu has not been given out", q->device->info.name,
                       (unsigned long long)ticket);
    if (ticket > q->done) {
        if (timeout == UINT64_MAX)
            wait_for(q, ticket);
        else if (!poll_for(q, ticket, timeout))
            return cl_fail(q->device, ENG_ERR_TIMEOUT, "%s" ENG_CAUSE
                           "the work is not done after %llu ns", q->device->info.name,
                           (unsigned long long)timeout);
    }
    int failure = q->failure;
    q->failure = ENG_OK;
    return failure == ENG_OK ? ENG_OK : cl_failed(q->device, q->failure_code, "work of the queue failed");
}
