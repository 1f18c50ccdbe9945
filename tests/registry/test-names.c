/* The grammar of device names. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../libengine/device/names.h"

START_TEST(single)
{
    eng_device_name n;
    ck_assert_int_eq(eng_device_name_parse("cpu", &n), ENG_OK);
    ck_assert_uint_eq(n.n_leaves, 1);
    ck_assert_str_eq(n.leaves[0].plugin, "cpu");
    ck_assert_str_eq(n.leaves[0].name, "cpu");
    ck_assert_uint_eq(n.leaves[0].index, 0);
    ck_assert_uint_eq(n.leaves[0].parts, 1);
    ck_assert(!n.has_shares);

    ck_assert_int_eq(eng_device_name_parse("opencl:12", &n), ENG_OK);
    ck_assert_str_eq(n.leaves[0].plugin, "opencl");
    ck_assert_uint_eq(n.leaves[0].index, 12);

    ck_assert_int_eq(eng_device_name_parse("opencl:0/2.1", &n), ENG_OK);
    ck_assert_uint_eq(n.n_leaves, 1);
    ck_assert_uint_eq(n.leaves[0].parts, 2);
    ck_assert_uint_eq(n.leaves[0].part, 1);
    ck_assert_str_eq(n.leaves[0].name, "opencl:0/2.1");

    /* one part is the whole */
    ck_assert_int_eq(eng_device_name_parse("cpu/1", &n), ENG_OK);
    ck_assert_uint_eq(n.n_leaves, 1);
    ck_assert_str_eq(n.leaves[0].name, "cpu");
}
END_TEST

START_TEST(composed)
{
    eng_device_name n;
    ck_assert_int_eq(eng_device_name_parse("cpu/3", &n), ENG_OK);
    ck_assert_uint_eq(n.n_leaves, 3);
    ck_assert_str_eq(n.leaves[0].name, "cpu/3.0");
    ck_assert_str_eq(n.leaves[2].name, "cpu/3.2");

    ck_assert_int_eq(eng_device_name_parse("opencl:0/2+cpu@2:1.5:.25", &n), ENG_OK);
    ck_assert_uint_eq(n.n_leaves, 3);
    ck_assert_str_eq(n.leaves[1].name, "opencl:0/2.1");
    ck_assert_str_eq(n.leaves[2].name, "cpu");
    ck_assert(n.has_shares);
    ck_assert_double_eq(n.shares[0], 2);
    ck_assert_double_eq(n.shares[1], 1.5);
    ck_assert_double_eq(n.shares[2], 0.25);

    ck_assert_int_eq(eng_device_name_parse("cpu/2@1:0", &n), ENG_OK);
    ck_assert_double_eq(n.shares[1], 0);
    ck_assert_int_eq(eng_device_name_parse("cpu/16", &n), ENG_OK);
    ck_assert_uint_eq(n.n_leaves, 16);
    ck_assert_int_eq(eng_device_name_parse("cpu@1", &n), ENG_OK);
}
END_TEST

static const struct {
    const char *name, *cause;
} wrong[] = {
    {"", "empty"},
    {":0", "begins with the name of its plugin"},
    {"0", "begins with the name of its plugin"},
    {" cpu", "begins with the name of its plugin"},
    {"cpu ", "not understood"},
    {"cpu:", "number of the device is missing"},
    {"cpu:x", "number of the device is missing"},
    {"cpu:-1", "number of the device is missing"},
    {"cpu:99999999999999999999", "too large"},
    {"cpu/", "number of parts is missing"},
    {"cpu/0", "cannot be cut into 0 parts"},
    {"cpu/17", "too many parts"},
    {"cpu/2.", "number of the part is missing"},
    {"cpu/2.2", "no such part"},
    {"cpu/2.1.0", "not understood"},
    {"cpu+", "a device is missing"},
    {"+cpu", "begins with the name of its plugin"},
    {"cpu++cpu", "begins with the name of its plugin"},
    {"cpu/16+cpu", "too many devices"},
    {"cpu/2@", "a share is a number"},
    {"cpu/2@1", "1 share for 2 devices"},
    {"cpu/2@1:2:3", "3 shares for 2 devices"},
    {"cpu@1:2", "2 shares for 1 device;"},
    {"cpu/2@1:", "a share is a number"},
    {"cpu/2@0:0", "all shares are 0"},
    {"cpu/2@-1:2", "a share is a number"},
    {"cpu/2@1:nan", "a share is a number"},
    {"cpu/2@1:inf", "a share is a number"},
    {"cpu/2@1:2x", "shares are numbers"},
    {"cpu/2@1,5:1", "shares are numbers"},
    {"cpu@1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1", "20 shares for 1 device;"},
    {"a_name_of_a_plugin_that_is_much_too_long_for_anyone", "too long"},
    {"cpu/2.0/2", "not understood"},
};

START_TEST(refused)
{
    eng_device_name n;
    memset(&n, 0x5a, sizeof n);
    eng_device_name before = n;
    ck_assert_int_eq(eng_device_name_parse(wrong[_i].name, &n), ENG_ERR_INVALID);
    ck_assert_mem_eq(&n, &before, sizeof n); /* written only on success */
    ck_assert_msg(strstr(eng_last_error(), wrong[_i].cause) != NULL, "'%s': %s", wrong[_i].name, eng_last_error());
    if (*wrong[_i].name)
        ck_assert_msg(strstr(eng_last_error(), wrong[_i].name) != NULL, "the text does not quote '%s'", wrong[_i].name);
}
END_TEST

START_TEST(null)
{
    eng_device_name n;
    ck_assert_int_eq(eng_device_name_parse(NULL, &n), ENG_ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names");
    TCase *t = tcase_create("grammar");
    tcase_add_test(t, single);
    tcase_add_test(t, composed);
    tcase_add_loop_test(t, refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, null);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
