/* Opening devices by name: plain ones by their plugin, compositions by the plugin that composes. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../device/device.h"
#include "../device/names.h"
#include "context.h"

/* Why a plugin of that name is not in use; false: there is no such file. */
static bool why_absent(const eng_context *context, const char *plugin, char *text, size_t bytes)
{
    for (uint32_t i = 0; i < context->registry.n; i++) {
        const eng_plugin_record *r = &context->registry.records[i];
        if (strcmp(r->name, plugin) != 0)
            continue;
        if (r->status == ENG_PLUGIN_FOUND)
            snprintf(text, bytes, "plugin '%s' was found but not loaded, as this context was asked to", plugin);
        else if (r->status == ENG_PLUGIN_DISABLED)
            snprintf(text, bytes, "plugin '%s' is %s; %s", plugin, r->reason, r->advice);
        else
            snprintf(text, bytes, "plugin '%s' is not usable (%s): %s; %s", plugin, r->stage, r->reason, r->advice);
        return true;
    }
    return false;
}

static void add_text(char *text, size_t bytes, const char *more)
{
    size_t n = strlen(text);
    eu_copy(text + n, bytes - n, more);
}

/* Why nothing at all can be opened, if it is because of ENGINE_PLUGINS. */
static bool all_switched_off(const eng_context *context, char *text, size_t bytes)
{
    const eng_plugin_record *off = NULL;
    for (uint32_t i = 0; i < context->registry.n; i++)
        if (context->registry.records[i].status == ENG_PLUGIN_DISABLED)
            off = &context->registry.records[i];
    if (context->n_hosts || !off)
        return false;
    snprintf(text, bytes, "every plugin is %s; %s", off->reason, off->advice);
    return true;
}

int eng_no_device(const eng_context *context, uint32_t index)
{
    char text[1400];
    if (all_switched_off(context, text, sizeof text))
        return eng_fail(ENG_ERR_NOTFOUND, "there is no device number %u" ENG_CAUSE "%s", index, text);
    return eng_fail(ENG_ERR_NOTFOUND, "there is no device number %u; engine-probe --plugins says what was found and "
                    "what was rejected", index);
}

/* The device that may have been meant: of the kind that was named, or of a name that is near; NULL: none. */
static const char *nearest(const eng_context *context, const char *asked)
{
    uint32_t kind = eu_same_name(asked, "gpu")         ? ENG_DEVICE_GPU :
                    eu_same_name(asked, "accelerator") ? ENG_DEVICE_ACCELERATOR :
                                                         0;
    const char *near = NULL;
    unsigned best = UINT_MAX;
    for (uint32_t i = 0; i < context->n_hosts; i++) {
        const eng_host *host = context->hosts[i];
        for (uint32_t k = 0; k < host->n_devices; k++) {
            if (kind && host->devices[k].kind == kind)
                return host->devices[k].name;
            if (!kind && eu_nearer(asked, host->devices[k].name, &best))
                near = host->devices[k].name;
        }
        if (!kind && host->n_devices && eu_nearer(asked, host->name, &best))
            near = host->devices[0].name;
    }
    return near;
}

/* The first plugin, or folder, that was refused: relative folders only, or any. */
static const eng_plugin_record *refused(const eng_context *context, bool relative)
{
    for (uint32_t i = 0; i < context->registry.n; i++) {
        const eng_plugin_record *r = &context->registry.records[i];
        if (r->status == ENG_PLUGIN_REJECTED && (!relative || *r->path != '/'))
            return r;
    }
    return NULL;
}

static int no_plugin(const eng_context *context, const char *name, const char *plugin)
{
    char text[1400] = "";
    if (why_absent(context, plugin, text, sizeof text))
        return eng_fail(ENG_ERR_NOTFOUND, "device '%s'" ENG_CAUSE "%s", name, text);
    if (all_switched_off(context, text, sizeof text))
        return eng_fail(ENG_ERR_NOTFOUND, "device '%s'" ENG_CAUSE "%s", name, text);
    add_text(text, sizeof text, context->n_hosts ? "there are: " : "none at all is usable: ");
    for (uint32_t i = 0, n = 0; i < context->n_hosts; i++) {
        if (context->hosts[i]->flags & ENG_PLUGIN_COMPOSES)
            continue; /* it has no devices of its own */
        add_text(text, sizeof text, n++ ? ", " : "");
        add_text(text, sizeof text, context->hosts[i]->name);
    }
    const char *near = nearest(context, plugin);
    if (near) {
        add_text(text, sizeof text, "; did you mean ");
        add_text(text, sizeof text, near);
        add_text(text, sizeof text, "?");
    }
    const eng_plugin_record *r = refused(context, context->n_hosts > 0);
    if (r) {
        add_text(text, sizeof text, context->n_hosts ? "; " : "");
        add_text(text, sizeof text, r->reason);
        add_text(text, sizeof text, "; ");
        add_text(text, sizeof text, r->advice);
    } else if (!context->n_hosts) {
        add_text(text, sizeof text, "set ENGINE_PLUGIN_PATH to the folder of the plugins");
    }
    return eng_fail(ENG_ERR_NOTFOUND, "device '%s'" ENG_CAUSE "there is no plugin '%s'; %s", name, plugin, text);
}

static eng_host *find_host(const eng_context *context, const char *plugin)
{
    for (uint32_t i = 0; i < context->n_hosts; i++)
        if (strcmp(context->hosts[i]->name, plugin) == 0)
            return context->hosts[i];
    return NULL;
}

/* Is there what a leaf names? */
static int check_leaf(const eng_context *context, const char *name, const eng_leaf_name *leaf)
{
    const eng_host *host = find_host(context, leaf->plugin);
    if (!host)
        return no_plugin(context, name, leaf->plugin);
    if (host->flags & ENG_PLUGIN_COMPOSES)
        return eng_fail(ENG_ERR_INVALID, "device '%s'" ENG_CAUSE
                        "plugin '%s' composes other devices and has none of its own; "
                        "name those, as in 'cpu/2' or 'opencl:0+cpu'", name, leaf->plugin);
    if (leaf->index >= host->n_devices)
        return eng_fail(ENG_ERR_NOTFOUND, "device '%s'" ENG_CAUSE
                        "plugin '%s' has %u device%s, numbered from 0, and no number "
                        "%u" ENG_ADVICE "engine-probe lists them", name, leaf->plugin, host->n_devices,
                        host->n_devices == 1 ? "" : "s", leaf->index);
    return ENG_OK;
}

/* One name for each device, the listed one: "cpu:0" is "cpu", and "opencl" is "opencl:0", so that who compares names
 * (a composition its guests, a host the memory that devices share) never takes one device for two. */
static void name_as_listed(const eng_context *context, eng_leaf_name *leaf)
{
    char name[sizeof leaf->name];
    const char *listed = find_host(context, leaf->plugin)->devices[leaf->index].name;
    int n = leaf->parts > 1 ? snprintf(name, sizeof name, "%s/%u.%u", listed, leaf->parts, leaf->part)
                            : snprintf(name, sizeof name, "%s", listed);
    if (n > 0 && (size_t)n < sizeof name)
        memcpy(leaf->name, name, (size_t)n + 1);
}

static int finish(eng_context *context, eng_host *host, const eng_device_request *request, eng_device **device)
{
    eng_device_state *state = NULL;
    unsigned words = eng_failure_words();
    int status = eng_answer(host->calls.device_open(host->state, request, &state), words, request->name, "device_open");
    if (status >= 0 && !state)
        status = eng_fail(ENG_ERR_INTERNAL, "device '%s'" ENG_CAUSE
                          "plugin '%s' says that it opened the device but gave none; "
                          "report this to its author", request->name, host->name);
    if (status < 0)
        return status;
    return eng_device_create(context, &host->device_calls, state, request->name, device);
}

static int open_plain(eng_context *context, const char *text, const eng_leaf_name *leaf, eng_device **device)
{
    eng_device_request request = {
        .size = sizeof request, .index = leaf->index, .parts = leaf->parts, .part = leaf->part, .name = leaf->name,
    };
    return finish(context, find_host(context, leaf->plugin), &request, device);
}

static int open_composed(eng_context *context, const char *text, const eng_device_name *name, eng_device **device)
{
    const char *leaves[ENG_MAX_RANKS];
    eng_host *host = NULL;
    for (uint32_t i = 0; i < context->n_hosts && !host; i++)
        if (context->hosts[i]->flags & ENG_PLUGIN_COMPOSES)
            host = context->hosts[i];
    if (!host) {
        char why[1400];
        if (!why_absent(context, "meta", why, sizeof why))
            eu_copy(why, sizeof why, "install the plugin 'meta', or name a single device");
        return eng_fail(ENG_ERR_NOTFOUND, "device '%s' is composed of %u devices, but no plugin that composes is in "
                        "use: %s", text, name->n_leaves, why);
    }
    for (uint32_t i = 0; i < name->n_leaves; i++)
        leaves[i] = name->leaves[i].name;
    eng_device_request request = {
        .size = sizeof request, .parts = 1, .name = text, .n_leaves = name->n_leaves, .leaves = leaves,
        .shares = name->has_shares ? name->shares : NULL,
    };
    return finish(context, host, &request, device);
}

int eng_device_open(eng_context *context, const char *text, eng_device **device)
{
    eng_device_name name;
    if (!context || !device)
        return eng_fail(ENG_ERR_INVALID, "eng_device_open" ENG_CAUSE "context or device is NULL");
    if (eng_inherited(context))
        return eng_refuse_inherited("the context", "");
    int status = eng_device_name_parse(text, &name);
    for (uint32_t i = 0; status >= 0 && i < name.n_leaves; i++)
        status = check_leaf(context, text, &name.leaves[i]);
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < name.n_leaves; i++)
        name_as_listed(context, &name.leaves[i]);
    /* "cpu@1" is a composition of one: it can hold guests, a plain device cannot. */
    return name.n_leaves == 1 && !name.has_shares ? open_plain(context, text, &name.leaves[0], device)
                                                  : open_composed(context, text, &name, device);
}
