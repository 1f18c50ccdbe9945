#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/tokenizer/unicode.h"
#include "words.h"

const char *data_path(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/tests/data/%s", top ? top : ".", name);
    return path;
}

char *read_whole(const char *name, size_t *n)
{
    FILE *f = fopen(data_path(name), "rb");

    ck_assert_msg(f != NULL, "%s is missing", data_path(name));
    char *text = malloc(1 << 20);
    *n = fread(text, 1, (1 << 20) - 1, f);
    text[*n] = 0;
    fclose(f);
    return text;
}

size_t unescape(char *text)
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

void expect(const eng_tokenizer *t, const char *text, size_t length, uint32_t flags, const char *expected)
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

void stream(const eng_tokenizer *t, const char *text, size_t n)
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
