/*
 * Pre-tokenizers by regular expressions, for those that split.c has no matcher for: where they cut a text.
 *
 * An expression is what tokenizer files have: characters, [sets], \s \S \d \r \n \t, \p{L} and other categories,
 * groups, (?=..), (?!..), $, and ? * + {n,m}.  A repeated group takes as often as it can and does not give back, which
 * is the same in every expression here.  No text takes more time than in proportion to its length.
 */
#ifndef ENGINE_LM_RULES_H
#define ENGINE_LM_RULES_H

#include "libengine/util/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct split_rule split_rule;
typedef EU_ARRAY(uint32_t) end_list;

/* Expressions one after another, up to NULL: each cuts what the one before left in one piece; what it matches and what
 * is between matches are pieces.  NULL: out of memory, or an expression is wrong. */
split_rule *eng_rule_create(const char *const *expressions);
void eng_rule_free(split_rule *rule); /* takes NULL */
/* The ends of the pieces of n characters; `other` is room of the caller's, used from call to call.  false: no
 * memory. */
bool eng_rule_split(const split_rule *rule, const uint32_t *c, const uint8_t *classes, size_t n, end_list *ends,
                    end_list *other);

#endif
