/*
 * Runs given ahead (plugins/meta/run/ahead.c): devices that call the host do the exchanges themselves.  Here something fails in the middle
 * of such a run, a device cannot do it although it says so, or two runs want to at the same time.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/subject.h"

#include "../pocl.h"
#include "../tap.h"

enum { BLOCKS = 3, RUNS = 6, AT_ONCE = 200 };

typedef struct ahead_case {
    const char *behind; /* what fault:0 and fault:1 are                               */
    const char *kind;
    int index, at;
    int status;         /* of the run that is hit; ENG_OK: none is                    */
    const char *text;   /* that the error must quote                                  */
} ahead_case;

static float want[SUBJECT_WIDTH];
static bool pocl; /* whose sub-devices have threads of their own: no other is asked to be able */

static bool no(const ahead_case *c, const char *what)
{
    printf("# %s at %d of fault:%d: %s; last error: %s\n", c->kind, c->at, c->index, what, eng_last_error());
    return false;
}

static bool unhit; /* no run was, and all were right */

static bool judge(const ahead_case *c, subject *s)
{
    char rank[16], name[96];
    bool right = true;
    int hit = subject_open(s, "fault:0+fault:1");

    if (hit != ENG_OK)
        return no(c, "does not open");
    for (int i = 0; i < RUNS && hit == ENG_OK; i++)
        hit = subject_run(s, want, &right);
    unhit = hit == ENG_OK && right && c->status != ENG_OK;
    if (hit != c->status || !right)
        return no(c, right ? "another status" : "wrong");
    if (hit == ENG_OK)
        return true;
    snprintf(rank, sizeof rank, "fault:%d", c->index);
    subject_rank_name("fault:0+fault:1", rank, name, sizeof name);
    if (strncmp(eng_last_error(), name, strlen(name)) != 0 || !strstr(eng_last_error(), c->text))
        return no(c, "the error does not name the rank and quote its device");
    const int after = subject_run(s, want, &right);
    if (hit == ENG_ERR_LOST ? after != ENG_ERR_LOST : after != ENG_OK || !right)
        return no(c, "the run after is not as it should be");
    return true;
}

static void test(const ahead_case *c)
{
    subject s;
    double from = subject_now();
    bool good = subject_begin(&s, "cpu,meta,fault,opencl") && subject_option(&s, "fault.device", c->behind) &&
                subject_option(&s, "fault.kind", c->kind) && subject_number(&s, "fault.index", c->index) &&
                subject_number(&s, "fault.at", c->at) && subject_number(&s, "fault.calls", 1) &&
                subject_number(&s, "fault.times", strcmp(c->kind, "lost") == 0 || strcmp(c->kind, "through-refused") == 0 ? 1000000 : 1) &&
                subject_option(&s, "opencl.series", "yes");
    good = good ? judge(c, &s) : no(c, "no context");
    subject_close(&s, false);
    good = subject_end(&s) ? good : no(c, "the context does not end");
    if (!good && unhit && !pocl) {
        tap_check(true, "%s of fault:%d at %d, of %s # SKIP its threads do not wait for one another", c->kind, c->index, c->at, c->behind);
        return;
    }
    if (good && subject_now() - from > 60)
        good = no(c, "it took too long");
    tap_check(good, "%s of fault:%d at %d, of %s", c->kind, c->index, c->at, c->behind);
}

/* -- two at the same time ------------------------------------------------------------------- */

static void *run_often(void *which)
{
    subject *s = which;
    bool right = true;
    for (int i = 0; i < AT_ONCE && right; i++)
        right = subject_run(s, want, &right) == ENG_OK && right;
    return right ? s : NULL;
}

/* Each would keep a thread that the other waits for. */
static bool two_at_once(void)
{
    subject s[2];
    pthread_t thread[2];
    bool good = true;
    for (int i = 0; i < 2; i++)
        good = subject_begin(&s[i], "meta,opencl") && subject_open(&s[i], "opencl:0/2") == ENG_OK && good;
    for (int i = 0; i < 2 && good; i++)
        good = pthread_create(&thread[i], NULL, run_often, &s[i]) == 0;
    for (int i = 0; i < 2 && good; i++) {
        void *right = NULL;
        pthread_join(thread[i], &right);
        good = right != NULL;
    }
    for (int i = 0; i < 2; i++) {
        subject_close(&s[i], false);
        good = subject_end(&s[i]) && good;
    }
    return good;
}

/* -- all -------------------------------------------------------------------------------------- */

static bool opens(const char *device)
{
    subject s;
    bool good = subject_begin(&s, "meta,opencl") && subject_open(&s, device) == ENG_OK;
    pocl = good && test_is_pocl(s.device);
    subject_close(&s, false);
    return subject_end(&s) && good;
}

/* out: a guest that holds the result, or NULL. */
static bool runs(const char *device, const char *out, const char *profile)
{
    subject s;
    bool right = true, good = subject_begin(&s, "cpu,meta,opencl") && subject_option(&s, "opencl.profile", profile);
    s.out_device = out;
    good = good && subject_open(&s, device) == ENG_OK;
    for (int i = 0; i < RUNS && good; i++)
        good = subject_run(&s, want, &right) == ENG_OK && right;
    if (!good)
        printf("# %s\n", eng_last_error());
    subject_close(&s, false);
    return subject_end(&s) && good;
}

/* One graph of the device has a guest and the other has none: what was tried for the one says nothing of the other. */
static bool guest_in_one(const char *device, const char *out)
{
    subject with, without;
    bool right = true, good = subject_begin(&without, "meta,opencl") && subject_open(&without, device) == ENG_OK;
    with = (subject){.n_blocks = BLOCKS, .out_device = out};
    for (int i = 0; i < 2 && good; i++)
        good = subject_run(&without, want, &right) == ENG_OK && right;
    with.context = without.context;
    good = good && subject_open(&with, device) == ENG_OK;
    for (int i = 0; i < RUNS && good; i++)
        good = subject_run(i % 2 ? &without : &with, want, &right) == ENG_OK && right;
    subject_close(&with, false);
    subject_close(&without, false);
    return subject_end(&without) && good;
}

static void test_guests(void)
{
    static const char two[] = "opencl:0/4.0+opencl:0/4.1", third[] = "opencl:0/4.2";
    tap_check(runs("opencl:0/2", "opencl:0", "no"), "a guest that needs the threads of both halves");
    tap_check(guest_in_one("opencl:0/2", "opencl:0"), "such a guest in every second run");
    if (!opens("opencl:0/4")) {
        tap_check(true, "quarters # SKIP they do not open: %s", eng_last_error());
        return;
    }
    tap_check(runs(two, third, "no"), "a guest with a thread of its own");
    tap_check(runs(two, third, "yes"), "the same, each section waited for");
    tap_check(runs("opencl:0+opencl:0/4.3", NULL, "no"), "a device beside a quarter of its own");
    tap_check(runs("opencl:0/2.0+opencl:0/4.1", NULL, "no"), "a half beside a quarter of its own");
}

int main(void)
{
    static const char halves[] = "opencl:0/2.0,opencl:0/2.1", mixed[] = "cpu/2.0,opencl:0/2.1";
    static const ahead_case on_cpu = {.behind = "cpu/2.0,cpu/2.1", .kind = "none"};
    static const ahead_case on_opencl[] = {
        {halves, "none", .at = 1},
        {halves, "call", .at = 1}, /* the trial */
        {halves, "call", .at = 2, .status = ENG_ERR_DEVICE, .text = "planted: the call has failed"},
        {halves, "call", .index = 1, .at = 3, .status = ENG_ERR_DEVICE, .text = "planted: the call has failed"},
        {halves, "call", .at = 9, .status = ENG_ERR_DEVICE, .text = "planted: the call has failed"},
        {halves, "uncalled", .at = 3, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "uncalled", .index = 1, .at = 2, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "uncalled", .index = 1, .at = 7, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "error", .index = 1, .at = 1, .status = ENG_ERR_DEVICE, .text = "planted: the submission has failed"},
        {halves, "error", .at = 2, .status = ENG_ERR_DEVICE, .text = "planted: the submission has failed"},
        {halves, "error", .index = 1, .at = 7, .status = ENG_ERR_DEVICE, .text = "planted: the submission has failed"},
        {halves, "through", .at = 1, .status = ENG_ERR_DEVICE, .text = "planted: the run has failed"},
        {halves, "through", .index = 1, .at = 3, .status = ENG_ERR_DEVICE, .text = "planted: the run has failed"},
        {halves, "through-uncalled", .at = 2, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "through-uncalled", .index = 1, .at = 3, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "through-refused", .at = 1}, /* one rank whole, the other by sections */
        {halves, "through-refused", .index = 1, .at = 2},
        {halves, "wait", .at = 2, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "wait", .index = 1, .at = 7, .status = ENG_ERR_DEVICE, .text = "planted: the work has failed"},
        {halves, "lost", .at = 3, .status = ENG_ERR_LOST, .text = "planted: the device is lost"},
        {mixed, "none", .at = 1},
    };

    setenv("POCL_MAX_PTHREAD_COUNT", "4", 0); /* so that PoCL has quarters */
    alarm(600); /* what hangs here is a defect, and ends */
    if (!subject_want(BLOCKS, want)) {
        printf("Bail out! no result to compare with\n");
        return 1;
    }
    test(&on_cpu); /* calls before host_call returns: no two could wait for one another */
    if (opens("opencl:0/2")) {
        tap_check(runs("opencl:0/2", NULL, "no"), "halves of a device");
        for (size_t i = 0; i < sizeof on_opencl / sizeof *on_opencl; i++)
            test(&on_opencl[i]);
        tap_check(runs("cpu/2.0+opencl:0/2.1", NULL, "no"), "a rank that is given ahead beside one that is not");
        test_guests();
        tap_check(two_at_once(), "two devices of the same halves run at the same time");
    } else {
        tap_check(true, "opencl:0/2 # SKIP it does not open: %s", eng_last_error());
    }
    return tap_end(NULL);
}
