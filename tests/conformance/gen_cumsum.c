/* Cases of cumsum. */
#include "config.h"

#include "suite.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

void cf_cases_cumsum(cf_suite *s)
{
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    static const int64_t n[] = {1, 3, 32, 127, 128, 129, 1025, 10000};
    cf_case *c;

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(n); i++) {
        c = cf_begin(s, ENG_OP_CUMSUM, "n=%lld %s", (long long)n[i], cf_layout_name(layouts[i % 4]));
        if (!c)
            continue;
        c->terms = (double)n[i];
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[i % 4], CF_SHAPE(n[i], 4, 3));
        cf_run(c);
    }
    if ((c = cf_begin(s, ENG_OP_CUMSUM, "n=0"))) {
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(0, 4));
        cf_run(c);
    }
    if ((c = cf_begin(s, ENG_OP_CUMSUM, "n=101 split=ffn"))) {
        c->terms = 101;
        c->split = "ffn";
        cf_axis(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(101, 6)), 1, "ffn:6");
        cf_run(c);
    }
}
