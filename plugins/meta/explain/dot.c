/*
 * A report as a drawing: a box for every node of every rank, coloured by rank, an
 * octagon for every exchange, arrows along the data.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

/* Light enough for black text, and told apart by most eyes. */
static const char *const colours[META_MAX_RANKS] = {
    "#a6cee3", "#fdbf6f", "#b2df8a", "#cab2d6", "#fb9a99", "#ffff99", "#d9d9d9", "#ccebc5",
    "#bebada", "#fccde5", "#8dd3c7", "#fdd0a2", "#c6dbef", "#e5d8bd", "#dadaeb", "#f2f0f7",
};

/* Where the data of a tensor come from: a node of the rank or an exchange; -1: bound, not written yet. */
typedef struct source {
    int32_t node, exchange;
} source;

static void node_id(const meta_report *report, uint32_t rank, int32_t node)
{
    meta_say(report, "p%u_r%u_n%d", (unsigned)report->number, (unsigned)rank, (int)node);
}

static void exchange_id(const meta_report *report, int32_t exchange)
{
    meta_say(report, "p%u_x%d", (unsigned)report->number, (int)exchange);
}

static void arrow(const meta_report *report, uint32_t rank, const source *from, int32_t node, int32_t exchange)
{
    if (from->node < 0 && from->exchange < 0)
        return;
    meta_say_text(report, "  ");
    if (from->exchange >= 0)
        exchange_id(report, from->exchange);
    else
        node_id(report, rank, from->node);
    meta_say_text(report, " -> ");
    if (exchange >= 0)
        exchange_id(report, exchange);
    else
        node_id(report, rank, node);
    meta_say(report, exchange >= 0 || from->exchange >= 0 ? " [penwidth=2,color=\"%s\"];\n" : ";\n", "#444444");
}

/* A value's shape on the rank: 256x1. */
static void shape_text(const eng_tensor *t, char *text, size_t size)
{
    size_t at = 0;

    text[0] = 0;
    for (uint32_t d = 0; d < t->rank && at < size; d++)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, d ? "x" : "", t->ne[d]);
}

/* The op, the node's name, the tensors of stores that it uses, the result's shape. */
static void node_box(const meta_report *report, uint32_t rank, const eng_subgraph *g, int32_t index)
{
    const eng_node *n = eng_subgraph_node(g, (uint32_t)index);
    const eng_op_info *op = meta_op_info(report->device, n->op);
    const char *name = op ? op->name : "?";
    char shape[96];

    meta_say_text(report, "  ");
    node_id(report, rank, index);
    meta_say(report, " [fillcolor=\"%s\",label=\"", colours[rank]);
    if (strncmp(n->name, name, strlen(name)) != 0) /* not "mul_mat#12" */
        meta_say(report, "%s  ", name);
    meta_say_label(report, n->name);
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        const eng_tensor *t = n->in[i] >= 0 ? eng_subgraph_tensor(g, n->in[i]) : NULL;
        const eng_tensor *root = t ? eng_subgraph_tensor(g, t->root) : NULL;
        bool again = !root || root->binding < 0;
        for (uint32_t k = 0; k < i && !again; k++)
            again = n->in[k] >= 0 && eng_subgraph_tensor(g, n->in[k])->root == t->root;
        if (again)
            continue;
        meta_say_text(report, "\\n");
        meta_say_label(report, root->name);
    }
    if (n->out[0] >= 0) {
        shape_text(eng_subgraph_tensor(g, n->out[0]), shape, sizeof shape);
        meta_say(report, "%s%s", shape[0] ? "\\n" : "", shape);
    }
    if (n->precision != ENG_PRECISION_EXACT)
        meta_say(report, "\\n%s", eu_precision_name(n->precision));
    meta_say_text(report, "\"];\n");
}

static void write_to(const eng_subgraph *g, source *from, int32_t tensor, source by)
{
    if (tensor >= 0)
        from[eng_subgraph_tensor(g, tensor)->root] = by;
}

/* The boxes and arrows of one rank; its exchanges stand in the order of its stops. */
static void rank_graph(const meta_report *report, uint32_t rank)
{
    const meta_part *part = &report->v->parts[rank];
    const eng_subgraph *g = part->placed;
    source *from = malloc((g->n_tensors + 1u) * sizeof *from);
    uint32_t stop = 0;

    for (uint32_t i = 0; from && i < g->n_tensors; i++)
        from[i] = (source){-1, -1};
    for (uint32_t k = 0; from && k < g->n_nodes; k++) {
        const eng_node *n = eng_subgraph_node(g, k);
        const eng_op_info *op = meta_op_info(report->device, n->op);
        bool extern_ = n->op == ENG_OP_EXTERN && stop < part->n_stops;
        int32_t exchange = extern_ ? (int32_t)part->stops[stop++].exchange : -1;
        if (op && op->flags & ENG_OPF_VIEW)
            continue;
        if (!extern_)
            node_box(report, rank, g, (int32_t)k);
        for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
            int32_t root = n->in[i] >= 0 ? eng_subgraph_tensor(g, n->in[i])->root : -1;
            bool again = root < 0;
            for (uint32_t j = 0; j < i && !again; j++)
                again = n->in[j] >= 0 && eng_subgraph_tensor(g, n->in[j])->root == root;
            if (!again)
                arrow(report, rank, &from[root], (int32_t)k, exchange);
        }
        source by = exchange >= 0 ? (source){-1, exchange} : (source){(int32_t)k, -1};
        for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
            write_to(g, from, n->out[i], by);
        for (uint32_t i = 0; op && i < op->n_in; i++)
            if (op->in[i].inout)
                write_to(g, from, n->in[i], by);
    }
    free(from);
}

static void exchange_box(const meta_report *report, uint32_t index)
{
    const meta_exchange *e = report->v->exchanges[index];
    meta_way way = meta_exchange_way(report, e);

    meta_say_text(report, "  ");
    exchange_id(report, (int32_t)index);
    meta_say(report, " [shape=octagon,fillcolor=\"%s\",penwidth=2,label=\"%s\\n",
             meta_exchange_single(e) ? "#ffcccc" : "white", way.kind);
    meta_say_label(report, e->name);
    meta_say(report, "\\n%" PRIu64 " bytes, %" PRIu64 " sent\"];\n", e->bytes, meta_exchange_sent(e));
}

static void legend(const meta_report *report)
{
    for (uint32_t r = 0; r < report->v->n_ranks; r++) {
        if (!(report->ranks >> r & 1u))
            continue;
        meta_say(report, "  p%u_r%u [shape=box,style=\"filled,rounded\",fontsize=16,fillcolor=\"%s\",label=\"",
                 (unsigned)report->number, (unsigned)r, colours[r]);
        meta_say_label(report, meta_say_rank(report, r));
        meta_say(report, "\\n%s\"];\n", report->device->ranks[r].guest ? "guest" : "");
    }
}

void meta_explain_dot(const meta_report *report)
{
    if (report->number == 0)
        meta_say_text(report, "digraph plan {\n  node [shape=box,style=filled,fontname=\"sans-serif\",fontsize=10];\n"
                              "  edge [color=\"#888888\"];\n  ranksep=0.25;\n  nodesep=0.15;\n");
    if (report->v) {
        legend(report);
        for (uint32_t i = 0; i < report->v->n_exchanges; i++)
            exchange_box(report, i);
        for (uint32_t r = 0; r < report->v->n_ranks; r++)
            if (report->v->parts[r].placed)
                rank_graph(report, r);
    }
    if (report->number + 1 >= report->count)
        meta_say_text(report, "}\n");
}
