/* A model on a device against what is right. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "archs.h"
#include "subject.h"

#define MOST 1e-4            /* largest error, of the logits' root mean square */
#define MOST_HALF 0.02       /* of caches in half precision, */
#define MOST_CACHE 0.2       /* in blocks of 8 bits, */
#define MOST_CACHE_EXPERTS 1.5 /* whose error may be that another expert was chosen */
#define N_STRAY 3            /* tokens that are taken back */

typedef struct errors {
    double most, squared; /* relative; see MOST */
    int wrong;            /* tokens that are not the most likely ones, though these are clearly ahead */
} errors;

static void compare(const float *got, const double *want, int64_t n, errors *e, double limit)
{
    double most = 0, error = 0, size = 0, ahead;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(got[i] - want[i]);
        most = isnan(d) ? INFINITY : fmax(most, d);
        error += d * d;
        size += want[i] * want[i];
        found = got[i] > got[found] ? i : found;
    }
    e->most = fmax(e->most, most / sqrt(size / (double)n));
    e->squared = fmax(e->squared, isnan(error) ? INFINITY : error / size);
    int32_t right = archs_best(want, n, &ahead);
    e->wrong += found != right && ahead > 2 * limit;
}

bool archs_has_experts(const char *options)
{
    return strstr(options, "--experts") || strstr(options, "moe");
}

/* Tokens that do not belong there, and back: the cells and states of those before must be as they were. */
static bool stray(subject *s, const answer *a)
{
    const int32_t ids[N_STRAY] = {a->ids[0] ^ 1, a->ids[0] ^ 2, a->ids[0] ^ 3};
    return subject_run(s, ids, N_STRAY) && eng_lm_sequence_rollback(s->context, 0, N_STRAY) == ENG_OK;
}

static const char *const manners[] = {"", ", experts dealt out", ", whole layers", ", caches on a guest",
                                      ", every second layer's weights on a guest"};

/* What is on the guest: with GUEST as -nkvo has it, and as -ot may. */
static const eng_lm_override guests[] = {[GUEST] = {"^cache_", "cpu"}, [WEIGHTS] = {"^blk\\.[0-9]*[02468]\\.", "cpu"}};

/* What is right but for the types of K and V. */
static double most_of(const char *options, uint32_t k, uint32_t v)
{
    if (k == ENG_TYPE_F32 && v == ENG_TYPE_F32)
        return MOST;
    if (archs_has_experts(options))
        return MOST_CACHE_EXPERTS;
    return k == ENG_TYPE_Q8_0 || v == ENG_TYPE_Q8_0 ? MOST_CACHE : MOST_HALF;
}

void archs_run_type(eng_context *engine, const char *options, const char *device, manner how, const char *path,
                    const answer *a, uint32_t k, uint32_t v)
{
    double limit = most_of(options, k, v);
    eng_lm_placement placement = {.size = sizeof placement,
                                  .experts = how == DEALT ? ENG_LM_EXPERTS_PARALLEL : ENG_LM_EXPERTS_FFN,
                                  .split = how == LAYERS ? ENG_LM_SPLIT_LAYER : ENG_LM_SPLIT_TENSOR,
                                  .n_overrides = how >= GUEST, .overrides = &guests[how]};
    eng_lm_context_params p;
    errors e = {0};
    subject s;
    char dealt[80];
    snprintf(dealt, sizeof dealt, "%s", manners[how]);
    if (k != ENG_TYPE_F32 || v != ENG_TYPE_F32)
        snprintf(dealt, sizeof dealt, ", caches of %s and %s", eng_type_name(k), eng_type_name(v));
    eng_lm_context_defaults(&p);
    p.n_cells = N_CELLS;
    p.n_snapshots = N_STRAY + 1;
    p.type_k = k;
    p.type_v = v;
    if (subject_open(&s, engine, device, path, &placement, &p)) {
        tap_check(false, "%s on %s%s: %s", options, device, dealt, eng_last_error());
        return;
    }
    bool good = s.n_vocab == a->n_vocab;
    for (int i = 0; i < N_ROWS && good; i++) {
        const float *got = i ? subject_run(&s, &a->ids[a->n_prompt + i - 1], 1) :
                               subject_run(&s, a->ids, (uint32_t)a->n_prompt);
        good = got != NULL;
        if (got)
            compare(got, a->logits + i * a->n_vocab, a->n_vocab, &e, limit);
        good = good && (i != 0 || stray(&s, a));
    }
    if (!good)
        tap_check(false, "%s on %s%s: %s", options, device, dealt, eng_last_error());
    else
        tap_check(e.most < limit && e.squared < limit * limit / 10 && !e.wrong,
               "%s on %s%s: error %.1e, squared %.1e, %d wrong tokens%s", options, device, dealt, e.most, e.squared,
               e.wrong, a->margin < 1e-5 ? " (two experts were equally good)" : "");
    subject_close(&s);
}

void archs_run(eng_context *engine, const char *options, const char *device, manner how, const char *path,
               const answer *a)
{
    archs_run_type(engine, options, device, how, path, a, ENG_TYPE_F32, ENG_TYPE_F32);
}
