/* The shares of the roofs as bars, in SVG 1.1: a bar for each case and device. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "libengine/util/util.h"

#define BAR 14
#define LEFT 560 /* room for the case */
#define WIDE 400 /* of a share of 1 */

static void put_text(FILE *f, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", f); break;
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        default: fputc(*text, f);
        }
}

/* Colours that people who see few of them can tell apart (Okabe and Ito, 2008), by device. */
static const char *colour(const bench_results *results, const bench_result *r)
{
    static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"};
    const bench_device *first = results->at[0].where;
    for (uint32_t i = 0; i < results->n; i++)
        first = results->at[i].where < first ? results->at[i].where : first;
    return colours[(size_t)(r->where - first) % (sizeof colours / sizeof *colours)];
}

static void draw_bar(FILE *f, const bench_results *results, const bench_result *r, int y)
{
    const double share = r->share < 1.2 ? r->share : 1.2;
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, y + BAR - 4);
    put_text(f, r->what->text);
    fprintf(f, " · ");
    put_text(f, r->where->name);
    fprintf(f, "</text>\n<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y + 1,
            share * WIDE, BAR - 3, colour(results, r));
    fprintf(f, "<text x=\"%.1f\" y=\"%d\">%.2f of %s</text>\n", LEFT + share * WIDE + 4, y + BAR - 4, r->share,
            bench_roof_name(r->roof));
}

/* Devices are one after the other in memory, and all that have a result are drawn. */
static int devices_of(const bench_results *results)
{
    const bench_device *first = results->at[0].where, *last = first;
    for (uint32_t i = 0; i < results->n; i++) {
        first = results->at[i].where < first ? results->at[i].where : first;
        last = results->at[i].where > last ? results->at[i].where : last;
    }
    return results->n ? (int)(last - first) + 1 : 0;
}

/* A line for each device: its roofs. */
static void put_roofs(FILE *f, const bench_results *results)
{
    const bench_device *d = results->n ? results->at[0].where : NULL;
    for (uint32_t i = 0; i < results->n; i++)
        d = results->at[i].where < d ? results->at[i].where : d;
    for (int i = 0; i < devices_of(results); i++, d++) {
        char units[160];
        bench_units_text(d, units, sizeof units);
        fprintf(f, "<text x=\"6\" y=\"%d\">", 14 + i * BAR);
        put_text(f, d->name);
        fprintf(f, ": read %.1f GB/s; copy %.1f GB/s; fma %.0f GFLOP/s; ", d->roof[ENG_ROOF_READ] * 1e-9,
                d->roof[ENG_ROOF_COPY] * 1e-9, d->roof[ENG_ROOF_FMA] * 1e-9);
        put_text(f, units);
        fprintf(f, "</text>\n");
    }
}

static void draw(FILE *f, const bench_results *results)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < results->n; i++)
        n += results->at[i].status == ENG_OK && results->at[i].roof;
    const int top = 20 + BAR * devices_of(results), height = (int)n * BAR + top + 20, width = LEFT + WIDE * 5 / 4 + 80;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"10\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            width, height, width, height);
    for (int tenth = 0; tenth <= 10; tenth += 2)
        fprintf(f,
                "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\"/><text x=\"%d\" y=\"%d\" "
                "text-anchor=\"middle\">%.1f</text>\n",
                LEFT + WIDE * tenth / 10, top, LEFT + WIDE * tenth / 10, height - 20,
                tenth == 10 ? "#000000" : "#cccccc", LEFT + WIDE * tenth / 10, top - 6, tenth / 10.0);
    put_roofs(f, results);
    for (uint32_t i = 0, y = 0; i < results->n; i++)
        if (results->at[i].status == ENG_OK && results->at[i].roof)
            draw_bar(f, results, &results->at[i], top + (int)y++ * BAR);
    fprintf(f, "</svg>\n");
}

bool bench_plot(const char *file, const bench_results *results)
{
    struct stat st;
    const bool direct = stat(file, &st) == 0 && !S_ISREG(st.st_mode); /* a device or a pipe */
    eu_text part = {0};
    if (direct)
        eu_text_format(&part, "%s", file);
    else
        eu_text_format(&part, "%s.part-%ld", file, (long)getpid());
    FILE *f = part.failed ? NULL : fopen(part.at, "w");
    bool good = f != NULL;
    if (f) {
        draw(f, results);
        good = !ferror(f);
        good = fclose(f) == 0 && good && (direct || rename(part.at, file) == 0);
    }
    if (!good) {
        fprintf(stderr, BENCH_PROGRAM ": %s cannot be written: %s\n", file,
                part.failed ? "out of memory" : strerror(errno));
        if (f && !direct)
            remove(part.at);
    }
    eu_text_free(&part);
    return good;
}
