/*
 * The host's memory ends: random graphs from opening a device to reading what they gave, with
 * each single request for memory refused in turn, alone or with all that follow.  What comes of
 * it is an error that says so, or the right result; nothing is left allocated, and the context
 * goes on.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "count.h"
#include "program.h"

static eng_context *context;
static pg_program *program;

/* Do programs learn that it was the host's memory?  Threads are another thing; of memory for tensors the cpu plugin
 * says how much there is instead; stores do not tell yet. */
static bool told(void)
{
    static const char *const others[] = {"the system has no room for one more", "this process holds",
                                         "cpu: out of memory", "out of host memory for the regions"};
    eng_error error = {.size = sizeof error};
    bool good = eng_last_error_info(&error) == ENG_OK && error.code == ENG_CODE_HOST_MEMORY;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        good = good || strstr(eng_last_error(), others[i]);
    return good;
}

/* Runs the program with the nth request refused; 0: none.  false: not as it should be.  *kept: but for pieces of memory
 * that nobody has given back yet. */
static bool run_once(const char *device, uint64_t nth, bool all, bool *kept)
{
    pg_results results;
    pg_verdict v = {.good = true};

    count_refuse(nth, all);
    count_start();
    int status = pg_run(context, device, program, &results, NULL);
    count_refuse(0, false);
    if (status == ENG_OK)
        pg_judge(program, &results, &v);
    pg_results_free(&results);
    count_stop();
    bool good = v.good && (status == ENG_OK || (nth && status == ENG_ERR_NOMEM && told()));
    *kept = good && count_kept() > 0;
    if (!good || *kept)
        printf("# request %" PRIu64 "%s refused on %s, seed %" PRIu64 ": %s, %s; %" PRId64 " pieces kept\n", nth,
               all ? " and what follows" : "", device, program->seed, eng_status_name(status),
               status == ENG_OK ? v.text : eng_last_error(), count_kept());
    return good && !*kept;
}

/* On a machine with other work a thread may end after what it did was waited for; a leak comes again. */
static bool run_without(const char *device, uint64_t nth, bool all)
{
    bool kept = true, good = false;
    for (int i = 0; i < 3 && kept && !good; i++)
        good = run_once(device, nth, all, &kept);
    return good;
}

static void check_program(const char *device, uint64_t seed, uint32_t nodes)
{
    uint64_t n = 1;
    bool good = pg_make(context, seed, nodes, program) && run_without(device, 0, false) &&
                run_without(device, 0, false);

    for (bool more = good; more && good; n++) {
        good = run_without(device, n, n % 2);
        more = count_refused();
        if (good && n % 32 == 0)
            good = run_without(device, 0, false);
    }
    tap_check(good && n > 100, "%" PRIu64 " requests for memory refused, seed %" PRIu64 " on %s", n - 2, seed, device);
}

int main(void)
{
    if (!count_possible()) {
        printf("1..0 # SKIP this build cannot refuse memory\n");
        return 0;
    }
    if (!(context = tap_begin()) || !(program = malloc(sizeof *program)))
        return 1;
    /* as many requests on every machine: threads ask for memory too */
    if (!tap_check(eng_context_set_option(context, "cpu.threads", "4") == ENG_OK, "four threads"))
        return tap_end(context);
    /* the context's thread that watches over queues begins with their first work, and stays */
    pg_results results;
    bool begun = pg_make(context, 1, 20, program);
    if (begun) {
        begun = pg_run(context, "cpu/2", program, &results, NULL) == ENG_OK;
        pg_results_free(&results);
    }
    if (!tap_check(begun, "a first run"))
        return tap_end(context);
    check_program("cpu/2", 1, 20);
    check_program("cpu/3@7:0:25", 9, 40);
    check_program("cpu@1", 3, 30);
    check_program("cpu/2@3:1", 6, 40);
    free(program);
    return tap_end(context);
}
