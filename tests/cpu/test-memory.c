/* Large memory of the cpu plugin, on a machine that does not say what it has: nothing is refused before the system is asked. */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "plugins/cpu/cpu.h"
#include "plugins/cpu/device/topology.h"

#define HUGE ((size_t)2 << 20)

void cpu_memory_find(uint64_t *total, uint64_t *available)
{
    *total = *available = 0;
}

uint64_t cpu_memory_swap(void)
{
    return 0;
}

void cpu_topology_place(cpu_topology *topology, const int *cores, uint32_t n, void *memory, size_t bytes)
{
    (void)topology, (void)cores, (void)n, (void)memory, (void)bytes;
}

START_TEST(what_no_address_space_has_is_refused)
{
    for (size_t less = 0; less <= 2 * HUGE; less += HUGE / 4)
        ck_assert_msg(cpu_memory_get(SIZE_MAX - less) == NULL, "all memory less %zu bytes is there", less);
}
END_TEST

START_TEST(a_huge_page_may_begin_where_it_begins)
{
    for (size_t bytes = HUGE; bytes < 20 * HUGE; bytes += bytes / 3 + 1234) {
        char *p = cpu_memory_get(bytes);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % HUGE, 0);
        ck_assert(p[0] == 0 && p[bytes - 1] == 0);
        p[0] = p[bytes - 1] = 1;
        cpu_memory_free(p, bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu memory");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, what_no_address_space_has_is_refused);
    tcase_add_test(tcase, a_huge_page_may_begin_where_it_begins);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
