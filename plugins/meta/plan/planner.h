/*
 * From one graph and the placement of its bound tensors to one graph a rank.
 *
 * A value of the graph may exist in several versions: as the op made it, and as
 * reshards have made it since.  Nodes are taken in order; for each, the cheapest
 * strategy is chosen, the versions it needs are made, and the ranks that run it
 * get a node of their own.  A version names, for each rank that holds some of
 * it, a tensor of that rank's graph.
 */
#ifndef META_PLANNER_H
#define META_PLANNER_H

#include "variant.h"

typedef struct meta_version {
    struct meta_version *next;
    meta_place place;
    int32_t local[META_MAX_RANKS]; /* tensor of the rank's graph, or -1       */
    bool original; /* the memory that the graph means, not a copy of it       */
} meta_version;

/* Readers start from `versions`; writes in place go to `made`.  The two differ where the
 * host has said where a value shall be: then readers see only what was brought there. */
typedef struct meta_value {
    meta_version *versions; /* first: as made, or as brought; see meta_versions */
    meta_version *made;     /* the original; of a view NULL until needed      */
    const meta_place *wish; /* of the host; NULL: anywhere                    */
    bool brought;           /* ... and it is there                            */
    int32_t maker;          /* node, or -1                                    */
    uint32_t n_slices;      /* views of a part of it                          */
    uint32_t n_readers;     /* ops that read it, through views too            */
    bool full_use;          /* some reader cannot take a partial sum          */
    bool everywhere;        /* something is made of it on shards              */
    uint32_t wanted;        /* ... or on these ranks alone                    */
} meta_value;

/* The graph of one rank while it grows. */
typedef struct meta_rgraph {
    eng_tensor *tensors;
    uint32_t n_tensors;
    eng_node *nodes;
    uint32_t n_nodes;
    int32_t *bindings;   /* binding -> tensor                                 */
    uint32_t *bound_to;  /* binding -> binding of the whole graph             */
    uint32_t n_bindings;
    int32_t *origin;     /* node -> node of the whole graph, -1: of a reshard  */
    meta_stop *stops;
    uint32_t n_stops;
    size_t cap_tensors, cap_nodes, cap_bindings, cap_bound, cap_origin, cap_stops;
    int32_t section;
    bool at_barrier;     /* the last node ends the section                    */
} meta_rgraph;

typedef struct meta_planner {
    eng_device_state *device;
    const eng_services *sv;
    const eng_subgraph *graph;
    const meta_place *places; /* of the bindings                              */
    const meta_layouts *layouts; /* of the bindings                          */
    const uint32_t *first;    /* binding -> the first that is of the same tensor */
    const meta_place *const *wishes; /* of the values, as meta_wishes resolves them; may be NULL */
    bool heedless;            /* wishes do not count: a write in place collects its tensor */
    uint32_t n_ranks;
    eu_arena *arena;        /* lives as long as the plan                    */
    meta_value *values;
    meta_rgraph ranks[META_MAX_RANKS];
    meta_exchange **exchanges;
    uint32_t n_exchanges;
    size_t cap_exchanges;
    const int8_t *forced;     /* node -> rank that must run it, or -1         */
    int status;               /* the first failure                            */
    meta_partition *derived;  /* see derive.c                                 */
    uint32_t n_run[4];        /* nodes by meta_kind of their result           */
    char **notes;             /* for explain                                  */
    uint32_t n_notes;
    size_t cap_notes;
} meta_planner;

/* A value and a node of the whole graph. */
static inline const eng_tensor *meta_tensor_of(const meta_planner *p, int32_t value)
{
    return eng_subgraph_tensor(p->graph, value);
}
static inline const eng_node *meta_node_of(const meta_planner *p, int32_t node)
{
    return eng_subgraph_node(p->graph, (uint32_t)node);
}

/* -- notes.c ------------------------------------------------------------------------------ */

static inline bool meta_failed(const meta_planner *p)
{
    return p->status != ENG_OK;
}
int meta_planner_nomem(meta_planner *p);
void meta_planner_note(meta_planner *p, char *text); /* of the arena */

/* -- rank_graph.c: growing the graphs of the ranks --------------------------------------- */

/* A contiguous scratch tensor like `like`, with extents ne; -1: failed. */
int32_t meta_local_scratch(meta_planner *p, uint32_t rank, const eng_tensor *like, const int64_t *ne);
/* A window into another tensor of the rank. */
int32_t meta_local_window(meta_planner *p, uint32_t rank, int32_t base, const int64_t *ne, const int64_t *nb,
                          uint64_t offset, const eng_tensor *like);
int32_t meta_local_binding(meta_planner *p, uint32_t rank, const eng_tensor *like, uint32_t binding,
                           const int64_t *ne);
/* Appends a node and opens a new section after a barrier; NULL: failed. */
eng_node *meta_local_node(meta_planner *p, uint32_t rank, uint32_t op, const char *name, int32_t origin);
/* A contiguous copy of the same type, bit by bit, and the tensor itself if its data are
 * contiguous, else a copy; -1: failed, or of -1. */
int32_t meta_local_copy(meta_planner *p, uint32_t rank, int32_t tensor);
int32_t meta_local_contiguous(meta_planner *p, uint32_t rank, int32_t tensor);
bool meta_is_contiguous(const meta_planner *p, const eng_tensor *t);
uint64_t meta_tensor_layout(const meta_planner *p, uint32_t type, const int64_t *ne, int64_t *nb);

/* -- view.c ------------------------------------------------------------------------------ */

/* The cut of a tensor that the rank holds whole. */
int32_t meta_local_cut(meta_planner *p, uint32_t rank, int32_t tensor, const meta_cut *cut);
/* The node's view of one version of its operand, not yet known to readers (see
 * meta_version_add); NULL if it is no range of the shards (or a failure, in p->status). */
meta_version *meta_view_version(meta_planner *p, const eng_node *node, const meta_version *of);

/* -- localize.c --------------------------------------------------------------------------- */

/* A version as an operand on the rank: with contiguous rows if the whole graph's has them, for
 * the version may be a view of a copy that was laid out anew. */
int32_t meta_local_operand(meta_planner *p, uint32_t rank, int32_t value, const meta_version *version);
/* The rank's own of a node, with the same parameters and these operands; NULL: failed. */
eng_node *meta_local_form(meta_planner *p, uint32_t rank, int32_t origin, const int32_t *operands);
/* One rank's part of a node. */
void meta_local_op(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s,
                   meta_version *const *in, meta_version *const *out);

/* -- version.c: one version ---------------------------------------------------------------- */

/* A version that nobody knows yet, and making it known to readers. */
meta_version *meta_version_alloc(meta_planner *p, const meta_place *place);
meta_version *meta_version_add(meta_planner *p, int32_t value, meta_version *version);
meta_version *meta_version_new(meta_planner *p, int32_t value, const meta_place *place);
/* Is it what is wanted? */
bool meta_version_serves(const meta_version *v, const meta_place *want);
/* Are parts of it had only by an exchange? */
bool meta_version_opaque(const meta_planner *p, int32_t value, const meta_version *from);
/* Has one rank all of it, and the same one, by both placements? */
bool meta_same_alone(const meta_place *a, const meta_place *b);
/* Is the value in the memory of that root?  Bindings may be one tensor. */
bool meta_in_memory_of(const meta_planner *p, int32_t value, int32_t root);

/* -- move_price.c ------------------------------------------------------------------------ */

/* What it costs to bring the value from this version there, in nanoseconds of a rank's time; HUGE_VAL: no way. */
double meta_version_price(const meta_planner *p, int32_t value, const meta_version *from, const meta_place *want);

/* -- versions.c: all versions of a value --------------------------------------------------- */

/* All that readers may start from; makes the first if there is none. */
meta_version *meta_versions(meta_planner *p, int32_t value);
/* The memory that the graph means; NULL: its shards have no such view. */
meta_version *meta_version_original(meta_planner *p, int32_t value);
/* A version that is as wanted, or NULL; makes at most views. */
meta_version *meta_version_find(meta_planner *p, int32_t value, const meta_place *want);
/* What it would cost to have it, in nanoseconds of a rank's time; HUGE_VAL: no way. */
double meta_version_cost(meta_planner *p, int32_t value, const meta_place *want);
/* Finds or makes it; NULL after a failure. */
meta_version *meta_version_get(meta_planner *p, int32_t value, const meta_place *want);
/* The first version of a view. */
void meta_versions_of_view(meta_planner *p, const eng_node *node);
/* After a write in place: forgets every copy of that memory. */
void meta_version_forget(meta_planner *p, int32_t root);

/* -- wish.c: placements that the host asked for -------------------------------------------- */

/* What eng_tensor.place means on this device, for every value, or *wishes = NULL if there is
 * none.  Opens guests and makes partitions: takes the device's lock. */
int meta_wishes(eng_device_state *device, const eng_subgraph *graph, eu_arena *arena,
                const meta_place *const **wishes);
/* Each rank's addend of a value that they hold whole; NULL after a failure, or of NULL. */
meta_version *meta_wish_addends(meta_planner *p, int32_t value, const meta_version *whole);

/* -- inplace.c: writes that the shards do not allow -------------------------------------- */

/* The operand whole at `place` (on all main ranks, or on one), as a window into *whole;
 * NULL: not possible. */
meta_version *meta_inplace_begin(meta_planner *p, int32_t value, const meta_place *place, meta_version **whole);
/* After the write: every rank that holds the tensor gets what was written. */
void meta_inplace_end(meta_planner *p, int32_t value, const meta_place *place, meta_version *whole);

/* -- functions.c --------------------------------------------------------------------------- */

/* Is it a unary node whose function has the flag (ENG_FUNCTION_*)? */
bool meta_function_is(const eng_node *node, unsigned flag);

/* -- owned.c: partial sums of which each slot is one rank's ------------------------------- */

/* A strategy that keeps slots owned. */
bool meta_owned_apply(meta_planner *p, const eng_node *node, meta_strategy *s);
/* Says of the result of a mul_mat_id cut along its experts that its slots are owned. */
void meta_owned_result(const eng_node *node, meta_strategy *s);
/* Changes such a strategy to take owned slots as the right operand, if it has them. */
bool meta_owned_operand(meta_planner *p, const eng_node *node, meta_strategy *s);

/* -- derive.c: cuts without an axis of their own ------------------------------------------ */

/* The partition with these boundaries (n_ranks + 1); always the same for the same ones. */
const meta_partition *meta_derive_partition(meta_planner *p, const int64_t *begin, uint32_t n_ranks);
/* What the ranks hold of a view where the rules find no cut; false: no range of the shards. */
bool meta_derive_view(meta_planner *p, const eng_node *node, const meta_cut *cut, meta_cut *out);

/* -- exchange.c -------------------------------------------------------------------------- */

/* Who gives a value that is placed like this: of a replicated one, one rank; and who gets
 * one that shall be: a replicated one on `ranks`, or if that is 0 on all main ranks. */
uint32_t meta_source_ranks(const meta_planner *p, const meta_place *from);
uint32_t meta_target_ranks(const meta_planner *p, const meta_place *to);

/* copy: targets that hold the value whole already get a copy of it too. */
meta_version *meta_exchange_emit(meta_planner *p, int32_t value, meta_version *from, const meta_place *to, bool copy);
/* The same for what is no value of the graph: fills to->local.  False after a failure. */
bool meta_exchange_make(meta_planner *p, const eng_tensor *t, const meta_version *from, meta_version *to, bool copy);

/* -- join.c ------------------------------------------------------------------------------ */

/* Of the whole plan: exchanges that need not wait for one another share a meeting. */
void meta_join_exchanges(meta_planner *p);

/* -- numbers.c ------------------------------------------------------------------------------ */

/* A node of the rank's own with a result like `a` (of sum_rows: a column); parameter: fp[0].
 * origin: the node that it does a part of, which runs elsewhere if this cannot run here. */
int32_t meta_local_apply(meta_planner *p, uint32_t rank, int32_t origin, uint32_t op, int32_t a, int32_t b,
                         double parameter);
/* From each of the ranks one number for every row of the node's result: a matrix [ranks, rows]
 * on all of them. */
meta_version *meta_numbers_gather(meta_planner *p, const eng_node *node, const char *what, uint32_t ranks,
                                  const int32_t *local);
/* Of such a matrix the numbers of the index-th rank, as a column for a tensor of extents `rows`. */
int32_t meta_numbers_own(meta_planner *p, uint32_t rank, int32_t matrix, uint32_t index, const int64_t *rows);

/* -- split_norm.c --------------------------------------------------------------------------- */

/* rms_norm and l2_norm of rows that are cut. */
void meta_split_norm(meta_planner *p, int32_t origin, const meta_strategy *s, meta_version *const *in,
                     meta_version *out);

/* -- merge.c ------------------------------------------------------------------------------- */

/* An attention whose K and V are cut along their cells. */
void meta_merge_attention(meta_planner *p, int32_t origin, const meta_strategy *s, meta_version *const *in,
                          meta_version *out);

/* -- uses.c -------------------------------------------------------------------------------- */

/* Fills in the values' makers and readers. */
void meta_find_uses(meta_planner *p);

/* -- planner.c --------------------------------------------------------------------------- */

/* Plans all nodes; status of the first failure. */
int meta_planner_run(meta_planner *p);
void meta_planner_end(meta_planner *p); /* what is not in the arena */

#endif
