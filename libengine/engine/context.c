/* Creating and ending a context. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "../executor/executor.h"
#include "context.h"

static int read_params(eng_context *context, eng_context_params *params, const eng_context_params *given)
{
    *params = (eng_context_params){.size = sizeof *params, .log_level = ENG_LOG_WARN};
    if (!given)
        return ENG_OK;
    if (given->size < 2 * sizeof(uint32_t))
        return eng_fail(ENG_ERR_INVALID, "eng_context_create" ENG_CAUSE
                        "set params->size to sizeof(eng_context_params)");
    memcpy(params, given, given->size < sizeof *params ? given->size : sizeof *params);
    context->base.log = params->log;
    context->base.log_user = params->log_user;
    context->base.log_level = params->log_level;
    return ENG_OK;
}

static int find_plugins(eng_context *context, const eng_context_params *params)
{
    eng_registry *registry = &context->registry;
    int status = eng_registry_search(registry, params->plugin_path, "the host's plugin path");
    if (status >= 0)
        status = eng_registry_search(registry, eng_options_value(&context->options, "engine.plugin_path"),
                                     "ENGINE_PLUGIN_PATH");
    if (status >= 0)
        status = eng_registry_search_default(registry);
    if (status >= 0)
        status = eng_registry_select(registry, eng_options_value(&context->options, "engine.plugins"));
    return status;
}

static int load_plugins(eng_context *context)
{
    int status = ENG_OK;
    for (uint32_t i = 0; i < context->registry.n && status >= 0; i++) {
        eng_plugin_record *record = &context->registry.records[i];
        if (record->status != ENG_PLUGIN_FOUND)
            continue;
        eng_registry_load(&context->registry, record);
        if (record->status == ENG_PLUGIN_LOADED)
            status = eng_plugin_use(context, record);
    }
    return status;
}

static void context_free(eng_context *context)
{
    for (uint32_t i = context->n_hosts; i-- > 0;)
        eng_plugin_end(context->hosts[i]);
    free(context->hosts);
    eng_registry_free(&context->registry);
    eng_options_free(&context->options);
    eng_axes_free(&context->base.axes);
    eng_executor_destroy(context->base.executor);
    free(context);
}

int eng_context_create(const eng_context_params *given, eng_context **result)
{
    eng_context_params params;
    if (!result)
        return eng_fail(ENG_ERR_INVALID, "eng_context_create" ENG_CAUSE "context is NULL");
    eng_context *context = calloc(1, sizeof *context);
    if (!context)
        return eng_fail_memory();
    atomic_init(&context->base.open_devices, 0);
    context->base.process = eng_process();
    eng_axes_init(&context->base.axes);
    int status = eng_process_watch();
    int read = read_params(context, &params, given);
    if (status >= 0)
        status = read;
    eng_options_init(&context->options, !(params.flags & ENG_CONTEXT_NO_ENVIRONMENT));
    eng_registry_init(&context->registry, &context->base);
    if (status >= 0)
        status = eng_executor_create(params.trace, params.trace_user, &context->base.executor);
    if (status >= 0)
        status = eng_options_declare_engine(&context->options);
    if (status >= 0)
        status = find_plugins(context, &params);
    if (status >= 0 && (params.flags & ENG_CONTEXT_NO_LOAD))
        eng_registry_shadow(&context->registry);
    else if (status >= 0)
        status = load_plugins(context);
    if (status < 0) {
        context_free(context);
        return status;
    }
    *result = context;
    return ENG_OK;
}

int eng_context_destroy(eng_context *context)
{
    if (!context)
        return ENG_OK;
    if (eng_inherited(context))
        return ENG_OK; /* it is the parent's to end */
    int open = atomic_load(&context->base.open_devices);
    if (open > 0)
        return eng_fail(ENG_ERR_BUSY,
                        "the context still has %d open device%s, parts of composed ones counted too" ENG_ADVICE "close "
                        "the devices and destroy the stores, plans, instances and queues on them first",
                        open, open == 1 ? "" : "s");
    context_free(context);
    return ENG_OK;
}
