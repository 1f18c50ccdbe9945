/* GGUF files: what is read. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "gguf_file.h"

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

void gguf_good(TCase *all)
{
    tcase_add_test(all, sample);
    tcase_add_test(all, changed_meanwhile);
    tcase_add_test(all, type_names);
    tcase_add_test(all, what_keys_answer);
    tcase_add_test(all, tensors);
    tcase_add_test(all, odd_but_good);
}
