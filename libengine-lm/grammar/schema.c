/*
 * JSON schemas as grammars.  Each schema becomes a rule; one that is referred to, one alone.  What a grammar lets
 * through is always valid; not all that is valid is let through: properties come in the order of the schema, what it
 * does not name is not there unless additionalProperties says so, and values of const and enum are spelled in one way.
 */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lm.h"
#include "schema_maker.h"
#include "schema_merge.h"

#define RULES 20000u

static bool convert(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to);

/* -- rules ---------------------------------------------------------------------------------- */

/* The schema as the name of a rule.  direct: nothing was read before it. */
static bool refer(lm_maker *m, json_t *schema, const lm_place *p, bool direct, eu_text *to)
{
    uint32_t n = 0;
    while (n < m->known.n && m->known.at[n].schema != schema)
        n++;
    eu_text_format(to, "s%u", n);
    if (n < m->known.n)
        return !direct || !m->known.at[n].open || n < m->read || lm_schema_refuse(m, p, "it is nothing but itself");
    if (n >= RULES)
        return lm_schema_refuse(m, p, "the schema is too large: at most %u parts are possible", RULES);
    if (!eu_array_add(&m->known, (lm_known_schema){schema, true}))
        return lm_schema_no_memory(m);
    const uint32_t before = m->read;
    m->read = direct ? before : n;
    eu_text body = {0};
    bool good = ++m->depth < LM_SCHEMA_DEPTH ?
                    convert(m, schema, p, &body) :
                    lm_schema_refuse(m, p, "schemas are too deep within one another: %u are possible", LM_SCHEMA_DEPTH);
    m->depth--;
    m->read = before;
    m->known.at[n].open = false;
    eu_text_format(&m->rules, "s%u ::= %s\n", n, eu_text_get(&body));
    m->rules.failed |= body.failed;
    eu_text_free(&body);
    return good;
}

/* -- arrays ----------------------------------------------------------------------------------- */

#define COMMA "\",\" ws "

/* The elements behind the i first. */
static bool elements(lm_maker *m, json_t *schema, const lm_place *p, size_t i, const int64_t limits[2], eu_text *to)
{
    json_t *prefix = json_object_get(schema, "prefixItems"), *items = json_object_get(schema, "items");
    const size_t n = json_array_size(prefix);
    const int64_t least = limits[0], most = limits[1]; /* most -1: any */
    if (most == (int64_t)i || (i >= n && items && json_is_false(items)))
        return least <= (int64_t)i || lm_schema_refuse(m, p, "fewer elements are possible than minItems asks for");
    if (i < n) {
        lm_place q = lm_place_inside(p, "prefixItems"), r = lm_place_at(&q, i);
        eu_text_add(to, i ? " (" COMMA : "(");
        bool good = refer(m, json_array_get(prefix, i), &r, false, to) && elements(m, schema, p, i + 1, limits, to);
        eu_text_add(to, least > (int64_t)i ? ")" : ")?");
        return good;
    }
    eu_text one = {0};
    lm_place q = lm_place_inside(p, "items");
    bool good = items ? refer(m, items, &q, false, &one) : (eu_text_add(&one, "value"), true);
    const int64_t behind = (int64_t)i + (n == 0), from = least > behind ? least - behind : 0;
    if (n == 0)
        eu_text_format(to, "(%s", eu_text_get(&one));
    eu_text_format(to, " (" COMMA "%s){%lld,", eu_text_get(&one), (long long)from);
    eu_text_add(to, "");
    if (most >= 0)
        eu_text_format(to, "%lld", (long long)(most - behind));
    eu_text_add(to, n == 0 && least == 0 ? "})?" : n == 0 ? "})" : "}");
    to->failed |= one.failed;
    eu_text_free(&one);
    return good;
}

static bool arrays(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    int64_t limits[2] = {0, -1};
    json_t *prefix = json_object_get(schema, "prefixItems");
    if (!lm_schema_number(m, schema, "minItems", p, 0, LM_SCHEMA_TIMES, &limits[0]) ||
        !lm_schema_number(m, schema, "maxItems", p, 0, LM_SCHEMA_TIMES, &limits[1]))
        return false;
    if ((prefix && !json_is_array(prefix)) || json_array_size(prefix) > 100)
        return lm_schema_refuse(m, p, "prefixItems must be a list of at most 100 schemas");
    if (limits[1] >= 0 && limits[1] < limits[0])
        return lm_schema_refuse(m, p, "minItems is more than maxItems");
    if (json_object_get(schema, "uniqueItems") && !json_is_false(json_object_get(schema, "uniqueItems")))
        return lm_schema_refuse(m, p, "uniqueItems is not understood: no grammar can count");
    eu_text_add(to, "\"[\" ws ");
    bool good = elements(m, schema, p, 0, limits, to);
    eu_text_add(to, " ws \"]\"");
    return good;
}

/* -- objects ------------------------------------------------------------------------------------ */

/* A key in its quotes, as JSON spells it. */
static bool key_text(lm_maker *m, const char *key, eu_text *to)
{
    json_t *text = json_string(key);
    char *spelled = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    if (spelled)
        lm_schema_literal(to, spelled, strlen(spelled));
    json_decref(text);
    free(spelled);
    return spelled || lm_schema_no_memory(m);
}

/* Properties in the order of the schema; those that are required and not named are at the end. */
typedef struct members {
    const char **names;
    json_t **schemas;
    bool *required;
    size_t n;
    eu_text more; /* a member beside them; empty: there is none */
} members;

/* The rest of a key that begins with the `length` bytes of `prefix` and is none of the names, without escapes, of which
 * it could not be told what they spell. */
static void other_key(const members *o, char *prefix, size_t length, eu_text *to)
{
    bool next[256] = {false}, whole = false, wide = false;
    for (size_t i = 0; i < o->n; i++) {
        if (strncmp(o->names[i], prefix, length) != 0)
            continue;
        const unsigned char c = (unsigned char)o->names[i][length];
        whole |= !c;
        wide |= c >= 0x80;
        next[c] = true;
    }
    eu_text_add(to, whole ? "([" : "(\"\" | [");
    for (int c = ' '; c < 0x7f; c++)
        if (c != '"' && c != '\\' && !next[c])
            eu_text_format(to, "\\x%02x", c);
    eu_text_add(to, wide ? "" : "\\U00000080-\\U0010ffff");
    eu_text_add(to, "] [^\"\\\\\\x00-\\x1f\\x7f]*");
    for (int c = ' '; c < 0x7f; c++) {
        if (!next[c] || c == '"' || c == '\\')
            continue;
        eu_text_format(to, " | \"\\x%02x\" ", c);
        prefix[length] = (char)c;
        other_key(o, prefix, length + 1, to);
    }
    eu_text_add(to, ")");
}

static bool is_required(json_t *schema, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(schema, "required"), i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static void add_member(members *o, const char *name, json_t *schema, bool required)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->names[i], name) == 0)
            return;
    o->names[o->n] = name;
    o->schemas[o->n] = schema;
    o->required[o->n++] = required;
}

static bool list_members(lm_maker *m, json_t *schema, const lm_place *p, members *o)
{
    json_t *properties = json_object_get(schema, "properties"), *required = json_object_get(schema, "required"), *value;
    json_t *more = json_object_get(schema, "additionalProperties");
    const size_t room = json_object_size(properties) + json_array_size(required) + 1;
    const char *key;
    size_t i;
    if ((properties && !json_is_object(properties)) || (required && !json_is_array(required)))
        return lm_schema_refuse(m, p, "properties must be an object and required a list");
    o->names = calloc(room, sizeof *o->names);
    o->schemas = calloc(room, sizeof *o->schemas);
    o->required = calloc(room, sizeof *o->required);
    if (!o->names || !o->schemas || !o->required)
        return lm_schema_no_memory(m);
    json_object_foreach(properties, key, value)
        add_member(o, key, value, is_required(schema, key));
    json_array_foreach(required, i, value) {
        if (!json_is_string(value))
            return lm_schema_refuse(m, p, "required must be a list of texts");
        if (!json_object_get(properties, json_string_value(value)) && json_is_false(more))
            return lm_schema_refuse(m, p, "'%.60s' is required, and additionalProperties forbids it",
                                    json_string_value(value));
        add_member(o, json_string_value(value), more && json_is_object(more) ? more : m->any, true);
    }
    return true;
}

/* How a member beside those that have names looks. */
static bool describe_more(lm_maker *m, json_t *schema, const lm_place *p, members *o)
{
    json_t *more = json_object_get(schema, "additionalProperties");
    size_t longest = 0;
    if (!more || json_is_false(more))
        return true;
    for (size_t i = 0; i < o->n; i++)
        longest = strlen(o->names[i]) > longest ? strlen(o->names[i]) : longest;
    lm_place q = lm_place_inside(p, "additionalProperties");
    if (longest > 100)
        return lm_schema_refuse(m, &q, "beside names of more than 100 bytes this is not understood");
    char *prefix = calloc(longest + 2, 1);
    if (!prefix)
        return lm_schema_no_memory(m);
    eu_text_add(&o->more, "\"\\\"\" ");
    other_key(o, prefix, 0, &o->more);
    free(prefix);
    eu_text_add(&o->more, " \"\\\":\" ws ");
    return json_is_true(more) ? (eu_text_add(&o->more, "value"), true) : refer(m, more, &q, false, &o->more);
}

/* Members from i on, where some came before (`behind`) or none did. */
static bool member_list(lm_maker *m, const lm_place *p, const members *o, size_t i, bool behind, eu_text *to)
{
    if (i == o->n) {
        const char *more = eu_text_get(&o->more);
        if (*more)
            eu_text_format(to, behind ? " (" COMMA "%s)*" : "(%s (" COMMA "%s)*)?", more, more);
        return true;
    }
    lm_place q = lm_place_inside(p, "properties"), r = lm_place_inside(&q, o->names[i]);
    eu_text_add(to, behind ? (o->required[i] ? " " COMMA : " (" COMMA) : "(");
    bool good = key_text(m, o->names[i], to);
    eu_text_add(to, " \":\" ws ");
    good = good && refer(m, o->schemas[i], &r, false, to);
    if (behind) {
        eu_text_add(to, o->required[i] ? "" : ")?");
        return good && member_list(m, p, o, i + 1, true, to);
    }
    good = good && member_list(m, p, o, i + 1, true, to); /* the first that is there, */
    if (good && !o->required[i]) {
        eu_text_add(to, " | "); /* or another is */
        good = member_list(m, p, o, i + 1, false, to);
    }
    eu_text_add(to, ")");
    return good;
}

static bool objects(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    members o = {0};
    if (!json_object_get(schema, "properties") && !json_object_get(schema, "required") &&
        !json_object_get(schema, "additionalProperties")) {
        eu_text_add(to, "object");
        return true;
    }
    bool good = list_members(m, schema, p, &o) && describe_more(m, schema, p, &o);
    if (o.n > 100)
        good = lm_schema_refuse(m, p, "an object of more than 100 properties");
    eu_text_add(to, "\"{\" ws ");
    good = good && member_list(m, p, &o, 0, false, to);
    eu_text_add(to, " ws \"}\"");
    to->failed |= o.more.failed;
    eu_text_free(&o.more);
    free(o.names);
    free(o.schemas);
    free(o.required);
    return good;
}

/* -- schemas ---------------------------------------------------------------------------------------- */

static bool of_type(lm_maker *m, const char *type, json_t *schema, const lm_place *p, eu_text *to)
{
    static const struct {
        const char *name;
        bool (*make)(lm_maker *, json_t *, const lm_place *, eu_text *);
    } types[] = {{"object", objects}, {"array", arrays}, {"string", lm_schema_string_type}, {"integer", lm_schema_integer_type}, {"number", lm_schema_number_type}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].make(m, schema, p, to);
    if (strcmp(type, "boolean") == 0)
        eu_text_add(to, "(\"true\" | \"false\")");
    else if (strcmp(type, "null") == 0)
        eu_text_add(to, "\"null\"");
    else
        return lm_schema_refuse(m, p, "there is no type '%.60s'", type);
    return true;
}

static bool is_word(const char *word, const char *words)
{
    const size_t n = strlen(word);
    if (n == 0 || strchr(word, ' '))
        return false;
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* The type that keywords are about, if there is no other; NULL: they are about none. */
static const char *implied(json_t *schema)
{
    static const char *const about[][2] = {{"object", "properties required additionalProperties"},
                                           {"array", "items prefixItems minItems maxItems uniqueItems"},
                                           {"string", "pattern format minLength maxLength"},
                                           {"number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"}};
    const char *key;
    json_t *value;
    for (size_t i = 0; i < 4; i++)
        json_object_foreach(schema, key, value)
            if (is_word(key, about[i][1]))
                return about[i][0];
    return NULL;
}

static bool check_keywords(lm_maker *m, json_t *schema, const lm_place *p)
{
    static const char known_words[] = "type properties required additionalProperties items prefixItems minItems maxItems uniqueItems enum const anyOf "
                                      "oneOf pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf";
    const char *key;
    json_t *value;
    json_object_foreach(schema, key, value)
        if (!lm_schema_describes(key) && !is_word(key, known_words)) {
            lm_place q = lm_place_inside(p, key);
            return lm_schema_refuse(m, &q, "this keyword is not understood");
        }
    return true;
}

/* const and enum: the values that the type allows. */
static bool values(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    json_t *one = json_object_get(schema, "const"), *list = json_object_get(schema, "enum"),
           *types = json_object_get(schema, "type"), *value, *type;
    const char *key, *before = "";
    size_t i, k, n = one ? 1 : json_array_size(list);
    json_object_foreach(schema, key, value)
        if (!lm_schema_describes(key) && !is_word(key, "const enum type")) {
            lm_place q = lm_place_inside(p, key);
            return lm_schema_refuse(m, &q, "this keyword is not understood beside const or enum");
        }
    if (one && list)
        return lm_schema_refuse(m, p, "const and enum are not understood together");
    eu_text_add(to, "(");
    for (i = 0; i < n; i++) {
        value = one ? one : json_array_get(list, i);
        bool fits = !types || (json_is_string(types) && lm_schema_has_type(value, json_string_value(types)));
        json_array_foreach(types, k, type)
            fits |= json_is_string(type) && lm_schema_has_type(value, json_string_value(type));
        if (!fits)
            continue;
        char *spelled = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        if (!spelled)
            return lm_schema_no_memory(m);
        eu_text_add(to, before);
        lm_schema_literal(to, spelled, strlen(spelled));
        free(spelled);
        before = " | ";
    }
    eu_text_add(to, ")");
    return *before || lm_schema_refuse(m, p, "no value is possible");
}

/* anyOf and oneOf: each with what is beside them. */
static bool choices(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    const char *key = json_object_get(schema, "anyOf") ? "anyOf" : "oneOf";
    json_t *list = json_object_get(schema, key), *rest = lm_schema_keep(m, lm_schema_copy(schema)),
           *alternatives = lm_schema_keep(m, json_array());
    lm_place q = lm_place_inside(p, key);
    bool failed = false;
    if (!rest || !alternatives)
        return false;
    json_object_del(rest, key);
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > 200)
        return lm_schema_refuse(m, &q, "a list of 1 to 200 schemas is needed");
    for (size_t i = 0; i < json_array_size(list); i++) {
        lm_place r = lm_place_at(&q, i);
        json_t *one = json_array_get(list, i), *flat = lm_schema_flatten(m, one, &r, 0);
        bool alone = strcmp(key, "anyOf") == 0 && json_object_get(one, "$ref") && json_object_size(one) == 1;
        const char *other;
        json_t *value;
        json_object_foreach(rest, other, value)
            alone &= lm_schema_describes(other);
        if (!flat || !(one = alone ? one : lm_schema_both(m, flat, rest, &r)))
            return false;
        for (size_t k = 0; k < i && strcmp(key, "oneOf") == 0; k++)
            if (!lm_schema_apart(one, json_array_get(alternatives, k), &failed))
                return failed ? lm_schema_no_memory(m) : lm_schema_refuse(m, &r, "a document may be of this and of number %zu, too, of which only one may hold", k);
        if (json_array_append(alternatives, one))
            return lm_schema_no_memory(m);
        eu_text_add(to, i ? " | " : "");
        if (!refer(m, one, &r, true, to))
            return false;
    }
    return true;
}

static bool convert(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to)
{
    json_t *ref = json_object_get(schema, "$ref"), *types, *one;
    size_t i;
    if (json_is_false(schema))
        return lm_schema_refuse(m, p, "nothing is valid here");
    if (json_is_true(schema)) {
        eu_text_add(to, "value");
        return true;
    }
    if (!json_is_object(schema))
        return lm_schema_refuse(m, p, "a schema is an object, true or false");
    if (json_is_string(ref) && json_object_size(schema) == 1) {
        json_t *target = lm_schema_resolve(m, json_string_value(ref), p);
        lm_place q = {"#"};
        snprintf(q.at, sizeof q.at, "%s", json_string_value(ref));
        return target && refer(m, target, &q, true, to);
    }
    schema = lm_schema_flatten(m, schema, p, 0);
    if (!schema || !check_keywords(m, schema, p))
        return false;
    if (json_object_get(schema, "anyOf") || json_object_get(schema, "oneOf"))
        return choices(m, schema, p, to);
    if (json_object_get(schema, "const") || json_object_get(schema, "enum"))
        return values(m, schema, p, to);
    types = json_object_get(schema, "type");
    if (json_is_string(types))
        return of_type(m, json_string_value(types), schema, p, to);
    if (types && (!json_is_array(types) || json_array_size(types) == 0))
        return lm_schema_refuse(m, p,
                                json_is_array(types) ? "no type is possible" :
                                                       "type must be a text or a list of texts");
    json_array_foreach(types, i, one) {
        if (!json_is_string(one))
            return lm_schema_refuse(m, p, "type must be a text or a list of texts");
        eu_text_add(to, i ? " | " : "");
        if (!of_type(m, json_string_value(one), schema, p, to))
            return false;
    }
    if (types)
        return true;
    const char *type = implied(schema);
    if (type)
        return of_type(m, type, schema, p, to);
    eu_text_add(to, "value");
    return true;
}

/* -- the whole ----------------------------------------------------------------------------------------- */

static int make(lm_maker *m, char **gbnf)
{
    eu_text first = {0}, whole = {0};
    const lm_place p = {"#"};
    m->made = json_array();
    m->any = json_true();
    bool good = (m->made || lm_schema_no_memory(m)) && refer(m, m->root, &p, false, &first);
    eu_text_format(&whole, "root ::= %s\n", eu_text_get(&first));
    eu_text_add(&whole, eu_text_get(&m->rules));
    eu_text_add(&whole, lm_schema_basis);
    if (good && (m->rules.failed || first.failed || !(*gbnf = eu_text_take(&whole))))
        lm_schema_no_memory(m);
    eu_text_free(&first);
    eu_text_free(&whole);
    eu_text_free(&m->rules);
    eu_array_free(&m->known);
    json_decref(m->made);
    return m->status;
}

/* Jansson tells of memory that it does not get as of a text that it cannot read, or loses a letter: it is asked twice,
 * and whether there is memory at all. */
static int load(const char *json, size_t length, json_t **root)
{
    json_error_t error = {.line = 0};
    json_t *first = json_loadb(json, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    *root = json_loadb(json, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    const bool other = first && *root && !json_equal(first, *root);
    json_decref(first);
    if (*root && !other)
        return ENG_OK;
    if (other)
        json_decref(*root);
    if (other || first)
        return eng_fail_code(EU_NO_MEMORY("a JSON schema"));
    void *probe = malloc(1 << 12);
    int status = probe ? eng_fail(ENG_ERR_FORMAT, "JSON schema, line %d" ENG_CAUSE "%s", error.line, error.text) :
                         eng_fail_code(EU_NO_MEMORY("a JSON schema"));
    free(probe);
    return status;
}

int lm_schema_to_gbnf(const char *json, size_t length, char **gbnf)
{
    lm_maker m = {0};
    int status = load(json, length, &m.root);
    if (status)
        return status;
    status = make(&m, gbnf);
    json_decref(m.root);
    return status;
}
