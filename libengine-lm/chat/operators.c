/* Operators, as Python has them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "escape.h"
#include "evaluate.h"
#include "format.h"
#include "print.h"

static const char *sign_of(int op)
{
    static const char *const signs[] = {"+",  "-", "*",  "/", "//", "%",  "** or pow()", "==",
                                        "!=", "<", "<=", ">", ">=", "in", "not in"};
    return signs[op];
}

bool tpl_fail_undefined(tpl_run *r, const tpl_value *v)
{
    int n = (int)(v->s.n < 200 ? v->s.n : 200);
    if (v->s.of)
        return tpl_fail(r, "'%s object' has no attribute '%.*s'", v->s.of, n, v->s.at);
    return tpl_fail(r, "'%.*s' is undefined", n, v->s.at);
}

static bool too_large(tpl_run *r)
{
    return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "a whole number of more than 64 bits is not understood");
}

/* -- numbers -------------------------------------------------------------------------------- */

static bool power(tpl_run *r, int64_t base, int64_t exponent, tpl_value *result)
{
    int64_t product = 1;
    if (exponent < 0) {
        if (base == 0)
            return tpl_fail(r, "0.0 cannot be raised to a negative power");
        *result = tpl_float(pow((double)base, (double)exponent));
        return true;
    }
    if (base == 0 || base == 1 || base == -1) {
        *result = tpl_int(exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base);
        return true;
    }
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(product, base, &product))
            return too_large(r);
    *result = tpl_int(product);
    return true;
}

static bool whole(tpl_run *r, int op, int64_t a, int64_t b, tpl_value *result)
{
    int64_t value = 0;
    bool over = false;
    switch (op) {
    case TPL_PLUS: over = __builtin_add_overflow(a, b, &value); break;
    case TPL_MINUS: over = __builtin_sub_overflow(a, b, &value); break;
    case TPL_TIMES: over = __builtin_mul_overflow(a, b, &value); break;
    case TPL_POWER: return power(r, a, b, result);
    default:
        if (b == 0)
            return tpl_fail(r, "division by zero");
        if (b == -1) { /* the least number has no other sign */
            over = op == TPL_FLOOR && __builtin_sub_overflow(0, a, &value);
            break;
        }
        value = op == TPL_FLOOR ? a / b - ((a % b != 0) && ((a < 0) != (b < 0))) :
                                  a % b + ((a % b != 0 && (a < 0) != (b < 0)) ? b : 0);
    }
    *result = tpl_int(value);
    return !over || too_large(r);
}

static double floor_modulo(double a, double b)
{
    double m = fmod(a, b);
    if (m != 0)
        return (m < 0) != (b < 0) ? m + b : m;
    return copysign(0.0, b);
}

static bool real(tpl_run *r, int op, double a, double b, tpl_value *result)
{
    double value = 0;
    if (b == 0 && (op == TPL_DIVIDE || op == TPL_FLOOR || op == TPL_MODULO))
        return tpl_fail(r, op == TPL_DIVIDE ? "division by zero" : "float floor division or modulo by zero");
    switch (op) {
    case TPL_PLUS: value = a + b; break;
    case TPL_MINUS: value = a - b; break;
    case TPL_TIMES: value = a * b; break;
    case TPL_DIVIDE: value = a / b; break;
    case TPL_FLOOR: value = (a - floor_modulo(a, b)) / b; value = floor(value + 0.5); break;
    case TPL_MODULO: value = floor_modulo(a, b); break;
    default:
        value = pow(a, b);
        if ((isnan(value) && !isnan(a) && !isnan(b)) || (isinf(value) && !isinf(a) && !isinf(b)))
            return tpl_fail(r, "a power is no number, or out of range");
    }
    *result = tpl_float(value);
    return true;
}

static bool numbers(tpl_run *r, int op, const tpl_value *a, const tpl_value *b, tpl_value *result)
{
    if (tpl_is_whole(a) && tpl_is_whole(b) && op != TPL_DIVIDE)
        return whole(r, op, a->i, b->i, result);
    return real(r, op, tpl_number(a), tpl_number(b), result);
}

/* -- texts and lists -------------------------------------------------------------------------- */

static bool join_texts(tpl_run *r, const tpl_value *a, const tpl_value *b, tpl_value *result)
{
    tpl_value x = *a, y = *b;
    tpl_text t = {0};
    const bool safe = x.safe || y.safe;
    if (safe && (!tpl_escape(r, a, &x) || !tpl_escape(r, b, &y)))
        return false;
    t.room = x.s.n + y.s.n;
    if (t.room && !(t.at = tpl_alloc_text(r, t.room)))
        return false;
    bool good = tpl_add(r, &t, x.s.at, x.s.n) && tpl_add(r, &t, y.s.at, y.s.n);
    *result = tpl_text_value(&t);
    result->safe = safe;
    return good;
}

static bool append(tpl_run *r, tpl_value *to, const tpl_list *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!tpl_list_add(r, to, from->at[i]))
            return false;
    return true;
}

static bool join_lists(tpl_run *r, const tpl_value *a, const tpl_value *b, tpl_value *result)
{
    return tpl_list_new(r, a->kind, a->list->n + b->list->n, result) && append(r, result, a->list) &&
           append(r, result, b->list);
}

static bool repeat(tpl_run *r, const tpl_value *v, int64_t times, tpl_value *result)
{
    tpl_text t = {0};
    bool good = true;
    const size_t size = v->kind == TPL_STRING ? v->s.n : v->list->n;
    if (times < 0 || size == 0)
        times = 0;
    if (v->kind == TPL_STRING) {
        for (; times > 0 && good; times--)
            good = tpl_step(r, 1) && tpl_add(r, &t, v->s.at, v->s.n);
        *result = tpl_text_value(&t);
        result->safe = v->safe;
        return good;
    }
    for (good = tpl_list_new(r, v->kind, 0, result); times > 0 && good; times--)
        good = append(r, result, v->list);
    return good;
}

static bool repeatable(const tpl_value *v)
{
    return v->kind == TPL_STRING || v->kind == TPL_LIST || v->kind == TPL_TUPLE;
}

bool tpl_binary(tpl_run *r, int op, const tpl_value *a, const tpl_value *b, tpl_value *result)
{
    if (tpl_is_number(a) && tpl_is_number(b))
        return numbers(r, op, a, b, result);
    if (op == TPL_MODULO && a->kind == TPL_STRING)
        return tpl_percent(r, a, b, result);
    if (a->kind == TPL_UNDEFINED || b->kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, a->kind == TPL_UNDEFINED ? a : b);
    if (op == TPL_PLUS && a->kind == TPL_STRING && b->kind == TPL_STRING)
        return join_texts(r, a, b, result);
    if (op == TPL_PLUS && a->kind == b->kind && (a->kind == TPL_LIST || a->kind == TPL_TUPLE))
        return join_lists(r, a, b, result);
    if (op == TPL_TIMES && repeatable(a) && tpl_is_whole(b))
        return repeat(r, a, b->i, result);
    if (op == TPL_TIMES && repeatable(b) && tpl_is_whole(a))
        return repeat(r, b, a->i, result);
    return tpl_fail(r, "unsupported operand type(s) for %s: '%s' and '%s'", sign_of(op), tpl_type(a), tpl_type(b));
}

bool tpl_unary(tpl_run *r, int op, const tpl_value *a, tpl_value *result)
{
    if (a->kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, a);
    if (!tpl_is_number(a))
        return tpl_fail(r, "bad operand type for unary %s: '%s'", sign_of(op), tpl_type(a));
    if (a->kind == TPL_FLOAT)
        *result = tpl_float(op == TPL_MINUS ? -a->f : a->f);
    else if (op == TPL_MINUS && a->i == INT64_MIN)
        return too_large(r);
    else
        *result = tpl_int(op == TPL_MINUS ? -a->i : a->i);
    return true;
}

bool tpl_compare(tpl_run *r, int op, const tpl_value *a, const tpl_value *b, bool *result)
{
    int order = 0;
    if (op == TPL_EQ || op == TPL_NE) {
        bool good = tpl_equal(r, a, b, result);
        *result ^= op == TPL_NE;
        return good;
    }
    if (op == TPL_IN || op == TPL_NOT_IN) {
        bool good = tpl_in(r, a, b, result);
        *result ^= op == TPL_NOT_IN;
        return good;
    }
    if (!tpl_order(r, a, b, sign_of(op), &order))
        return false;
    *result = order != TPL_UNORDERED && (op == TPL_LT ? order < 0 :
                                         op == TPL_LE ? order <= 0 :
                                         op == TPL_GT ? order > 0 :
                                                        order >= 0);
    return true;
}
