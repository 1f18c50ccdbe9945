/* The search: shares first, then tensors that move to another device; and what is told of it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"

#define ROUNDS 6 /* of finding shares: what they do not change is known better each time */

/* -- shares ------------------------------------------------------------------------------- */

/* What a leaf may take for tensors that are split, and takes; parts of a device by what they take. */
static bool room_of(const eng_lm_fit *f, const fit_attempt *a, uint32_t leaf, double *room, double *taken)
{
    uint64_t has = fit_capacity(f, leaf), fixed = 0, split = 0, own = a->need[leaf].bytes - a->need[leaf].fixed;
    for (uint32_t k = 0; k < f->n_members; k++) {
        if (!fit_same_pool(&f->member[leaf], &f->member[k]))
            continue;
        fixed += k < f->n_leaves ? a->need[k].fixed : a->need[k].bytes;
        split += k < f->n_leaves ? a->need[k].bytes - a->need[k].fixed : 0;
    }
    *room = has > fixed ? (double)(has - fixed) * (split ? (double)own / (double)split : 1) : 0;
    *taken = (double)own;
    return has != UINT64_MAX; /* in proportion to what? */
}

/* First in proportion to free memory; then, for shares are followed in steps, from those that
 * have too much to those that have room. */
static bool next_shares(const eng_lm_fit *f, fit_attempt *a, int round)
{
    double room[ENG_MAX_RANKS], taken[ENG_MAX_RANKS], sum = 0, freed = 0, slack = 0;
    for (uint32_t i = 0; i < f->n_leaves; i++) {
        if (!room_of(f, a, i, &room[i], &taken[i]))
            return false;
        sum += room[i];
        slack += room[i] > taken[i] ? room[i] - taken[i] : 0;
    }
    if (sum <= 0 || (round && slack <= 0))
        return false;
    for (uint32_t i = 0; i < f->n_leaves; i++) {
        double share = round == 0 ? room[i] / sum : a->shares[i];
        if (round && taken[i] > room[i])
            share *= 0.98 * room[i] / taken[i];
        freed += round ? a->shares[i] - share : 0;
        a->shares[i] = share < 1e-6 ? 0 : share;
    }
    for (uint32_t i = 0; i < f->n_leaves; i++)
        if (round && room[i] > taken[i])
            a->shares[i] += freed * (room[i] - taken[i]) / slack;
    return true;
}

/* The shares asked for, or others with which all fits.  *best: with the least missing so far. */
static int try_shares(eng_lm_fit *f, unsigned stage, unsigned layers, fit_attempt *best)
{
    fit_attempt a = {.stage = stage, .layers = layers};
    memcpy(a.shares, f->shares, sizeof a.shares);
    for (int round = 0; round < ROUNDS; round++) {
        int status = fit_try(f, &a);
        if (status)
            return status;
        if (a.missing < best->missing)
            *best = a;
        if (a.missing == 0 || f->p.flags & ENG_LM_FIT_KEEP_SHARES || f->n_leaves < 2 || !next_shares(f, &a, round))
            return ENG_OK;
    }
    return ENG_OK;
}

/* -- moving tensors -------------------------------------------------------------------------- */

/* In between: the layers' numbers. */
static const char *const formats[FIT_STAGES] = {
    [ENG_LM_MOVED_CACHES] = "^cache_[kvi][.](%s)$",
    [ENG_LM_MOVED_EXPERTS] = "^blk[.](%s)[.]ffn_.*_exps[.]",
    [ENG_LM_MOVED_FFN] = "^blk[.](%s)[.]ffn_",
};

/* Pattern of a stage for the last n layers. */
static int set_pattern(eng_lm_fit *f, unsigned stage, unsigned n)
{
    size_t size = (size_t)n * 11 + 64, at = 0;
    char *numbers = lm_calloc(size, 1), *pattern = n ? lm_calloc(size + 64, 1) : NULL;
    free(f->patterns[stage]);
    f->patterns[stage] = pattern;
    f->layers[stage] = n;
    for (unsigned i = f->n_layers - n; numbers && i < f->n_layers; i++)
        at += (size_t)snprintf(numbers + at, size - at, "%s%u", at ? "|" : "", i);
    if (numbers && pattern)
        snprintf(pattern, size + 64, formats[stage], numbers);
    free(numbers);
    return numbers && (pattern || !n) ? ENG_OK : ENG_ERR_NOMEM;
}

/* Does the stage's pattern decide for anything?  No tensor of these layers may have such a name, or patterns of the
 * host's decide for all that have. */
static int decides(const eng_lm_fit *f, unsigned stage, bool *answer)
{
    const eng_lm_placement *given = &f->given;
    eng_lm_override *all = lm_calloc(given->n_overrides + FIT_STAGES, sizeof *all);
    eng_lm_placement placement = *given;
    uint32_t n = given->n_overrides, which = 0;
    if (!all)
        return ENG_ERR_NOMEM;
    if (n)
        memcpy(all, given->overrides, n * sizeof *all);
    for (unsigned s = 0; s < FIT_STAGES; s++) {
        if (!f->patterns[s])
            continue;
        which = s == stage ? n : which;
        all[n++] = (eng_lm_override){f->patterns[s], f->p.spill};
    }
    placement.overrides = all;
    placement.n_overrides = n;
    int status = lm_placement_decides(f->asked, &placement, which, answer);
    free(all);
    return status;
}

/* *none: the stage has nothing to move in these layers. */
static int try_layers(eng_lm_fit *f, unsigned stage, unsigned n, fit_attempt *best, bool *none)
{
    bool good = false;
    int status = set_pattern(f, stage, n);
    if (!status)
        status = decides(f, stage, &good);
    *none = !good;
    return status || *none ? status : try_shares(f, stage, n, best);
}

/* The fewest last layers that are enough; *best says whether there are so many. */
static int try_stage(eng_lm_fit *f, unsigned stage, fit_attempt *best)
{
    unsigned least = 1, most = f->n_layers;
    bool none;
    int status = try_layers(f, stage, most, best, &none);
    if (!status && none)
        return set_pattern(f, stage, 0);
    if (status || best->missing)
        return status;
    while (least < most) {
        unsigned n = (least + most) / 2;
        fit_attempt a = {.missing = UINT64_MAX};
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
static int try_without(eng_lm_fit *f, unsigned stage, fit_attempt *best)
{
    for (unsigned s = 0; s < stage; s++) {
        fit_attempt a = {.missing = UINT64_MAX};
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

#define DEFAULT_SPILL "cpu"

/* Is the device that tensors would move to all that there is? */
static int can_move(eng_lm_fit *f, bool *answer)
{
    uint32_t member;
    *answer = false;
    if (!f->p.spill)
        return ENG_OK;
    int status = fit_member_find(f, f->p.spill, &member);
    if (status == ENG_ERR_NOTFOUND && strcmp(f->p.spill, DEFAULT_SPILL) == 0)
        return ENG_OK; /* nobody asked for it: what lacks is told */
    for (uint32_t i = 0; i < f->n_leaves && !status; i++)
        *answer |= !fit_same_pool(&f->member[i], &f->member[member]);
    return status;
}

static int search(eng_lm_fit *f)
{
    fit_attempt first = {.missing = UINT64_MAX};
    bool moves = false;
    memcpy(first.shares, f->shares, sizeof first.shares);
    int status = fit_try(f, &first);
    f->best = first;
    f->lacked = first.missing;
    if (!status && f->best.missing)
        status = try_shares(f, 0, 0, &f->best);
    if (!status && f->best.missing)
        status = can_move(f, &moves);
    for (unsigned s = 0; s < FIT_STAGES && moves && !status && f->best.missing; s++) {
        status = try_stage(f, s, &f->best);
        if (!status && !f->best.missing)
            status = try_without(f, s, &f->best);
    }
    if (status)
        return status;
    return f->best.missing ? fit_refuse(f, &f->best) : ENG_OK;
}

/* -- what is asked for ------------------------------------------------------------------------ */

void eng_lm_fit_defaults(eng_lm_fit_params *params)
{
    *params = (eng_lm_fit_params){.size = sizeof *params, .reserve = UINT64_MAX, .spill = DEFAULT_SPILL};
}

/* The device's leaves, with what they have free. */
static int read_device(eng_lm_fit *f, eng_device *device)
{
    eng_device_info info = {.size = sizeof info};
    int status = eng_device_get_info(device, &info);
    f->composed = info.kind == ENG_DEVICE_META;
    for (; !status && f->n_leaves < ENG_MAX_RANKS; f->n_leaves++) {
        eng_device_stats stats = {.size = sizeof stats};
        info = (eng_device_info){.size = sizeof info};
        if (eng_device_leaf(device, f->n_leaves, &info, &stats))
            break;
        fit_member *m = &f->member[f->n_leaves];
        memcpy(m->name, info.name, sizeof m->name);
        m->free = info.memory_free;
        f->shares[f->n_leaves] = stats.share;
    }
    f->n_members = f->n_leaves;
    return status;
}

/* The structs that the host's params point to, over the defaults. */
static int take_params(eng_lm_fit *f, const eng_lm_fit_params *params)
{
    const char *who = "eng_lm_fit_create";
    eng_lm_fit_defaults(&f->p);
    f->given.size = sizeof f->given;
    eng_lm_context_defaults(&f->context);
    int status = params ? lm_take(who, &f->p, sizeof f->p, params, 2 * sizeof(uint32_t)) : ENG_OK;
    if (!status && f->p.placement)
        status = lm_take(who, &f->given, sizeof f->given, f->p.placement, 2 * sizeof(uint32_t));
    if (!status && f->p.context)
        status = lm_take(who, &f->context, sizeof f->context, f->p.context, 2 * sizeof(uint32_t));
    return status;
}

/* Copies of texts of the host's. */
static int keep(eng_lm_fit *f, const char *path)
{
    eng_lm_placement *p = &f->given;
    int status = p->n_overrides && !p->overrides ?
                     eng_fail(ENG_ERR_INVALID,
                              "eng_lm_fit_create" ENG_CAUSE "%u overrides are announced, none are given",
                              p->n_overrides) :
                     ENG_OK;
    if (status)
        return status;
    f->path = lm_format(&f->memory, "%s", path);
    bool moves = f->p.spill != NULL;
    if (moves)
        f->p.spill = lm_format(&f->memory, "%s", f->p.spill);
    f->overrides = lm_alloc(&f->memory, p->n_overrides + FIT_STAGES, sizeof *f->overrides);
    if (!f->path || !f->overrides || (moves && !f->p.spill))
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < p->n_overrides; i++) {
        const eng_lm_override *o = &p->overrides[i];
        if (!o->pattern || !o->device)
            return eng_fail(ENG_ERR_INVALID, "eng_lm_fit_create" ENG_CAUSE "override %u needs a pattern and a device",
                            i);
        f->overrides[i] = (eng_lm_override){lm_format(&f->memory, "%s", o->pattern),
                                            lm_format(&f->memory, "%s", o->device)};
        if (!f->overrides[i].pattern || !f->overrides[i].device)
            return ENG_ERR_NOMEM;
    }
    p->overrides = f->overrides;
    return ENG_OK;
}

/* -- what is told ------------------------------------------------------------------------------- */

/* The name to open: as many leaves with their shares, or the one device; composed where it has guests. */
static int name_device(eng_lm_fit *f)
{
    char text[ENG_MAX_RANKS * 96];
    size_t at = 0;
    bool plain = f->n_leaves == 1 && !f->composed && f->n_members == 1;
    for (uint32_t i = 0; i < f->n_leaves; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? "+" : "", f->member[i].name);
    for (uint32_t i = 0; i < f->n_leaves && !plain; i++) {
        text[at++] = i ? ':' : '@';
        at += eu_real(text + at, sizeof text - at, 'f', 9, f->best.shares[i]);
    }
    f->device = lm_format(&f->memory, "%s", text);
    return f->device ? ENG_OK : ENG_ERR_NOMEM;
}

/* Guests that came in only for a stage that was given up hold nothing. */
static void forget_guests(eng_lm_fit *f)
{
    while (f->n_members > f->n_leaves && f->best.need[f->n_members - 1].bytes == 0)
        f->n_members--;
}

static int finish(eng_lm_fit *f)
{
    f->placement = f->given;
    for (unsigned s = 0; s < FIT_STAGES; s++)
        if (f->patterns[s])
            f->overrides[f->placement.n_overrides++] = (eng_lm_override){f->patterns[s], f->p.spill};
    forget_guests(f);
    return name_device(f);
}

int eng_lm_fit_create(eng_context *engine, eng_device *device, const char *path, const eng_lm_fit_params *params,
                      eng_lm_fit **fit)
{
    if (!engine || !device || !path || !fit)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_fit_create" ENG_CAUSE "a context, a device, a path and a place for the result are "
                        "needed");
    eng_lm_fit *f = lm_calloc(1, sizeof *f);
    if (!f)
        return ENG_ERR_NOMEM;
    f->engine = engine;
    int status = take_params(f, params);
    if (!status)
        status = keep(f, path);
    if (!status)
        status = read_device(f, device);
    if (!status)
        status = fit_trial_begin(f);
    if (!status)
        status = search(f);
    if (!status)
        status = finish(f);
    fit_trial_end(f);
    if (status) {
        eng_lm_fit_destroy(f);
        return status;
    }
    *fit = f;
    return ENG_OK;
}

void eng_lm_fit_destroy(eng_lm_fit *f)
{
    if (!f)
        return;
    for (unsigned s = 0; s < FIT_STAGES; s++)
        free(f->patterns[s]);
    eu_arena_end(&f->memory);
    free(f);
}

int eng_lm_fit_get_info(const eng_lm_fit *f, eng_lm_fit_info *info)
{
    if (!f || !info)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_fit_get_info" ENG_CAUSE "a fit and an info with its size set are needed");
    eng_lm_fit_info own = {.size = sizeof own, .n_leaves = f->n_leaves, .lacked = f->lacked, .device = f->device,
                           .placement = &f->placement, .n_layers = f->n_layers,
                           .new_shares = memcmp(f->best.shares, f->shares, f->n_leaves * sizeof *f->shares) != 0};
    return lm_give("eng_lm_fit_get_info", &own, sizeof own, info, 2 * sizeof(uint32_t));
}

int eng_lm_fit_get_member(const eng_lm_fit *f, uint32_t index, eng_lm_fit_member *member)
{
    if (!f || !member)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_fit_get_member" ENG_CAUSE "a fit and a member with its size set are needed");
    if (index >= f->n_members)
        return eng_fail(ENG_ERR_NOTFOUND, "the fit has %u members; there is no number %u", f->n_members, index);
    uint64_t room = fit_pool_free(f, index);
    eng_lm_fit_member own = {.size = sizeof own, .guest = index >= f->n_leaves, .name = f->member[index].name,
                             .share = index < f->n_leaves ? f->best.shares[index] : 0, .bytes = f->best.need[index].bytes,
                             .pool_first = fit_speaks(f, index), .pool_bytes = fit_pool_need(f, &f->best, index),
                             .pool_free = room, .pool_reserve = fit_held_back(f, index)};
    return lm_give("eng_lm_fit_get_member", &own, sizeof own, member, 2 * sizeof(uint32_t));
}

int eng_lm_fit_get_move(const eng_lm_fit *f, uint32_t kind, eng_lm_fit_move *move)
{
    if (!f || !move)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_fit_get_move" ENG_CAUSE "a fit and a move with its size set are needed");
    if (kind >= FIT_STAGES)
        return eng_fail(ENG_ERR_NOTFOUND, "%u is none of ENG_LM_MOVED_*", kind);
    eng_lm_fit_move own = {.size = sizeof own, .n_layers = f->layers[kind], .pattern = f->patterns[kind],
                           .device = f->patterns[kind] ? f->p.spill : NULL};
    return lm_give("eng_lm_fit_get_move", &own, sizeof own, move, 2 * sizeof(uint32_t));
}
