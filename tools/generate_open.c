/* engine-generate: opening what a run needs, and closing it. */
#include "config.h"

#include <stdlib.h>

#include "generate_foreign.h"
#include "generate_run.h"
#include "hints.h"
#include "loading.h"

#define CACHES "^cache_" /* the pattern that -nkvo stands for */

int run_open_engine(run *r)
{
    int status = create_context("engine-generate", 1, NULL, &r->engine);
    if (!status)
        tell_unread_of("engine-generate", r->engine);
    if (!status && r->o.threads)
        status = eng_context_set_option(r->engine, "cpu.threads", r->o.threads);
    if (!status && r->o.profile)
        status = eng_context_set_option(r->engine, "opencl.profile", "yes");
    if (!status && r->o.compile)
        status = eng_context_set_option(r->engine, "opencl.compile", r->o.compile);
    if (status == ENG_ERR_NOTFOUND && (r->o.profile || r->o.compile)) /* no such plugin: the device's name is refused */
        status = ENG_OK;
    if (!status)
        status = keep_experts(&r->o);
    if (!status)
        status = keep_layers(&r->o);
    if (!status && r->o.no_kv_offload) {
        r->o.nkvo_override = r->o.n_overrides++;
        r->o.overrides[r->o.nkvo_override] = (eng_lm_override){CACHES, "cpu"};
    }
    if (!status)
        status = device_name_homes(r->engine, &r->o);
    if (!status && r->o.fit)
        status = run_fit(r);
    if (!status)
        compilers_start(r);
    if (!status)
        status = device_open(r->engine, &r->o, &r->device);
    if (!status && r->o.compile)
        status = compile_check(r);
    return status;
}

int run_list_devices(run *r)
{
    int status = create_context("engine-generate", 1, NULL, &r->engine);
    return status ? status : device_list(r->engine);
}

static int open_file(run *r, const char *path, const eng_lm_placement *where, uint32_t needs_text, eng_lm_model **model)
{
    progress p = {.what = "loading", .begin = eu_seconds()};
    eng_lm_model_params params;
    eng_lm_model_defaults(&params);
    params.placement = *where;
    params.needs_text = needs_text;
    params.layout = r->o.layout;
    params.flags = (r->o.copy ? ENG_LM_COPY : 0) | (options_block(&r->o) ? ENG_LM_DRAFTS : 0);
    params.progress = show_progress;
    params.progress_user = &p;
    return eng_lm_model_open(r->engine, r->device, path, &params, model);
}

/* The model, and on the same devices that of -md, of which patterns of tensors say nothing. */
int run_open_model(run *r)
{
    eng_lm_placement all = run_placement(r), plain = options_placement(&r->o, NULL, 0);
    int status = open_file(r, r->o.model, &all, !options_plan_only(&r->o), &r->model);
    if (!status && r->o.draft && r->o.draft_model)
        status = open_file(r, r->o.draft_model, &plain, false, &r->guesser);
    if (!status && r->o.verbose)
        report_unread(r->model);
    return status ? status : device_notes(&r->o, r->device);
}

int run_open_context(run *r, uint64_t n_cells)
{
    eng_lm_context_params params = run_context_params(r, r->model, n_cells);
    int status = eng_lm_context_create(r->model, &params, &r->context);
    if (!status || !params.kept_bytes || r->o.cache_ram_given)
        return status;
    char why[512]; /* too few for a state, or more than there is room for */
    eu_copy(why, sizeof why, eng_last_error());
    params.kept_bytes = 0;
    status = eng_lm_context_create(r->model, &params, &r->context);
    if (!status)
        fprintf(stderr, "engine-generate: note: nothing is kept of earlier texts (--cache-ram): %s\n", why);
    return status;
}

void run_close(run *r)
{
    eng_lm_draft_destroy(r->draft);
    eng_lm_stream_destroy(r->stream);
    eng_lm_sampler_destroy(r->sampler);
    eng_lm_grammar_destroy(r->grammar);
    eng_lm_context_destroy(r->context);
    eng_lm_model_close(r->guesser);
    eng_lm_model_close(r->model);
    eng_device_close(r->device);
    if (r->engine)
        eng_context_destroy(r->engine);
    free(r->chances);
    free(r->ids);
    eu_text_free(&r->text);
    options_free(&r->o);
}
