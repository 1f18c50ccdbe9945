/*
 * Traffic: sequences that arrive, begin as earlier ones did, fork, run side by
 * side, draft and take back, are saved and loaded, leave; in an order that a seed
 * gives.  What a sequence gives is compared with what its tokens give in one
 * fresh sequence of another context, which is on another device where there is a
 * plugin meta.  A schedule that fails is made shorter as long as it still fails,
 * and printed.  Devices of the plugin fault fail now and then: the sequences that
 * were hit are removed, and all others must be as they were.
 *
 *     test-traffic [--tokens N] [--seed N] [DEVICE ...]
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "subject.h"

#define SEQUENCES 8
#define CELLS 400
#define LONGEST 120

typedef enum kind { RUN, DRAFT, FORK, BACK, REUSE, SAVE, REMOVE, KINDS } kind;
static const char *const kinds[KINDS] = {"run", "draft", "fork", "back", "reuse", "save", "remove"};

/* What a step does follows from its seed and from what the sequences hold: any part of a schedule is one. */
typedef struct step {
    kind kind;
    uint32_t a, b, seed;
} step;

typedef struct sequence {
    int32_t tokens[LONGEST];
    uint32_t n;
} sequence;

typedef struct traffic {
    const char *device, *other;  /* the other one is for the fresh context         */
    eng_context *engine;
    eng_lm_context_params params, fresh_params;
    double most; /* difference of logits, of their root mean square            */
    subject s, fresh;
    eng_lm_context *context;     /* that of s                                      */
    sequence q[SEQUENCES], past[SEQUENCES]; /* past: texts that were removed          */
    char file[256];
    uint64_t tokens, judged, parted, reused, given_up, saved, faults;
    uint64_t bytes, first_bytes; /* of the process: now, and after the first tenth */
    double worst;
    char why[512];
} traffic;

static uint32_t below(uint32_t *random, uint32_t n)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % n;
}

/* -- judging ------------------------------------------------------------------------------ */

static bool wrong(traffic *t, const char *format, double a, double b, double c)
{
    snprintf(t->why, sizeof t->why, format, a, b, c);
    return false;
}

static bool failed(traffic *t, const char *what)
{
    snprintf(t->why, sizeof t->why, "%s: %s", what, eng_last_error());
    return false;
}

/* Do n tokens of sequence i give these logits when nothing else ever was? */
static bool agrees(traffic *t, uint32_t i, uint32_t n, const float *logits)
{
    eng_lm_sequence_remove(t->fresh.context, 0);
    const float *fresh = subject_run(&t->fresh, t->q[i].tokens, n);
    if (!fresh || !logits)
        return failed(t, "the fresh run");
    double off = relative(logits, fresh, t->s.n_vocab);
    t->judged++;
    t->worst = fmax(t->worst, off);
    return off <= t->most || wrong(t, "logits behind token %.0f of sequence %.0f are off by %g", n, i, off);
}

static bool lengths_agree(traffic *t)
{
    for (uint32_t i = 0; i < SEQUENCES; i++)
        if (eng_lm_sequence_length(t->context, i) != t->q[i].n)
            return wrong(t, "sequence %.0f holds %.0f tokens, should be %.0f", i,
                         (double)eng_lm_sequence_length(t->context, i), t->q[i].n);
    return true;
}

/* -- steps --------------------------------------------------------------------------------- */

static uint32_t cells_left(traffic *t)
{
    eng_lm_stats stats = {.size = sizeof stats};
    eng_lm_context_get_stats(t->context, &stats);
    return stats.n_cells_free;
}

static void forget(traffic *t, uint32_t i)
{
    t->past[i] = t->q[i];
    t->q[i].n = 0;
    eng_lm_sequence_remove(t->context, i);
}

/* Was it the device that failed, as it was told to? */
static bool planted(traffic *t)
{
    bool hit = strstr(t->device, "fault") && strstr(eng_last_error(), "planted");
    t->faults += hit;
    return hit;
}

/* A batch whose tokens the sequences have in q already.  A device that fails as it was told to takes the batch's
 * sequences with it: false, and *hit. */
static bool decode(traffic *t, const eng_lm_batch *b, bool *hit)
{
    *hit = false;
    if (eng_lm_decode(t->context, b) == ENG_OK)
        return true;
    *hit = planted(t);
    if (!*hit)
        return failed(t, "decode");
    for (uint32_t k = 0; k < b->n_tokens; k++)
        if (t->q[b->sequences[k]].n)
            forget(t, (uint32_t)b->sequences[k]);
    return false;
}

/* New tokens of some sequences in any order, in one batch; two of them are judged. */
static bool run(traffic *t, const uint32_t n[SEQUENCES], uint32_t *random)
{
    int32_t tokens[SEQUENCES * LONGEST], owners[SEQUENCES * LONGEST];
    uint8_t wanted[SEQUENCES * LONGEST];
    uint32_t left[SEQUENCES], start[SEQUENCES], all = 0, total = 0;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        total += left[i] = n[i];
        start[i] = t->q[i].n;
    }
    while (all < total) {
        uint32_t i = below(random, SEQUENCES);
        for (uint32_t k = 1 + below(random, 3); left[i] > 0 && k > 0; k--, left[i]--, all++) {
            tokens[all] = t->q[i].tokens[t->q[i].n++] = (int32_t)below(random, t->s.n_vocab);
            owners[all] = (int32_t)i;
            wanted[all] = left[i] == 1 || below(random, 4) == 0;
        }
    }
    eng_lm_stats before = {.size = sizeof before}, after = before;
    eng_lm_context_get_stats(t->context, &before);
    eng_lm_batch b = {.size = sizeof b, .n_tokens = all, .tokens = tokens, .sequences = owners, .logits = wanted};
    bool hit;
    if (!decode(t, &b, &hit))
        return hit;
    eng_lm_context_get_stats(t->context, &after);
    t->parted += all <= t->params.n_batch && all <= t->params.n_logits && after.passes > before.passes + 1;
    t->tokens += all;
    for (int judge = 0; judge < 2; judge++) {
        uint32_t at = below(random, all), n_before = 0;
        for (uint32_t k = 0; k <= at; k++)
            n_before += owners[k] == owners[at];
        if (wanted[at] && !agrees(t, (uint32_t)owners[at], start[owners[at]] + n_before, eng_lm_logits(t->context, at)))
            return false;
    }
    return true;
}

static bool run_some(traffic *t, uint32_t *random)
{
    uint32_t n[SEQUENCES] = {0}, room = cells_left(t), any = 0, most = below(random, 3) ? 1 : 6;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        uint32_t more = below(random, 2) == 0 ? 0 : t->q[i].n == 0 ? 5 + below(random, 40) : 1 + below(random, most);
        n[i] = more > room || t->q[i].n + more > LONGEST ? 0 : more;
        room -= n[i];
        any += n[i];
    }
    return any == 0 || run(t, n, random);
}

static bool take_back(traffic *t, uint32_t i, uint32_t n)
{
    int64_t limit = eng_lm_sequence_rollback_limit(t->context, i);
    int status = eng_lm_sequence_rollback(t->context, i, n);
    if ((status == ENG_OK) != (n == 0 || n <= limit || n == t->q[i].n))
        return wrong(t, "taking %.0f tokens back gave status %.0f, the limit is %.0f", n, status, (double)limit);
    t->q[i].n -= status == ENG_OK ? n : 0;
    return true;
}

/* Tokens that are tried and not all accepted. */
static bool draft(traffic *t, uint32_t i, uint32_t *random)
{
    uint32_t n[SEQUENCES] = {0}, k = 1 + below(random, 6);
    if (t->q[i].n == 0 || t->q[i].n + k > LONGEST || k > cells_left(t))
        return true;
    n[i] = k;
    if (!run(t, n, random))
        return false;
    if (t->q[i].n == 0) /* a fault */
        return true;
    int64_t limit = eng_lm_sequence_rollback_limit(t->context, i);
    k = below(random, k + 1);
    return take_back(t, i, k > limit ? (uint32_t)limit : k);
}

/* Sequence b gets a text that begins as one that sequence a has, or had. */
static bool reuse(traffic *t, uint32_t a, uint32_t b, uint32_t *random)
{
    sequence text = below(random, 2) ? t->q[a] : t->past[a];
    size_t reused;
    text.n = text.n && below(random, 2) ? below(random, text.n + 1) : text.n; /* half of the time all of it */
    text.n -= text.n == LONGEST;
    for (uint32_t more = 1 + below(random, 8); more > 0 && text.n < LONGEST; more--)
        text.tokens[text.n++] = (int32_t)below(random, t->s.n_vocab);
    t->past[b] = t->q[b];
    t->q[b].n = 0;
    if (eng_lm_sequence_reuse(t->context, b, text.tokens, text.n, &reused) != ENG_OK)
        return failed(t, "reuse");
    t->reused += reused;
    uint32_t left = text.n - (uint32_t)reused;
    if (left > cells_left(t)) {
        forget(t, b);
        return true;
    }
    int32_t owners[LONGEST];
    for (uint32_t i = 0; i < left; i++)
        owners[i] = (int32_t)b;
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = left, .tokens = text.tokens + reused, .sequences = owners};
    bool hit;
    t->q[b] = text;
    t->tokens += left;
    return decode(t, &batch, &hit) ? agrees(t, b, text.n, eng_lm_logits(t->context, left - 1)) : hit;
}

/* Sequence a goes to a file; sequence b, and on its device the fresh context, go on from it. */
static bool save(traffic *t, uint32_t a, uint32_t b, uint32_t *random)
{
    uint32_t n[SEQUENCES] = {0};
    if (t->q[a].n == 0 || t->q[a].n == LONGEST)
        return true;
    if (eng_lm_sequence_save(t->context, a, t->file) != ENG_OK)
        return planted(t) || failed(t, "save");
    if (eng_lm_sequence_load(t->fresh.context, 0, t->file) != ENG_OK)
        return failed(t, "load elsewhere");
    int32_t next = (int32_t)below(random, t->s.n_vocab);
    float *elsewhere = malloc(t->s.n_vocab * sizeof *elsewhere);
    const float *logits = subject_run(&t->fresh, &next, 1);
    if (logits && elsewhere)
        memcpy(elsewhere, logits, t->s.n_vocab * sizeof *elsewhere);
    sequence text = t->q[a];
    text.tokens[text.n++] = next;
    sequence own = t->q[b];
    t->q[b] = text; /* only to be judged */
    bool good = logits && elsewhere ? agrees(t, b, text.n, elsewhere) : failed(t, "going on elsewhere");
    t->q[b] = own;
    free(elsewhere);
    t->saved++;
    if (!good || a == b || t->q[a].n + 1 > cells_left(t))
        return good;
    t->past[b] = own;
    if (eng_lm_sequence_load(t->context, b, t->file) != ENG_OK) {
        forget(t, b);
        return planted(t) || failed(t, "load");
    }
    t->q[b] = t->q[a];
    n[b] = 1;
    return run(t, n, random);
}

static bool take(traffic *t, const step *s)
{
    uint32_t random = s->seed;
    switch (s->kind) {
    case RUN:
        return run_some(t, &random);
    case DRAFT:
        return draft(t, s->a, &random);
    case FORK:
        if (eng_lm_sequence_copy(t->context, s->a, s->b) != ENG_OK)
            return failed(t, "copy");
        t->past[s->b] = t->q[s->b];
        t->q[s->b] = t->q[s->a];
        return true;
    case BACK:
        return t->q[s->a].n < 4 || take_back(t, s->a, below(&random, 4));
    case REUSE:
        return reuse(t, s->a, s->b, &random);
    case SAVE:
        return random % 4 ? true : save(t, s->a, s->b, &random);
    default:
        forget(t, s->a);
        return true;
    }
}

/* -- schedules ------------------------------------------------------------------------------- */

static step random_step(uint32_t *random)
{
    static const kind often[] = {RUN, RUN, RUN, RUN, DRAFT, DRAFT, FORK, BACK, REMOVE, REUSE, REUSE, SAVE};
    step s = {.kind = often[below(random, 12)], .a = below(random, SEQUENCES), .b = below(random, SEQUENCES)};
    s.seed = below(random, 1 << 24);
    return s;
}

/* Everything is given back: sequences, what was kept, and cells. */
static bool ends_well(traffic *t)
{
    eng_lm_stats stats = {.size = sizeof stats};
    for (uint32_t k = 0; k < SEQUENCES; k++)
        eng_lm_sequence_remove(t->context, k);
    eng_lm_context_get_stats(t->context, &stats);
    t->given_up += stats.tokens_given_up;
    if (stats.kept_bytes > t->params.kept_bytes)
        return wrong(t, "%.0f bytes are kept, should be %.0f at most%.0s", (double)stats.kept_bytes,
                     (double)t->params.kept_bytes, 0);
    eng_lm_kept_clear(t->context);
    eng_lm_context_get_stats(t->context, &stats);
    return (stats.n_cells_free == CELLS && stats.n_states_kept == 0) ||
           wrong(t, "%.0f cells are free when nothing is held, should be %.0f; %.0f states are kept",
                 stats.n_cells_free, CELLS, stats.n_states_kept);
}

/* On a device and in a context of its own; the step that failed, or n. */
static uint32_t follow(traffic *t, const step *steps, uint32_t n)
{
    uint32_t i = 0;
    memset(t->q, 0, sizeof t->q);
    memset(t->past, 0, sizeof t->past);
    if (subject_open(&t->s, t->engine, t->device, data_path("tiny-hybrid-f16.gguf"), NULL, &t->params) != ENG_OK)
        return planted(t) ? n : failed(t, "the context");
    t->context = t->s.context;
    while (i < n && take(t, &steps[i]) && lengths_agree(t))
        i++;
    if (i == n && !ends_well(t))
        i--;
    subject_close(&t->s);
    return i;
}

/* Leaves steps out while what is left fails. */
static uint32_t shorten(traffic *t, step *steps, uint32_t n)
{
    step *fewer = calloc(n, sizeof *fewer);
    for (uint32_t size = n / 2; fewer && size > 0; size /= 2)
        for (uint32_t at = 0; at + size <= n;) {
            memcpy(fewer, steps, at * sizeof *steps);
            memcpy(fewer + at, steps + at + size, (n - at - size) * sizeof *steps);
            uint32_t end = follow(t, fewer, n - size);
            if (end == n - size)
                at += size;
            else
                memcpy(steps, fewer, (n = end + 1) * sizeof *steps);
        }
    free(fewer);
    return n;
}

static void report(traffic *t, step *steps, uint32_t n)
{
    n = shorten(t, steps, n);
    follow(t, steps, n);
    for (uint32_t i = 0; i < n; i++)
        printf("#   %s %u %u seed %u\n", kinds[steps[i].kind], steps[i].a, steps[i].b, steps[i].seed);
    printf("# %s\n", t->why);
}

/* Bytes of the process, 0 where the system does not tell. */
static uint64_t resident(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The numbers of a round: other types, snapshots, bytes for what is kept, faults. */
static void choose_round(traffic *t, uint32_t round, uint32_t *random)
{
    static const uint32_t types[] = {ENG_TYPE_F16,  ENG_TYPE_F32,  ENG_TYPE_Q8_0, ENG_TYPE_BF16, ENG_TYPE_Q4_0,
                                     ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL};
    static const char *const faults[] = {"error", "wait", "transfer"};
    enum { TYPES = sizeof types / sizeof *types };
    uint32_t k = types[round % TYPES], v = types[(round + round / TYPES) % TYPES];
    char at[16];
    eng_lm_context_defaults(&t->params);
    t->params.type_k = k;
    t->params.type_v = v;
    t->params.n_cells = LONGEST;
    t->fresh_params = t->params;
    t->params.n_cells = CELLS;
    t->params.n_sequences = SEQUENCES;
    t->params.n_snapshots = 1 + round % 8;
    t->params.n_batch = round % 2 ? 64 : 512;
    t->params.n_logits = t->params.n_batch;
    t->params.kept_bytes = round % 4 == 0 ? 0 : round % 4 == 1 ? 1 << 20 : 1 << 23;
    t->params.kept_stride = 8 << round % 3;
    t->most = eng_type_get(k)->block > 1 || eng_type_get(v)->block > 1 ? 0.02 : 0.002;
    snprintf(at, sizeof at, "%u", 1 + below(random, 300));
    eng_context_set_option(t->engine, "fault.device", "cpu/2.0,cpu/2.1");
    eng_context_set_option(t->engine, "fault.kind", faults[round % 3]);
    eng_context_set_option(t->engine, "fault.index", round % 2 && strchr(t->device, '+') ? "1" : "0");
    eng_context_set_option(t->engine, "fault.at", at);
    eng_context_set_option(t->engine, "fault.times", round % 5 ? "1" : "3");
}

/* A context each for some steps. */
static bool simulate(const char *device, const char *other, eng_context *engine, uint64_t tokens, uint32_t seed)
{
    enum { STEPS = 150 };
    traffic t = {.device = device, .other = other, .engine = engine};
    uint32_t random = seed, round = 0;
    bool good = true;
    scratch_path("traffic.state", t.file);
    while (good && t.tokens < tokens) {
        step steps[STEPS];
        choose_round(&t, round, &random);
        for (int i = 0; i < STEPS; i++)
            steps[i] = random_step(&random);
        if (subject_open(&t.fresh, engine, other, data_path("tiny-hybrid-f16.gguf"), NULL, &t.fresh_params) != ENG_OK)
            return tap_check(false, "%s: %s", other, eng_last_error());
        uint32_t end = follow(&t, steps, STEPS);
        good = end == STEPS;
        if (!good) {
            printf("# round %u: K %s, V %s, %u snapshots\n", round, eng_type_name(t.params.type_k),
                   eng_type_name(t.params.type_v), t.params.n_snapshots);
            report(&t, steps, end < STEPS ? end + 1 : STEPS);
        }
        subject_close(&t.fresh);
        t.bytes = resident();
        if (t.first_bytes == 0 && t.tokens >= tokens / 10)
            t.first_bytes = t.bytes;
        round++;
    }
    remove(t.file);
    return tap_check(good, "%s against %s: %" PRIu64 " tokens in %u rounds, seed %u; %" PRIu64 " rows of logits judged, the "
                     "worst off by %.2g; %" PRIu64 " batches in more passes since sequences parted, %" PRIu64 " tokens reused, %"
                     PRIu64 " given up, %" PRIu64 " texts saved and loaded, %" PRIu64 " faults; %.1f MiB, %.1f after a tenth",
                     device, other, t.tokens, round, seed, t.judged, t.worst, t.parted, t.reused, t.given_up, t.saved, t.faults,
                     (double)t.bytes / (1 << 20), (double)t.first_bytes / (1 << 20));
}

/* Devices that fail are those of a plugin of the build folder, which make check names. */
static void find_faults(void)
{
    static char path[8192];
    const char *build = getenv("top_builddir"), *others = getenv("ENGINE_PLUGIN_PATH");
    snprintf(path, sizeof path, "%s:%s/tests/meta/fault/.libs", others ? others : "", build ? build : ".");
    setenv("ENGINE_PLUGIN_PATH", path, 1);
}

int main(int argc, char **argv)
{
    static char *all[] = {
        "cpu",
#ifdef HAVE_META
        "cpu/2", "cpu/3@5:2:1", "fault:0+fault:1",
#endif
#ifdef HAVE_OPENCL
        "opencl:0",
#ifdef HAVE_META
        "opencl:0/2", "cpu+opencl:0@3:1",
#endif
#endif
    };
    uint64_t tokens = 20000;
    uint32_t seed = 1;
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (strcmp(argv[i], "--tokens") == 0)
            tokens = strtoull(argv[i + 1], NULL, 10);
        else
            seed = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    char **devices = i < argc ? argv + i : all;
    int n = i < argc ? argc - i : (int)(sizeof all / sizeof *all);
    find_faults();
    eng_context *engine = tap_begin();
    for (int d = 0; d < n && engine; d++) {
        const char *other = "cpu";
#ifdef HAVE_META
        other = strcmp(devices[d], "cpu") == 0 ? "cpu/2" : "cpu";
#endif
        simulate(devices[d], other, engine, tokens / (uint64_t)n, seed);
    }
    return tap_end(engine);
}
