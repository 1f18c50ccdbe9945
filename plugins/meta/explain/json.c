/* A report for programs: one JSON object; engine-generate(1) lists the keys. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <string.h>

#include "explain.h"

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {[META_REPLICATED] = "replicated", [META_SHARDED] = "sharded",
                                        [META_PARTIAL] = "partial", [META_SINGLE] = "single"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* "key": with what separates it from the member before. */
static void key(const meta_report *report, const char *before, const char *name)
{
    meta_say(report, "%s\"%s\": ", before, name);
}

static void number(const meta_report *report, const char *before, const char *name, uint64_t n)
{
    meta_say(report, "%s\"%s\": %" PRIu64, before, name, n);
}

static void text(const meta_report *report, const char *before, const char *name, const char *value)
{
    key(report, before, name);
    meta_say_json(report, value);
}

static void ranks(const meta_report *report, const char *before, const char *name, uint32_t mask)
{
    const char *comma = "";

    key(report, before, name);
    meta_say_text(report, "[");
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (!(mask >> r & 1u))
            continue;
        meta_say_text(report, comma);
        meta_say_json(report, meta_say_rank(report, r));
        comma = ", ";
    }
    meta_say_text(report, "]");
}

/* One number a device, in the order of "ranks". */
static void numbers(const meta_report *report, const char *before, const char *name, const uint64_t *n, uint32_t count)
{
    key(report, before, name);
    for (uint32_t r = 0; r < count; r++)
        meta_say(report, "%s%" PRIu64, r ? ", " : "[", n[r]);
    meta_say_text(report, count ? "]" : "[]");
}

static void kinds(const meta_report *report, const char *before, const char *name, const uint64_t n[4])
{
    key(report, before, name);
    for (uint32_t k = 0; k < 4; k++)
        number(report, k ? ", " : "{", kind_name(k), n[k]);
    meta_say_text(report, "}");
}

static void rank_object(const meta_report *report, uint32_t r)
{
    const meta_rank *rank = &report->device->ranks[r];
    const meta_rank_facts *f = &report->rank[r];

    text(report, r ? ",\n    {" : "\n    {", "name", rank->name);
    meta_say(report, ", \"share\": %.6g, \"guest\": %s", rank->share, rank->guest ? "true" : "false");
    number(report, ", ", "nodes", f->n_nodes);
    number(report, ", ", "sections", f->n_sections);
    number(report, ",\n     \"bytes\": {", "weights", f->bytes[META_BYTES_WEIGHTS]);
    number(report, ", ", "replicated", f->replicated);
    number(report, ", ", "caches", f->bytes[META_BYTES_CACHE]);
    number(report, ", ", "states", f->bytes[META_BYTES_STATE]);
    number(report, ", ", "io", f->bytes[META_BYTES_IO]);
    number(report, ", ", "scratch", f->scratch);
    number(report, "},\n     ", "sent", f->sent);
    number(report, ", ", "taken", f->taken);
    if (f->peak.node) {
        text(report, ",\n     \"scratch_peak\": {", "node", f->peak.node);
        kinds(report, ", ", "values", f->peak.by_kind);
        meta_say_text(report, "}");
    }
    meta_say_text(report, "}");
}

static void tensor_object(const meta_report *report, uint32_t b)
{
    const eng_tensor *t = eng_subgraph_tensor(report->graph, report->graph->binding_tensor[b]);
    const meta_place *place = &report->v->places[b];
    const eng_type_info *type = meta_type_info(report->device, t->type);
    uint64_t each[META_MAX_RANKS];

    text(report, b ? ",\n    {" : "\n    {", "name", t->name);
    text(report, ", ", "use", meta_say_use(t->use));
    text(report, ", ", "type", type ? type->name : "");
    key(report, ", ", "shape");
    for (uint32_t d = 0; d < t->rank; d++)
        meta_say(report, "%s%" PRId64, d ? ", " : "[", t->ne[d]);
    meta_say_text(report, t->rank ? "]" : "[]");
    text(report, ", ", "placement", kind_name(place->kind));
    if (place->kind == META_SHARDED) {
        const meta_partition *p = place->cut.part;
        text(report, ",\n     ", "axis", meta_say_axis(report, p->axis));
        number(report, ", ", "dimension", place->cut.dim);
        number(report, ", ", "extent", (uint64_t)p->extent);
        number(report, ", ", "unit", (uint64_t)p->unit);
        for (uint32_t r = 0; r < report->v->n_ranks; r++)
            each[r] = (uint64_t)meta_part_length(p, r);
        numbers(report, ", ", "units", each, report->v->n_ranks);
    } else if (place->kind == META_SINGLE) {
        text(report, ",\n     ", "rank", meta_say_rank(report, place->rank));
        meta_say(report, ", \"kept_apart\": %s", meta_kept_apart(t, place) ? "true" : "false");
    }
    if (report->v->why[b])
        text(report, ",\n     ", "why", report->v->why[b]);
    for (uint32_t r = 0; r < report->v->n_ranks; r++)
        each[r] = meta_bytes_on(report, t, place, r);
    numbers(report, ",\n     ", "bytes", each, report->v->n_ranks);
    meta_say_text(report, "}");
}

static void exchange_object(const meta_report *report, uint32_t i)
{
    const meta_exchange *e = report->v->exchanges[i];
    meta_way way = meta_exchange_way(report, e);
    uint64_t sent[META_MAX_RANKS];
    const char *comma = "";

    text(report, i ? ",\n    {" : "\n    {", "kind", way.kind);
    text(report, ", ", "value", e->name);
    number(report, ", ", "bytes", e->bytes);
    ranks(report, ", ", "from", e->sources);
    ranks(report, ", ", "to", e->targets);
    text(report, ",\n     ", "algorithm", way.algorithm);
    text(report, ", ", "path", way.path);
    meta_say(report, ", \"price_ns\": %.6g", way.price);
    for (uint32_t r = 0; r < report->v->n_ranks; r++)
        sent[r] = e->sources >> r & 1u ? e->sent[r] : 0;
    numbers(report, ", ", "sent", sent, report->v->n_ranks);
    key(report, ",\n     ", "pairs");
    meta_say_text(report, "[");
    for (uint32_t s = 0; s < META_MAX_RANKS; s++) {
        for (uint32_t t = 0; t < META_MAX_RANKS; t++) {
            uint64_t bytes = meta_exchange_pair(e, s, t);
            if (!bytes)
                continue;
            meta_say(report, "%s{\"from\": ", comma);
            meta_say_json(report, meta_say_rank(report, s));
            text(report, ", ", "to", meta_say_rank(report, t));
            number(report, ", ", "bytes", bytes);
            meta_say_text(report, "}");
            comma = ", ";
        }
    }
    meta_say_text(report, "]}");
}

static void pairs(const meta_report *report)
{
    const char *before = "\n    {";

    key(report, "],\n   ", "pairs");
    meta_say_text(report, "[");
    for (uint32_t s = 0; s < META_MAX_RANKS; s++) {
        for (uint32_t t = 0; t < META_MAX_RANKS; t++) {
            if (!report->pair[s][t])
                continue;
            text(report, before, "from", meta_say_rank(report, s));
            text(report, ", ", "to", meta_say_rank(report, t));
            number(report, ", ", "bytes", report->pair[s][t]);
            number(report, ", ", "for_tensors_on_one_device", report->moved[s][t]);
            meta_say_text(report, "}");
            before = ",\n    {";
        }
    }
}

/* Values that the graph's author has placed. */
static void forced(const meta_report *report)
{
    static const char *const kinds[] = {[ENG_PLACE_REPLICATED] = "replicated", [ENG_PLACE_SHARDED] = "sharded",
                                        [ENG_PLACE_PARTIAL] = "partial", [ENG_PLACE_SINGLE] = "single"};
    const char *before = "\n    {";

    key(report, "],\n   ", "forced");
    meta_say_text(report, "[");
    for (uint32_t i = 0; i < report->graph->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(report->graph, (int32_t)i);
        const eng_placement *p = meta_wished(t); /* of a kind that there is: else there were no plan */
        if (!p)
            continue;
        text(report, before, "value", t->name);
        text(report, ", ", "placement", kinds[p->kind]);
        if (p->kind == ENG_PLACE_SHARDED)
            text(report, ", ", "axis", meta_say_axis(report, p->axis));
        else if (p->kind == ENG_PLACE_SINGLE)
            text(report, ", ", "device", p->device);
        meta_say_text(report, "}");
        before = ",\n    {";
    }
}

static void placement(const meta_report *report)
{
    const meta_variant *v = report->v;
    uint64_t nodes[4];

    for (uint32_t k = 0; k < 4; k++)
        nodes[k] = v->n_run[k];
    kinds(report, report->number ? ",\n  {" : "\n  {", "nodes", nodes);
    number(report, ", ", "exchanged", report->sent);
    meta_say(report, ", \"price_ns\": %.6g", report->price);
    number(report, ", ", "meetings", report->n_meetings);
    key(report, ",\n   ", "ranks");
    meta_say_text(report, "[");
    for (uint32_t r = 0; r < v->n_ranks; r++)
        rank_object(report, r);
    key(report, "],\n   ", "tensors");
    meta_say_text(report, "[");
    for (uint32_t b = 0; b < report->graph->n_bindings; b++)
        tensor_object(report, b);
    key(report, "],\n   ", "exchanges");
    meta_say_text(report, "[");
    for (uint32_t i = 0; i < v->n_exchanges; i++)
        exchange_object(report, i);
    pairs(report);
    forced(report);
    key(report, "],\n   ", "notes");
    meta_say_text(report, "[");
    for (uint32_t i = 0; i < v->n_notes; i++) {
        meta_say_text(report, i ? ",\n    " : "\n    ");
        meta_say_json(report, v->notes[i]);
    }
    meta_say_text(report, "]}");
}

void meta_explain_json(const meta_report *report)
{
    if (report->number == 0) {
        text(report, "{", "device", report->device->name);
        key(report, ",\n ", "placements");
        meta_say_text(report, "[");
    }
    if (report->v)
        placement(report);
    if (report->number + 1 >= report->count)
        meta_say_text(report, "]}\n");
}
