/*
 * Recording launches: the calls that op files make.  A recorder without a plan
 * is a trial run (supports): it finds refusals and records nothing.
 */
#include "../host.h"

#include "variant.h"

static cl_recorded *current(cl_recorder *r)
{
    return r->status != ENG_OK || !r->plan || r->plan->n_launches == 0 ? NULL
                                                                       : &r->plan->launches[r->plan->n_launches - 1];
}

static void no_memory(cl_recorder *r)
{
    r->status = cl_no_memory(r->device, "a plan");
}

void cl_launch(cl_recorder *r, const char *file, const char *name, const char *options)
{
    cl_launch_with(r, file, name, options, NULL);
}

void cl_launch_with(cl_recorder *r, const char *file, const char *name, const char *options, const char *prelude)
{
    eng_plan_state *p = r->plan;
    if (r->status != ENG_OK || !p)
        return;
    if (!eu_reserve(p->launches, p->launch_room, (size_t)p->n_launches + 1)) {
        no_memory(r);
        return;
    }
    cl_recorded *l = &p->launches[p->n_launches];
    memset(l, 0, sizeof *l);
    r->status = cl_programs_want(p, file, options, prelude, &l->wanted);
    if (r->status != ENG_OK)
        return;
    snprintf(l->kernel, sizeof l->kernel, "%s", name);
    l->node = (uint32_t)(((const char *)r->node - (const char *)r->graph->nodes) / (ptrdiff_t)r->graph->node_stride);
    l->first_arg = p->n_args;
    l->numbers = p->n_launches ? cl_numbers_end(l - 1) : 0;
    l->align = 1;
    for (unsigned d = 0; d < 3; d++)
        l->size[d].number.param = -1;
    p->n_launches++;
}

static void name_variant(cl_recorder *r, const cl_variant *v)
{
    cl_recorded *l = current(r);
    if (l)
        l->variant = v->name;
}

void cl_launch_variant(cl_recorder *r, const cl_variant *v, const char *kernel, const char *options)
{
    cl_launch(r, v->file, kernel, options);
    name_variant(r, v);
}

void cl_launch_variant_with(cl_recorder *r, const cl_variant *v, const char *options, const char *prelude)
{
    cl_launch_with(r, v->file, v->kernel, options, prelude);
    name_variant(r, v);
}

static void add(cl_recorder *r, const cl_recorded_arg *arg)
{
    cl_recorded *l = current(r);
    eng_plan_state *p = r->plan;
    if (!l)
        return;
    if (!eu_reserve(p->args, p->arg_room, (size_t)p->n_args + 1)) {
        no_memory(r);
        return;
    }
    p->args[p->n_args++] = *arg;
    l->n_args++;
    l->dynamic |= arg->kind == CL_ARG_PARAM;
}

/* An argument with a number of `bytes`, which takes the next field of the launch's numbers: aligned to its size. */
static void add_number(cl_recorder *r, cl_recorded_arg arg, uint32_t bytes)
{
    cl_recorded *l = current(r);
    if (!l)
        return;
    l->bytes = (l->bytes + bytes - 1) / bytes * bytes;
    arg.field = (uint16_t)l->bytes;
    l->bytes += bytes;
    l->align = bytes > l->align ? bytes : l->align;
    add(r, &arg);
}

/* A buffer, and the offset in it. */
static void add_buffer(cl_recorder *r, cl_recorded_arg arg)
{
    add_number(r, arg, sizeof(cl_ulong));
}

void cl_arg_tensor(cl_recorder *r, int32_t tensor, uint64_t offset)
{
    add_buffer(r, (cl_recorded_arg){.kind = CL_ARG_TENSOR, .tensor = tensor, .at = offset});
}

void cl_arg_none(cl_recorder *r)
{
    add_buffer(r, (cl_recorded_arg){.kind = CL_ARG_NONE});
}

void cl_arg_operand(cl_recorder *r, unsigned i)
{
    if (r->node->in[i] < 0)
        cl_arg_none(r);
    else
        cl_arg_tensor(r, r->node->in[i], 0);
}

void cl_arg_result(cl_recorder *r, unsigned i)
{
    cl_arg_tensor(r, i == 0 && r->epilogue ? r->epilogue->out[0] : r->node->out[i], 0);
}

void cl_arg_temporary(cl_recorder *r, uint64_t at)
{
    add_buffer(r, (cl_recorded_arg){.kind = CL_ARG_TEMPORARY, .at = at});
}

static void add_value(cl_recorder *r, const void *value, uint8_t bytes)
{
    cl_recorded_arg arg = {.kind = CL_ARG_VALUE, .bytes = bytes};
    memcpy(arg.value, value, bytes);
    add_number(r, arg, bytes);
}

void cl_arg_int(cl_recorder *r, int32_t value)
{
    add_value(r, &value, sizeof value);
}

void cl_arg_long(cl_recorder *r, int64_t value)
{
    add_value(r, &value, sizeof value);
}

void cl_arg_float(cl_recorder *r, float value)
{
    add_value(r, &value, sizeof value);
}

void cl_arg_long4(cl_recorder *r, const int64_t *values)
{
    add_value(r, values, 4 * sizeof *values);
}

void cl_arg_local(cl_recorder *r, size_t bytes)
{
    add(r, &(cl_recorded_arg){.kind = CL_ARG_LOCAL, .at = bytes});
}

static bool depends(const cl_recorder *r, const cl_param *number)
{
    return number->param >= 0 && number->param < (int64_t)r->graph->n_params;
}

void cl_arg_param(cl_recorder *r, const cl_param *number)
{
    if (depends(r, number))
        add_number(r, (cl_recorded_arg){.kind = CL_ARG_PARAM, .number = *number}, sizeof(cl_int));
    else
        cl_arg_int(r, (int32_t)number->limit);
}

void cl_size(cl_recorder *r, unsigned dims, const size_t *global, const size_t *local)
{
    cl_recorded *l = current(r);
    size_t group = 1;
    for (unsigned d = 0; d < dims; d++)
        group *= local[d] ? local[d] : 1;
    if (r->status == ENG_OK && group > r->device->max_group) /* in a trial run, too */
        cl_refuse(r, ENG_ERR_UNSUPPORTED, "%s: node '%s' needs %zu work-items a group, the device has %zu; try "
                  "opencl.family=vec", r->device->info.name, r->node->name, group, r->device->max_group);
    if (!l || r->status != ENG_OK)
        return;
    l->dims = dims;
    for (unsigned d = 0; d < dims; d++) {
        l->local[d] = local[d] ? local[d] : 1;
        l->global[d] = (global[d] + l->local[d] - 1) / l->local[d] * l->local[d];
        if (l->global[d] == 0)
            l->global[d] = l->local[d];
    }
}

void cl_size1(cl_recorder *r, uint64_t global, size_t local)
{
    cl_size(r, 1, (const size_t[]){(size_t)global}, (const size_t[]){local});
}

void cl_size2(cl_recorder *r, uint64_t g0, size_t l0, uint64_t g1, size_t l1)
{
    cl_size(r, 2, (const size_t[]){(size_t)g0, (size_t)g1}, (const size_t[]){l0, l1});
}

void cl_size3(cl_recorder *r, uint64_t g0, size_t l0, uint64_t g1, size_t l1, uint64_t g2, size_t l2)
{
    cl_size(r, 3, (const size_t[]){(size_t)g0, (size_t)g1, (size_t)g2}, (const size_t[]){l0, l1, l2});
}

void cl_size_param(cl_recorder *r, unsigned dim, const cl_param *number, int64_t per, int64_t times)
{
    cl_recorded *l = current(r);
    if (!l || !depends(r, number))
        return;
    l->size[dim] = (cl_recorded_size){.number = *number, .per = per, .times = times};
    l->dynamic = true;
}

uint64_t cl_temporary(cl_recorder *r, uint64_t bytes)
{
    if (!r->plan)
        return 0;
    uint64_t at = r->plan->node_temporary;
    r->plan->node_temporary = (at + bytes + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN;
    if (r->plan->node_temporary > r->device->hard_limit && r->status == ENG_OK)
        cl_refuse(r, ENG_ERR_UNSUPPORTED,
                  "%s: node '%s' needs %llu bytes of temporary memory, the largest allocation is %llu; use smaller "
                  "batches", r->device->info.name, r->node->name,
                  (unsigned long long)r->plan->node_temporary, (unsigned long long)r->device->hard_limit);
    return at;
}

cl_rounds cl_rounds_begin(const cl_recorder *r)
{
    const uint64_t now = r->plan ? r->plan->node_temporary : 0;
    return (cl_rounds){now, now};
}

void cl_rounds_again(cl_recorder *r, cl_rounds *rounds)
{
    if (!r->plan)
        return;
    if (rounds->most < r->plan->node_temporary)
        rounds->most = r->plan->node_temporary;
    r->plan->node_temporary = rounds->begin;
}

void cl_rounds_end(cl_recorder *r, cl_rounds *rounds)
{
    cl_rounds_again(r, rounds);
    if (r->plan)
        r->plan->node_temporary = rounds->most;
}

uint64_t cl_constant(cl_recorder *r, const void *data, uint64_t bytes)
{
    eng_plan_state *p = r->plan;
    if (!p || r->status != ENG_OK)
        return 0;
    uint64_t at = (p->n_constants + CL_ALIGN - 1) / CL_ALIGN * CL_ALIGN;
    if (!eu_reserve(p->constants, p->constant_room, (size_t)(at + bytes))) {
        no_memory(r);
        return 0;
    }
    memset(p->constants + p->n_constants, 0, at - p->n_constants);
    memcpy(p->constants + at, data, bytes);
    p->n_constants = at + bytes;
    return at;
}

void cl_arg_constant(cl_recorder *r, uint64_t at)
{
    add_buffer(r, (cl_recorded_arg){.kind = CL_ARG_CONSTANT, .at = at});
}
