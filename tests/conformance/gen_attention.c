/* Cases of attention. */
#include "config.h"

#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { Q, K, V, POS, SEQ, CPOS, CSEQ, MASK, SINKS, TABLE, CLAST };

struct attention {
    uint32_t tk, tv;
    int64_t d, e, kvh, group, t, cells;
    int64_t first;       /* of the cells, in a longer cache                   */
    int64_t run, period; /* of the cells in it; 0: they follow one another    */
    int64_t valid;       /* the plan parameter; -1: none                      */
    bool lse;            /* the second result is wanted                       */
    int64_t window;
    double softcap, bias;
    bool sinks, whole;   /* whole: not causal                                 */
    uint32_t mask;       /* its type; 0: f32 is a mask of type F32 only with use_mask */
    bool use_mask;
    int64_t seqs;        /* 0: no sequence numbers                            */
    bool shared;         /* cells belong to several of them                   */
    int64_t block;       /* 0: no table                                       */
    cf_layout lq, lkv;
    const char *split;
    enum { CLEAN, HIDDEN, FAINT, MASKED } poison; /* HIDDEN: only the first token may see a cell that is not a number;
                                             FAINT: odd tokens see it, with a weight that vanishes in f32;
                                             MASKED: what the mask has for it is no number for even tokens */
    bool steep; /* blocks with a scale of f16: those of cells differ by up to 2^20 */
};
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

/* Blocks of every sequence in no order; some are missing. */
static void table(cf_case *c, const struct attention *x, int64_t per_seq)
{
    cf_operand *t = cf_in(c, TABLE, "table", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(per_seq, x->seqs));
    int64_t n = x->cells / x->block;

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

static void attend(cf_suite *s, struct attention x)
{
    char name[240];
    int64_t heads = x.kvh * x.group, per_seq = x.block ? (x.cells / x.block + x.seqs - 1) / x.seqs : 0;

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

static const uint32_t cache[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_Q8_0,  ENG_TYPE_Q4_0,
                                 ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL};

/* Every type of K with every type of V, one token and several. */
static void pairs(cf_suite *s)
{
    for (size_t i = 0; i < COUNT(cache); i++)
        for (size_t j = 0; j < COUNT(cache); j++) {
            struct attention x = {.tk = cache[i],
                                  .tv = cache[j],
                                  .d = 64,
                                  .e = 64,
                                  .kvh = 2,
                                  .group = 2,
                                  .t = 1,
                                  .cells = 70,
                                  .valid = 61};
            cf_thin(s, i == j ? 1 : i == 1 || j == 1 ? 3 : CF_NOT_QUICK);
            attend(s, x);
            x.t = 5;
            x.valid = -1;
            x.e = s->o.quick ? 64 : 32 * (1 + (int64_t)(i + j) % 4);
            cf_thin(s, i == j ? 2 : CF_NOT_QUICK);
            attend(s, x);
        }
}

static void shapes(cf_suite *s)
{
    static const int64_t sizes[] = {16, 24, 40, 64, 72, 80, 96, 128, 192, 256, 7, 1};
    static const int64_t lengths[] = {1, 3, 31, 113, 257, 600};
    static const int64_t tokens[] = {1, 3, 8, 33};
    int x = 0;

    cf_thin(s, 8);
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t j = 0; j < COUNT(lengths); j++, x++) {
            int64_t d = sizes[i], e = x % 4 == 1 ? 32 : d, t = tokens[x % 4], cells = lengths[j] + (x % 3) * 9;
            uint32_t tk = d % 32 == 0 && x % 2 ? cache[3 + x % 6] : cache[x % 3],
                     tv = e % 32 == 0 && x % 3 == 0 ? cache[3 + x % 6] : cache[(x + 1) % 3];
            attend(s, (struct attention){.tk = tk,
                                         .tv = tv,
                                         .d = d,
                                         .e = e,
                                         .kvh = 1 + x % 4,
                                         .group = 1 + x % 3 * 2,
                                         .t = t > lengths[j] ? 1 : t,
                                         .cells = cells,
                                         .valid = x % 3 ? lengths[j] : -1,
                                         .lse = x % 2,
                                         .lq = (cf_layout)(x % 4),
                                         .lkv = x % 5 == 4   ? CF_SWAP12
                                                : x % 5 == 3 ? CF_OFFSET
                                                             : CF_PLAIN});
        }
}

/* Rows of halves begin at any even address where a head has no multiple of eight channels. */
static void uneven(cf_suite *s)
{
    static const int64_t sizes[] = {17, 20, 28, 31, 33, 44}, tokens[] = {1, 2, 4, 8, 19};
    int x = 0;

    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t j = 0; j < COUNT(tokens); j++, x++)
            attend(s, (struct attention){.tk = cache[x % 4 == 3 ? 0 : 1],
                                         .tv = cache[x % 5 == 4 ? 2 : 1],
                                         .d = sizes[i],
                                         .e = x % 3 ? sizes[i] : sizes[(i + 1) % COUNT(sizes)],
                                         .kvh = 1 + x % 2,
                                         .group = 1 + x % 5,
                                         .t = tokens[j],
                                         .cells = 75,
                                         .valid = x % 3 ? 70 : -1,
                                         .use_mask = x % 4 == 1,
                                         .mask = ENG_TYPE_F16,
                                         .lse = x % 2});
}

static void features(cf_suite *s)
{
    int x = 0;

    cf_thin(s, 3);
    for (int bits = 0; bits < 64; bits++, x++) {
        bool seqs = bits & 8, mask = bits & 16;
        attend(s, (struct attention){.tk = cache[x % 2 ? 1 : 4],
                                     .tv = cache[x % 3 ? 1 : 3],
                                     .d = 64,
                                     .e = 64,
                                     .kvh = 2,
                                     .group = 3,
                                     .t = 1 + x % 6,
                                     .cells = 90,
                                     .valid = x % 4 ? 77 : -1,
                                     .window = bits & 1 ? 16 : 0,
                                     .softcap = bits & 2 ? 10 : 0,
                                     .bias = bits & 4 ? 8 : 0,
                                     .seqs = seqs ? 3 : 0,
                                     .shared = seqs && x % 2,
                                     .use_mask = mask,
                                     .mask = x % 2 ? ENG_TYPE_F16 : ENG_TYPE_F32,
                                     .sinks = bits & 32,
                                     .first = x % 7 == 5 ? 33 : 0,
                                     .lse = x % 3 != 1,
                                     .whole = x % 5 == 0});
    }
    cf_thin(s, 2);
    for (int k = 0; k < 8; k++)
        attend(s, (struct attention){.tk = cache[k % 2 ? 3 : 1],
                                     .tv = cache[k % 4 > 1 ? 4 : 1],
                                     .d = k % 3 ? 64 : 96,
                                     .e = 64,
                                     .kvh = 2,
                                     .group = 2,
                                     .t = k % 2 ? 1 : 7,
                                     .cells = 128,
                                     .valid = k % 4 == 3 ? 20 : -1,
                                     .seqs = 1 + k % 3,
                                     .block = k % 2 ? 8 : 16,
                                     .window = k > 5 ? 10 : 0,
                                     .lse = k % 3 != 2,
                                     .sinks = k == 4});
    cf_thin(s, 1);
    for (int k = 0; k < 8; k++)
        attend(s, (struct attention){.tk = cache[k % 2],
                                     .tv = cache[k / 2 % 2],
                                     .d = 64,
                                     .e = 64,
                                     .kvh = 2,
                                     .group = 2,
                                     .t = 6,
                                     .cells = 90,
                                     .valid = -1,
                                     .use_mask = true,
                                     .mask = ENG_TYPE_F16,
                                     .whole = k % 4 == 2,
                                     .poison = k < 4 ? HIDDEN : FAINT});
    for (int k = 0; k < 6; k++) /* one token and several, of one head and more */
        attend(s, (struct attention){.tk = ENG_TYPE_F16,
                                     .tv = cache[1 + 2 * (k % 2)],
                                     .d = 64,
                                     .e = 64,
                                     .kvh = 1,
                                     .group = k % 3 + 1,
                                     .t = k < 3 ? 1 : 6,
                                     .cells = 40,
                                     .valid = -1,
                                     .use_mask = true,
                                     .mask = k % 2 ? ENG_TYPE_F16 : ENG_TYPE_F32,
                                     .whole = true,
                                     .poison = MASKED});
    attend(s, (struct attention){.tk = ENG_TYPE_F16,
                                 .tv = ENG_TYPE_F16,
                                 .d = 64,
                                 .e = 64,
                                 .kvh = 2,
                                 .group = 2,
                                 .t = 2,
                                 .cells = 40,
                                 .valid = 0});
    attend(s, (struct attention){.tk = ENG_TYPE_F16,
                                 .tv = ENG_TYPE_F16,
                                 .d = 64,
                                 .e = 64,
                                 .kvh = 2,
                                 .group = 2,
                                 .t = 3,
                                 .cells = 40,
                                 .valid = 0,
                                 .sinks = true});
    attend(s, (struct attention){.tk = ENG_TYPE_F32,
                                 .tv = ENG_TYPE_F32,
                                 .d = 32,
                                 .e = 32,
                                 .kvh = 1,
                                 .group = 1,
                                 .t = 1,
                                 .cells = 1,
                                 .valid = 1});
    attend(s, (struct attention){.tk = ENG_TYPE_Q8_0,
                                 .tv = ENG_TYPE_Q4_0,
                                 .d = 128,
                                 .e = 128,
                                 .kvh = 2,
                                 .group = 4,
                                 .t = 1,
                                 .cells = 3000,
                                 .valid = 2901});
    attend(s, (struct attention){.tk = ENG_TYPE_F16, /* a prompt that sees a range of cells, whose scores are capped */
                                 .tv = ENG_TYPE_F16,
                                 .d = 64,
                                 .e = 64,
                                 .kvh = 2,
                                 .group = 2,
                                 .t = 40,
                                 .cells = 150,
                                 .valid = 150,
                                 .softcap = 1});
}

/* Many queries: tiles of them, not all full, that see parts of the cells, or none, or cells that are no numbers. */
typedef struct prompt_head {
    uint32_t k, v;
    int64_t d, e;
} prompt_head;

static void prompt(cf_suite *s, prompt_head head, int k, bool masked, bool steep)
{
    attend(s, (struct attention){.tk = head.k,
                                 .tv = head.v,
                                 .d = head.d,
                                 .e = head.e,
                                 .kvh = 1 + k % 2,
                                 .group = 1 + k / 2 % 4,
                                 .t = k % 5 == 0 ? 80 : 35,
                                 .cells = k % 5 == 4 ? 300 : 90 + k,
                                 .valid = k % 4 == 1 ? 85 : -1,
                                 .window = k % 6 == 2 ? 20 : 0,
                                 .softcap = k % 8 == 3 ? 10 : 0,
                                 .bias = k % 8 == 5 ? 8 : 0,
                                 .seqs = k % 9 == 4 ? 3 : 0,
                                 .shared = k % 18 == 4,
                                 .use_mask = masked,
                                 .mask = k % 2 ? ENG_TYPE_F16 : ENG_TYPE_F32,
                                 .sinks = k % 5 == 2,
                                 .first = k % 11 == 6 ? 33 : 0,
                                 .run = k % 13 == 7 ? 16 : 0,
                                 .period = k % 13 == 7 ? 48 : 0,
                                 .lse = k % 3 == 0,
                                 .whole = k % 10 == 9,
                                 .lq = (cf_layout)(k % 3),
                                 .lkv = k > 27 ? CF_PLAIN : k % 6 == 5 ? CF_OFFSET : k % 6 == 3 ? CF_SWAP12 : CF_PLAIN,
                                 .poison = masked && k < 37 ? k % 2 ? FAINT : HIDDEN : CLEAN,
                                 .steep = steep});
}

static void prompts(cf_suite *s)
{
    static const prompt_head heads[] = {
        {ENG_TYPE_F16, ENG_TYPE_F16, 64, 64},  {ENG_TYPE_F16, ENG_TYPE_F16, 128, 128}, {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 64, 64},
        {ENG_TYPE_F16, ENG_TYPE_F16, 72, 40},  {ENG_TYPE_BF16, ENG_TYPE_BF16, 64, 96}, {ENG_TYPE_F16, ENG_TYPE_Q8_0, 128, 128},
        {ENG_TYPE_F32, ENG_TYPE_F16, 128, 24},
    };

    static const prompt_head wide[] = {
        {ENG_TYPE_F16, ENG_TYPE_F16, 256, 256},  {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 256, 256},  {ENG_TYPE_F16, ENG_TYPE_F16, 192, 128},
        {ENG_TYPE_F16, ENG_TYPE_BF16, 136, 144}, {ENG_TYPE_BF16, ENG_TYPE_F16, 96, 200},
    };

    static const prompt_head coded[] = {
        {ENG_TYPE_Q8_0, ENG_TYPE_Q8_0, 64, 64},   {ENG_TYPE_Q4_0, ENG_TYPE_IQ4_NL, 128, 128}, {ENG_TYPE_IQ4_NL, ENG_TYPE_Q5_0, 64, 96},
        {ENG_TYPE_Q5_0, ENG_TYPE_Q4_0, 256, 160},
    };

    cf_thin(s, 2);
    for (int k = 0; k < 42; k++)
        prompt(s, heads[k % 7], k, k % 7 < 2 && k > 27, false);
    for (int k = 0; k < 40; k++)
        prompt(s, wide[(k + k / 5) % 5], k, (k + k / 5) % 5 == 0 && k > 27, false);
    for (int k = 28; k < 44; k++)
        prompt(s, coded[k % 4], k, k < 36, k % 8 >= 4);
}

static void splits(cf_suite *s)
{
    cf_thin(s, s->composed ? 1 : 4);
    for (int k = 0; k < 12; k++)
        attend(s, (struct attention){.tk = cache[k % 9],
                                     .tv = cache[s->o.quick ? k % 9 : (k * 2 + 1) % 9],
                                     .d = 64,
                                     .e = 64,
                                     .kvh = k % 3 == 0   ? 5
                                            : k % 3 == 1 ? 1
                                                         : 4,
                                     .group = 2,
                                     .t = k % 2 ? 1 : 4,
                                     .cells = 50,
                                     .valid = k % 4 ? 43 : -1,
                                     .sinks = k % 3 == 2,
                                     .seqs = k % 4 == 1 ? 2 : 0,
                                     .shared = k % 8 == 5 || k == 9,
                                     .split = k < 8 ? "kv_head" : "cells"});
}

/* Parts of a longer cache, each as a device would work on it that holds only these cells. */
static void parts(cf_suite *s)
{
    static const struct {
        int64_t first, cells, valid;
    } part[] = {
        {0, 70, 200},   /* the first of several                               */
        {70, 70, 200},  /* from the middle                                    */
        {140, 70, 200}, /* the last, not full                                 */
        {140, 70, 141}, /* one cell                                           */
        {140, 70, 140}, /* valid cells end before it                          */
        {140, 70, 30},
        {140, 0, 200},  /* nothing lies here                                  */
        {140, 0, -1},
        {900, 2600, 3300},
        {900, 2600, -1},
        {2000000, 90, 2000060},
    };

    for (size_t i = 0; i < COUNT(part); i++)
        for (int k = 0; k < 8; k++) {
            bool quick = s->o.quick; /* few programs to build */
            struct attention x = {.tk = cache[quick ? 3 : (i + (size_t)k) % 9],
                                  .tv = cache[quick ? 1 : ((size_t)k * 2 + i) % 9],
                                  .d = 64,
                                  .e = quick || k % 3 ? 64 : 32,
                                  .kvh = 2,
                                  .group = k % 2 ? 3 : 1,
                                  .t = 1 + k * 2 % 7,
                                  .first = part[i].first,
                                  .cells = part[i].cells,
                                  .valid = part[i].valid,
                                  .lse = k != 5,
                                  .window = k % 4 == 1 ? 40 : 0,
                                  .softcap = k == 2 ? 10 : 0,
                                  .bias = k == 3 ? 8 : 0,
                                  .sinks = k == 4 || k == 1,
                                  .seqs = k == 6 && part[i].cells ? 2 : 0,
                                  .shared = k == 6 && part[i].cells && i % 2,
                                  .use_mask = k == 7,
                                  .mask = ENG_TYPE_F16,
                                  .whole = k == 6};
            cf_thin(s, x.cells > 1000 ? 5 : k < 2 ? 1 : 3);
            attend(s, x);
        }
}

/* Runs of cells, one in every period of a longer cache. */
static void runs(cf_suite *s)
{
    static const struct {
        int64_t first, run, period, cells, valid;
    } part[] = {
        {0, 32, 64, 96, 150},    /* the last run begins before the last valid cell */
        {32, 32, 64, 96, 150},   /* and not so                                */
        {32, 32, 64, 96, -1},
        {0, 16, 64, 64, 128},    /* valid cells end between two periods       */
        {48, 16, 64, 64, 48},    /* before the first run                      */
        {48, 16, 64, 64, 49},    /* one cell                                  */
        {48, 16, 64, 64, 64 + 40}, /* between the runs of a period            */
        {21, 43, 64, 129, 171},  /* in the middle of a run, of a period       */
        {5, 7, 13, 77, 100},     /* no two numbers have anything in common    */
        {5, 1, 3, 70, 160},
        {130, 9, 9, 72, 180},    /* no gaps after all                         */
        {70, 11, 17, 40, -1},    /* the last run is not full                  */
        {40, 16, 64, 0, 200},    /* nothing lies here                         */
        {400, 64, 256, 1500, 5000},
        {2000000, 8, 24, 90, 2000200},
    };

    for (size_t i = 0; i < COUNT(part); i++)
        for (int k = 0; k < 8; k++) {
            bool quick = s->o.quick; /* few programs to build */
            struct attention x = {.tk = cache[quick ? 1 : (i + (size_t)k) % 9],
                                  .tv = cache[quick ? 1 : ((size_t)k * 2 + i) % 9],
                                  .d = 64,
                                  .e = quick || k % 3 ? 64 : 32,
                                  .kvh = 1 + k % 2,
                                  .group = k % 2 ? 3 : 2,
                                  .t = 1 + k * 3 % 8,
                                  .first = part[i].first,
                                  .run = part[i].run,
                                  .period = part[i].period,
                                  .cells = part[i].cells,
                                  .valid = part[i].valid,
                                  .lse = k != 5,
                                  .window = k % 4 == 1 ? 40 : 0,
                                  .bias = k == 3 ? 8 : 0,
                                  .sinks = k == 4 || k == 1,
                                  .seqs = k == 6 && part[i].cells ? 2 : 0,
                                  .use_mask = k == 7,
                                  .mask = ENG_TYPE_F16,
                                  .whole = k == 6,
                                  .lkv = k == 2 ? CF_OFFSET : CF_PLAIN};
            cf_thin(s, x.cells > 1000 ? 5 : k < 2 ? 1 : 3);
            attend(s, x);
        }
}

void cf_cases_attention(cf_suite *s)
{
    if (!cf_wanted(s, ENG_OP_ATTENTION))
        return;
    pairs(s);
    shapes(s);
    prompts(s);
    uneven(s);
    features(s);
    parts(s);
    runs(s);
    splits(s);
}
