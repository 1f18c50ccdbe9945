/*
 * A compiled plan: each rank's graph as its device runs it, section by section, and the
 * exchanges of values between sections.  Planning makes it (planner.h), a run carries it
 * out (run.h), reports describe it (explain.h).
 */
#ifndef META_VARIANT_H
#define META_VARIANT_H

#include "../device/cost.h"

/* One side of an exchange on one rank; tensor -1: not on that side. */
typedef struct meta_end {
    int32_t tensor;  /* the owner                                             */
    uint64_t offset; /* of the data in it                                     */
    uint64_t bytes;
    bool mappable;
    meta_piece *pieces; /* of a sharded side: where its data lie in the whole */
    uint32_t n_pieces;
    meta_move *moves;   /* of a target, if both sides are sharded: what it takes */
    uint32_t n_moves;
} meta_end;

/* Values moved between ranks. */
typedef struct meta_exchange {
    const char *name;  /* of the value                                        */
    uint8_t from, to;  /* meta_kind                                           */
    uint32_t sources, targets; /* ranks                                       */
    uint64_t bytes;    /* of the whole value                                  */
    uint64_t sent[META_MAX_RANKS]; /* for the statistics                      */
    double price;      /* nanoseconds, as cost.c has it                       */
    bool joined;       /* to the one before it: no meeting of its own         */
    meta_end src[META_MAX_RANKS], dst[META_MAX_RANKS];
} meta_exchange;

/* Is the sum formed by chunks (reduce-scatter, then all-gather)? */
static inline bool meta_exchange_by_chunks(const meta_exchange *e)
{
    return e->from == META_PARTIAL && e->to == META_REPLICATED &&
           meta_cost_by_chunks(e->sources, e->targets, (double)e->bytes);
}
/* Bytes that rank `to` takes from rank `from`. */
uint64_t meta_exchange_pair(const meta_exchange *e, uint32_t from, uint32_t to);

/* Between sections: `exchange` is due when sections 0 .. section are done. */
typedef struct meta_stop {
    uint32_t exchange;
    int32_t section;
} meta_stop;

/* One rank's part of a compiled graph. */
typedef struct meta_part {
    const eng_subgraph *placed; /* NULL: the rank has nothing to do            */
    eng_plan_state *plan;
    uint32_t n_bindings, n_stops, n_sections;
    uint32_t *bound_to; /* binding -> binding of the whole graph               */
    meta_stop *stops;
    uint8_t *work;      /* does the section hold more than barriers?           */
    uint8_t *kinds;     /* scratch tensor -> meta_kind of what is in it        */
} meta_part;

/* The graph compiled for one placement of its bound tensors. */
typedef struct meta_variant {
    struct meta_variant *next;
    eng_device_state *device;
    eu_arena arena;
    meta_place *places;   /* of the bindings                                    */
    const char **why;     /* bindings: meta_tensor.why                          */
    meta_layouts *layouts; /* bindings                                          */
    uint32_t *first;      /* binding -> the first that is of the same tensor    */
    meta_part parts[META_MAX_RANKS];
    uint32_t ranks;       /* that have a part                                   */
    uint32_t n_ranks;
    meta_exchange **exchanges;
    uint32_t n_exchanges;
    uint32_t n_run[4];    /* nodes by meta_kind                                 */
    char **notes;         /* what had to run elsewhere, and why                 */
    uint32_t n_notes;
} meta_variant;

struct eng_plan_state {
    eng_device_state *device;
    const eng_subgraph *graph;
    pthread_mutex_t lock; /* variants                                            */
    meta_variant *variants;
};

/* What is known of the bindings of a graph, one entry each: a host may bind a tensor in several
 * slots, and what is written through one is then read through the others. */
typedef struct meta_bound {
    meta_place *places;
    const char **why;
    meta_layouts *layouts;
    uint32_t *first; /* as in meta_variant                                      */
} meta_bound;
/* All of them alone and nowhere yet; false: no memory, and meta_bound_end is still due. */
bool meta_bound_begin(meta_bound *bound, uint32_t n);
void meta_bound_end(meta_bound *bound);

/* The plan's variant for these bindings, compiled if it has none yet. */
int meta_plan_variant(eng_plan_state *plan, const meta_bound *bound, meta_variant **variant);

int meta_variant_compile(eng_device_state *device, const eng_subgraph *graph, const meta_bound *bound,
                         meta_variant **variant);
/* Could it be compiled?  Plans, and has no device compile anything. */
int meta_variant_try(eng_device_state *device, const eng_subgraph *graph, const meta_bound *bound);
void meta_variant_destroy(meta_variant *variant);

#endif
