/* Plugins in use: opened, asked for their devices, listed, closed. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/device.h"
#include "../device/names.h"
#include "context.h"

/* A plugin's open, close and enumerate may share data among contexts. */
static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;

#define LARGEST_COUNT 256u /* devices of a plugin; an enumeration that does not end is a defect */

/* The name that opens the device; what the plugin wrote, if it is that. */
static void set_device_name(const eng_host *host, uint32_t index, eng_device_info *info)
{
    eng_device_name name;
    if (info->name[0] && eng_device_name_parse(info->name, &name) >= 0 && name.n_leaves == 1 && !name.has_shares &&
        name.leaves[0].parts == 1 && name.leaves[0].index == index && strcmp(name.leaves[0].plugin, host->name) == 0)
        return;
    snprintf(info->name, sizeof info->name, "%.31s:%u", host->name, index);
}

static int enumerate(eng_host *host)
{
    for (uint32_t i = 0; i < LARGEST_COUNT; i++) {
        if (!eu_reserve(host->devices, host->device_room, (size_t)i + 1))
            return eng_fail_memory();
        eng_device_info *devices = host->devices;
        memset(&devices[i], 0, sizeof devices[i]);
        devices[i].size = sizeof devices[i];
        int status = host->calls.enumerate(host->state, i, &devices[i]);
        if (status == ENG_ERR_NOTFOUND && i > 0)
            break;
        if (status > 0)
            status = eng_answer(status, 0, host->name, "enumerate");
        if (status < 0)
            return status;
        devices[i].size = sizeof devices[i];
        eng_device_end_texts(&devices[i]);
        set_device_name(host, i, &devices[i]);
        host->n_devices = i + 1;
    }
    return ENG_OK;
}

/* Notes why a plugin is not used.  Its own failure gives reason and advice; else ours do. */
static void refuse(eng_context *context, eng_plugin_record *record, const char *stage)
{
    bool no_device = strcmp(stage, "devices") == 0;
    eng_failure own;
    eng_failure_save(&own);
    char reason[sizeof own.subject + sizeof own.cause + 2];
    snprintf(reason, sizeof reason, "%s%s%s", own.subject, *own.subject ? ": " : "", own.cause);
    const char *otherwise = no_device ? "it found no device and gave no reason" :
                                        "it could not be opened and gave no reason";
    const char *cure = own.status == ENG_ERR_INVALID ? "correct the option; engine-probe --env lists all" :
                       no_device ?
                           "install or repair the driver of the device, or switch the plugin off with ENGINE_PLUGINS" :
                           "see the reason; ENGINE_PLUGINS switches a plugin off";
    eng_registry_reject(&context->registry, record, stage, *reason ? reason : otherwise,
                        *own.advice ? own.advice : cure);
}

/* open and enumerate; *stage: where it failed */
static int start(eng_host *host, const char **stage)
{
    eng_failure_clear();
    *stage = "open";
    int status = host->calls.open(&host->services, &host->state);
    if (status > 0)
        status = eng_answer(status, 0, host->name, "open");
    if (status >= 0 && !host->state)
        status = eng_fail(ENG_ERR_INTERNAL,
                          "its open succeeds, but gives no state" ENG_ADVICE "report this to the plugin's author");
    if (status < 0)
        return status;
    *stage = "devices";
    status = host->flags & ENG_PLUGIN_COMPOSES ? ENG_OK : enumerate(host);
    if (status < 0)
        host->calls.close(host->state);
    return status;
}

static eng_host *host_create(eng_context *context, eng_plugin_record *record)
{
    const eng_plugin_descriptor *d = record->descriptor;
    eng_host *host = calloc(1, sizeof *host);
    if (!host)
        return NULL;
    size_t known = d->calls->size < sizeof host->calls ? d->calls->size : sizeof host->calls;
    memcpy(&host->calls, d->calls, known);
    eng_device_calls_complete(&host->device_calls, d->device_calls);
    host->context = context;
    host->record = record;
    host->name = record->name;
    host->flags = d->flags;
    pthread_mutex_init(&host->lock, NULL);
    eng_services_fill(&host->services, host);
    return host;
}

static void host_free(eng_host *host)
{
    pthread_mutex_destroy(&host->lock);
    free(host->devices);
    free(host);
}

static int host_keep(eng_context *context, eng_host *host)
{
    if (!eu_reserve(context->hosts, context->host_room, (size_t)context->n_hosts + 1))
        return eng_fail_memory();
    eng_host **hosts = context->hosts;
    uint32_t at = context->n_hosts++;
    for (; at > 0 && strcmp(hosts[at - 1]->name, host->name) > 0; at--)
        hosts[at] = hosts[at - 1];
    hosts[at] = host;
    return ENG_OK;
}

int eng_plugin_use(eng_context *context, eng_plugin_record *record)
{
    int status = eng_options_declare_plugin(&context->options, record->descriptor);
    if (status < 0)
        return status;
    eng_host *host = host_create(context, record);
    if (!host)
        return eng_fail_memory();
    const char *stage;
    pthread_mutex_lock(&plugin_lock);
    status = start(host, &stage);
    pthread_mutex_unlock(&plugin_lock);
    if (status < 0) {
        refuse(context, record, stage);
        host_free(host);
        return ENG_OK; /* a record, not a failure of the context */
    }
    status = host_keep(context, host);
    if (status < 0)
        eng_plugin_end(host);
    return status;
}

void eng_plugin_end(eng_host *host)
{
    pthread_mutex_lock(&plugin_lock);
    host->calls.close(host->state);
    pthread_mutex_unlock(&plugin_lock);
    host_free(host);
}

int eng_context_plugin(eng_context *context, uint32_t index, eng_plugin_info *info)
{
    if (!context || !info)
        return eng_fail(ENG_ERR_INVALID, "eng_context_plugin" ENG_CAUSE "context or info is NULL");
    if (index >= context->registry.n)
        return eng_fail(ENG_ERR_NOTFOUND, "there are %u plugin files; no number %u", context->registry.n, index);
    const eng_plugin_record *record = &context->registry.records[index];
    eng_plugin_info own = {
        .status = record->status, .name = record->name, .path = record->path, .version = record->version,
        .description = record->description, .stage = record->stage, .reason = record->reason, .advice = record->advice,
    };
    for (uint32_t i = 0; i < context->n_hosts; i++)
        if (context->hosts[i]->record == record)
            own.n_devices = context->hosts[i]->n_devices;
    return eng_give(info, &own, sizeof own, "eng_plugin_info");
}

int eng_context_device_info(eng_context *context, uint32_t index, eng_device_info *info)
{
    if (!context || !info)
        return eng_fail(ENG_ERR_INVALID, "eng_context_device_info" ENG_CAUSE "context or info is NULL");
    uint32_t left = index;
    for (uint32_t i = 0; i < context->n_hosts; i++) {
        const eng_host *host = context->hosts[i];
        if (host->flags & (ENG_PLUGIN_COMPOSES | ENG_PLUGIN_ON_REQUEST))
            continue;
        if (left < host->n_devices)
            return eng_give(info, &host->devices[left], sizeof *host->devices, "eng_device_info");
        left -= host->n_devices;
    }
    return eng_no_device(context, index);
}
