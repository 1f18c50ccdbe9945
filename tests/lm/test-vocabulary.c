/* Tokenizers of small vocabularies made here: rules of BPE and SPM, refusals, damaged files. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "words.h"

#define PATH "test-vocabulary.tmp"

/* -- small tokenizers made here --------------------------------------------------------- */

typedef struct recipe {
    const char *model, *pre;
    const char *const *tokens;
    uint32_t n;
    const int32_t *types;
    const char *const *merges;
    uint32_t n_merges;
    const float *scores;
    int add_bos, bos, eos; /* -1: not in the file */
    int add_space;
    uint32_t n_types; /* 0: n */
} recipe;

static void put_texts(eng_gguf_writer *w, const char *name, const char *const *texts, uint32_t n)
{
    eng_gguf_string list[64];

    for (uint32_t i = 0; i < n; i++)
        list[i] = (eng_gguf_string){texts[i], strlen(texts[i])};
    ck_assert_int_eq(eng_gguf_writer_texts(w, name, list, n), ENG_OK);
}

static void put_list(eng_gguf_writer *w, const char *name, uint32_t type, const void *data, uint32_t n)
{
    eng_gguf_key key = {{name, strlen(name)}, ENG_GGUF_ARRAY, type, n, data};

    ck_assert_int_eq(eng_gguf_writer_key(w, &key), ENG_OK);
}

static void put_id(eng_gguf_writer *w, const char *name, uint32_t type, int value)
{
    if (value >= 0)
        ck_assert_int_eq(eng_gguf_writer_integer(w, name, type, value), ENG_OK);
}

static void write_file(const recipe *r)
{
    eng_gguf_writer *w = NULL;

    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    if (r->model)
        eng_gguf_writer_text(w, "tokenizer.ggml.model", r->model);
    if (r->pre)
        eng_gguf_writer_text(w, "tokenizer.ggml.pre", r->pre);
    if (r->tokens)
        put_texts(w, "tokenizer.ggml.tokens", r->tokens, r->n);
    if (r->merges)
        put_texts(w, "tokenizer.ggml.merges", r->merges, r->n_merges);
    if (r->types)
        put_list(w, "tokenizer.ggml.token_type", ENG_GGUF_I32, r->types, r->n_types ? r->n_types : r->n);
    if (r->scores)
        put_list(w, "tokenizer.ggml.scores", ENG_GGUF_F32, r->scores, r->n);
    put_id(w, "tokenizer.ggml.add_bos_token", ENG_GGUF_BOOL, r->add_bos);
    put_id(w, "tokenizer.ggml.bos_token_id", ENG_GGUF_U32, r->bos);
    put_id(w, "tokenizer.ggml.eos_token_id", ENG_GGUF_U32, r->eos);
    put_id(w, "tokenizer.ggml.add_space_prefix", ENG_GGUF_BOOL, r->add_space);
    ck_assert_int_eq(eng_gguf_writer_save(w, PATH), ENG_OK);
    eng_gguf_writer_destroy(w);
}

static int make(const recipe *r, eng_tokenizer **t)
{
    eng_gguf *g = NULL;

    write_file(r);
    ck_assert_msg(eng_gguf_open(PATH, &g) == ENG_OK, "%s", eng_last_error());
    unlink(PATH);
    int status = eng_tokenizer_create(g, t);
    eng_gguf_close(g);
    return status;
}

/* 0 a, 1 b, 2 c, 3 ab, 4 bc, 5 abc, 6 aa, 7 space b, 8 <x>, 9 <xy>, 10 user */
static const char *const bpe_tokens[] = {"a",
                                         "b",
                                         "c",
                                         "ab",
                                         "bc",
                                         "abc",
                                         "aa",
                                         ("\xc4\xa0"
                                          "b"),
                                         "<x>",
                                         "<x>y",
                                         "USER",
                                         "abcabc"};
static const int32_t bpe_types[] = {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 4, 1};
/* "abca" is no token: it comes and goes */
static const char *const bpe_merges[] = {"b c", "a b", "a bc", "a a", "\xc4\xa0 b", "abc a"};
static const recipe bpe = {.model = "gpt2",
                           .pre = "qwen2",
                           .tokens = bpe_tokens,
                           .n = 12,
                           .types = bpe_types,
                           .merges = bpe_merges,
                           .n_merges = 6,
                           .add_bos = -1,
                           .bos = -1,
                           .eos = -1,
                           .add_space = -1};

START_TEST(bpe_rules)
{
    eng_tokenizer *t = NULL;

    ck_assert_msg(make(&bpe, &t) == ENG_OK, "%s", eng_last_error());
    expect(t, "abc", 3, 0, "5"); /* b c first, then a bc */
    expect(t, "ab", 2, 0, "3");
    expect(t, "aaa", 3, 0, "6 0"); /* the leftmost of equals */
    expect(t, "aaaa", 4, 0, "6 6");
    expect(t, "abca", 4, 0, "0 1 2 0"); /* merged to what is no token: byte by byte */
    expect(t, "a b", 3, 0, "0 7");
    expect(t, "a<x>b", 5, 0, "0 1"); /* < x > are no tokens: dropped */
    expect(t, "a<x>b", 5, ENG_TOKENIZE_PARSE_SPECIAL, "0 8 1");
    expect(t, "<x>y<x><x>y", 11, ENG_TOKENIZE_PARSE_SPECIAL, "9 8 9"); /* the longest first */
    expect(t, "aUSERUSERb", 10, 0, "0 10 10 1");                       /* user-defined ones always */
    expect(t, "abcabc", 6, 0, "5 5");                                  /* though it is a token */
    eng_tokenizer_destroy(t);
    recipe whole = bpe;
    whole.pre = "llama-bpe"; /* a piece that is a token is taken whole; BOS by default */
    whole.bos = 8;
    ck_assert_int_eq(make(&whole, &t), ENG_OK);
    expect(t, "abcabc", 6, 0, "11");
    expect(t, "abc", 3, ENG_TOKENIZE_ADD_SPECIAL, "8 5");
    eng_tokenizer_destroy(t);
    whole.add_bos = 0;
    ck_assert_int_eq(make(&whole, &t), ENG_OK);
    expect(t, "abc", 3, ENG_TOKENIZE_ADD_SPECIAL, "5");
    eng_tokenizer_destroy(t);
}
END_TEST

static const char *const spm_tokens[] = {
    "<unk>", "<s>", "</s>", "<0x41>", "<0xC3>", "<0xA9>",         "\xe2\x96\x81",      "h",  "e",
    "l",     "o",   "he",   "ll",     "hell",   "\xe2\x96\x81he", "\xe2\x96\x81hello", "lo", "hello"};
static const int32_t spm_types[] = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const float spm_scores[] = {0, 0, 0, 0, 0, 0, -1, -2, -2, -2, -2, -3, -4, -5, -6, -7, -3.5f, -8};
static const recipe spm = {.model = "llama",
                           .tokens = spm_tokens,
                           .n = 18,
                           .types = spm_types,
                           .scores = spm_scores,
                           .add_bos = -1,
                           .bos = -1,
                           .eos = -1,
                           .add_space = -1};

START_TEST(spm_rules)
{
    eng_tokenizer *t = NULL;
    char *text;
    size_t length;
    static const int32_t ids[] = {14, 9, 16, 6, 4, 5};

    ck_assert_msg(make(&spm, &t) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_tokenizer_bos(t), 1);
    ck_assert_int_eq(eng_tokenizer_eos(t), 2);
    ck_assert(eng_tokenizer_is_end(t, 2));
    /* h e (-3), l o (-3.5), then space he (-6); no token joins what is left */
    expect(t, "hello", 5, 0, "14 9 16");
    expect(t, "hello", 5, ENG_TOKENIZE_ADD_SPECIAL, "1 14 9 16");
    expect(t, "ll", 2, 0, "6 12");
    expect(t, "A", 1, 0, "6 3"); /* no token: its byte */
    expect(t, "\xc3\xa9", 2, 0, "6 4 5");
    expect(t, "?", 1, 0, "6 0");                                     /* no byte either: unknown */
    expect(t, "h</s>h", 6, ENG_TOKENIZE_PARSE_SPECIAL, "6 7 2 6 7"); /* a space after special tokens too */
    ck_assert_int_eq(eng_tokenizer_decode(t, ids, 6, 0, &text, &length), ENG_OK);
    ck_assert_str_eq(text, "hello \xc3\xa9");
    free(text);
    ck_assert_int_eq(eng_tokenizer_decode(t, ids, 6, ENG_DETOKENIZE_KEEP_SPACE, &text, &length), ENG_OK);
    ck_assert_str_eq(text, " hello \xc3\xa9");
    free(text);
    stream(t, "hello hello \xc3\xa9", 14);
    eng_tokenizer_destroy(t);
    recipe bare = spm;
    bare.add_space = 0;
    ck_assert_int_eq(make(&bare, &t), ENG_OK);
    expect(t, "hello", 5, 0, "11 9 16");
    eng_tokenizer_destroy(t);
}
END_TEST

/* Tokens that are called bytes and spell none, with signs and spaces that readers of numbers take: they stand for their
 * letters, and no byte is written with them. */
START_TEST(bytes_that_are_none)
{
    static const char *const own[] = {"<unk>",  "</s>",  "<0x-1>", "<0x+1>", "<0x 1>",
                                      "<0x1g>", "<0x1>", "<0xfe>", "<0x0x>", "<0xFF"};
    static const int32_t kinds[] = {2, 3, 6, 6, 6, 6, 6, 6, 6, 6};
    static const float scores[10] = {0};
    eng_tokenizer *t = NULL;
    recipe r = spm;

    r.tokens = own, r.types = kinds, r.scores = scores, r.n = 10, r.add_space = 0;
    ck_assert_int_eq(make(&r, &t), ENG_OK);
    for (int32_t id = 2; id < 10; id++) {
        char *text;
        size_t length;
        ck_assert_int_eq(eng_tokenizer_decode(t, &id, 1, ENG_DETOKENIZE_KEEP_SPACE, &text, &length), ENG_OK);
        if (id == 7)
            ck_assert_msg(length == 1 && (uint8_t)text[0] == 0xfe, "%s is %zu bytes", own[id], length);
        else
            ck_assert_msg(length == strlen(own[id]) && memcmp(text, own[id], length) == 0, "%s is %.*s", own[id],
                          (int)length, text);
        free(text);
    }
    expect(t, "\xff", 1, 0, "0");
    expect(t, "\x01", 1, 0, "0");
    eng_tokenizer_destroy(t);
}
END_TEST

/* Control tokens whose letters merge, or are a word. */
START_TEST(control_letters)
{
    static const char *const spm_own[] = {"<unk>", "</s>", "<", "/", "s", ">", "</", "s>", "\xe2\x96\x81"};
    static const char *const bpe_own[] = {"<", "|", ">", "<|", "<|>"}, *const merges[] = {"< |", "<| >"};
    static const int32_t spm_kinds[] = {2, 3, 1, 1, 1, 1, 1, 1, 1}, bpe_kinds[] = {1, 1, 1, 1, 3};
    static const float scores[] = {0, 0, -1, -1, -1, -1, -2, -2, -1};
    static const eng_tokenizer_range inside = {2, 3}, before = {0, 1};
    eng_tokenizer *t = NULL;
    recipe r = spm;
    int32_t *ids;
    size_t n;

    r.tokens = spm_own, r.types = spm_kinds, r.scores = scores, r.n = 9, r.add_space = 0;
    ck_assert_int_eq(make(&r, &t), ENG_OK);
    expect(t, "</s>", 4, 0, "6 7");
    expect(t, "s</s>", 5, ENG_TOKENIZE_PARSE_SPECIAL, "4 1");
    ck_assert_int_eq(eng_tokenizer_encode_around(t, "s</s>", 5, ENG_TOKENIZE_PARSE_SPECIAL, &inside, 1, &ids, &n),
                     ENG_OK);
    ck_assert(n == 3 && ids[0] == 4 && ids[1] == 6 && ids[2] == 7);
    free(ids);
    ck_assert_int_eq(eng_tokenizer_encode_around(t, "s</s>", 5, ENG_TOKENIZE_PARSE_SPECIAL, &before, 1, &ids, &n),
                     ENG_OK);
    ck_assert(n == 2 && ids[1] == 1);
    free(ids);
    eng_tokenizer_destroy(t);
    for (int whole = 0; whole < 2; whole++) {
        r = bpe;
        r.tokens = bpe_own, r.types = bpe_kinds, r.n = 5, r.merges = merges, r.n_merges = 2,
        r.pre = whole ? "llama-bpe" : "qwen2";
        r.add_bos = 0;
        ck_assert_int_eq(make(&r, &t), ENG_OK);
        expect(t, "<|>", 3, 0, "0 1 2");
        expect(t, "<|<|>", 5, ENG_TOKENIZE_PARSE_SPECIAL, "3 4");
        eng_tokenizer_destroy(t);
    }
}
END_TEST

/* BPE over characters by the name of a pre-tokenizer.  Three line ends are a token that no merge makes: Gemma's
 * tokenizers take it. */
START_TEST(lines)
{
    static const char *const tokens[] = {"\n", "\n\n\n", "\xe2\x96\x81", "a", "\xe2\x96\x81" "a", "<0xC3>", "<0xA9>", "<bos>"};
    static const int32_t types[] = {1, 1, 1, 1, 1, 6, 6, 3};
    static const char *const merges[] = {"\xe2\x96\x81 a"};
    static const char *const names[] = {"gemma4", "granite-embed-multi-311m", "sarvam-moe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bool gemma = i < 2;
        recipe r = {.model = "gpt2", .pre = names[i], .tokens = tokens, .n = 8, .types = types, .merges = merges, .n_merges = 1,
                    .add_bos = 0, .bos = 7, .eos = -1, .add_space = -1};
        eng_tokenizer *t = NULL;
        ck_assert_msg(make(&r, &t) == ENG_OK, "%s", eng_last_error());
        expect(t, "a a", 3, 0, "3 4");
        expect(t, "\xc3\xa9", 2, 0, "5 6");
        expect(t, "a\n\n\n a", 6, 0, gemma ? "3 1 4" : "3 0 0 0 4");
        expect(t, "a", 1, ENG_TOKENIZE_ADD_SPECIAL, gemma ? "7 3" : "3"); /* what Gemma's files say of it is wrong */
        stream(t, "a a\n\n\n\xc3\xa9", 8);
        eng_tokenizer_destroy(t);
        r.add_bos = 1;
        ck_assert_int_eq(make(&r, &t), ENG_OK);
        expect(t, "a", 1, ENG_TOKENIZE_ADD_SPECIAL, "7 3");
        eng_tokenizer_destroy(t);
    }
}
END_TEST

static void refused(const recipe *r, int status, const char *text)
{
    eng_tokenizer *t = NULL;

    ck_assert_int_eq(make(r, &t), status);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(eng_last_error(), text), "\"%s\" does not say \"%s\"", eng_last_error(), text);
}

START_TEST(refusals)
{
    static const char *const no_gap[] = {"ab"}, *const no_right[] = {"ab "};
    recipe r = bpe;

    r.model = NULL;
    refused(&r, ENG_ERR_NOTFOUND, "tokenizer.ggml.model");
    r.model = "none";
    refused(&r, ENG_ERR_NOTFOUND, "no tokenizer");
    r.model = "t5";
    refused(&r, ENG_ERR_NOTFOUND, "tokenizer.ggml.scores");
    r.model = "plamo2";
    refused(&r, ENG_ERR_UNSUPPORTED, "the tokenizer \"plamo2\" is not known");
    r.model = "hybriddna";
    refused(&r, ENG_ERR_UNSUPPORTED, "the tokenizer \"hybriddna\" is not known");
    r.model = "sphinx";
    refused(&r, ENG_ERR_UNSUPPORTED, "the tokenizer \"sphinx\" is not known");
    r = bpe;
    r.pre = "unheard-of";
    refused(&r, ENG_ERR_UNSUPPORTED, "unheard-of");
    r.pre = "whitespace"; /* of a text encoder, with a normaliser of its own */
    refused(&r, ENG_ERR_UNSUPPORTED, "the pre-tokenizer \"whitespace\" is not known");
    r.pre = NULL;
    refused(&r, ENG_ERR_FORMAT, "tokenizer.ggml.pre");
    r = bpe;
    r.tokens = NULL;
    refused(&r, ENG_ERR_NOTFOUND, "tokenizer.ggml.tokens");
    r = bpe;
    r.merges = NULL;
    refused(&r, ENG_ERR_NOTFOUND, "tokenizer.ggml.merges");
    r.n_merges = 1;
    r.merges = no_gap;
    refused(&r, ENG_ERR_FORMAT, "merge number 0");
    r.merges = no_right;
    refused(&r, ENG_ERR_FORMAT, "merge number 0");
    r = bpe;
    r.n_types = 11;
    refused(&r, ENG_ERR_FORMAT, "one for each token");
    r = bpe;
    r.bos = 12;
    refused(&r, ENG_ERR_FORMAT, "bos_token_id");
    eng_tokenizer_destroy(NULL);
}
END_TEST

/* Does with a tokenizer all that can be done; a fault ends the test. */
static void use(const eng_tokenizer *t)
{
    static const char text[] = "abcabc hello <x> <0x41> \xc3\xa9 \xff";
    int32_t *ids;
    char *back;
    size_t n, length;

    if (eng_tokenizer_encode(t, text, sizeof text, 3, &ids, &n) == ENG_OK) {
        ck_assert_int_eq(eng_tokenizer_decode(t, ids, n, 1, &back, &length), ENG_OK);
        free(back);
        free(ids);
    }
    for (int32_t id = -1; id <= (int32_t)eng_tokenizer_count(t); id++) {
        eng_tokenizer_piece(t, id, true, &n);
        eng_tokenizer_is_end(t, id);
    }
}

/* Files with changed bytes make a tokenizer or are refused with a text. */
START_TEST(damaged)
{
    const recipe *recipes[] = {&bpe, &spm};
    static uint8_t whole[8192], changed[8192];
    uint64_t state = 11;
    int made = 0, rounds = 4000;
    size_t n = 0;

    for (int round = 0; round < rounds; round++) {
        if (round % (rounds / 2) == 0)
            write_file(recipes[round / (rounds / 2)]);
        FILE *f = fopen(PATH, "rb");
        if (round % (rounds / 2) == 0)
            n = fread(whole, 1, sizeof whole, f);
        fclose(f);
        memcpy(changed, whole, n);
        for (int k = 0; k <= round % 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (state >> 40) % n;
            changed[at] = (uint8_t)(state & 1 << 20 ? changed[at] ^ 1u << (state >> 35 & 7) : state >> 24);
        }
        f = fopen(PATH, "wb");
        ck_assert_uint_eq(fwrite(changed, 1, n, f), n);
        fclose(f);
        eng_gguf *g = NULL;
        eng_tokenizer *t = NULL;
        if (eng_gguf_open(PATH, &g) == ENG_OK && eng_tokenizer_create(g, &t) == ENG_OK) {
            made++;
            use(t);
        } else {
            ck_assert(eng_last_error()[0]);
        }
        eng_tokenizer_destroy(t);
        eng_gguf_close(g);
    }
    unlink(PATH);
    ck_assert_int_gt(made, rounds / 20);
    ck_assert_int_lt(made, rounds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vocabulary");
    TCase *all = tcase_create("rules");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, bpe_rules);
    tcase_add_test(all, spm_rules);
    tcase_add_test(all, bytes_that_are_none);
    tcase_add_test(all, control_letters);
    tcase_add_test(all, lines);
    tcase_add_test(all, refusals);
    tcase_add_test(all, damaged);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
