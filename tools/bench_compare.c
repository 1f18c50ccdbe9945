/* What an earlier report has of the same cases on the same devices: time then, time now, and their ratio. */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "bench.h"

/* Microseconds of a case; 0: it is not there. */
static double find(const json_t *cases, const bench_result *r)
{
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) {
        const char *text = json_string_value(json_object_get(c, "case")),
                   *device = json_string_value(json_object_get(c, "device"));
        if (text && device && strcmp(text, r->what->text) == 0 && strcmp(device, r->where->name) == 0)
            return json_number_value(json_object_get(c, "us"));
    }
    return 0;
}

void bench_compare(const json_t *report, const bench_results *results)
{
    const json_t *cases = json_object_get(report, "cases");
    double logs = 0;
    uint32_t n = 0;
    printf("\n%-12s %10s %10s %7s  %s\n", "device", "us before", "us now", "faster", "case");
    for (uint32_t i = 0; i < results->n; i++) {
        const bench_result *r = &results->at[i];
        const double before = r->status == ENG_OK ? find(cases, r) : 0, now = r->median * 1e6;
        if (before <= 0 || now <= 0)
            continue;
        printf("%-12s %10.2f %10.2f %6.2fx  %s\n", r->where->name, before, now, before / now, r->what->text);
        logs += log(before / now);
        n++;
    }
    if (n)
        printf("%-12s %10s %10s %6.2fx  geometric mean of %u cases\n", "", "", "", bench_geometric(logs, n),
               (unsigned)n);
    else
        printf("# the earlier report has none of these cases on these devices\n");
}

json_t *bench_compared(const char *file)
{
    json_error_t error;
    json_t *report = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
    const char *schema = json_string_value(json_object_get(report, "schema"));
    if (!report && error.line < 0)
        fprintf(stderr, BENCH_PROGRAM ": %s\n", error.text);
    else if (!report)
        fprintf(stderr, BENCH_PROGRAM ": %s, line %d: %s\n", file, error.line, error.text);
    else if (schema && strcmp(schema, BENCH_SCHEMA) == 0 && json_is_array(json_object_get(report, "cases")))
        return report;
    else
        fprintf(stderr, BENCH_PROGRAM ": %s must be a report of engine-bench --json, schema %s, got schema %s\n", file,
                BENCH_SCHEMA, schema ? schema : "none");
    json_decref(report);
    return NULL;
}
