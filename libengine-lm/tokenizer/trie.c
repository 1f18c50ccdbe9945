/* Texts as a tree of their bytes. */
#include "config.h"

#include <stdlib.h>

#include "inner.h"
#include "trie.h"

/* The texts that a node's own bytes begin, of the sorted ones; how many bytes those are. */
typedef struct stretch {
    uint32_t from, to, depth;
} stretch;

typedef EU_ARRAY(stretch) stretch_list;
typedef EU_ARRAY(trie_node) node_list;
typedef EU_ARRAY(uint8_t) label_list;

static bool add_node(node_list *nodes, label_list *labels, stretch_list *of, uint8_t label, stretch s)
{
    return eu_array_add(nodes, (trie_node){.id = TRIE_NONE}) && eu_array_add(labels, label) && eu_array_add(of, s);
}

/* Children of node i, side by side behind all nodes so far, in the order of their bytes. */
static bool add_children(const trie_text *texts, node_list *nodes, label_list *labels, stretch_list *of, size_t i)
{
    stretch s = of->at[i];

    for (; s.from < s.to && texts[s.from].length == s.depth; s.from++) /* the first of equal ones */
        if (nodes->at[i].id == TRIE_NONE)
            nodes->at[i].id = texts[s.from].id;
    nodes->at[i].first = (uint32_t)nodes->n;
    for (uint32_t from = s.from, to; from < s.to; from = to) {
        const uint8_t label = (uint8_t)texts[from].text[s.depth];
        for (to = from + 1; to < s.to && (uint8_t)texts[to].text[s.depth] == label;)
            to++;
        if (!add_node(nodes, labels, of, label, (stretch){from, to, s.depth + 1}))
            return false;
        nodes->at[i].n++;
    }
    return true;
}

bool eng_trie_create(trie *t, trie_text *texts, size_t n)
{
    node_list nodes = {0};
    label_list labels = {0};
    stretch_list of = {0};

    qsort(texts, n, sizeof *texts, eng_texts_in_order);
    bool fine = n < UINT32_MAX && add_node(&nodes, &labels, &of, 0, (stretch){0, (uint32_t)n, 0});
    for (size_t i = 0; fine && i < nodes.n; i++)
        fine = nodes.n < UINT32_MAX - 256 && add_children(texts, &nodes, &labels, &of, i);
    eu_array_free(&of);
    *t = (trie){nodes.at, labels.at};
    if (!fine)
        eng_trie_free(t);
    return fine;
}

void eng_trie_free(trie *t)
{
    free(t->nodes);
    free(t->labels);
    *t = (trie){0};
}

uint32_t eng_trie_longest(const trie *t, const char *text, size_t length, size_t *used)
{
    uint32_t found = TRIE_NONE;

    *used = 0;
    for (size_t i = 0, node = 0; i < length; i++) {
        node = eng_trie_step(t, (uint32_t)node, (uint8_t)text[i]);
        if (node == TRIE_NONE)
            break;
        if (t->nodes[node].id != TRIE_NONE) {
            found = t->nodes[node].id;
            *used = i + 1;
        }
    }
    return found;
}
