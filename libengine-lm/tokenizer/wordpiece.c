/*
 * WordPiece (Devlin et al. 2018): words of the text without case and accents, each the longest piece that it begins
 * with, and the longest that the rest begins with, and so on; a word that is not made of pieces is unknown.
 *
 * Files have pieces that begin a word with U+2581 before them, others as they are.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

#define MOST_CHARACTERS 100 /* of a word that is looked at */

static const char begin[] = "\xe2\x96\x81";
enum { BEGIN = 3 };

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("turning text into tokens"));
}

int eng_wordpiece_prepare(eng_tokenizer *t)
{
    trie_text *texts = malloc(t->n * sizeof *texts);
    size_t n = 0;

    for (uint32_t i = 0; texts && i < t->n; i++)
        if (is_word(t, i) && t->types[i] != TOKEN_UNUSED)
            texts[n++] = (trie_text){string_text(&t->symbols, i), string_length(&t->symbols, i), i};
    const bool fine = texts && eng_trie_create(&t->words, texts, n);
    free(texts);
    return fine ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the tokenizer"));
}

/* The word that e->spelling holds, U+2581 first. */
static int encode_word(encoder *e, size_t characters)
{
    const char *text = e->spelling.at;
    const size_t length = e->spelling.n, before = e->out->n;
    int status = ENG_OK;

    for (size_t at = 0, used; at < length && !status; at += used) {
        uint32_t id = TRIE_NONE;
        const bool looks_begun = at > 0 && length - at >= BEGIN && memcmp(text + at, begin, BEGIN) == 0;
        if (characters <= MOST_CHARACTERS && !looks_begun)
            id = eng_trie_longest(&e->t->words, text + at, length - at, &used);
        if (id == TRIE_NONE) {
            e->out->n = before;
            return e->t->unknown >= 0 ? eng_ids_add(e->out, e->t->unknown) : ENG_OK;
        }
        status = eng_ids_add(e->out, (int32_t)id);
    }
    return status;
}

/* The word so far, if there is one. */
static int end_word(encoder *e, size_t *characters)
{
    const int status = *characters > 0 ? encode_word(e, *characters) : ENG_OK;
    *characters = 0;
    e->spelling.n = 0;
    return status;
}

static int add_character(encoder *e, uint32_t c, size_t *characters)
{
    if (!eu_array_reserve(&e->spelling, e->spelling.n + BEGIN + 4))
        return no_memory();
    if (*characters == 0) {
        memcpy(e->spelling.at, begin, BEGIN);
        e->spelling.n = BEGIN;
    }
    e->spelling.n += eng_utf8_encode(c, e->spelling.at + e->spelling.n);
    ++*characters;
    return ENG_OK;
}

/* A word by itself. */
static bool is_punctuation(uint32_t c)
{
    const bool ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
    return ascii || (c >= 0x80 && (1u << eng_unicode_category(c) & ENG_CATEGORY_PUNCTUATION) != 0);
}

static bool is_chinese(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static int add_part(encoder *e, uint32_t c, bool alone, size_t *characters)
{
    int status = ENG_OK;

    if (eng_unicode_space(c))
        return end_word(e, characters);
    alone |= is_punctuation(c);
    if (alone)
        status = end_word(e, characters);
    if (!status)
        status = add_character(e, c, characters);
    return alone && !status ? end_word(e, characters) : status;
}

int eng_wordpiece_encode(encoder *e, const char *text, size_t length)
{
    size_t characters = 0;
    int status = ENG_OK;

    e->spelling.n = 0;
    for (size_t at = 0; at < length && !status;) {
        uint32_t c, parts[ENG_UNICODE_PARTS];
        at += eng_utf8_decode(text + at, length - at, &c);
        if (c == 0 || c == ENG_UNICODE_REPLACEMENT || (eng_unicode_control(c) && !eng_unicode_space(c)))
            continue;
        const bool alone = is_chinese(c);
        const size_t n = eng_unicode_plain(c, parts);
        for (size_t i = 0; i < n && !status; i++)
            status = add_part(e, parts[i], alone, &characters);
    }
    return status ? status : end_word(e, &characters);
}
