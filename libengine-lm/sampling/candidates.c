/* Tokens that may come next: the best of them. */
#include "config.h"

#include <stdlib.h>

#include "candidates.h"

static int better(const lm_candidate *a, const lm_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

static int best_first(const void *a, const void *b)
{
    return better(a, b) ? -1 : better(b, a);
}

/* Lets the worst of the n candidates of a heap at the root sink (worst on top). */
static void sink(lm_candidate *heap, uint32_t n, uint32_t i)
{
    lm_candidate moving = heap[i];

    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && better(&heap[child], &heap[child + 1]))
            child++;
        if (!better(&moving, &heap[child]))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moving;
}

/* A heap of k while all others pass by. */
void lm_keep_best(lm_candidates *c, uint32_t k)
{
    if (c->sorted) {
        c->n = k < c->n ? k : c->n;
        return;
    }
    if (k < c->n) {
        for (uint32_t i = k / 2; i-- > 0;)
            sink(c->list, k, i);
        for (uint32_t i = k; i < c->n; i++)
            if (better(&c->list[i], &c->list[0])) {
                c->list[0] = c->list[i];
                sink(c->list, k, 0);
            }
        c->n = k;
    }
    qsort(c->list, c->n, sizeof *c->list, best_first);
    c->sorted = true;
}

uint32_t lm_best(const lm_candidates *c)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < c->n && !c->sorted; i++)
        if (better(&c->list[i], &c->list[best]))
            best = i;
    return best;
}

float lm_largest(const lm_candidates *c)
{
    return c->list[lm_best(c)].logit;
}
