/* Cases of argsort: lengths around those of runs, ties, not-a-numbers, infinities. */
#include "config.h"

#include "suite.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void fill(cf_case *c, cf_operand *x, int kind)
{
    for (int64_t i = 0; i < cf_elements(x); i++) {
        double v = kind == 1 ? (double)cf_below(c, 4) : cf_uniform(c, -1, 1);
        if (kind == 2 && cf_below(c, 5) == 0)
            v = cf_below(c, 2) ? NAN : cf_below(c, 2) ? INFINITY : -INFINITY;
        cf_set(x, i, v);
    }
}

void cf_cases_argsort(cf_suite *s)
{
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    static const char *const kinds[] = {"random", "ties", "nan and inf"};
    static const int64_t n[] = {1, 2, 7, 16, 31, 32, 33, 64, 65, 100, 1000, 2049};
    cf_case *c;

    for (size_t i = 0; i < COUNT(n); i++)
        for (int kind = 0; kind < 3; kind++)
            for (int descending = 0; descending < 2; descending++) {
                cf_layout l = layouts[(i + (size_t)kind) % 4];
                cf_thin(s, kind == 0 ? 1 : 3);
                c = cf_begin(s, ENG_OP_ARGSORT, "n=%lld %s %s %s", (long long)n[i], descending ? "descending" : "ascending",
                             kinds[kind], cf_layout_name(l));
                if (!c)
                    continue;
                c->judge = CF_EXACT;
                c->out_type = ENG_TYPE_I32;
                c->ip[ENG_ARGSORT_DESCENDING] = descending;
                fill(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, CF_SHAPE(n[i], 5, 2)), kind);
                cf_run(c);
            }
    cf_thin(s, 1);
    if ((c = cf_begin(s, ENG_OP_ARGSORT, "n=0"))) {
        c->judge = CF_EXACT;
        c->out_type = ENG_TYPE_I32;
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(0, 4));
        cf_run(c);
    }
    if ((c = cf_begin(s, ENG_OP_ARGSORT, "n=40 split=ffn"))) {
        c->judge = CF_EXACT;
        c->out_type = ENG_TYPE_I32;
        c->split = "ffn";
        cf_axis(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(40, 6)), 1, "ffn:6");
        cf_run(c);
    }
}
