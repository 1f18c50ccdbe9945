/*
 * A failing program made smaller as long as it still fails: results become inputs of
 * their own, ops that nobody needs go, and so do placements, axes and devices' names.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "tests/reference/ref.h"

typedef struct shrinker {
    pg_program *p, *trial, *swept;
    pg_fails_func fails;
    void *ctx;
    uint32_t tries;
} shrinker;

#define MAX_TRIES 1500

/* -- what is needed -------------------------------------------------------------------- */

static bool writes(const pg_op *o)
{
    const eng_op_info *info = eng_op_get(o->op);
    for (uint32_t i = 0; info && i < o->n_in; i++)
        if (info->in[i].inout)
            return true;
    return false;
}

static bool reads(const pg_op *o, int ref)
{
    for (uint32_t i = 0; o->op != ENG_OP_NONE && i < o->n_in; i++)
        if (o->in[i] == ref)
            return true;
    return false;
}

/* Ops whose results nobody reads, but for the one that stores them for the oracle. */
static void sweep(pg_program *p)
{
    for (uint32_t k = p->n_ops; k-- > 0;) {
        pg_op *o = &p->ops[k];
        uint32_t store = 0;
        bool needed = o->op == ENG_OP_NONE || (writes(o) && !o->for_tap);
        for (uint32_t j = k + 1; j < p->n_ops; j++) {
            bool reader = reads(&p->ops[j], (int)k) || reads(&p->ops[j], PG_SECOND + (int)k);
            if (reader && p->ops[j].for_tap && p->ops[j].in[1] == (int)k)
                store = j;
            else
                needed |= reader;
        }
        if (needed || o->for_tap)
            continue;
        if (store)
            p->ops[store].op = ENG_OP_NONE;
        o->op = ENG_OP_NONE;
    }
}

/* -- steps -------------------------------------------------------------------------------- */

/* The trial is kept if it still fails: without what nobody reads, or with it, for a
 * result that nobody reads may be what cannot be had. */
static bool attempt(shrinker *s)
{
    if (s->tries >= MAX_TRIES)
        return false;
    s->tries++;
    *s->swept = *s->trial;
    sweep(s->swept);
    if (s->fails(s->ctx, s->swept))
        *s->p = *s->swept;
    else if (pg_live_ops(s->swept) < pg_live_ops(s->trial) && s->fails(s->ctx, s->trial))
        *s->p = *s->trial;
    else
        return false;
    return true;
}

static void begin(shrinker *s)
{
    *s->trial = *s->p;
}

/* An input of the result's shape in the place of a result. */
static bool replace(pg_program *p, uint32_t k, int r)
{
    const pg_op *o = &p->ops[k];
    int from = r ? PG_SECOND + (int)k : (int)k, to = -2 - (int)p->n_tensors;
    bool used = false;

    for (uint32_t j = k + 1; j < p->n_ops; j++)
        used |= reads(&p->ops[j], from) && !p->ops[j].for_tap;
    if (!used || o->out_type[r] == ENG_TYPE_LIMIT)
        return true;
    if (p->n_tensors == PG_MAX_TENSORS)
        return false;
    pg_tensor *t = &p->tensors[p->n_tensors++];
    memset(t, 0, sizeof *t);
    t->type = o->out_type[r];
    t->use = ENG_USE_INPUT;
    t->rank = ENG_MAX_RANK;
    memcpy(t->ne, o->out_ne[r], sizeof t->ne);
    t->scale = 1;
    t->below = 3;
    t->seed = p->seed + k;
    strcpy(t->name, "cut");
    for (uint32_t j = k + 1; j < p->n_ops; j++)
        for (uint32_t i = 0; i < p->ops[j].n_in && !p->ops[j].for_tap; i++)
            if (p->ops[j].in[i] == from)
                p->ops[j].in[i] = to;
    return true;
}

static bool remove_op(pg_program *p, uint32_t k)
{
    pg_op *o = &p->ops[k];
    if (o->op == ENG_OP_NONE || o->for_tap)
        return true;
    for (int r = 0; r < 2; r++)
        if (!replace(p, k, r))
            return false;
    for (uint32_t j = k + 1; j < p->n_ops; j++)
        if (p->ops[j].for_tap && p->ops[j].in[1] == (int)k)
            p->ops[j].op = ENG_OP_NONE;
    o->op = ENG_OP_NONE;
    return true;
}

/* Runs of ops, the latest first, in ever smaller pieces. */
static bool fewer_ops(shrinker *s)
{
    bool any = false;
    for (uint32_t piece = s->p->n_ops; piece >= 1; piece /= 2)
        for (uint32_t end = s->p->n_ops; end > 0; end = end > piece ? end - piece : 0) {
            uint32_t live = pg_live_ops(s->p), first = end > piece ? end - piece : 0;
            bool good = true, some = false;
            begin(s);
            for (uint32_t k = end; k-- > first && good;) {
                some |= s->trial->ops[k].op != ENG_OP_NONE && !s->trial->ops[k].for_tap;
                good = remove_op(s->trial, k);
            }
            if (good && some && attempt(s))
                any |= pg_live_ops(s->p) < live;
        }
    return any;
}

/* An op's first operand in its place: chains of views and functions get shorter. */
static bool shorter_chains(shrinker *s)
{
    bool any = false;
    for (uint32_t k = 0; k < s->p->n_ops; k++) {
        const pg_op *o = &s->p->ops[k];
        int x = o->in[0];
        bool same = o->op != ENG_OP_NONE && !writes(o) && x >= 0 && x < PG_SECOND && !o->for_tap &&
                    s->p->ops[x].out_type[0] == o->out_type[0] &&
                    memcmp(s->p->ops[x].out_ne[0], o->out_ne[0], sizeof o->out_ne[0]) == 0;
        if (!same)
            continue;
        begin(s);
        for (uint32_t j = k + 1; j < s->trial->n_ops; j++)
            for (uint32_t i = 0; i < s->trial->ops[j].n_in; i++)
                if (s->trial->ops[j].in[i] == (int)k)
                    s->trial->ops[j].in[i] = x;
        s->trial->ops[k].op = ENG_OP_NONE;
        any |= attempt(s);
    }
    return any;
}

static bool has_axes(const pg_dim *dims)
{
    for (int d = 0; d < ENG_MAX_RANK; d++)
        if (dims[d].n_segs)
            return true;
    return false;
}

static void plainer_tensors(shrinker *s)
{
    for (uint32_t i = 0; i < s->p->n_tensors; i++) {
        if (s->p->tensors[i].forced) {
            begin(s);
            s->trial->tensors[i].forced = 0;
            attempt(s);
        }
        if (s->p->tensors[i].store) {
            begin(s);
            s->trial->tensors[i].store = 0;
            attempt(s);
        }
        if (s->p->tensors[i].place.kind) {
            begin(s);
            s->trial->tensors[i].place.kind = 0;
            attempt(s);
        }
        for (int d = 0; d < ENG_MAX_RANK && has_axes(s->p->tensors[i].dims); d++) {
            if (!s->p->tensors[i].dims[d].n_segs)
                continue;
            begin(s);
            memset(&s->trial->tensors[i].dims[d], 0, sizeof(pg_dim));
            attempt(s);
        }
    }
}

static void plainer_values(shrinker *s)
{
    for (uint32_t k = 0; k < s->p->n_ops; k++) {
        if (s->p->ops[k].place.kind) {
            begin(s);
            s->trial->ops[k].place.kind = 0;
            attempt(s);
        }
        if (s->p->ops[k].named) {
            begin(s);
            s->trial->ops[k].named = false;
            attempt(s);
        }
    }
    if (s->p->twice) {
        begin(s);
        s->trial->twice = false;
        attempt(s);
    }
    if (s->p->runs > 1) {
        begin(s);
        s->trial->runs = 1;
        attempt(s);
    }
}

/* Unused tensors go last: the others keep their numbers until then. */
static void drop_tensors(shrinker *s)
{
    int *number = calloc(PG_MAX_TENSORS, sizeof *number);
    uint32_t n = 0;

    begin(s);
    for (uint32_t i = 0; number && i < s->trial->n_tensors; i++) {
        bool used = false;
        for (uint32_t k = 0; k < s->trial->n_ops; k++)
            used |= reads(&s->trial->ops[k], -2 - (int)i);
        number[i] = (int)n;
        if (!used)
            continue;
        s->trial->tensors[n] = s->trial->tensors[i];
        snprintf(s->trial->tensors[n].name, sizeof s->trial->tensors[n].name, "t%u", (unsigned)n);
        n++;
    }
    for (uint32_t k = 0; number && k < s->trial->n_ops; k++) {
        for (uint32_t j = 0; j < s->trial->ops[k].n_in; j++)
            if (s->trial->ops[k].op != ENG_OP_NONE && s->trial->ops[k].in[j] < -1)
                s->trial->ops[k].in[j] = -2 - number[-2 - s->trial->ops[k].in[j]];
        if (s->trial->ops[k].op != ENG_OP_NONE && s->trial->ops[k].tap >= 0)
            s->trial->ops[k].tap = number[s->trial->ops[k].tap];
    }
    if (number)
        s->trial->n_tensors = n;
    free(number);
    s->tries = 0;
    attempt(s);
}

void pg_shrink(pg_program *p, pg_fails_func fails, void *ctx)
{
    shrinker s = {.p = p, .trial = malloc(sizeof *p), .swept = malloc(sizeof *p), .fails = fails, .ctx = ctx};

    for (int round = 0; s.trial && s.swept && round < 4; round++) {
        bool less = fewer_ops(&s);
        drop_tensors(&s); /* the axes of what is gone may still have mattered: tried early */
        if (!shorter_chains(&s) && !less)
            break;
    }
    if (s.trial && s.swept) {
        plainer_tensors(&s);
        plainer_values(&s);
        fewer_ops(&s);
        drop_tensors(&s);
    }
    free(s.trial);
    free(s.swept);
}
