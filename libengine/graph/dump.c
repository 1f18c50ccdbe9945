/* Graphs as text and in graphviz's dot language. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"

typedef struct writer {
    const eng_graph *g;
    eng_emit_func emit;
    void *ctx;
    bool dot; /* the dot language, else text */
} writer;

static void put(const writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const writer *w, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->emit(w->ctx, text);
}

/* Length of the well-formed UTF-8 character at s (Unicode, table 3-7); 0: there is none. */
static size_t character(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/*
 * A name of any length and from anywhere: what is no character, and what would end the line,
 * becomes '?'; in a label of the dot language, what would end that is escaped.
 */
static void put_name(const writer *w, const char *name)
{
    char text[2 * 64 + 1];
    const unsigned char *s = (const unsigned char *)name;
    while (*s != 0) {
        size_t n = 0;
        while (*s != 0 && n + 4 < sizeof text) {
            size_t length = character(s);
            if (w->dot && (*s == '"' || *s == '\\'))
                text[n++] = '\\';
            if (length == 0 || *s < 0x20 || *s == 0x7f)
                text[n++] = '?';
            else
                for (size_t i = 0; i < length; i++)
                    text[n++] = (char)s[i];
            s += length ? length : 1;
        }
        text[n] = 0;
        w->emit(w->ctx, text);
    }
}

static void put_dim(const writer *w, const eng_tensor *t, uint32_t d)
{
    put(w, "%s%" PRId64, d ? ", " : "", t->ne[d]);
    if (t->dims == NULL || t->dims[d].n_segments == 0)
        return;
    for (uint32_t s = 0; s < t->dims[d].n_segments; s++) {
        const eng_segment *segment = &t->dims[d].segments[s];
        put(w, "%s", s ? "|" : "{");
        for (uint32_t i = 0; i < segment->n_factors; i++) {
            const char *axis = eng_axes_name(&eng_base_of(w->g->context)->axes, segment->factors[i].axis);
            put(w, "%s", i ? "*" : "");
            put_name(w, axis);
            put(w, "%s%" PRId64, *axis ? ":" : "", segment->factors[i].extent);
        }
    }
    put(w, "}");
}

static void put_shape(const writer *w, const eng_tensor *t)
{
    put(w, "%s[", eng_tensor_type(t)->name);
    for (uint32_t d = 0; d < t->rank; d++)
        put_dim(w, t, d);
    put(w, "]");
}

static void put_params(const writer *w, const eng_op_info *info, const eng_node *n)
{
    for (int i = 0; i < info->n_params; i++) {
        const eng_param_info *p = &info->param[i];
        put(w, " %s=", p->name);
        for (int k = 0; k < p->count; k++)
            if (p->is_float) {
                char number[32];
                eu_real(number, sizeof number, 'g', 6, n->fp[p->first + k]);
                put(w, "%s%s", k ? "," : "", number);
            } else {
                put(w, "%s%" PRId64, k ? "," : "", n->ip[p->first + k]);
            }
    }
}

static void text_node(const writer *w, const eng_node *n)
{
    const eng_op_info *info = eng_op_get(n->op);
    put(w, "  ");
    for (int o = 0; o < info->n_out && n->out[o] >= 0; o++)
        put(w, "%s%%%" PRId32, o ? ", " : "", n->out[o]);
    put(w, "%s%s(", info->n_out ? " = " : "", info->name);
    for (int i = 0; i < info->n_in; i++)
        if (n->in[i] >= 0)
            put(w, "%s%s=%%%" PRId32, i ? ", " : "", info->in[i].name, n->in[i]);
    put(w, ")");
    put_params(w, info, n);
    if (n->precision != ENG_PRECISION_EXACT)
        put(w, " %s", eng_precision_name(n->precision));
    if (info->n_out > 0) {
        const eng_tensor *t = &w->g->tensors[n->out[0]];
        put(w, "  -> ");
        put_shape(w, t);
        if (strcmp(t->name, n->name) != 0) {
            put(w, "  ; ");
            put_name(w, t->name);
        }
    }
    put(w, "\n");
}

static void dump_text(const writer *w)
{
    const eng_graph *g = w->g;
    put(w, "graph: %" PRIu32 " nodes, %" PRIu32 " tensors, %" PRIu32 " bound, %" PRIu32 " parameters\n", g->n_nodes,
        g->n_tensors, g->n_bindings, g->n_params);
    for (uint32_t i = 0; i < g->n_bindings; i++) {
        const eng_tensor *t = &g->tensors[g->bindings[i].value];
        put(w, "  %%%" PRId32 " = bound ", g->bindings[i].value);
        put_shape(w, t);
        put(w, "  ; ");
        put_name(w, t->name);
        put(w, "\n");
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        text_node(w, &g->nodes[i]);
}

static void dump_dot(const writer *w)
{
    const eng_graph *g = w->g;
    put(w, "digraph engine {\n  rankdir=TB; node [shape=box, fontname=\"monospace\", fontsize=10];\n");
    for (uint32_t i = 0; i < g->n_bindings; i++) {
        const eng_tensor *t = &g->tensors[g->bindings[i].value];
        put(w, "  t%" PRId32 " [style=filled, fillcolor=lightgrey, label=\"", g->bindings[i].value);
        put_name(w, t->name);
        put(w, "\\n");
        put_shape(w, t);
        put(w, "\"];\n");
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_node *n = &g->nodes[i];
        const eng_op_info *info = eng_op_get(n->op);
        put(w, "  n%" PRIu32 " [%slabel=\"%s", i, info->flags & ENG_OPF_VIEW ? "style=dashed, " : "", info->name);
        put_params(w, info, n);
        if (info->n_out > 0) {
            put(w, "\\n");
            put_shape(w, &g->tensors[n->out[0]]);
        }
        put(w, "\"];\n");
        for (int k = 0; k < info->n_in; k++) {
            if (n->in[k] < 0)
                continue;
            uint32_t from = i;
            while (from > 0 && (g->nodes[from - 1].out[0] != n->in[k] || eng_op_get(g->nodes[from - 1].op)->n_out == 0))
                from--;
            if (from > 0)
                put(w, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"%s\"];\n", from - 1, i, info->in[k].name);
            else
                put(w, "  t%" PRId32 " -> n%" PRIu32 " [label=\"%s\"%s];\n", n->in[k], i, info->in[k].name,
                    info->in[k].inout ? ", dir=both" : "");
        }
    }
    put(w, "}\n");
}

int eng_graph_dump(const eng_graph *graph, eng_explain_format format, eng_emit_func emit, void *ctx)
{
    if (graph == NULL || emit == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_graph_dump" ENG_CAUSE "graph or emit is NULL");
    if (format != ENG_EXPLAIN_TEXT && format != ENG_EXPLAIN_GRAPHVIZ)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "eng_graph_dump" ENG_CAUSE "a graph is written as text or graphviz, not in format %d",
                        (int)format);
    writer w = {graph, emit, ctx, format == ENG_EXPLAIN_GRAPHVIZ};
    if (format == ENG_EXPLAIN_GRAPHVIZ)
        dump_dot(&w);
    else
        dump_text(&w);
    return ENG_OK;
}
