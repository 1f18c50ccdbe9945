/* Figures for people: a line for each case. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "bench.h"

const char *bench_roof_name(int roof)
{
    static const char *const names[BENCH_ROOFS] = {"", "read", "copy", "fma", "int8", "dot", "matrix"};
    return roof > 0 && roof < BENCH_ROOFS ? names[roof] : "";
}

double bench_geometric(double sum_of_logs, uint32_t n)
{
    return n ? exp(sum_of_logs / n) : 0;
}

void bench_units_text(const bench_device *d, char *text, size_t room)
{
    char integers[80] = "none", matrix[24] = "none";
    const double loop = d->roof[ENG_ROOF_INT8] * 1e-9, dot = d->roof[ENG_ROOF_DOT] * 1e-9;
    if (dot > 0 && loop > 0)
        snprintf(integers, sizeof integers, "%.0f GOP/s by its dot product, %.0f by a loop", dot, loop);
    else if (dot > 0)
        snprintf(integers, sizeof integers, "%.0f GOP/s by its dot product", dot);
    else if (loop > 0)
        snprintf(integers, sizeof integers, "%.0f GOP/s by a loop", loop);
    if (d->roof[ENG_ROOF_MATRIX] > 0)
        snprintf(matrix, sizeof matrix, "%.0f GFLOP/s", d->roof[ENG_ROOF_MATRIX] * 1e-9);
    snprintf(text, room, "int8 products: %s; matrix unit: %s", integers, matrix);
}

void bench_print_device(FILE *out, const bench_device *d)
{
    char units[160];
    bench_units_text(d, units, sizeof units);
    fprintf(out, "# %s: %s, %s; ", d->name, d->info.description, *d->info.driver ? d->info.driver : "no driver");
    if (d->roof[ENG_ROOF_READ] > 0)
        fprintf(out, "reads %.1f GB/s, copies %.1f GB/s, computes %.0f GFLOP/s; %s; ", d->roof[ENG_ROOF_READ] * 1e-9,
                d->roof[ENG_ROOF_COPY] * 1e-9, d->roof[ENG_ROOF_FMA] * 1e-9, units);
    else
        fprintf(out, "its roofs are not measured; ");
    fprintf(out, "an empty run takes %.1f us\n", d->empty * 1e6);
}

void bench_print_head(FILE *out)
{
    fprintf(out, "%-12s %10s %7s %8s %9s %6s %6s %4s  %s\n", "device", "us", "spread", "GB/s", "GFLOP/s", "roof",
            "share", "runs", "case");
}

void bench_print(FILE *out, const bench_result *r)
{
    char launches[24] = "-", share[24] = "-";
    if (r->status != ENG_OK) {
        fprintf(out, "%-12s %10s %7s %8s %9s %6s %6s %4s  %s: %s\n", r->where->name, "-", "-", "-", "-", "-", "-", "-",
                r->what->text, r->why);
        return;
    }
    if (r->launches)
        snprintf(launches, sizeof launches, "%llu", (unsigned long long)r->launches);
    if (r->roof)
        snprintf(share, sizeof share, "%.2f", r->share);
    fprintf(out, "%-12s %10.2f %6.0f%% %8.2f %9.2f %6s %6s %4s  %s\n", r->where->name, r->median * 1e6,
            (r->high - r->low) / r->median * 100, r->bytes / r->median * 1e-9, r->operations / r->median * 1e-9,
            r->roof ? bench_roof_name(r->roof) : "-", share, launches, r->what->text);
}
