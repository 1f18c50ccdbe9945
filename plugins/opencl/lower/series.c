/*
 * Series: launches of a plan that follow one another become one, on processors, for what a driver takes to give a kernel
 * to its threads is more than many kernels take (kernels/series.cl).  Their kernels become functions of one program, which
 * is linked.  Compiling that takes as long as the kernels did: so it is done when a plan has run often enough for it to
 * pay, by a thread beside it, and until then launches are what they are.
 *
 * Plans of few columns alone, of whose launches the least take long; one that takes long is better cancelled between launches.
 */
#include "../host.h"

#define MOST_COLUMNS 16
#define LEAST 4 /* launches that are worth it */

/* -- which launches ------------------------------------------------------------------- */

static bool few_columns(const eng_subgraph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_node *node = eng_subgraph_node(g, i);
        const eng_tensor *out = cl_out(g, node, 0);
        if ((node->op == ENG_OP_MUL_MAT || node->op == ENG_OP_MUL_MAT_ID) && out && out->ne[0] > 0 &&
            cl_elements(out) / (uint64_t)out->ne[0] > MOST_COLUMNS)
            return false;
    }
    return true;
}

static bool may_be_stage(eng_plan_state *plan, const cl_recorded *l)
{
    const cl_recorder r = {.device = plan->device, .plan = plan, .graph = plan->graph};
    uint32_t buffers = 0;
    uint64_t items = 1;
    for (uint32_t d = 0; d < l->dims; d++) {
        items *= l->global[d];
        if (l->local[d] != 1 || items > UINT32_MAX / 4)
            return false;
    }
    for (uint32_t a = 0; a < l->n_args; a++) {
        const cl_recorded_arg *arg = &plan->args[l->first_arg + a];
        if (arg->kind == CL_ARG_LOCAL ||
            (arg->kind == CL_ARG_TENSOR && !cl_in_one_piece(&r, eng_subgraph_tensor(plan->graph, arg->tensor))))
            return false;
        buffers += cl_is_buffer(arg);
    }
    return buffers <= CL_SERIES_BUFFERS && cl_numbers_size(l) <= CL_SERIES_NUMBERS;
}

/* -- buffers, and numbers that parameters make --------------------------------------------- */

static int64_t space_of(const eng_plan_state *plan, const cl_recorded_arg *arg)
{
    return arg->kind == CL_ARG_TENSOR      ? cl_covered_by(plan, arg->tensor).space
           : arg->kind == CL_ARG_TEMPORARY ? CL_SPACE_TEMPORARY
                                           : CL_SPACE_CONSTANT;
}

/* Which of the series' buffers an argument's is; it is added.  More than `most`: false. */
static bool find_buffer(const eng_plan_state *plan, cl_series *s, cl_recorded_arg *arg, uint32_t most)
{
    const int64_t space = space_of(plan, arg);
    arg->index = CL_NO_BUFFER;
    if (arg->kind == CL_ARG_NONE)
        return true;
    for (arg->index = 0; arg->index < s->n_buffers; arg->index++)
        if (s->spaces[arg->index] == space)
            return true;
    if (s->n_buffers == most)
        return false;
    s->spaces[s->n_buffers++] = space;
    return true;
}

/* The launch as the next stage; false: it does not fit, and the series is as before. */
static bool add_stage(eng_plan_state *plan, cl_series *s, cl_recorded *l, uint32_t most)
{
    const uint32_t buffers = s->n_buffers, values = s->n_values;
    bool fits = may_be_stage(plan, l);
    for (uint32_t a = 0; a < l->n_args && fits; a++) {
        cl_recorded_arg *arg = &plan->args[l->first_arg + a];
        if (cl_is_buffer(arg))
            fits = find_buffer(plan, s, arg, most);
        else if (arg->kind == CL_ARG_PARAM)
            arg->index = (uint16_t)s->n_values++;
    }
    for (uint32_t d = 0; d < l->dims && fits; d++)
        if (l->size[d].number.param >= 0)
            l->size[d].index = (uint16_t)s->n_values++;
    fits = fits && s->n_values <= CL_SERIES_VALUES;
    if (!fits) {
        s->n_buffers = buffers;
        s->n_values = values;
    }
    s->n += fits;
    return fits;
}

/* -- the program ------------------------------------------------------------------------------ */

static uint32_t part_of(cl_series *s, cl_program_entry *program)
{
    uint32_t i = 0;
    while (i < s->n_parts && s->parts[i] != program)
        i++;
    if (i == s->n_parts)
        s->parts[s->n_parts++] = program;
    return i;
}

/* What kernels/series.cl wants to know; numbers the kernels of launches. */
static int write_prelude(eng_plan_state *plan, cl_series *s)
{
    eu_text functions = {0}, text = {0};
    uint32_t n = 0;
    s->parts = calloc(s->n, sizeof(cl_program_entry *));
    for (uint32_t i = 0; i < s->n && s->parts; i++) {
        cl_recorded *l = &plan->launches[s->first + i];
        uint32_t before = 0;
        while (before < i && (plan->launches[s->first + before].program != l->program ||
                              strcmp(plan->launches[s->first + before].kernel, l->kernel) != 0))
            before++;
        l->function = before < i ? plan->launches[s->first + before].function : n++;
        if (before == i)
            eu_text_format(&functions, " F(%u, %s, %u)", l->function, l->kernel, part_of(s, l->program));
    }
    for (uint32_t i = 0; i < s->n_parts; i++) {
        char name[512];
        cl_program_name(s->parts[i], name, sizeof name);
        eu_text_format(&text, "// %u: %s\n", i, name);
    }
    eu_text_format(&text, "#define MOST_BUFFERS %u\n#define NO_BUFFER %u\n#define MOST_NUMBERS %u\n#define FIXED %u\n"
                          "#define HOST %u\n#define A_MOMENT %u\n#define SERIES_VALUES %u\n#define SERIES_FUNCTIONS(F)%s\n#define SERIES_BUFFERS(B)",
                   CL_SERIES_BUFFERS, CL_NO_BUFFER, CL_SERIES_NUMBERS, CL_SERIES_FIXED, CL_SERIES_HOST, CL_SERIES_MOMENT, s->n_values ? s->n_values : 1,
                   eu_text_get(&functions));
    for (uint32_t i = 0; i < s->n_buffers; i++)
        eu_text_format(&text, " B(%u)", i);
    eu_text_add(&text, "\n");
    eu_text_free(&functions);
    s->prelude = eu_text_take(&text);
    return s->parts && s->prelude ? ENG_OK : cl_no_memory(plan->device, "a plan");
}

/* A plan of several sections is one piece of work only if all its launches are in series. */
static uint32_t least_of(const eng_plan_state *plan)
{
    return plan->device->series == CL_SERIES_YES || plan->graph->n_sections > 1 ? 1 : LEAST;
}

/* Which stages the launches are: there is one more, a call of the host, where a section ends, but not in plans that have but one. */
static void number_stages(eng_plan_state *plan, cl_series *s)
{
    const uint32_t sections = plan->graph->n_sections > 1 ? plan->graph->n_sections : 0;
    const uint32_t *end = plan->section_first + 1; /* of each section */
    uint32_t before = 0;
    for (s->section = 0; s->section < sections && s->first > 0 && end[s->section] <= s->first;)
        s->section++;
    while (s->section + s->n_calls < sections && end[s->section + s->n_calls] <= s->first + s->n)
        s->n_calls++;
    for (uint32_t i = 0; i < s->n; i++) {
        while (before < s->n_calls && end[s->section + before] <= s->first + i)
            before++;
        plan->launches[s->first + i].stage = i + before;
    }
}

/* A series is one if it has launches enough. */
static int end_series(eng_plan_state *plan)
{
    cl_series *s = &plan->series[plan->n_series];
    int status = ENG_OK;
    if (s->n >= least_of(plan)) {
        plan->n_series++;
        for (uint32_t i = 0; i < s->n; i++)
            plan->launches[s->first + i].series = plan->n_series;
        number_stages(plan, s);
        status = write_prelude(plan, s);
    } else {
        free(s->spaces);
        *s = (cl_series){0};
    }
    return status;
}

static int begin_series(eng_plan_state *plan, uint32_t first, uint32_t most)
{
    cl_series *s = &plan->series[plan->n_series];
    *s = (cl_series){.first = first, .spaces = calloc(most, sizeof *s->spaces)};
    return s->spaces ? ENG_OK : cl_no_memory(plan->device, "a plan");
}

/* Buffers of a launch, beside its table and numbers. */
static uint32_t most_buffers(const cl_device *device)
{
    size_t bytes = 0;
    const size_t others = sizeof(cl_mem) + 2 * sizeof(cl_ulong) + (4 + CL_SERIES_VALUES) * sizeof(cl_int);
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof bytes, &bytes, NULL);
    const size_t most = bytes > others ? (bytes - others) / sizeof(cl_mem) : 0;
    return most < CL_NO_BUFFER ? (uint32_t)most : CL_NO_BUFFER;
}

static int find_all(eng_plan_state *plan, uint32_t most)
{
    int status = begin_series(plan, 0, most);
    for (uint32_t i = 0; i < plan->n_launches && status == ENG_OK; i++) {
        cl_series *s = &plan->series[plan->n_series];
        if (add_stage(plan, s, &plan->launches[i], most))
            continue;
        if (s->n == 0) { /* a launch that cannot be one of any series */
            s->first = i + 1;
            continue;
        }
        status = end_series(plan);
        if (status == ENG_OK)
            status = begin_series(plan, i--, most);
    }
    return status == ENG_OK ? end_series(plan) : status;
}

int cl_series_find(eng_plan_state *plan)
{
    const cl_device *device = plan->device;
    const uint32_t most = most_buffers(device);
    if (device->series == CL_SERIES_NO || device->profile || !device->vec || most < CL_SERIES_BUFFERS ||
        (device->series == CL_SERIES_AUTO && !few_columns(plan->graph)))
        return ENG_OK;
    plan->series = calloc(plan->n_launches / least_of(plan) + 2, sizeof *plan->series);
    if (!plan->series)
        return cl_no_memory(device, "a plan");
    return find_all(plan, most);
}

void cl_series_end(eng_plan_state *plan)
{
    if (plan->building)
        pthread_join(plan->builder, NULL);
    for (uint32_t i = 0; i < plan->n_series; i++) {
        free(plan->series[i].spaces);
        free(plan->series[i].prelude);
        free(plan->series[i].parts);
    }
    free(plan->series);
    pthread_mutex_destroy(&plan->series_lock);
}
