/* A report for people: tables in which equal layers and equal exchanges are one line. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

#define WIDTH 118 /* of a line, where names allow it */

static const char *size_text(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    unsigned u = 0;

    for (; v >= 1024 && u < 4; u++)
        v /= 1024;
    snprintf(text, size, u && v < 100 ? "%.1f %s" : "%.0f %s", v, units[u]);
    return text;
}

static const char *time_text(double ns, char *text, size_t size)
{
    snprintf(text, size, ns < 1e6 ? "%.1f us" : "%.2f ms", ns < 1e6 ? ns / 1e3 : ns / 1e6);
    return text;
}

/* "all", or the names. */
static void say_ranks(const meta_report *report, uint32_t ranks)
{
    meta_names names = {NULL, 0, 0, false};

    if (ranks == report->device->main_mask && meta_several(ranks)) {
        meta_say_text(report, "all");
        return;
    }
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        if (ranks >> r & 1u)
            meta_names_add(&names, meta_say_rank(report, r));
    meta_names_say(report, &names, 0, 0, UINT32_MAX);
    meta_names_end(&names);
}

/* -- devices ------------------------------------------------------------------------- */

static void head(const meta_report *report)
{
    const meta_variant *v = report->v;
    uint32_t n = (uint32_t)__builtin_popcount(report->ranks), on_shards = v->n_run[META_SHARDED];
    char t[2][32];

    if (report->count > 1)
        meta_say(report, "%splacement %u of %u\n", report->number ? "\n" : "", (unsigned)report->number + 1,
                 (unsigned)report->count);
    meta_say_text(report, report->device->name);
    meta_say(report, ": %u device%s; %u node%s on shards, %u giving partial sums, %u on every device, %u on one; "
                     "precision: %s\n", (unsigned)n, n == 1 ? "" : "s", (unsigned)on_shards, on_shards == 1 ? "" : "s",
             (unsigned)v->n_run[META_PARTIAL], (unsigned)v->n_run[META_REPLICATED], (unsigned)v->n_run[META_SINGLE],
             eu_precision_text(report->graph, t[0], sizeof t[0]));
    meta_say(report, "%u exchange%s a run", (unsigned)v->n_exchanges, v->n_exchanges == 1 ? "" : "s");
    if (report->n_meetings < v->n_exchanges)
        meta_say(report, " in %u meeting%s", (unsigned)report->n_meetings, report->n_meetings == 1 ? "" : "s");
    meta_say(report, ": %s sent by all, %s as the planner prices %s\n", size_text(report->sent, t[0], sizeof t[0]),
             time_text(report->price, t[1], sizeof t[1]), v->n_exchanges == 1 ? "it" : "them");
}

static void device_row(const meta_report *report, const char *name, const char *share, const meta_rank_facts *f)
{
    char t[8][32];

    meta_say(report, "%-14s %7s %6u %9u %10s %11s %10s %10s %10s %10s %10s %10s\n", name, share,
             (unsigned)f->n_nodes, (unsigned)f->n_sections,
             size_text(f->bytes[META_BYTES_WEIGHTS], t[0], sizeof t[0]), size_text(f->replicated, t[1], sizeof t[1]),
             size_text(f->bytes[META_BYTES_CACHE], t[2], sizeof t[2]),
             size_text(f->bytes[META_BYTES_STATE], t[3], sizeof t[3]),
             size_text(f->bytes[META_BYTES_IO], t[4], sizeof t[4]), size_text(f->scratch, t[5], sizeof t[5]),
             size_text(f->sent, t[6], sizeof t[6]), size_text(f->taken, t[7], sizeof t[7]));
}

static void devices(const meta_report *report)
{
    meta_say(report, "\n%-14s %7s %6s %9s %10s %11s %10s %10s %10s %10s %10s %10s\n", "device", "share", "nodes",
             "sections", "weights", "replicated", "caches", "states", "in/out", "scratch", "sent/run", "taken/run");
    for (uint32_t r = 0; r < report->v->n_ranks; r++) {
        char share[16] = "guest";
        if (!(report->ranks >> r & 1u))
            continue;
        if (!report->device->ranks[r].guest)
            snprintf(share, sizeof share, "%.1f%%", 100 * report->device->ranks[r].share);
        device_row(report, meta_say_rank(report, r), share, &report->rank[r]);
    }
}

/* What in the scratch memory does not shrink with the share. */
static void scratch(const meta_report *report)
{
    uint32_t most = 0;
    char t[4][32];

    for (uint32_t r = 1; r < report->v->n_ranks; r++)
        if (report->rank[r].peak.total > report->rank[most].peak.total)
            most = r;
    const meta_peak *p = &report->rank[most].peak;
    if (!p->node)
        return;
    meta_say(report, "\nscratch is fullest on %s, at ", meta_say_rank(report, most));
    meta_say_name(report, p->node);
    meta_say(report, ": %s of shards, %s of partial sums, %s of whole values, %s on this device alone\n",
             size_text(p->by_kind[META_SHARDED], t[0], sizeof t[0]),
             size_text(p->by_kind[META_PARTIAL], t[1], sizeof t[1]),
             size_text(p->by_kind[META_REPLICATED], t[2], sizeof t[2]),
             size_text(p->by_kind[META_SINGLE], t[3], sizeof t[3]));
}

/* -- bound tensors ---------------------------------------------------------------------- */

#define TENSOR_COLUMNS 51 /* before the names */

static const eng_tensor *bound(const meta_report *report, uint32_t binding)
{
    return eng_subgraph_tensor(report->graph, report->graph->binding_tensor[binding]);
}

/* Do two tensors share a line? */
static bool same_line(const meta_report *report, uint32_t a, uint32_t b)
{
    const meta_place *x = &report->v->places[a], *y = &report->v->places[b];
    const char *why = report->v->why[a], *other = report->v->why[b];

    if ((bound(report, a)->use & ENG_USE_MASK) != (bound(report, b)->use & ENG_USE_MASK) || x->kind != y->kind)
        return false;
    if (x->kind == META_SHARDED)
        return x->cut.part == y->cut.part && x->cut.dim == y->cut.dim;
    if (x->kind == META_SINGLE)
        return x->rank == y->rank;
    return (!why && !other) || (why && other && strcmp(why, other) == 0);
}

#define FEW_UNITS 14 /* characters that the column has for the units of each */

/* "2 x 512", or what each has; of many, the least and the most. */
static void units_text(const meta_report *report, const meta_partition *p, char *text, size_t size)
{
    uint32_t n = report->device->n_leaves;
    int64_t least = meta_part_length(p, 0), most = least;
    size_t at = 0;

    for (uint32_t r = 1; r < n; r++) {
        int64_t length = meta_part_length(p, r);
        least = length < least ? length : least;
        most = length > most ? length : most;
    }
    if (least == most) {
        snprintf(text, size, "%u x %" PRId64, (unsigned)n, meta_part_length(p, 0));
        return;
    }
    for (uint32_t r = 0; r < n && at < size; r++)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, r ? "+" : "", meta_part_length(p, r));
    if (at > FEW_UNITS)
        snprintf(text, size, "%u x %" PRId64 "..%" PRId64, (unsigned)n, least, most);
}

static void place_text(const meta_report *report, uint32_t binding, char *text, size_t size)
{
    const meta_place *place = &report->v->places[binding];
    const char *why = report->v->why[binding];
    char units[200];

    switch (place->kind) {
    case META_SHARDED:
        units_text(report, place->cut.part, units, sizeof units);
        snprintf(text, size, "%s, dim %u: %s%s%s", meta_say_axis(report, place->cut.part->axis),
                 (unsigned)place->cut.dim, units, why ? "; " : "", why ? why : "");
        break;
    case META_SINGLE:
        snprintf(text, size, "on %s", meta_say_rank(report, place->rank));
        break;
    default:
        snprintf(text, size, "replicated%s%s", why ? ": " : "", why ? why : "");
        break;
    }
}

static void tensor_line(const meta_report *report, uint32_t first, bool *said)
{
    meta_names names = {NULL, 0, 0, false};
    uint64_t bytes = 0;
    char place[256], size[32], line[400];

    for (uint32_t b = first; b < report->graph->n_bindings; b++) {
        if (said[b] || !same_line(report, first, b))
            continue;
        said[b] = true;
        meta_names_add(&names, bound(report, b)->name);
        for (uint32_t r = 0; r < report->v->n_ranks && report->v->first[b] == b; r++)
            bytes += meta_bytes_on(report, bound(report, b), &report->v->places[b], r);
    }
    place_text(report, first, place, sizeof place);
    int length = snprintf(line, sizeof line, "%-7s %10s  %-30s", meta_say_use(bound(report, first)->use),
                          size_text(bytes, size, sizeof size), place);
    meta_say_name(report, line);
    bool below = length > TENSOR_COLUMNS - 1;
    meta_say(report, "%s%*s", below ? "\n" : "", below ? TENSOR_COLUMNS : TENSOR_COLUMNS - length, "");
    meta_names_say(report, &names, TENSOR_COLUMNS, TENSOR_COLUMNS, WIDTH);
    meta_say_text(report, "\n");
    meta_names_end(&names);
}

static void tensors(const meta_report *report)
{
    bool *said = calloc(report->graph->n_bindings + 1u, sizeof *said);

    meta_say(report, "\n%-7s %10s  %-30s %s\n", "tensors", "bytes", "split along, units of each", "names");
    for (uint32_t use = ENG_USE_WEIGHT; said && use <= ENG_USE_OUTPUT; use++)
        for (uint32_t b = 0; b < report->graph->n_bindings; b++)
            if (!said[b] && (bound(report, b)->use & ENG_USE_MASK) == use)
                tensor_line(report, b, said);
    free(said);
}

/* -- exchanges ---------------------------------------------------------------------------- */

#define VALUE_INDENT 6 /* the names stand below */

static bool same_exchange(const meta_exchange *a, const meta_exchange *b)
{
    return a->from == b->from && a->to == b->to && a->sources == b->sources && a->targets == b->targets &&
           a->bytes == b->bytes && memcmp(a->sent, b->sent, sizeof a->sent) == 0;
}

static void exchange_line(const meta_report *report, uint32_t first, bool *said)
{
    const meta_variant *v = report->v;
    const meta_exchange *e = v->exchanges[first];
    meta_way way = meta_exchange_way(report, e);
    meta_names names = {NULL, 0, 0, false};
    uint32_t times = 0;
    char t[3][32];

    for (uint32_t i = first; i < v->n_exchanges; i++) {
        if (said[i] || !same_exchange(e, v->exchanges[i]))
            continue;
        said[i] = true;
        times++;
        meta_names_add(&names, v->exchanges[i]->name);
    }
    meta_say(report, "%3u x %-14s %9s %9s %10s  %-25s %-13s ", (unsigned)times, way.kind,
             size_text(e->bytes, t[0], sizeof t[0]), size_text(meta_exchange_sent(e), t[1], sizeof t[1]),
             time_text(way.price, t[2], sizeof t[2]), way.algorithm, way.path);
    say_ranks(report, e->sources);
    if (e->sources != e->targets) {
        meta_say_text(report, " > ");
        say_ranks(report, e->targets);
    }
    meta_say(report, "\n%*s", VALUE_INDENT, "");
    meta_names_say(report, &names, VALUE_INDENT, VALUE_INDENT, WIDTH);
    meta_say_text(report, "\n");
    meta_names_end(&names);
}

static void exchanges(const meta_report *report)
{
    bool *said = calloc(report->v->n_exchanges + 1u, sizeof *said);

    if (report->v->n_exchanges)
        meta_say(report, "\n%3s   %-14s %9s %9s %10s  %-25s %-13s %s\n", "", "exchange", "value", "sent", "price",
                 "algorithm", "path", "between");
    for (uint32_t i = 0; said && i < report->v->n_exchanges; i++)
        if (!said[i])
            exchange_line(report, i, said);
    free(said);
}

/* Values that the graph's author has placed. */
static void forced(const meta_report *report)
{
    static const char *const kinds[] = {[ENG_PLACE_REPLICATED] = "on every device", [ENG_PLACE_SHARDED] = "split along",
                                        [ENG_PLACE_PARTIAL] = "as addends", [ENG_PLACE_SINGLE] = "on"};
    for (uint32_t i = 0; i < report->graph->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(report->graph, (int32_t)i);
        const eng_placement *p = meta_wished(t); /* of a kind that there is: else there were no plan */
        if (!p)
            continue;
        meta_say_text(report, "placed by the graph: ");
        meta_say_name(report, t->name);
        meta_say(report, " %s%s", kinds[p->kind],
                 p->kind == ENG_PLACE_SHARDED || p->kind == ENG_PLACE_SINGLE ? " " : "");
        meta_say_name(report, p->kind == ENG_PLACE_SHARDED  ? meta_say_axis(report, p->axis)
                              : p->kind == ENG_PLACE_SINGLE ? p->device
                                                            : "");
        meta_say_text(report, "\n");
    }
}

/* What the host's wish to keep tensors on one device costs. */
static void moved(const meta_report *report)
{
    size_t column = 0;

    for (uint32_t s = 0; s < META_MAX_RANKS; s++) {
        for (uint32_t t = 0; t < META_MAX_RANKS; t++) {
            char size[32], pair[200];
            if (!report->moved[s][t])
                continue;
            size_t n = (size_t)snprintf(pair, sizeof pair, "%s > %s %s", meta_say_rank(report, s),
                                        meta_say_rank(report, t), size_text(report->moved[s][t], size, sizeof size));
            if (column == 0)
                meta_say_text(report, "\nmoved in a run because a tensor or a node is on one device:\n  ");
            else
                meta_say_text(report, column + n > WIDTH ? ",\n  " : ", ");
            meta_say_text(report, pair);
            column = column == 0 || column + n > WIDTH ? n + 4 : column + n + 2;
        }
    }
    if (column)
        meta_say_text(report, "\n");
}

/* Nodes whose result need not be exact. */
static void fast(const meta_report *report)
{
    meta_names names = {NULL, 0, 0, false};

    for (uint32_t i = 0; i < report->graph->n_nodes; i++) {
        const eng_node *n = eng_subgraph_node(report->graph, i);
        if (n->precision != ENG_PRECISION_EXACT)
            meta_names_add(&names, n->name);
    }
    if (names.n) {
        meta_say(report, "\n%s:\n%*s", eu_precision_name(ENG_PRECISION_FAST), VALUE_INDENT, "");
        meta_names_say(report, &names, VALUE_INDENT, VALUE_INDENT, WIDTH);
        meta_say_text(report, "\n");
    }
    meta_names_end(&names);
}

static void notes(const meta_report *report)
{
    if (report->v->n_notes)
        meta_say_text(report, "\n");
    for (uint32_t i = 0; i < report->v->n_notes; i++) {
        meta_say_name(report, report->v->notes[i]);
        meta_say_text(report, "\n");
    }
}

void meta_explain_text(const meta_report *report)
{
    if (!report->v) {
        meta_say_text(report, "not placed yet: make an instance first\n");
        return;
    }
    head(report);
    devices(report);
    scratch(report);
    tensors(report);
    exchanges(report);
    moved(report);
    fast(report);
    forced(report);
    notes(report);
}
