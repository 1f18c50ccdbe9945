/* Schemas that must hold together, as one. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "schema_merge.h"

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

bool lm_schema_describes(const char *keyword)
{
    static const char *const words[] = {"title",      "description", "default",   "examples",      "$schema",
                                        "$id",        "$comment",    "$defs",     "$anchor",       "definitions",
                                        "deprecated", "readOnly",    "writeOnly", "discriminator", NULL};
    return is_one_of(keyword, words);
}

json_t *lm_schema_copy(json_t *value)
{
    json_t *copy = json_copy(value);
    if (json_object_size(copy) == json_object_size(value) && json_array_size(copy) == json_array_size(value))
        return copy;
    json_decref(copy);
    return NULL;
}

bool lm_schema_has_type(json_t *value, const char *type)
{
    static const char *const names[] =
        {[JSON_OBJECT] = "object", [JSON_ARRAY] = "array",  [JSON_STRING] = "string", [JSON_INTEGER] = "integer",
         [JSON_REAL] = "number",   [JSON_TRUE] = "boolean", [JSON_FALSE] = "boolean", [JSON_NULL] = "null"};
    if (json_is_integer(value) && strcmp(type, "number") == 0)
        return true;
    if (json_is_real(value) && strcmp(type, "integer") == 0)
        return json_real_value(value) == floor(json_real_value(value));
    return strcmp(names[json_typeof(value)], type) == 0;
}

bool lm_schema_same(json_t *a, json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (json_typeof(a) != json_typeof(b) || json_array_size(a) != json_array_size(b) ||
        json_object_size(a) != json_object_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!lm_schema_same(json_array_get(a, i), json_array_get(b, i)))
            return false;
    const char *key;
    json_t *value;
    json_object_foreach(a, key, value)
        if (!json_object_get(b, key) || !lm_schema_same(value, json_object_get(b, key)))
            return false;
    return json_is_object(a) || json_is_array(a) || json_equal(a, b);
}

/* -- types --------------------------------------------------------------------------------- */

/* The types that a keyword type names, as a list. */
static bool names_type(json_t *types, const char *name)
{
    size_t i;
    json_t *one;
    if (json_is_string(types))
        return strcmp(json_string_value(types), name) == 0;
    json_array_foreach(types, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static const char *const all_types[] = {"object", "array", "string", "integer", "number", "boolean", "null", NULL};

static json_t *common_types(json_t *a, json_t *b)
{
    json_t *list = json_array();
    for (const char *const *t = all_types; *t && list; t++) {
        bool whole = strcmp(*t, "integer") == 0;
        bool in_a = names_type(a, *t) || (whole && names_type(a, "number")),
             in_b = names_type(b, *t) || (whole && names_type(b, "number"));
        bool twice = whole && names_type(a, "number") && names_type(b, "number");
        if (in_a && in_b && !twice && json_array_append_new(list, json_string(*t))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* -- keywords -------------------------------------------------------------------------------- */

/* What is together already gets one more part, not a level more. */
static json_t *together(json_t *a, json_t *b)
{
    json_t *parts = json_object_size(a) == 1 ? json_object_get(a, "allOf") : NULL;
    json_t *list = json_is_array(parts) ? lm_schema_copy(parts) : json_array(), *out = json_object();
    if (list && out && (json_is_array(parts) || json_array_append(list, a) == 0) && json_array_append(list, b) == 0 &&
        json_object_set(out, "allOf", list) == 0) {
        json_decref(list);
        return out;
    }
    json_decref(list);
    json_decref(out);
    return NULL;
}

static json_t *merge_properties(json_t *a, json_t *b)
{
    json_t *out = lm_schema_copy(a), *value;
    const char *key;
    if (!out)
        return NULL;
    json_object_foreach(b, key, value) {
        json_t *other = json_object_get(a, key);
        json_t *both = !other                   ? json_incref(value) :
                       json_equal(other, value) ? json_incref(value) :
                                                  together(other, value);
        if (!both || json_object_set_new(out, key, both)) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *merge_lists(json_t *a, json_t *b)
{
    json_t *out = lm_schema_copy(a), *value;
    size_t i;
    json_array_foreach(b, i, value)
        if (!out || json_array_append(out, value)) {
            json_decref(out);
            return NULL;
        }
    return out;
}

/* The value of a keyword that both have; NULL and *wrong: it cannot be said. */
static json_t *merge_keyword(const char *key, json_t *a, json_t *b, const char **wrong)
{
    static const char *const least[] = {"minimum", "exclusiveMinimum", "minLength", "minItems", NULL};
    static const char *const most[] = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", NULL};
    if (json_equal(a, b))
        return json_incref(a);
    if (strcmp(key, "properties") == 0 && json_is_object(a) && json_is_object(b))
        return merge_properties(a, b);
    if (strcmp(key, "required") == 0 && json_is_array(a) && json_is_array(b))
        return merge_lists(a, b);
    if (strcmp(key, "type") == 0)
        return common_types(a, b);
    if (is_one_of(key, least) && json_is_number(a) && json_is_number(b))
        return json_incref(json_number_value(a) > json_number_value(b) ? a : b);
    if (is_one_of(key, most) && json_is_number(a) && json_is_number(b))
        return json_incref(json_number_value(a) < json_number_value(b) ? a : b);
    if (strcmp(key, "items") == 0)
        return together(a, b);
    *wrong = "the schemas that must hold together have different values of a keyword";
    return NULL;
}

/* A schema that closes its properties holds for those of the other, too. */
static bool is_closed_to(json_t *a, json_t *b)
{
    json_t *more = json_object_get(a, "additionalProperties"), *value;
    const char *key;
    if (!more || json_is_true(more))
        return false;
    json_object_foreach(json_object_get(b, "properties"), key, value)
        if (!json_object_get(json_object_get(a, "properties"), key))
            return true;
    return false;
}

json_t *lm_schema_merge(json_t *a, json_t *b, const char **wrong)
{
    *wrong = NULL;
    if (json_is_true(a) || json_is_true(b))
        return json_incref(json_is_true(a) ? b : a);
    if (!json_is_object(a) || !json_is_object(b)) {
        *wrong = "a schema that is no object must hold together with others";
        return NULL;
    }
    if (is_closed_to(a, b) || is_closed_to(b, a)) {
        *wrong = "additionalProperties closes what another of the schemas that must hold together opens";
        return NULL;
    }
    json_t *out = lm_schema_copy(a), *value;
    const char *key;
    if (!out)
        return NULL;
    json_object_foreach(b, key, value) {
        json_t *other = lm_schema_describes(key) ? NULL : json_object_get(a, key);
        json_t *both = other ? merge_keyword(key, other, value, wrong) : json_incref(value);
        if (!both || json_object_set_new(out, key, both)) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* -- what excludes itself ------------------------------------------------------------------------ */

/* The values that there are alone, as a list to be given back; NULL: there may be any, or *failed for want of
 * memory. */
static json_t *values_of(json_t *schema, bool *failed)
{
    json_t *one = json_object_get(schema, "const"), *list = json_object_get(schema, "enum");
    if (!one)
        return json_is_array(list) ? json_incref(list) : NULL;
    list = json_array();
    if (list && json_array_append(list, one) == 0)
        return list;
    json_decref(list);
    *failed = true;
    return NULL;
}

static bool may_be(json_t *schema, json_t *values, const char *type)
{
    json_t *types = json_object_get(schema, "type"), *value;
    size_t i;
    json_array_foreach(values, i, value)
        if (lm_schema_has_type(value, type))
            return true;
    if (values)
        return false;
    if (types)
        return names_type(types, type) || (strcmp(type, "integer") == 0 && names_type(types, "number"));
    return true;
}

static bool share_value(json_t *a, json_t *b)
{
    size_t i, k;
    json_t *x, *y;
    json_array_foreach(a, i, x)
        json_array_foreach(b, k, y)
            if (lm_schema_same(x, y))
                return true;
    return false;
}

static bool requires(json_t *schema, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(schema, "required"), i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

/* Is there a property that both have, with other values? */
static bool told_by_property(json_t *a, json_t *b, bool *failed)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(a, "properties"), key, value) {
        json_t *x = values_of(value, failed),
               *y = values_of(json_object_get(json_object_get(b, "properties"), key), failed);
        bool apart = x && y && requires(a, key) && requires(b, key) && !share_value(x, y);
        json_decref(x);
        json_decref(y);
        if (apart)
            return true;
    }
    return false;
}

bool lm_schema_apart(json_t *a, json_t *b, bool *failed)
{
    json_t *x = values_of(a, failed), *y = values_of(b, failed);
    bool apart = x && y ? !share_value(x, y) : true;
    for (const char *const *t = all_types; *t && !(x && y); t++)
        if (may_be(a, x, *t) && may_be(b, y, *t))
            apart = strcmp(*t, "object") == 0 && !x && !y && told_by_property(a, b, failed) ? apart : false;
    json_decref(x);
    json_decref(y);
    return apart;
}
