/* A report as one JSON object, schema engine-probe/1. */
#include "config.h"

#include <stdio.h>

#include "libengine/util/util.h"
#include "probe.h"

/* "" stands for what is not known: null. */
static void text(eu_json *j, const char *key, const char *value)
{
    eu_json_text(j, key, value && *value ? value : NULL);
}

static void number(eu_json *j, const char *key, uint64_t value, bool known)
{
    if (known)
        eu_json_uint(j, key, value);
    else
        eu_json_null(j, key);
}

static void print_plugin(eu_json *j, const probe_plugin *p)
{
    text(j, "name", p->name);
    text(j, "status", probe_status_name(p->status));
    text(j, "path", p->path);
    text(j, "version", p->version);
    text(j, "description", p->description);
    number(j, "n_devices", p->n_devices, p->status == ENG_PLUGIN_LOADED);
    text(j, "stage", p->stage);
    text(j, "reason", p->reason);
    text(j, "advice", p->advice);
}

static void print_device(eu_json *j, const probe_device *d)
{
    const eng_device_info *i = &d->info;
    text(j, "name", i->name);
    text(j, "kind", probe_kind_name(i->kind));
    text(j, "description", i->description);
    text(j, "driver", i->driver);
    text(j, "identity", i->identity);
    text(j, "capabilities", i->capabilities);
    number(j, "memory_total", i->memory_total, i->memory_total != 0);
    number(j, "memory_free", i->memory_free, i->memory_free != 0);
    number(j, "max_allocation", i->max_allocation, i->max_allocation != 0);
    number(j, "compute_units", i->compute_units, true);
    number(j, "alignment", i->alignment, i->alignment != 0);
    eu_json_bool(j, "leaf", d->leaf);
    if (d->leaf)
        eu_json_real(j, "share", d->share, 6);
    text(j, "state", "ready");
}

static void print_option(eu_json *j, const probe_option *o)
{
    text(j, "name", o->name);
    text(j, "environment", o->environment);
    text(j, "value", o->value);
    text(j, "default_value", o->default_value);
    text(j, "source", o->source);
    text(j, "help", o->help);
}

static void print_cell(eu_json *j, const probe_cell *c)
{
    text(j, "device", c->device);
    text(j, "op", c->op);
    text(j, "type", c->type);
    text(j, "answer", c->answer < 0 ? NULL : probe_answer_name(c->answer));
    text(j, "reason", c->reason);
}

/* "key": a list of `n` objects, a line each. */
#define LIST(j, key, list, n, print)                                                                                 \
    do {                                                                                                             \
        eu_json_list(j, key, true);                                                                                  \
        for (uint32_t k = 0; k < (n); k++) {                                                                         \
            eu_json_object(j, NULL, false);                                                                          \
            print(j, &(list)[k]);                                                                                    \
            eu_json_end(j);                                                                                          \
        }                                                                                                            \
        eu_json_end(j);                                                                                              \
    } while (0)

void probe_print_json(const probe_report *r)
{
    eu_json json = {.write = eu_json_to_file, .user = stdout}, *j = &json;
    eu_json_object(j, NULL, true);
    text(j, "schema", "engine-probe/1");
    eu_json_object(j, "engine", false);
    text(j, "version", eng_version());
    number(j, "abi_major", ENG_PLUGIN_ABI_MAJOR, true);
    number(j, "abi_minor", ENG_PLUGIN_ABI_MINOR, true);
    eu_json_end(j);
    LIST(j, "plugins", r->plugins, r->n_plugins, print_plugin);
    LIST(j, "devices", r->devices, r->n_devices, print_device);
    LIST(j, "options", r->options, r->n_options, print_option);
    if (r->n_cells)
        LIST(j, "ops", r->cells, r->n_cells, print_cell);
    eu_json_end(j);
}
