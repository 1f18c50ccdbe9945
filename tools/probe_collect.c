/* The collector: plugins, devices and options into one report. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "probe.h"

typedef struct scan {
    const probe_settings *settings;
    const char *name; /* of the plugin, or of the device */
} scan;

eng_context *probe_context(const probe_settings *settings, uint32_t flags)
{
    eng_context_params params = {.size = sizeof params, .plugin_path = settings->plugin_path, .flags = flags};
    eng_context *context = NULL;
    if (eng_context_create(&params, &context) < 0) {
        fprintf(stderr, "engine-probe: %s\n", eng_last_error());
        exit(EXIT_NO_DEVICE);
    }
    return context;
}

static void write_context(FILE *out, eng_context *context, const char *only)
{
    eng_plugin_info plugin = {.size = sizeof plugin};
    eng_device_info device = {.size = sizeof device};
    eng_option_info option = {.size = sizeof option};
    for (uint32_t i = 0; eng_context_plugin(context, i, &plugin) == ENG_OK; i++)
        if (!only || strcmp(plugin.name, only) == 0)
            probe_write_plugin(out, &plugin);
    for (uint32_t i = 0; eng_context_device_info(context, i, &device) == ENG_OK; i++)
        probe_write_device(out, &device, 1, false);
    for (uint32_t i = 0; eng_context_option(context, i, &option) == ENG_OK; i++)
        if (!only || strncmp(option.name, "engine.", 7) != 0)
            probe_write_option(out, &option);
}

/* In a child: one plugin alone. */
static void scan_plugin(FILE *out, void *arg)
{
    const scan *s = arg;
    setenv("ENGINE_PLUGINS", s->name, 1);
    eng_context *context = probe_context(s->settings, 0);
    write_context(out, context, s->name);
    fflush(out); /* a driver may crash as it is unloaded: what was found is found */
    eng_context_destroy(context);
}

static void scan_all(FILE *out, void *arg)
{
    const scan *s = arg;
    eng_context *context = probe_context(s->settings, 0);
    write_context(out, context, NULL);
    eng_context_destroy(context);
}

static void note_crash(probe_report *report, const eng_plugin_info *found, const probe_end *end, double timeout)
{
    char reason[160];
    probe_plugin *p = NULL;
    for (uint32_t i = 0; i < report->n_plugins; i++)
        if (strcmp(report->plugins[i].path, found->path) == 0)
            p = &report->plugins[i];
    if (!p) {
        report->plugins = probe_add(report->plugins, &report->n_plugins, sizeof *report->plugins);
        p = &report->plugins[report->n_plugins - 1];
        p->name = probe_copy(found->name);
        p->path = probe_copy(found->path);
        p->version = probe_copy("");
        p->description = probe_copy("");
    } else {
        free(p->stage);
        free(p->reason);
        free(p->advice);
    }
    if (end->timed_out)
        snprintf(reason, sizeof reason, "loading it took more than %.3g s and was ended", timeout);
    else
        snprintf(reason, sizeof reason, "it ends the process that loads it: %s", end->what);
    p->status = end->timed_out ? ENG_PLUGIN_REJECTED : PROBE_PLUGIN_CRASHED;
    p->stage = probe_copy(end->timed_out ? "timeout" : "crashed");
    p->reason = probe_copy(reason);
    p->advice = probe_copy(end->timed_out ? "give more time with --timeout, or switch the plugin off with ENGINE_PLUGINS"
                                          : "update the plugin or the driver it loads, or switch it off with "
                                            "ENGINE_PLUGINS");
}

/* By plugin, then by number: "opencl:2" before "opencl:10". */
static int by_device(const void *a, const void *b)
{
    return strverscmp(((const probe_device *)a)->info.name, ((const probe_device *)b)->info.name);
}

static int by_option(const void *a, const void *b)
{
    return strcmp(((const probe_option *)a)->name, ((const probe_option *)b)->name);
}

/* A name may stand for several files; its child has told of all of them. */
static bool reported(const probe_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->n_plugins; i++)
        if (strcmp(report->plugins[i].name, name) == 0)
            return true;
    return false;
}

void probe_collect(const probe_settings *settings, probe_report *report)
{
    scan s = {settings, NULL};
    probe_end end;
    if (!settings->isolate) {
        probe_run(settings, "", scan_all, &s, report, &end);
        return;
    }
    eng_context *context = probe_context(settings, ENG_CONTEXT_NO_LOAD);
    eng_plugin_info found = {.size = sizeof found};
    for (uint32_t i = 0; eng_context_plugin(context, i, &found) == ENG_OK; i++) {
        char doing[128];
        if (reported(report, found.name))
            continue;
        if (found.status != ENG_PLUGIN_FOUND) {
            char *text = NULL;
            size_t n;
            FILE *out = open_memstream(&text, &n);
            if (!out)
                continue;
            probe_write_plugin(out, &found);
            fclose(out);
            probe_read(report, text);
            free(text);
            continue;
        }
        s.name = found.name;
        snprintf(doing, sizeof doing, "loading %s", found.name);
        probe_run(settings, doing, scan_plugin, &s, report, &end);
        if (end.crashed || end.timed_out)
            note_crash(report, &found, &end, settings->timeout);
    }
    eng_option_info option = {.size = sizeof option};
    for (uint32_t i = 0; eng_context_option(context, i, &option) == ENG_OK; i++) {
        report->options = probe_add(report->options, &report->n_options, sizeof *report->options);
        probe_option *o = &report->options[report->n_options - 1];
        *o = (probe_option){probe_copy(option.name), probe_copy(option.environment), probe_copy(option.value),
                            probe_copy(option.default_value), probe_copy(option.source), probe_copy(option.help)};
    }
    if (report->n_devices)
        qsort(report->devices, report->n_devices, sizeof *report->devices, by_device);
    if (report->n_options)
        qsort(report->options, report->n_options, sizeof *report->options, by_option);
    eng_context_destroy(context);
}

/* In a child: a device by name, whatever plugins it needs. */
static void open_one(FILE *out, void *arg)
{
    const scan *s = arg;
    eng_context *context = probe_context(s->settings, 0);
    eng_device *device;
    if (eng_device_open(context, s->name, &device) < 0) {
        probe_write_error(out, eng_last_error());
    } else {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        if (eng_device_get_info(device, &info) == ENG_OK)
            probe_write_device(out, &info, 1, false);
        for (uint32_t i = 0; info.kind == ENG_DEVICE_META && eng_device_leaf(device, i, &info, &stats) == ENG_OK;) {
            probe_write_device(out, &info, stats.share, true);
            info.kind = ENG_DEVICE_META;
            i++;
        }
        eng_device_close(device);
    }
    fflush(out);
    eng_context_destroy(context);
}

void probe_explain(const probe_settings *settings, const char *device, const probe_end *end, probe_report *report)
{
    char text[240];
    if (report->error || (!end->crashed && !end->timed_out))
        return;
    if (end->timed_out)
        snprintf(text, sizeof text, "device '%s': it took more than %.3g s and was ended; give more with --timeout",
                 device, settings->timeout);
    else
        snprintf(text, sizeof text, "device '%s': the process that used it ended: %s; engine-probe --plugins may name "
                 "the plugin", device, end->what);
    report->error = probe_copy(text);
}

bool probe_one(const probe_settings *settings, const char *name, probe_report *report)
{
    scan s = {settings, name};
    probe_end end;
    uint32_t before = report->n_devices;
    probe_run(settings, "opening the device", open_one, &s, report, &end);
    probe_explain(settings, name, &end, report);
    return !report->error && report->n_devices > before;
}

int probe_exit_code(const probe_report *report)
{
    bool rejected = false;
    for (uint32_t i = 0; i < report->n_plugins; i++)
        rejected |= report->plugins[i].status == ENG_PLUGIN_REJECTED || report->plugins[i].status == PROBE_PLUGIN_CRASHED;
    return report->n_devices == 0 ? EXIT_NO_DEVICE : rejected ? EXIT_REJECTED : 0;
}
