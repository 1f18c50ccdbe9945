/* What $ref and allOf say, as one schema. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "schema_maker.h"
#include "schema_merge.h"

/* What `$ref` means. */
json_t *lm_schema_resolve(lm_maker *m, const char *ref, const lm_place *p)
{
    json_t *at = m->root;
    const char *c = ref;
    if (*c++ != '#') {
        lm_schema_refuse(m, p, "$ref '%.100s' is not within the document", ref);
        return NULL;
    }
    while (at && *c == '/') {
        char key[200];
        size_t n = 0;
        for (c++; *c && *c != '/' && n + 1 < sizeof key; c++) {
            bool escape = *c == '~' && (c[1] == '0' || c[1] == '1');
            key[n++] = !escape ? *c : c[1] == '0' ? '~' : '/';
            c += escape;
        }
        key[n] = 0;
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10)) : json_object_get(at, key);
    }
    if (at && !*c)
        return at;
    lm_schema_refuse(m, p, "$ref '%.100s' leads to nothing", ref);
    return NULL;
}

/* A schema of this maker's own, which it keeps. */
json_t *lm_schema_keep(lm_maker *m, json_t *schema)
{
    if (!schema || json_array_append_new(m->made, schema)) {
        lm_schema_no_memory(m);
        return NULL;
    }
    return schema;
}

json_t *lm_schema_both(lm_maker *m, json_t *a, json_t *b, const lm_place *p)
{
    const char *wrong;
    json_t *both = lm_schema_merge(a, b, &wrong);
    if (!both && wrong) {
        lm_schema_refuse(m, p, "%s", wrong);
        return NULL;
    }
    return lm_schema_keep(m, both);
}

/* Without $ref and allOf: what they say is part of it. */
json_t *lm_schema_flatten(lm_maker *m, json_t *schema, const lm_place *p, uint32_t depth)
{
    json_t *ref = json_object_get(schema, "$ref"), *all = json_object_get(schema, "allOf"), *part;
    size_t i;
    if (!json_is_object(schema) || (!ref && !all))
        return schema;
    if (depth > LM_SCHEMA_DEPTH) {
        lm_schema_refuse(m, p, "$ref and allOf lead to themselves");
        return NULL;
    }
    if (++m->flattened > LM_SCHEMA_FLATTENED || json_array_size(all) > LM_SCHEMA_TOGETHER) {
        lm_schema_refuse(m, p, "the schema is too large: at most %u $ref and allOf are possible, of %u parts each",
                         LM_SCHEMA_FLATTENED, LM_SCHEMA_TOGETHER);
        return NULL;
    }
    if ((ref && !json_is_string(ref)) || (all && !json_is_array(all))) {
        lm_schema_refuse(m, p, ref ? "$ref must be a text" : "allOf must be a list");
        return NULL;
    }
    json_t *rest = lm_schema_keep(m, lm_schema_copy(schema));
    if (!rest)
        return NULL;
    json_object_del(rest, "$ref");
    json_object_del(rest, "allOf");
    if (ref) {
        json_t *target = lm_schema_resolve(m, json_string_value(ref), p);
        target = target ? lm_schema_flatten(m, target, p, depth + 1) : NULL;
        rest = target ? lm_schema_both(m, target, rest, p) : NULL;
    }
    json_array_foreach(all, i, part) {
        lm_place q = lm_place_inside(p, "allOf"), r = lm_place_at(&q, i);
        part = rest ? lm_schema_flatten(m, part, &r, depth + 1) : NULL;
        rest = part ? lm_schema_both(m, rest, part, &r) : NULL;
    }
    return rest && (json_object_get(rest, "$ref") || json_object_get(rest, "allOf")) ?
               lm_schema_flatten(m, rest, p, depth + 1) :
               rest;
}
