/*
 * The programs of a plan.  Recording notes which ones its launches want; when all are known they are built, so that
 * whoever waits is told how many there are.
 */
#include "../host.h"

static bool is(const cl_needed *w, const char *file, const char *options, const char *prelude)
{
    return !strcmp(w->file, file) && !strcmp(w->options, options) && !strcmp(w->prelude, prelude);
}

static void forget(cl_needed *w)
{
    free(w->file);
    free(w->options);
    free(w->prelude);
}

int cl_programs_want(eng_plan_state *plan, const char *file, const char *options, const char *prelude, uint32_t *index)
{
    options = options ? options : "";
    prelude = prelude ? prelude : "";
    for (*index = 0; *index < plan->n_wanted; ++*index)
        if (is(&plan->wanted[*index], file, options, prelude))
            return ENG_OK;
    if (!eu_reserve(plan->wanted, plan->wanted_room, (size_t)plan->n_wanted + 1))
        return cl_no_memory(plan->device, "a plan");
    cl_needed w = {.file = strdup(file), .options = strdup(options), .prelude = strdup(prelude)};
    if (!w.file || !w.options || !w.prelude) {
        forget(&w);
        return cl_no_memory(plan->device, "a plan");
    }
    plan->wanted[plan->n_wanted++] = w;
    return ENG_OK;
}

int cl_programs_build(eng_plan_state *plan)
{
    cl_device *device = plan->device;
    uint32_t missing = 0, nth = 0;
    int status = ENG_OK;
    for (uint32_t i = 0; i < plan->n_wanted; i++)
        missing += plan->wanted[i].missing = !cl_program_there(device, plan->wanted[i].file, plan->wanted[i].options,
                                                               plan->wanted[i].prelude);
    for (uint32_t i = 0; i < plan->n_wanted && status == ENG_OK; i++) {
        cl_needed *w = &plan->wanted[cl_share_nth(device, i, plan->n_wanted)];
        char count[32] = "";
        if (w->missing)
            snprintf(count, sizeof count, " %u/%u", ++nth, missing);
        status = cl_program_get(device, w->file, w->options, w->prelude, count, &w->program);
    }
    for (uint32_t i = 0; i < plan->n_launches && status == ENG_OK; i++)
        plan->launches[i].program = plan->wanted[plan->launches[i].wanted].program;
    cl_programs_forget(plan);
    return status;
}

void cl_programs_forget(eng_plan_state *plan)
{
    for (uint32_t i = 0; i < plan->n_wanted; i++)
        forget(&plan->wanted[i]);
    free(plan->wanted);
    plan->wanted = NULL;
    plan->n_wanted = 0;
}
