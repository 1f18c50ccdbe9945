/* Numbers and strings of schemas. */
#include "config.h"

#include <math.h>

#include "schema_maker.h"

#define LARGEST 9999999999999999 /* what the rule integer goes up to */

/* -- numbers in keywords ---------------------------------------------------------------------- */

bool lm_schema_number(lm_maker *m, json_t *schema, const char *key, const lm_place *p, int64_t least, int64_t most, int64_t *value)
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
static bool bound(lm_maker *m, json_t *schema, const char *key, const char *open, bool least, const lm_place *p, int64_t *value)
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

bool lm_schema_integer_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    int64_t least = -LARGEST, most = LARGEST;
    if (!bound(m, schema, "minimum", "exclusiveMinimum", true, p, &least) || !bound(m, schema, "maximum", "exclusiveMaximum", false, p, &most))
        return false;
    if (least > most)
        return lm_schema_refuse(m, p, "no whole number of at most 16 digits is within the bounds");
    if (least == -LARGEST && most == LARGEST)
        eu_text_add(to, "integer");
    else
        lm_schema_integers(to, least, most);
    return true;
}

bool lm_schema_number_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    static const char *const keys[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
    for (int i = 0; i < 4; i++)
        if (json_object_get(schema, keys[i])) {
            lm_place q = lm_place_inside(p, keys[i]);
            return lm_schema_refuse(m, &q, "bounds are understood of the type integer alone");
        }
    eu_text_add(to, "number");
    return true;
}

/* -- strings ---------------------------------------------------------------------------------- */

bool lm_schema_string_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    json_t *pattern = json_object_get(schema, "pattern"), *format = json_object_get(schema, "format");
    int64_t least = 0, most = -1;
    if (!lm_schema_number(m, schema, "minLength", p, 0, LM_SCHEMA_TIMES, &least) || !lm_schema_number(m, schema, "maxLength", p, 0, LM_SCHEMA_TIMES, &most))
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
        return lm_schema_refuse(m, &q, "'%.60s' is not understood; date, time, date-time and uuid are", json_string_value(format));
    if (format)
        eu_text_add(to, lm_schema_format(json_string_value(format)));
    else if (most >= 0)
        eu_text_format(to, "\"\\\"\" char{%lld,%lld} \"\\\"\"", (long long)least, (long long)most);
    else
        eu_text_format(to, least ? "\"\\\"\" char{%lld,} \"\\\"\"" : "string", (long long)least);
    return true;
}
