/* The self-test: the conformance suite on a device, in a child, told as TAP: one test for each op. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "tests/conformance/conformance.h"

typedef struct tester {
    const probe_settings *settings;
    const char *device;
    FILE *out;
    char op[32]; /* whose cases are being run */
    uint64_t passed, failed, unsupported;
    char first[512]; /* what went wrong first */
} tester;

/* A record for the op whose cases are over. */
static void end_op(tester *t)
{
    char text[768];
    if (!*t->op)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " unsupported%s%s", t->passed, t->failed,
             t->unsupported, *t->first ? "; first failure: " : "", t->first);
    probe_write_cell(t->out, t->device, t->op, "", t->failed ? ENG_SUPPORT_NO : ENG_SUPPORT_YES, text);
    fflush(t->out);
    t->passed = t->failed = t->unsupported = 0;
    *t->first = 0;
}

static void on_result(void *ctx, const eng_conformance_result *r)
{
    tester *t = ctx;
    if (strcmp(t->op, r->op) != 0) {
        end_op(t);
        snprintf(t->op, sizeof t->op, "%s", r->op);
    }
    t->passed += r->outcome == ENG_CONFORMANCE_PASS;
    t->unsupported += r->outcome == ENG_CONFORMANCE_UNSUPPORTED;
    if (r->outcome == ENG_CONFORMANCE_FAIL && t->failed++ == 0)
        snprintf(t->first, sizeof t->first, "%s (seed %" PRIu64 "): %s", r->name, r->seed, r->detail);
}

static void test_device(FILE *out, void *arg)
{
    tester *t = arg;
    t->out = out;
    eng_context *context = probe_context(t->settings, 0);
    eng_conformance_options options = {.size = sizeof options, .quick = 1, .report = on_result, .ctx = t};
    eng_conformance_summary summary = {.size = sizeof summary};
    if (eng_conformance_run(context, t->device, &options, &summary) < 0)
        probe_write_error(out, eng_last_error());
    end_op(t);
    eng_context_destroy(context);
}

int probe_test(const probe_settings *settings, const char *device, int *test)
{
    tester t = {.settings = settings, .device = device};
    probe_report report = {0};
    probe_end end;
    int failed = 0;
    char doing[128];
    snprintf(doing, sizeof doing, "testing %.80s", device);
    probe_run(settings, doing, test_device, &t, &report, &end);
    probe_explain(settings, device, &end, &report);
    for (uint32_t i = 0; i < report.n_cells; i++) {
        bool ok = report.cells[i].answer != ENG_SUPPORT_NO;
        failed += !ok;
        printf("%s %d - %s on %s: %s\n", ok ? "ok" : "not ok", ++*test, report.cells[i].op, device, report.cells[i].reason);
    }
    if (report.error || report.n_cells == 0) {
        failed++;
        printf("not ok %d - the suite runs on %s: %s\n", ++*test, device, report.error ? report.error : "it ran no case");
    }
    fflush(stdout);
    probe_report_free(&report);
    return failed;
}
