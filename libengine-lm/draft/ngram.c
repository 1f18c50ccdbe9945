/* Guesses from the text itself. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ngram.h"

#define MOST_PLACES 64  /* that a guess looks at                                  */
#define MOST_MATCHED 32 /* tokens; longer repetitions are as good                 */

static size_t slot(const lm_ngram *g, const int32_t *pair)
{
    uint64_t h = ((uint64_t)(uint32_t)pair[0] << 32 | (uint32_t)pair[1]) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32) & (g->n_heads - 1);
}

/* The pair that ends at token `at`; places count from 1, for 0 is none. */
static void add(lm_ngram *g, const int32_t *tokens, size_t at)
{
    uint32_t *head = &g->heads[slot(g, tokens + at - 1)];
    g->before[at] = *head;
    *head = (uint32_t)at;
}

static bool more_heads(lm_ngram *g, const int32_t *tokens, size_t n)
{
    size_t want = g->n_heads ? g->n_heads : 256;
    while (want < 2 * n)
        want *= 2;
    if (want == g->n_heads)
        return true;
    uint32_t *heads = eu_zeroed(want, sizeof *heads);
    if (!heads)
        return false;
    free(g->heads);
    g->heads = heads;
    g->n_heads = want;
    for (size_t i = 1; i < g->n; i++)
        add(g, tokens, i);
    return true;
}

bool lm_ngram_learn(lm_ngram *g, const int32_t *tokens, size_t n_tokens)
{
    if (n_tokens > UINT32_MAX || !eu_reserve(g->before, g->before_room, n_tokens) || !more_heads(g, tokens, n_tokens))
        return false;
    for (; g->n < n_tokens; g->n++)
        if (g->n)
            add(g, tokens, g->n);
    return true;
}

void lm_ngram_forget(lm_ngram *g)
{
    g->n = 0;
    if (g->heads)
        memset(g->heads, 0, g->n_heads * sizeof *g->heads);
}

void lm_ngram_free(lm_ngram *g)
{
    free(g->heads);
    free(g->before);
    memset(g, 0, sizeof *g);
}

/* How many tokens that end at `a` are those that end at `b`, behind it. */
static uint32_t same(const int32_t *tokens, size_t a, size_t b)
{
    uint32_t n = 0;
    while (n < MOST_MATCHED && n <= a && tokens[a - n] == tokens[b - n])
        n++;
    return n;
}

uint32_t lm_ngram_guess(const lm_ngram *g, const int32_t *tokens, uint32_t most, int32_t *guess, uint32_t *matched)
{
    size_t best = 0, last;
    *matched = 0;
    if (g->n <= LM_NGRAM_LEAST)
        return 0;
    last = g->n - 1;
    uint32_t looked = 0;
    for (uint32_t at = g->before[last]; at && looked < MOST_PLACES; at = g->before[at], looked++) {
        uint32_t n = same(tokens, at, last);
        if (n < LM_NGRAM_LEAST || n <= *matched) /* of equals the one that stands nearest */
            continue;
        *matched = n;
        best = at;
        if (n == MOST_MATCHED)
            break;
    }
    if (!*matched)
        return 0;
    /* A text that repeats itself goes on so: what is guessed is there to be repeated. */
    for (uint32_t i = 0; i < most; i++) {
        size_t from = best + 1 + i;
        guess[i] = from < g->n ? tokens[from] : guess[from - g->n];
    }
    return most;
}
