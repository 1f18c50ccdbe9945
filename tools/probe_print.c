/* Printing a report for people and as tab-separated values. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

const char *probe_status_name(uint32_t status)
{
    switch (status) {
    case ENG_PLUGIN_FOUND: return "found";
    case ENG_PLUGIN_LOADED: return "loaded";
    case ENG_PLUGIN_SHADOWED: return "shadowed";
    case ENG_PLUGIN_DISABLED: return "disabled";
    default: return "rejected";
    }
}

const char *probe_kind_name(uint32_t kind)
{
    switch (kind) {
    case ENG_DEVICE_CPU: return "cpu";
    case ENG_DEVICE_GPU: return "gpu";
    case ENG_DEVICE_ACCELERATOR: return "accelerator";
    case ENG_DEVICE_META: return "meta";
    case ENG_DEVICE_NULL: return "null";
    default: return "other";
    }
}

const char *probe_answer_name(int answer)
{
    switch (answer) {
    case ENG_SUPPORT_YES: return "yes";
    case ENG_SUPPORT_SLOW: return "slow";
    case ENG_SUPPORT_NO: return "no";
    default: return "-";
    }
}

static const char *memory_text(uint64_t bytes, char text[32])
{
    if (bytes == 0)
        return "unknown";
    double gib = (double)bytes / (1024.0 * 1024 * 1024);
    if (gib >= 1)
        snprintf(text, 32, "%.1f GiB", gib);
    else
        snprintf(text, 32, "%.1f MiB", gib * 1024);
    return text;
}

/* A table: cells in rows of `columns`; the last column is not padded. */
static void print_table(const char *const *cells, uint32_t rows, uint32_t columns, probe_format format)
{
    size_t width[16] = {0};
    for (uint32_t i = 0; i < rows * columns; i++) {
        size_t n = strlen(cells[i]);
        if (n > width[i % columns])
            width[i % columns] = n;
    }
    for (uint32_t i = 0; i < rows * columns; i++) {
        bool last = i % columns == columns - 1;
        if (format == PROBE_TSV)
            printf("%s%s", cells[i], last ? "\n" : "\t");
        else if (last)
            printf("%s\n", cells[i]);
        else
            printf("%-*s  ", (int)width[i % columns], cells[i]);
    }
}

void probe_print_devices(const probe_report *r, probe_format format)
{
    enum { COLUMNS = 6 };
    const char *head[COLUMNS] = {"id", "kind", "name", format == PROBE_TSV ? "memory_total" : "memory", "driver",
                                 "state"};
    const char **cells = calloc(1 + (size_t)r->n_devices, sizeof head);
    char (*memory)[32] = calloc(1 + (size_t)r->n_devices, sizeof *memory);
    uint32_t rows = 1;
    if (!cells || !memory) {
        fprintf(stderr, "engine-probe: out of memory for the table of devices\n");
        free(cells);
        free(memory);
        return;
    }
    memcpy(cells, head, sizeof head);
    for (uint32_t i = 0; i < r->n_devices; i++, rows++) {
        const eng_device_info *d = &r->devices[i].info;
        const char **row = &cells[rows * COLUMNS];
        row[0] = d->name;
        row[1] = probe_kind_name(d->kind);
        row[2] = d->description;
        if (format == PROBE_TSV) {
            snprintf(memory[rows - 1], 32, "%" PRIu64, d->memory_total);
            row[3] = memory[rows - 1];
        } else {
            row[3] = memory_text(d->memory_total, memory[rows - 1]);
        }
        row[4] = d->driver;
        row[5] = "ready";
    }
    if (rows > 1 || format == PROBE_TSV)
        print_table(cells, rows, COLUMNS, format);
    free(cells);
    free(memory);
}

void probe_print_details(const probe_report *r)
{
    for (uint32_t i = 0; i < r->n_devices; i++) {
        const eng_device_info *d = &r->devices[i].info;
        const char *indent = r->devices[i].leaf ? "    " : "";
        char a[32], b[32], c[32];
        printf("%s%s\n", indent, d->name);
        printf("%s  kind            %s\n", indent, probe_kind_name(d->kind));
        printf("%s  name            %s\n", indent, d->description);
        printf("%s  driver          %s\n", indent, d->driver);
        printf("%s  identity        %s\n", indent, *d->identity ? d->identity : "unknown");
        printf("%s  memory          %s (free: %s)\n", indent, memory_text(d->memory_total, a),
               memory_text(d->memory_free, b));
        printf("%s  max allocation  %s\n", indent, d->max_allocation ? memory_text(d->max_allocation, c) : "no limit");
        printf("%s  compute units   %u\n", indent, d->compute_units);
        printf("%s  capabilities    %s\n", indent, *d->capabilities ? d->capabilities : "none reported");
        if (r->devices[i].leaf)
            printf("%s  share           %.4g\n", indent, r->devices[i].share);
    }
}

void probe_print_plugins(const probe_report *r, probe_format format)
{
    if (format == PROBE_TSV)
        printf("name\tstatus\tversion\tdevices\tstage\treason\tadvice\tpath\n");
    for (uint32_t i = 0; i < r->n_plugins; i++) {
        const probe_plugin *p = &r->plugins[i];
        if (format == PROBE_TSV) {
            printf("%s\t%s\t%s\t%u\t%s\t%s\t%s\t%s\n", p->name, probe_status_name(p->status), p->version, p->n_devices,
                   p->stage, p->reason, p->advice, p->path);
            continue;
        }
        printf("%-12s %-9s %s\n", p->name, probe_status_name(p->status), p->path);
        if (p->status == ENG_PLUGIN_LOADED)
            printf("             version %s, %s; devices: %u\n", *p->version ? p->version : "unknown", p->description,
                   p->n_devices);
        if (*p->stage)
            printf("             stage   %s\n", p->stage);
        if (*p->reason)
            printf("             reason  %s\n", p->reason);
        if (*p->advice)
            printf("             advice  %s\n", p->advice);
    }
}

void probe_print_options(const probe_report *r, probe_format format)
{
    if (format == PROBE_TSV)
        printf("name\tenvironment\tvalue\tdefault\tsource\thelp\n");
    for (uint32_t i = 0; i < r->n_options; i++) {
        const probe_option *o = &r->options[i];
        if (format == PROBE_TSV)
            printf("%s\t%s\t%s\t%s\t%s\t%s\n", o->name, o->environment, o->value, o->default_value, o->source, o->help);
        else
            printf("%s = \"%s\" (%s)\n    %s; default \"%s\"\n    %s\n", o->name, o->value, o->source, o->environment,
                   o->default_value, o->help);
    }
}

static void print_matrix(const probe_cell *cells, uint32_t n)
{
    printf("%s: + yes, s slow, . no, blank: not a type of the op\n%-18s", cells[0].device, "");
    for (uint32_t i = 0; i < n && strcmp(cells[i].op, cells[0].op) == 0; i++)
        printf(" %7s", cells[i].type);
    for (uint32_t i = 0; i < n; i++) {
        int a = cells[i].answer;
        if (i == 0 || strcmp(cells[i].op, cells[i - 1].op) != 0)
            printf("\n%-18s", cells[i].op);
        printf(" %7s", a == ENG_SUPPORT_YES ? "+" : a == ENG_SUPPORT_SLOW ? "s" : a == ENG_SUPPORT_NO ? "." : "");
    }
    printf("\n");
    for (uint32_t i = 0; i < n; i++)
        if ((cells[i].answer == ENG_SUPPORT_NO || cells[i].answer == ENG_SUPPORT_SLOW) && *cells[i].reason)
            printf("%s %s: %s: %s\n", cells[i].op, cells[i].type, probe_answer_name(cells[i].answer), cells[i].reason);
}

/* Ops down, types across: the cells come device by device and op by op, always with the same types. */
void probe_print_ops(const probe_report *r, probe_format format)
{
    if (format == PROBE_TSV) {
        printf("device\top\ttype\tanswer\treason\n");
        for (uint32_t i = 0; i < r->n_cells; i++)
            printf("%s\t%s\t%s\t%s\t%s\n", r->cells[i].device, r->cells[i].op, r->cells[i].type,
                   probe_answer_name(r->cells[i].answer), r->cells[i].reason);
        return;
    }
    for (uint32_t begin = 0, end; begin < r->n_cells; begin = end) {
        for (end = begin; end < r->n_cells && strcmp(r->cells[end].device, r->cells[begin].device) == 0;)
            end++;
        print_matrix(&r->cells[begin], end - begin);
    }
}

void probe_print_refusal(const probe_plugin *p)
{
    fprintf(stderr, "engine-probe: plugin %s rejected (%s): %s; %s\n", p->name, p->stage, p->reason, p->advice);
}

void probe_print_refusals(const probe_report *r)
{
    for (uint32_t i = 0; i < r->n_plugins; i++) {
        const probe_plugin *p = &r->plugins[i];
        if (p->status == ENG_PLUGIN_REJECTED || p->status == PROBE_PLUGIN_CRASHED)
            probe_print_refusal(p);
    }
    const probe_plugin *off = NULL;
    for (uint32_t i = 0; i < r->n_plugins && (!off || off->status == ENG_PLUGIN_DISABLED); i++)
        off = r->plugins[i].status == ENG_PLUGIN_DISABLED || !off ? &r->plugins[i] : off;
    if (r->n_devices == 0 && off && off->status == ENG_PLUGIN_DISABLED)
        fprintf(stderr, "engine-probe: no usable device: plugin %s is %s; %s\n", off->name, off->reason, off->advice);
    else if (r->n_devices == 0)
        fprintf(stderr, "engine-probe: no usable device%s\n",
                r->n_plugins ? "" : ": no plugin was found; set ENGINE_PLUGIN_PATH to the folder of the plugins");
}
