/*
 * Building graphs: bound tensors, nodes, the first error kept until seal.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define AXIS_TEXT 80
#define MOST_SLOT 65535u

static int graph_error(eng_graph *g, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The failure of a graph, told once more.  Without memory: the host's, a graph has no other. */
static int graph_failed(int status, const char *text)
{
    return eng_fail_code(status, status == ENG_ERR_NOMEM ? ENG_CODE_HOST_MEMORY : ENG_CODE_NONE, -1, "%s", text);
}

static int graph_error(eng_graph *g, int status, const char *format, ...)
{
    char text[sizeof g->error];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (g->status == ENG_OK) {
        g->status = status;
        memcpy(g->error, text, sizeof text);
    }
    return graph_failed(status, text);
}

static int graph_no_memory(eng_graph *g, const char *what)
{
    int status = eng_fail_code(EU_NO_MEMORY(what));
    return graph_error(g, status, "%s", eng_last_error());
}

void eng_graph_refuse(eng_graph *g, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (g == NULL || g->sealed)
        eng_fail(ENG_ERR_INVALID, "%s", text);
    else
        graph_error(g, ENG_ERR_INVALID, "%s", text);
}

int eng_graph_create(eng_context *context, uint32_t n_params, eng_graph **graph)
{
    if (context == NULL || graph == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_create" ENG_CAUSE "context or graph is NULL");
    if (n_params > ENG_MAX_PLAN_PARAMS)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_create" ENG_CAUSE "n_params must be at most %d, got %" PRIu32,
                        ENG_MAX_PLAN_PARAMS, n_params);
    eng_graph *g = calloc(1, sizeof *g);
    if (g == NULL)
        return eng_fail_code(EU_NO_MEMORY("a graph"));
    g->context = context;
    g->n_params = n_params;
    *graph = g;
    return ENG_OK;
}

void eng_graph_destroy(eng_graph *g)
{
    if (g == NULL)
        return;
    eu_arena_end(&g->arena);
    free(g->tensors);
    free(g->nodes);
    free(g->bindings);
    free(g);
}

/* -- tensors -------------------------------------------------------------------- */

static eng_value add_tensor(eng_graph *g, const eng_tensor *t)
{
    if (g->n_tensors >= INT32_MAX || !eu_reserve(g->tensors, g->tensor_room, (size_t)g->n_tensors + 1)) {
        graph_no_memory(g, "the tensors of a graph");
        return ENG_BAD_VALUE;
    }
    eng_value v = (eng_value)g->n_tensors++;
    g->tensors[v] = *t;
    if (t->root < 0)
        g->tensors[v].root = v;
    return v;
}

static eng_value bind(eng_graph *g, uint32_t slot, const eng_store *store, uint32_t index)
{
    const eng_store_tensor *from = eng_store_get(store, index);
    if (from == NULL) {
        graph_error(g, ENG_ERR_INVALID, "the tensor must be one of the store's, got number %" PRIu32, index);
        return ENG_BAD_VALUE;
    }
    eng_tensor t = {.size = sizeof t, .type = from->type, .rank = from->rank, .use = from->use, .root = -1,
                    .binding = (int32_t)g->n_bindings, .layout = store->layouts[index].layout};
    memcpy(t.ne, from->ne, sizeof t.ne);
    t.dims = eng_dims_copy(&g->arena, from->dims, from->rank);
    t.name = eu_arena_string(&g->arena, from->name);
    eng_reader *readers = eu_arena_alloc(&g->arena, from->n_readers * sizeof *readers);
    if (readers != NULL && from->n_readers > 0)
        memcpy(readers, from->readers, from->n_readers * sizeof *readers);
    if ((from->dims != NULL && t.dims == NULL) || t.name == NULL || readers == NULL ||
        !eu_reserve(g->bindings, g->binding_room, (size_t)g->n_bindings + 1)) {
        graph_no_memory(g, "the tensors of a graph");
        return ENG_BAD_VALUE;
    }
    if (!eng_tensor_layout(&t)) {
        graph_error(g, ENG_ERR_INVALID, "tensor %s" ENG_CAUSE "its extents must be of whole blocks and fit 63 bits",
                    from->name);
        return ENG_BAD_VALUE;
    }
    eng_value v = add_tensor(g, &t);
    if (v >= 0)
        g->bindings[g->n_bindings++] = (eng_graph_binding){
            .slot = slot, .tensor = index, .value = v, .store = store, .readers = readers, .n_readers = from->n_readers};
    return v;
}

eng_value eng_graph_tensor(eng_graph *g, uint32_t slot, const eng_store *store, uint32_t tensor)
{
    if (g == NULL) {
        eng_fail(ENG_ERR_INVALID, "eng_graph_tensor" ENG_CAUSE "the graph is NULL");
        return ENG_BAD_VALUE;
    }
    if (g->sealed) {
        eng_fail(ENG_ERR_STATE, "the graph is sealed: nothing can be added");
        return ENG_BAD_VALUE;
    }
    const char *wrong = store == NULL ? "the store is NULL"
        : slot > MOST_SLOT ? "slots are places in the array of stores that an instance is given: number them from 0"
        : store->device != NULL && store->device->context != g->context
            ? "the store is of another context than the graph: their axes have nothing in common" : NULL;
    if (wrong != NULL) {
        graph_error(g, ENG_ERR_INVALID, "eng_graph_tensor" ENG_CAUSE "%s", wrong);
        return ENG_BAD_VALUE;
    }
    for (uint32_t i = 0; i < g->n_bindings; i++) {
        if (g->bindings[i].slot != slot)
            continue;
        if (g->bindings[i].store != store) {
            graph_error(g, ENG_ERR_INVALID, "eng_graph_tensor" ENG_CAUSE
                        "slot %" PRIu32 " already is another store, that of tensor "
                        "%s: give each store a slot of its own", slot, g->tensors[g->bindings[i].value].name);
            return ENG_BAD_VALUE;
        }
        if (g->bindings[i].tensor == tensor)
            return g->bindings[i].value;
    }
    return bind(g, slot, store, tensor);
}

/* The binding that a value is kept in, its own or that of its copy; NULL: none. */
static const eng_graph_binding *kept_in(const eng_graph *g, eng_value value)
{
    for (uint32_t i = 0; i < g->n_bindings; i++)
        if (g->bindings[i].value == value || (g->bindings[i].slot == ENG_SLOT_KEPT && g->bindings[i].keeps == value))
            return &g->bindings[i];
    return NULL;
}

static uint32_t count_kept(const eng_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_bindings; i++)
        n += g->bindings[i].slot == ENG_SLOT_KEPT;
    return n;
}

int eng_graph_keep(eng_graph *g, eng_value value)
{
    const eng_tensor *from = eng_graph_get(g, value);
    if (g != NULL && g->sealed)
        return eng_fail(ENG_ERR_STATE,
                        "eng_graph_keep" ENG_CAUSE "the graph is sealed" ENG_ADVICE "keep values before");
    if (from == NULL)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_graph_keep" ENG_CAUSE "graph must not be NULL and value one of it, got %d", (int)value);
    if (kept_in(g, value) != NULL)
        return ENG_OK;
    eng_tensor t = {.size = sizeof t, .type = from->type, .rank = from->rank, .use = ENG_USE_OUTPUT, .root = -1,
                    .binding = (int32_t)g->n_bindings, .dims = from->dims, .name = from->name};
    memcpy(t.ne, from->ne, sizeof t.ne);
    if (!eng_tensor_layout(&t) || !eu_reserve(g->bindings, g->binding_room, (size_t)g->n_bindings + 1))
        return graph_no_memory(g, "the kept values of a graph");
    const uint32_t number = count_kept(g);
    const eng_value copy = add_tensor(g, &t);
    if (copy < 0)
        return g->status;
    g->bindings[g->n_bindings++] =
        (eng_graph_binding){.slot = ENG_SLOT_KEPT, .tensor = number, .value = copy, .keeps = value};
    const eng_value in[] = {copy, value};
    return eng_graph_op(g, ENG_OP_STORE, in, 2, NULL, 0, NULL, 0, NULL) >= 0 ? ENG_OK : g->status;
}

eng_value eng_graph_find(const eng_graph *g, const char *name)
{
    for (uint32_t i = g != NULL && name != NULL ? g->n_tensors : 0; i-- > 0;) {
        bool copy = g->tensors[i].binding >= 0 && g->bindings[g->tensors[i].binding].slot == ENG_SLOT_KEPT;
        if (!copy && strcmp(g->tensors[i].name, name) == 0)
            return (eng_value)i;
    }
    return ENG_NO_VALUE;
}

const eng_tensor *eng_graph_get(const eng_graph *g, eng_value value)
{
    return g != NULL && value >= 0 && (uint32_t)value < g->n_tensors ? &g->tensors[value] : NULL;
}

void eng_graph_name(eng_graph *g, eng_value value, const char *format, ...)
{
    char text[128];
    if (g == NULL || g->sealed || eng_graph_get(g, value) == NULL)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[eu_utf8_cut(text, strlen(text))] = 0;
    const char *name = eu_arena_string(&g->arena, text);
    if (name != NULL)
        g->tensors[value].name = name;
}

int eng_graph_set_axes(eng_graph *g, eng_value value, const eng_dim *dims, uint32_t rank)
{
    const eng_tensor *t = eng_graph_get(g, value);
    if (g != NULL && g->sealed)
        return eng_fail(ENG_ERR_STATE, "eng_graph_set_axes" ENG_CAUSE
                        "the graph is sealed: name axes before eng_graph_seal");
    if (t == NULL || rank > ENG_MAX_RANK || (rank > 0 && dims == NULL))
        return eng_fail(ENG_ERR_INVALID, "eng_graph_set_axes" ENG_CAUSE
                        "no such tensor, dims is NULL, or rank is more than %d",
                        ENG_MAX_RANK);
    eng_dim *kept = eu_arena_alloc(&g->arena, ENG_MAX_RANK * sizeof *kept);
    if (kept == NULL)
        return graph_no_memory(g, "the axes of a graph");
    for (uint32_t d = 0; d < rank; d++) {
        eng_dim_work w;
        if (!eng_dim_load(&w, &dims[d], t->ne[d]))
            return graph_error(g, ENG_ERR_INVALID, "the axes of dimension %" PRIu32 " of %s must multiply to its "
                               "extent %" PRId64, d, t->name, t->ne[d]);
        eng_dim_normalise(&w);
        if (!eng_dim_save(&g->arena, &w, &kept[d]))
            return graph_no_memory(g, "the axes of a graph");
    }
    g->tensors[value].dims = kept;
    g->tensors[value].rank = rank > t->rank ? rank : t->rank;
    return ENG_OK;
}

/* Does the axis stand in one of the value's dimensions? */
static bool has_axis(const eng_tensor *t, uint32_t axis)
{
    for (uint32_t d = 0; t->dims != NULL && d < t->rank; d++)
        for (uint32_t s = 0; s < t->dims[d].n_segments; s++)
            for (uint32_t i = 0; i < t->dims[d].segments[s].n_factors; i++)
                if (t->dims[d].segments[s].factors[i].axis == axis)
                    return true;
    return false;
}

/* For errors: an axis that nobody named has but its number. */
static const char *axis_text(const eng_graph *g, uint32_t axis, char text[AXIS_TEXT])
{
    const char *name = eng_axis_name(g->context, axis);
    if (name != NULL && *name)
        snprintf(text, AXIS_TEXT, "\"%.63s\"", name);
    else
        snprintf(text, AXIS_TEXT, "number %" PRIu32, axis);
    return text;
}

int eng_graph_place(eng_graph *g, eng_value value, const eng_placement *placement)
{
    const eng_tensor *t = eng_graph_get(g, value);
    char axis[AXIS_TEXT];
    if (g == NULL || placement == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_place" ENG_CAUSE "graph or placement is NULL");
    if (g->sealed)
        return eng_fail(ENG_ERR_STATE, "the graph is sealed" ENG_CAUSE
                        "%s cannot be placed any more, place values before "
                                       "eng_graph_seal", t != NULL ? t->name : "a value that it has not");
    if (t == NULL)
        return graph_error(g, ENG_ERR_INVALID, "the value to be placed must be one of the graph's, got value %" PRId32,
                           value);
    if (placement->kind > ENG_PLACE_SINGLE)
        return graph_error(g, ENG_ERR_INVALID, "%s" ENG_CAUSE "the placement's kind must be one of ENG_PLACE_*, got %"
                           PRIu32, t->name, placement->kind);
    if (placement->kind == ENG_PLACE_SHARDED && (placement->axis == ENG_AXIS_NONE || !has_axis(t, placement->axis)))
        return graph_error(g, ENG_ERR_INVALID, "%s" ENG_CAUSE "the axis that it is sharded along must stand in its "
                           "dimensions, got %s" ENG_ADVICE "name it with eng_graph_set_axes", t->name,
                           axis_text(g, placement->axis, axis));
    if (placement->kind == ENG_PLACE_PARTIAL && t->type != ENG_TYPE_F32)
        return graph_error(g, ENG_ERR_INVALID, "%s" ENG_CAUSE "a partial sum must be f32, got %s", t->name,
                           eng_tensor_type(t)->name);
    if (placement->kind == ENG_PLACE_SINGLE && (placement->device == NULL || placement->device[0] == 0))
        return graph_error(g, ENG_ERR_INVALID, "%s" ENG_CAUSE "the single device that it is kept on must be named",
                           t->name);
    const eng_placement *kept = placement->kind == ENG_PLACE_AUTO ? NULL : eng_placement_copy(&g->arena, placement);
    if (kept == NULL && placement->kind != ENG_PLACE_AUTO)
        return graph_no_memory(g, "a placement");
    g->tensors[value].place = kept;
    return ENG_OK;
}

/* -- nodes ------------------------------------------------------------------------ */

static int load_operands(eng_inference *f, eng_node *node, const eng_value *in, uint32_t n_in)
{
    if (n_in > 0 && in == NULL)
        return graph_error(f->graph, ENG_ERR_INVALID, "%s" ENG_CAUSE
                           "the array of %" PRIu32 " operands is NULL", f->info->name, n_in);
    if (n_in > f->info->n_in)
        return graph_error(f->graph, ENG_ERR_INVALID, "%s" ENG_CAUSE "there must be at most %d operands, got %" PRIu32,
                           f->info->name, f->info->n_in, n_in);
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        node->in[i] = i < n_in ? in[i] : ENG_NO_VALUE;
        if (node->in[i] == ENG_NO_VALUE)
            continue;
        if (node->in[i] < 0 && f->graph->status != ENG_OK)
            return graph_failed(f->graph->status, f->graph->error);
        f->in[i] = eng_graph_get(f->graph, node->in[i]);
        if (f->in[i] == NULL)
            return graph_error(f->graph, ENG_ERR_INVALID, "%s" ENG_CAUSE "operand %s must be a value of this graph, "
                               "got number %" PRId32, f->info->name, f->info->in[i].name, node->in[i]);
    }
    return ENG_OK;
}

static int infer(eng_inference *f)
{
    for (int o = 0; o < ENG_MAX_OUTPUTS; o++)
        f->out[o] = (eng_tensor){.size = sizeof f->out[o], .rank = 1, .root = -1, .binding = -1};
    int status = eng_infer_types(f);
    if (status == ENG_OK)
        status = eng_infer_shapes(f);
    if (status == ENG_OK)
        status = eng_infer_special(f);
    for (int o = 0; o < f->info->n_out && status == ENG_OK && !(f->info->flags & ENG_OPF_VIEW); o++)
        if (!f->absent[o] && !eng_tensor_layout(&f->out[o]))
            status = eng_graph_fail(f, "the result must be of whole blocks and fit 63 bits");
    if (status == ENG_OK)
        status = eng_infer_axes(f);
    return status;
}

/* Parameter arrays for what the op declares; more is a mistake of the caller. */
static int load_params(eng_graph *g, eng_node *node, const int64_t *ip, uint32_t n_ip, const double *fp, uint32_t n_fp)
{
    if (n_ip > ENG_MAX_IPARAMS || n_fp > ENG_MAX_FPARAMS)
        return graph_error(g, ENG_ERR_INVALID, "%s" ENG_CAUSE "there must be at most %d integer and %d other "
                           "parameters, got %" PRIu32 " and %" PRIu32, eng_op_get(node->op)->name, ENG_MAX_IPARAMS,
                           ENG_MAX_FPARAMS, n_ip, n_fp);
    if ((n_ip > 0 && ip == NULL) || (n_fp > 0 && fp == NULL))
        return graph_error(g, ENG_ERR_INVALID, "%s" ENG_CAUSE "its parameters are NULL", eng_op_get(node->op)->name);
    if (n_ip > 0)
        memcpy(node->ip, ip, n_ip * sizeof *ip);
    if (n_fp > 0)
        memcpy(node->fp, fp, n_fp * sizeof *fp);
    return ENG_OK;
}

/* Are they of one owner, or of owners that are the same tensor of a store, which stands in two slots? */
static bool in_one_memory(const eng_graph *g, const eng_tensor *a, const eng_tensor *b)
{
    const int32_t x = g->tensors[a->root].binding, y = g->tensors[b->root].binding;
    return a->root == b->root || (x >= 0 && y >= 0 && g->bindings[x].store != NULL &&
                                  g->bindings[x].store == g->bindings[y].store &&
                                  g->bindings[x].tensor == g->bindings[y].tensor);
}

/* An operand that may share bytes with one that is written becomes a copy of its own: devices write some rows before they
 * have read others. */
static bool part_operands(const eng_inference *f, eng_node *node)
{
    for (int w = 0; w < f->info->n_in; w++)
        for (int i = 0; i < f->info->n_in && f->info->in[w].inout; i++) {
            const eng_tensor *written = eng_graph_get(f->graph, node->in[w]);
            const eng_tensor *read = eng_graph_get(f->graph, node->in[i]);
            if (i == w || f->info->in[i].inout || read == NULL || !in_one_memory(f->graph, written, read) ||
                !eng_tensors_meet(written, read))
                continue;
            const int64_t type = read->type;
            node->in[i] = eng_graph_op(f->graph, ENG_OP_CPY, &node->in[i], 1, &type, 1, NULL, 0, NULL);
            if (node->in[i] < 0)
                return false;
        }
    return true;
}

static eng_value add_node(eng_inference *f, eng_node *node, eng_value *out)
{
    eng_graph *g = f->graph;
    char name[64];
    int n_out = f->info->n_out;
    snprintf(name, sizeof name, "%s#%" PRIu32, f->info->name, g->n_nodes);
    node->name = eu_arena_string(&g->arena, name);
    if (node->name == NULL || !eu_reserve(g->nodes, g->node_room, (size_t)g->n_nodes + 1)) {
        graph_no_memory(g, "the nodes of a graph");
        return ENG_BAD_VALUE;
    }
    for (int o = 0; o < ENG_MAX_OUTPUTS; o++) {
        node->out[o] = ENG_NO_VALUE;
        if (out != NULL && o < n_out)
            out[o] = ENG_NO_VALUE;
        if (o >= n_out || f->absent[o])
            continue;
        f->out[o].name = node->name;
        node->out[o] = add_tensor(g, &f->out[o]);
        if (node->out[o] < 0)
            return ENG_BAD_VALUE;
        if (out != NULL)
            out[o] = node->out[o];
    }
    g->nodes[g->n_nodes++] = *node;
    return n_out > 0 ? node->out[0] : node->in[0];
}

eng_value eng_graph_op(eng_graph *g, uint32_t op, const eng_value *in, uint32_t n_in, const int64_t *ip, uint32_t n_ip,
                       const double *fp, uint32_t n_fp, eng_value *out)
{
    eng_inference f = {.graph = g, .info = eng_op_get(op)};
    eng_node node = {.size = sizeof node, .op = op};
    if (g == NULL || g->sealed || f.info == NULL) {
        if (g == NULL)
            eng_fail(ENG_ERR_INVALID, "the graph is NULL: nothing can be added");
        else if (g->sealed)
            eng_fail(ENG_ERR_STATE, "the graph is sealed: nothing can be added");
        else
            graph_error(g, ENG_ERR_INVALID, "the op must be one of ENG_OP_*, got number %" PRIu32, op);
        return ENG_BAD_VALUE;
    }
    f.node = &node;
    node.precision = f.info->flags & ENG_OPF_PRECISION ? g->precision : ENG_PRECISION_EXACT;
    if (load_operands(&f, &node, in, n_in) != ENG_OK || load_params(g, &node, ip, n_ip, fp, n_fp) != ENG_OK)
        return ENG_BAD_VALUE;
    if (infer(&f) != ENG_OK) {
        if (g->status == ENG_OK)
            graph_no_memory(g, "the shape of a node");
        return ENG_BAD_VALUE;
    }
    return part_operands(&f, &node) ? add_node(&f, &node, out) : ENG_BAD_VALUE;
}

int eng_graph_precision(eng_graph *g, eng_precision precision)
{
    if (g == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_precision" ENG_CAUSE "graph is NULL");
    if (g->sealed)
        return eng_fail(ENG_ERR_STATE, "eng_graph_precision" ENG_CAUSE "the graph is sealed" ENG_ADVICE
                        "ask for a precision before the products are added");
    if ((uint32_t)precision >= ENG_PRECISIONS)
        return graph_error(g, ENG_ERR_INVALID, "precision must be exact (0) or fast (1), got %u", (unsigned)precision);
    g->precision = precision;
    return ENG_OK;
}

const char *eng_precision_name(uint32_t precision)
{
    return eu_precision_name(precision);
}

/* -- taking back --------------------------------------------------------------------- */

eng_mark eng_graph_mark(const eng_graph *g)
{
    if (g == NULL)
        return (eng_mark){UINT32_MAX, UINT32_MAX, UINT32_MAX, ENG_ERR_INVALID};
    return (eng_mark){g->n_tensors, g->n_nodes, g->n_bindings, g->status};
}

int eng_graph_undo(eng_graph *g, eng_mark mark)
{
    if (g == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_undo" ENG_CAUSE "graph is NULL");
    if (g->sealed)
        return eng_fail(ENG_ERR_STATE, "eng_graph_undo" ENG_CAUSE "the graph is sealed: nothing can be taken back");
    if (mark.n_tensors > g->n_tensors || mark.n_nodes > g->n_nodes || mark.n_bindings > g->n_bindings)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_graph_undo" ENG_CAUSE "the graph has %" PRIu32 " tensors and %" PRIu32 " nodes, the mark "
                        "%" PRIu32 " and %" PRIu32 ": it is of another graph, or was undone before",
                        g->n_tensors, g->n_nodes, mark.n_tensors, mark.n_nodes);
    g->n_tensors = mark.n_tensors;
    g->n_nodes = mark.n_nodes;
    g->n_bindings = mark.n_bindings;
    if (mark.status == ENG_OK) {
        g->status = ENG_OK;
        g->error[0] = 0;
    }
    return ENG_OK;
}

/* -- sealing ------------------------------------------------------------------------ */

int eng_graph_seal(eng_graph *g)
{
    if (g == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_seal" ENG_CAUSE "graph is NULL");
    if (g->sealed)
        return ENG_OK;
    if (g->status != ENG_OK)
        return graph_failed(g->status, g->error);
    g->binding_tensor = eu_arena_alloc(&g->arena, (g->n_bindings ? g->n_bindings : 1) * sizeof *g->binding_tensor);
    if (g->binding_tensor == NULL)
        return eng_fail_code(EU_NO_MEMORY("sealing a graph"));
    for (uint32_t i = 0; i < g->n_bindings; i++)
        g->binding_tensor[i] = g->bindings[i].value;
    g->view = (eng_subgraph){
        .size = sizeof g->view,
        .n_tensors = g->n_tensors,
        .n_nodes = g->n_nodes,
        .n_bindings = g->n_bindings,
        .n_sections = 1,
        .n_params = g->n_params,
        .tensors = g->tensors,
        .tensor_stride = sizeof *g->tensors,
        .nodes = g->nodes,
        .node_stride = sizeof *g->nodes,
        .binding_tensor = g->binding_tensor,
    };
    g->sealed = true;
    return ENG_OK;
}

const eng_subgraph *eng_graph_view(const eng_graph *g)
{
    return g != NULL && g->sealed ? &g->view : NULL;
}
