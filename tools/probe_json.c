/* A report as one JSON object, schema engine-probe/1. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "probe.h"

/* Bytes of the UTF-8 sequence at s; 0: there is none. */
static int utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* "" stands for what is not known: null. */
static void text(const char *key, const char *value, const char *after)
{
    printf("\"%s\": ", key);
    if (!value || !*value) {
        printf("null%s", after);
        return;
    }
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)value; *s;) {
        int n = utf8_length(s);
        if (n == 0) {
            printf("\\ufffd"); /* a driver may say anything */
            s++;
        } else if (n > 1) {
            printf("%.*s", n, (const char *)s);
            s += n;
        } else {
            if (*s == '"' || *s == '\\')
                printf("\\%c", *s);
            else if (*s < 0x20 || *s == 0x7f)
                printf("\\u%04x", *s);
            else
                putchar(*s);
            s++;
        }
    }
    printf("\"%s", after);
}

static void number(const char *key, uint64_t value, bool known, const char *after)
{
    if (known)
        printf("\"%s\": %" PRIu64 "%s", key, value, after);
    else
        printf("\"%s\": null%s", key, after);
}

static void print_plugin(const probe_plugin *p, bool last)
{
    printf("    {");
    text("name", p->name, ", ");
    text("status", probe_status_name(p->status), ", ");
    text("path", p->path, ", ");
    text("version", p->version, ", ");
    text("description", p->description, ", ");
    number("n_devices", p->n_devices, p->status == ENG_PLUGIN_LOADED, ", ");
    text("stage", p->stage, ", ");
    text("reason", p->reason, ", ");
    text("advice", p->advice, "}");
    printf("%s\n", last ? "" : ",");
}

static void print_device(const probe_device *d, bool last)
{
    const eng_device_info *i = &d->info;
    printf("    {");
    text("name", i->name, ", ");
    text("kind", probe_kind_name(i->kind), ", ");
    text("description", i->description, ", ");
    text("driver", i->driver, ", ");
    text("identity", i->identity, ", ");
    text("capabilities", i->capabilities, ", ");
    number("memory_total", i->memory_total, i->memory_total != 0, ", ");
    number("memory_free", i->memory_free, i->memory_free != 0, ", ");
    number("max_allocation", i->max_allocation, i->max_allocation != 0, ", ");
    number("compute_units", i->compute_units, true, ", ");
    number("alignment", i->alignment, i->alignment != 0, ", ");
    printf("\"leaf\": %s, ", d->leaf ? "true" : "false");
    if (d->leaf)
        printf("\"share\": %.6g, ", d->share);
    text("state", "ready", "}");
    printf("%s\n", last ? "" : ",");
}

static void print_option(const probe_option *o, bool last)
{
    printf("    {");
    text("name", o->name, ", ");
    text("environment", o->environment, ", ");
    text("value", o->value, ", ");
    text("default_value", o->default_value, ", ");
    text("source", o->source, ", ");
    text("help", o->help, "}");
    printf("%s\n", last ? "" : ",");
}

static void print_cell(const probe_cell *c, bool last)
{
    printf("    {");
    text("device", c->device, ", ");
    text("op", c->op, ", ");
    text("type", c->type, ", ");
    text("answer", c->answer < 0 ? NULL : probe_answer_name(c->answer), ", ");
    text("reason", c->reason, "}");
    printf("%s\n", last ? "" : ",");
}

void probe_print_json(const probe_report *r)
{
    printf("{\n  \"schema\": \"engine-probe/1\",\n  \"engine\": {");
    text("version", eng_version(), ", ");
    printf("\"abi_major\": %u, \"abi_minor\": %u},\n", ENG_PLUGIN_ABI_MAJOR, ENG_PLUGIN_ABI_MINOR);
    printf("  \"plugins\": [\n");
    for (uint32_t i = 0; i < r->n_plugins; i++)
        print_plugin(&r->plugins[i], i + 1 == r->n_plugins);
    printf("  ],\n  \"devices\": [\n");
    for (uint32_t i = 0; i < r->n_devices; i++)
        print_device(&r->devices[i], i + 1 == r->n_devices);
    printf("  ],\n  \"options\": [\n");
    for (uint32_t i = 0; i < r->n_options; i++)
        print_option(&r->options[i], i + 1 == r->n_options);
    printf("  ]");
    if (r->n_cells) {
        printf(",\n  \"ops\": [\n");
        for (uint32_t i = 0; i < r->n_cells; i++)
            print_cell(&r->cells[i], i + 1 == r->n_cells);
        printf("  ]");
    }
    printf("\n}\n");
}
