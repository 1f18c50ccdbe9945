/* Cases of rope. */
#include "config.h"

#include "suite.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct rope {
    int mode;
    int64_t d, n_dims, offset, h, t, b;
    bool yarn, ff, inverse;
    uint32_t type;
    cf_layout layout;
    int64_t far; /* largest position */
    double base;
    const char *split;
};

static void rope(cf_suite *s, struct rope x)
{
    cf_case *c = cf_begin(
        s, ENG_OP_ROPE,
        "mode=%d x=%s/%s d=%lld n_dims=%lld offset=%lld h=%lld t=%lld b=%lld%s%s%s far=%lld base=%g%s%s", x.mode,
        ref_type_name(x.type), cf_layout_name(x.layout), (long long)x.d, (long long)x.n_dims, (long long)x.offset,
        (long long)x.h, (long long)x.t, (long long)x.b, x.yarn ? " yarn" : "", x.ff ? " ff" : "",
        x.inverse ? " inverse" : "", (long long)x.far, x.base, x.split ? " split=" : "", x.split ? x.split : "");

    if (!c)
        return;
    bool multi = x.mode & 8;
    int64_t pairs = x.n_dims / 2, third = pairs / 3;
    c->ip[ENG_ROPE_N_DIMS] = x.n_dims;
    c->ip[ENG_ROPE_MODE] = x.mode;
    c->ip[ENG_ROPE_N_CTX_ORIG] = 4096;
    c->ip[ENG_ROPE_OFFSET] = x.offset;
    c->ip[ENG_ROPE_INVERSE] = x.inverse;
    if (multi) {
        c->ip[ENG_ROPE_SECTION0] = pairs - 2 * third;
        c->ip[ENG_ROPE_SECTION0 + 1] = third;
        c->ip[ENG_ROPE_SECTION0 + 2] = third > 1 ? third - 1 : third;
        c->ip[ENG_ROPE_SECTION0 + 3] = third > 1;
    }
    c->fp[ENG_ROPE_BASE] = x.base;
    c->fp[ENG_ROPE_FREQ_SCALE] = x.yarn ? 0.25 : 1;
    c->fp[ENG_ROPE_EXT_FACTOR] = x.yarn;
    c->fp[ENG_ROPE_ATTN_FACTOR] = x.yarn ? 1.1 : 1;
    c->fp[ENG_ROPE_BETA_FAST] = 32;
    c->fp[ENG_ROPE_BETA_SLOW] = 1;
    c->split = x.split;
    cf_operand *in = cf_in(c, 0, "x", x.type, ENG_USE_INPUT, x.layout, CF_SHAPE(x.d, x.h, x.t, x.b));
    cf_operand *pos = cf_in(c, 1, "pos", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.t, multi ? 4 : 1));
    for (int64_t i = 0; i < cf_elements(pos); i++)
        cf_set(pos, i, (double)cf_below(c, x.far + 1));
    if (x.ff)
        cf_fill(c,
                cf_in(c, 2, "ff", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN,
                      CF_SHAPE((x.mode == ENG_ROPE_VISION ? x.d / 2 : pairs) + x.t % 2)),
                0.9, 4);
    if (x.split)
        cf_axis(c, in, 1, "kv_head:%lld", (long long)x.h);
    cf_run(c);
}

void cf_cases_rope(cf_suite *s)
{
    static const int modes[] = {ENG_ROPE_NORMAL, ENG_ROPE_NEOX, ENG_ROPE_MROPE, ENG_ROPE_VISION, ENG_ROPE_IMROPE};
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    static const int64_t sizes[] = {64, 80, 128, 24, 256, 6, 2};
    int x = 0;

    if (!cf_wanted(s, ENG_OP_ROPE))
        return;
    cf_thin(s, 6);
    for (size_t m = 0; m < COUNT(modes); m++)
        for (int yarn = 0; yarn < 2; yarn++)
            for (int ff = 0; ff < 2; ff++)
                for (int part = 0; part < 3; part++)
                    for (int inverse = 0; inverse < 2; inverse++, x++) {
                        int64_t d = sizes[x % (int)COUNT(sizes)], n = d, offset = 0;
                        if (modes[m] == ENG_ROPE_VISION) {
                            d = 4 * ((d + 3) / 4);
                            n = d / 2;
                        } else if (part && d >= 6) {
                            n = d / 2 / 2 * 2;
                            offset = part == 2 ? 2 : 0;
                        }
                        if (modes[m] & 8 && n < 6)
                            continue;
                        rope(s, (struct rope){modes[m], d, n, offset, 1 + x % 5, 1 + x % 7, 1 + x % 2, yarn, ff,
                                              inverse, x % 3 ? ENG_TYPE_F32 : ENG_TYPE_F16, layouts[x % 4],
                                              x % 4 ? 1000 : 40000, x % 2 ? 10000 : 1e6, NULL});
                    }
    cf_thin(s, 1);
    rope(s, (struct rope){ENG_ROPE_NEOX, 128, 128, 0, 8, 40, 1, false, false, false, ENG_TYPE_F32, CF_PLAIN, 131072,
                          1e6, NULL});
    rope(s, (struct rope){ENG_ROPE_IMROPE, 64, 32, 0, 6, 5, 1, false, false, false, ENG_TYPE_F32, CF_PLAIN, 2000, 1e4,
                          "kv_head"});
    rope(s, (struct rope){ENG_ROPE_NORMAL, 80, 80, 0, 3, 5, 1, true, true, false, ENG_TYPE_F32, CF_PLAIN, 9000, 1e4,
                          "kv_head"});
    for (int64_t h = 1; h <= 4; h++) /* positions that may lie in pieces */
        rope(s, (struct rope){ENG_ROPE_MROPE, 24, 24, 0, h, 100, 1, false, false, false, ENG_TYPE_F32, CF_PLAIN, 2000, 1e4,
                              NULL});
    rope(s,
         (struct rope){ENG_ROPE_NEOX, 64, 64, 0, 1, 1, 1, false, false, false, ENG_TYPE_F32, CF_PLAIN, 0, 1e4, NULL});
}
