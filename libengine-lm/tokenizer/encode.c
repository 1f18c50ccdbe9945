/* Text to tokens: special tokens are cut out first, the rest goes to BPE or SPM. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"

/* A stretch of the text, or a special token in its place. */
typedef struct fragment {
    const char *text;
    size_t length;
    int32_t token; /* -1: text */
} fragment;

typedef EU_ARRAY(fragment) fragment_list;

/* What is cut, and where control tokens are letters. */
typedef struct text_source {
    const char *at;
    size_t length;
    const eng_tokenizer_range *plain;
    size_t n_plain;
} text_source;

static int no_memory(void)
{
    return eng_fail_code(EU_NO_MEMORY("turning text into tokens"));
}

static int add_fragment(fragment_list *list, fragment item)
{
    return eu_array_add(list, item) ? ENG_OK : no_memory();
}

/* The first place of `wanted` in the text; NULL if it is not there. */
static const char *search(const char *text, size_t length, const char *wanted, size_t n)
{
    const char *end = text + length;

    for (const char *at = text; n <= (size_t)(end - at); at++) {
        at = memchr(at, wanted[0], (size_t)(end - at) - n + 1);
        if (!at)
            return NULL;
        if (memcmp(at, wanted, n) == 0)
            return at;
    }
    return NULL;
}

/* Is any of these bytes in a range? */
static bool is_plain(const text_source *s, const char *at, size_t n)
{
    const size_t from = (size_t)(at - s->at);
    size_t low = 0, high = s->n_plain;
    while (low < high) { /* the first range that ends behind its beginning */
        const size_t middle = (low + high) / 2;
        if (s->plain[middle].to <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_plain && s->plain[low].from < from + n;
}

/* As search, but of control tokens only where they are not letters. */
static const char *search_token(const eng_tokenizer *t, uint32_t token, const text_source *s, const fragment *f)
{
    const char *wanted = string_text(&t->symbols, token), *end = f->text + f->length, *found = f->text;
    const size_t n = string_length(&t->symbols, token);
    while ((found = search(found, (size_t)(end - found), wanted, n)) != NULL && t->types[token] != TOKEN_USER && is_plain(s, found, n))
        found++;
    return found;
}

/* Cuts one special token out of all fragments of text. */
static int cut(const eng_tokenizer *t, uint32_t token, const text_source *s, fragment_list *from, fragment_list *to)
{
    size_t n = string_length(&t->symbols, token);
    int status = ENG_OK;

    to->n = 0;
    for (size_t i = 0; i < from->n && !status; i++) {
        fragment f = from->at[i];
        const char *found;
        while (!status && f.token < 0 && (found = search_token(t, token, s, &f)) != NULL) {
            size_t before = (size_t)(found - f.text);
            if (before > 0)
                status = add_fragment(to, (fragment){f.text, before, -1});
            if (!status)
                status = add_fragment(to, (fragment){found, n, (int32_t)token});
            f.text = found + n;
            f.length -= before + n;
        }
        if (!status && (f.token >= 0 || f.length > 0))
            status = add_fragment(to, f);
    }
    return status;
}

/* Only what occurs at all is cut; most special tokens do not. */
static int cut_special(const eng_tokenizer *t, const text_source *s, bool control, fragment_list *list)
{
    fragment_list other = {0};
    int status = s->length > 0 ? add_fragment(list, (fragment){s->at, s->length, -1}) : ENG_OK;

    for (uint32_t i = 0; i < t->n_special && !status; i++) {
        uint32_t token = t->special[i];
        if (t->types[token] != TOKEN_USER && !control)
            continue;
        if (!search(s->at, s->length, string_text(&t->symbols, token), string_length(&t->symbols, token)))
            continue;
        status = cut(t, token, s, list, &other);
        fragment_list swap = *list;
        *list = other;
        other = swap;
    }
    eu_array_free(&other);
    return status;
}

static int encode_fragments(encoder *e, const fragment_list *list)
{
    int status = ENG_OK;

    for (size_t i = 0; i < list->n && !status; i++) {
        const fragment *f = &list->at[i];
        if (f->token >= 0)
            status = eng_ids_add(e->out, f->token);
        else if (e->t->kind == TOKENIZER_BPE)
            status = eng_bpe_encode(e, f->text, f->length);
        else
            status = eng_spm_encode(e, f->text, f->length, e->t->add_space);
    }
    return status;
}

int eng_tokenizer_encode(const eng_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags, int32_t **ids,
                         size_t *n)
{
    return eng_tokenizer_encode_around(tokenizer, text, length, flags, NULL, 0, ids, n);
}

int eng_tokenizer_encode_around(const eng_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                                const eng_tokenizer_range *plain, size_t n_plain, int32_t **ids, size_t *n)
{
    const text_source source = {text, length, plain, n_plain};
    fragment_list list = {0};
    id_list out = {0};
    encoder e = {.t = tokenizer, .out = &out};
    bool special = (flags & ENG_TOKENIZE_ADD_SPECIAL) != 0;

    int status = cut_special(tokenizer, &source, (flags & ENG_TOKENIZE_PARSE_SPECIAL) != 0, &list);
    if (!status && special && eng_tokenizer_adds_bos(tokenizer))
        status = eng_ids_add(&out, tokenizer->bos);
    if (!status)
        status = encode_fragments(&e, &list);
    if (!status && special && tokenizer->add_eos && tokenizer->eos >= 0)
        status = eng_ids_add(&out, tokenizer->eos);
    eu_array_free(&list);
    eu_array_free(&e.characters);
    eu_array_free(&e.classes);
    eu_array_free(&e.ends);
    eu_array_free(&e.other_ends);
    eu_array_free(&e.spelling);
    free(e.nodes);
    free(e.heap);
    if (status) {
        eu_array_free(&out);
        return status;
    }
    *ids = out.at;
    *n = out.n;
    return ENG_OK;
}
