/* Instances: a plan's scratch memory and its kernels with their arguments set. */
#include "../host.h"

/* Sets argument `arg` of a kernel, or writes it to the launch's numbers, or both. */
static cl_int set_arg(eng_instance_state *x, cl_kernel kernel, cl_uint *index, const cl_recorded_arg *arg,
                      uint8_t *numbers)
{
    cl_ulong at;
    switch (arg->kind) {
    case CL_ARG_LOCAL:
        return clSetKernelArg(kernel, (*index)++, (size_t)arg->at, NULL);
    case CL_ARG_PARAM: /* set at each submit */
        return CL_SUCCESS;
    case CL_ARG_VALUE:
        memcpy(numbers + arg->field, arg->value, arg->bytes);
        return CL_SUCCESS;
    default: {
        cl_mem mem = cl_instance_buffer(x, arg, &at);
        memcpy(numbers + arg->field, &at, sizeof at);
        return clSetKernelArg(kernel, (*index)++, sizeof mem, mem ? &mem : NULL);
    }
    }
}

static int make_kernel(eng_instance_state *x, uint32_t i)
{
    eng_plan_state *plan = x->plan;
    cl_device *device = plan->device;
    const cl_recorded *l = &plan->launches[i];
    cl_uint index = 0;
    cl_int error = CL_SUCCESS;
    int status = cl_program_kernel(device, l->program, l->kernel, &x->kernels[i]);
    if (status != ENG_OK)
        return status;
    for (uint32_t a = 0; a < l->n_args && error == CL_SUCCESS; a++)
        error = set_arg(x, x->kernels[i], &index, &plan->args[l->first_arg + a], x->numbers + l->numbers);
    if (error == CL_SUCCESS)
        error = clSetKernelArg(x->kernels[i], index++, cl_numbers_size(l), x->numbers + l->numbers);
    if (error != CL_SUCCESS)
        return cl_fail(device, cl_error_status(error), "%s" ENG_CAUSE
                       "node '%s': argument %u of kernel %s: %s (%d)", device->info.name,
                       eng_subgraph_node(plan->graph, l->node)->name, index ? index - 1 : 0, l->kernel,
                       cl_error_name(error), (int)error);
    return ENG_OK;
}

/* Has one tensor that may be written two slots?  (Weights are only read.) */
static bool bound_twice(const eng_subgraph *g, eng_store_state *const *stores, const uint32_t *tensors)
{
    for (uint32_t i = 0; i < g->n_bindings; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, g->binding_tensor[i]);
        for (uint32_t k = 0; k < i && (t->use & ENG_USE_MASK) != ENG_USE_WEIGHT; k++)
            if (stores[i] == stores[k] && tensors[i] == tensors[k])
                return true;
    }
    return false;
}

static int bind(eng_instance_state *x, eng_store_state *const *stores, const uint32_t *tensors)
{
    const eng_subgraph *g = x->plan->graph;
    cl_device *device = x->plan->device;
    for (uint32_t i = 0; i < g->n_bindings; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, g->binding_tensor[i]);
        if (tensors[i] >= stores[i]->n)
            return cl_fail(device, ENG_ERR_INVALID, "%s" ENG_CAUSE "'%s' is bound to tensor %u of a store that has %u",
                           device->info.name, t->name, tensors[i], stores[i]->n);
        const cl_stored *s = &stores[i]->tensors[tensors[i]];
        if (s->type != t->type || s->split.bytes != t->bytes)
            return cl_fail(device, ENG_ERR_INVALID,
                           "%s" ENG_CAUSE
                           "'%s' (%s, %llu bytes) is bound to a tensor of the store that is %s of %llu bytes",
                           device->info.name, t->name, cl_type_name(t->type), (unsigned long long)t->bytes,
                           cl_type_name(s->type), (unsigned long long)s->split.bytes);
        x->bound[i] = (cl_bound){stores[i], tensors[i]};
    }
    return ENG_OK;
}

static int take(eng_instance_state *x)
{
    uint64_t bytes[CL_USES] = {[CL_USE_SCRATCH] = x->plan->temporary};
    for (uint32_t i = 0; i < x->plan->n_arena; i++)
        bytes[CL_USE_SCRATCH] += x->plan->arena[i];
    int status = cl_budget_take(x->plan->device, bytes, "the values of a plan");
    x->bytes = status == ENG_OK ? bytes[CL_USE_SCRATCH] : 0;
    return status;
}

static int build(eng_instance_state *x, eng_store_state *const *stores, const uint32_t *tensors)
{
    eng_plan_state *plan = x->plan;
    int status = bind(x, stores, tensors);
    if (status == ENG_OK)
        status = take(x);
    for (uint32_t i = 0; i < plan->n_arena && status == ENG_OK; i++)
        status = cl_block_create_scratch(plan->device, plan->arena[i], "the plan's scratch memory", &x->arena[i]);
    if (status == ENG_OK && plan->temporary)
        status = cl_block_create(plan->device, plan->temporary, false, "the plan's temporary memory", &x->temporary);
    for (uint32_t i = 0; i < plan->n_launches && status == ENG_OK; i++)
        status = make_kernel(x, i);
    if (status == ENG_OK)
        cl_series_begin(plan);
    return status;
}

int cl_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                       eng_instance_state **instance)
{
    cl_device *device = plan->device;
    if (device->fuse && bound_twice(plan->graph, stores, tensors)) {
        int status = cl_plan_ops_alone(plan, &plan);
        if (status != ENG_OK)
            return status;
    }
    eng_instance_state *x = calloc(1, sizeof *x);
    if (x) {
        x->plan = plan;
        x->bound = calloc(plan->graph->n_bindings + 1, sizeof *x->bound);
        x->arena = calloc(plan->n_arena + 1, sizeof *x->arena);
        x->kernels = calloc(plan->n_launches + 1, sizeof(cl_kernel));
        x->staged = calloc(plan->n_series + 1, sizeof *x->staged);
        x->numbers = calloc(1, plan->n_launches ? cl_numbers_end(&plan->launches[plan->n_launches - 1]) : 1);
    }
    if (x && plan->spent)
        x->events = calloc(plan->n_launches + 1, sizeof(cl_event));
    if (!x || !x->bound || !x->arena || !x->kernels || !x->staged || !x->numbers || (plan->spent && !x->events)) {
        cl_instance_destroy(x);
        return cl_no_memory(device, "an instance");
    }
    int status = build(x, stores, tensors);
    if (status != ENG_OK) {
        cl_instance_destroy(x);
        return status;
    }
    *instance = x;
    return ENG_OK;
}

void cl_instance_destroy(eng_instance_state *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; x->kernels && i < x->plan->n_launches; i++)
        if (x->kernels[i])
            clReleaseKernel(x->kernels[i]);
    cl_series_release(x);
    for (uint32_t i = 0; x->arena && i < x->plan->n_arena; i++)
        cl_block_destroy(&x->arena[i]);
    cl_block_destroy(&x->temporary);
    cl_budget_give(x->plan->device, (uint64_t[CL_USES]){[CL_USE_SCRATCH] = x->bytes});
    free(x->kernels);
    free(x->numbers);
    free(x->events);
    free(x->arena);
    free(x->bound);
    free(x);
}

int cl_value_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    cl_device *device = instance->plan->device;
    const eng_tensor *t = eng_subgraph_tensor(instance->plan->graph, tensor);
    cl_place place;
    if (!t || t->layout || !cl_instance_place(instance, tensor, 0, &place) || !place.host || place.bytes < t->bytes)
        return cl_fail(device, ENG_ERR_UNSUPPORTED, "%s" ENG_CAUSE "tensor '%s' is not in memory that the host shares",
                       device->info.name, t ? t->name : "?");
    *data = place.host;
    return ENG_OK;
}
