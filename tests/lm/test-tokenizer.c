/* The tokenizer of the trained model against its reference; pre-tokenizers; Unicode. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "libengine-lm/tokenizer/inner.h"
#include "libengine-lm/tokenizer/unicode.h"
#include "words.h"

static eng_tokenizer *trained(void)
{
    eng_gguf *g = NULL;
    eng_tokenizer *t = NULL;

    ck_assert_msg(eng_gguf_open(data_path("tiny-hybrid-f16.gguf"), &g) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_tokenizer_create(g, &t) == ENG_OK, "%s", eng_last_error());
    eng_gguf_close(g);
    return t;
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

START_TEST(streaming)
{
    static const char text[] =
        "naïve café — «x» 漢字 \xf0\x9f\x98\x80 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 end";
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
    ck_assert_int_eq(eng_tokenizer_encode(t,
                                          "a\xff"
                                          "b",
                                          3, 0, &ids, &n),
                     ENG_OK);
    ck_assert_int_eq(eng_tokenizer_decode(t, ids, n, 0, &back, &length), ENG_OK);
    ck_assert_str_eq(back, "a\xef\xbf\xbd"
                           "b");
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

/* Where a pre-tokenizer cuts, as splits.txt has it. */
static void expect_split(const char *name, const split_rule *rule, uint32_t split, const char *text, size_t length,
                         const char *expected)
{
    uint32_t characters[512] = {0};
    uint8_t kinds[512] = {0};
    char got[4096];
    size_t n = 0, used = 0;
    end_list ends = {0}, other = {0};

    for (size_t at = 0; at < length && n < 512; n++) {
        at += eng_utf8_decode(text + at, length - at, &characters[n]);
        kinds[n] = eng_split_class(characters[n]);
    }
    ck_assert(!rule || eng_rule_split(rule, characters, kinds, n, &ends, &other));
    got[0] = 0;
    for (size_t at = 0, end, i = 0; at < n; at = end, i++) {
        end = rule ? ends.at[i] : eng_split_next(split, characters, kinds, n, at);
        ck_assert_uint_gt(end, at);
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%zu", at ? " " : "", end - at);
    }
    ck_assert_msg(strcmp(got, expected) == 0, "%s of \"%s\": got %s, expected %s", name, text, got, expected);
    eu_array_free(&ends);
    eu_array_free(&other);
}

static int check_splits(const char *file, const split_name *named, const split_rule *rule)
{
    size_t n, length = 0, size = strlen(named->name);
    int cases = 0;
    char *all = read_whole(file, &n), *text = NULL, *save = NULL;

    for (char *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "text ", 5) == 0) {
            text = line + 5;
            length = unescape(text);
        } else if (strncmp(line, named->name, size) == 0 && line[size] == ' ') {
            expect_split(named->name, rule, named->split, text, length, line + size + 1);
            cases++;
        }
    }
    free(all);
    return cases;
}

START_TEST(splits)
{
    int cases = 0, names = 0;

    for (const split_name *named; (named = eng_split_nth((size_t)names)) != NULL; names++) {
        split_rule *rule = named->rule ? eng_rule_create(named->rule) : NULL;
        ck_assert_msg(!named->rule || rule, "the expressions of %s cannot be read", named->name);
        ck_assert_ptr_eq(eng_split_named(named->name, strlen(named->name)), named);
        cases += check_splits("splits.txt", named, rule) + check_splits("rules.txt", named, rule);
        eng_rule_free(rule);
    }
    ck_assert_int_ge(names, 89);
    ck_assert_int_ge(cases, 150 + 24 * 40);
}
END_TEST

/* Text that makes expressions look far ahead in vain, again and again, takes no longer than another. */
START_TEST(hostile)
{
    static const char *const patterns[] = {" ", "1", "a", "A", "\n", " 1", "a ", "'", "Aa1 ", "\xe4\xb8\xad",
                                           "  \n", "!", "\xcc\x81", "          1"};
    enum { CHARACTERS = 1 << 18 };
    uint32_t *characters = malloc(CHARACTERS * sizeof *characters);
    uint8_t *kinds = malloc(CHARACTERS);
    end_list ends = {0}, other = {0};

    ck_assert(characters && kinds);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        size_t n = 0;
        while (n < CHARACTERS)
            for (size_t at = 0, length = strlen(patterns[k]); at < length && n < CHARACTERS; n++) {
                at += eng_utf8_decode(patterns[k] + at, length - at, &characters[n]);
                kinds[n] = eng_split_class(characters[n]);
            }
        characters[n - 1] = 'x'; /* and not what all looked for */
        kinds[n - 1] = eng_split_class('x');
        for (size_t i = 0; eng_split_nth(i); i++) {
            const split_name *named = eng_split_nth(i);
            if (!named->rule || (i > 0 && eng_split_nth(i - 1)->rule == named->rule))
                continue;
            split_rule *rule = eng_rule_create(named->rule);
            const clock_t begin = clock(); /* of the processor: whoever is stopped meanwhile is not slow */
            ck_assert(eng_rule_split(rule, characters, kinds, n, &ends, &other));
            const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
            ck_assert_msg(seconds < 2, "%s takes %.1f s of 2^18 times \"%s\"", named->name,
                          seconds, patterns[k]);
            ck_assert_uint_eq(ends.at[ends.n - 1], n);
            eng_rule_free(rule);
        }
    }
    eu_array_free(&ends);
    eu_array_free(&other);
    free(characters);
    free(kinds);
}
END_TEST

START_TEST(unicode)
{
    static const struct {
        uint32_t c, class;
    } known[] = {{'a', 1},     {'Z', 1},     {'0', 2},     {'_', 0},     {' ', 0},      {0xaa, 1},
                 {0xb2, 2},    {0xd7, 0},    {0x300, 3},   {0x4e2d, 1},  {0xd7a3, 1},   {0xd800, 0},
                 {0x1d7ff, 2}, {0xe0100, 3}, {0x31350, 1}, {0x2ebf0, 1}, {0x10ffff, 0}, {0x110000, 0}};

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

int main(void)
{
    Suite *suite = suite_create("tokenizer");
    TCase *all = tcase_create("trained model");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, reference_cases);
    tcase_add_test(all, reference_text);
    tcase_add_test(all, special_tokens);
    tcase_add_test(all, streaming);
    tcase_add_test(all, any_bytes);
    tcase_add_test(all, long_pieces);
    tcase_add_test(all, splits);
    tcase_add_test(all, hostile);
    tcase_add_test(all, unicode);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
