/*
 * SentencePiece-like tokens: the characters of the text are the first symbols, and
 * the pair of neighbours whose joined spelling is the token of the highest score
 * merges, leftmost among equals, until no pair is a token.  Characters that are no
 * token become the tokens of their bytes.
 *
 * Two characters that no piece has side by side never merge, nor does what they
 * became: the text is cut between them, so that most heaps are as small as words.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

#define NONE UINT32_MAX

/* A stretch of the text; length 0: merged into its left neighbour. */
struct node {
    uint32_t start, length;
    uint32_t previous, next;
};

typedef struct candidate {
    float score;
    uint32_t node;
    uint32_t length; /* of both together: tells whether they are still the same */
} candidate;

typedef struct heap {
    candidate *entries;
    size_t n;
} heap;

static bool before(const candidate *a, const candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->node < b->node);
}

static void push(heap *h, candidate entry)
{
    size_t i = h->n++;

    for (; i > 0 && before(&entry, &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = entry;
}

static candidate pop(heap *h)
{
    candidate best = h->entries[0], last = h->entries[--h->n];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && before(&h->entries[child + 1], &h->entries[child]))
            child++;
        if (!before(&h->entries[child], &last))
            break;
        h->entries[i] = h->entries[child];
    }
    h->entries[i] = last;
    return best;
}

static void look(const eng_tokenizer *t, const struct node *nodes, const char *text, uint32_t i, heap *h)
{
    if (i == NONE || nodes[i].next == NONE)
        return;
    uint32_t length = nodes[i].length + nodes[nodes[i].next].length;
    uint32_t token = eng_tokenizer_symbol(t, text + nodes[i].start, length);
    if (is_word(t, token))
        push(h, (candidate){t->scores[token], i, length});
}

static void merge_nodes(const eng_tokenizer *t, struct node *nodes, const char *text, heap *h)
{
    while (h->n > 0) {
        candidate best = pop(h);
        struct node *left = &nodes[best.node];
        if (left->length == 0 || left->next == NONE || left->length + nodes[left->next].length != best.length)
            continue;
        struct node *right = &nodes[left->next];
        left->length = best.length;
        left->next = right->next;
        right->length = 0;
        if (left->next != NONE)
            nodes[left->next].previous = best.node;
        look(t, nodes, text, left->previous, h);
        look(t, nodes, text, best.node, h);
    }
}

/* Without tokens for bytes, characters side by side that are no tokens are one unknown. */
static int emit(encoder *e, const char *text, size_t length, bool *unknown)
{
    const eng_tokenizer *t = e->t;
    const uint32_t token = eng_tokenizer_symbol(t, text, length);
    const bool before = *unknown;
    int status = ENG_OK;

    *unknown = false;
    if (is_word(t, token))
        return eng_ids_add(e->out, (int32_t)token);
    for (size_t i = 0; i < length && !status; i++) {
        const uint32_t byte = t->byte_symbol[(uint8_t)text[i]];
        if (byte < t->n)
            status = eng_ids_add(e->out, (int32_t)byte);
        else
            *unknown = true;
    }
    return *unknown && !before && t->unknown >= 0 && !status ? eng_ids_add(e->out, t->unknown) : status;
}

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("turning text into tokens"));
}

/* -- where text can be cut ---------------------------------------------------------------- */

#define JOINED_BITS 18

/* Bytes of the character at `at` < length. */
static size_t character(const char *text, size_t length, size_t at)
{
    const size_t bytes = eng_utf8_length(text[at]);
    return bytes < length - at ? bytes : length - at;
}

/* A bit for two characters side by side; others may have it, too, and then there is one cut less. */
static uint32_t bit_of(const char *text, size_t first, size_t second)
{
    uint32_t a = 0, b = 0;
    memcpy(&a, text, first < 4 ? first : 4);
    memcpy(&b, text + first, second < 4 ? second : 4);
    return (a * 0x9e3779b1u + b * 0x85ebca77u) >> (32 - JOINED_BITS);
}

int eng_spm_prepare(eng_tokenizer *t)
{
    t->joined = calloc((1u << JOINED_BITS) / 64, sizeof *t->joined);
    if (!t->joined)
        return no_memory();
    for (uint32_t i = 0; i < t->n; i++) {
        const char *text = string_text(&t->symbols, i);
        const size_t length = is_word(t, i) ? string_length(&t->symbols, i) : 0;
        for (size_t at = 0, n; at < length; at += n) {
            n = character(text, length, at);
            if (at + n == length)
                break;
            const uint32_t bit = bit_of(text + at, n, character(text, length, at + n));
            t->joined[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    return ENG_OK;
}

/* The first place behind `from` where text can be cut. */
static size_t cut_behind(const eng_tokenizer *t, const char *text, size_t length, size_t from)
{
    for (size_t at = from, n = character(text, length, at), next; at + n < length; at += n, n = next) {
        next = character(text, length, at + n);
        const uint32_t bit = bit_of(text + at, n, next);
        if (!(t->joined[bit / 64] >> bit % 64 & 1))
            return at + n;
    }
    return length;
}

/* -- tokens -------------------------------------------------------------------------------- */

static const char space[] = "\xe2\x96\x81";

/* The text with U+2581 as spaces, which mean the same, and one more before it. */
static char *with_spaces(const char *text, size_t length, bool space_before, size_t *n)
{
    char *result = malloc(length + 1);

    if (!result)
        return NULL;
    *n = 0;
    if (space_before)
        result[(*n)++] = ' ';
    for (size_t i = 0; i < length; i++) {
        const bool is_space = length - i >= 3 && memcmp(text + i, space, 3) == 0;
        result[(*n)++] = is_space ? ' ' : text[i];
        i += is_space ? 2 : 0;
    }
    return result;
}

/* The text with its spaces as U+2581. */
static char *spaced(const char *text, size_t length, size_t *n)
{
    char *result = malloc(length * 3 + 1);

    if (!result)
        return NULL;
    *n = 0;
    for (size_t i = 0; i < length; i++) {
        memcpy(result + *n, text[i] == ' ' ? space : text + i, text[i] == ' ' ? 3 : 1);
        *n += text[i] == ' ' ? 3 : 1;
    }
    return result;
}

static int encode_uncut(encoder *e, const char *text, size_t length, bool *unknown)
{
    const eng_tokenizer *t = e->t;
    heap h = {0};

    e->heap = eu_grow(e->heap, &e->heap_room, 3 * length, sizeof *h.entries);
    if (e->heap_room < 3 * length || !eu_reserve(e->nodes, e->node_room, length))
        return no_memory();
    h.entries = e->heap;
    struct node *nodes = e->nodes;
    uint32_t n = 0;
    for (size_t at = 0; at < length; n++) {
        const size_t bytes = character(text, length, at);
        nodes[n] = (struct node){(uint32_t)at, (uint32_t)bytes, n ? n - 1 : NONE, n + 1};
        at += bytes;
    }
    nodes[n - 1].next = NONE;
    for (uint32_t i = 0; i + 1 < n; i++)
        look(t, nodes, text, i, &h);
    merge_nodes(t, nodes, text, &h);
    int status = ENG_OK;
    for (uint32_t i = 0; i != NONE && !status; i = nodes[i].next)
        status = emit(e, text + nodes[i].start, nodes[i].length, unknown);
    return status;
}

static int encode_spaced(encoder *e, const char *text, size_t length)
{
    bool unknown = false;
    int status = ENG_OK;
    for (size_t at = 0, end; at < length && !status; at = end) {
        end = cut_behind(e->t, text, length, at);
        status = encode_uncut(e, text + at, end - at, &unknown);
    }
    return status;
}

/* A stretch without pieces that the model's maker has defined. */
static int encode_stretch(encoder *e, const char *text, size_t length)
{
    size_t n;
    char *text_spaced = spaced(text, length, &n);
    if (!text_spaced)
        return no_memory();
    int status = encode_spaced(e, text_spaced, n);
    free(text_spaced);
    return status;
}

int eng_spm_encode(encoder *e, const char *text, size_t length, bool space_before)
{
    size_t n = 0;

    if (length >= NONE / 4)
        return eng_fail(ENG_ERR_INVALID, "a text of %zu bytes is too long to be turned into tokens at once", length);
    if (length == 0)
        return ENG_OK;
    char *all = with_spaces(text, length, space_before, &n);
    int status = all ? ENG_OK : no_memory();
    special_search search = {.which = SPECIAL_USER};
    for (size_t from = 0, at; from < n && !status;) {
        const int32_t token = eng_special_next(e->t, all, n, from, &search, &at);
        if (at > from)
            status = encode_stretch(e, all + from, at - from);
        from = at;
        if (token >= 0 && !status) {
            status = eng_ids_add(e->out, token);
            from += string_length(&e->t->pieces, (uint32_t)token);
        }
    }
    free(all);
    return status;
}
