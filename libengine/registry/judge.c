/*
 * Judging a descriptor: it is read as data, each field only after what vouches
 * for it, and no function of the plugin is called.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "registry.h"

/* bytes up to the end of a field */
#define THROUGH(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* The table reaches that far and has the call. */
#define HAS(table, type, field) ((table)->size >= THROUGH(type, field) && (table)->field != NULL)

static const char rebuild[] = "rebuild the plugin against the installed engine/plugin.h";

static bool refuse(eng_module_error *error, const char *stage, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool refuse(eng_module_error *error, const char *stage, const char *advice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->reason, sizeof error->reason, format, args);
    va_end(args);
    error->stage = stage;
    error->advice = advice;
    return false;
}

static bool judge_head(const eng_plugin_descriptor *d, eng_module_error *error)
{
    if (d->magic != ENG_PLUGIN_MAGIC)
        return refuse(error, "descriptor", rebuild, "the descriptor begins with 0x%08x instead of ENG_PLUGIN_MAGIC",
                      d->magic);
    if (d->abi_major != ENG_PLUGIN_ABI_MAJOR)
        return refuse(error, "abi", d->abi_major < ENG_PLUGIN_ABI_MAJOR ? rebuild : "install a newer libengine, or "
                      "rebuild the plugin against the installed engine/plugin.h",
                      "built for plugin ABI %u.%u, but this engine speaks %u.%u", d->abi_major, d->abi_minor,
                      ENG_PLUGIN_ABI_MAJOR, ENG_PLUGIN_ABI_MINOR);
    if (d->size < THROUGH(eng_plugin_descriptor, device_calls))
        return refuse(error, "table", rebuild, "the descriptor has %u bytes; at least %zu are needed", d->size,
                      THROUGH(eng_plugin_descriptor, device_calls));
    return true;
}

static bool judge_name(const eng_plugin_descriptor *d, const char *name, eng_module_error *error)
{
    /* names under which the engine keeps its own options and variables */
    static const char *const reserved[] = {"engine", "plugin", "plugins", "cache", "data", "log"};
    if (!d->name || strcmp(d->name, name) != 0)
        return refuse(error, "name", "name the file after the plugin (NAME.so) and do not rename it",
                      "the file is called '%s', but the plugin calls itself '%s'", name, d->name ? d->name : "(null)");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(name, reserved[i]) == 0)
            return refuse(error, "name", "choose another name for the plugin", "the name '%s' is the engine's own",
                          name);
    for (const char *c = name; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        bool later = (*c >= '0' && *c <= '9') || *c == '-';
        if (!letter && !(later && c > name))
            return refuse(error, "name", "use letters, digits, '_' and '-', beginning with a letter",
                          "the name '%s' cannot be written in a device name", name);
    }
    return true;
}

static bool judge_tables(const eng_plugin_descriptor *d, eng_module_error *error)
{
    const eng_plugin_calls *calls = d->calls;
    const eng_device_calls *device = d->device_calls;
    const char *missing = NULL;
    if (!calls || !device)
        return refuse(error, "table", rebuild, "the descriptor has no table of %s calls", calls ? "device" : "plugin");
    if (calls->size < THROUGH(eng_plugin_calls, device_open))
        return refuse(error, "table", rebuild, "its table of plugin calls has %u bytes; at least %zu are needed",
                      calls->size, THROUGH(eng_plugin_calls, device_open));
    if (device->size < THROUGH(eng_device_calls, info))
        return refuse(error, "table", rebuild, "its table of device calls has %u bytes; at least %zu are needed",
                      device->size, THROUGH(eng_device_calls, info));
    if (!calls->open)
        missing = "open";
    else if (!calls->close)
        missing = "close";
    else if (!calls->enumerate && !(d->flags & ENG_PLUGIN_COMPOSES))
        missing = "enumerate";
    else if (!calls->device_open)
        missing = "device_open";
    else if (!HAS(device, eng_device_calls, close))
        missing = "close of devices";
    else if (!HAS(device, eng_device_calls, info))
        missing = "info of devices";
    if (missing)
        return refuse(error, "table", "give the plugin this call; plugins/null is a complete example",
                      "the mandatory call %s is missing", missing);
    return true;
}

static bool judge_options(const eng_plugin_descriptor *d, eng_module_error *error)
{
    size_t stride = d->n_options && d->options ? d->options[0].size : 0;
    if (d->n_options && stride < THROUGH(eng_plugin_option, help))
        return refuse(error, "table", rebuild, "it declares %u options, but their size is %zu", d->n_options, stride);
    for (uint32_t i = 0; i < d->n_options; i++) {
        const eng_plugin_option *o = (const eng_plugin_option *)((const char *)d->options + i * stride);
        if (!o->name || !*o->name || !o->default_value || !o->help)
            return refuse(error, "table", "give every option a name, a default and a help text",
                          "option %u is incomplete", i);
    }
    return true;
}

bool eng_judge(const eng_plugin_descriptor *d, const char *name, eng_module_error *error)
{
    return judge_head(d, error) && judge_name(d, name, error) && judge_tables(d, error) && judge_options(d, error);
}
