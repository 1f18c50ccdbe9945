/*
 * Memory by lifetime.  A scratch tensor lives from the node that makes it to the
 * last node that reads it or a view of it, small ones a little longer.  A result takes the place of an operand
 * that dies at its node if the op's row says that it may.  Tensors are placed from the largest
 * to the smallest, each at the lowest offset free for its whole life ("greedy by
 * size": Pisarchyk, Lee, arXiv:2001.03288).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "../graph/graph.h"
#include "build.h"

typedef struct life {
    int32_t tensor;
    uint32_t first, last; /* nodes                                            */
    uint64_t bytes, offset;
} life;

/* All barrier nodes of a section happen at once: whoever submits the plan serves
 * them together, in any order. */
static void barrier_span(const eng_subgraph *g, uint32_t node, uint32_t *first, uint32_t *last)
{
    int32_t section = eng_subgraph_node(g, node)->section;
    *first = *last = node;
    if (eng_subgraph_node(g, node)->op != ENG_OP_EXTERN)
        return;
    while (*first > 0 && eng_subgraph_node(g, *first - 1)->section == section &&
           eng_subgraph_node(g, *first - 1)->op == ENG_OP_EXTERN)
        --*first;
    while (*last + 1 < g->n_nodes && eng_subgraph_node(g, *last + 1)->section == section)
        ++*last;
}

static void touch(const eng_subgraph *g, life *lives, int32_t tensor, uint32_t first, uint32_t last)
{
    if (tensor < 0)
        return;
    life *l = &lives[eng_subgraph_tensor(g, tensor)->root];
    if (first < l->first)
        l->first = first;
    if (last > l->last)
        l->last = last;
}

static void find_lives(const eng_subgraph *g, life *lives)
{
    for (uint32_t i = 0; i < g->n_tensors; i++)
        lives[i] = (life){.tensor = (int32_t)i, .first = UINT32_MAX};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_node *n = eng_subgraph_node(g, i);
        uint32_t first, last;
        barrier_span(g, i, &first, &last);
        for (int k = 0; k < ENG_MAX_INPUTS; k++)
            touch(g, lives, n->in[k], i, last);
        for (int k = 0; k < ENG_MAX_OUTPUTS; k++)
            touch(g, lives, n->out[k], first, last);
    }
}

/* -- in place --------------------------------------------------------------------- */

static bool is_scratch_owner(const eng_subgraph *g, int32_t tensor)
{
    const eng_tensor *t = eng_subgraph_tensor(g, tensor);
    return t != NULL && t->root == tensor && t->binding < 0;
}

static bool alike(const eng_tensor *a, const eng_tensor *b)
{
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        if ((d < a->rank ? a->ne[d] : 1) != (d < b->rank ? b->ne[d] : 1))
            return false;
    return a->bytes == b->bytes;
}

/* Does the node see the memory of operand `i` through no other operand? */
static bool seen_once(const eng_subgraph *g, const eng_node *n, uint32_t i)
{
    for (uint32_t k = 0; k < ENG_MAX_INPUTS; k++)
        if (n->in[k] >= 0 && n->in[k] != n->in[i] && eng_subgraph_tensor(g, n->in[k])->root == n->in[i])
            return false;
    return true;
}

/* The tensor whose place this one has: takes[t] is the one whose place t takes, or -1. */
static int32_t place_of(const int32_t *takes, int32_t tensor)
{
    while (takes[tensor] >= 0)
        tensor = takes[tensor];
    return tensor;
}

/* The node's first result lives on where an operand dies; that one's life becomes both. */
static void inherit(const eng_subgraph *g, life *lives, int32_t *takes, uint32_t node)
{
    const eng_node *n = eng_subgraph_node(g, node);
    const eng_op_info *info = eng_op_get(n->op);
    int32_t out = n->out[0];
    if (info == NULL || info->n_out == 0 || !is_scratch_owner(g, out) || lives[out].first != node)
        return;
    for (uint32_t i = 0; i < info->n_in; i++) {
        int32_t in = n->in[i];
        if (!info->in[i].in_place || !is_scratch_owner(g, in) || !seen_once(g, n, i) ||
            !alike(eng_subgraph_tensor(g, in), eng_subgraph_tensor(g, out)))
            continue;
        life *owner = &lives[place_of(takes, in)];
        if (owner->last != node)
            continue;
        owner->last = lives[out].last;
        takes[out] = in;
        return;
    }
}

/* -- placement -------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const life *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static int by_offset(const void *a, const void *b)
{
    const life *const *x = a, *const *y = b;
    return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

/* The lowest offset where `l` does not meet one of the placed lives. */
static void place_one(life *l, const life *placed, uint32_t n, const life **meets)
{
    uint32_t n_meets = 0;
    for (uint32_t i = 0; i < n; i++)
        if (placed[i].first <= l->last && l->first <= placed[i].last)
            meets[n_meets++] = &placed[i];
    qsort(meets, n_meets, sizeof *meets, by_offset);
    l->offset = 0;
    for (uint32_t i = 0; i < n_meets; i++) {
        if (meets[i]->offset >= l->offset + l->bytes)
            break;
        if (meets[i]->offset + meets[i]->bytes > l->offset)
            l->offset = meets[i]->offset + meets[i]->bytes;
    }
}

/* Small tensors outlive their last reader by so many nodes, views counted: threads that share nodes out need not wait for
 * one another just because a place is used again at once (what is small is for plugins/cpu/run/order.c to agree with). */
#define SMALL 16384
#define LINGER 4

/* Owners in scratch memory that some node touches, with padded sizes. */
static uint32_t select_scratch(const eng_subgraph *g, life *lives, const int32_t *takes, uint32_t alignment)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        if (t->binding >= 0 || t->root != (int32_t)i || lives[i].first == UINT32_MAX || takes[i] >= 0)
            continue;
        life l = lives[i];
        l.bytes = (t->bytes + alignment - 1) / alignment * alignment;
        if (l.bytes == 0)
            l.bytes = alignment;
        if (l.bytes <= SMALL)
            l.last += LINGER;
        lives[n++] = l;
    }
    return n;
}

/* The others' places, once those that they take are known; their bytes. */
static uint64_t place_the_rest(const eng_subgraph *g, eng_tensor *tensors, const int32_t *takes, uint32_t alignment)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        if (takes[i] < 0)
            continue;
        tensors[i].arena_offset = tensors[place_of(takes, (int32_t)i)].arena_offset;
        bytes += (tensors[i].bytes + alignment - 1) / alignment * alignment;
    }
    return bytes;
}

static uint64_t place_all(const eng_subgraph *g, eng_tensor *tensors, uint32_t alignment, life *lives, int32_t *takes,
                          const life **meets, uint64_t *unshared)
{
    uint64_t size = 0, sum = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        takes[i] = -1;
    find_lives(g, lives);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        inherit(g, lives, takes, i);
    uint32_t n = select_scratch(g, lives, takes, alignment);
    qsort(lives, n, sizeof *lives, by_size);
    for (uint32_t i = 0; i < n; i++) {
        place_one(&lives[i], lives, i, meets);
        tensors[lives[i].tensor].arena_offset = lives[i].offset;
        uint64_t end = lives[i].offset + lives[i].bytes;
        if (end < lives[i].bytes || sum + lives[i].bytes < sum)
            return UINT64_MAX;
        size = end > size ? end : size;
        sum += lives[i].bytes;
    }
    *unshared = sum + place_the_rest(g, tensors, takes, alignment);
    return size;
}

uint64_t eng_place(const eng_subgraph *g, eng_tensor *tensors, uint32_t alignment, uint64_t *unshared)
{
    size_t n = g->n_tensors ? g->n_tensors : 1;
    life *lives = calloc(n, sizeof *lives);
    int32_t *takes = calloc(n, sizeof *takes);
    const life **meets = calloc(n, sizeof *meets);
    uint64_t size = lives != NULL && takes != NULL && meets != NULL
                        ? place_all(g, tensors, alignment ? alignment : 1, lives, takes, meets, unshared)
                        : UINT64_MAX;
    free(lives);
    free(takes);
    free(meets);
    return size;
}
