/*
 * Unigram (Kudo 2018): of all ways to make the text of pieces the one whose scores sum up to most, found from left to
 * right (Viterbi 1967); before that the text is normalised as SentencePiece does it.  Sums are rounded as there, so
 * that what is equally good there is so here; pieces that the model's maker has defined count 0, which is more than
 * others.
 */
#include "config.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

/* How much worse than the worst piece a character is that is none. */
#define UNKNOWN_PENALTY 10.0f
#define NONE UINT32_MAX

/* Normalisation makes at most 33 bytes of three, and a space is three: what makes more is no such table. */
#define MOST_SPELT(length) (64 * (length) + 4096)

/* The best way to the place behind a byte: by the piece that begins at `from`. */
struct node {
    float score;
    uint32_t from;
    int32_t token; /* -1: an unknown character */
};

static const char space[] = "\xe2\x96\x81";

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("turning text into tokens"));
}

/* -- what a text is made of, once ------------------------------------------------------- */

int eng_unigram_prepare(eng_tokenizer *t)
{
    trie_text *all = malloc(t->n * sizeof *all), *user = malloc(t->n * sizeof *user);
    size_t n = 0, n_user = 0;

    t->least_score = FLT_MAX;
    for (uint32_t i = 0; all && user && i < t->n; i++) {
        const bool normal = t->types[i] == TOKEN_NORMAL;
        const trie_text text = {string_text(&t->symbols, i), string_length(&t->symbols, i), i};
        if (normal || t->types[i] == TOKEN_USER)
            all[n++] = text;
        if (t->types[i] == TOKEN_USER)
            user[n_user++] = text;
        if (normal && t->least_score > t->scores[i])
            t->least_score = t->scores[i];
    }
    const bool fine = all && user && eng_trie_create(&t->words, all, n) && eng_trie_create(&t->user, user, n_user);
    free(all);
    free(user);
    return fine ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the tokenizer"));
}

/* -- normalisation ------------------------------------------------------------------------ */

/* What the beginning of a text becomes. */
typedef struct replaced {
    const char *text;
    size_t length, used;
} replaced;

static replaced next_part(const eng_tokenizer *t, const char *text, size_t length)
{
    replaced r = {text, 0, 0};
    uint32_t c;

    if (eng_trie_longest(&t->user, text, length, &r.used) != TRIE_NONE) {
        r.length = r.used;
        return r;
    }
    r.used = eng_charsmap_longest(&t->charsmap, text, length, &r.text);
    if (r.used) {
        r.length = strlen(r.text);
        return r;
    }
    r.length = r.used = eng_utf8_decode(text, length, &c);
    if (c == ENG_UNICODE_REPLACEMENT && r.used == 1)
        return (replaced){"\xef\xbf\xbd", 3, 1};
    return r;
}

static bool add(encoder *e, const char *text, size_t length)
{
    if (!eu_array_reserve(&e->spelling, e->spelling.n + 3 * length))
        return false;
    for (size_t i = 0; i < length; i++) {
        const bool is_space = text[i] == ' ';
        memcpy(e->spelling.at + e->spelling.n, is_space ? space : text + i, is_space ? 3 : 1);
        e->spelling.n += is_space ? 3 : 1;
    }
    return true;
}

/* Spaces at both ends, and all but one between words, are left out where the model wants it so. */
static bool normalise(encoder *e, const char *text, size_t length)
{
    const bool fewer = e->t->fewer_spaces;
    bool fine = true, after_space = fewer, begun = false;

    e->spelling.n = 0;
    for (size_t at = 0; at < length && fine;) {
        replaced r = next_part(e->t, text + at, length - at);
        at += r.used;
        if (!begun && fewer && r.length == 1 && r.text[0] == ' ')
            continue;
        if (!begun && e->t->add_space)
            fine = add(e, " ", 1);
        begun = true;
        for (; after_space && r.length > 0 && r.text[0] == ' '; r.length--)
            r.text++;
        fine = fine && add(e, r.text, r.length);
        if (r.length > 0)
            after_space = fewer && r.text[r.length - 1] == ' ';
        if (e->spelling.n > MOST_SPELT(length))
            return true; /* which is refused */
    }
    while (fewer && e->spelling.n >= 3 && memcmp(e->spelling.at + e->spelling.n - 3, space, 3) == 0)
        e->spelling.n -= 3;
    return fine;
}

/* -- the best way ------------------------------------------------------------------------------ */

static void arrive(struct node *to, float score, uint32_t from, int32_t token)
{
    if (to->from == NONE || score > to->score)
        *to = (struct node){score, from, token};
}

/* All pieces from a place on; a character that is none by itself may be unknown. */
static void go_on(const eng_tokenizer *t, struct node *nodes, const char *text, size_t length, uint32_t at)
{
    const float here = nodes[at].score;
    size_t character = eng_utf8_length(text[at]);
    bool known = false;

    character = character < length - at ? character : length - at;
    for (size_t i = at, node = 0; i < length; i++) {
        node = eng_trie_step(&t->words, (uint32_t)node, (uint8_t)text[i]);
        if (node == TRIE_NONE)
            break;
        const uint32_t id = t->words.nodes[node].id;
        if (id == TRIE_NONE)
            continue;
        const size_t bytes = i + 1 - at;
        arrive(&nodes[i + 1], (t->types[id] == TOKEN_USER ? 0.0f : t->scores[id]) + here, at, (int32_t)id);
        known |= bytes == character;
    }
    if (!known)
        arrive(&nodes[at + character], t->least_score - UNKNOWN_PENALTY + here, at, -1);
}

/* The bytes of a character that is no piece, where they have tokens; what has none is unknown, once side by side. */
static int add_unknown(encoder *e, const char *text, size_t length, bool *unknown)
{
    const eng_tokenizer *t = e->t;
    int status = ENG_OK;

    for (size_t i = 0; i < length && !status; i++) {
        const uint32_t byte = t->byte_symbol[(uint8_t)text[i]];
        if (byte < t->n)
            status = eng_ids_add(e->out, (int32_t)byte);
        else if (!*unknown && t->unknown >= 0)
            status = eng_ids_add(e->out, t->unknown);
        *unknown = byte >= t->n;
    }
    return status;
}

/* The way is turned round: each place gets the piece that begins there, and where that ends. */
static int add_pieces(encoder *e, struct node *nodes, uint32_t end)
{
    int status = ENG_OK;
    bool unknown = false;

    int32_t token = nodes[end].token;
    for (uint32_t at = end, from; at > 0; at = from) {
        from = nodes[at].from;
        const int32_t before = nodes[from].token;
        nodes[from].token = token;
        token = before;
        e->characters.at[from] = at;
    }
    for (uint32_t at = 0, to; at < end && !status; at = to) {
        to = e->characters.at[at];
        token = nodes[at].token;
        status = token >= 0 ? eng_ids_add(e->out, token) : add_unknown(e, e->spelling.at + at, to - at, &unknown);
        unknown &= token < 0;
    }
    return status;
}

int eng_unigram_encode(encoder *e, const char *text, size_t length)
{
    if (length >= NONE / 64)
        return eng_fail(ENG_ERR_INVALID, "a text of %zu bytes is too long to be turned into tokens at once", length);
    if (!normalise(e, text, length))
        return no_memory();
    const size_t n = e->spelling.n;
    if (n > MOST_SPELT(length))
        return eng_fail(ENG_ERR_FORMAT, "a text of %zu bytes would be normalised to more than %zu" ENG_CAUSE
                        "the file's table of replacements (tokenizer.ggml.precompiled_charsmap) is no Unicode normalisation", length,
                        MOST_SPELT(length));
    if (n >= NONE - 1)
        return eng_fail(ENG_ERR_INVALID, "a text of %zu bytes is too long to be turned into tokens at once", length);
    if (!eu_reserve(e->nodes, e->node_room, n + 1) || !eu_array_reserve(&e->characters, n + 1))
        return no_memory();
    for (size_t i = 0; i <= n; i++)
        e->nodes[i] = (struct node){0, NONE, -1};
    e->nodes[0].from = 0;
    for (uint32_t at = 0; at < n; at++)
        if (e->nodes[at].from != NONE)
            go_on(e->t, e->nodes, e->spelling.at, n, at);
    return add_pieces(e, e->nodes, (uint32_t)n);
}
