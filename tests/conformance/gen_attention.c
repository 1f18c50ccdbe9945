/* Cases of attention. */
#include "config.h"

#include "attention.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

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
            cf_attend(s, x);
            x.t = 5;
            x.valid = -1;
            x.e = s->o.quick ? 64 : 32 * (1 + (int64_t)(i + j) % 4);
            cf_thin(s, i == j ? 2 : CF_NOT_QUICK);
            cf_attend(s, x);
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
            cf_attend(s, (struct attention){.tk = tk,
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
            cf_attend(s, (struct attention){.tk = cache[x % 4 == 3 ? 0 : 1],
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
        cf_attend(s, (struct attention){.tk = cache[x % 2 ? 1 : 4],
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
        cf_attend(s, (struct attention){.tk = cache[k % 2 ? 3 : 1],
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
    for (int k = 0; k < 4; k++) /* the cache ends within a block */
        cf_attend(s, (struct attention){.tk = cache[k % 2 ? 3 : 1],
                                        .tv = cache[k < 2 ? 1 : 4],
                                        .d = 64,
                                        .e = 64,
                                        .kvh = 2,
                                        .group = 2,
                                        .t = k % 2 ? 5 : 1,
                                        .cells = k < 2 ? 44 : 150,
                                        .valid = -1,
                                        .seqs = 1 + k % 2,
                                        .block = k < 2 ? 16 : 100,
                                        .whole = k == 3,
                                        .lse = k % 2});
    for (int k = 0; k < 4; k++) /* and a mask, of cells as they lie */
        cf_attend(s, (struct attention){.tk = cache[k % 2 ? 3 : 1],
                                        .tv = cache[k < 2 ? 1 : 4],
                                        .d = 64,
                                        .e = 64,
                                        .kvh = 1,
                                        .group = 2,
                                        .t = k % 2 ? 6 : 1,
                                        .cells = 72,
                                        .valid = -1,
                                        .use_mask = true,
                                        .mask = k < 2 ? ENG_TYPE_F16 : ENG_TYPE_F32,
                                        .bias = k == 3 ? 8 : 0,
                                        .seqs = 1 + k % 2,
                                        .block = k % 3 ? 8 : 16,
                                        .whole = k == 2,
                                        .lse = k % 2});
    for (int k = 0; k < 8; k++)
        cf_attend(s, (struct attention){.tk = cache[k % 2],
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
        cf_attend(s, (struct attention){.tk = ENG_TYPE_F16,
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
    cf_attend(s, (struct attention){.tk = ENG_TYPE_F16,
                                    .tv = ENG_TYPE_F16,
                                    .d = 64,
                                    .e = 64,
                                    .kvh = 2,
                                    .group = 2,
                                    .t = 2,
                                    .cells = 40,
                                    .valid = 0});
    cf_attend(s, (struct attention){.tk = ENG_TYPE_F16,
                                    .tv = ENG_TYPE_F16,
                                    .d = 64,
                                    .e = 64,
                                    .kvh = 2,
                                    .group = 2,
                                    .t = 3,
                                    .cells = 40,
                                    .valid = 0,
                                    .sinks = true});
    cf_attend(s, (struct attention){.tk = ENG_TYPE_F32,
                                    .tv = ENG_TYPE_F32,
                                    .d = 32,
                                    .e = 32,
                                    .kvh = 1,
                                    .group = 1,
                                    .t = 1,
                                    .cells = 1,
                                    .valid = 1});
    cf_attend(s, (struct attention){.tk = ENG_TYPE_Q8_0,
                                    .tv = ENG_TYPE_Q4_0,
                                    .d = 128,
                                    .e = 128,
                                    .kvh = 2,
                                    .group = 4,
                                    .t = 1,
                                    .cells = 3000,
                                    .valid = 2901});
    cf_attend(s, (struct attention){.tk = ENG_TYPE_F16, /* a prompt that sees a range of cells, whose scores are capped */
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

/* Few queries behind several blocks of cells that they all see, with any number of heads for each of K and V. */
static void behind(cf_suite *s)
{
    static const int64_t sizes[] = {128, 64, 192, 256, 96}, lengths[] = {200, 135, 700, 64};

    for (int k = 0; k < 24; k++) {
        const int64_t d = sizes[k % 5], cells = lengths[k % 4];
        cf_thin(s, k < 8 ? 1 : 3);
        cf_attend(s, (struct attention){.tk = cache[(1 + k / 8) % 3],
                                        .tv = cache[k % 7 == 6 ? 0 : (1 + k / 8) % 3],
                                        .d = d,
                                        .e = k % 11 == 5 ? 64 : d,
                                        .kvh = 2,
                                        .group = 1 + (k + k / 8) % 8,
                                        .t = k % 6 == 3 ? 2 : 1,
                                        .cells = cells,
                                        .valid = k % 3 == 1 ? cells - 3 : -1,
                                        .softcap = k % 8 == 3 ? 10 : 0,
                                        .window = k % 9 == 7 ? 150 : 0,
                                        .lse = k % 2,
                                        .lkv = k % 5 == 3 ? CF_SWAP12 : k % 5 == 1 ? CF_OFFSET : CF_PLAIN});
    }
}

/* Blocks of bytes under a scale, four heads and more for each of K. */
static void grouped(cf_suite *s)
{
    static const uint32_t types[] = {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, ENG_TYPE_Q5_0, ENG_TYPE_IQ4_NL};
    static const int64_t sizes[] = {128, 64, 96, 256, 32, 160}, lengths[] = {200, 64, 135, 700, 30}, tokens[] = {1, 2, 1, 35, 3, 50};

    for (int k = 0; k < 36; k++) {
        const int64_t d = sizes[k % 6], cells = lengths[k % 5];
        cf_thin(s, k < 12 ? 1 : 3);
        cf_attend(s, (struct attention){.tk = types[k % 9 == 4 ? 0 : k % 4],
                                        .tv = types[k % 9 == 4 ? 0 : (k / 2 + k / 12) % 4],
                                        .d = d,
                                        .e = k % 7 == 5 ? 64 : d,
                                        .kvh = 1 + k % 2,
                                        .group = 4 + (k + k / 5) % 5,
                                        .t = tokens[k % 6] < cells ? tokens[k % 6] : 1,
                                        .cells = cells,
                                        .valid = k % 3 == 1 ? cells - 3 : -1,
                                        .softcap = k % 8 == 3 ? 10 : 0,
                                        .bias = k % 10 == 6 ? 8 : 0,
                                        .window = k % 9 == 7 ? 150 : 0,
                                        .sinks = k % 7 == 2,
                                        .lse = k % 2,
                                        .steep = k % 6 == 2 || k % 6 == 5,
                                        .spike = k % 9 == 4 && s->precision == ENG_PRECISION_EXACT, /* rounding may lose the others */
                                        .lkv = k % 5 == 3 ? CF_SWAP12 : k % 5 == 1 ? CF_OFFSET : CF_PLAIN});
    }
}

/* Keys and values of a prompt. */
typedef struct prompt_head {
    uint32_t k, v;
    int64_t d, e;
} prompt_head;

static void prompt(cf_suite *s, prompt_head head, int k, bool masked, bool steep)
{
    cf_attend(s, (struct attention){.tk = head.k,
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

/* Many queries: tiles of them, not all full, that see parts of the cells, or none, or cells that are no numbers. */
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
        cf_attend(s, (struct attention){.tk = cache[k % 9],
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
            cf_attend(s, x);
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
            cf_attend(s, x);
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
    behind(s);
    grouped(s);
    features(s);
    parts(s);
    runs(s);
    splits(s);
}
