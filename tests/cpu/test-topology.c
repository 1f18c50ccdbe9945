/* Cores of machines that are not here (hwloc's synthetic ones), in the order in which parts of a processor get them. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/cpu/cpu.h"
#include "plugins/cpu/device/topology.h"

#define MOST 16

/* The cores 0 to n - 1, less those of `without`, as a machine of that description has them. */
static uint32_t order(const char *machine, uint32_t n, uint32_t without, int *cores)
{
    struct eng_plugin_state plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ck_assert_int_eq(setenv("HWLOC_SYNTHETIC", machine, 1), 0);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!(without >> i & 1))
            cores[count++] = (int)i;
    cpu_topology_order(cpu_topology_of(&plugin), cores, count);
    ck_assert(cpu_topology_of(&plugin) == plugin.topology);
    cpu_topology_end(plugin.topology);
    return count;
}

static void expect(const char *machine, uint32_t n, uint32_t without, const int *expected)
{
    int cores[MOST];
    uint32_t count = order(machine, n, without, cores);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_msg(cores[i] == expected[i], "%s: core %d is at %u, expected %d", machine, cores[i], i, expected[i]);
}

#define SOCKETS_BY_TURNS "pack:2 [numa] core:2 pu:2(indexes=0,4,2,6,1,5,3,7)"

START_TEST(neighbours_follow_one_another)
{
#ifdef HAVE_HWLOC
    /* second threads behind all first ones, as Linux numbers them, sockets one after the other and by turns */
    expect("pack:2 [numa] core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", 8, 0, (int[]){0, 4, 1, 5, 2, 6, 3, 7});
    expect(SOCKETS_BY_TURNS, 8, 0, (int[]){0, 4, 2, 6, 1, 5, 3, 7});
    expect("l3:2 core:2 pu:1(indexes=3,1,2,0)", 4, 0, (int[]){0, 2, 1, 3});
#else
    expect(SOCKETS_BY_TURNS, 8, 0, (int[]){0, 1, 2, 3, 4, 5, 6, 7});
#endif
}
END_TEST

#ifdef HAVE_HWLOC
START_TEST(cores_that_are_not_ours_are_left_out)
{
    expect(SOCKETS_BY_TURNS, 8, 1u << 4 | 1u << 1, (int[]){0, 2, 6, 5, 3, 7});
}
END_TEST

START_TEST(cores_that_the_topology_lacks_come_last)
{
    expect("core:2 pu:1(indexes=5,2)", 6, 0, (int[]){2, 5, 0, 1, 3, 4});
}
END_TEST
#endif

START_TEST(memory_is_there_wherever_it_is_wished)
{
    struct eng_plugin_state plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ck_assert_int_eq(setenv("HWLOC_SYNTHETIC", SOCKETS_BY_TURNS, 1), 0);
    ck_assert_int_eq(setenv("HWLOC_THISSYSTEM", "1", 1), 0); /* the system is asked for its second node, and refuses */
    const size_t bytes = (size_t)4 << 20;
    void *memory = aligned_alloc((size_t)2 << 20, bytes);
    ck_assert_ptr_nonnull(memory);
    cpu_topology_place(cpu_topology_of(&plugin), (int[]){1, 5}, 2, memory, bytes);
    memset(memory, 1, bytes);
    free(memory);
    cpu_topology_place(NULL, NULL, 0, NULL, 0);
    cpu_topology_end(plugin.topology);
    unsetenv("HWLOC_THISSYSTEM");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("topology");
    TCase *t = tcase_create("topology");
    tcase_add_test(t, neighbours_follow_one_another);
#ifdef HAVE_HWLOC
    tcase_add_test(t, cores_that_are_not_ours_are_left_out);
    tcase_add_test(t, cores_that_the_topology_lacks_come_last);
#endif
    tcase_add_test(t, memory_is_there_wherever_it_is_wished);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
