/* With how many threads runs go on (plugins/cpu/run/pace.h), by clocks that the test sets. */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "plugins/cpu/run/pace.h"

/* n runs of which those by all threads and by one take so long; how many one had. */
static int runs(cpu_pace *pace, int n, double together, double alone)
{
    int by_one = 0;
    for (int i = 0; i < n; i++) {
        const int threads = cpu_pace_threads(pace, 4);
        ck_assert(threads == 4 || threads == 1);
        by_one += threads == 1;
        cpu_pace_took(pace, threads, threads == 1 ? alone : together);
    }
    return by_one;
}

/* As fast as was guessed, or nearly: nothing is tried. */
START_TEST(quiet)
{
    cpu_pace pace = {.guess = 1e6};
    ck_assert_int_eq(runs(&pace, 5000, 0.4e6, 1e6), 0);
    ck_assert_int_eq(runs(&pace, 5000, 1.9e6, 1e6), 0);
}
END_TEST

/* Other programs come: nearly all runs are by one thread; they go: all threads are looked at again, and stay. */
START_TEST(busy)
{
    cpu_pace pace = {.guess = 1e6};
    runs(&pace, 200, 0.5e6, 1e6);
    ck_assert_int_ge(runs(&pace, 5000, 8e6, 1.2e6), 4500);
    runs(&pace, 2048, 0.5e6, 1e6);
    ck_assert_int_eq(runs(&pace, 5000, 0.5e6, 1e6), 0);
    ck_assert_int_ge(runs(&pace, 1000, 8e6, 1.2e6), 700); /* what had been found out before does not hold them up */
}
END_TEST

/* A guess that is far too low costs some trials, fewer and fewer; one thread that is no faster is not kept. */
START_TEST(in_vain)
{
    cpu_pace pace = {.guess = 1e6};
    const int first = runs(&pace, 1000, 5e6, 10e6), later = runs(&pace, 10000, 5e6, 10e6);
    ck_assert_int_ge(first, 1);
    ck_assert_int_le(first, 15);
    ck_assert_int_le(later, 25);
}
END_TEST

/* Long runs and devices of one thread are left as they are. */
START_TEST(others)
{
    cpu_pace pace = {.guess = 30e6}, one = {.guess = 1e6};
    ck_assert_int_eq(runs(&pace, 1000, 500e6, 30e6), 0);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(cpu_pace_threads(&one, 1), 1);
        cpu_pace_took(&one, 1, 50e6);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *t = tcase_create("pace");
    tcase_add_test(t, quiet);
    tcase_add_test(t, busy);
    tcase_add_test(t, in_vain);
    tcase_add_test(t, others);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
