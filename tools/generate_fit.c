/*
 * engine-generate --fit: shares and overrides with which a model fits the memory.
 *
 * What a composition would hold is not guessed: the model is opened, and its graphs
 * are compiled, on as many null devices that hold nothing, with the real shares and
 * overrides.  Their statistics are what the real devices would need.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "generate_fit.h"

#define RESERVE_BYTES (UINT64_C(256) << 20)
#define RESERVE_SHARE 0.05
#define ROUNDS 6 /* of finding shares: what they do not change is known better each time */

typedef struct need {
    uint64_t bytes;
    uint64_t fixed; /* what a smaller share would not save                       */
} need;

typedef struct attempt {
    double shares[ENG_MAX_RANKS];
    need need[ENG_MAX_RANKS]; /* of members                                      */
    uint64_t missing;         /* over all pools                                  */
    unsigned stage, layers;   /* what was moved to the processor                 */
} attempt;

struct fit {
    const fit_request *q;
    eng_context *dry;
    fit_member member[ENG_MAX_RANKS]; /* leaves, then guests                     */
    uint32_t n_members;
    uint32_t n_layers;
    char *patterns[FIT_STAGES]; /* of the stages in force                         */
};
typedef struct fit fit;

/* -- which memory ---------------------------------------------------------------- */

static bool same_pool(const fit_member *a, const fit_member *b)
{
    size_t n = strcspn(a->name, "/");
    return strcspn(b->name, "/") == n && strncmp(a->name, b->name, n) == 0;
}

/* Free memory of a member's pool; parts of a device share theirs. */
static uint64_t pool_free(const fit *f, uint32_t i)
{
    uint64_t sum = 0, whole = 0;

    for (uint32_t k = 0; k < f->n_members; k++) {
        if (!same_pool(&f->member[i], &f->member[k]))
            continue;
        if (f->member[k].free == 0)
            return UINT64_MAX; /* not known */
        sum += f->member[k].free;
        if (!strchr(f->member[k].name, '/'))
            whole = f->member[k].free;
    }
    return whole ? whole : sum;
}

/* What is left alone of the pool's memory. */
static uint64_t held_back(const fit *f, uint32_t i)
{
    double rule = RESERVE_SHARE * (double)pool_free(f, i);
    return f->q->reserve != UINT64_MAX ? f->q->reserve : rule > RESERVE_BYTES ? (uint64_t)rule : RESERVE_BYTES;
}

static uint64_t capacity(const fit *f, uint32_t i)
{
    uint64_t sum = pool_free(f, i), reserve = held_back(f, i);
    return sum == UINT64_MAX ? sum : sum > reserve ? sum - reserve : 0;
}

static uint64_t pool_need(const fit *f, const attempt *a, uint32_t i)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < f->n_members; k++)
        sum += same_pool(&f->member[i], &f->member[k]) ? a->need[k].bytes : 0;
    return sum;
}

/* The first member of its pool speaks for all. */
static bool speaks(const fit *f, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (same_pool(&f->member[i], &f->member[k]))
            return false;
    return true;
}

static uint64_t missing_in(const fit *f, const attempt *a, uint32_t i)
{
    uint64_t has = capacity(f, i), needed = pool_need(f, a, i);
    return needed > has ? needed - has : 0;
}

static void sum_missing(const fit *f, attempt *a)
{
    a->missing = 0;
    for (uint32_t i = 0; i < f->n_members; i++)
        a->missing += speaks(f, i) ? missing_in(f, a, i) : 0;
}

/* -- trying ------------------------------------------------------------------------- */

static int find_member(fit *f, const char *name, uint32_t *index)
{
    for (uint32_t i = 0; i < f->n_members; i++) {
        if (strcmp(f->member[i].name, name) == 0) {
            *index = i;
            return ENG_OK;
        }
    }
    if (f->n_members == ENG_MAX_RANKS)
        return eng_fail(ENG_ERR_INVALID, "--fit: more than %d devices", ENG_MAX_RANKS);
    eng_device *device;
    eng_device_info info = {.size = sizeof info};
    int status = eng_device_open(f->q->engine, name, &device);
    if (status)
        return status;
    status = eng_device_get_info(device, &info);
    eng_device_close(device);
    fit_member *m = &f->member[f->n_members];
    snprintf(m->name, sizeof m->name, "%s", name);
    m->free = info.memory_free;
    *index = f->n_members++;
    return status;
}

/* What stands for the member among the devices that hold nothing. */
static void dry_name(const fit *f, uint32_t member, char name[32])
{
    if (f->q->n_leaves == 1 && member == 0)
        snprintf(name, 32, "null");
    else if (member < f->q->n_leaves)
        snprintf(name, 32, "null/%u.%u", f->q->n_leaves, member);
    else
        snprintf(name, 32, "null/%u.%u", ENG_MAX_RANKS, member); /* any part of it is a device of its own */
}

static int add_override(fit *f, eng_lm_override *o, char names[][32], uint32_t *n, const char *pattern,
                        const char *device)
{
    uint32_t member;
    int status = find_member(f, device, &member);
    if (status)
        return status;
    dry_name(f, member, names[*n]);
    o[*n] = (eng_lm_override){pattern, names[*n]};
    ++*n;
    return ENG_OK;
}

typedef struct dry_run {
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *context;
    eng_lm_override overrides[MAX_OVERRIDES + 1 + FIT_STAGES];
    char names[MAX_OVERRIDES + 1 + FIT_STAGES][32];
    uint32_t n;
} dry_run;

/* The passes of a run: full batches, the rest of the text, one token. */
static int pass_tokens(const fit *f, eng_lm_context *context, uint64_t n_tokens)
{
    eng_lm_context_params p = {.size = sizeof p};
    int status = eng_lm_context_get_params(context, &p);
    int32_t *tokens = calloc(p.n_batch, sizeof *tokens);
    uint8_t *wanted = calloc(p.n_batch, 1);
    uint32_t full = n_tokens > p.n_batch ? p.n_batch : 0, rest = (uint32_t)((n_tokens - 1) % p.n_batch) + 1;
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = full, .tokens = tokens, .logits = wanted};

    if (!status && (!tokens || !wanted))
        status = eng_fail(ENG_ERR_NOMEM, "no memory");
    if (!status && f->q->all_logits)
        memset(wanted, 1, p.n_batch);
    if (!status && full)
        status = eng_lm_decode(context, &batch);
    if (!status)
        status = eng_lm_sequence_remove(context, 0);
    batch.n_tokens = rest;
    batch.logits = f->q->all_logits ? wanted : NULL;
    if (!status)
        status = eng_lm_decode(context, &batch);
    if (!status)
        status = eng_lm_sequence_remove(context, 0);
    batch.n_tokens = 1;
    batch.logits = NULL;
    if (!status && !f->q->all_logits)
        status = eng_lm_decode(context, &batch);
    free(tokens);
    free(wanted);
    return status;
}

static int open_dry(fit *f, const attempt *a, dry_run *d)
{
    const options *o = f->q->options;
    char name[ENG_MAX_RANKS * 24 + 32];
    size_t at = (size_t)snprintf(name, sizeof name, "null/%u", f->q->n_leaves);
    int status = ENG_OK;

    for (uint32_t i = 0; i < f->q->n_leaves; i++)
        at += (size_t)snprintf(name + at, sizeof name - at, "%s%.9f", i ? ":" : "@", a->shares[i]);
    for (uint32_t i = 0; i < o->n_overrides && !status; i++)
        status = add_override(f, d->overrides, d->names, &d->n, o->overrides[i].pattern, o->overrides[i].device);
    for (uint32_t s = 0; s < FIT_STAGES && !status; s++)
        if (f->patterns[s])
            status = add_override(f, d->overrides, d->names, &d->n, f->patterns[s], "cpu");
    if (!status)
        status = eng_device_open(f->dry, name, &d->device);
    eng_lm_model_params model;
    eng_lm_model_defaults(&model);
    model.placement = options_placement(o, d->overrides, d->n);
    if (!status)
        status = eng_lm_model_open(f->dry, d->device, o->model, &model, &d->model);
    eng_lm_context_params context;
    uint64_t n_tokens = 1;
    if (!status)
        status = f->q->context(f->q->user, d->model, &context, &n_tokens);
    context.placement = model.placement;
    if (!status)
        status = eng_lm_context_create(d->model, &context, &d->context);
    return status ? status : pass_tokens(f, d->context, n_tokens);
}

static int read_needs(fit *f, const dry_run *d, attempt *a)
{
    memset(a->need, 0, sizeof a->need);
    for (uint32_t i = 0;; i++) {
        eng_device_info info = {.size = sizeof info};
        eng_device_stats s = {.size = sizeof s};
        char name[32];
        uint32_t m = 0;
        if (eng_device_leaf(d->device, i, &info, &s))
            break;
        for (dry_name(f, m, name); m < f->n_members && strcmp(name, info.name) != 0; dry_name(f, ++m, name))
            continue;
        if (m == f->n_members)
            return eng_fail(ENG_ERR_INTERNAL, "--fit: %s stands for no device", info.name);
        a->need[m].bytes = s.bytes_weights + s.bytes_cache + s.bytes_state + s.bytes_io + s.bytes_compute;
        a->need[m].fixed = s.bytes_replicated;
    }
    sum_missing(f, a);
    return ENG_OK;
}

static int try_it(fit *f, attempt *a)
{
    dry_run *d = calloc(1, sizeof *d);
    if (!d)
        return eng_fail(ENG_ERR_NOMEM, "no memory");
    int status = open_dry(f, a, d);
    if (!status) {
        eng_lm_model_info info = {.size = sizeof info};
        eng_lm_model_get_info(d->model, &info);
        f->n_layers = info.n_layers;
        status = read_needs(f, d, a);
    }
    eng_lm_context_destroy(d->context);
    eng_lm_model_close(d->model);
    eng_device_close(d->device);
    free(d);
    return status;
}

/* -- shares ---------------------------------------------------------------------------- */

/* What a leaf may take for tensors that are split, and takes; parts of a device by what they take. */
static bool room_of(const fit *f, const attempt *a, uint32_t leaf, double *room, double *taken)
{
    uint64_t has = capacity(f, leaf), fixed = 0, split = 0, own = a->need[leaf].bytes - a->need[leaf].fixed;

    for (uint32_t k = 0; k < f->n_members; k++) {
        if (!same_pool(&f->member[leaf], &f->member[k]))
            continue;
        fixed += k < f->q->n_leaves ? a->need[k].fixed : a->need[k].bytes;
        split += k < f->q->n_leaves ? a->need[k].bytes - a->need[k].fixed : 0;
    }
    *room = has > fixed ? (double)(has - fixed) * (split ? (double)own / (double)split : 1) : 0;
    *taken = (double)own;
    return has != UINT64_MAX; /* in proportion to what? */
}

/* First in proportion to free memory; then, for shares are followed in steps, from those that
 * have too much to those that have room. */
static bool next_shares(const fit *f, attempt *a, int round)
{
    double room[ENG_MAX_RANKS], taken[ENG_MAX_RANKS], sum = 0, freed = 0, slack = 0;

    for (uint32_t i = 0; i < f->q->n_leaves; i++) {
        if (!room_of(f, a, i, &room[i], &taken[i]))
            return false;
        sum += room[i];
        slack += room[i] > taken[i] ? room[i] - taken[i] : 0;
    }
    if (sum <= 0 || (round && slack <= 0))
        return false;
    for (uint32_t i = 0; i < f->q->n_leaves; i++) {
        double share = round == 0 ? room[i] / sum : a->shares[i];
        if (round && taken[i] > room[i])
            share *= 0.98 * room[i] / taken[i];
        freed += round ? a->shares[i] - share : 0;
        a->shares[i] = share < 1e-6 ? 0 : share;
    }
    for (uint32_t i = 0; i < f->q->n_leaves; i++)
        if (round && room[i] > taken[i])
            a->shares[i] += freed * (room[i] - taken[i]) / slack;
    return true;
}

/* The shares wanted, or others with which all fits.  *best: with the least missing so far. */
static int try_shares(fit *f, unsigned stage, unsigned layers, attempt *best)
{
    attempt a = {.stage = stage, .layers = layers};

    memcpy(a.shares, f->q->shares, sizeof a.shares);
    for (int round = 0; round < ROUNDS; round++) {
        int status = try_it(f, &a);
        if (status)
            return status;
        if (a.missing < best->missing)
            *best = a;
        if (a.missing == 0 || f->q->shares_given || f->q->n_leaves < 2 || !next_shares(f, &a, round))
            return ENG_OK;
    }
    return ENG_OK;
}

/* -- moving tensors to the processor ------------------------------------------------------ */

static const struct stage {
    const char *format, *what; /* the layers' numbers in between                     */
} stages[FIT_STAGES] = {
    {"^cache_[kv][.](%s)$", "K and V caches"},
    {"^blk[.](%s)[.]ffn_.*_exps[.]", "experts"},
    {"^blk[.](%s)[.]ffn_", "feed-forward weights"},
};

/* Pattern of a stage for the last n layers. */
static int set_pattern(fit *f, unsigned stage, unsigned n)
{
    size_t size = (size_t)n * 11 + 64, at = 0;
    char *numbers = malloc(size);

    free(f->patterns[stage]);
    f->patterns[stage] = n ? malloc(size + 64) : NULL;
    if (numbers && f->patterns[stage]) {
        for (unsigned i = f->n_layers - n; i < f->n_layers; i++)
            at += (size_t)snprintf(numbers + at, size - at, "%s%u", at ? "|" : "", i);
        snprintf(f->patterns[stage], size + 64, stages[stage].format, numbers);
    }
    free(numbers);
    return n && !f->patterns[stage] ? eng_fail(ENG_ERR_NOMEM, "no memory") : ENG_OK;
}

/* *none: no tensor of these layers has such a name, or overrides of the user's decide for all that have. */
static int try_layers(fit *f, unsigned stage, unsigned n, attempt *best, bool *none)
{
    int status = set_pattern(f, stage, n);
    status = status ? status : try_shares(f, stage, n, best);
    *none = status == ENG_ERR_INVALID && (strstr(eng_last_error(), "in the name of no tensor") ||
                                          strstr(eng_last_error(), "is hidden by"));
    return *none ? ENG_OK : status;
}

/* The fewest last layers that are enough; *best says whether there are so many. */
static int try_stage(fit *f, unsigned stage, attempt *best)
{
    unsigned least = 1, most = f->n_layers;
    bool none;
    int status = try_layers(f, stage, most, best, &none);

    if (none)
        return set_pattern(f, stage, 0);
    if (status || best->missing)
        return status;
    while (least < most) {
        unsigned n = (least + most) / 2;
        attempt a = {.missing = UINT64_MAX};
        status = try_layers(f, stage, n, &a, &none);
        if (status)
            return status;
        if (!none && a.missing == 0) {
            *best = a;
            most = n;
        } else {
            least = n + 1;
        }
    }
    return set_pattern(f, stage, most);
}

/* What moved before is perhaps not needed any more: the stage that was enough alone. */
static int try_without(fit *f, unsigned stage, attempt *best)
{
    for (unsigned s = 0; s < stage; s++) {
        attempt a = {.missing = UINT64_MAX};
        if (!f->patterns[s])
            continue;
        int status = set_pattern(f, s, 0);
        if (!status)
            status = try_shares(f, best->stage, best->layers, &a);
        if (status)
            return status;
        if (a.missing == 0)
            *best = a;
        else if ((status = set_pattern(f, s, f->n_layers)))
            return status;
    }
    return ENG_OK;
}

/* -- what is said --------------------------------------------------------------------------- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("engine-generate: --fit: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static const char *size_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes / 1024;
    unsigned u = 0;
    for (; v >= 1024 && u < 3; u++)
        v /= 1024;
    snprintf(text, 32, "%.1f %s", v, units[u]);
    return text;
}

/* What the pool of member i needs, of what. */
static void need_text(const fit *f, const attempt *a, uint32_t i, char *text, size_t size)
{
    char t[3][32], kept[80] = "";
    uint64_t has = capacity(f, i), lacks = missing_in(f, a, i), reserve = held_back(f, i);
    size_t n = strcspn(f->member[i].name, "/");

    size_text(pool_need(f, a, i), t[0]);
    if (has == UINT64_MAX) {
        snprintf(text, size, "%.*s needs %s; how much it has is not known", (int)n, f->member[i].name, t[0]);
        return;
    }
    if (reserve)
        snprintf(kept, sizeof kept, " (what is free, less %s left alone)", size_text(reserve, t[1]));
    snprintf(text, size, "%.*s needs %s of %s%s%s%s", (int)n, f->member[i].name, t[0], size_text(has, t[1]), kept,
             lacks ? "; missing: " : "", lacks ? size_text(lacks, t[2]) : "");
}

static void say_needs(const fit *f, const attempt *a)
{
    char text[256];

    for (uint32_t i = 0; i < f->n_members; i++) {
        if (!speaks(f, i) || !pool_need(f, a, i))
            continue;
        need_text(f, a, i, text, sizeof text);
        say("%s", text);
    }
}

static void shares_text(const fit *f, const double *shares, char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < f->q->n_leaves && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%.4f", i ? "," : "", shares[i]);
}

static int take(fit *f, const attempt *before, const attempt *a, fit_result *result)
{
    char t[32];
    bool same = memcmp(a->shares, f->q->shares, f->q->n_leaves * sizeof *a->shares) == 0;

    if (before->missing == 0) {
        say("all fits%s", f->q->n_leaves > 1 ? " with the shares as they are" : "");
    } else if (!same) {
        shares_text(f, a->shares, result->shares, sizeof result->shares);
        say("-ts %s, in proportion to free memory: with the shares as they were %s is missing", result->shares,
            size_text(before->missing, t));
    }
    for (unsigned s = 0; s < FIT_STAGES; s++) {
        if (!f->patterns[s])
            continue;
        unsigned n = s == a->stage ? a->layers : f->n_layers;
        say("-ot '%s=cpu': the %s of %s %u of %u layers%s, for without that %s is missing", f->patterns[s],
            stages[s].what, n < f->n_layers ? "the last" : "all", n, f->n_layers,
            f->q->options->n_overrides ? ", but what another -ot places" : "", size_text(before->missing, t));
        result->patterns[s] = f->patterns[s];
        f->patterns[s] = NULL;
    }
    say_needs(f, a);
    return ENG_OK;
}

static bool all_on_processor(const fit *f)
{
    for (uint32_t i = 0; i < f->q->n_leaves; i++)
        if (strncmp(f->member[i].name, "cpu", 3) != 0)
            return false;
    return true;
}

/* In one line: which devices lack what, and what helps. */
static int fail(const fit *f, const attempt *best)
{
    char needs[600] = "";
    size_t at = 0;

    for (uint32_t i = 0; i < f->n_members && at < sizeof needs; i++) {
        char text[256];
        if (!speaks(f, i) || !missing_in(f, best, i))
            continue;
        need_text(f, best, i, text, sizeof text);
        at += (size_t)snprintf(needs + at, sizeof needs - at, "%s%s", at ? "; " : "", text);
    }
    return eng_fail(ENG_ERR_NOMEM, "--fit: the model does not fit: %s%s; take a smaller --fit=MIB, a smaller context (-c), "
                    "smaller types of K and V (-ctk, -ctv), smaller batches (-b), or more or other devices (-d)", needs,
                    best->stage || best->layers ? ", though all that may be is moved to the cpu device" : "");
}

/* -- all of it --------------------------------------------------------------------------------- */

static int open_dry_engine(fit *f)
{
    int status = eng_context_create(NULL, &f->dry);
    if (!status)
        status = eng_context_set_option(f->dry, "null.accept", "measure");
    if (status == ENG_ERR_NOTFOUND)
        return eng_fail(status, "--fit tries the model on devices of the null plugin, which is not there: install it, or "
                        "do not leave it out of ENGINE_PLUGINS");
    return status;
}

static int search(fit *f, fit_result *result)
{
    attempt before = {.missing = UINT64_MAX}, best = before;
    int status;

    memcpy(before.shares, f->q->shares, sizeof before.shares);
    status = try_it(f, &before);
    if (status)
        return status;
    best = before;
    if (best.missing)
        status = try_shares(f, 0, 0, &best);
    for (unsigned s = 0; s < FIT_STAGES && !status && best.missing && !all_on_processor(f); s++) {
        status = try_stage(f, s, &best);
        if (!status && !best.missing)
            status = try_without(f, s, &best);
    }
    if (status)
        return status;
    return best.missing ? fail(f, &best) : take(f, &before, &best, result);
}

int fit_choose(const fit_request *request, fit_result *result)
{
    fit *f = calloc(1, sizeof *f);
    if (!f)
        return eng_fail(ENG_ERR_NOMEM, "no memory");
    f->q = request;
    f->n_members = request->n_leaves;
    memcpy(f->member, request->leaves, request->n_leaves * sizeof *f->member);
    int status = open_dry_engine(f);
    if (!status)
        status = search(f, result);
    for (unsigned s = 0; s < FIT_STAGES; s++)
        free(f->patterns[s]);
    if (f->dry)
        eng_context_destroy(f->dry);
    free(f);
    return status;
}
