/* Texts as a tree of their bytes: which of them a longer text begins with, in time proportional to the longest. */
#ifndef ENGINE_LM_TRIE_H
#define ENGINE_LM_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIE_NONE UINT32_MAX

typedef struct trie_text {
    const char *text;
    size_t length;
    uint32_t id;
} trie_text;
/* By bytes, a text before those that it begins, equal ones by id; for qsort. */
int eng_texts_in_order(const void *a, const void *b);

typedef struct trie_node {
    uint32_t id;    /* of the text that ends here, or TRIE_NONE */
    uint32_t first; /* of its children, which lie side by side */
    uint32_t n;
} trie_node;

typedef struct trie {
    trie_node *nodes; /* the root first */
    uint8_t *labels;  /* the byte that leads to each */
} trie;

/* Sorts the texts, and needs them no longer than the call.  false: no memory. */
bool eng_trie_create(trie *t, trie_text *texts, size_t n);
void eng_trie_free(trie *t);

/* Where a byte leads from a node; TRIE_NONE: nowhere. */
static inline uint32_t eng_trie_step(const trie *t, uint32_t node, uint8_t byte)
{
    uint32_t low = t->nodes[node].first, n = t->nodes[node].n;

    for (; n > 1; n -= n / 2)
        low += t->labels[low + n / 2] <= byte ? n / 2 : 0;
    return n && t->labels[low] == byte ? low : TRIE_NONE;
}

/* The longest that a text begins with, and its length. */
uint32_t eng_trie_longest(const trie *t, const char *text, size_t length, size_t *used);

#endif
