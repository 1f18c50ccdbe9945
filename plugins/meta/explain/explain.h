/*
 * What has been decided for a plan, in numbers: gathered once from a variant and
 * then written as text, as JSON or as a graph.
 */
#ifndef META_EXPLAIN_H
#define META_EXPLAIN_H

#include "../run/run.h"

/* Bytes of scratch that are alive when a rank's scratch memory is fullest. */
typedef struct meta_peak {
    uint64_t total;
    uint64_t by_kind[4]; /* of values, by meta_kind                             */
    const char *node;    /* where                                               */
} meta_peak;

/* One rank's part of the plan. */
typedef struct meta_rank_facts {
    uint32_t n_nodes, n_sections;
    uint64_t bytes[4];    /* bound tensors, by META_BYTES_*                     */
    uint64_t replicated;  /* part of these that other ranks hold too, without inputs and outputs */
    uint64_t scratch;
    uint64_t sent, taken; /* a run                                              */
    meta_peak peak;
} meta_rank_facts;

typedef struct meta_report {
    void (*emit)(void *ctx, const char *text);
    void *ctx;
    eu_json *json;               /* the same, with its structure                */
    const eng_device_state *device;
    const meta_variant *v;
    const eng_subgraph *graph;
    uint32_t number, count;      /* which of how many placements                */
    uint32_t ranks;              /* that hold or do something                   */
    meta_rank_facts rank[META_MAX_RANKS];
    uint64_t sent;               /* by all, a run                               */
    uint64_t pair[META_MAX_RANKS][META_MAX_RANKS];  /* from, to                 */
    uint64_t moved[META_MAX_RANKS][META_MAX_RANKS]; /* the same, for tensors that are kept on one device */
    double price;                /* of all exchanges, ns; a shared meeting once */
    uint32_t n_meetings;         /* exchanges without those joined to others    */
} meta_report;

/* How an exchange will be carried out. */
typedef struct meta_way {
    const char *kind;      /* all_reduce, all_gather, ...                       */
    const char *algorithm; /* exchange_and_add, reduce_scatter_all_gather, copy  */
    const char *path;      /* in_place, copied, staged, partly_staged           */
    double price;          /* ns of the busiest rank, as the planner has it      */
} meta_way;

/* -- explain.c: facts --------------------------------------------------------------- */

void meta_report_fill(meta_report *report);
meta_way meta_exchange_way(const meta_report *report, const meta_exchange *e);
uint64_t meta_exchange_sent(const meta_exchange *e);
/* Is it due to a tensor that is kept on one device? */
bool meta_exchange_single(const meta_exchange *e);
/* A bound tensor was given a device of its own. */
bool meta_kept_apart(const eng_tensor *t, const meta_place *place);
uint64_t meta_bytes_on(const meta_report *report, const eng_tensor *t, const meta_place *place, uint32_t rank);

/* -- write.c: words that all formats share ---------------------------------- */

void meta_say(const meta_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
void meta_say_text(const meta_report *report, const char *text);
const char *meta_say_rank(const meta_report *report, uint32_t rank);
const char *meta_say_axis(const meta_report *report, uint32_t axis);
const char *meta_say_use(uint32_t use);
/* A name in plain text, and within the quotes of a label of the dot language. */
void meta_say_name(const meta_report *report, const char *text);
void meta_say_label(const meta_report *report, const char *text);

/* -- names.c: many names in few words ---------------------------------------- */

/* "blk.{0-2,5}.ffn_up.weight" for names that differ in a number: a list that grows. */
typedef struct meta_names {
    struct meta_name *items;
    uint32_t n;
    size_t capacity;
    bool failed; /* out of memory: names are missing                               */
} meta_names;
void meta_names_add(meta_names *names, const char *name);
/* Writes them in lines of at most `width`, the first begun at `column`, others indented; the last is not ended. */
void meta_names_say(const meta_report *report, const meta_names *names, uint32_t column, uint32_t indent,
                    uint32_t width);
void meta_names_end(meta_names *names);

/* -- the formats ------------------------------------------------------------------------ */

void meta_explain_text(const meta_report *report);
void meta_explain_json(const meta_report *report);
void meta_explain_dot(const meta_report *report);

#endif
