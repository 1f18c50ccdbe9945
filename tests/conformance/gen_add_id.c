/* Cases of add_id: indices outside the rows, too. */
#include "config.h"

#include "suite.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void add_id(cf_suite *s, const int64_t ne[4], cf_layout la, cf_layout lb, const char *split)
{
    cf_case *c = cf_begin(s, ENG_OP_ADD_ID, "n=%lld u=%lld t=%lld e=%lld a=%s b=%s%s%s", (long long)ne[0],
                          (long long)ne[1], (long long)ne[2], (long long)ne[3], cf_layout_name(la), cf_layout_name(lb),
                          split ? " split=" : "", split ? split : "");

    if (!c)
        return;
    c->split = split;
    cf_operand *a = cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, la, ne, 3);
    cf_operand *b = cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_WEIGHT, lb, CF_SHAPE(ne[0], ne[3]));
    cf_operand *ids = cf_in(c, 2, "ids", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(ne[1], ne[2]));
    for (int64_t i = 0; i < cf_elements(ids); i++)
        cf_set(ids, i, i % 7 == 5 ? -1 : i % 11 == 9 ? (double)ne[3] + 3 : (double)cf_below(c, ne[3]));
    if (split) {
        cf_axis(c, a, 0, "%s:%d", split, (int)ne[0]);
        cf_axis(c, b, 0, "%s:%d", split, (int)ne[0]);
    }
    cf_run(c);
}

void cf_cases_add_id(cf_suite *s)
{
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    static const int64_t shapes[][4] = {{1, 1, 1, 1}, {96, 2, 5, 4}, {33, 4, 3, 7}, {1030, 1, 9, 3}, {16, 3, 0, 2}};

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (size_t k = 0; k < COUNT(layouts); k++)
            add_id(s, shapes[i], layouts[k], k % 2 ? CF_INNER : CF_PLAIN, NULL);
    add_id(s, (const int64_t[]){70, 2, 6, 5}, CF_PLAIN, CF_PLAIN, "ffn");
}
