/* The cpu plugin's options: what each refuses is told with what it takes, and what it takes opens a device. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

static int open_with(const char *option, const char *value)
{
    eng_context *context;
    eng_device *device = NULL;
    ck_assert_int_eq(eng_context_create(NULL, &context), ENG_OK);
    ck_assert_int_eq(eng_context_set_option(context, option, value), ENG_OK);
    const int status = eng_device_open(context, "cpu", &device);
    eng_device_close(device);
    eng_context_destroy(context);
    return status;
}

START_TEST(wrong_values_are_told)
{
    static const struct { const char *option, *value; int status; const char *text; } wrong[] = {
        {"cpu.threads", "-1", ENG_ERR_INVALID, "a number from 0 (automatic)"},
        {"cpu.threads", "two", ENG_ERR_INVALID, "got 'two'"},
        {"cpu.simd", "mmx", ENG_ERR_UNSUPPORTED, "auto, scalar, avx2"},
        {"cpu.amx", "maybe", ENG_ERR_INVALID, "auto, off or emulated"},
        {"cpu.stream", "perhaps", ENG_ERR_INVALID, "auto, yes or no"},
        {"cpu.memory", "-1", ENG_ERR_INVALID, "it takes bytes"},
        {"cpu.memory", "7Q", ENG_ERR_INVALID, "it takes bytes"},
        {"cpu.memory", "much", ENG_ERR_INVALID, "it takes bytes"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(open_with(wrong[i].option, wrong[i].value), wrong[i].status);
        ck_assert_msg(strstr(eng_last_error(), wrong[i].text) && strstr(eng_last_error(), wrong[i].option),
                      "%s = %s: %s", wrong[i].option, wrong[i].value, eng_last_error());
    }
}
END_TEST

START_TEST(right_values_open)
{
    static const char *const right[][2] = {
        {"cpu.threads", "0"}, {"cpu.threads", "3"}, {"cpu.simd", "auto"},   {"cpu.simd", "scalar"},   {"cpu.amx", "off"},
        {"cpu.stream", "yes"}, {"cpu.stream", "no"}, {"cpu.stream", "auto"}, {"cpu.memory", "65536"}, {"cpu.memory", "2G"},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        ck_assert_msg(open_with(right[i][0], right[i][1]) == ENG_OK, "%s = %s: %s", right[i][0], right[i][1],
                      eng_last_error());
}
END_TEST

int main(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");
    tcase_add_test(t, wrong_values_are_told);
    tcase_add_test(t, right_values_open);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
