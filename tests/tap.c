/* Results of a test program, in TAP. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

static int n_tests, n_failed;

eng_context *tap_begin(void)
{
    eng_context *context = NULL;

    if (eng_context_create(NULL, &context) != ENG_OK)
        printf("Bail out! %s\n", eng_last_error());
    return context;
}

bool tap_check(bool good, const char *format, ...)
{
    va_list args;

    n_failed += !good;
    printf("%sok %d - ", good ? "" : "not ", ++n_tests);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return good;
}

int tap_end(eng_context *context)
{
    printf("1..%d\n", n_tests);
    eng_context_destroy(context);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
