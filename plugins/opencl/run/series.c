/* Series (lower/series.c): when their programs are built, the table of their stages, and their launches. */
#include "../host.h"

#include <time.h>

/* As kernels/series.cl has them. */
typedef struct stage {
    cl_uint function, words, numbers, patches, n_patches, per, items[3];
    cl_ushort value[4];
    cl_uchar buffer[CL_SERIES_BUFFERS];
} stage;
typedef struct patch { cl_ushort field, value; } patch;
typedef struct values {
    cl_uint run, first, last, counters;
    cl_ulong call, context;
    cl_int value[CL_SERIES_VALUES]; /* that parameters make: as many as the series has */
} values;
#define COUNTERS 128 /* bytes of a stage */
#define TAKES 8      /* how often a group takes items of a stage, where there are many */
#define MOST_TAKEN 64
#define RUNS 256 /* of a plan, after which programs are asked for */
#define MOMENT 50000 /* ns that a thread sleeps which waits for another's call of the host */

static size_t bytes_of_values(const cl_series *s)
{
    const size_t bytes = offsetof(values, value) + (s->n_values ? s->n_values : 1) * sizeof(cl_int);
    return (bytes + _Alignof(values) - 1) / _Alignof(values) * _Alignof(values);
}

static cl_int set_no_buffers(cl_kernel kernel, uint32_t n)
{
    cl_int error = CL_SUCCESS;
    for (uint32_t i = 0; i < n && error == CL_SUCCESS; i++)
        error = clSetKernelArg(kernel, i, sizeof(cl_mem), NULL);
    return error;
}

/* -- programs ------------------------------------------------------------------------------ */

static cl_ulong number_of(void (*function)(void *context, uint32_t section))
{
    return (cl_ulong)(uintptr_t)function;
}

static void note_call(void *called, uint32_t section)
{
    cl_thread_calls();
    atomic_store((atomic_bool *)called, section == 0);
}

/* A launch of nothing, after which the driver has nothing more to compile; and does it call the host where it should? */
static bool warm(cl_device *device, cl_series *s)
{
    const size_t one = 1;
    atomic_bool called = false;
    values none = {0};
    cl_kernel kernel = NULL;
    cl_event done = NULL;
    cl_int error = CL_SUCCESS;
    cl_thread_waits();
    if (cl_program_kernel(device, s->program, "series", &kernel) != ENG_OK)
        return false;
    if (s->n_calls && device->info.flags & ENG_DEVICE_HOST_CALLS) {
        none.call = number_of(note_call);
        none.context = (cl_ulong)(uintptr_t)&called;
    }
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &error);
    if (error == CL_SUCCESS)
        error = set_no_buffers(kernel, s->n_buffers + 1);
    if (error == CL_SUCCESS)
        error = clSetKernelArg(kernel, s->n_buffers + 1, bytes_of_values(s), &none);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &done);
    error = cl_event_settle(&done, error);
    if (queue)
        clReleaseCommandQueue(queue);
    clReleaseKernel(kernel);
    s->calls = error == CL_SUCCESS && atomic_load(&called);
    return error == CL_SUCCESS;
}

static void build_all(eng_plan_state *plan, bool compile)
{
    pthread_mutex_lock(&plan->series_lock);
    for (uint32_t i = 0; i < plan->n_series; i++) {
        cl_series *s = &plan->series[i];
        if (atomic_load(&s->ready))
            continue;
        if (cl_program_link(plan->device, s->prelude, s->parts, s->n_parts, compile, &s->program) != ENG_OK || !s->program)
            continue;
        const bool runs = warm(plan->device, s);
        cl_program_proved(plan->device, s->program, runs ? CL_RIGHT : CL_UNTRIED);
        atomic_store(&s->ready, runs);
    }
    pthread_mutex_unlock(&plan->series_lock);
}

void cl_series_begin(eng_plan_state *plan)
{
    if (plan->n_series && !atomic_exchange(&plan->begun, true))
        build_all(plan, plan->device->series == CL_SERIES_YES);
}

static void *build_aside(void *plan)
{
    build_all(plan, true);
    return NULL;
}

void cl_series_want(eng_plan_state *plan)
{
    if (plan->n_series == 0 || atomic_load_explicit(&plan->runs, memory_order_relaxed) >= RUNS)
        return;
    if (atomic_fetch_add_explicit(&plan->runs, 1, memory_order_relaxed) == RUNS - 1)
        plan->building = eu_thread_start(&plan->builder, build_aside, plan);
}

/* -- the table --------------------------------------------------------------------------- */

/* Where in the table numbers and patches begin; from: the first of its numbers among those of the instance. */
typedef struct shape { uint64_t numbers, from, patches; } shape;

static size_t stages_of(const cl_series *s)
{
    return (size_t)s->n + s->n_calls;
}

static shape shape_of(const eng_plan_state *plan, const cl_series *s)
{
    const cl_recorded *first = &plan->launches[s->first], *last = first + s->n - 1;
    shape at = {.numbers = (stages_of(s) * sizeof(stage) + 63) / 64 * 64, .from = first->numbers};
    at.patches = at.numbers + cl_numbers_end(last) - at.from;
    return at;
}

static void describe(const eng_plan_state *plan, const cl_recorded *l, const shape *at, eu_text *patches, stage *s)
{
    uint32_t buffers = 0;
    uint64_t items = 1;
    *s = (stage){.function = l->function, .numbers = (cl_uint)(at->numbers + l->numbers - at->from),
                 .patches = (cl_uint)(at->patches + patches->n), .items = {1, 1, 1}, .words = (cl_numbers_size(l) + 7) / 8};
    memset(s->buffer, CL_NO_BUFFER, sizeof s->buffer);
    for (uint32_t i = 0; i < sizeof s->value / sizeof s->value[0]; i++)
        s->value[i] = CL_SERIES_FIXED;
    for (uint32_t d = 0; d < l->dims; d++) {
        s->items[d] = (cl_uint)l->global[d];
        items *= l->global[d];
        if (l->size[d].number.param >= 0)
            s->value[d] = l->size[d].index;
    }
    const uint64_t per = items / plan->device->compute_units / TAKES;
    s->per = per < 1 ? 1 : per > MOST_TAKEN ? MOST_TAKEN : (cl_uint)per;
    for (uint32_t a = 0; a < l->n_args; a++) {
        const cl_recorded_arg *arg = &plan->args[l->first_arg + a];
        if (arg->kind == CL_ARG_PARAM) {
            const patch p = {arg->field / 4, arg->index};
            eu_text_add_bytes(patches, &p, sizeof p);
            s->n_patches++;
        } else if (cl_is_buffer(arg)) {
            s->buffer[buffers++] = (cl_uchar)arg->index;
        }
    }
}

/* Stages from launch `from` on, up to `to`. */
static void add_launches(const eng_plan_state *plan, const shape *at, uint32_t from, uint32_t to, eu_text *patches,
                         eu_text *all)
{
    for (uint32_t i = from; i < to; i++) {
        stage one;
        describe(plan, &plan->launches[i], at, patches, &one);
        eu_text_add_bytes(all, &one, sizeof one);
    }
}

static void add_call(uint32_t section, eu_text *all)
{
    const stage one = {.function = CL_SERIES_HOST, .words = section};
    eu_text_add_bytes(all, &one, sizeof one);
}

/* Stages, numbers, patches, then counters, which are zeros. */
static int make_table(eng_instance_state *x, const cl_series *s, cl_staged *to)
{
    cl_device *device = x->plan->device;
    const shape at = shape_of(x->plan, s);
    eu_text patches = {0}, all = {0};
    static const char zeros[64];
    uint32_t from = s->first;
    for (uint32_t k = s->section; k < s->section + s->n_calls; k++) {
        const uint32_t end = x->plan->section_first[k + 1];
        add_launches(x->plan, &at, from, end, &patches, &all);
        add_call(k, &all);
        from = end;
    }
    add_launches(x->plan, &at, from, s->first + s->n, &patches, &all);
    eu_text_add_bytes(&all, zeros, at.numbers - stages_of(s) * sizeof(stage));
    eu_text_add_bytes(&all, x->numbers + at.from, at.patches - at.numbers);
    eu_text_add_bytes(&all, eu_text_get(&patches), patches.n);
    int status = !all.failed && !patches.failed ? ENG_OK : cl_no_memory(device, "an instance");
    to->counters = (uint32_t)((all.n + COUNTERS - 1) / COUNTERS * COUNTERS);
    if (status == ENG_OK)
        status = cl_block_create(device, to->counters + stages_of(s) * COUNTERS, true, "a series of launches", &to->table);
    if (status == ENG_OK) {
        cl_event done = NULL;
        cl_int error = clEnqueueWriteBuffer(device->transfer, to->table.mem, CL_FALSE, 0, all.n, all.at, 0, NULL, &done);
        error = cl_event_settle(&done, error);
        status = error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, "writing a series of launches");
    }
    eu_text_free(&patches);
    eu_text_free(&all);
    return status;
}

/* Sets a kernel's buffers; each is that of the first argument that has it. */
static cl_int set_buffers(const eng_instance_state *x, const cl_series *s, cl_staged *to)
{
    cl_int error = CL_SUCCESS;
    for (uint32_t i = 0; i < s->n; i++) {
        const cl_recorded *l = &x->plan->launches[s->first + i];
        for (uint32_t a = 0; a < l->n_args && error == CL_SUCCESS; a++) {
            const cl_recorded_arg *arg = &x->plan->args[l->first_arg + a];
            cl_ulong at;
            cl_mem mem = cl_is_buffer(arg) ? cl_instance_buffer(x, arg, &at) : NULL;
            if (mem)
                error = clSetKernelArg(to->kernel, arg->index, sizeof mem, &mem);
        }
    }
    return error == CL_SUCCESS ? clSetKernelArg(to->kernel, s->n_buffers, sizeof to->table.mem, &to->table.mem) : error;
}

static bool make(eng_instance_state *x, const cl_series *s, cl_staged *to)
{
    cl_device *device = x->plan->device;
    cl_int error = CL_SUCCESS;
    int status = cl_program_kernel(device, s->program, "series", &to->kernel);
    if (status == ENG_OK)
        error = set_no_buffers(to->kernel, s->n_buffers);
    if (status == ENG_OK && error == CL_SUCCESS)
        status = make_table(x, s, to);
    if (status == ENG_OK && error == CL_SUCCESS)
        error = set_buffers(x, s, to);
    to->failed = status != ENG_OK || error != CL_SUCCESS;
    return !to->failed;
}

void cl_series_release(eng_instance_state *x)
{
    for (uint32_t i = 0; x->staged && i < x->plan->n_series; i++) {
        if (x->staged[i].kernel)
            clReleaseKernel(x->staged[i].kernel);
        cl_block_destroy(&x->staged[i].table);
    }
    free(x->staged);
}

/* -- launches ---------------------------------------------------------------------------------- */

static void fill_values(const eng_instance_state *x, uint32_t from, uint32_t to, const int64_t *params, uint32_t n_params,
                        cl_int *value)
{
    for (uint32_t i = from; i < to; i++) {
        const cl_recorded *l = &x->plan->launches[i];
        if (!l->dynamic)
            continue;
        for (uint32_t a = 0; a < l->n_args; a++) {
            const cl_recorded_arg *arg = &x->plan->args[l->first_arg + a];
            if (arg->kind == CL_ARG_PARAM)
                value[arg->index] = (cl_int)cl_number_of(params, n_params, &arg->number);
        }
        for (uint32_t d = 0; d < l->dims; d++)
            if (l->size[d].number.param >= 0)
                value[l->size[d].index] = (cl_int)cl_size_of(params, n_params, l, d);
    }
}

static bool is_ready(eng_instance_state *x, const cl_series *s, cl_staged *staged)
{
    return atomic_load_explicit(&s->ready, memory_order_acquire) && !staged->failed &&
           (staged->table.mem || make(x, s, staged));
}

static cl_int give(cl_command_queue queue, const eng_instance_state *x, const cl_series *s, cl_staged *staged, values *v,
                   cl_event *event)
{
    const size_t one = 1, groups = x->plan->device->compute_units;
    v->run = ++staged->run;
    v->counters = staged->counters;
    const cl_int error = clSetKernelArg(staged->kernel, s->n_buffers + 1, bytes_of_values(s), v);
    return error == CL_SUCCESS
               ? clEnqueueNDRangeKernel(queue, staged->kernel, 1, NULL, &groups, &one, 0, NULL, event)
               : error;
}

uint32_t cl_series_launch(cl_command_queue queue, eng_instance_state *x, uint32_t from, uint32_t to,
                          const int64_t *params, uint32_t n_params, cl_event *event, cl_int *error)
{
    const cl_recorded *launches = x->plan->launches;
    const uint32_t which = launches[from].series - 1;
    const cl_series *s = &x->plan->series[which];
    cl_staged *staged = &x->staged[which];
    if (!is_ready(x, s, staged))
        return 0;
    const uint32_t end = to < s->first + s->n ? to : s->first + s->n;
    values v = {.first = launches[from].stage, .last = launches[end - 1].stage + 1};
    fill_values(x, from, end, params, n_params, v.value);
    *error = give(queue, x, s, staged, &v, end == to ? event : NULL);
    return end - from;
}

/* By a thread of the device's. */
static void call_after(void *what, uint32_t section)
{
    const cl_staged *staged = what;
    const struct timespec moment = {.tv_nsec = MOMENT};
    cl_thread_calls();
    if (section == CL_SERIES_MOMENT)
        nanosleep(&moment, NULL);
    else
        staged->after(staged->context, section);
}

/* Have the series all launches, and can they call? */
static bool goes_through(eng_instance_state *x)
{
    uint32_t launches = 0;
    for (uint32_t i = 0; i < x->plan->n_series; i++) {
        const cl_series *s = &x->plan->series[i];
        if (!is_ready(x, s, &x->staged[i]) || !s->calls)
            return false;
        launches += s->n;
    }
    return launches > 0 && launches == x->plan->n_launches;
}

bool cl_series_through(cl_command_queue queue, eng_instance_state *x, const int64_t *params, uint32_t n_params,
                       cl_after *after, void *context, cl_event *event, cl_int *error)
{
    if (!goes_through(x))
        return false;
    *error = CL_SUCCESS;
    for (uint32_t i = 0; i < x->plan->n_series && *error == CL_SUCCESS; i++) {
        const cl_series *s = &x->plan->series[i];
        cl_staged *staged = &x->staged[i];
        cl_event given = NULL;
        staged->after = after;
        staged->context = context;
        values v = {.last = (cl_uint)stages_of(s), .call = number_of(call_after), .context = (cl_ulong)(uintptr_t)staged};
        fill_values(x, s->first, s->first + s->n, params, n_params, v.value);
        *error = give(queue, x, s, staged, &v, &given);
        cl_event_follow(event, given);
    }
    return true;
}
