/* A few cases of engine-bench on a device, in a child, told as they come. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "probe.h"

static const char *const cases[] = {
    "mul_mat a=f16[4096,4096] b=f32[4096,1]",
    "mul_mat a=q8_0[4096,4096] b=f32[4096,1]",
    "mul_mat a=q4_0[4096,4096] b=f32[4096,1]",
    "mul_mat a=q4_K[4096,4096] b=f32[4096,1]",
    "mul_mat a=q4_0[4096,4096] b=f32[4096,512]",
    "attention q=f32[128,32,1] k=f16[128,4096,8] v=f16[128,4096,8] pos=i32[1]+4095 scale=0.088",
    "quantize x=f32[4096,1024] type=q8_0",
};

typedef struct question {
    const probe_settings *settings;
    const char *device;
    uint32_t printed; /* cells of the report: the parent's */
    probe_report report;
} question;

/* -- the child's part --------------------------------------------------------------- */

/* A line of text as a cell: of a case, of the device, or the head of the table. */
static void tell(FILE *out, const char *device, const bench_device *measured, const bench_result *result)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return;
    if (result)
        bench_print(f, result);
    else if (measured)
        bench_print_device(f, measured);
    else
        bench_print_head(f);
    if (fclose(f) == 0 && n > 0) {
        text[n - 1] = '\0'; /* the line's end */
        probe_write_cell(out, device, "bench", "", result && result->status ? ENG_SUPPORT_NO : ENG_SUPPORT_YES, text);
    }
    fflush(out);
    free(text);
}

static void run_cases(FILE *out, eng_context *context, bench_device *d)
{
    static const bench_settings settings = {.seconds = 0.3, .working_set = 128000000};
    converter *convert = NULL;
    if (converter_create(context, "cpu", NULL, &convert) != ENG_OK &&
        converter_create(context, d->name, NULL, &convert) != ENG_OK) {
        probe_write_error(out);
        return;
    }
    bench_measure(context, d);
    tell(out, d->name, d, NULL);
    tell(out, d->name, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[256];
        bench_cases one = {0};
        bench_result result;
        probe_write_progress(out, cases[i]);
        fflush(out);
        if (bench_case_add(&one, cases[i], why, sizeof why)) {
            bench_run(context, convert, d, one.at, &settings, &result);
            tell(out, d->name, NULL, &result);
        }
        bench_cases_free(&one);
    }
    converter_destroy(convert);
}

static void bench_device_of(FILE *out, void *arg)
{
    const question *q = arg;
    eng_context *context = probe_context(q->settings, 0);
    bench_device d = {.info = {.size = sizeof d.info}};
    snprintf(d.name, sizeof d.name, "%s", q->device);
    if (eng_device_open(context, q->device, &d.device) < 0 || eng_device_get_info(d.device, &d.info) < 0)
        probe_write_error(out);
    else
        run_cases(out, context, &d);
    eng_device_close(d.device);
    fflush(out);
    eng_context_destroy(context);
}

/* -- the parent's --------------------------------------------------------------------- */

static void print_new(void *user)
{
    question *q = user;
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    for (; q->printed < q->report.n_cells; q->printed++)
        puts(q->report.cells[q->printed].reason);
    fflush(stdout);
    if (isatty(STDERR_FILENO) && q->report.progress)
        fputs(q->report.progress, stderr);
}

bool probe_bench(const probe_settings *settings, const char *device, probe_report *report)
{
    question q = {.settings = settings, .device = device};
    probe_end end;
    q.report.told = print_new;
    q.report.user = &q;
    probe_run(settings, "timing ops", bench_device_of, &q, &q.report, &end);
    print_new(&q);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    probe_explain(settings, device, &end, &q.report);
    free(report->error);
    report->error = q.report.error;
    report->error_code = q.report.error_code;
    q.report.error = NULL;
    probe_report_free(&q.report);
    return !report->error;
}
