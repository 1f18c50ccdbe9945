/* The collector: plugins, devices and options into one report. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"
#include "hints.h"
#include "loading.h"
#include "probe.h"

typedef struct scan {
    const probe_settings *settings;
    const char *name;   /* of the device */
    const char *path;   /* of the plugin */
    const char *filter; /* ENGINE_PLUGINS with which it is the only one */
    bool first; /* tells of variables that nothing reads */
} scan;

eng_context *probe_context(const probe_settings *settings, uint32_t flags)
{
    eng_context_params params = {.size = sizeof params, .plugin_path = settings->plugin_path, .flags = flags};
    eng_context *context = NULL;
    int status = settings->isolate ? eng_context_create(&params, &context)
                                   : create_context("engine-probe", EXIT_REJECTED, &params, &context);
    if (status < 0) {
        fprintf(stderr, "engine-probe: %s\n", eng_last_error());
        exit(EXIT_NO_DEVICE);
    }
    return context;
}

/* only: the path of the one plugin that is of interest */
static void write_context(FILE *out, eng_context *context, const char *only)
{
    eng_plugin_info plugin = {.size = sizeof plugin};
    eng_device_info device = {.size = sizeof device};
    eng_option_info option = {.size = sizeof option};
    for (uint32_t i = 0; eng_context_plugin(context, i, &plugin) == ENG_OK; i++)
        if (!only || strcmp(plugin.path, only) == 0)
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
    setenv("ENGINE_PLUGINS", s->filter, 1);
    eng_context *context = probe_context(s->settings, 0);
    write_context(out, context, s->path);
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

static probe_plugin *find_plugin(probe_report *report, const char *path)
{
    for (uint32_t i = 0; i < report->n_plugins; i++)
        if (strcmp(report->plugins[i].path, path) == 0)
            return &report->plugins[i];
    return NULL;
}

static probe_plugin *add_plugin(probe_report *report, const eng_plugin_info *found)
{
    report->plugins = probe_add(report->plugins, &report->n_plugins, sizeof *report->plugins);
    probe_plugin *p = &report->plugins[report->n_plugins - 1];
    char **const texts[] = {&p->name, &p->path, &p->version, &p->description, &p->stage, &p->reason, &p->advice};
    const char *const from[] = {found->name, found->path, "", "", found->stage, found->reason, found->advice};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = probe_copy(from[i]);
    p->status = found->status;
    return p;
}

static void explain(probe_plugin *p, uint32_t status, const char *stage, const char *reason, const char *advice)
{
    char **const texts[] = {&p->stage, &p->reason, &p->advice};
    const char *const to[] = {stage, reason, advice};
    p->status = status;
    for (size_t i = 0; i < 3; i++) {
        free(*texts[i]);
        *texts[i] = probe_copy(to[i]);
    }
}

/* A pattern of ENGINE_PLUGINS that means this file alone: what separates patterns, or has a meaning in them, becomes
 * '?'. */
static void add_pattern(eu_text *filter, const char *path)
{
    for (eu_text_add(filter, filter->n ? ",^" : "^"); *path; path++)
        eu_text_add_bytes(filter, strchr(", *?[\\", *path) ? "?" : path, 1);
}

static void note_crash(probe_report *report, const eng_plugin_info *found, const probe_end *end, double timeout)
{
    char reason[160];
    probe_plugin *p = find_plugin(report, found->path);
    bool loaded = p && p->status == ENG_PLUGIN_LOADED; /* it crashed as it was unloaded */
    if (end->timed_out)
        snprintf(reason, sizeof reason, "loading it took more than %.3g s and was ended", timeout);
    else
        snprintf(reason, sizeof reason, "it ends the process that loads it: %s", end->what);
    eu_text advice = {0};
    eu_text_add(&advice, end->timed_out ?
                             "give more time with --timeout, or switch it off with ENGINE_PLUGINS='" :
                             "update the plugin or the driver it loads, or switch it off with ENGINE_PLUGINS='");
    eu_text pattern = {0};
    add_pattern(&pattern, found->path);
    eu_text_add(&advice, eu_text_get(&pattern));
    eu_text_add(&advice, "'");
    p = p ? p : add_plugin(report, found);
    explain(p, end->timed_out ? ENG_PLUGIN_REJECTED : PROBE_PLUGIN_CRASHED, end->timed_out ? "timeout" : "crashed",
            reason, eu_text_get(&advice));
    p->deadly = !loaded;
    eu_text_free(&pattern);
    eu_text_free(&advice);
}

bool probe_avoid(const probe_report *report)
{
    const char *before = getenv("ENGINE_PLUGINS");
    eu_text filter = {0};
    bool any = false;
    eu_text_add(&filter, before ? before : "");
    for (uint32_t i = 0; i < report->n_plugins; i++)
        if (report->plugins[i].deadly) {
            add_pattern(&filter, report->plugins[i].path);
            any = true;
        }
    if (any)
        setenv("ENGINE_PLUGINS", eu_text_get(&filter), 1);
    eu_text_free(&filter);
    return any;
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

static bool is_candidate(const eng_plugin_info *found)
{
    return found->status == ENG_PLUGIN_FOUND || found->status == ENG_PLUGIN_SHADOWED;
}

/* ENGINE_PLUGINS with which only this file of its name is loaded. */
static char *only_this(eng_context *context, const eng_plugin_info *wanted)
{
    eng_plugin_info other = {.size = sizeof other};
    eu_text filter = {0};
    eu_text_add(&filter, wanted->name);
    for (uint32_t i = 0; eng_context_plugin(context, i, &other) == ENG_OK; i++)
        if (strcmp(other.name, wanted->name) == 0 && strcmp(other.path, wanted->path) != 0)
            add_pattern(&filter, other.path);
    return eu_text_take(&filter);
}

/* Loads one file in a child.  Is it the plugin of its name, then? */
static bool try_file(const probe_settings *settings, eng_context *context, const eng_plugin_info *found,
                     probe_report *report)
{
    char doing[128], *filter = only_this(context, found);
    scan s = {.settings = settings, .path = found->path, .filter = filter ? filter : found->name};
    probe_end end;
    snprintf(doing, sizeof doing, "loading %s", found->name);
    probe_run(settings, doing, scan_plugin, &s, report, &end);
    free(filter);
    const probe_plugin *p = find_plugin(report, found->path);
    bool loaded = p && p->status == ENG_PLUGIN_LOADED;
    if (end.crashed || end.timed_out)
        note_crash(report, found, &end, settings->timeout);
    return loaded;
}

/* The files of a name from `first` on: the first that can be used is, and shadows the others. */
static void try_name(const probe_settings *settings, eng_context *context, uint32_t first, const char *name,
                     probe_report *report)
{
    eng_plugin_info found = {.size = sizeof found};
    char *used = NULL;
    for (uint32_t i = first; eng_context_plugin(context, i, &found) == ENG_OK; i++) {
        if (strcmp(found.name, name) != 0 || !is_candidate(&found))
            continue;
        if (used) {
            char reason[PATH_MAX + 32];
            snprintf(reason, sizeof reason, "%s was found earlier", used);
            explain(add_plugin(report, &found), ENG_PLUGIN_SHADOWED, "", reason,
                    "remove one of the two, or change the order of ENGINE_PLUGIN_PATH");
        } else if (try_file(settings, context, &found, report)) {
            used = probe_copy(found.path);
        }
    }
    free(used);
}

void probe_collect(const probe_settings *settings, probe_report *report)
{
    scan s = {.settings = settings};
    probe_end end;
    if (!settings->isolate) {
        probe_run(settings, "", scan_all, &s, report, &end);
        return;
    }
    eng_context *context = probe_context(settings, ENG_CONTEXT_NO_LOAD);
    eng_plugin_info found = {.size = sizeof found};
    for (uint32_t i = 0; eng_context_plugin(context, i, &found) == ENG_OK; i++) {
        if (find_plugin(report, found.path))
            continue; /* of a name that was tried before */
        if (is_candidate(&found))
            try_name(settings, context, i, found.name, report);
        else
            add_plugin(report, &found);
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
    if (s->first && context)
        tell_unread_of("engine-probe", context);
    if (eng_device_open(context, s->name, &device) < 0) {
        probe_write_error(out);
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

/* Finds the plugins that end a process that loads them, tells of them, and does without them from now on; false: there
 * are none. */
static bool avoid_deadly(const probe_settings *settings, probe_report *report)
{
    probe_report all = {0};
    probe_collect(settings, &all);
    bool some = probe_avoid(&all);
    for (uint32_t i = 0; i < all.n_plugins && some; i++)
        if (all.plugins[i].deadly)
            probe_print_refusal(&all.plugins[i]);
    report->avoided |= some;
    probe_report_free(&all);
    return some;
}

bool probe_one(const probe_settings *settings, const char *name, probe_report *report)
{
    scan s = {.settings = settings, .name = name, .first = report->n_devices == 0};
    probe_end end;
    uint32_t before = report->n_devices;
    probe_run(settings, "opening the device", open_one, &s, report, &end);
    if ((end.crashed || end.timed_out) && !report->error && report->n_devices == before &&
        avoid_deadly(settings, report))
        probe_run(settings, "opening the device", open_one, &s, report, &end);
    probe_explain(settings, name, &end, report);
    return !report->error && report->n_devices > before;
}

void probe_tell_unread(const probe_report *report)
{
    const char **names = calloc((size_t)report->n_options + report->n_plugins + 1, sizeof *names);
    size_t n = 0;
    for (uint32_t i = 0; names && i < report->n_options; i++)
        names[i] = report->options[i].environment;
    for (uint32_t i = 0; names && i < report->n_plugins; i++)
        if (report->plugins[i].status == ENG_PLUGIN_LOADED)
            names[report->n_options + n++] = report->plugins[i].name;
    if (names)
        tell_unread("engine-probe", names, report->n_options, names + report->n_options, n);
    free(names);
}

int probe_exit_code(const probe_report *report)
{
    bool rejected = false;
    for (uint32_t i = 0; i < report->n_plugins; i++)
        rejected |= report->plugins[i].status == ENG_PLUGIN_REJECTED ||
                    report->plugins[i].status == PROBE_PLUGIN_CRASHED;
    return report->n_devices == 0 ? EXIT_NO_DEVICE : rejected ? EXIT_REJECTED : 0;
}
