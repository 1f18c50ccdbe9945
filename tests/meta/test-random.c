/*
 * Random graphs with random axes on random devices: whatever the placement, the
 * results are those of one device.
 *
 *     test-random [--graphs N] [--nodes N] [--seed S] [--explain] [DEVICE]...
 *
 * A failing graph is cut down to the shortest that fails and printed with its seed.
 * What may differ is what the same noise in the data changes on one device: some
 * random graphs blow up the last bits, and that is not the planner's fault.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static eng_context *context;
static pg_program program;
static int tests, failed;

static void print(void *ctx, const char *text)
{
    static bool line = true; /* text comes in pieces */
    (void)ctx;
    for (; *text; text++) {
        if (line)
            fputs("#   ", stdout);
        line = *text == '\n';
        putchar(*text);
    }
}

typedef struct verdict {
    bool good, ran;
    char text[512];
} verdict;

static bool is_odd(float x)
{
    return !isfinite(x) || fabsf(x) > 1e6f;
}

static void compare(const pg_results *one, const pg_results *noisy, const pg_results *split, verdict *v)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < program.n_tensors; i++) {
        const pg_tensor *t = &program.tensors[i];
        double most = 0, spread = 0, worst = 0;
        bool odd = false;
        uint64_t where = 0, n = pg_count(t);
        if (!pg_is_result(t))
            continue;
        for (uint64_t k = at; k < at + n; k++) {
            odd = odd || is_odd(one->data[k]);
            most = fmax(most, fabs(one->data[k]));
            spread = fmax(spread, fabs((double)noisy->data[k] - one->data[k]));
            double off = fabs((double)split->data[k] - one->data[k]);
            if (!(off <= worst)) {
                worst = off;
                where = k - at;
            }
        }
        if (!odd && !(worst <= 3e-5 * most + 100 * spread + 1e-7)) {
            v->good = false;
            snprintf(v->text, sizeof v->text, "%s[%llu] is %.9g, not %.9g (largest value %.3g, noise moves it %.3g)",
                     t->name, (unsigned long long)where, split->data[at + where], one->data[at + where], most, spread);
            return;
        }
        at += n;
    }
}

static verdict check(const char *device, uint64_t seed, uint32_t nodes, uint32_t keep, bool overrides, bool show)
{
    verdict v = {.good = true};
    pg_results one = {0}, noisy = {0}, split = {0};

    if (!pg_make(context, seed, nodes, keep, overrides, &program)) {
        snprintf(v.text, sizeof v.text, "the graph is not right: %s", eng_last_error());
        v.good = false;
        return v;
    }
    v.ran = true;
    if (!pg_run(context, "cpu", &program, 0, &one, NULL) || !pg_run(context, "cpu", &program, 1e-6, &noisy, NULL)) {
        snprintf(v.text, sizeof v.text, "cpu: %s", eng_last_error());
        v.ran = false;
    } else if (!pg_run(context, device, &program, 0, &split, show ? print : NULL)) {
        snprintf(v.text, sizeof v.text, "%s", eng_last_error());
        v.good = false;
    } else {
        compare(&one, &noisy, &split, &v);
    }
    free(one.data);
    free(noisy.data);
    free(split.data);
    return v;
}

/* The shortest beginning of the program that still fails. */
static void shrink(const char *device, uint64_t seed, uint32_t nodes, bool overrides)
{
    uint32_t keep = program.n_ops;
    for (uint32_t k = 1; k < keep; k++) {
        verdict v = check(device, seed, nodes, k, overrides, false);
        if (!v.good) {
            keep = k;
            break;
        }
    }
    verdict v = check(device, seed, nodes, keep, overrides, true);
    printf("# shrunk to %u ops: %s\n", (unsigned)keep, v.text);
}

static void device_tests(const char *device, uint64_t seed, uint32_t graphs, uint32_t nodes)
{
    uint32_t bad = 0, ran = 0;
    for (uint32_t i = 0; i < graphs && bad < 3; i++) {
        uint32_t n = 4 + (uint32_t)((seed + i) * 2654435761u % nodes);
        bool overrides = (seed + i) % 3 == 0;
        verdict v = check(device, seed + i, n, UINT32_MAX, overrides, false);
        ran += v.ran;
        if (!v.ran && v.good)
            printf("# seed %llu, %u nodes did not run: %s\n", (unsigned long long)(seed + i), (unsigned)n, v.text);
        if (v.good)
            continue;
        bad++;
        printf("# seed %llu, %u nodes on %s%s: %s\n", (unsigned long long)(seed + i), (unsigned)n, device,
               overrides ? ", with overrides" : "", v.text);
        shrink(device, seed + i, n, overrides);
    }
    bool good = bad == 0 && ran >= graphs / 2;
    failed += !good;
    printf("%sok %d - %u random graphs on %s\n", good ? "" : "not ", ++tests, (unsigned)ran, device);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"cpu/2", "cpu/3", "cpu/4@1:5:2:2", "cpu/2@3:1", "cpu/3@7:0:25",
                                        "cpu/2@1:0", "cpu/5"};
    static const char *const mixed[] = {"opencl:0/2", "cpu+opencl:0@3:1"};
    uint32_t graphs = 150, few = 10, nodes = 60, n_devices = 0;
    uint64_t seed = 1;
    const char *devices[32];
    bool show = false;
    eng_device *device = NULL;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--graphs") == 0 && i + 1 < argc)
            graphs = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc)
            nodes = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--explain") == 0)
            show = true;
        else if (n_devices < 32)
            devices[n_devices++] = argv[i];
    }
    if (eng_context_create(NULL, &context) != ENG_OK) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    bool given = n_devices > 0, opencl = !given && eng_device_open(context, "opencl:0", &device) == ENG_OK;
    for (uint32_t i = 0; !given && i < sizeof usual / sizeof *usual; i++)
        devices[n_devices++] = usual[i];
    /* their kernels are built as they are met: not so many */
    for (uint32_t i = 0; opencl && i < sizeof mixed / sizeof *mixed; i++)
        device_tests(mixed[i], seed, few, nodes);
    eng_device_close(device);
    for (uint32_t i = 0; i < n_devices; i++) {
        if (show) {
            verdict v = check(devices[i], seed, nodes, UINT32_MAX, seed % 3 == 0, true);
            printf("# %s %s\n", v.good ? "good" : "bad", v.text);
        } else {
            device_tests(devices[i], seed, graphs, nodes);
        }
    }
    printf("1..%d\n", tests);
    eng_context_destroy(context);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
