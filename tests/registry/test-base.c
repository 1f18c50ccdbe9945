/* Floor 0: errors, types, axes. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../libengine/base/base.h"

START_TEST(error_text)
{
    ck_assert_int_eq(eng_fail(ENG_ERR_IO, "cause %d", 1), ENG_ERR_IO);
    ck_assert_str_eq(eng_last_error(), "cause 1");
    /* the former text may be part of the new one */
    eng_fail(ENG_ERR_IO, "outer: %s", eng_last_error());
    ck_assert_str_eq(eng_last_error(), "outer: cause 1");
    eng_fail(ENG_ERR_IO, "two\nlines");
    ck_assert_str_eq(eng_last_error(), "two lines");
    for (int i = 0; i > -20; i--)
        ck_assert(*eng_status_name(i));
}
END_TEST

/* What is cut has no part of a character at its end: programs would take it for another encoding. */
START_TEST(cut_characters)
{
    for (size_t before = 0; before < 4; before++) {
        char text[4096] = "xxx";
        eng_error e = {.size = sizeof e};
        text[before] = 0;
        while (strlen(text) < sizeof text - 8)
            strcat(text, "\xf0\x9f\x98\x80");
        eng_fail(ENG_ERR_IO, "%s" ENG_CAUSE "b", text);
        eng_fail_in(ENG_ERR_IO, "%s", text);
        eng_last_error_info(&e);
        for (const char *at = e.subject, *end = at + strlen(at); at < end; at += eu_utf8_length(at, (size_t)(end - at)))
            ck_assert_uint_gt(eu_utf8_length(at, (size_t)(end - at)), 0);
        eng_fail(ENG_ERR_IO, "%s", text);
        eng_last_error_info(&e);
        for (const char *at = e.cause, *end = at + strlen(at); at < end; at += eu_utf8_length(at, (size_t)(end - at)))
            ck_assert_uint_gt(eu_utf8_length(at, (size_t)(end - at)), 0);
    }
}
END_TEST

static void *other_thread(void *unused)
{
    const char *before = strdup(eng_last_error());
    eng_fail(ENG_ERR_IO, "other");
    return (void *)(uintptr_t)before;
}

START_TEST(error_parts)
{
    eng_error e = {.size = sizeof e};
    ck_assert_int_eq(eng_fail_code(ENG_ERR_NOMEM, ENG_CODE_DEVICE_MEMORY, 3,
                                   "tensor '%s'" ENG_CAUSE "expected %d, got %d" ENG_ADVICE "ask for %d", "a", 1, 2, 1),
                     ENG_ERR_NOMEM);
    ck_assert_str_eq(eng_last_error(), "tensor 'a': expected 1, got 2; ask for 1");
    ck_assert_int_eq(eng_last_error_info(&e), ENG_OK);
    ck_assert_int_eq(e.status, ENG_ERR_NOMEM);
    ck_assert_uint_eq(e.code, ENG_CODE_DEVICE_MEMORY);
    ck_assert_int_eq(e.index, 3);
    ck_assert_str_eq(e.subject, "tensor 'a'");
    ck_assert_str_eq(e.cause, "expected 1, got 2");
    ck_assert_str_eq(e.advice, "ask for 1");
    /* who knows more puts it before the subject, and the rest stays */
    ck_assert_int_eq(eng_fail_in(ENG_ERR_NOMEM, "rank %d", 1), ENG_ERR_NOMEM);
    ck_assert_str_eq(eng_last_error(), "rank 1: tensor 'a': expected 1, got 2; ask for 1");
    eng_last_error_info(&e);
    ck_assert_uint_eq(e.code, ENG_CODE_DEVICE_MEMORY);
    ck_assert_str_eq(e.advice, "ask for 1");
    /* a failure without parts has a cause alone, and is of no code */
    eng_fail(ENG_ERR_IO, "a cause");
    eng_last_error_info(&e);
    ck_assert_uint_eq(e.code, ENG_CODE_NONE);
    ck_assert_int_eq(e.index, -1);
    ck_assert_str_eq(e.subject, "");
    ck_assert_str_eq(e.cause, "a cause");
    ck_assert_str_eq(e.advice, "");
    /* nothing that a file brought along reaches a terminal */
    eng_fail(ENG_ERR_FORMAT, "tensor '%s'" ENG_CAUSE "bad", "\x1b[2J\x7f\xc3\xa4");
    ck_assert_str_eq(eng_last_error(), "tensor '\\x1b[2J\\x7f\xc3\xa4': bad");
    /* a failure quoted within another's text stays readable */
    eng_fail(ENG_ERR_IO, "a" ENG_CAUSE "%s", "b" ENG_CAUSE "c" ENG_ADVICE "d");
    ck_assert_str_eq(eng_last_error(), "a: b: c; d");
    eng_fail(ENG_ERR_IO, "a" ENG_CAUSE "b" ENG_ADVICE "%s", "c" ENG_CAUSE "d" ENG_ADVICE "e");
    ck_assert_str_eq(eng_last_error(), "a: b; c: d; e");
    /* more text than there is room for is cut, not written past its end */
    static char text[8192];
    memset(text, 'x', sizeof text - 1);
    eng_fail(ENG_ERR_IO, "%s", text);
    ck_assert_uint_lt(strlen(eng_last_error()), 4096);
    eng_fail_in(ENG_ERR_IO, "%s", text);
    ck_assert_uint_lt(strlen(eng_last_error()), 4096);
    ck_assert_int_eq(eng_last_error_info(NULL), ENG_ERR_INVALID);
    /* each part for itself: a long path leaves cause and advice as they are */
    text[4095] = 0;
    eng_fail(ENG_ERR_IO, "%s" ENG_CAUSE "why" ENG_ADVICE "what to do", text);
    eng_last_error_info(&e);
    ck_assert(strlen(e.subject) > 100 && strcmp(e.cause, "why") == 0 && strcmp(e.advice, "what to do") == 0);
}
END_TEST

START_TEST(error_per_thread)
{
    pthread_t thread;
    void *before;
    eng_fail(ENG_ERR_IO, "mine");
    ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, &before);
    ck_assert_str_eq(before, "");
    free(before);
    ck_assert_str_eq(eng_last_error(), "mine");
}
END_TEST

START_TEST(types)
{
    ck_assert_str_eq(eng_type_get(ENG_TYPE_Q4_K)->name, "q4_K");
    ck_assert_uint_eq(eng_type_find("nvfp4")->type, ENG_TYPE_NVFP4);
    ck_assert_ptr_null(eng_type_get(4));
    ck_assert_ptr_null(eng_type_get(64));
    ck_assert_ptr_null(eng_type_get(UINT32_MAX));
    ck_assert_ptr_null(eng_type_find("q4"));
    ck_assert_uint_eq(eng_type_find("Q4_k")->type, ENG_TYPE_Q4_K);
    ck_assert_uint_eq(eng_type_find("BF16")->type, ENG_TYPE_BF16);
    ck_assert_uint_eq(eng_row_bytes(ENG_TYPE_Q8_0, 64), 68);
    ck_assert_uint_eq(eng_row_bytes(ENG_TYPE_Q8_0, 65), 0);
    ck_assert_uint_eq(eng_row_bytes(ENG_TYPE_F32, INT64_MAX), 0);
    ck_assert_uint_eq(eng_row_bytes(99, 32), 0);
}
END_TEST

START_TEST(axis_names)
{
    eng_axis_table axes;
    eng_axes_init(&axes);
    uint32_t a = eng_axes_number(&axes, "ffn"), b = eng_axes_number(&axes, "vocab");
    ck_assert_uint_ne(a, ENG_AXIS_NONE);
    ck_assert_uint_ne(a, b);
    ck_assert_uint_eq(eng_axes_number(&axes, "ffn"), a);
    ck_assert_str_eq(eng_axes_name(&axes, b), "vocab");
    ck_assert_str_eq(eng_axes_name(&axes, 77), "");
    ck_assert_str_eq(eng_axes_name(&axes, 0), "");
    ck_assert_uint_eq(eng_axes_number(&axes, ""), ENG_AXIS_NONE);
    eng_axes_free(&axes);
}
END_TEST

/* Structs of hosts that know fewer fields than we do, as many, and more. */
START_TEST(given_structs)
{
    enum { OURS = 24, ROOM = 64 };
    unsigned char ours[OURS], theirs[ROOM];
    memset(ours, 1, sizeof ours);
    for (uint32_t size = 8; size <= ROOM; size++) {
        memset(theirs, 0xff, sizeof theirs);
        memcpy(theirs, &size, sizeof size);
        ck_assert_int_eq(eng_give(theirs, ours, sizeof ours, "a struct"), ENG_OK);
        ck_assert_mem_eq(theirs, &size, sizeof size); /* the host's own size stays */
        for (uint32_t i = sizeof size; i < ROOM; i++)
            ck_assert_uint_eq(theirs[i], i >= size ? 0xff : i < OURS ? 1 : 0);
    }
    for (uint32_t size = 0; size < 8; size++) {
        memset(theirs, 0xff, sizeof theirs);
        memcpy(theirs, &size, sizeof size);
        ck_assert_int_eq(eng_give(theirs, ours, sizeof ours, "a_struct"), ENG_ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(eng_last_error(), "sizeof(a_struct)"));
        for (uint32_t i = sizeof size; i < ROOM; i++)
            ck_assert_uint_eq(theirs[i], 0xff);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *t = tcase_create("base");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, error_text);
    tcase_add_test(t, error_parts);
    tcase_add_test(t, cut_characters);
    tcase_add_test(t, error_per_thread);
    tcase_add_test(t, types);
    tcase_add_test(t, axis_names);
    tcase_add_test(t, given_structs);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
