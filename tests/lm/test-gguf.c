/* GGUF files: what is read, what is refused and how it is said, damaged files. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "crafted.h"
#include "engine/engine.h"

#define PATH "test-gguf.tmp"

static crafted file;

static int open_file(eng_gguf **gguf)
{
    crafted_save(&file, PATH);
    int status = eng_gguf_open(PATH, gguf);
    unlink(PATH); /* stays mapped */
    return status;
}

static void refused(int status, const char *text)
{
    eng_gguf *gguf = NULL;
    int got = open_file(&gguf);

    ck_assert_int_eq(got, status);
    ck_assert_ptr_null(gguf);
    ck_assert_msg(strstr(eng_last_error(), text), "\"%s\" does not say \"%s\"", eng_last_error(), text);
    ck_assert_msg(strstr(eng_last_error(), PATH), "\"%s\" does not name the file", eng_last_error());
}

static void accepted(void)
{
    eng_gguf *gguf = NULL;

    ck_assert_msg(open_file(&gguf) == ENG_OK, "%s", eng_last_error());
    eng_gguf_close(gguf);
}

/* -- good files ------------------------------------------------------------- */

START_TEST(sample)
{
    eng_gguf *g = NULL;
    eng_gguf_string text;
    int64_t whole;
    double number;

    crafted_sample(&file);
    ck_assert_msg(open_file(&g) == ENG_OK, "%s", eng_last_error());
    ck_assert_uint_eq(eng_gguf_key_count(g), 16);
    ck_assert_uint_eq(eng_gguf_tensor_count(g), 3);
    for (int type = 0; type <= 12; type++) {
        char name[32];
        snprintf(name, sizeof name, "scalar.%d", type);
        if (type == 8 || type == 9)
            continue;
        if (type == 6 || type == 12) { /* the bits of a tiny number */
            ck_assert_int_eq(eng_gguf_number(g, name, 0, &number), ENG_OK);
            ck_assert(number > 0 && number < 1e-40);
            ck_assert_int_eq(eng_gguf_integer(g, name, 0, &whole), ENG_ERR_FORMAT);
            continue;
        }
        ck_assert_int_eq(eng_gguf_integer(g, name, 0, &whole), ENG_OK);
        ck_assert_int_eq(whole, 1);
        ck_assert_int_eq(eng_gguf_number(g, name, 0, &number), ENG_OK);
        ck_assert(number == 1);
    }
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(eng_gguf_integer(g, "array.u16", i, &whole), ENG_OK);
        ck_assert_int_eq(whole, (int64_t)i + 1);
    }
    for (uint64_t i = 0; i < 40; i++) {
        ck_assert_int_eq(eng_gguf_text(g, "array.text", i, &text), ENG_OK);
        ck_assert_uint_eq(text.length, i % 2 ? 4 : 0);
        ck_assert(memcmp(text.data, "word", text.length) == 0);
    }
    eng_gguf_close(g);
}
END_TEST

/* Lengths are what was checked, whatever is written over them; and who asks is told that the file is in use. */
START_TEST(changed_meanwhile)
{
    eng_gguf *g = NULL;
    eng_gguf_string text;

    crafted_sample(&file);
    crafted_save(&file, PATH);
    ck_assert_int_eq(eng_gguf_open(PATH, &g), ENG_OK);
    int fd = open(PATH, O_RDWR);
    ck_assert(fd >= 0);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
    const uint64_t huge = UINT64_MAX / 2;
    off_t at = (const uint8_t *)memmem(file.data, file.n, "array.text", 10) - file.data + 10 + 16;
    for (int i = 0; i < 40; i++, at += i % 2 ? 8 : 12)
        ck_assert_int_eq(pwrite(fd, &huge, sizeof huge, at), sizeof huge);
    for (uint64_t i = 0; i < 40; i++) {
        ck_assert_int_eq(eng_gguf_text(g, "array.text", i, &text), ENG_OK);
        ck_assert_uint_eq(text.length, i % 2 ? 4 : 0);
    }
    eng_gguf_close(g);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
    unlink(PATH);
}
END_TEST

/* Types that can only be named. */
START_TEST(type_names)
{
    ck_assert_str_eq(eng_type_name(ENG_TYPE_Q4_K), "q4_K");
    ck_assert_str_eq(eng_type_name(15), "q8_K");
    ck_assert_ptr_null(eng_type_get(15));
    ck_assert_str_eq(eng_type_name(4), "unknown");
    ck_assert_str_eq(eng_type_name(UINT32_MAX), "unknown");
}
END_TEST

START_TEST(what_keys_answer)
{
    eng_gguf *g = NULL;
    eng_gguf_string text;
    int64_t whole = 77;
    double number;

    crafted_sample(&file);
    ck_assert_int_eq(open_file(&g), ENG_OK);
    ck_assert_int_eq(eng_gguf_integer(g, "missing", 0, &whole), ENG_ERR_NOTFOUND);
    ck_assert(strstr(eng_last_error(), "missing"));
    ck_assert_int_eq(eng_gguf_integer(g, "array.u16", 3, &whole), ENG_ERR_NOTFOUND);
    ck_assert_int_eq(eng_gguf_integer(g, "array.empty", 0, &whole), ENG_ERR_NOTFOUND);
    ck_assert_int_eq(eng_gguf_integer(g, "general.architecture", 0, &whole), ENG_ERR_FORMAT);
    ck_assert_int_eq(eng_gguf_number(g, "array.text", 0, &number), ENG_ERR_FORMAT);
    ck_assert_int_eq(eng_gguf_text(g, "scalar.4", 0, &text), ENG_ERR_FORMAT);
    ck_assert_int_eq(whole, 77); /* untouched by failures */
    ck_assert_ptr_null(eng_gguf_key_find(g, "missing"));
    ck_assert_ptr_null(eng_gguf_key_get(g, 16));
    ck_assert_ptr_null(eng_gguf_tensor_find(g, "missing"));
    ck_assert_ptr_null(eng_gguf_tensor_get(g, 3));
    eng_gguf_close(g);
}
END_TEST

START_TEST(tensors)
{
    eng_gguf *g = NULL;

    crafted_sample(&file);
    ck_assert_int_eq(open_file(&g), ENG_OK);
    const eng_gguf_tensor *t = eng_gguf_tensor_find(g, "blocks");
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq(t->type, ENG_TYPE_Q8_0);
    ck_assert_uint_eq(t->bytes, 3 * 34);
    ck_assert_int_eq(t->ne[0], 32);
    ck_assert_int_eq(t->ne[1], 3);
    ck_assert_int_eq(t->ne[2], 1);
    ck_assert_int_eq(((const uint8_t *)t->data)[2], 3);
    t = eng_gguf_tensor_find(g, "numbers");
    ck_assert_uint_eq(t->bytes, 256);
    ck_assert_int_eq((const char *)t->data - (const char *)eng_gguf_tensor_get(g, 0)->data, 128);
    t = eng_gguf_tensor_find(g, "foreign"); /* listed, though the engine has no such type */
    ck_assert_uint_eq(t->bytes, 20);
    ck_assert_ptr_null(eng_type_get(t->type));
    eng_gguf_close(g);
}
END_TEST

START_TEST(odd_but_good)
{
    static const uint64_t empty[2] = {32, 0};
    eng_gguf *g = NULL;
    int64_t whole;

    put_header(&file, 2, 1);
    put_string(&file, "flag");
    put_u32(&file, 7);
    put(&file, "\2", 1); /* a bool that is neither 0 nor 1 */
    put_tensor(&file, "scalar", 0, 0, NULL, 0);
    put_tensor(&file, "empty", 8, 32, empty, 2);
    put_padding(&file, 32);
    put(&file, "\0\0\0\0", 4);      /* no padding after the last tensor */
    memcpy(file.data + 4, "\2", 1); /* version 2 has the same layout */
    ck_assert_msg(open_file(&g) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_gguf_integer(g, "flag", 0, &whole), ENG_OK);
    ck_assert_int_eq(whole, 1);
    ck_assert_uint_eq(eng_gguf_tensor_find(g, "scalar")->bytes, 4);
    ck_assert_uint_eq(eng_gguf_tensor_find(g, "empty")->bytes, 0);
    eng_gguf_close(g);
    put_header(&file, 0, 0);
    accepted();
}
END_TEST

/* -- refusals ------------------------------------------------------------------ */

START_TEST(headers)
{
    static const struct {
        const char *bytes;
        int status;
        const char *text;
    } versions[] = {{"\0\0\0\0", ENG_ERR_UNSUPPORTED, "version 0"},
                    {"\1\0\0\0", ENG_ERR_UNSUPPORTED, "version 1"},
                    {"\4\0\0\0", ENG_ERR_UNSUPPORTED, "version 4"},
                    {"\0\0\0\3", ENG_ERR_UNSUPPORTED, "byte order"}};

    file.n = 0;
    refused(ENG_ERR_FORMAT, "empty");
    put(&file, "GGU", 3);
    refused(ENG_ERR_FORMAT, "not a GGUF file");
    put(&file, "Fxx", 3);
    refused(ENG_ERR_FORMAT, "header");
    put_header(&file, 0, 0);
    memcpy(file.data, "GGML", 4);
    refused(ENG_ERR_FORMAT, "not a GGUF file");
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        put_header(&file, 0, 0);
        memcpy(file.data + 4, versions[i].bytes, 4);
        refused(versions[i].status, versions[i].text);
    }
    put_header(&file, 0, UINT64_MAX);
    refused(ENG_ERR_FORMAT, "keys");
    put_header(&file, UINT64_C(1) << 61, 0);
    refused(ENG_ERR_FORMAT, "tensors");
    put_header(&file, 0, 2);
    put_u32_key(&file, "one.key.of.two", 1);
    refused(ENG_ERR_FORMAT, "ends inside");
}
END_TEST

START_TEST(no_files)
{
    eng_gguf *g = NULL;

    ck_assert_int_eq(eng_gguf_open("there/is/no/such/file.gguf", &g), ENG_ERR_NOTFOUND);
    ck_assert_int_eq(eng_gguf_open(".", &g), ENG_ERR_IO);
    ck_assert(strstr(eng_last_error(), "folder"));
    ck_assert_int_eq(eng_gguf_open(NULL, &g), ENG_ERR_INVALID);
    eng_gguf_close(NULL);
}
END_TEST

START_TEST(keys)
{
    put_header(&file, 0, 1);
    put_u32_key(&file, "", 1);
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "empty name");
    put_header(&file, 0, 2);
    put_u32_key(&file, "twice", 1);
    put_u32_key(&file, "twice", 1);
    refused(ENG_ERR_FORMAT, "twice");
    put_header(&file, 0, 1);
    put_string(&file, "odd");
    put_u32(&file, 13);
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "type 13");
    put_header(&file, 0, 1);
    put_string(&file, "~od\x7f\n\x1f d"); /* characters that a terminal might take for more */
    put_u32(&file, 13);
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "key \"~od??? d\"");
    put_header(&file, 0, 1);
    put_string(&file, "text");
    put_u32(&file, 8);
    put_u64(&file, UINT64_MAX);
    refused(ENG_ERR_FORMAT, "announces");
    put_header(&file, 0, 1);
    put_u64(&file, UINT64_MAX - 7); /* the name of the key */
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "announces");
}
END_TEST

START_TEST(arrays)
{
    static const struct {
        uint32_t element;
        uint64_t n;
        const char *text;
    } cases[] = {{9, 1, "array of type 9"},
                 {99, 1, "array of type 99"},
                 {4, 1000, "announces"},
                 {10, UINT64_C(1) << 61, "announces"},
                 {8, UINT64_MAX / 8 + 2, "ends inside"},
                 {8, 3, "ends inside"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_header(&file, 0, 1);
        put_string(&file, "list");
        put_u32(&file, 9);
        put_u32(&file, cases[i].element);
        put_u64(&file, cases[i].n);
        put_string(&file, "x");
        refused(ENG_ERR_FORMAT, cases[i].text);
    }
}
END_TEST

START_TEST(alignments)
{
    put_header(&file, 0, 1);
    put_text_key(&file, "general.alignment", "32");
    refused(ENG_ERR_FORMAT, "expected u32");
    put_header(&file, 0, 1);
    put_u32_key(&file, "general.alignment", 48);
    refused(ENG_ERR_FORMAT, "power of two");
    put_header(&file, 0, 1);
    put_u32_key(&file, "general.alignment", 0);
    refused(ENG_ERR_FORMAT, "power of two");
    put_header(&file, 0, 1);
    put_u32_key(&file, "general.alignment", 1u << 31);
    accepted();
    put_header(&file, 1, 1); /* what is behind a header that is filled up to 2 GiB */
    put_u32_key(&file, "general.alignment", 1u << 31);
    put_tensor(&file, "far", 0, 0, (const uint64_t[]){4}, 1);
    put(&file, file.data, 64);
    refused(ENG_ERR_FORMAT, "truncated");
    put_header(&file, 0, 1);
    put_u32_key(&file, "split.count", 3);
    refused(ENG_ERR_FORMAT, "split.no");
    put_header(&file, 0, 1);
    put_u32_key(&file, "split.count", 1);
    accepted();
}
END_TEST

/* One tensor with 4096 bytes of data behind. */
static void one_tensor(const char *name, uint32_t type, uint64_t offset, uint32_t rank, uint64_t n0, uint64_t n1)
{
    static const uint8_t zeros[4096];
    uint64_t ne[8] = {n0, n1, 1, 1, 1, 1, 1, 1};

    put_header(&file, 1, 0);
    put_tensor(&file, name, type, offset, ne, rank);
    put_padding(&file, 32);
    put(&file, zeros, sizeof zeros);
}

START_TEST(shapes)
{
    one_tensor("five", 0, 0, 5, 2, 2);
    refused(ENG_ERR_FORMAT, "5 dimensions");
    one_tensor("minus", 0, 0, 2, 4, UINT64_MAX);
    refused(ENG_ERR_FORMAT, "extent -1");
    one_tensor("wraps", 0, 0, 2, UINT64_C(1) << 32, UINT64_C(1) << 32);
    refused(ENG_ERR_FORMAT, "larger than any file");
    one_tensor("hidden", 0, 0, 3, UINT64_C(1) << 62, 4); /* the product alone is 2^64 */
    refused(ENG_ERR_FORMAT, "larger than any file");
    one_tensor("past", 0, 0, 2, UINT64_C(1) << 20, (UINT64_C(1) << 42) + 1); /* its bytes are 2^64 and few more */
    refused(ENG_ERR_FORMAT, "larger than any file");
    one_tensor("removed", 4, 0, 2, 32, 1);
    refused(ENG_ERR_UNSUPPORTED, "type 4");
    one_tensor("future", 1000, 0, 2, 32, 1);
    refused(ENG_ERR_UNSUPPORTED, "type 1000");
    one_tensor("ragged", 2, 0, 2, 33, 1);
    refused(ENG_ERR_FORMAT, "multiple of 32");
    one_tensor("", 0, 0, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "empty name");
    one_tensor("nul", 0, 0, 1, 4, 1);
    file.data[24 + 8 + 1] = 0;
    refused(ENG_ERR_FORMAT, "NUL");
}
END_TEST

START_TEST(places)
{
    static const uint64_t ne[1] = {16};

    one_tensor("askew", 0, 4, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "alignment");
    one_tensor("beyond", 0, 4096, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "truncated");
    one_tensor("far", 0, UINT64_MAX - 31, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "truncated");
    one_tensor("large", 0, 0, 1, 1025, 1);
    refused(ENG_ERR_FORMAT, "truncated");
    one_tensor("exact", 0, 0, 1, 1024, 1);
    accepted();
    put_header(&file, 2, 0);
    put_tensor(&file, "one", 0, 0, ne, 1);
    put_tensor(&file, "other", 0, 32, ne, 1);
    put_padding(&file, 32);
    put(&file, file.data, 256);
    refused(ENG_ERR_FORMAT, "overlaps");
    put_header(&file, 2, 0);
    put_tensor(&file, "same", 0, 0, ne, 1);
    put_tensor(&file, "same", 0, 64, ne, 1);
    put_padding(&file, 32);
    put(&file, file.data, 256);
    refused(ENG_ERR_FORMAT, "there twice");
}
END_TEST

/* -- damaged files ------------------------------------------------------------------ */

static uint64_t state;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Touches all that can be reached; a fault ends the test. */
static uint64_t touch(const eng_gguf *g)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < eng_gguf_key_count(g); i++) {
        const eng_gguf_key *key = eng_gguf_key_get(g, i);
        char name[256];
        eng_gguf_string text;
        int64_t whole;
        double number;
        snprintf(name, sizeof name, "%.*s", key->name.length < 255 ? (int)key->name.length : 255, key->name.data);
        for (uint64_t k = 0; k < key->count && k < 100; k++) {
            if (eng_gguf_text(g, name, k, &text) == ENG_OK)
                for (uint64_t b = 0; b < text.length; b++)
                    sum += (uint8_t)text.data[b];
            sum += (uint64_t)eng_gguf_integer(g, name, k, &whole) + (uint64_t)eng_gguf_number(g, name, k, &number);
        }
    }
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        for (uint64_t b = 0; b < t->bytes; b++)
            sum += ((const uint8_t *)t->data)[b];
        ck_assert_ptr_eq(eng_gguf_tensor_find(g, t->name), t);
    }
    return sum;
}

/* Bytes changed, cut off or put in: mostly in the header, where structure is. */
static void damage(crafted *c)
{
    size_t header = 900 < c->n ? 900 : c->n;

    for (uint32_t n = 1 + next_random() % 4; n > 0; n--) {
        size_t at = next_random() % (next_random() % 8 ? header : c->n);
        switch (next_random() % 5) {
        case 0: c->data[at] = (uint8_t)next_random(); break;
        case 1: c->data[at] ^= (uint8_t)(1u << next_random() % 8); break;
        case 2: c->data[at] = next_random() % 2 ? 0xff : 0; break;
        case 3:
            if (at + 8 <= c->n)
                memset(c->data + at, next_random() % 2 ? 0xff : 0x7f, 8);
            break;
        default:
            if (next_random() % 8 == 0)
                c->n = at > 0 ? at : 1;
        }
        header = header < c->n ? header : c->n;
    }
}

START_TEST(fuzz)
{
    static crafted whole_file;
    const char *seed = getenv("ENGINE_TEST_SEED");
    uint32_t opened = 0, rounds = 8000;

    state = seed ? strtoull(seed, NULL, 10) : 1;
    crafted_sample(&whole_file);
    for (uint32_t i = 0; i < rounds; i++) {
        eng_gguf *g = NULL;
        file = whole_file;
        damage(&file);
        crafted_save(&file, PATH);
        int status = eng_gguf_open(PATH, &g);
        if (status == ENG_OK) {
            opened++;
            touch(g);
            eng_gguf_close(g);
        } else {
            ck_assert_ptr_null(g);
            ck_assert_msg(eng_last_error()[0], "round %u: no text", i);
        }
    }
    unlink(PATH);
    /* Both kinds must have been there, or the test shows nothing. */
    ck_assert_uint_gt(opened, rounds / 100);
    ck_assert_uint_lt(opened, rounds);
}
END_TEST

START_TEST(truncations)
{
    static crafted whole_file;

    crafted_sample(&whole_file);
    for (size_t n = 0; n < whole_file.n; n++) {
        eng_gguf *g = NULL;
        file = whole_file;
        file.n = n;
        ck_assert_int_ne(open_file(&g), ENG_OK);
    }
}
END_TEST

/* -- writing ------------------------------------------------------------------------ */

static int produce(void *user, uint32_t index, const void **data)
{
    static float numbers[8];

    for (int i = 0; i < 8; i++)
        numbers[i] = (float)(100 * index + (uint32_t)i);
    *data = numbers;
    return *(int *)user;
}

START_TEST(writing)
{
    static const eng_gguf_string words[3] = {{"a", 1}, {"", 0}, {"c d", 3}};
    static const int32_t list[4] = {6, 5, 5, 0};
    static const eng_gguf_key array = {{"list", 4}, ENG_GGUF_ARRAY, ENG_GGUF_I32, 4, list};
    static const int64_t ne[2] = {4, 2};
    static const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    eng_gguf_writer *w = NULL;
    eng_gguf *g = NULL;
    eng_gguf_string text;
    int64_t whole;
    int answer = ENG_OK;

    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_integer(w, "u8", ENG_GGUF_U8, 255), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_integer(w, "bad", ENG_GGUF_U8, 256), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_gguf_writer_integer(w, "bad", ENG_GGUF_F32, 1), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_gguf_writer_integer(w, "i64", ENG_GGUF_I64, INT64_MIN), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_number(w, "half", 0.5), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_text(w, "text", "some text"), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_texts(w, "words", words, 3), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_key(w, &array), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "first", ENG_TYPE_F32, ne, 2, NULL), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "ragged", ENG_TYPE_Q4_0, ne, 2, data), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "second", ENG_TYPE_F32, ne, 2, data), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_save(w, PATH), ENG_ERR_INVALID); /* who has the data of the first? */
    ck_assert_int_ne(access(PATH, F_OK), 0);
    ck_assert_int_eq(eng_gguf_writer_save_from(w, PATH, produce, &answer), ENG_OK);
    ck_assert_msg(eng_gguf_open(PATH, &g) == ENG_OK, "%s", eng_last_error());
    ck_assert_uint_eq(eng_gguf_key_count(g), 6);
    ck_assert_int_eq(eng_gguf_integer(g, "i64", 0, &whole), ENG_OK);
    ck_assert(whole == INT64_MIN);
    ck_assert_int_eq(eng_gguf_text(g, "words", 2, &text), ENG_OK);
    ck_assert(text.length == 3 && memcmp(text.data, "c d", 3) == 0);
    ck_assert_int_eq(eng_gguf_integer(g, "list", 1, &whole), ENG_OK);
    ck_assert_int_eq(whole, 5);
    ck_assert(((const float *)eng_gguf_tensor_find(g, "first")->data)[7] == 7);
    ck_assert(((const float *)eng_gguf_tensor_find(g, "second")->data)[7] == 8);
    /* over itself while it is mapped */
    ck_assert_int_eq(eng_gguf_writer_save_from(w, PATH, produce, &answer), ENG_OK);
    ck_assert(((const float *)eng_gguf_tensor_find(g, "second")->data)[7] == 8);
    eng_gguf_close(g);
    /* a failure leaves what was there */
    answer = ENG_ERR_DEVICE;
    ck_assert_int_eq(eng_gguf_writer_save_from(w, PATH, produce, &answer), ENG_ERR_DEVICE);
    ck_assert_int_eq(eng_gguf_open(PATH, &g), ENG_OK);
    eng_gguf_close(g);
    ck_assert_int_eq(eng_gguf_writer_save_from(w, "no/such/folder/file", produce, &answer), ENG_ERR_IO);
    eng_gguf_writer_destroy(w);
    unlink(PATH);
}
END_TEST

static int no_data(void *user, uint32_t tensor, const void **data)
{
    return ENG_OK;
}

static void misused(int status, const char *text)
{
    ck_assert_int_eq(status, ENG_ERR_INVALID);
    ck_assert_msg(strstr(eng_last_error(), text) != NULL, "\"%s\" is not in: %s", text, eng_last_error());
}

START_TEST(misuse)
{
    static const int64_t ne[2] = {4, 2}, negative[2] = {4, -2}, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
    static const eng_gguf_string words[1] = {{NULL, 5}};
    static const eng_gguf_key array = {{"list", 4}, ENG_GGUF_ARRAY, ENG_GGUF_I32, 4, NULL};
    static const float data[8] = {0};
    eng_gguf_writer *w;
    int64_t whole;

    misused(eng_gguf_writer_create(NULL), "NULL");
    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    misused(eng_gguf_writer_integer(w, NULL, ENG_GGUF_U8, 1), "NULL");
    misused(eng_gguf_writer_number(NULL, "a", 1), "NULL");
    misused(eng_gguf_writer_number(w, "a", 1e300), "does not fit f32");
    misused(eng_gguf_writer_text(w, "a", NULL), "NULL");
    misused(eng_gguf_writer_texts(w, "a", words, 1), "NULL");
    misused(eng_gguf_writer_key(w, &array), "NULL");
    misused(eng_gguf_writer_key(w, NULL), "NULL");
    misused(eng_gguf_writer_tensor(w, "a", ENG_TYPE_F32, NULL, 2, data), "NULL");
    misused(eng_gguf_writer_tensor(w, "a", ENG_TYPE_F32, negative, 2, data), "negative");
    misused(eng_gguf_writer_tensor(w, "a", ENG_TYPE_F32, huge, 2, data), "larger than a file");
    misused(eng_gguf_writer_tensor(w, "a", 5, ne, 2, data), "no type 5");
    misused(eng_gguf_writer_save(w, NULL), "NULL");
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "a", ENG_TYPE_F32, ne, 2, NULL), ENG_OK);
    misused(eng_gguf_writer_save_from(w, PATH, no_data, NULL), "none came");
    ck_assert_int_ne(access(PATH, F_OK), 0);
    eng_gguf_writer_destroy(w);

    ck_assert_uint_eq(eng_gguf_tensor_count(NULL), 0);
    ck_assert_uint_eq(eng_gguf_key_count(NULL), 0);
    ck_assert_ptr_null(eng_gguf_tensor_get(NULL, 0));
    ck_assert_ptr_null(eng_gguf_key_get(NULL, 0));
    ck_assert_ptr_null(eng_gguf_tensor_find(NULL, "a"));
    ck_assert_ptr_null(eng_gguf_key_find(NULL, "a"));
    misused(eng_gguf_integer(NULL, "a", 0, &whole), "NULL");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf");
    TCase *good = tcase_create("good files"), *bad = tcase_create("refusals"), *damaged = tcase_create("damaged");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(good, sample);
    tcase_add_test(good, changed_meanwhile);
    tcase_add_test(good, type_names);
    tcase_add_test(good, what_keys_answer);
    tcase_add_test(good, tensors);
    tcase_add_test(good, odd_but_good);
    tcase_add_test(good, writing);
    tcase_add_test(good, misuse);
    tcase_add_test(bad, headers);
    tcase_add_test(bad, no_files);
    tcase_add_test(bad, keys);
    tcase_add_test(bad, arrays);
    tcase_add_test(bad, alignments);
    tcase_add_test(bad, shapes);
    tcase_add_test(bad, places);
    tcase_add_test(damaged, truncations);
    tcase_add_test(damaged, fuzz);
    tcase_set_timeout(damaged, 120);
    suite_add_tcase(suite, good);
    suite_add_tcase(suite, bad);
    suite_add_tcase(suite, damaged);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
