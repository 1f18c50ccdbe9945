/* GGUF files: writing them. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "gguf_file.h"

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

static int save_other(void *other, uint32_t index, const void **data)
{
    ck_assert_int_eq(eng_gguf_writer_save(other, PATH), ENG_OK);
    return produce(&(int){ENG_OK}, index, data);
}

/* Two writers of one path at once, as threads have them: each file is whole, and the one that ends last is there. */
START_TEST(at_once)
{
    static const int64_t ne = 8;
    static const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    eng_gguf_writer *w = NULL, *other = NULL;
    eng_gguf *g = NULL;
    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_create(&other), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "slow", ENG_TYPE_F32, &ne, 1, NULL), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(other, "fast", ENG_TYPE_F32, &ne, 1, data), ENG_OK);
    ck_assert_msg(eng_gguf_writer_save_from(w, PATH, save_other, other) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_gguf_open(PATH, &g), ENG_OK);
    ck_assert_ptr_nonnull(eng_gguf_tensor_find(g, "slow"));
    eng_gguf_close(g);
    eng_gguf_writer_destroy(w);
    eng_gguf_writer_destroy(other);
    unlink(PATH);
}
END_TEST

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

void gguf_writing(TCase *all)
{
    tcase_add_test(all, writing);
    tcase_add_test(all, at_once);
    tcase_add_test(all, misuse);
}
