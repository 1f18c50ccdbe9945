/* A case of attention, from what distinguishes it. */
#include "config.h"

#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { Q, K, V, POS, SEQ, CPOS, CSEQ, MASK, SINKS, TABLE, CLAST };

enum { POISONED = 5 }; /* cell */

static void name_of(const struct attention *x, char *text, size_t n)
{
    snprintf(text, n,
             "k=%s v=%s/%s d=%lld e=%lld kvh=%lld g=%lld t=%lld cells=%lld valid=%lld%s%s%s%s%s%s seqs=%lld block=%lld "
             "win=%lld q/%s%s%s first=%lld",
             ref_type_name(x->tk), ref_type_name(x->tv), cf_layout_name(x->lkv), (long long)x->d, (long long)x->e,
             (long long)x->kvh, (long long)x->group, (long long)x->t, (long long)x->cells, (long long)x->valid,
             x->softcap > 0 ? " softcap" : "", x->bias > 0 ? " alibi" : "", x->sinks ? " sinks" : "",
             x->whole ? " whole" : "", x->use_mask ? " mask=" : "", x->use_mask ? ref_type_name(x->mask) : "",
             (long long)x->seqs, (long long)x->block, (long long)x->window, cf_layout_name(x->lq),
             x->split ? " split=" : "", x->split ? x->split : "",
             (long long)x->first);
    if (x->period)
        snprintf(text + strlen(text), n - strlen(text), "+%lld/%lld", (long long)x->run, (long long)x->period);
    if (x->lse)
        snprintf(text + strlen(text), n - strlen(text), " lse");
    if (x->shared)
        snprintf(text + strlen(text), n - strlen(text), " shared");
    if (x->poison)
        snprintf(text + strlen(text), n - strlen(text), x->poison == HIDDEN ? " poisoned" : x->poison == FAINT ? " faint" : " masked");
    if (x->steep)
        snprintf(text + strlen(text), n - strlen(text), " steep");
    if (x->spike)
        snprintf(text + strlen(text), n - strlen(text), " spike");
}

/* Cells of the longer cache up to the last one here. */
static int64_t span_of(const struct attention *x)
{
    return x->first + (x->period ? x->cells / x->run * x->period + x->cells % x->run : x->cells);
}

/* Tokens at the end of the cells; the second is padding, and now and then the
 * first is before everything and sees nothing. */
static void positions(cf_case *c, const struct attention *x, int64_t visible)
{
    cf_operand *pos = cf_in(c, POS, "pos", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x->t));

    for (int64_t i = 0; i < x->t; i++) {
        int64_t p = visible - x->t + i;
        if (cf_below(c, 3) == 0)
            p = cf_below(c, visible + 1);
        cf_set(pos, i, (double)(p < 0 ? 0 : p));
        if (i == 1 && cf_below(c, 2))
            cf_set(pos, i, -1);
    }
}

static void sequences(cf_case *c, const struct attention *x)
{
    cf_operand *seq = cf_in(c, SEQ, "seq", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x->t));

    for (int64_t i = 0; i < x->t; i++)
        cf_set(seq, i, (double)cf_below(c, x->seqs));
    if (x->block)
        return;
    cf_operand *cpos = cf_in(c, CPOS, "cpos", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x->cells));
    cf_operand *cseq = cf_in(c, CSEQ, "cseq", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x->cells));
    cf_operand *clast = NULL;
    if (x->shared)
        clast = cf_in(c, CLAST, "clast", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x->cells));
    for (int64_t j = 0; j < x->cells; j++) { /* cells in no order; some belong to nobody */
        int64_t first = cf_below(c, x->seqs + 1) - 1;
        cf_set(cpos, j, (double)(x->first + cf_below(c, span_of(x) - x->first)));
        cf_set(cseq, j, (double)first);
        if (clast)
            cf_set(clast, j, (double)(first < 0 ? first : first + cf_below(c, x->seqs - first)));
    }
}

/* The last may not be a whole one. */
static int64_t blocks_of(const struct attention *x)
{
    return (x->cells + x->block - 1) / x->block;
}

/* Blocks of every sequence in no order; some are missing. */
static void table(cf_case *c, const struct attention *x, int64_t per_seq)
{
    cf_operand *t = cf_in(c, TABLE, "table", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(per_seq, x->seqs));
    int64_t n = blocks_of(x);

    for (int64_t i = 0; i < per_seq * x->seqs; i++)
        cf_set(t, i, cf_below(c, 6) ? (double)((i * 7 + 3) % n) : -1);
}

/* Gives all elements of a cell a value, or all its blocks, which begin with a scale of f16, that scale. */
static void set_cell(cf_operand *o, int64_t row, int64_t elements, double value, uint16_t scale)
{
    const uint64_t bytes = ref_block_bytes(o->type);

    if (o->type == ENG_TYPE_F32 || o->type == ENG_TYPE_F16 || o->type == ENG_TYPE_BF16)
        for (int64_t i = 0; i < elements; i++)
            cf_set(o, row * elements + i, value);
    else if (o->bytes)
        for (int64_t b = row * elements / 32; b < (row + 1) * elements / 32; b++)
            memcpy(o->bytes + (uint64_t)b * bytes, &scale, sizeof scale);
}

static void steepen(const struct attention *x, cf_operand *k, cf_operand *v)
{
    for (int64_t i = 0; i < x->kvh * x->cells; i++) {
        const uint16_t fraction = (uint16_t)(i * 131 % 1024 | (i % 3 ? 0 : 0x8000));
        set_cell(k, i, x->d, 0.5, (uint16_t)((i % 5 + 5) << 10 | fraction));
        set_cell(v, i, x->e, 0.5, (uint16_t)((i * 8 % 21 + 5) << 10 | fraction));
    }
}

/* Element 3 of each head of queries, and the bytes of keys that meet it; cell 1 of V, whose bytes that the others meet are 0 there. */
static void spike(const struct attention *x, int64_t heads, cf_operand *q, cf_operand *k, cf_operand *v)
{
    enum { AT = 3, BYTES = 34, CODES = 2, CELL = 1 };
    for (int64_t i = 0; i < heads * x->t; i++)
        cf_set(q, i * x->d + AT, 1e7);
    for (int64_t i = 0; k->bytes && i < x->kvh * x->cells; i++)
        k->bytes[i * (x->d / 32) * BYTES + CODES + AT] = 0;
    for (int64_t h = 0; v->bytes && h < x->kvh; h++) {
        set_cell(v, h * x->cells + CELL, x->e, 0, 0x7800);
        v->bytes[(h * x->cells + CELL) * (x->e / 32) * BYTES + CODES + AT] = 0;
    }
}

/* Zero times NaN would reach the tokens that do not see it, and must reach those that do. */
static void poison(const struct attention *x, cf_operand *k, cf_operand *v, cf_operand *mask)
{
    if (x->poison == MASKED) {
        for (int64_t t = 0; t < x->t; t += 2)
            cf_set(mask, t * x->cells + POISONED, NAN);
        return;
    }
    for (int64_t h = 0; h < x->kvh; h++) {
        if (x->poison == HIDDEN)
            set_cell(k, h * x->cells + POISONED, x->d, NAN, 0x7e00);
        set_cell(v, h * x->cells + POISONED, x->e, x->poison == HIDDEN ? INFINITY : NAN, x->poison == HIDDEN ? 0x7c00 : 0x7e00);
    }
    for (int64_t t = x->poison == HIDDEN; t < x->t; t++)
        cf_set(mask, t * x->cells + POISONED, x->poison == FAINT && t % 2 ? -200 : -INFINITY);
}

void cf_attend(cf_suite *s, struct attention x)
{
    char name[240];
    int64_t heads = x.kvh * x.group, per_seq = x.block ? (blocks_of(&x) + x.seqs - 1) / x.seqs : 0;

    name_of(&x, name, sizeof name);
    cf_case *c = cf_begin(s, ENG_OP_ATTENTION, "%s", name);
    if (!c)
        return;
    c->terms = (double)(x.d > x.cells ? x.d : x.cells);
    c->split = x.split;
    c->ip[ENG_ATTN_KV_PARAM] = x.valid < 0 ? -1 : 1;
    c->ip[ENG_ATTN_WINDOW] = x.window;
    c->ip[ENG_ATTN_CAUSAL] = !x.whole;
    c->ip[ENG_ATTN_BLOCK] = x.block;
    c->ip[ENG_ATTN_FIRST] = x.first;
    c->ip[ENG_ATTN_LSE] = x.lse;
    c->ip[ENG_ATTN_RUN] = x.run;
    c->ip[ENG_ATTN_PERIOD] = x.period;
    c->fp[ENG_ATTN_SCALE] = 1 / sqrt((double)x.d);
    c->fp[ENG_ATTN_SOFTCAP] = x.softcap;
    c->fp[ENG_ATTN_MAX_BIAS] = x.bias;
    c->n_params = 2;
    c->params[0] = 12345;
    c->params[1] = x.valid;
    cf_operand *q = cf_in(c, Q, "q", ENG_TYPE_F32, ENG_USE_INPUT, x.lq, CF_SHAPE(x.d, heads, x.t));
    cf_operand *k = cf_in(c, K, "k", x.tk, ENG_USE_CACHE, x.lkv, CF_SHAPE(x.d, x.cells, x.kvh));
    cf_operand *v = cf_in(c, V, "v", x.tv, ENG_USE_CACHE, x.lkv, CF_SHAPE(x.e, x.cells, x.kvh));
    cf_fill(c, q, -2, 2);
    if (x.steep)
        steepen(&x, k, v);
    if (x.spike)
        spike(&x, heads, q, k, v);
    positions(c, &x, x.block ? per_seq * x.block : x.valid < 0 ? span_of(&x) : x.valid);
    if (x.seqs)
        sequences(c, &x);
    if (x.block)
        table(c, &x, per_seq);
    if (x.use_mask) {
        cf_operand *m = cf_in(c, MASK, "mask", x.mask, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.cells, x.t));
        for (int64_t i = 0; i < cf_elements(m); i++)
            cf_set(m, i, i / x.cells == 2 || cf_below(c, 4) == 0 ? -INFINITY : cf_uniform(c, -3, 0));
        if (x.poison)
            poison(&x, k, v, m);
    }
    if (x.sinks)
        cf_in(c, SINKS, "sinks", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN, CF_SHAPE(heads));
    if (x.split) {
        cf_axis(c, q, 1, "kv_head:%lld *:%lld", (long long)x.kvh, (long long)x.group);
        cf_axis(c, k, 2, "kv_head:%lld", (long long)x.kvh);
        cf_axis(c, v, 2, "kv_head:%lld", (long long)x.kvh);
        cf_axis(c, k, 1, "cells:%lld", (long long)x.cells);
        cf_axis(c, v, 1, "cells:%lld", (long long)x.cells);
        if (x.sinks)
            cf_axis(c, &c->in[SINKS], 0, "kv_head:%lld *:%lld", (long long)x.kvh, (long long)x.group);
    }
    cf_run(c);
}
