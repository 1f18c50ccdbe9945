/* Text to tokens: special tokens are cut out first, the rest goes to the tokenizer's kind. */
#include "config.h"

#include <stdlib.h>

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

/* Cuts special tokens out.  What SPM's makers have defined is cut out of each stretch when that is spaced (spm.c), and
 * unigram has it among its pieces. */
static int cut_special(const eng_tokenizer *t, const text_source *s, bool control, fragment_list *list)
{
    special_search search = {.which = (t->kind == TOKENIZER_SPM || t->kind == TOKENIZER_UNIGRAM ? 0 : SPECIAL_USER) |
                                      (control ? SPECIAL_CONTROL : 0),
                             .plain = s->plain,
                             .n_plain = s->n_plain};
    int status = ENG_OK;

    for (size_t from = 0; from < s->length && !status;) {
        size_t at;
        const int32_t token = eng_special_next(t, s->at, s->length, from, &search, &at);
        const size_t used = token < 0 ? 0 : string_length(&t->pieces, (uint32_t)token);
        if (at > from)
            status = add_fragment(list, (fragment){s->at + from, at - from, -1});
        if (token >= 0 && !status)
            status = add_fragment(list, (fragment){s->at + at, used, token});
        from = at + used;
    }
    return status;
}

static int encode_text(encoder *e, const char *text, size_t length)
{
    switch (e->t->kind) {
    case TOKENIZER_BPE:
        return e->t->plain ? eng_bpe_encode_plain(e, text, length) : eng_bpe_encode(e, text, length);
    case TOKENIZER_SPM: return eng_spm_encode(e, text, length, e->t->add_space);
    case TOKENIZER_UNIGRAM: return eng_unigram_encode(e, text, length);
    case TOKENIZER_WORDPIECE: return eng_wordpiece_encode(e, text, length);
    default: return eng_greedy_encode(e, text, length);
    }
}

static int encode_fragments(encoder *e, const fragment_list *list)
{
    int status = ENG_OK;

    for (size_t i = 0; i < list->n && !status; i++) {
        const fragment *f = &list->at[i];
        status = f->token >= 0 ? eng_ids_add(e->out, f->token) : encode_text(e, f->text, f->length);
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
