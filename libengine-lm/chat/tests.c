/* Tests: what stands behind "is". */
#include "config.h"

#include "evaluate.h"
#include "filters.h"
#include "methods.h"
#include "print.h"

#define TEST(name, condition)                                                                                        \
    static bool name(tpl_run *r, tpl_value *v, tpl_value *result)                                                    \
    {                                                                                                                \
        (void)r;                                                                                                     \
        *result = tpl_bool(condition);                                                                               \
        return true;                                                                                                 \
    }
TEST(is_defined, v[0].kind != TPL_UNDEFINED)
TEST(is_undefined, v[0].kind == TPL_UNDEFINED)
TEST(is_none, v[0].kind == TPL_NONE)
TEST(is_boolean, v[0].kind == TPL_BOOL)
TEST(is_true, v[0].kind == TPL_BOOL && v[0].i)
TEST(is_false, v[0].kind == TPL_BOOL && !v[0].i)
TEST(is_integer, v[0].kind == TPL_INT)
TEST(is_float, v[0].kind == TPL_FLOAT)
TEST(is_number, tpl_is_number(&v[0]))
TEST(is_string, v[0].kind == TPL_STRING)
TEST(is_mapping, v[0].kind == TPL_DICT)
TEST(is_iterable, tpl_iterable(&v[0]))
TEST(is_sequence,
     tpl_is_sequence(&v[0]) || v[0].kind == TPL_STRING || v[0].kind == TPL_DICT || v[0].kind == TPL_UNDEFINED)
TEST(is_callable,
     v[0].kind == TPL_MACRO || v[0].kind == TPL_METHOD || v[0].kind == TPL_FUNCTION || v[0].kind == TPL_UNDEFINED)
TEST(is_escaped, v[0].kind == TPL_STRING && v[0].safe)
TEST(is_filter, v[0].kind == TPL_STRING && tpl_filter_known(v[0].s.at, v[0].s.n))
TEST(is_test, v[0].kind == TPL_STRING && tpl_test_known(v[0].s.at, v[0].s.n))

#define COMPARE(name, op)                                                                                            \
    static bool name(tpl_run *r, tpl_value *v, tpl_value *result)                                                    \
    {                                                                                                                \
        bool is = false;                                                                                             \
        bool good = tpl_compare(r, op, &v[0], &v[1], &is);                                                           \
        *result = tpl_bool(is);                                                                                      \
        return good;                                                                                                 \
    }
COMPARE(equal, TPL_EQ)
COMPARE(unequal, TPL_NE)
COMPARE(less, TPL_LT)
COMPARE(at_most, TPL_LE)
COMPARE(greater, TPL_GT)
COMPARE(at_least, TPL_GE)
COMPARE(is_in, TPL_IN)

static bool divisible(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value rest;
    if (!tpl_is_number(&v[0]) || !tpl_is_number(&v[1]))
        return tpl_fail(r, "numbers are needed, got %s and %s", tpl_type(&v[0]), tpl_type(&v[1]));
    bool good = tpl_binary(r, TPL_MODULO, &v[0], &v[1], &rest);
    *result = tpl_bool(good && tpl_number(&rest) == 0);
    return good;
}

static bool odd(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value rest, two = tpl_int(2);
    if (!tpl_is_number(&v[0]))
        return tpl_fail(r, "a number is needed, got %s", tpl_type(&v[0]));
    bool good = tpl_binary(r, TPL_MODULO, &v[0], &two, &rest);
    *result = tpl_bool(good && tpl_number(&rest) == 1);
    return good;
}

static bool even(tpl_run *r, tpl_value *v, tpl_value *result)
{
    v[1] = tpl_int(2);
    return divisible(r, v, result);
}

static bool is_upper(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    bool good = tpl_as_string(r, &v[0], &s);
    *result = tpl_bool(good && tpl_is_case(&s.s, TPL_UPPER));
    return good;
}

static bool is_lower(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    bool good = tpl_as_string(r, &v[0], &s);
    *result = tpl_bool(good && tpl_is_case(&s.s, TPL_LOWER));
    return good;
}

/* The same object: small values are, if they are equal and of one type. */
static bool same_as(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_kind kind = v[0].kind;
    bool is = kind == v[1].kind;
    if (is && (kind == TPL_STRING || kind == TPL_FLOAT || kind == TPL_UNDEFINED || kind == TPL_METHOD))
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "sameas of two values of type %s is not understood",
                           tpl_type(&v[0]));
    is = is && (kind == TPL_NONE || (tpl_is_whole(&v[0]) ? v[0].i == v[1].i : v[0].list == v[1].list));
    *result = tpl_bool(is);
    return true;
}

static const tpl_builtin tests[] = {
    {"defined", "value", 1, is_defined, NULL}, {"undefined", "value", 1, is_undefined, NULL}, {"none", "value", 1, is_none, NULL},
    {"boolean", "value", 1, is_boolean, NULL}, {"true", "value", 1, is_true, NULL}, {"false", "value", 1, is_false, NULL},
    {"integer", "value", 1, is_integer, NULL}, {"float", "value", 1, is_float, NULL}, {"number", "value", 1, is_number, NULL},
    {"string", "value", 1, is_string, NULL}, {"mapping", "value", 1, is_mapping, NULL}, {"iterable", "value", 1, is_iterable, NULL},
    {"sequence", "value", 1, is_sequence, NULL}, {"callable", "value", 1, is_callable, NULL}, {"escaped", "value", 1, is_escaped, NULL},
    {"filter", "value", 1, is_filter, NULL}, {"test", "value", 1, is_test, NULL},
    {"eq", "a b", 2, equal, NULL}, {"==", "a b", 2, equal, NULL}, {"equalto", "a b", 2, equal, NULL},
    {"ne", "a b", 2, unequal, NULL}, {"!=", "a b", 2, unequal, NULL},
    {"lt", "a b", 2, less, NULL}, {"<", "a b", 2, less, NULL}, {"lessthan", "a b", 2, less, NULL},
    {"le", "a b", 2, at_most, NULL}, {"<=", "a b", 2, at_most, NULL},
    {"gt", "a b", 2, greater, NULL}, {">", "a b", 2, greater, NULL}, {"greaterthan", "a b", 2, greater, NULL},
    {"ge", "a b", 2, at_least, NULL}, {">=", "a b", 2, at_least, NULL}, {"in", "value seq", 2, is_in, NULL},
    {"divisibleby", "value num", 2, divisible, NULL}, {"odd", "value", 1, odd, NULL}, {"even", "value", 1, even, NULL},
    {"upper", "value", 1, is_upper, NULL}, {"lower", "value", 1, is_lower, NULL}, {"sameas", "value other", 2, same_as, NULL},
};

static const tpl_builtin *find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (tpl_same(name, n, tests[i].name))
            return &tests[i];
    return NULL;
}

bool tpl_test_known(const char *name, size_t n)
{
    return find(name, n) != NULL;
}

bool tpl_test_run(tpl_run *r, const char *name, size_t n, tpl_call *call, bool *is)
{
    const tpl_builtin *b = find(name, n);
    tpl_value result;
    if (!b)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "test '%.*s' is not understood", (int)(n < 80 ? n : 80), name);
    if (!tpl_run_builtin(r, b, call, &result))
        return false;
    *is = tpl_truth(&result);
    return true;
}
