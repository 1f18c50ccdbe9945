/* The self-test: the conformance suite on a device, in a child, told as TAP: one test for each op. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "tests/conformance/conformance.h"

/* What is known of one op so far. */
typedef struct tally {
    uint64_t passed, failed, unsupported;
    char first[400]; /* what went wrong first */
} tally;

typedef struct tester {
    const probe_settings *settings;
    const char *device;
    FILE *out;
    const eng_op_info *op; /* whose cases are being run */
    tally ops[ENG_OP_LIMIT];
} tester;

/* A record for the op; cases of it may follow later, and then a newer record does. */
static void end_op(tester *t)
{
    char text[600];
    if (!t->op)
        return;
    const tally *n = &t->ops[t->op->op];
    snprintf(text, sizeof text, "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " unsupported%s%s", n->passed, n->failed,
             n->unsupported, *n->first ? "; first failure: " : "", n->first);
    probe_write_cell(t->out, t->device, t->op->name, "", n->failed ? ENG_SUPPORT_NO : ENG_SUPPORT_YES, text);
    fflush(t->out);
}

static void on_result(void *ctx, const eng_conformance_result *r)
{
    tester *t = ctx;
    const eng_op_info *op = eng_op_find(r->op);
    if (!op)
        return;
    if (op != t->op)
        end_op(t);
    t->op = op;
    tally *n = &t->ops[op->op];
    n->passed += r->outcome == ENG_CONFORMANCE_PASS;
    n->unsupported += r->outcome == ENG_CONFORMANCE_UNSUPPORTED;
    if (r->outcome == ENG_CONFORMANCE_FAIL && n->failed++ == 0)
        snprintf(n->first, sizeof n->first, "%s (seed %" PRIu64 "): %s", r->name, r->seed, r->detail);
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

/* Is there a newer record of the same op? */
static bool outdated(const probe_report *report, uint32_t i)
{
    for (uint32_t j = i + 1; j < report->n_cells; j++)
        if (strcmp(report->cells[i].op, report->cells[j].op) == 0)
            return true;
    return false;
}

int probe_test(const probe_settings *settings, const char *device, int *test)
{
    static tester t; /* too large for the stack */
    memset(&t, 0, sizeof t);
    t.settings = settings;
    t.device = device;
    probe_report report = {0};
    probe_end end;
    int failed = 0;
    char doing[128];
    snprintf(doing, sizeof doing, "testing %.80s", device);
    probe_run(settings, doing, test_device, &t, &report, &end);
    probe_explain(settings, device, &end, &report);
    for (uint32_t i = 0; i < report.n_cells; i++) {
        if (outdated(&report, i))
            continue;
        bool ok = report.cells[i].answer != ENG_SUPPORT_NO;
        failed += !ok;
        printf("%s %d - %s on %s: %s\n", ok ? "ok" : "not ok", ++*test, report.cells[i].op, device, report.cells[i].reason);
    }
    if (report.error || report.n_cells == 0) {
        failed++;
        printf("not ok %d - the suite runs on %s: %s\n", ++*test, device, report.error ? report.error : "it ran no case");
    }
    fflush(stdout);
    bool unusable = report.error && report.n_cells == 0; /* not one case could be tried */
    probe_report_free(&report);
    return unusable ? -1 : failed;
}
