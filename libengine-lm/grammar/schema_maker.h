/*
 * What makes a grammar of a schema, part by part: where it is, what it refuses, and what needs no other schemas.
 */
#ifndef ENGINE_LM_SCHEMA_MAKER_H
#define ENGINE_LM_SCHEMA_MAKER_H

#include <jansson.h>

#include "engine/lm.h"
#include "schema.h"

#define LM_SCHEMA_DEPTH 60u
#define LM_SCHEMA_FLATTENED 5000u
#define LM_SCHEMA_TOGETHER 200u /* that must hold together */
#define LM_SCHEMA_TIMES 10000

typedef struct lm_known_schema {
    json_t *schema;
    bool open; /* its rule is being made                                    */
} lm_known_schema;

typedef struct lm_maker {
    json_t *root, *made; /* made: schemas that came of others               */
    json_t *any;         /* true                                            */
    eu_text rules;
    EU_ARRAY(lm_known_schema) known; /* rules by number                      */
    uint32_t depth;
    uint32_t flattened;  /* schemas that $ref and allOf were taken from        */
    uint32_t read;       /* rules before this number are behind something that is read */
    int status;
} lm_maker;

/* Where a schema is, as a JSON pointer. */
typedef struct lm_place {
    char at[400];
} lm_place;
lm_place lm_place_inside(const lm_place *p, const char *key);
lm_place lm_place_at(const lm_place *p, size_t i);

/* Both are false, and the maker has failed. */
bool lm_schema_refuse(lm_maker *m, const lm_place *p, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool lm_schema_no_memory(lm_maker *m);

/* -- schema_flat.c: NULL where it has failed ------------------------------------------------ */

/* What `$ref` means. */
json_t *lm_schema_resolve(lm_maker *m, const char *ref, const lm_place *p);
/* A schema of the maker's own, which it keeps. */
json_t *lm_schema_keep(lm_maker *m, json_t *schema);
json_t *lm_schema_both(lm_maker *m, json_t *a, json_t *b, const lm_place *p);
/* Without $ref and allOf: what they say is part of it. */
json_t *lm_schema_flatten(lm_maker *m, json_t *schema, const lm_place *p, uint32_t depth);

/* -- schema_leaves.c ---------------------------------------------------------------------------- */

/* A keyword's whole number, if it is there. */
bool lm_schema_number(lm_maker *m, json_t *schema, const char *key, const lm_place *p, int64_t least, int64_t most,
                      int64_t *value);
bool lm_schema_integer_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to);
bool lm_schema_number_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to);
bool lm_schema_string_type(lm_maker *m, json_t *schema, const lm_place *p, eu_text *to);

#endif
