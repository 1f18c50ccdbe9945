/*
 * Byte-level BPE: a fragment of text is cut into pieces, the bytes of a piece are
 * its first symbols, and neighbours merge, lowest rank first, leftmost among
 * equals, until no pair of neighbours is in the list of merges.
 *
 * A heap holds the candidates: n log n for a piece of any length.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

#define NONE UINT32_MAX

struct node {
    uint32_t symbol;
    uint32_t previous, next;
    uint32_t rank; /* of the merge with `next`; NONE */
    uint32_t result;
};

/* Smallest first: rank << 32 | node. */
typedef struct heap {
    uint64_t *entries;
    size_t n;
} heap;

static void push(heap *h, uint64_t entry)
{
    size_t i = h->n++;

    for (; i > 0 && h->entries[(i - 1) / 2] > entry; i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = entry;
}

static uint64_t pop(heap *h)
{
    uint64_t smallest = h->entries[0], last = h->entries[--h->n];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->entries[child + 1] < h->entries[child])
            child++;
        if (h->entries[child] >= last)
            break;
        h->entries[i] = h->entries[child];
    }
    h->entries[i] = last;
    return smallest;
}

/* Notes how node i merges with the next one. */
static void look(const eng_tokenizer *t, struct node *nodes, uint32_t i, heap *h)
{
    const merge *m =
        nodes[i].next == NONE ? NULL : eng_tokenizer_merge(t, nodes[i].symbol, nodes[nodes[i].next].symbol);

    nodes[i].rank = m ? m->rank : NONE;
    if (m) {
        nodes[i].result = m->result;
        push(h, (uint64_t)m->rank << 32 | i);
    }
}

static void merge_nodes(const eng_tokenizer *t, struct node *nodes, heap *h)
{
    while (h->n > 0) {
        uint64_t entry = pop(h);
        uint32_t i = (uint32_t)entry, rank = (uint32_t)(entry >> 32);
        if (nodes[i].rank != rank)
            continue; /* one of the two has merged meanwhile */
        uint32_t next = nodes[i].next;
        nodes[i].symbol = nodes[i].result;
        nodes[i].next = nodes[next].next;
        nodes[next].rank = NONE;
        if (nodes[i].next != NONE)
            nodes[nodes[i].next].previous = i;
        look(t, nodes, i, h);
        if (nodes[i].previous != NONE)
            look(t, nodes, nodes[i].previous, h);
    }
}

/* A symbol that is no token becomes the tokens of its bytes; bytes without one are dropped. */
static int emit(encoder *e, uint32_t symbol)
{
    const eng_tokenizer *t = e->t;

    if (is_word(t, symbol))
        return eng_ids_add(e->out, (int32_t)symbol);
    if (symbol == NO_SYMBOL)
        return t->unknown >= 0 ? eng_ids_add(e->out, t->unknown) : ENG_OK;
    const char *text = string_text(&t->symbols, symbol);
    size_t length = string_length(&t->symbols, symbol), used;
    for (size_t at = 0; at < length; at += used) {
        uint32_t c;
        used = t->plain ? 1 : eng_utf8_decode(text + at, length - at, &c);
        int byte = t->plain ? (uint8_t)text[at] : eng_character_byte(c);
        if (byte >= 0 && t->byte_symbol[byte] < t->n) {
            int status = eng_ids_add(e->out, (int32_t)t->byte_symbol[byte]);
            if (status)
                return status;
        }
    }
    return ENG_OK;
}

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("turning text into tokens"));
}

/* A whole piece that is a token; NO_SYMBOL if it is none. */
static int whole_piece(encoder *e, const uint8_t *bytes, size_t n, uint32_t *symbol)
{
    size_t length = 0;

    if (!eu_array_reserve(&e->spelling, n * 2))
        return no_memory();
    for (size_t i = 0; i < n; i++)
        length += eng_utf8_encode(eng_byte_character(bytes[i]), e->spelling.at + length);
    *symbol = eng_tokenizer_symbol(e->t, e->spelling.at, length);
    if (*symbol != NO_SYMBOL && !is_word(e->t, *symbol))
        *symbol = NO_SYMBOL;
    return ENG_OK;
}

/* Room for n symbols, and for candidates: n - 1 pairs at first, two new ones for each of at most n - 1 merges. */
static bool reserve(encoder *e, size_t n)
{
    e->heap = eu_grow(e->heap, &e->heap_room, 3 * n, sizeof(uint64_t));
    return e->heap_room >= 3 * n && eu_reserve(e->nodes, e->node_room, n);
}

/* The first n nodes, which have their symbols, n > 0. */
static int merge_and_emit(encoder *e, size_t n)
{
    heap h = {.entries = e->heap};
    struct node *nodes = e->nodes;
    int status = ENG_OK;
    for (size_t i = 0; i < n; i++) {
        nodes[i].previous = i ? (uint32_t)i - 1 : NONE;
        nodes[i].next = i + 1 < n ? (uint32_t)i + 1 : NONE;
        nodes[i].rank = NONE;
    }
    for (uint32_t i = 0; i + 1 < n; i++)
        look(e->t, nodes, i, &h);
    merge_nodes(e->t, nodes, &h);
    for (uint32_t i = 0; i != NONE && !status; i = nodes[i].next)
        status = emit(e, nodes[i].symbol);
    return status;
}

static int encode_piece(encoder *e, const uint8_t *bytes, size_t n)
{
    const eng_tokenizer *t = e->t;

    if (n == 1)
        return emit(e, t->byte_symbol[bytes[0]]);
    if (t->whole_words) {
        uint32_t whole = NO_SYMBOL;
        int status = whole_piece(e, bytes, n, &whole);
        if (status || whole != NO_SYMBOL)
            return status ? status : eng_ids_add(e->out, (int32_t)whole);
    }
    if (!reserve(e, n))
        return no_memory();
    for (size_t i = 0; i < n; i++)
        e->nodes[i].symbol = t->byte_symbol[bytes[i]];
    return merge_and_emit(e, n);
}

/* Characters and classes of a fragment. */
static int read_characters(encoder *e, const char *text, size_t length)
{
    if (length >= NONE / 4)
        return eng_fail(ENG_ERR_INVALID, "a text of %zu bytes is too long to be turned into tokens at once", length);
    if (!eu_array_resize(&e->characters, length) || !eu_array_resize(&e->classes, length))
        return no_memory();
    size_t n = 0;
    for (size_t at = 0; at < length;) {
        uint32_t c;
        at += eng_utf8_decode(text + at, length - at, &c);
        e->characters.at[n] = c;
        e->classes.at[n++] = eng_split_class(c);
    }
    e->characters.n = e->classes.n = n;
    return ENG_OK;
}

int eng_bpe_encode(encoder *e, const char *text, size_t length)
{
    uint8_t small[1024];
    int status = read_characters(e, text, length);

    if (!status && e->t->rule &&
        !eng_rule_split(e->t->rule, e->characters.at, e->classes.at, e->characters.n, &e->ends, &e->other_ends))
        return no_memory();
    for (size_t at = 0, end, k = 0; at < e->characters.n && !status; at = end, k++) {
        end = e->t->rule ? e->ends.at[k]
                         : eng_split_next(e->t->split, e->characters.at, e->classes.at, e->characters.n, at);
        uint8_t *bytes = small;
        if ((end - at) * 4 > sizeof small && !(bytes = malloc((end - at) * 4)))
            return no_memory();
        size_t n = 0;
        for (size_t i = at; i < end; i++)
            n += eng_utf8_encode(e->characters.at[i], (char *)bytes + n);
        status = encode_piece(e, bytes, n);
        if (bytes != small)
            free(bytes);
    }
    return status;
}

/* -- over characters -------------------------------------------------------------------- */

/* The symbols of one character: its own, or those of its bytes; how many. */
static size_t character_symbols(const eng_tokenizer *t, const char *text, size_t n, struct node *nodes)
{
    const uint32_t own = *text == ' ' ? eng_tokenizer_symbol(t, "\xe2\x96\x81", 3) : eng_tokenizer_symbol(t, text, n);
    if (own != NO_SYMBOL) {
        nodes[0].symbol = own;
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        nodes[i].symbol = t->byte_symbol[(uint8_t)text[i]];
    return n;
}

/* Line ends do not merge with other characters; of lines of nothing some numbers are tokens, which Gemma's merges do
 * not make. */
static int encode_line(encoder *e, const char *text, size_t length)
{
    const uint32_t whole = *text == '\n' && e->t->whole_words ? eng_tokenizer_symbol(e->t, text, length) : NO_SYMBOL;
    size_t n = 0;
    if (is_word(e->t, whole))
        return eng_ids_add(e->out, (int32_t)whole);
    if (!reserve(e, length))
        return no_memory();
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t c;
        bytes = eng_utf8_decode(text + at, length - at, &c);
        n += character_symbols(e->t, text + at, bytes, e->nodes + n);
    }
    return merge_and_emit(e, n);
}

int eng_bpe_encode_plain(encoder *e, const char *text, size_t length)
{
    int status = ENG_OK;
    if (length >= NONE / 4)
        return eng_fail(ENG_ERR_INVALID, "a text of %zu bytes is too long to be turned into tokens at once", length);
    for (size_t at = 0, end; at < length && !status; at = end) {
        for (end = at + 1; end < length && (text[end] == '\n') == (text[at] == '\n');)
            end++;
        status = encode_line(e, text + at, end - at);
    }
    return status;
}
