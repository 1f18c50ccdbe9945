/*
 * Random graphs with random axes and random placements on random devices, against the
 * oracle: whatever the placement, the results are right.
 *
 *     test-random [--graphs N] [--opencl N] [--nodes N] [--seed S] [--stats] [--explain] [--quick]
 *                 [DEVICE]...
 *
 * Graphs have 20 to --nodes nodes; --graphs of them are spread over the usual compositions,
 * --opencl run on each of those with OpenCL, whose kernels are built as they are met.  If
 * devices are given, each gets --graphs.  A failing graph is shrunk and printed with the
 * command that repeats it; --quick: the first failure ends it all.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* Ways in which a graph's tensors and values are put somewhere. */
enum {
    TENSOR_WHOLE = 1, TENSOR_ON_RANK, TENSOR_ON_GUEST, TENSOR_ALONG, /* as pg_tensor.forced        */
    TENSOR_PLACED, VALUE_REPLICATED, VALUE_SHARDED, VALUE_PARTIAL, VALUE_ON_RANK, VALUE_ON_GUEST, VIEW_PLACED,
    OTHER_STORE, TWO_SLOTS, TWO_RUNS, N_WAYS
};
static const char *const way_names[N_WAYS] = {
    "",
    "tensors of a store asked to be whole",
    "tensors of a store on a rank",
    "tensors of a store on a guest",
    "tensors of a store along a chosen axis",
    "tensors of a store placed by the graph",
    "values replicated",
    "values sharded",
    "values as addends",
    "values on a rank",
    "values on a guest",
    "views placed",
    "tensors in a second store",
    "stores bound in two slots",
    "graphs run twice",
};

typedef struct suite {
    eng_context *context;
    pg_program *program;
    uint64_t seed, graphs, nodes;
    bool stats, show, quick;
    int tests, failed;
    uint64_t ops[ENG_OP_LIMIT]; /* how often each was met                         */
    uint64_t ways[N_WAYS];      /* how often each was met                         */
    uint64_t rows, loose, ran, exchanged, placed;
    double worst;
} suite;

/* What a shrunk program must still do. */
typedef struct failure {
    suite *s;
    const char *device;
    int status; /* ENG_OK: wrong results                                      */
} failure;

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

static int check(suite *s, const char *device, const pg_program *p, pg_verdict *v, bool show)
{
    pg_results results;
    int status = pg_run(s->context, device, p, &results, show ? print : NULL);

    memset(v, 0, sizeof *v);
    if (status == ENG_OK)
        pg_judge(p, &results, v);
    else
        snprintf(v->text, sizeof v->text, "%s: %s", eng_status_name(status), eng_last_error());
    s->exchanged += results.exchanged;
    s->placed += results.placed;
    pg_results_free(&results);
    return status;
}

static bool still_fails(void *ctx, const pg_program *p)
{
    const failure *f = ctx;
    pg_verdict v;
    int status = check(f->s, f->device, p, &v, false);
    return status == f->status && !v.good;
}

/* The same failure on fewer or simpler ranks. */
static const char *simpler_device(failure *f, const pg_program *p)
{
    static const char *const simple[] = {"cpu/2", "cpu/2@3:1", "cpu/2@1:0", "cpu/3", "cpu/3@7:0:25"};
    const char *device = f->device;

    for (size_t i = 0; strncmp(device, "cpu/", 4) == 0 && i < sizeof simple / sizeof *simple; i++) {
        if (strcmp(simple[i], device) == 0)
            break;
        f->device = simple[i];
        if (still_fails(f, p))
            return simple[i];
    }
    return f->device = device;
}

static void report(suite *s, const char *device, uint64_t seed, int status, const pg_verdict *v)
{
    failure f = {s, device, status};
    pg_verdict plain, small;
    int alone = check(s, "cpu", s->program, &plain, false);

    printf("# seed %" PRIu64 " on %s: %s\n", seed, device, v->text);
    printf("# repeat: tests/meta/test-random --seed %" PRIu64 " --graphs 1 --nodes %" PRIu64 " %s\n", seed, s->nodes,
           device);
    if (alone != ENG_OK || !plain.good)
        printf("# but one plain cpu device is no better: %s\n", plain.text);
    f.device = simpler_device(&f, s->program);
    pg_shrink(s->program, still_fails, &f);
    f.device = simpler_device(&f, s->program);
    printf("# shrunk to %u ops on %s:\n", (unsigned)pg_live_ops(s->program), f.device);
    pg_print(s->program, print, NULL);
    check(s, f.device, s->program, &small, true);
    printf("# %s\n", small.text);
}

static void count_placed(suite *s, const pg_place *place)
{
    if (place->kind == ENG_PLACE_SINGLE && place->device < 0)
        s->ways[VALUE_ON_GUEST]++;
    else if (place->kind)
        s->ways[place->kind - ENG_PLACE_REPLICATED + VALUE_REPLICATED]++;
}

static void count(suite *s)
{
    const pg_program *p = s->program;

    for (uint32_t k = 0; k < p->n_ops; k++) {
        s->ops[p->ops[k].op]++;
        count_placed(s, &p->ops[k].place);
        s->ways[VIEW_PLACED] += p->ops[k].place.kind && (eng_op_get(p->ops[k].op)->flags & ENG_OPF_VIEW);
    }
    for (uint32_t i = 0; i < p->n_tensors; i++) {
        const pg_tensor *t = &p->tensors[i];
        s->ways[t->forced]++;
        s->ways[TENSOR_PLACED] += t->place.kind != 0;
        s->ways[OTHER_STORE] += t->store != 0;
    }
    s->ways[TWO_SLOTS] += p->twice;
    s->ways[TWO_RUNS] += p->runs > 1;
}

/* One graph; false: it failed. */
static bool one_graph(suite *s, const char *device, uint64_t seed)
{
    uint64_t state = seed, span = s->nodes > 20 ? s->nodes - 20 : 1;
    uint32_t nodes = 20 + (uint32_t)(pg_random(&state) % span);
    pg_verdict v;

    if (!pg_make(s->context, seed, nodes, s->program)) {
        printf("# seed %" PRIu64 ": the graph is not right: %s\n", seed, eng_last_error());
        return false;
    }
    if (s->program->searches && !strstr(device, "cpu"))
        return true; /* encodes as a type that only the cpu plugin can */
    count(s);
    int status = check(s, device, s->program, &v, s->show);
    s->ran += status == ENG_OK;
    s->rows += v.rows;
    s->loose += v.loose;
    s->worst = fmax(s->worst, v.good ? v.worst : 0);
    if (!v.good && s->quick)
        printf("# seed %" PRIu64 " on %s: %s\n", seed, device, v.text);
    else if (!v.good)
        report(s, device, seed, status, &v);
    return v.good;
}

static void device_tests(suite *s, const char *device, uint64_t graphs)
{
    uint32_t bad = 0;
    uint64_t done = 0;

    for (; done < graphs && bad < 3; done++)
        if (!one_graph(s, device, s->seed + done)) {
            bad++;
            printf("# found after %" PRIu64 " graphs\n", done + 1);
            fflush(stdout);
        }
    s->failed += bad > 0;
    printf("%sok %d - %" PRIu64 " random graphs on %s\n", bad ? "not " : "", ++s->tests, done, device);
    fflush(stdout);
    s->seed += graphs;
}

/* Every op that a host can build must have been met, or the sample says nothing of it. */
static void all_ops(suite *s)
{
    bool good = true;

    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) {
        const eng_op_info *info = eng_op_get(op);
        if (!info || op == ENG_OP_EXTERN)
            continue;
        if (s->stats)
            printf("# %8" PRIu64 " %s\n", s->ops[op], info->name);
        if (!s->ops[op]) {
            good = false;
            printf("# no graph has a %s: tests/meta/generate_ops.c must learn it\n", info->name);
        }
    }
    s->failed += !good;
    printf("%sok %d - every op was met\n", good ? "" : "not ", ++s->tests);
}

/* So must every way to put something somewhere. */
static void all_ways(suite *s)
{
    bool good = true;

    for (int i = 1; i < N_WAYS; i++) {
        if (s->stats || !s->ways[i])
            printf("# %8" PRIu64 " %s\n", s->ways[i], way_names[i]);
        good = good && s->ways[i];
    }
    s->failed += !good;
    printf("%sok %d - every way to place was met\n", good ? "" : "not ", ++s->tests);
}

static void tight(suite *s)
{
    bool good = s->loose * 100 <= s->rows;

    if (s->stats)
        printf("# %" PRIu64 " values placed; %" PRIu64 " bytes exchanged; worst error %.3f of what is tolerated\n",
               s->placed, s->exchanged, s->worst);
    printf("# %" PRIu64 " of %" PRIu64 " rows with a tolerance above 5%% of their tensor\n", s->loose, s->rows);
    s->failed += !good;
    printf("%sok %d - tolerances are tight\n", good ? "" : "not ", ++s->tests);
}

/* Devices in turn until one graph fails. */
static void first_failure(suite *s, const char *const *devices, uint32_t n)
{
    bool good = true;
    uint64_t i = 0;

    while (good && i < s->graphs) {
        good = one_graph(s, devices[i % n], s->seed + i);
        i++;
    }
    s->failed += !good;
    printf("%sok %d - %s after %" PRIu64 " graphs\n", good ? "" : "not ", ++s->tests, good ? "nothing" : "found", i);
}

static const char *const usual[] = {"cpu/2",        "cpu/3",     "cpu/4@1:5:2:2", "cpu/2@3:1",
                                    "cpu/3@7:0:25", "cpu/2@1:0", "cpu/5"};
static const char *const mixed[] = {"opencl:0/2", "cpu+opencl:0@3:1"};
enum { N_USUAL = sizeof usual / sizeof *usual, N_MIXED = sizeof mixed / sizeof *mixed };

static void run_usual(suite *s, uint64_t opencl)
{
    eng_device *device = NULL;

    for (uint32_t i = 0; i < N_USUAL; i++)
        device_tests(s, usual[i], s->graphs / N_USUAL);
    if (opencl && eng_device_open(s->context, "opencl:0", &device) == ENG_OK) {
        eng_device_close(device);
        for (uint32_t i = 0; i < N_MIXED; i++)
            device_tests(s, mixed[i], opencl);
    }
    all_ops(s);
    all_ways(s);
    tight(s);
}

int main(int argc, char **argv)
{
    suite s = {.seed = 1, .graphs = 350, .nodes = 90};
    const char *devices[32];
    uint32_t n_devices = 0;
    uint64_t opencl = 2;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--graphs") == 0 && i + 1 < argc)
            s.graphs = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--opencl") == 0 && i + 1 < argc)
            opencl = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc)
            s.nodes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            s.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--stats") == 0)
            s.stats = true;
        else if (strcmp(argv[i], "--explain") == 0)
            s.show = true;
        else if (strcmp(argv[i], "--quick") == 0)
            s.quick = true;
        else if (n_devices < 32)
            devices[n_devices++] = argv[i];
    }
    s.program = malloc(sizeof *s.program);
    if (!s.program || eng_context_create(NULL, &s.context) != ENG_OK) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    printf("# seed %" PRIu64 "\n", s.seed);
    if (s.quick)
        first_failure(&s, n_devices ? devices : usual, n_devices ? n_devices : N_USUAL);
    else if (!n_devices)
        run_usual(&s, opencl);
    for (uint32_t i = 0; i < n_devices && !s.quick; i++)
        device_tests(&s, devices[i], s.graphs);
    printf("1..%d\n", s.tests);
    eng_context_destroy(s.context);
    free(s.program);
    return s.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
