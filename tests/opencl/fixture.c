/* The device that test-opencl tests. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

const char *named(const char *part)
{
    static char names[4][48];
    static unsigned next;
    const char *device = getenv("ENG_TEST_OPENCL");
    char *name = names[next++ % 4];
    snprintf(name, sizeof names[0], "%s%s", device && *device ? device : "opencl:0", part);
    return name;
}

fixture open_with(const char *name, const char *const *options)
{
    fixture f;
    ck_assert_int_eq(eng_context_create(NULL, &f.context), ENG_OK);
    for (; options && options[0]; options += 2)
        ck_assert_msg(eng_context_set_option(f.context, options[0], options[1]) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_device_open(f.context, name, &f.device) == ENG_OK, "%s", eng_last_error());
    return f;
}

void close_all(fixture f)
{
    eng_device_close(f.device);
    ck_assert_int_eq(eng_context_destroy(f.context), ENG_OK);
}

eng_store_tensor declare(const char *name, uint32_t type, uint32_t use, int64_t n0, int64_t n1, int64_t n2)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 3, .use = use, .ne = {n0, n1, n2},
                              .name = name, .layer = -1};
}
