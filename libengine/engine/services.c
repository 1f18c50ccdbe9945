/* What the engine gives a plugin: a table of calls that carry the plugin's host. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "../device/device.h"
#include "../plan/build.h"
#include "context.h"

static int service_fail(eng_host *host, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int service_fail(eng_host *host, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail(status, ENG_CODE_NONE, -1, format, args);
    va_end(args);
    return status;
}

static int service_fail_code(eng_host *host, int status, uint32_t code, int32_t index, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static int service_fail_code(eng_host *host, int status, uint32_t code, int32_t index, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail(status, code, index, format, args);
    va_end(args);
    return status;
}

static int service_fail_in(eng_host *host, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int service_fail_in(eng_host *host, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vfail_in(status, format, args);
    va_end(args);
    return status;
}

static int service_error_info(eng_host *host, eng_error *error)
{
    return eng_last_error_info(error);
}

static void service_log(eng_host *host, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void service_log(eng_host *host, int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eng_vlog(&host->context->base, level, host->name, format, args);
    va_end(args);
}

static const char *service_last_error(eng_host *host)
{
    return eng_last_error();
}

static const char *service_option(eng_host *host, const char *name)
{
    char full[128];
    int n = snprintf(full, sizeof full, "%s.%s", host->name, name);
    const char *value = n > 0 && (size_t)n < sizeof full ? eng_options_value(&host->context->options, full) : NULL;
    return value ? value : "";
}

static const eng_op_info *service_op_info(eng_host *host, uint32_t op)
{
    return eng_op_get(op);
}

static const eng_type_info *service_type_info(eng_host *host, uint32_t type)
{
    return eng_type_get(type);
}

static const char *service_data_dir(eng_host *host)
{
    return eng_data_dir(host->context);
}

static int service_device_open(eng_host *host, const char *name, eng_child *child)
{
    eng_device *device;
    int status = eng_device_open(host->context, name, &device);
    if (status < 0)
        return status;
    *child = (eng_child){.calls = device->calls, .state = device->state, .info = &device->info, .handle = device};
    return ENG_OK;
}

static void service_device_close(eng_host *host, eng_child *child)
{
    eng_device_release(child->handle);
    *child = (eng_child){0};
}

static int service_plan_build(eng_host *host, const eng_child *child, const eng_subgraph *graph,
                              const eng_subgraph **placed, eng_plan_state **plan)
{
    return eng_plan_build(child, graph, placed, plan);
}

static void service_plan_release(eng_host *host, const eng_child *child, const eng_subgraph *placed,
                                 eng_plan_state *plan)
{
    eng_plan_unbuild(child, placed, plan);
}

/* A team, made if there is none, that keeps so many threads. */
static int team_prepare(void **team, uint32_t kept)
{
    if (!*team && !(*team = eu_team_create(NULL, 0)))
        return eng_fail_memory();
    uint32_t have = eu_team_grow(*team, kept);
    return have >= kept ? ENG_OK
                        : eng_fail(ENG_ERR_NOMEM, "thread %u of a team" ENG_CAUSE "the system has no room for one more"
                                   ENG_ADVICE "use fewer, or raise the limit (ulimit -u)", have + 1);
}

static int service_parallel(eng_host *host, void **team, uint32_t count, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
    if (count > 1) {
        int status = team_prepare(team, count - 1);
        if (status < 0)
            return status;
        eu_team_run(*team, count, fn, ctx);
    } else if (count == 1) {
        fn(ctx, 0);
    }
    return ENG_OK;
}

static int service_parallel_start(eng_host *host, void **team, uint32_t count, void (*fn)(void *ctx, uint32_t i),
                                  void *ctx)
{
    int status = team_prepare(team, count);
    if (status == ENG_OK)
        eu_team_start(*team, count, fn, ctx);
    return status;
}

static int service_parallel_wait(eng_host *host, void **team, uint64_t timeout)
{
    return *team == NULL || eu_team_wait(*team, timeout);
}

static void service_parallel_end(eng_host *host, void **team)
{
    eu_team_end(*team);
    *team = NULL;
}

static const char *service_axis_name(eng_host *host, uint32_t axis)
{
    return eng_axis_name(host->context, axis);
}

void eng_services_fill(eng_services *services, eng_host *host)
{
    *services = (eng_services){
        .size = sizeof *services,
        .host = host,
        .fail = service_fail,
        .fail_code = service_fail_code,
        .fail_in = service_fail_in,
        .error_info = service_error_info,
        .log = service_log,
        .last_error = service_last_error,
        .option = service_option,
        .op_info = service_op_info,
        .type_info = service_type_info,
        .cache_dir = eng_cache_dir,
        .data_dir = service_data_dir,
        .device_open = service_device_open,
        .device_close = service_device_close,
        .plan_build = service_plan_build,
        .plan_release = service_plan_release,
        .parallel = service_parallel,
        .parallel_end = service_parallel_end,
        .axis_name = service_axis_name,
        .parallel_start = service_parallel_start,
        .parallel_wait = service_parallel_wait,
    };
}
