/* One graph on one device, from opening to closing. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "../matrix.h"

eng_dim rig_axis(rig_dim *d, uint32_t axis, int64_t extent, int64_t inner)
{
    d->factors[0] = (eng_factor){.axis = axis, .extent = extent};
    d->factors[1] = (eng_factor){.extent = inner};
    d->segment = (eng_segment){.n_factors = inner > 1 ? 2 : 1, .factors = d->factors};
    return (eng_dim){.n_segments = 1, .segments = &d->segment};
}

bool rig_open(rig *g, eng_context *context, const char *device, uint32_t n_params)
{
    *g = (rig){.context = context};
    return eng_device_open(context, device, &g->device) == ENG_OK &&
           eng_graph_create(context, n_params, &g->graph) == ENG_OK;
}

void rig_close(rig *g)
{
    eng_queue_destroy(g->queue);
    eng_instance_destroy(g->instance);
    eng_plan_release(g->plan);
    eng_graph_destroy(g->graph);
    eng_store_destroy(g->store);
    eng_device_close(g->device);
    *g = (rig){.context = g->context};
}

eng_store *rig_make_store(eng_device *device, eng_store_tensor *tensors, uint32_t n)
{
    eng_store *store = NULL;

    for (uint32_t i = 0; i < n; i++) {
        tensors[i].size = sizeof *tensors;
        tensors[i].layer = -1;
        tensors[i].name = tensors[i].name ? tensors[i].name : "t";
        test_declare_matrix(&tensors[i]);
    }
    return eng_store_create(device, tensors, n, &store) == ENG_OK ? store : NULL;
}

bool rig_store(rig *g, eng_store_tensor *tensors, uint32_t n)
{
    return (g->store = rig_make_store(g->device, tensors, n)) != NULL;
}

bool rig_write(rig *g, uint32_t tensor, const void *data)
{
    return eng_store_write(g->store, tensor, 0, eng_store_bytes(g->store, tensor), data) == ENG_OK;
}

bool rig_read(rig *g, uint32_t tensor, void *data)
{
    return eng_store_read(g->store, tensor, 0, eng_store_bytes(g->store, tensor), data) == ENG_OK;
}

void rig_values(rig *g, eng_value *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        values[i] = eng_graph_tensor(g->graph, 0, g->store, i);
}

bool rig_plan(rig *g)
{
    return eng_graph_seal(g->graph) == ENG_OK && eng_plan_create(g->device, g->graph, &g->plan) == ENG_OK &&
           eng_instance_create(g->plan, &g->store, 1, &g->instance) == ENG_OK &&
           eng_queue_create(g->device, &g->queue) == ENG_OK;
}

bool rig_run(rig *g, const int64_t *params, uint32_t n)
{
    eng_fence fence;

    return eng_queue_submit(g->queue, NULL, 0, g->instance, params, n, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK;
}

void rig_append(void *text, const char *piece)
{
    rig_text *t = text;
    size_t n = strlen(piece), room = sizeof t->data - 1 - t->length;

    n = n < room ? n : room;
    memcpy(t->data + t->length, piece, n);
    t->length += n;
    t->data[t->length] = 0;
}

bool rig_explain(const rig *g, eng_explain_format format, rig_text *text)
{
    text->length = 0;
    text->data[0] = 0;
    return eng_plan_explain(g->plan, format, rig_append, text) == ENG_OK;
}

bool rig_is_json(const rig_text *t)
{
    const char *build = getenv("top_builddir");
    char command[512];

    snprintf(command, sizeof command, "%s/tests/probe/json-check", build ? build : ".");
    FILE *f = popen(command, "w");
    bool good = f && fwrite(t->data, 1, t->length, f) == t->length;
    return f && pclose(f) == 0 && good;
}

bool rig_is_drawing(const rig_text *t)
{
    int open = 0, quoted = 0;

    for (const char *c = t->data; *c; c++) {
        if (quoted && *c == '\\' && c[1])
            c++;
        else if (*c == '"')
            quoted = !quoted;
        else if (!quoted)
            open += (*c == '{' || *c == '[') - (*c == '}' || *c == ']');
        if (*c == '\n' && quoted)
            return false;
    }
    return open == 0 && !quoted;
}

eng_context *rig_fault_context(const char *devices)
{
    static char folder[4096];
    const char *build = getenv("top_builddir");
    eng_context_params params = {.size = sizeof params, .plugin_path = folder};
    eng_context *context = NULL;

    snprintf(folder, sizeof folder, "%s/tests/meta/fault/.libs", build ? build : ".");
    setenv("ENGINE_PLUGINS", "cpu,meta,null,fault", 1);
    if (eng_context_create(&params, &context) == ENG_OK &&
        eng_context_set_option(context, "fault.device", devices) == ENG_OK)
        return context;
    printf("Bail out! %s\n", eng_last_error());
    eng_context_destroy(context);
    return NULL;
}
