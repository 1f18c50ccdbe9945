/*
 * attention.  The caches are cut first, by cells and kv heads, where their pieces
 * end; then queries, mask and result, by kv heads and tokens.  When the cells of a
 * query are worked on in several places (pieces, or splits that give all compute
 * units something to do), each leaves a partial result and a last launch merges
 * them by log-sum-exp.
 */
#include "hot.h"
#include "variant.h"

enum { Q, K, V, POS, SEQ, CPOS, CSEQ, MASK, SINKS, TABLE, CLAST };
enum { DIM_S = 1, DIM_H, DIM_T }; /* cells, kv heads, tokens */
#define MAX_CUTS 64

typedef struct attn {
    const eng_tensor *in[CLAST + 1], *o, *lse;
    const eng_node *node;
    const cl_variant *variant;
    int64_t cells, kv_heads, group, tokens; /* of the whole */
    int64_t splits;                         /* of a range of cells */
    cl_param valid;                         /* the valid cells of those here */
    int64_t cut[MAX_CUTS];                  /* where ranges of cells begin */
    unsigned n_cuts;
    bool direct;                            /* one range, one split: no partial results */
    uint64_t temporary;
    int64_t tile_tokens, tile_heads;
    int64_t first_cell, n_cells;            /* of the range being recorded */
    char options[256];
} attn;

/* The number in the whole cache of the cell behind the n here. */
static int64_t last_cell(const eng_node *node, int64_t n)
{
    const int64_t run = node->ip[ENG_ATTN_RUN], period = node->ip[ENG_ATTN_PERIOD];
    return node->ip[ENG_ATTN_FIRST] + (period ? n / run * period + n % run : n);
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *k = cl_in(g, node, K), *v = cl_in(g, node, V);
    for (unsigned i = POS; i <= CLAST; i++) {
        const eng_tensor *t = cl_in(g, node, i);
        cl_split s;
        if (!t || i == MASK)
            continue;
        if (cl_split_of(device, g, t, &s) != ENG_OK || s.n > 1)
            return cl_no(reason, bytes, "'%s' does not fit one allocation of %llu bytes; raise opencl.max_alloc",
                         t->name, (unsigned long long)device->max_alloc);
    }
    if (last_cell(node, cl_ne(k, 1)) > INT32_MAX)
        return cl_no(reason, bytes, "cells from number %lld on: their positions do not fit 32 bits",
                     (long long)node->ip[ENG_ATTN_FIRST]);
    if (cl_ne(k, 0) > 1024 || cl_ne(v, 0) > 1024)
        return cl_no(reason, bytes, "heads of %lld and %lld channels: at most 1024 work", (long long)cl_ne(k, 0),
                     (long long)cl_ne(v, 0));
    return ENG_SUPPORT_YES;
}

/* -- the launches ------------------------------------------------------------------ */

static int64_t slot_of(const attn *x, int64_t first)
{
    for (unsigned i = 0; i < x->n_cuts; i++)
        if (x->cut[i] == first)
            return (int64_t)i * x->splits;
    return 0;
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const attn *x = ctx;
    const eng_node *node = x->node;
    const int64_t heads = x->kv_heads * x->group, tokens = part->ne[DIM_T], block = node->ip[ENG_ATTN_BLOCK];
    const eng_tensor *table = x->in[TABLE];

    cl_launch_variant(r, x->variant, x->variant->kernel, x->options);
    cl_arg_walk(r, part, 2); /* q */
    cl_arg_walk(r, part, 0); /* K */
    cl_arg_walk(r, part, 1); /* V */
    for (unsigned i = POS; i <= CSEQ; i++)
        cl_arg_operand(r, i);
    cl_arg_walk(r, part, 3); /* mask */
    cl_arg_operand(r, SINKS);
    cl_arg_operand(r, TABLE);
    cl_arg_operand(r, CLAST);
    cl_arg_walk(r, part, 4); /* o */
    cl_arg_walk(r, part, 5); /* lse */
    if (x->direct)
        cl_arg_none(r);
    else
        cl_arg_temporary(r, x->temporary);
    cl_arg_param(r, &x->valid);
    cl_arg_long4(r, (int64_t[4]){x->first_cell, x->n_cells, x->splits, x->direct ? -1 : slot_of(x, x->first_cell)});
    cl_arg_long4(r, (int64_t[4]){tokens, part->first[DIM_T], x->tokens, heads});
    cl_arg_long4(r, (int64_t[4]){x->tile_tokens, x->tile_heads, x->group, part->first[DIM_H]});
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->in[Q], 1), cl_nb(x->in[Q], 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->in[K], 1), cl_nb(x->in[K], 2)});
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->in[V], 1), cl_nb(x->in[V], 2)});
    cl_arg_long4(r, (int64_t[4]){part->nb[3][DIM_T], x->valid.less, x->valid.run, x->valid.period});
    cl_arg_long4(r, (int64_t[4]){cl_nb(x->o, 1), cl_nb(x->o, 2), x->lse ? cl_nb(x->lse, 0) : 0,
                                 x->lse ? cl_nb(x->lse, 1) : 0});
    cl_arg_long4(r, (int64_t[4]){node->ip[ENG_ATTN_WINDOW], node->ip[ENG_ATTN_CAUSAL], block > 0 ? block : 1,
                                 table ? cl_nb(table, 1) : 0});
    for (unsigned i = ENG_ATTN_SCALE; i <= ENG_ATTN_MAX_BIAS; i++)
        cl_arg_float(r, (float)node->fp[i]);
    const int64_t tiles = cl_ceil(tokens, x->tile_tokens) * cl_ceil(x->group, x->tile_heads);
    const size_t local = x->variant->group;
    cl_size3(r, (uint64_t)x->splits * local, local, tiles, 1, part->ne[DIM_H], 1);
    if (x->n_cuts == 1 && x->splits > 1) /* few valid cells take but the first splits */
        cl_size_param(r, 0, &x->valid, x->variant->columns, (int64_t)local);
}

/* Caches in one piece each: now q, mask and result, by tokens and kv heads. */
static void queries(cl_recorder *r, const cl_walk *part, void *ctx)
{
    attn *x = ctx;
    const eng_tensor *q = x->in[Q], *mask = x->in[MASK], *o = x->o, *lse = x->lse;
    const uint64_t q_heads = (uint64_t)(x->group - 1);
    cl_walk w = *part;

    x->first_cell = part->first[DIM_S];
    x->n_cells = part->ne[DIM_S];
    for (unsigned i = 0; i < 2; i++) {
        w.row_bytes[i] += (uint64_t)(w.ne[DIM_S] - 1) * (uint64_t)w.nb[i][DIM_S];
        w.nb[i][DIM_S] = 0;
    }
    w.ne[DIM_S] = 1;
    w.ne[DIM_T] = x->tokens;
    cl_walk_operand(&w, x->node->in[Q], q_heads * (uint64_t)cl_nb(q, 1) + cl_row_bytes(q));
    cl_walk_operand(&w, x->node->in[MASK], mask ? cl_row_bytes(mask) : 0);
    cl_walk_operand(&w, x->node->out[0], q_heads * (uint64_t)cl_nb(o, 1) + cl_row_bytes(o));
    cl_walk_operand(&w, x->node->out[1], lse ? q_heads * (uint64_t)cl_nb(lse, 0) + 4 : 0);
    w.nb[2][DIM_H] = cl_nb(q, 1) * x->group;
    w.nb[2][DIM_T] = cl_nb(q, 2);
    w.nb[3][DIM_T] = mask ? cl_nb(mask, 1) : 0;
    w.nb[4][DIM_H] = cl_nb(o, 1) * x->group;
    w.nb[4][DIM_T] = cl_nb(o, 2);
    w.nb[5][DIM_H] = lse ? cl_nb(lse, 0) * x->group : 0;
    w.nb[5][DIM_T] = lse ? cl_nb(lse, 1) : 0;
    for (unsigned i = 2; i < 6; i++)
        w.offset[i] = (uint64_t)w.first[DIM_H] * (uint64_t)w.nb[i][DIM_H];
    cl_walk_run(r, &w, ENG_MAX_RANK, launch, x);
}

/* Work-items that put the splits of one query together. */
static size_t merge_group(const cl_device *device)
{
    return device->vec ? 1 : device->max_group >= 256 ? 256 : cl_group(device);
}

static void merge(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const attn *x = ctx;
    const int64_t heads = x->kv_heads * x->group;
    cl_launch_variant(r, x->variant, "attention_merge", x->options);
    cl_arg_temporary(r, x->temporary);
    cl_arg_operand(r, SINKS);
    cl_arg_walk(r, part, 0);
    cl_arg_walk(r, part, 1);
    cl_arg_param(r, &x->valid);
    cl_arg_long4(r, (int64_t[4]){(int64_t)x->n_cuts * x->splits, x->n_cuts == 1 ? x->splits : 0,
                                 part->nb[1][1], part->nb[1][2]});
    cl_arg_long4(r, (int64_t[4]){part->ne[2], part->first[2], x->tokens, heads});
    cl_arg_long4(r, (int64_t[4]){part->ne[1], part->first[1], cl_nb(x->o, 1), cl_nb(x->o, 2)});
    cl_size1(r, part->ne[1] * part->ne[2] * (int64_t)merge_group(r->device), merge_group(r->device));
}

/* -- the plan ---------------------------------------------------------------------- */

static void note_cut(cl_recorder *r, const cl_walk *part, void *ctx)
{
    attn *x = ctx;
    for (unsigned i = 0; i < x->n_cuts; i++)
        if (x->cut[i] == part->first[DIM_S])
            return;
    if (x->n_cuts == MAX_CUTS) {
        bool lowered = r->device->max_alloc < r->device->hard_limit; /* by the option, which is then the cure */
        cl_refuse(r, ENG_ERR_UNSUPPORTED, "%s: the caches of '%s' lie in more than %d allocations of %llu bytes; %s",
                  r->device->info.name, x->node->name, MAX_CUTS, (unsigned long long)r->device->max_alloc,
                  lowered ? "raise opencl.max_alloc" : "ask for fewer cells or split the model over more devices");
        return;
    }
    x->cut[x->n_cuts++] = part->first[DIM_S];
}

/* What rows of the table ask for: processors for heads of a group, if there is one token. */
static int64_t kind_of(const attn *x, const cl_device *device)
{
    const int64_t d = cl_ne(x->in[K], 0), e = cl_ne(x->in[V], 0);
    if (device->vec) {
        const bool round = d % CL_ATTENTION_TILE == 0 && e % CL_ATTENTION_TILE == 0 && d > 0 && e > 0 && !x->in[TABLE] &&
                           cl_max(d, e) <= CL_ATTENTION_LARGEST;
        const int64_t few = device->tiles == CL_UNIT_IN_C ? 0 : CL_ATTENTION_QUERIES; /* in C, for tests, are all */
        if (round && x->tokens > 1 && x->tokens * x->group > few)
            return CL_ATTENTION_ROUND;
        return x->tokens == 1 ? x->group : INT64_MAX;
    }
    if (d > 16 && e <= 256 && !x->in[TABLE] && x->tokens * x->group > 32) {
        const bool halves = x->in[K]->type == ENG_TYPE_F16 || x->in[V]->type == ENG_TYPE_F16 ||
                            x->node->precision == ENG_PRECISION_EXACT;
        const bool eights = d <= 256 && d % 8 == 0 && e % 8 == 0 && (!halves || device->matrix_halves);
        if (cl_max(d, e) > 128)
            return eights ? CL_ATTENTION_MORE_EIGHTS : CL_ATTENTION_MORE;
        return eights ? CL_ATTENTION_EIGHTS : CL_ATTENTION_MANY;
    }
    return cl_max(d, e) > 256 ? CL_ATTENTION_WIDE : CL_ATTENTION_FEW;
}

static void choose_tiles(attn *x, const cl_device *device)
{
    const int64_t queries = x->variant->rows, least = x->variant->columns; /* as in kernels/attention.clh */
    x->tile_heads = cl_min(x->group, queries);
    x->tile_tokens = x->in[TABLE] ? 1 : cl_min(x->tokens, cl_max(1, queries / x->group));
    const int64_t items = cl_ceil(x->tokens, x->tile_tokens) * cl_ceil(x->group, x->tile_heads) * x->kv_heads;
    const int64_t most = cl_max(1, cl_ceil(x->cells, least)), units = (int64_t)device->compute_units;
    if (device->vec) {
        x->splits = cl_min(cl_ceil(2 * units, items), most);
    } else { /* as many groups as are at work at a time, each with many registers, and none that waits for them */
        const int64_t group = (int64_t)x->variant->group, abreast = (group > 128 ? 512 : 256) / group;
        x->splits = cl_min(cl_max(1, abreast * units / items), most);
    }
}

static int record(cl_recorder *r, const eng_node *node)
{
    attn x = {.o = cl_out(r->graph, node, 0), .lse = cl_out(r->graph, node, 1), .node = node};
    for (unsigned i = 0; i <= CLAST; i++)
        x.in[i] = cl_in(r->graph, node, i);
    x.cells = cl_ne(x.in[K], 1);
    x.kv_heads = cl_ne(x.in[K], 2);
    x.group = cl_ne(x.in[Q], 1) / x.kv_heads;
    x.tokens = cl_ne(x.in[Q], 2);
    x.valid = (cl_param){node->ip[ENG_ATTN_KV_PARAM], node->ip[ENG_ATTN_FIRST], node->ip[ENG_ATTN_RUN],
                         node->ip[ENG_ATTN_PERIOD], x.cells};
    if (x.in[TABLE])
        x.valid.limit = cl_min(INT32_MAX, cl_ne(x.in[TABLE], 0) * node->ip[ENG_ATTN_BLOCK]);
    /* the table's types are of both: asked is the one that may be another */
    const eng_tensor *other = x.in[CL_ATTENTION_EXACT & CL_TYPE_BIT(x.in[K]->type) ? V : K];
    x.variant = cl_variant_find(r->device, node, other, kind_of(&x, r->device));
    choose_tiles(&x, r->device);
    int n = snprintf(x.options, sizeof x.options,
                     "-DKT=%s -DVT=%s -DD=%lld -DE=%lld -DLOCAL=%zu -DMERGE=%zu -DSOFTCAP=%d -DALIBI=%d -DLSE=%d%s",
                     cl_type_name(x.in[K]->type), cl_type_name(x.in[V]->type), (long long)cl_ne(x.in[K], 0),
                     (long long)cl_ne(x.in[V], 0), cl_group(r->device), merge_group(r->device),
                     (float)node->fp[ENG_ATTN_SOFTCAP] != 0, (float)node->fp[ENG_ATTN_MAX_BIAS] > 0, x.lse != NULL,
                     cl_variant_own(x.variant));
    if (x.variant->needs & CL_CAP_MMA)
        n += snprintf(x.options + n, sizeof x.options - (size_t)n, " -DMATRIX=%d", r->device->matrix);
    if (x.in[MASK])
        n += snprintf(x.options + n, sizeof x.options - (size_t)n, " -DMASK=%s", cl_type_name(x.in[MASK]->type));
    if (x.valid.period && !x.in[CPOS])
        snprintf(x.options + n, sizeof x.options - (size_t)n, " -DRUNS");

    cl_walk caches = {.ne = {1, cl_max(x.cells, 1), x.kv_heads, 1, 1, 1, 1, 1}};
    for (unsigned i = K; i <= V; i++) {
        cl_walk_operand(&caches, node->in[i], x.cells ? cl_row_bytes(x.in[i]) : 0);
        caches.nb[i - K][DIM_S] = cl_nb(x.in[i], 1);
        caches.nb[i - K][DIM_H] = cl_nb(x.in[i], 2);
    }
    if (cl_walk_run(r, &caches, ENG_MAX_RANK, note_cut, &x) != ENG_OK)
        return r->status;
    x.direct = x.n_cuts == 1 && x.splits == 1;
    const int64_t heads = x.kv_heads * x.group, rows = (int64_t)x.n_cuts * x.splits * x.tokens * heads;
    if (!x.direct)
        x.temporary = cl_temporary(r, (uint64_t)rows * (uint64_t)(cl_ne(x.o, 0) + 2) * 4);
    if (x.n_cuts > 1) { /* heads may be cut at different cells: some slots stay empty */
        cl_launch_variant(r, x.variant, "attention_empty", x.options);
        cl_arg_temporary(r, x.temporary);
        cl_arg_long(r, rows);
        cl_size1(r, rows, cl_group(r->device));
    }
    if (cl_walk_run(r, &caches, ENG_MAX_RANK, queries, &x) != ENG_OK || x.direct)
        return r->status;
    cl_walk w = {.ne = {1, heads, x.tokens, 1, 1, 1, 1, 1}};
    cl_walk_operand(&w, node->out[0], cl_row_bytes(x.o));
    w.nb[0][1] = cl_nb(x.o, 1);
    w.nb[0][2] = cl_nb(x.o, 2);
    cl_walk_operand(&w, node->out[1], x.lse ? 4 : 0);
    w.nb[1][1] = x.lse ? cl_nb(x.lse, 0) : 0;
    w.nb[1][2] = x.lse ? cl_nb(x.lse, 1) : 0;
    return cl_walk_run(r, &w, ENG_MAX_RANK, merge, &x);
}

const cl_op cl_op_attention = {.supports = supports, .record = record};
