/*
 * Schemas that must hold together, as one.
 */
#ifndef ENGINE_LM_SCHEMA_MERGE_H
#define ENGINE_LM_SCHEMA_MERGE_H

#include <jansson.h>
#include <stdbool.h>

/* A new schema that says what both do; NULL: no memory, or *wrong is the keyword of which that cannot be said. */
json_t *lm_schema_merge(json_t *a, json_t *b, const char **wrong);
/* Of the first level, whole: Jansson's leaves out what it gets no memory for.  NULL: no memory. */
json_t *lm_schema_copy(json_t *value);
/* Is it certain that no document is of both?  They are resolved.  *failed: no, for want of memory. */
bool lm_schema_apart(json_t *a, json_t *b, bool *failed);
/* The same value to JSON Schema, where 1 is 1.0. */
bool lm_schema_same(json_t *a, json_t *b);
/* Does a keyword only describe? */
bool lm_schema_describes(const char *keyword);
/* Has this value the type of that name? */
bool lm_schema_has_type(json_t *value, const char *type);

#endif
