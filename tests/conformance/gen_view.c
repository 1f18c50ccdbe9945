/* Cases of view: windows, steps, orders, repetitions and overlaps, as other hosts make them. */
#include "config.h"

#include "suite.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

void cf_cases_view(cf_suite *s)
{
    static const struct {
        const char *name;
        uint32_t type;
        int64_t x[3], ne[4], nb[4], offset;
        const char *split;
    } cases[] = {
        {"all", ENG_TYPE_F32, {12, 5, 3}, {12, 5, 3, 1}, {4, 48, 240, 0}, 0, NULL},
        {"a window", ENG_TYPE_F32, {12, 5, 3}, {7, 3, 2, 1}, {4, 48, 240, 0}, 60, NULL},
        {"dimensions swapped", ENG_TYPE_F32, {12, 5, 3}, {5, 12, 3, 1}, {48, 4, 240, 0}, 0, NULL},
        {"every third element", ENG_TYPE_F32, {12, 5, 3}, {4, 5, 3, 1}, {12, 48, 240, 0}, 8, NULL},
        {"every second row", ENG_TYPE_F16, {12, 6, 3}, {12, 3, 3, 1}, {2, 48, 144, 0}, 24, NULL},
        {"rows that overlap", ENG_TYPE_F32, {40, 2, 1}, {8, 17, 2, 1}, {4, 8, 160, 0}, 0, NULL},
        {"a row, repeated", ENG_TYPE_F32, {12, 5, 1}, {12, 4, 2, 1}, {4, 0, 48, 0}, 48, NULL},
        {"an element, repeated", ENG_TYPE_F32, {12, 5, 1}, {9, 4, 1, 1}, {0, 48, 0, 0}, 4, NULL},
        {"heads out of rows", ENG_TYPE_F32, {24, 5, 1}, {4, 5, 2, 1}, {4, 96, 16, 0}, 64, NULL},
        {"other extents", ENG_TYPE_I32, {12, 6, 1}, {8, 9, 1, 1}, {4, 32, 0, 0}, 0, NULL},
        {"blocks", ENG_TYPE_Q8_0, {96, 4, 1}, {64, 2, 2, 1}, {34, 102, 204, 0}, 34, NULL},
        {"nothing", ENG_TYPE_F32, {12, 5, 1}, {12, 0, 1, 1}, {4, 48, 0, 0}, 240, NULL},
        {"split along rows", ENG_TYPE_F32, {12, 6, 1}, {5, 4, 1, 1}, {4, 48, 0, 0}, 52, "ffn"},
    };

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        cf_case *c = cf_begin(s, ENG_OP_VIEW, "%s %s", ref_type_name(cases[i].type), cases[i].name);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        c->out_type = cases[i].type;
        c->split = cases[i].split;
        for (int d = 0; d < ENG_MAX_RANK; d++) {
            c->ip[ENG_VIEW_NE0 + d] = d < 4 ? cases[i].ne[d] : 1;
            c->ip[ENG_VIEW_NB0 + d] = d < 4 ? cases[i].nb[d] : 0;
        }
        c->ip[ENG_VIEW_OFFSET] = cases[i].offset;
        cf_operand *x = cf_in(c, 0, "x", cases[i].type, ENG_USE_INPUT, CF_PLAIN, cases[i].x, 3);
        for (int64_t k = 0; cases[i].type == ENG_TYPE_I32 && k < cf_elements(x); k++)
            cf_set(x, k, (double)cf_below(c, 1 << 28));
        if (cases[i].split)
            cf_axis(c, x, 1, "%s:6", cases[i].split);
        cf_run(c);
    }
}
