/* A report for programs: one JSON object; engine-generate(1) lists the keys. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "explain.h"

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {[META_REPLICATED] = "replicated", [META_SHARDED] = "sharded",
                                        [META_PARTIAL] = "partial", [META_SINGLE] = "single"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static void ranks(const meta_report *report, const char *name, uint32_t mask)
{
    eu_json_list(report->json, name, false);
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        if (mask >> r & 1u)
            eu_json_text(report->json, NULL, meta_say_rank(report, r));
    eu_json_end(report->json);
}

/* One number a device, in the order of "ranks". */
static void numbers(const meta_report *report, const char *name, const uint64_t *n, uint32_t count)
{
    eu_json_list(report->json, name, false);
    for (uint32_t r = 0; r < count; r++)
        eu_json_uint(report->json, NULL, n[r]);
    eu_json_end(report->json);
}

static void kinds(const meta_report *report, const char *name, const uint64_t n[4])
{
    eu_json_object(report->json, name, false);
    for (uint32_t k = 0; k < 4; k++)
        eu_json_uint(report->json, kind_name(k), n[k]);
    eu_json_end(report->json);
}

static void rank_object(const meta_report *report, uint32_t r)
{
    const meta_rank *rank = &report->device->ranks[r];
    const meta_rank_facts *f = &report->rank[r];
    eu_json *j = report->json;

    eu_json_object(j, NULL, false);
    eu_json_text(j, "name", rank->name);
    eu_json_real(j, "share", rank->share, 6);
    eu_json_bool(j, "guest", rank->guest);
    eu_json_uint(j, "nodes", f->n_nodes);
    eu_json_uint(j, "sections", f->n_sections);
    eu_json_object(j, "bytes", false);
    eu_json_uint(j, "weights", f->bytes[META_BYTES_WEIGHTS]);
    eu_json_uint(j, "replicated", f->replicated);
    eu_json_uint(j, "caches", f->bytes[META_BYTES_CACHE]);
    eu_json_uint(j, "states", f->bytes[META_BYTES_STATE]);
    eu_json_uint(j, "io", f->bytes[META_BYTES_IO]);
    eu_json_uint(j, "scratch", f->scratch);
    eu_json_end(j);
    eu_json_uint(j, "sent", f->sent);
    eu_json_uint(j, "taken", f->taken);
    if (f->peak.node) {
        eu_json_object(j, "scratch_peak", false);
        eu_json_text(j, "node", f->peak.node);
        kinds(report, "values", f->peak.by_kind);
        eu_json_end(j);
    }
    eu_json_end(j);
}

static void cut_members(const meta_report *report, const meta_place *place)
{
    const meta_partition *p = place->cut.part;
    uint64_t units[META_MAX_RANKS];
    eu_json *j = report->json;

    eu_json_text(j, "axis", meta_say_axis(report, p->axis));
    eu_json_uint(j, "dimension", place->cut.dim);
    eu_json_int(j, "extent", p->extent);
    eu_json_int(j, "unit", p->unit);
    for (uint32_t r = 0; r < report->v->n_ranks; r++)
        units[r] = (uint64_t)meta_part_length(p, r);
    numbers(report, "units", units, report->v->n_ranks);
}

static void tensor_object(const meta_report *report, uint32_t b)
{
    const eng_tensor *t = eng_subgraph_tensor(report->graph, report->graph->binding_tensor[b]);
    const meta_place *place = &report->v->places[b];
    const eng_type_info *type = meta_type_info(report->device, t->type);
    uint64_t bytes[META_MAX_RANKS];
    eu_json *j = report->json;

    eu_json_object(j, NULL, false);
    eu_json_text(j, "name", t->name);
    eu_json_text(j, "use", meta_say_use(t->use));
    eu_json_text(j, "type", type ? type->name : "");
    eu_json_list(j, "shape", false);
    for (uint32_t d = 0; d < t->rank; d++)
        eu_json_int(j, NULL, t->ne[d]);
    eu_json_end(j);
    eu_json_text(j, "placement", kind_name(place->kind));
    if (place->kind == META_SHARDED) {
        cut_members(report, place);
    } else if (place->kind == META_SINGLE) {
        eu_json_text(j, "rank", meta_say_rank(report, place->rank));
        eu_json_bool(j, "kept_apart", meta_kept_apart(t, place));
    }
    if (report->v->why[b])
        eu_json_text(j, "why", report->v->why[b]);
    for (uint32_t r = 0; r < report->v->n_ranks; r++)
        bytes[r] = meta_bytes_on(report, t, place, r);
    numbers(report, "bytes", bytes, report->v->n_ranks);
    eu_json_end(j);
}

/* Bytes from one device to another, where there are some; the object is to be ended. */
static bool pair_begin(const meta_report *report, uint32_t from, uint32_t to, uint64_t bytes)
{
    eu_json *j = report->json;

    if (!bytes)
        return false;
    eu_json_object(j, NULL, false);
    eu_json_text(j, "from", meta_say_rank(report, from));
    eu_json_text(j, "to", meta_say_rank(report, to));
    eu_json_uint(j, "bytes", bytes);
    return true;
}

static void exchange_object(const meta_report *report, uint32_t i)
{
    const meta_exchange *e = report->v->exchanges[i];
    meta_way way = meta_exchange_way(report, e);
    uint64_t sent[META_MAX_RANKS];
    eu_json *j = report->json;

    eu_json_object(j, NULL, false);
    eu_json_text(j, "kind", way.kind);
    eu_json_text(j, "value", e->name);
    eu_json_uint(j, "bytes", e->bytes);
    ranks(report, "from", e->sources);
    ranks(report, "to", e->targets);
    eu_json_text(j, "algorithm", way.algorithm);
    eu_json_text(j, "path", way.path);
    eu_json_real(j, "price_ns", way.price, 6);
    for (uint32_t r = 0; r < report->v->n_ranks; r++)
        sent[r] = e->sources >> r & 1u ? e->sent[r] : 0;
    numbers(report, "sent", sent, report->v->n_ranks);
    eu_json_list(j, "pairs", false);
    for (uint32_t s = 0; s < META_MAX_RANKS; s++)
        for (uint32_t t = 0; t < META_MAX_RANKS; t++)
            if (pair_begin(report, s, t, meta_exchange_pair(e, s, t)))
                eu_json_end(j);
    eu_json_end(j);
    eu_json_end(j);
}

static void pairs(const meta_report *report)
{
    for (uint32_t s = 0; s < META_MAX_RANKS; s++)
        for (uint32_t t = 0; t < META_MAX_RANKS; t++)
            if (pair_begin(report, s, t, report->pair[s][t])) {
                eu_json_uint(report->json, "for_tensors_on_one_device", report->moved[s][t]);
                eu_json_end(report->json);
            }
}

/* Values that the graph's author has placed. */
static void forced(const meta_report *report)
{
    static const char *const names[] = {[ENG_PLACE_REPLICATED] = "replicated", [ENG_PLACE_SHARDED] = "sharded",
                                        [ENG_PLACE_PARTIAL] = "partial", [ENG_PLACE_SINGLE] = "single"};
    eu_json *j = report->json;

    for (uint32_t i = 0; i < report->graph->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(report->graph, (int32_t)i);
        const eng_placement *p = meta_wished(t); /* of a kind that there is: else there were no plan */
        if (!p)
            continue;
        eu_json_object(j, NULL, false);
        eu_json_text(j, "value", t->name);
        eu_json_text(j, "placement", names[p->kind]);
        if (p->kind == ENG_PLACE_SHARDED)
            eu_json_text(j, "axis", meta_say_axis(report, p->axis));
        else if (p->kind == ENG_PLACE_SINGLE)
            eu_json_text(j, "device", p->device);
        eu_json_end(j);
    }
}

/* Names of the nodes whose result need not be exact. */
static void fast(const meta_report *report)
{
    for (uint32_t i = 0; i < report->graph->n_nodes; i++) {
        const eng_node *n = eng_subgraph_node(report->graph, i);
        if (n->precision != ENG_PRECISION_EXACT)
            eu_json_text(report->json, NULL, n->name);
    }
}

static void placement(const meta_report *report)
{
    const meta_variant *v = report->v;
    uint64_t nodes[4];
    eu_json *j = report->json;

    eu_json_object(j, NULL, true);
    for (uint32_t k = 0; k < 4; k++)
        nodes[k] = v->n_run[k];
    kinds(report, "nodes", nodes);
    eu_json_uint(j, "exchanged", report->sent);
    eu_json_real(j, "price_ns", report->price, 6);
    eu_json_uint(j, "meetings", report->n_meetings);
    eu_json_list(j, "ranks", true);
    for (uint32_t r = 0; r < v->n_ranks; r++)
        rank_object(report, r);
    eu_json_end(j);
    eu_json_list(j, "tensors", true);
    for (uint32_t b = 0; b < report->graph->n_bindings; b++)
        tensor_object(report, b);
    eu_json_end(j);
    eu_json_list(j, "exchanges", true);
    for (uint32_t i = 0; i < v->n_exchanges; i++)
        exchange_object(report, i);
    eu_json_end(j);
    eu_json_list(j, "pairs", true);
    pairs(report);
    eu_json_end(j);
    eu_json_list(j, eu_precision_name(ENG_PRECISION_FAST), true);
    fast(report);
    eu_json_end(j);
    eu_json_list(j, "forced", true);
    forced(report);
    eu_json_end(j);
    eu_json_list(j, "notes", true);
    for (uint32_t i = 0; i < v->n_notes; i++)
        eu_json_text(j, NULL, v->notes[i]);
    eu_json_end(j);
    eu_json_end(j);
}

void meta_explain_json(const meta_report *report)
{
    eu_json *j = report->json;

    if (report->number == 0) {
        eu_json_object(j, NULL, true);
        eu_json_text(j, "device", report->device->name);
        eu_json_list(j, "placements", true);
    }
    if (report->v)
        placement(report);
    if (report->number + 1 >= report->count) {
        eu_json_end(j);
        eu_json_end(j);
    }
}
