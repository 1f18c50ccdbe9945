/*
 * Memory by lifetime.  A scratch tensor lives from the node that makes it to the
 * last node that reads it or a view of it.  Tensors are placed from the largest
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

/* Owners in scratch memory that some node touches, with padded sizes. */
static uint32_t select_scratch(const eng_subgraph *g, life *lives, uint32_t alignment)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        if (t->binding >= 0 || t->root != (int32_t)i || lives[i].first == UINT32_MAX)
            continue;
        life l = lives[i];
        l.bytes = (t->bytes + alignment - 1) / alignment * alignment;
        if (l.bytes == 0)
            l.bytes = alignment;
        lives[n++] = l;
    }
    return n;
}

uint64_t eng_place(const eng_subgraph *g, eng_tensor *tensors, uint32_t alignment, uint64_t *unshared)
{
    uint64_t size = 0, sum = 0;
    life *lives = calloc(g->n_tensors ? g->n_tensors : 1, sizeof *lives);
    const life **meets = calloc(g->n_tensors ? g->n_tensors : 1, sizeof *meets);
    if (lives == NULL || meets == NULL) {
        free(lives);
        free(meets);
        return UINT64_MAX;
    }
    find_lives(g, lives);
    uint32_t n = select_scratch(g, lives, alignment ? alignment : 1);
    qsort(lives, n, sizeof *lives, by_size);
    for (uint32_t i = 0; i < n && size != UINT64_MAX; i++) {
        place_one(&lives[i], lives, i, meets);
        tensors[lives[i].tensor].arena_offset = lives[i].offset;
        uint64_t end = lives[i].offset + lives[i].bytes;
        if (end < lives[i].bytes || sum + lives[i].bytes < sum)
            size = UINT64_MAX;
        else if (end > size)
            size = end;
        sum += lives[i].bytes;
    }
    free(lives);
    free(meets);
    *unshared = sum;
    return size;
}
