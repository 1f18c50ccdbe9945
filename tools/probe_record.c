/* Records: how a child tells the parent what it found.  One line each, fields with tabs between them. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

char *probe_copy(const char *text)
{
    char *copy = strdup(text);
    if (!copy) {
        fputs("engine-probe: out of memory for the list of devices\n", stderr);
        exit(EXIT_NO_DEVICE);
    }
    return copy;
}

/* The list with room for one more item, which is zeroed. */
void *probe_add(void *list, uint32_t *n, size_t item)
{
    char *grown = realloc(list, (*n + 1) * item);
    if (!grown) {
        fputs("engine-probe: out of memory for the list of devices\n", stderr);
        exit(EXIT_NO_DEVICE);
    }
    memset(grown + *n * item, 0, item);
    ++*n;
    return grown;
}

static void write_text(FILE *out, const char *text)
{
    putc('\t', out);
    for (; *text; text++)
        putc(*text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text, out);
}

void probe_write_plugin(FILE *out, const eng_plugin_info *i)
{
    fprintf(out, "P\t%u\t%u", i->status, i->n_devices);
    const char *const texts[] = {i->name, i->path, i->version, i->description, i->stage, i->reason, i->advice};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        write_text(out, texts[t]);
    putc('\n', out);
}

void probe_write_device(FILE *out, const eng_device_info *i, double share, bool leaf)
{
    fprintf(out, "D\t%d\t%.0f\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u", leaf, share * 1e6, i->kind,
            i->flags, i->compute_units, i->memory_total, i->memory_free, i->max_allocation, i->alignment);
    const char *const texts[] = {i->name, i->description, i->driver, i->identity, i->capabilities};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        write_text(out, texts[t]);
    putc('\n', out);
}

void probe_write_option(FILE *out, const eng_option_info *i)
{
    putc('O', out);
    const char *const texts[] = {i->name, i->environment, i->value, i->default_value, i->source, i->help};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        write_text(out, texts[t]);
    putc('\n', out);
}

void probe_write_cell(FILE *out, const char *device, const char *op, const char *type, int answer, const char *reason)
{
    fprintf(out, "C\t%d", answer);
    write_text(out, device);
    write_text(out, op);
    write_text(out, type);
    write_text(out, reason);
    putc('\n', out);
}

void probe_write_error(FILE *out)
{
    eng_error e = {.size = sizeof e};
    eng_last_error_info(&e);
    fprintf(out, "E\t%u", e.code);
    write_text(out, eng_last_error());
    putc('\n', out);
}

void probe_write_end(FILE *out)
{
    fputs("Z\n", out);
}

void probe_write_progress(FILE *out, const char *text)
{
    putc('T', out);
    write_text(out, text);
    putc('\n', out);
}

/* The next field of a line; "" past the last. */
static char *field(char **line)
{
    char *at = *line, *tab = strchr(at, '\t');
    if (tab) {
        *tab = 0;
        *line = tab + 1;
    } else {
        *line = at + strlen(at);
    }
    return at;
}

static uint64_t number(char **line)
{
    return strtoull(field(line), NULL, 10);
}

static void copy_field(char *to, size_t bytes, char **line)
{
    snprintf(to, bytes, "%s", field(line));
}

static void read_plugin(probe_report *report, char *line)
{
    report->plugins = probe_add(report->plugins, &report->n_plugins, sizeof *report->plugins);
    probe_plugin *p = &report->plugins[report->n_plugins - 1];
    p->status = (uint32_t)number(&line);
    p->n_devices = (uint32_t)number(&line);
    char **const texts[] = {&p->name, &p->path, &p->version, &p->description, &p->stage, &p->reason, &p->advice};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        *texts[t] = probe_copy(field(&line));
}

static void read_device(probe_report *report, char *line)
{
    report->devices = probe_add(report->devices, &report->n_devices, sizeof *report->devices);
    probe_device *d = &report->devices[report->n_devices - 1];
    d->leaf = number(&line) != 0;
    d->share = (double)number(&line) / 1e6;
    d->info.size = sizeof d->info;
    d->info.kind = (uint32_t)number(&line);
    d->info.flags = (uint32_t)number(&line);
    d->info.compute_units = (uint32_t)number(&line);
    d->info.memory_total = number(&line);
    d->info.memory_free = number(&line);
    d->info.max_allocation = number(&line);
    d->info.alignment = (uint32_t)number(&line);
    copy_field(d->info.name, sizeof d->info.name, &line);
    copy_field(d->info.description, sizeof d->info.description, &line);
    copy_field(d->info.driver, sizeof d->info.driver, &line);
    copy_field(d->info.identity, sizeof d->info.identity, &line);
    copy_field(d->info.capabilities, sizeof d->info.capabilities, &line);
}

static void read_option(probe_report *report, char *line)
{
    report->options = probe_add(report->options, &report->n_options, sizeof *report->options);
    probe_option *o = &report->options[report->n_options - 1];
    char **const texts[] = {&o->name, &o->environment, &o->value, &o->default_value, &o->source, &o->help};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        *texts[t] = probe_copy(field(&line));
}

static void read_cell(probe_report *report, char *line)
{
    report->cells = probe_add(report->cells, &report->n_cells, sizeof *report->cells);
    probe_cell *c = &report->cells[report->n_cells - 1];
    c->answer = atoi(field(&line));
    c->device = probe_copy(field(&line));
    c->op = probe_copy(field(&line));
    c->type = probe_copy(field(&line));
    c->reason = probe_copy(field(&line));
}

void probe_read(probe_report *report, char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = 0; /* a line cut short by a crash has no end and does not count */
        char *at = line;
        switch (*field(&at)) {
        case 'P': read_plugin(report, at); break;
        case 'D': read_device(report, at); break;
        case 'O': read_option(report, at); break;
        case 'C': read_cell(report, at); break;
        case 'E':
            free(report->error);
            report->error_code = (uint32_t)number(&at);
            report->error = probe_copy(at);
            break;
        case 'T':
            free(report->progress);
            report->progress = probe_copy(at);
            break;
        case 'Z': report->complete = true; break;
        default: break;
        }
    }
}

void probe_report_free(probe_report *r)
{
    for (uint32_t i = 0; i < r->n_plugins; i++) {
        probe_plugin *p = &r->plugins[i];
        char *const texts[] = {p->name, p->path, p->version, p->description, p->stage, p->reason, p->advice};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            free(texts[t]);
    }
    for (uint32_t i = 0; i < r->n_options; i++) {
        probe_option *o = &r->options[i];
        char *const texts[] = {o->name, o->environment, o->value, o->default_value, o->source, o->help};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            free(texts[t]);
    }
    for (uint32_t i = 0; i < r->n_cells; i++) {
        free(r->cells[i].device);
        free(r->cells[i].op);
        free(r->cells[i].type);
        free(r->cells[i].reason);
    }
    free(r->plugins);
    free(r->devices);
    free(r->options);
    free(r->cells);
    free(r->error);
    free(r->progress);
    memset(r, 0, sizeof *r);
}
