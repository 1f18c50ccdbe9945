/* Tokenizers: the trained one against its reference, small ones made here, damaged ones. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "libengine-lm/tokenizer.h"
#include "libengine-lm/tokenizer_impl.h"
#include "libengine-lm/unicode.h"

#define PATH "test-tokenizer.tmp"

/* -- files of the tests ---------------------------------------------------------- */

static const char *data_path(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/tests/data/%s", top ? top : ".", name);
    return path;
}

static char *read_whole(const char *name, size_t *n)
{
    FILE *f = fopen(data_path(name), "rb");

    ck_assert_msg(f != NULL, "%s is missing", data_path(name));
    char *text = malloc(1 << 20);
    *n = fread(text, 1, (1 << 20) - 1, f);
    text[*n] = 0;
    fclose(f);
    return text;
}

/* In place; returns the length. */
static size_t unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '\\' && from[1]) {
            from++;
            *to++ = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from == 'r' ? '\r' : *from;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    return (size_t)(to - text);
}

static eng_tokenizer *trained(void)
{
    eng_gguf *g = NULL;
    eng_tokenizer *t = NULL;

    ck_assert_msg(eng_gguf_open(data_path("tiny-hybrid-f16.gguf"), &g) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_tokenizer_create(g, &t) == ENG_OK, "%s", eng_last_error());
    eng_gguf_close(g);
    return t;
}

static void expect(const eng_tokenizer *t, const char *text, size_t length, uint32_t flags, const char *expected)
{
    int32_t *ids = NULL;
    size_t n = 0, used = 0;
    char *got = malloc(1 << 16);

    ck_assert_int_eq(eng_tokenizer_encode(t, text, length, flags, &ids, &n), ENG_OK);
    got[0] = 0;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(got + used, (1 << 16) - used, "%s%d", i ? " " : "", ids[i]);
    ck_assert_msg(strcmp(got, expected) == 0, "\"%s\": got %s, expected %s", text, got, expected);
    free(got);
    free(ids);
}

/* -- the trained model ------------------------------------------------------------- */

START_TEST(reference_cases)
{
    eng_tokenizer *t = trained();
    size_t n, length = 0;
    int cases = 0;
    char *all = read_whole("tokens.txt", &n), *text = NULL, *save = NULL;

    for (char *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "text ", 5) == 0) {
            text = line + 5;
            length = unescape(text);
        } else if (strncmp(line, "ids ", 4) == 0) {
            expect(t, text, length, 0, line + 4);
            cases++;
        }
    }
    ck_assert_int_ge(cases, 8);
    free(all);
    eng_tokenizer_destroy(t);
}
END_TEST

START_TEST(reference_text)
{
    eng_tokenizer *t = trained();
    size_t n, n_ids, length;
    char *text = read_whole("valid.txt", &n), *back;
    int32_t *ids;
    long sum = 0;
    static const int32_t first[16] = {64, 313, 289, 544, 881, 25, 565, 64, 86, 756, 83, 78, 71, 756, 76, 64};

    ck_assert_int_eq(eng_tokenizer_encode(t, text, n, 0, &ids, &n_ids), ENG_OK);
    ck_assert_uint_ge(n_ids, 8192);
    ck_assert(memcmp(ids, first, sizeof first) == 0);
    for (int i = 0; i < 8192; i++)
        sum += ids[i];
    ck_assert_int_eq(sum, 2890501);
    ck_assert_int_eq(eng_tokenizer_decode(t, ids, n_ids, 0, &back, &length), ENG_OK);
    ck_assert_uint_eq(length, n);
    ck_assert(memcmp(back, text, n) == 0);
    free(back);
    free(ids);
    free(text);
    eng_tokenizer_destroy(t);
}
END_TEST

START_TEST(special_tokens)
{
    eng_tokenizer *t = trained();
    const char *text = "a<|endoftext|>b";
    size_t n;

    ck_assert_uint_eq(eng_tokenizer_count(t), 1024);
    ck_assert_int_eq(eng_tokenizer_find(t, "<|endoftext|>"), 1023);
    ck_assert_int_eq(eng_tokenizer_find(t, "no such token"), -1);
    ck_assert(eng_tokenizer_is_end(t, 1023));
    ck_assert(!eng_tokenizer_is_end(t, 0));
    ck_assert(!eng_tokenizer_is_end(t, -1));
    ck_assert(!eng_tokenizer_is_end(t, 1024));
    ck_assert(eng_tokenizer_is_control(t, 1023));
    ck_assert_int_eq(eng_tokenizer_eos(t), 1023);
    ck_assert(!eng_tokenizer_adds_bos(t));
    expect(t, text, strlen(text), ENG_TOKENIZE_PARSE_SPECIAL, "64 1023 65");
    int32_t *ids;
    ck_assert_int_eq(eng_tokenizer_encode(t, text, strlen(text), 0, &ids, &n), ENG_OK);
    ck_assert_uint_gt(n, 3); /* only text */
    free(ids);
    expect(t, "", 0, ENG_TOKENIZE_ADD_SPECIAL, "");
    eng_tokenizer_piece(t, 1023, false, &n);
    ck_assert_uint_eq(n, 0);
    eng_tokenizer_piece(t, 1023, true, &n);
    ck_assert_uint_eq(n, 13);
    ck_assert_ptr_null(eng_tokenizer_piece(t, 1024, true, &n));
    ck_assert_ptr_null(eng_tokenizer_spelling(t, -1));
    eng_tokenizer_destroy(t);
}
END_TEST

/* Text token by token: only whole characters come out, and all of them. */
static void stream(const eng_tokenizer *t, const char *text, size_t n)
{
    int32_t *ids;
    size_t n_ids, used = 0, length;
    char *all = malloc(n + 1);
    const char *piece;
    eng_detokenizer d;

    ck_assert_int_eq(eng_tokenizer_encode(t, text, n, 0, &ids, &n_ids), ENG_OK);
    eng_detokenizer_init(&d, t, 0);
    for (size_t i = 0; i < n_ids; i++) {
        ck_assert_int_eq(eng_detokenizer_next(&d, ids[i], &piece, &length), ENG_OK);
        ck_assert_uint_eq(eng_utf8_incomplete(piece, length), 0);
        ck_assert_uint_le(used + length, n);
        memcpy(all + used, piece, length);
        used += length;
    }
    ck_assert_int_eq(eng_detokenizer_finish(&d, &piece, &length), ENG_OK);
    ck_assert_uint_eq(length, 0);
    ck_assert_uint_eq(used, n);
    ck_assert(memcmp(all, text, n) == 0);
    ck_assert_int_eq(eng_detokenizer_next(&d, (int32_t)eng_tokenizer_count(t), &piece, &length), ENG_ERR_INVALID);
    eng_detokenizer_free(&d);
    free(all);
    free(ids);
}

START_TEST(streaming)
{
    static const char text[] = "naïve café — «x» 漢字 \xf0\x9f\x98\x80 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 end";
    eng_tokenizer *t = trained();
    eng_detokenizer d;
    const char *piece;
    size_t length;

    stream(t, text, strlen(text));
    /* half a character is held back, and given up at the end */
    eng_detokenizer_init(&d, t, 0);
    ck_assert_int_eq(eng_detokenizer_next(&d, 127, &piece, &length), ENG_OK); /* the byte C3 */
    ck_assert_uint_eq(length, 0);
    ck_assert_int_eq(eng_detokenizer_finish(&d, &piece, &length), ENG_OK);
    ck_assert_uint_eq(length, 1);
    ck_assert_int_eq((unsigned char)piece[0], 0xc3);
    eng_detokenizer_free(&d);
    eng_tokenizer_destroy(t);
}
END_TEST

/* Any bytes at all: never a fault, and valid text comes back as it was. */
START_TEST(any_bytes)
{
    eng_tokenizer *t = trained();
    uint64_t state = 7;
    char text[64], *back;
    int32_t *ids;
    size_t n, length;

    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)round % sizeof text;
        for (size_t i = 0; i < size; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[i] = (char)(state >> 56);
        }
        ck_assert_int_eq(eng_tokenizer_encode(t, text, size, 3, &ids, &n), ENG_OK);
        ck_assert_int_eq(eng_tokenizer_decode(t, ids, n, 0, &back, &length), ENG_OK);
        free(back);
        free(ids);
    }
    /* a bad byte is U+FFFD */
    ck_assert_int_eq(eng_tokenizer_encode(t, "a\xff" "b", 3, 0, &ids, &n), ENG_OK);
    ck_assert_int_eq(eng_tokenizer_decode(t, ids, n, 0, &back, &length), ENG_OK);
    ck_assert_str_eq(back, "a\xef\xbf\xbd" "b");
    free(back);
    free(ids);
    eng_tokenizer_destroy(t);
}
END_TEST

/* A quadratic merge would take minutes. */
START_TEST(long_pieces)
{
    eng_tokenizer *t = trained();
    size_t n = 2000000, n_ids;
    char *text = malloc(n);
    int32_t *ids;

    for (int kind = 0; kind < 3; kind++) {
        memset(text, kind == 0 ? 'e' : kind == 1 ? ' ' : '<', n);
        for (size_t i = 0; kind == 0 && i < n; i += 3)
            text[i] = 't';
        ck_assert_int_eq(eng_tokenizer_encode(t, text, n, ENG_TOKENIZE_PARSE_SPECIAL, &ids, &n_ids), ENG_OK);
        ck_assert_uint_gt(n_ids, 0);
        free(ids);
    }
    free(text);
    eng_tokenizer_destroy(t);
}
END_TEST

/* -- pre-tokenizers ------------------------------------------------------------------- */

static void expect_split(uint32_t split, const char *text, size_t length, const char *expected)
{
    uint32_t characters[512];
    uint8_t kinds[512];
    char got[4096];
    size_t n = 0, used = 0;

    for (size_t at = 0; at < length && n < 512; n++) {
        at += eng_utf8_decode(text + at, length - at, &characters[n]);
        kinds[n] = (uint8_t)(eng_unicode_class(characters[n]) | (eng_unicode_space(characters[n]) ? CLASS_SPACE : 0));
    }
    got[0] = 0;
    for (size_t at = 0, end; at < n; at = end) {
        end = eng_split_next(split, characters, kinds, n, at);
        ck_assert_uint_gt(end, at);
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%zu", at ? " " : "", end - at);
    }
    ck_assert_msg(strcmp(got, expected) == 0, "split %u of \"%s\": got %s, expected %s", split, text, got, expected);
}

START_TEST(splits)
{
    static const struct {
        const char *name;
        uint32_t split;
    } kinds[] = {{"gpt-2 ", SPLIT_GPT2}, {"llama-bpe ", SPLIT_LLAMA}, {"qwen2 ", SPLIT_QWEN2}, {"qwen35 ", SPLIT_QWEN35}};
    size_t n, length = 0;
    int cases = 0;
    char *all = read_whole("splits.txt", &n), *text = NULL, *save = NULL;

    for (char *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "text ", 5) == 0) {
            text = line + 5;
            length = unescape(text);
        }
        for (size_t i = 0; i < 4; i++)
            if (strncmp(line, kinds[i].name, strlen(kinds[i].name)) == 0) {
                expect_split(kinds[i].split, text, length, line + strlen(kinds[i].name));
                cases++;
            }
    }
    ck_assert_int_ge(cases, 150);
    free(all);
}
END_TEST

START_TEST(unicode)
{
    static const struct {
        uint32_t c, class;
    } known[] = {{'a', 1}, {'Z', 1}, {'0', 2}, {'_', 0}, {' ', 0}, {0xaa, 1}, {0xb2, 2}, {0xd7, 0}, {0x300, 3}, {0x4e2d, 1},
                 {0xd7a3, 1}, {0xd800, 0}, {0x1d7ff, 2}, {0xe0100, 3}, {0x31350, 1}, {0x2ebf0, 1}, {0x10ffff, 0},
                 {0x110000, 0}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_msg(eng_unicode_class(known[i].c) == known[i].class, "class of %x", known[i].c);
    for (uint32_t byte = 0; byte < 256; byte++)
        ck_assert_int_eq(eng_character_byte(eng_byte_character((uint8_t)byte)), (int)byte);
    ck_assert_uint_eq(eng_byte_character(' '), 0x120);
    ck_assert_uint_eq(eng_byte_character('\n'), 0x10a);
    ck_assert_int_eq(eng_character_byte(0x144), -1);
    for (uint32_t c = 0; c <= 0x10ffff; c += 97) {
        char text[4];
        uint32_t back;
        size_t n = eng_utf8_encode(c, text);
        ck_assert_uint_eq(eng_utf8_decode(text, n, &back), n);
        ck_assert_uint_eq(back, c);
        ck_assert_uint_eq(eng_utf8_incomplete(text, n), 0);
        if (n > 1)
            ck_assert_uint_eq(eng_utf8_incomplete(text, n - 1), n - 1);
    }
}
END_TEST

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
static const char *const bpe_tokens[] = {"a", "b", "c", "ab", "bc", "abc", "aa", ("\xc4\xa0" "b"), "<x>", "<x>y", "USER", "abcabc"};
static const int32_t bpe_types[] = {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 4, 1};
/* "abca" is no token: it comes and goes */
static const char *const bpe_merges[] = {"b c", "a b", "a bc", "a a", "\xc4\xa0 b", "abc a"};
static const recipe bpe = {.model = "gpt2", .pre = "qwen2", .tokens = bpe_tokens, .n = 12, .types = bpe_types,
                           .merges = bpe_merges, .n_merges = 6, .add_bos = -1, .bos = -1, .eos = -1, .add_space = -1};

START_TEST(bpe_rules)
{
    eng_tokenizer *t = NULL;

    ck_assert_msg(make(&bpe, &t) == ENG_OK, "%s", eng_last_error());
    expect(t, "abc", 3, 0, "5");          /* b c first, then a bc */
    expect(t, "ab", 2, 0, "3");
    expect(t, "aaa", 3, 0, "6 0");        /* the leftmost of equals */
    expect(t, "aaaa", 4, 0, "6 6");
    expect(t, "abca", 4, 0, "0 1 2 0");   /* merged to what is no token: byte by byte */
    expect(t, "a b", 3, 0, "0 7");
    expect(t, "a<x>b", 5, 0, "0 1");      /* < x > are no tokens: dropped */
    expect(t, "a<x>b", 5, ENG_TOKENIZE_PARSE_SPECIAL, "0 8 1");
    expect(t, "<x>y<x><x>y", 11, ENG_TOKENIZE_PARSE_SPECIAL, "9 8 9"); /* the longest first */
    expect(t, "aUSERUSERb", 10, 0, "0 10 10 1"); /* user-defined ones always */
    expect(t, "abcabc", 6, 0, "5 5");   /* though it is a token */
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

static const char *const spm_tokens[] = {"<unk>", "<s>", "</s>", "<0x41>", "<0xC3>", "<0xA9>", "\xe2\x96\x81", "h", "e", "l",
                                         "o", "he", "ll", "hell", "\xe2\x96\x81he", "\xe2\x96\x81hello", "lo", "hello"};
static const int32_t spm_types[] = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const float spm_scores[] = {0, 0, 0, 0, 0, 0, -1, -2, -2, -2, -2, -3, -4, -5, -6, -7, -3.5f, -8};
static const recipe spm = {.model = "llama", .tokens = spm_tokens, .n = 18, .types = spm_types, .scores = spm_scores,
                           .add_bos = -1, .bos = -1, .eos = -1, .add_space = -1};

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
    expect(t, "A", 1, 0, "6 3");           /* no token: its byte */
    expect(t, "\xc3\xa9", 2, 0, "6 4 5");
    expect(t, "?", 1, 0, "6 0");           /* no byte either: unknown */
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
    refused(&r, ENG_ERR_UNSUPPORTED, "t5");
    r = bpe;
    r.pre = "unheard-of";
    refused(&r, ENG_ERR_UNSUPPORTED, "unheard-of");
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

    for (int round = 0; round < rounds; round++) {
        if (round % (rounds / 2) == 0)
            write_file(recipes[round / (rounds / 2)]);
        FILE *f = fopen(PATH, "rb");
        size_t n = round % (rounds / 2) == 0 ? fread(whole, 1, sizeof whole, f) : (fseek(f, 0, SEEK_END), (size_t)ftell(f));
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
    Suite *suite = suite_create("tokenizer");
    TCase *model = tcase_create("trained model"), *rules = tcase_create("rules");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(model, reference_cases);
    tcase_add_test(model, reference_text);
    tcase_add_test(model, special_tokens);
    tcase_add_test(model, streaming);
    tcase_add_test(model, any_bytes);
    tcase_add_test(model, long_pieces);
    tcase_set_timeout(model, 60);
    tcase_add_test(rules, splits);
    tcase_add_test(rules, unicode);
    tcase_add_test(rules, bpe_rules);
    tcase_add_test(rules, spm_rules);
    tcase_add_test(rules, refusals);
    tcase_add_test(rules, damaged);
    tcase_set_timeout(rules, 60);
    suite_add_tcase(suite, model);
    suite_add_tcase(suite, rules);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
