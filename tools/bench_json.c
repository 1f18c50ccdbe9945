/* The same as JSON, schema engine-bench/1 (docs/schema/engine-bench-1.json). */
#include "config.h"

#include "bench.h"
#include "libengine/util/util.h"

static void write_device(eu_json *j, const bench_device *d)
{
    eu_json_object(j, NULL, false);
    eu_json_text(j, "name", d->name);
    eu_json_text(j, "description", d->info.description);
    eu_json_text(j, "driver", d->info.driver);
    eu_json_real(j, "empty_run_us", d->empty * 1e6, 4);
    eu_json_object(j, "roofs", false);
    for (int i = ENG_ROOF_READ; i < BENCH_ROOFS; i++)
        if (d->roof[i] > 0)
            eu_json_real(j, bench_roof_name(i), d->roof[i], 4);
    eu_json_end(j);
    eu_json_end(j);
}

static void write_figures(eu_json *j, const bench_result *r)
{
    eu_json_real(j, "us", r->median * 1e6, 6);
    eu_json_real(j, "us_low", r->low * 1e6, 6);
    eu_json_real(j, "us_high", r->high * 1e6, 6);
    eu_json_real(j, "first_ms", r->first * 1e3, 4);
    eu_json_uint(j, "samples", r->samples);
    eu_json_uint(j, "copies", r->copies);
    eu_json_real(j, "bytes", r->bytes, 12);
    eu_json_real(j, "operations", r->operations, 12);
    if (r->launches)
        eu_json_uint(j, "launches", r->launches);
    if (r->roof) {
        eu_json_text(j, "roof", bench_roof_name(r->roof));
        eu_json_real(j, "share", r->share, 4);
    }
}

void bench_print_json(const bench_device *devices, uint32_t n_devices, const bench_results *results)
{
    eu_json j = {.write = eu_json_to_file, .user = stdout};
    eu_json_object(&j, NULL, true);
    eu_json_text(&j, "schema", BENCH_SCHEMA);
    eu_json_text(&j, "version", eng_version());
    eu_json_list(&j, "devices", true);
    for (uint32_t i = 0; i < n_devices; i++)
        write_device(&j, &devices[i]);
    eu_json_end(&j);
    eu_json_list(&j, "cases", true);
    for (uint32_t i = 0; i < results->n; i++) {
        const bench_result *r = &results->at[i];
        eu_json_object(&j, NULL, false);
        eu_json_text(&j, "case", r->what->text);
        eu_json_text(&j, "device", r->where->name);
        if (r->status == ENG_OK)
            write_figures(&j, r);
        else
            eu_json_text(&j, "failed", r->why);
        eu_json_end(&j);
    }
    eu_json_end(&j);
    eu_json_end(&j);
}
