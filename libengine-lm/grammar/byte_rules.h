/*
 * A grammar as rules over bytes: characters are the bytes of their UTF-8, so that tokens which end amid a character
 * need nothing of their own.
 */
#ifndef ENGINE_LM_BYTE_RULES_H
#define ENGINE_LM_BYTE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libengine/util/util.h"

/* A set of bytes. */
typedef struct lm_byte_set {
    uint64_t bits[4];
} lm_byte_set;

/* What a sequence is made of: its end, a byte of a set, or what a rule says. */
#define LM_ELEMENT_END 0u
#define LM_ELEMENT_SET (1u << 30)
#define LM_ELEMENT_CALL (2u << 30)
#define LM_ELEMENT_KIND(e) ((e) & (3u << 30))
#define LM_ELEMENT_INDEX(e) ((e) & ((1u << 30) - 1))

/* Alternatives: starts[first .. first + n - 1] are where their sequences begin. */
typedef struct lm_rule {
    uint32_t first, n;
    uint32_t line;    /* where it was first spoken of, for what is said to people */
    uint32_t name;    /* of itself or of the one that it is a part of           */
    bool defined;
    bool repetition;  /* its last element may be itself: no left recursion      */
} lm_rule;

typedef struct lm_rules {
    EU_ARRAY(uint32_t) elements;
    EU_ARRAY(uint32_t) starts;
    EU_ARRAY(lm_rule) rules;
    EU_ARRAY(lm_byte_set) sets;
    EU_ARRAY(char *) names;
    uint32_t root;
    uint8_t class_of[256]; /* bytes that no set tells apart have one class      */
    uint32_t n_classes;
} lm_rules;

/* Limits of a grammar that may come from anywhere. */
#define LM_GRAMMAR_BYTES (1u << 20)
#define LM_GRAMMAR_ELEMENTS (1u << 21)
#define LM_GRAMMAR_SETS 4096u
#define LM_GRAMMAR_DEPTH 200u
#define LM_GRAMMAR_TIMES 100000u

/* Reads a grammar in GBNF; `root`: the name of the rule that a text is (NULL: root). */
int lm_rules_read(const char *text, size_t length, const char *root, lm_rules *rules);
void lm_rules_free(lm_rules *rules);

/* -- building (byte_rules.c): false where memory or a limit has ended ---------------------------- */

typedef EU_ARRAY(uint32_t) lm_sequence_of;
/* Ranges of characters, first and last in turn. */
typedef EU_ARRAY(uint32_t) lm_ranges;

bool lm_rules_add(lm_rules *r, uint32_t name, uint32_t line, uint32_t *rule);
/* The sequence as an alternative: its place among the starts is the caller's to note. */
bool lm_rules_sequence(lm_rules *r, const uint32_t *elements, size_t n, uint32_t *start);
/* A rule becomes these alternatives. */
bool lm_rules_define(lm_rules *r, uint32_t rule, const uint32_t *starts, size_t n);
/* One byte; or a character of these ranges (or, `negated`, of no range), which may be sequences of their own. */
bool lm_rules_byte(lm_rules *r, uint8_t byte, uint32_t *element);
bool lm_rules_class(lm_rules *r, lm_ranges *ranges, bool negated, uint32_t name, uint32_t line, uint32_t *element);
/* What is behind `begin` in the sequence, `least` to `most` times (UINT32_MAX: any number). */
bool lm_rules_repeat(lm_rules *r, lm_sequence_of *sequence, size_t begin, uint32_t least, uint32_t most, uint32_t name,
                     uint32_t line);
/* After the last rule: classes of bytes. */
void lm_rules_classes(lm_rules *r);
/* A rule that begins with itself, so that no byte is ever read; UINT32_MAX: none; false: no memory. */
bool lm_rules_left_recursion(const lm_rules *r, uint32_t *rule);

#endif
