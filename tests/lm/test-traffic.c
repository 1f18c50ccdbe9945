/*
 * Traffic: sequences that arrive, fork, run side by side, draft and take back,
 * leave; in an order that a seed gives.  What a sequence gives is compared with
 * what its tokens give in one fresh sequence of another context.  A schedule
 * that fails is made shorter as long as it still fails, and printed.
 *
 *     test-traffic [--tokens N] [--seed N] [DEVICE ...]
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define SEQUENCES 8
#define CELLS 400
#define LONGEST 120

typedef enum kind { RUN, DRAFT, FORK, BACK, REMOVE, KINDS } kind;
static const char *const kinds[KINDS] = {"run", "draft", "fork", "back", "remove"};

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
    const char *device;
    eng_lm_context_params params;
    double most; /* difference of logits, of their root mean square            */
    subject s;   /* its own context is the fresh one                           */
    eng_lm_context *context;
    sequence q[SEQUENCES];
    uint64_t tokens, judged, parted;
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
    eng_lm_sequence_remove(t->s.context, 0);
    const float *fresh = subject_run(&t->s, t->q[i].tokens, n);
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
    return CELLS - stats.n_cells_used;
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
    if (eng_lm_decode(t->context, &b) != ENG_OK)
        return failed(t, "decode");
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
    int64_t limit = eng_lm_sequence_rollback_limit(t->context, i);
    k = below(random, k + 1);
    return take_back(t, i, k > limit ? (uint32_t)limit : k);
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
        t->q[s->b] = t->q[s->a];
        return true;
    case BACK:
        return t->q[s->a].n < 4 || take_back(t, s->a, below(&random, 4));
    default:
        t->q[s->a].n = 0;
        return eng_lm_sequence_remove(t->context, s->a) == ENG_OK || failed(t, "remove");
    }
}

/* -- schedules ------------------------------------------------------------------------------- */

static step random_step(uint32_t *random)
{
    static const kind often[] = {RUN, RUN, RUN, RUN, DRAFT, DRAFT, FORK, FORK, BACK, REMOVE};
    step s = {.kind = often[below(random, 10)], .a = below(random, SEQUENCES), .b = below(random, SEQUENCES)};
    s.seed = below(random, 1 << 24);
    return s;
}

/* In a context of its own; the step that failed, or n. */
static uint32_t follow(traffic *t, const step *steps, uint32_t n)
{
    memset(t->q, 0, sizeof t->q);
    uint32_t i = 0;
    if (eng_lm_context_create(t->s.model, &t->params, &t->context) != ENG_OK)
        return failed(t, "the context");
    while (i < n && take(t, &steps[i]) && lengths_agree(t))
        i++;
    for (uint32_t k = 0; k < SEQUENCES; k++)
        eng_lm_sequence_remove(t->context, k);
    if (i == n && cells_left(t) != CELLS)
        i -= !wrong(t, "%.0f cells are free when nothing is held, should be %.0f%.0s", cells_left(t), CELLS, 0);
    eng_lm_context_destroy(t->context);
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

/* A context each for a few hundred steps, with other types and numbers of snapshots. */
static bool simulate(const char *device, eng_context *engine, uint64_t tokens, uint32_t seed)
{
    static const uint32_t types[] = {ENG_TYPE_F16,  ENG_TYPE_F32,  ENG_TYPE_Q8_0, ENG_TYPE_BF16, ENG_TYPE_Q4_0,
                                     ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL};
    enum { TYPES = sizeof types / sizeof *types, STEPS = 150 };
    traffic t = {.device = device};
    uint32_t random = seed, round = 0;
    bool good = true;
    while (good && t.tokens < tokens) {
        step steps[STEPS];
        uint32_t k = types[round % TYPES], v = types[(round + round / TYPES) % TYPES];
        eng_lm_context_params fresh;
        eng_lm_context_defaults(&fresh);
        fresh.type_k = k;
        fresh.type_v = v;
        fresh.n_cells = LONGEST;
        t.params = fresh;
        t.params.n_cells = CELLS;
        t.params.n_sequences = SEQUENCES;
        t.params.n_snapshots = 1 + round % 8;
        t.params.n_batch = round % 2 ? 64 : 512;
        t.params.n_logits = t.params.n_batch;
        t.most = eng_type_get(k)->block > 1 || eng_type_get(v)->block > 1 ? 0.02 : 0.002;
        if (subject_open(&t.s, engine, device, data_path("tiny-hybrid-f16.gguf"), NULL, &fresh) != ENG_OK)
            return tap_check(false, "%s: %s", device, eng_last_error());
        for (int i = 0; i < STEPS; i++)
            steps[i] = random_step(&random);
        uint32_t end = follow(&t, steps, STEPS);
        good = end == STEPS;
        if (!good) {
            printf("# round %u: K %s, V %s, %u snapshots\n", round, eng_type_name(k), eng_type_name(v),
                   t.params.n_snapshots);
            report(&t, steps, end + 1);
        }
        subject_close(&t.s);
        round++;
    }
    return tap_check(good, "%s: %" PRIu64 " tokens in %u rounds, seed %u; %" PRIu64 " rows of logits judged, the worst "
                     "off by %.2g; %" PRIu64 " batches in more passes since sequences parted",
                     device, t.tokens, round, seed, t.judged, t.worst, t.parted);
}

int main(int argc, char **argv)
{
    static char *all[] = {
        "cpu",
#ifdef HAVE_META
        "cpu/2", "cpu/3@5:2:1",
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
    eng_context *engine = tap_begin();
    for (int d = 0; d < n && engine; d++)
        simulate(devices[d], engine, tokens / (uint64_t)n, seed);
    return tap_end(engine);
}
