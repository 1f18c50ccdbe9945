/*
 * What the control group of a process leaves it of the machine is what the cpu device says it has: the files that the
 * plugin reads are this program's own.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "config.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define MIB (UINT64_C(1) << 20)

#ifdef RTLD_NEXT
static const struct file {
    const char *path, *content;
} *files; /* the last one has no path; NULL: the system's own */

/* Is it for these files to say what is in it?  Other plugins read other things of the system. */
static bool replaced(const char *path, const char **content)
{
    *content = NULL;
    for (const struct file *f = files; f && f->path; f++)
        if (strcmp(f->path, path) == 0)
            *content = f->content;
    return *content || (files && strncmp(path, "/sys/fs/cgroup", 14) == 0);
}

__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *);
    const char *content;
    if (replaced(path, &content)) {
        errno = ENOENT;
        return content ? fmemopen((void *)(uintptr_t)content, strlen(content), "r") : NULL;
    }
    void *symbol = dlsym(RTLD_NEXT, "fopen");
    memcpy(&next, &symbol, sizeof next);
    return next(path, mode);
}

/* What the device of that name says of itself in the group of these files. */
static eng_device_info look(const struct file *group, const char *name)
{
    eng_context *context;
    eng_device *device;
    eng_device_info info = {.size = sizeof info};
    files = group;
    ck_assert_int_eq(eng_context_create(NULL, &context), ENG_OK);
    ck_assert_msg(eng_device_open(context, name, &device) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_device_get_info(device, &info), ENG_OK);
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
    files = NULL;
    return info;
}

static const struct file alone[] = {
    {"/proc/self/cgroup", "0::/\n"},
    {"/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 262144 kB\n"},
    {NULL, NULL},
};

/* Half of one core's time; 64 MiB, of which 16 are used and 24 are a cache of files. */
static const struct file version_2[] = {
    {"/proc/self/cgroup", "0::/box/job\n"},
    {"/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 262144 kB\n"},
    {"/sys/fs/cgroup/box/cpu.max", "50000 100000\n"},
    {"/sys/fs/cgroup/box/memory.max", "67108864\n"},
    {"/sys/fs/cgroup/box/memory.current", "41943040\n"},
    {"/sys/fs/cgroup/box/memory.stat", "anon 1\ninactive_file 25165824\n"},
    {"/sys/fs/cgroup/box/job/memory.max", "max\n"},
    {NULL, NULL},
};

/* The same of version 1, whose controllers may share a line. */
static const struct file version_1[] = {
    {"/proc/self/cgroup", "7:pids:/other\n5:cpu,memory:/job\n"},
    {"/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 262144 kB\n"},
    {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n"},
    {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"},
    {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "67108864\n"},
    {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "41943040\n"},
    {"/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 7\ntotal_inactive_file 25165824\n"},
    {NULL, NULL},
};

START_TEST(no_group)
{
    eng_device_info info = look(alone, "cpu");
    ck_assert_uint_ge(info.compute_units, 1);
    ck_assert_uint_eq(info.memory_free, 256 * MIB);
}
END_TEST

START_TEST(limited)
{
    const struct file *group = _i ? version_1 : version_2;
    eng_device_info info = look(group, "cpu");
    ck_assert_uint_eq(info.compute_units, 1);
    ck_assert_uint_eq(info.memory_total, 64 * MIB);
    ck_assert_uint_eq(info.memory_free, 48 * MIB);
    info = look(group, "cpu:0/2.1");
    ck_assert_uint_eq(info.compute_units, 1);
    ck_assert_uint_eq(info.memory_free, 24 * MIB);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("group");
    TCase *t = tcase_create("group");
#ifdef RTLD_NEXT
    tcase_add_test(t, no_group);
    tcase_add_loop_test(t, limited, 0, 2);
#endif
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
