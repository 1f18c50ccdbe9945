/* Cases of gated_delta_net, ssm_scan and ssm_conv. */
#include "config.h"

#include "suite.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define MAX_SEQ 6

struct gdn {
    int64_t s, hk, rep, n_seq, slots;
    int64_t tokens[MAX_SEQ];
    bool channel, grouped;
    double gate; /* gates lie in [-gate, 0) */
    cf_layout layout;
    const char *split;
};

/* Sequences' sources and destinations: rows all different, but a destination may be its own sequence's source, and
 * every third sequence may begin where the one before it does, if that writes elsewhere; some -1. */
static int64_t rows(cf_case *c, cf_operand *src, cf_operand *dst, int64_t n, int64_t slots)
{
    int64_t next = 1;

    for (int64_t b = 0, last = -1; b < n; b++) {
        bool none = cf_below(c, 4) == 0, own = cf_below(c, 3) == 0, alike = last >= 0 && b % 3 == 2;
        int64_t from = alike ? last : next++;
        own &= !alike && (b % 3 != 1 || b + 1 == n);
        last = none || own ? -1 : from;
        cf_set(src, b, none ? -1 : (double)from);
        for (int64_t j = 0; j < slots; j++) {
            bool skip = cf_below(c, 5) == 0;
            int64_t to = j == slots - 1 && own ? from : next++;
            cf_set(dst, b * dst->ne[0] + j, skip ? -1 : (double)to);
        }
        for (int64_t j = slots; j < dst->ne[0]; j++)
            cf_set(dst, b * dst->ne[0] + j, (double)next++); /* beyond the slots: must stay */
    }
    return next + 1;
}

static int64_t ranges(cf_operand *cu, const int64_t *tokens, int64_t n)
{
    int64_t at = 0;

    for (int64_t b = 0; b <= n; b++) {
        cf_set(cu, b, (double)at);
        at += b < n ? tokens[b] : 0;
    }
    return at;
}

/* Rows of unit length, as the op expects keys and queries. */
static void normalise(cf_operand *o)
{
    float *x = (float *)(void *)o->bytes;

    for (int64_t r = 0; x && o->ne[0] > 0 && r < cf_elements(o) / o->ne[0]; r++) {
        double sum = 1e-12;
        for (int64_t i = 0; i < o->ne[0]; i++)
            sum += (double)x[r * o->ne[0] + i] * x[r * o->ne[0] + i];
        for (int64_t i = 0; i < o->ne[0]; i++)
            x[r * o->ne[0] + i] = (float)(x[r * o->ne[0] + i] / sqrt(sum));
    }
}

static void delta(cf_suite *s, struct gdn x)
{
    int64_t t = 0, h = x.hk * x.rep;

    for (int64_t b = 0; b < x.n_seq; b++)
        t += x.tokens[b];
    cf_case *c = cf_begin(s, ENG_OP_GATED_DELTA_NET,
                          "s=%lld hk=%lld rep=%lld t=%lld seqs=%lld(%lld,%lld..) slots=%lld %s %s gate=-%g %s%s%s",
                          (long long)x.s, (long long)x.hk, (long long)x.rep, (long long)t, (long long)x.n_seq,
                          (long long)x.tokens[0], (long long)x.tokens[1], (long long)x.slots,
                          x.channel ? "channel" : "scalar", x.grouped ? "grouped" : "tiled", x.gate,
                          cf_layout_name(x.layout), x.split ? " split=" : "", x.split ? x.split : "");
    if (!c)
        return;
    c->terms = (double)x.s;
    c->ip[ENG_GDN_GROUPED] = x.grouped;
    c->ip[ENG_GDN_SLOTS] = x.slots;
    c->split = x.split;
    int64_t padded = t + (x.n_seq == 0 || cf_below(c, 2) ? 3 : 0); /* tokens that belong to no sequence */
    cf_operand *q = cf_in(c, 0, "q", ENG_TYPE_F32, ENG_USE_INPUT, x.layout, CF_SHAPE(x.s, x.hk, padded));
    cf_operand *k = cf_in(c, 1, "k", ENG_TYPE_F32, ENG_USE_INPUT, x.layout == CF_SWAP12 ? CF_OFFSET : x.layout,
                          CF_SHAPE(x.s, x.hk, padded));
    cf_operand *v = cf_in(c, 2, "v", ENG_TYPE_F32, ENG_USE_INPUT, x.layout, CF_SHAPE(x.s, h, padded));
    cf_operand *g = cf_in(c, 3, "g", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.channel ? x.s : 1, h, padded));
    cf_operand *beta = cf_in(c, 4, "beta", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(h, padded));
    cf_operand *src = cf_in(c, 6, "src", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.n_seq));
    cf_operand *dst = cf_in(c, 7, "dst", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.slots + (x.s & 1), x.n_seq));
    ranges(cf_in(c, 8, "cu", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.n_seq + 1)), x.tokens, x.n_seq);
    int64_t pool = rows(c, src, dst, x.n_seq, x.slots);
    cf_operand *state = cf_in(c, 5, "state", ENG_TYPE_F32, ENG_USE_STATE, CF_PLAIN, CF_SHAPE(x.s, x.s, h, pool));
    state->inout = true;
    normalise(q);
    normalise(k);
    cf_fill(c, v, -0.3, 5);
    cf_fill(c, g, -x.gate, -1e-4 * x.gate);
    cf_fill(c, beta, 0, 1);
    if (x.split) {
        const char *heads = x.grouped ? "k_head:%lld *:%lld" : "*:%lld k_head:%lld";
        long long a = x.grouped ? x.hk : x.rep, b = x.grouped ? x.rep : x.hk;
        cf_axis(c, q, 1, "k_head:%lld", (long long)x.hk);
        cf_axis(c, k, 1, "k_head:%lld", (long long)x.hk);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        cf_axis(c, v, 1, heads, a, b);
        cf_axis(c, g, 1, heads, a, b);
        cf_axis(c, beta, 0, heads, a, b);
        cf_axis(c, state, 2, heads, a, b);
#pragma GCC diagnostic pop
    }
    cf_run(c);
}

static void cases_delta(cf_suite *s)
{
    static const double gates[] = {0.1, 1, 20};
    static const int64_t sizes[] = {16, 20, 24, 32, 64, 80, 96, 128, 192, 256, 1, 5, 17, 100};
    static const int64_t lengths[] = {1, 2, 4, 7, 33, 64, 65, 100, 127, 200}, chunked[] = {5, 16, 100, 128, 192, 256};
    int x = 0;

    cf_thin(s, 3); /* every head size with every gate */
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t g = 0; g < COUNT(gates); g++)
            for (int channel = 0; channel < 2; channel++, x++) {
                int64_t slots = 1 + x % 4, big = sizes[i] > 100;
                delta(s, (struct gdn){sizes[i],
                                      1 + x % 2,
                                      1 + x % 3,
                                      1 + x % 2,
                                      slots,
                                      {big ? 5 : 18, 3},
                                      channel,
                                      x & 1,
                                      gates[g],
                                      (cf_layout)(x % 4),
                                      NULL});
            }
    cf_thin(s, 2); /* lengths around the sizes of chunks */
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (size_t g = 0; g < COUNT(gates); g++, x++)
            delta(s, (struct gdn){
                         64, 2, 2, 1, 1 + x % 3, {lengths[i]}, (x & 1) != 0, (x & 2) != 0, gates[g], CF_PLAIN, NULL});
    cf_thin(s, 2); /* head sizes in chunks, of several sequences, one of them short */
    for (size_t i = 0; i < COUNT(chunked); i++)
        for (int k = 0; k < 4; k++, x++)
            delta(s, (struct gdn){chunked[i],
                                  1,
                                  1 + k / 2,
                                  3,
                                  k < 3 ? 1 + k : 20,
                                  {k < 2 ? 37 : 50, 1 + 4 * k, 20},
                                  k & 1,
                                  false,
                                  gates[k % 3],
                                  CF_PLAIN,
                                  NULL});
    for (int k = 0; k < 4; k++) /* so many heads that a device may do several at once, some of which share keys */
        delta(s, (struct gdn){
                     k < 2 ? 32 : 128, 4, 2 + k / 2, 2, 1 + k, {40, 70}, false, (k & 1) != 0, gates[k % 3], CF_PLAIN, NULL});
    cf_thin(s, 2); /* K below, at and above the number of tokens; empty sequences */
    for (int64_t slots = 1; slots <= 8; slots++)
        for (int k = 0; k < 3; k++, x++)
            delta(s, (struct gdn){32,
                                  2,
                                  1 + k,
                                  4,
                                  slots,
                                  {slots, slots - 1, 0, slots + 1 + k},
                                  k == 1,
                                  k == 2,
                                  gates[k],
                                  CF_PLAIN,
                                  NULL});
    cf_thin(s, 1);
    delta(s, (struct gdn){24, 3, 2, 6, 3, {0, 5, 1, 0, 2, 9}, true, true, 1, CF_OFFSET, NULL});
    delta(s, (struct gdn){16, 2, 2, 2, 2, {0, 0}, false, false, 1, CF_PLAIN, NULL});
    delta(s, (struct gdn){16, 2, 2, 0, 2, {0, 0}, false, false, 1, CF_PLAIN, NULL});
    delta(s, (struct gdn){40, 2, 2, 1, 0, {6}, false, false, 1, CF_PLAIN, NULL});
    for (int k = 0; k < 4; k++) /* both orders of heads, as many of a key as keys, and not */
        delta(s, (struct gdn){
                     8, k < 2 ? 2 : 5, k < 2 ? 2 : 3, 2, 2, {4, 3}, k >= 2, (k & 1) != 0, 1,
                     k ? CF_PLAIN : CF_SWAP12, NULL});
    for (int k = 0; k < 4; k++)
        delta(s,
              (struct gdn){
                  k & 1 ? 24 : 64, k < 2 ? 3 : 8, k < 2 ? 2 : 4, 2, 3, {9, 2}, k == 1, k & 1, 0.5, CF_PLAIN, "k_head"});
}

static void conv(cf_suite *s, int64_t d, int64_t h, const int64_t *tokens, int64_t n_seq, int64_t slots,
                 cf_layout layout, const char *split)
{
    int64_t t = 0;

    for (int64_t b = 0; b < n_seq; b++)
        t += tokens[b];
    cf_case *c = cf_begin(s, ENG_OP_SSM_CONV, "taps=%lld channels=%lld t=%lld seqs=%lld(%lld..) slots=%lld %s%s%s",
                          (long long)d, (long long)h, (long long)t, (long long)n_seq, (long long)tokens[0],
                          (long long)slots, cf_layout_name(layout), split ? " split=" : "", split ? split : "");
    if (!c)
        return;
    c->terms = (double)d;
    c->ip[ENG_CONV_SLOTS] = slots;
    c->split = split;
    cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layout, CF_SHAPE(h, t + (n_seq ? cf_below(c, 3) : 3)));
    cf_operand *w = cf_in(c, 1, "w", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN, CF_SHAPE(d, h));
    cf_operand *src = cf_in(c, 3, "src", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(n_seq));
    cf_operand *dst = cf_in(c, 4, "dst", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(slots + (h & 1), n_seq));
    ranges(cf_in(c, 5, "cu", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(n_seq + 1)), tokens, n_seq);
    int64_t pool = rows(c, src, dst, n_seq, slots);
    cf_operand *state = cf_in(c, 2, "state", ENG_TYPE_F32, ENG_USE_STATE, CF_PLAIN, CF_SHAPE(d - 1, h, pool));
    state->inout = true;
    if (split) {
        long long q = h / 4;
        cf_axis(c, x, 0, "k_head:%lld | *:2 k_head:%lld | k_head:%lld", q, q, (long long)h - 3 * q);
        cf_axis(c, w, 1, "k_head:%lld | *:2 k_head:%lld | k_head:%lld", q, q, (long long)h - 3 * q);
        cf_axis(c, state, 1, "k_head:%lld | *:2 k_head:%lld | k_head:%lld", q, q, (long long)h - 3 * q);
    }
    cf_run(c);
}

static void cases_conv(cf_suite *s)
{
    static const int64_t taps[] = {4, 3, 2, 9}, channels[] = {64, 33, 1, 515};
    static const int64_t tokens[][4] = {{1, 1, 1, 1}, {5, 2, 0, 3}, {40, 1, 9, 2}, {3, 0, 0, 70}};
    int x = 0;

    cf_thin(s, 2);
    for (size_t d = 0; d < COUNT(taps); d++)
        for (size_t h = 0; h < COUNT(channels); h++)
            for (size_t k = 0; k < COUNT(tokens); k++, x++)
                conv(s, taps[d], channels[h], tokens[k], 1 + x % 4, 1 + x % 8, x % 3 ? CF_PLAIN : CF_INNER, NULL);
    cf_thin(s, 1);
    conv(s, 4, 64, (const int64_t[4]){0}, 0, 2, CF_PLAIN, NULL);
    conv(s, 4, 64, tokens[1], 4, 3, CF_PLAIN, "k_head");
    conv(s, 4, 20, tokens[2], 3, 2, CF_PLAIN, "k_head");
    conv(s, 4, 528, tokens[1], 4, 3, CF_PLAIN, NULL); /* whole vectors of channels, and more than a work-item does */
}

struct scan {
    int64_t n, p, groups, rep, n_seq, slots;
    int64_t tokens[MAX_SEQ];
    bool each; /* a rate for each state */
    double decay; /* dt a lies in [-decay, 0) */
    cf_layout layout;
    const char *split;
};

static void scan(cf_suite *s, struct scan x)
{
    int64_t t = 0, h = x.groups * x.rep;

    for (int64_t b = 0; b < x.n_seq; b++)
        t += x.tokens[b];
    cf_case *c = cf_begin(s, ENG_OP_SSM_SCAN,
                          "n=%lld p=%lld groups=%lld rep=%lld t=%lld seqs=%lld(%lld,%lld..) slots=%lld %s decay=-%g %s%s%s",
                          (long long)x.n, (long long)x.p, (long long)x.groups, (long long)x.rep, (long long)t,
                          (long long)x.n_seq, (long long)x.tokens[0], (long long)x.tokens[1], (long long)x.slots,
                          x.each ? "each" : "head", x.decay, cf_layout_name(x.layout), x.split ? " split=" : "",
                          x.split ? x.split : "");
    if (!c)
        return;
    c->terms = (double)x.n;
    c->ip[ENG_SCAN_SLOTS] = x.slots;
    c->split = x.split;
    int64_t padded = t + (x.n_seq == 0 || cf_below(c, 2) ? 3 : 0); /* tokens that belong to no sequence */
    cf_operand *in = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, x.layout, CF_SHAPE(x.p, h, padded));
    cf_operand *dt = cf_in(c, 1, "dt", ENG_TYPE_F32, ENG_USE_INPUT, x.layout == CF_SWAP12 ? CF_PLAIN : x.layout,
                           CF_SHAPE(h, padded));
    cf_operand *a = cf_in(c, 2, "a", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN, CF_SHAPE(x.each ? x.n : 1, h));
    cf_operand *b = cf_in(c, 3, "b", ENG_TYPE_F32, ENG_USE_INPUT, x.layout, CF_SHAPE(x.n, x.groups, padded));
    cf_operand *read = cf_in(c, 4, "c", ENG_TYPE_F32, ENG_USE_INPUT, x.layout == CF_SWAP12 ? CF_OFFSET : x.layout,
                             CF_SHAPE(x.n, x.groups, padded));
    cf_operand *src = cf_in(c, 6, "src", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.n_seq));
    cf_operand *dst = cf_in(c, 7, "dst", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.slots + (x.n & 1), x.n_seq));
    ranges(cf_in(c, 8, "cu", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.n_seq + 1)), x.tokens, x.n_seq);
    int64_t pool = rows(c, src, dst, x.n_seq, x.slots);
    cf_operand *state = cf_in(c, 5, "state", ENG_TYPE_F32, ENG_USE_STATE, CF_PLAIN, CF_SHAPE(x.n, x.p, h, pool));
    state->inout = true;
    cf_fill(c, in, -0.3, 5);
    cf_fill(c, dt, 1e-3, 0.5);
    cf_fill(c, a, -2 * x.decay, -1e-4 * x.decay);
    if (x.split) {
        long long g = x.groups, r = x.rep;
        const bool by_group = g > 1;
#define HEADS(o, d)                                                                                                    \
    do {                                                                                                               \
        if (by_group)                                                                                                  \
            cf_axis(c, o, d, "k_head:%lld *:%lld", g, r);                                                              \
        else                                                                                                           \
            cf_axis(c, o, d, "k_head:%lld", r);                                                                        \
    } while (0)
        HEADS(in, 1);
        HEADS(dt, 0);
        HEADS(a, 1);
        HEADS(state, 2);
        if (by_group) {
            cf_axis(c, b, 1, "k_head:%lld", g);
            cf_axis(c, read, 1, "k_head:%lld", g);
        }
    }
    cf_run(c);
}

static void cases_scan(cf_suite *s)
{
    static const double decays[] = {0.05, 1, 20};
    static const int64_t states[] = {16, 64, 128, 256, 1, 5, 17, 100}, channels[] = {64, 1, 32, 80, 7, 33};
    static const int64_t lengths[] = {1, 2, 5, 17, 64, 100, 257, 600}, wide[] = {16, 33, 64, 80, 100};
    int x = 0;

    cf_thin(s, 3); /* every number of states with every number of channels */
    for (size_t i = 0; i < COUNT(states); i++)
        for (size_t j = 0; j < COUNT(channels); j++, x++)
            scan(s, (struct scan){states[i],
                                  channels[j],
                                  1 + x % 3,
                                  1 + x / 2 % 3,
                                  1 + x % 2,
                                  1 + x % 4,
                                  {x % 3 ? 5 : 18, 3},
                                  x & 1,
                                  decays[x % 3],
                                  (cf_layout)(x % 4),
                                  NULL});
    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(lengths); i++, x++)
        scan(s, (struct scan){16, 8, 2, 2, 1, 1 + x % 3, {lengths[i]}, (x & 1) != 0, decays[x % 3], CF_PLAIN, NULL});
    for (size_t i = 0; i < COUNT(states); i++) /* many tokens of one sequence, or on average */
        for (size_t j = 0; j < COUNT(wide); j++, x++)
            scan(s, (struct scan){states[i], wide[j], 1 + x % 2, 2, x % 3 ? 1 : 4, 1 + x % 4, {40 + x, 3, 0, 37}, false, decays[x % 3],
                                  (cf_layout)(x % 4), NULL});
    for (int64_t slots = 1; slots <= 4; slots++) /* K below, at and above the number of tokens; empty sequences */
        scan(s, (struct scan){32, 4, 2, 2, 4, slots, {slots, slots - 1, 0, slots + 2}, slots == 2, 1, CF_PLAIN, NULL});
    cf_thin(s, 1);
    scan(s, (struct scan){24, 3, 2, 2, 6, 3, {0, 5, 1, 0, 2, 9}, true, 1, CF_OFFSET, NULL});
    scan(s, (struct scan){16, 1, 1, 40, 2, 2, {4, 3}, true, 1, CF_PLAIN, NULL}); /* as Mamba has it */
    scan(s, (struct scan){21, 1, 1, 35, 3, 3, {0, 6, 1}, true, 1, CF_OFFSET, NULL});
    scan(s, (struct scan){7, 1, 1, 16, 2, 2, {1, 1}, false, 0.5, CF_PLAIN, NULL});
    scan(s, (struct scan){32, 1, 2, 37, 2, 3, {20, 1}, true, 1, CF_INNER, NULL});
    scan(s, (struct scan){20, 1, 2, 9, 1, 2, {5}, true, 1, CF_OFFSET, NULL});
    scan(s, (struct scan){16, 2, 2, 2, 2, 2, {0, 0}, false, 1, CF_PLAIN, NULL});
    scan(s, (struct scan){16, 2, 2, 2, 0, 2, {0, 0}, false, 1, CF_PLAIN, NULL});
    scan(s, (struct scan){0, 2, 2, 2, 1, 2, {4, 0}, false, 1, CF_PLAIN, NULL});
    scan(s, (struct scan){40, 2, 2, 1, 1, 0, {6}, false, 1, CF_PLAIN, NULL});
    for (int k = 0; k < 4; k++)
        scan(s, (struct scan){k & 1 ? 24 : 64, 8, k < 2 ? 1 : 4, 6, 2, 3, {9, 2}, k & 1, 0.5, CF_PLAIN, "k_head"});
}

void cf_cases_recurrent(cf_suite *s)
{
    if (cf_wanted(s, ENG_OP_SSM_SCAN))
        cases_scan(s);
    if (cf_wanted(s, ENG_OP_SSM_CONV))
        cases_conv(s);
    if (cf_wanted(s, ENG_OP_GATED_DELTA_NET))
        cases_delta(s);
}
