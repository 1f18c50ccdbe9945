/*
 * JSON schemas as grammars: what the files of it share.
 */
#ifndef ENGINE_LM_SCHEMA_H
#define ENGINE_LM_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libengine/util/util.h"

/* A grammar in GBNF of the documents that a schema allows; *gbnf is to be freed.  What is not understood is refused by
 * its JSON pointer. */
int lm_schema_to_gbnf(const char *json, size_t length, char **gbnf);

/* -- texts of the grammar (schema_text.c) ------------------------------------------------- */

/* A text in quotes. */
void lm_schema_literal(eu_text *to, const char *text, size_t n);
/* Whole numbers from `least` to `most`, as alternatives in parentheses. */
void lm_schema_integers(eu_text *to, int64_t least, int64_t most);
/* Decimals within bounds, which may be infinite, and outside themselves (open): as alternatives in parentheses, without
 * exponents.  NULL, or what is wrong (schema_decimals.c). */
const char *lm_schema_decimals(eu_text *to, double least, bool open_least, double most, bool open_most);
/* The rules that others stand on: value, string, char, number, integer, ws. */
extern const char lm_schema_basis[];
/* What a format of strings says, quotes and all; NULL: it is not known. */
const char *lm_schema_format(const char *name);

/* -- patterns (schema_pattern.c) ---------------------------------------------------------- */

/* What is between the quotes of strings that a regular expression is found in; NULL, or what of it is not
 * understood. */
const char *lm_schema_pattern(eu_text *to, const char *pattern);

#endif
