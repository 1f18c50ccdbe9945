/* The self-test: the conformance suite on a device, in a child, told as TAP, one test for each op, as it goes. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "probe.h"
#include "tests/conformance/conformance.h"

#define TOLD_EVERY 0.2 /* seconds, on a terminal */

/* What is known of the op that is being tested. */
typedef struct tally {
    uint64_t passed, failed, unsupported;
    char first[640];  /* what went wrong first */
    char denied[300]; /* why the device has said no first */
} tally;

typedef struct tester {
    const probe_settings *settings;
    const char *device, *ops;
    FILE *out;
    double told; /* when */
    tally now;
    /* the parent's */
    probe_report report;
    uint32_t printed; /* cells of the report */
    int *test, failed;
    bool terminal;
} tester;

/* -- the child's part ------------------------------------------------------------------ */

static void on_result(void *ctx, const eng_conformance_result *r)
{
    tester *t = ctx;
    tally *n = &t->now;
    n->passed += r->outcome == ENG_CONFORMANCE_PASS;
    if (r->outcome == ENG_CONFORMANCE_UNSUPPORTED && n->unsupported++ == 0)
        snprintf(n->denied, sizeof n->denied, "%s", r->detail);
    if (r->outcome == ENG_CONFORMANCE_FAIL && n->failed++ == 0)
        snprintf(n->first, sizeof n->first, "%s (seed %" PRIu64 "; engine-bench '%s'): %s", r->name, r->seed,
                 r->line ? r->line : "", r->detail);
    double now = eu_seconds();
    if (now - t->told < TOLD_EVERY)
        return;
    char text[160];
    t->told = now;
    snprintf(text, sizeof text, "%s on %s: %" PRIu64 " cases", r->op, t->device,
             n->passed + n->failed + n->unsupported);
    probe_write_progress(t->out, text);
    fflush(t->out);
}

/* An op of which the device has nothing is no fault of it. */
static void tell_op(const tester *t, const char *op)
{
    const tally *n = &t->now;
    char text[1000];
    int answer = n->failed ? ENG_SUPPORT_NO : n->passed ? ENG_SUPPORT_YES : -1;
    if (answer == -1)
        snprintf(text, sizeof text, "%s", *n->denied ? n->denied : "the device does not support it");
    else
        snprintf(text, sizeof text, "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " not supported%s%s", n->passed,
                 n->failed, n->unsupported, n->failed ? "; first failure: " : "", n->first);
    probe_write_cell(t->out, t->device, op, "", answer, text);
    fflush(t->out);
}

static bool is_wanted(const char *ops, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = ops; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
            return true;
    return !ops;
}

/* Op by op, so that each is told when it is done. */
static int test_ops(tester *t, eng_context *context)
{
    for (uint32_t i = 1; i < ENG_OP_LIMIT; i++) {
        const eng_op_info *op = eng_op_get(i);
        if (!op || !is_wanted(t->ops, op->name))
            continue;
        eng_conformance_options options = {.size = sizeof options, .quick = 1, .lenient = 1, .ops = op->name,
                                           .report = on_result, .ctx = t};
        eng_conformance_summary summary = {.size = sizeof summary};
        memset(&t->now, 0, sizeof t->now);
        int status = eng_conformance_run(context, t->device, &options, &summary);
        if (status == ENG_ERR_NOTFOUND)
            continue; /* the suite tests it with others */
        if (status < 0)
            return status;
        tell_op(t, op->name);
    }
    return ENG_OK;
}

static void test_device(FILE *out, void *arg)
{
    tester *t = arg;
    eng_device *device = NULL;
    t->out = out;
    eng_context *context = probe_context(t->settings, 0);
    int status = eng_device_open(context, t->device, &device);
    eng_device_close(device);
    if (status >= 0)
        status = test_ops(t, context);
    if (status < 0)
        probe_write_error(out);
    fflush(out);
    eng_context_destroy(context);
}

/* -- the parent's -------------------------------------------------------------------------- */

static void print_new(void *user)
{
    tester *t = user;
    if (t->terminal)
        fputs("\r\033[K", stderr);
    for (; t->printed < t->report.n_cells; t->printed++) {
        const probe_cell *c = &t->report.cells[t->printed];
        bool ok = c->answer != ENG_SUPPORT_NO;
        t->failed += !ok;
        printf("%s %d - %s on %s%s%s\n", ok ? "ok" : "not ok", ++*t->test, c->op, t->device,
               c->answer < 0 ? " # SKIP " : ": ", c->reason);
    }
    fflush(stdout);
    if (t->terminal && t->report.progress)
        fprintf(stderr, "%s", t->report.progress);
}

int probe_test(const probe_settings *settings, const char *device, const char *ops, int *test)
{
    tester t = {.settings = settings, .device = device, .ops = ops, .test = test,
                .terminal = settings->isolate && isatty(STDERR_FILENO)};
    probe_end end;
    char doing[128];
    t.report.told = print_new;
    t.report.user = &t;
    snprintf(doing, sizeof doing, "testing %.80s", device);
    probe_run(settings, doing, test_device, &t, &t.report, &end);
    print_new(&t);
    if (t.terminal)
        fputs("\r\033[K", stderr);
    probe_explain(settings, device, &end, &t.report);
    bool begun = t.report.n_cells > 0 || t.report.progress;
    if (t.report.error || t.report.n_cells == 0) {
        t.failed++;
        printf("not ok %d - the suite runs on %s: %s%s%s\n", ++*test, device,
               t.report.error ? t.report.error : "it ran no case",
               t.report.error && t.report.progress ? "; it was at " : "",
               t.report.error && t.report.progress ? t.report.progress : "");
    }
    fflush(stdout);
    bool unusable = t.report.error && !begun; /* not one case could be tried */
    bool named = t.report.error_code != ENG_CODE_DEVICE_NAME;
    int failed = t.failed;
    probe_report_free(&t.report);
    return !unusable ? failed : named ? -1 : -2;
}
