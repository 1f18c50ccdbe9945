/* Numbers and strings of schemas. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schema_maker.h"

#define LARGEST 9999999999999999 /* what the rule integer goes up to */

/* -- numbers in keywords ---------------------------------------------------------------------- */

bool lm_schema_number(lm_maker *m, json_t *schema, const char *key, const lm_place *p, int64_t least, int64_t most,
                      int64_t *value)
{
    json_t *v = json_object_get(schema, key);
    if (!v)
        return true;
    double x = json_number_value(v);
    if (!json_is_number(v) || x != floor(x) || x < (double)least || x > (double)most) {
        lm_place q = lm_place_inside(p, key);
        return lm_schema_refuse(m, &q, "a whole number from %lld to %lld is needed", (long long)least, (long long)most);
    }
    *value = json_is_integer(v) ? json_integer_value(v) : (int64_t)x;
    return true;
}

/* Bounds of a whole number may have fractions. */
static bool bound(lm_maker *m, json_t *schema, const char *key, const char *open, bool least, const lm_place *p,
                  int64_t *value)
{
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        json_t *v = json_object_get(schema, exclusive ? open : key);
        lm_place q = lm_place_inside(p, exclusive ? open : key);
        if (!v)
            continue;
        double x = json_number_value(v);
        if (!json_is_number(v))
            return lm_schema_refuse(m, &q, "a number is needed");
        x = x < -2.0 * LARGEST ? -2.0 * LARGEST : x > 2.0 * LARGEST ? 2.0 * LARGEST : x;
        double rounded = least ? ceil(x) : floor(x);
        int64_t n = json_is_integer(v) && fabs(x) < 2.0 * LARGEST ? json_integer_value(v) : (int64_t)rounded;
        n += exclusive && rounded == x ? (least ? 1 : -1) : 0;
        *value = least ? (n > *value ? n : *value) : (n < *value ? n : *value);
    }
    return true;
}

/* -- multiples --------------------------------------------------------------------------------- */

#define MOST_DIVISOR 1000
#define MOST_LISTED 1000

/* Rules of digits by what the number before them leaves: "m7x3" is what may follow it if it leaves 3. */
static void add_remainders(lm_maker *m, int64_t divisor)
{
    char first[32];
    snprintf(first, sizeof first, "m%dx0 ::=", (int)divisor);
    if (strstr(eu_text_get(&m->rules), first))
        return;
    for (int64_t left = 0; left < divisor; left++) {
        eu_text_format(&m->rules, "m%lldx%lld ::= %s", (long long)divisor, (long long)left, left ? "" : "\"\" | ");
        for (int digit = 0; digit < 10; digit++)
            eu_text_format(&m->rules, "%s\"%d\" m%lldx%lld", digit ? " | " : "", digit, (long long)divisor,
                           (long long)((10 * left + digit) % divisor));
        eu_text_add(&m->rules, "\n");
    }
}

static void list_multiples(int64_t divisor, int64_t first, int64_t n, eu_text *to)
{
    for (int64_t i = 0; i < n; i++)
        eu_text_format(to, "%s\"%lld\"", i ? " | " : "(", (long long)(first + i * divisor));
    eu_text_add(to, ")");
}

/* A few are listed; of many there are bounds at 0 alone. */
static bool multiples(lm_maker *m, const lm_place *p, int64_t divisor, int64_t least, int64_t most, eu_text *to)
{
    const int64_t first = least > 0 ? (least + divisor - 1) / divisor * divisor : -(-least / divisor * divisor);
    const int64_t n = first > most ? 0 : (most - first) / divisor + 1;
    lm_place q = lm_place_inside(p, "multipleOf");
    if (n == 0)
        return lm_schema_refuse(m, p, "no multiple of %lld is within the bounds", (long long)divisor);
    if (n <= MOST_LISTED) {
        list_multiples(divisor, first, n, to);
        return true;
    }
    if (most < LARGEST || (least > divisor || (least < -divisor && least > -LARGEST)))
        return lm_schema_refuse(m, &q, "within bounds other than 0 it is understood of at most %d numbers",
                                MOST_LISTED);
    add_remainders(m, divisor);
    eu_text_add(to, least > 0 ? "(" : "(\"0\" | ");
    eu_text_add(to, least == -LARGEST ? "\"-\"? (" : "(");
    for (int digit = 1; digit < 10; digit++)
        eu_text_format(to, "%s\"%d\" m%lldx%lld", digit > 1 ? " | " : "", digit, (long long)divisor,
                       (long long)(digit % divisor));
    eu_text_add(to, "))");
    return true;
}

bool lm_schema_integer_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    int64_t least = -LARGEST, most = LARGEST;
    if (!bound(m, schema, "minimum", "exclusiveMinimum", true, p, &least) ||
        !bound(m, schema, "maximum", "exclusiveMaximum", false, p, &most))
        return false;
    if (least > most)
        return lm_schema_refuse(m, p, "no whole number of at most 16 digits is within the bounds");
    int64_t divisor = 1;
    if (!lm_schema_number(m, schema, "multipleOf", p, 1, MOST_DIVISOR, &divisor))
        return false;
    if (divisor > 1)
        return multiples(m, p, divisor, least, most, to);
    if (least == -LARGEST && most == LARGEST)
        eu_text_add(to, "integer");
    else
        lm_schema_integers(to, least, most);
    return true;
}

/* The larger of the bounds below, the smaller of those above; at the same place the one that is outside itself. */
static bool real_bound(lm_maker *m, json_t *schema, bool least, const lm_place *p, double *value, bool *open)
{
    static const char *const keys[2][2] = {{"maximum", "exclusiveMaximum"}, {"minimum", "exclusiveMinimum"}};
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        json_t *v = json_object_get(schema, keys[least][exclusive]);
        lm_place q = lm_place_inside(p, keys[least][exclusive]);
        if (!v)
            continue;
        if (!json_is_number(v))
            return lm_schema_refuse(m, &q, "a number is needed");
        double x = json_number_value(v);
        if (least ? x > *value : x < *value) {
            *value = x;
            *open = exclusive;
        } else if (x == *value) {
            *open |= exclusive;
        }
    }
    return true;
}

bool lm_schema_number_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    double least = -INFINITY, most = INFINITY;
    bool open_least = false, open_most = false;
    if (json_object_get(schema, "multipleOf")) /* of whole numbers alone: so these are, too */
        return lm_schema_integer_type(m, schema, p, to);
    if (!real_bound(m, schema, true, p, &least, &open_least) || !real_bound(m, schema, false, p, &most, &open_most))
        return false;
    if (isinf(least) && isinf(most)) {
        eu_text_add(to, "number");
        return true;
    }
    const char *wrong = least > most ? "no number is within the bounds" :
                                       lm_schema_decimals(to, least, open_least, most, open_most);
    return !wrong || lm_schema_refuse(m, p, "%s", wrong);
}

/* -- strings ---------------------------------------------------------------------------------- */

bool lm_schema_string_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    json_t *pattern = json_object_get(schema, "pattern"), *format = json_object_get(schema, "format");
    int64_t least = 0, most = -1;
    if (!lm_schema_number(m, schema, "minLength", p, 0, LM_SCHEMA_TIMES, &least) ||
        !lm_schema_number(m, schema, "maxLength", p, 0, LM_SCHEMA_TIMES, &most))
        return false;
    const bool length = least > 0 || most >= 0;
    lm_place q = lm_place_inside(p, pattern ? "pattern" : "format");
    if ((pattern || format) && (length || (pattern && format)))
        return lm_schema_refuse(m, &q, "pattern, format and lengths are understood one at a time");
    if ((pattern && !json_is_string(pattern)) || (format && !json_is_string(format)))
        return lm_schema_refuse(m, &q, "a text is needed");
    if (most >= 0 && most < least)
        return lm_schema_refuse(m, p, "no text is so long as minLength and at most as maxLength says");
    if (pattern) {
        eu_text_add(to, "\"\\\"\" ");
        const char *wrong = lm_schema_pattern(to, json_string_value(pattern));
        eu_text_add(to, " \"\\\"\"");
        return !wrong || lm_schema_refuse(m, &q, "the expression has what is not understood: %s", wrong);
    }
    if (format && !lm_schema_format(json_string_value(format)))
        return lm_schema_refuse(m, &q,
                                "'%.60s' is not understood; date, time, date-time, duration, uuid, email, hostname, "
                                "ipv4, ipv6 and uri are",
                                json_string_value(format));
    if (format)
        eu_text_add(to, lm_schema_format(json_string_value(format)));
    else if (most >= 0)
        eu_text_format(to, "\"\\\"\" char{%lld,%lld} \"\\\"\"", (long long)least, (long long)most);
    else
        eu_text_format(to, least ? "\"\\\"\" char{%lld,} \"\\\"\"" : "string", (long long)least);
    return true;
}
