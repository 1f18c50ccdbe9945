/* Series (lower/series.c): when their programs are built, the table of their stages, and their launches. */
#include "../host.h"

/* As kernels/series.cl has them. */
typedef struct stage {
    cl_uint function, words, numbers, patches, n_patches, per, items[3];
    cl_ushort value[4];
    cl_uchar buffer[CL_SERIES_BUFFERS];
} stage;
typedef struct patch { cl_ushort field, value; } patch;
typedef struct values { cl_uint run, first, last, counters; } values; /* then the numbers that parameters make */
#define FIXED 0xffff
#define COUNTERS 128 /* bytes of a stage */
#define TAKES 8      /* how often a group takes items of a stage, where there are many */
#define MOST_TAKEN 64
#define RUNS 256 /* of a plan, after which programs are asked for */

static size_t bytes_of_values(const cl_series *s)
{
    return sizeof(values) + (s->n_values ? s->n_values : 1) * sizeof(cl_int);
}

/* -- programs ------------------------------------------------------------------------------ */

/* A launch of nothing, after which the driver has nothing more to compile. */
static bool warm(cl_device *device, const cl_series *s)
{
    const size_t one = 1;
    const struct { values v; cl_int value[CL_SERIES_VALUES]; } numbers = {.v = {.run = 0}};
    cl_kernel kernel = NULL;
    cl_event done = NULL;
    cl_int error = CL_SUCCESS;
    if (cl_program_kernel(device, s->program, "series", &kernel) != ENG_OK)
        return false;
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &error);
    for (uint32_t i = 0; i <= s->n_buffers && error == CL_SUCCESS; i++)
        error = clSetKernelArg(kernel, i, sizeof(cl_mem), NULL);
    if (error == CL_SUCCESS)
        error = clSetKernelArg(kernel, s->n_buffers + 1, bytes_of_values(s), &numbers);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &done);
    error = cl_event_settle(&done, error);
    if (queue)
        clReleaseCommandQueue(queue);
    clReleaseKernel(kernel);
    return error == CL_SUCCESS;
}

static void build_all(eng_plan_state *plan, bool compile)
{
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
        plan->building = pthread_create(&plan->builder, NULL, build_aside, plan) == 0;
}

/* -- the table --------------------------------------------------------------------------- */

static void describe(const eng_instance_state *x, const cl_recorded *l, eu_text *numbers, eu_text *patches, stage *s)
{
    const eng_plan_state *plan = x->plan;
    uint32_t buffers = 0;
    uint64_t items = 1;
    *s = (stage){.function = l->function, .numbers = (cl_uint)numbers->n, .patches = (cl_uint)patches->n,
                 .items = {1, 1, 1}, .value = {FIXED, FIXED, FIXED, FIXED}, .words = (cl_numbers_size(l) + 7) / 8};
    memset(s->buffer, CL_NO_BUFFER, sizeof s->buffer);
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
        } else if (arg->kind != CL_ARG_VALUE) {
            s->buffer[buffers++] = (cl_uchar)arg->index;
        }
    }
    /* in words of eight bytes, and aligned to them */
    static const char zeros[8];
    eu_text_add_bytes(numbers, x->numbers + l->numbers, cl_numbers_size(l));
    eu_text_add_bytes(numbers, zeros, (8 - numbers->n % 8) % 8);
}

/* Stages, numbers, patches, then counters, which are zeros. */
static int make_table(eng_instance_state *x, const cl_series *s, cl_staged *to)
{
    cl_device *device = x->plan->device;
    eu_text numbers = {0}, patches = {0}, all = {0};
    stage *stages = calloc(s->n, sizeof *stages);
    for (uint32_t i = 0; i < s->n && stages; i++)
        describe(x, &x->plan->launches[s->first + i], &numbers, &patches, &stages[i]);
    const uint64_t first = (s->n * sizeof *stages + 63) / 64 * 64;
    for (uint32_t i = 0; i < s->n && stages; i++) {
        stages[i].numbers += (cl_uint)first;
        stages[i].patches += (cl_uint)(first + numbers.n);
    }
    static const char zeros[64];
    if (stages)
        eu_text_add_bytes(&all, stages, s->n * sizeof *stages);
    eu_text_add_bytes(&all, zeros, first - s->n * sizeof *stages);
    eu_text_add_bytes(&all, numbers.at ? numbers.at : "", numbers.n);
    eu_text_add_bytes(&all, patches.at ? patches.at : "", patches.n);
    int status = stages && !all.failed && !numbers.failed && !patches.failed ? ENG_OK : cl_no_memory(device, "an instance");
    to->counters = (uint32_t)((all.n + COUNTERS - 1) / COUNTERS * COUNTERS);
    if (status == ENG_OK)
        status = cl_block_create(device, to->counters + (uint64_t)s->n * COUNTERS, true, "a series of launches", &to->table);
    if (status == ENG_OK) {
        cl_event done = NULL;
        cl_int error = clEnqueueWriteBuffer(device->transfer, to->table.mem, CL_FALSE, 0, all.n, all.at, 0, NULL, &done);
        error = cl_event_settle(&done, error);
        status = error == CL_SUCCESS ? ENG_OK : cl_failed(device, error, "writing a series of launches");
    }
    eu_text_free(&numbers);
    eu_text_free(&patches);
    eu_text_free(&all);
    free(stages);
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
            cl_mem mem = cl_instance_buffer(x, arg, &at);
            if (arg->kind != CL_ARG_VALUE && arg->kind != CL_ARG_PARAM && arg->index != CL_NO_BUFFER && mem)
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
    for (uint32_t i = 0; i < s->n_buffers && status == ENG_OK && error == CL_SUCCESS; i++)
        error = clSetKernelArg(to->kernel, i, sizeof(cl_mem), NULL);
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

uint32_t cl_series_launch(cl_command_queue queue, eng_instance_state *x, uint32_t from, uint32_t to,
                          const int64_t *params, uint32_t n_params, cl_event *event, cl_int *error)
{
    const uint32_t which = x->plan->launches[from].series - 1;
    const cl_series *s = &x->plan->series[which];
    cl_staged *staged = &x->staged[which];
    if (!atomic_load_explicit(&s->ready, memory_order_acquire) || staged->failed ||
        (!staged->table.mem && !make(x, s, staged)))
        return 0;
    const uint32_t end = to < s->first + s->n ? to : s->first + s->n;
    struct { values v; cl_int value[CL_SERIES_VALUES]; } numbers;
    numbers.v = (values){++staged->run, from - s->first, end - s->first, staged->counters};
    fill_values(x, from, end, params, n_params, numbers.value);
    const size_t one = 1, groups = x->plan->device->compute_units;
    *error = clSetKernelArg(staged->kernel, s->n_buffers + 1, bytes_of_values(s), &numbers);
    if (*error == CL_SUCCESS)
        *error = clEnqueueNDRangeKernel(queue, staged->kernel, 1, NULL, &groups, &one, 0, NULL, end == to ? event : NULL);
    return end - from;
}
