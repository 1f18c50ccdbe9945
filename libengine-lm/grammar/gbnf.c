/* Reading a grammar in GBNF, the language of llama.cpp's grammars. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lm.h"
#include "byte_rules.h"

typedef struct reader {
    const char *text, *at, *end;
    uint32_t line, depth;
    lm_rules *rules;
    eu_map names;      /* of rules->names, whose rules are numbered in rule_of */
    EU_ARRAY(uint32_t) rule_of;
    uint32_t name;     /* of the rule that is read                             */
    int status;
} reader;

/* -- what goes wrong --------------------------------------------------------------------- */

static bool too_large(reader *r)
{
    if (!r->status)
        r->status = eng_fail(ENG_ERR_UNSUPPORTED,
                             "grammar, line %u" ENG_CAUSE "the grammar is too large: at most %u elements and "
                             "%u sets of bytes are possible",
                             r->line, LM_GRAMMAR_ELEMENTS, LM_GRAMMAR_SETS);
    return false;
}

static bool limit(reader *r)
{
    if (r->rules->elements.n + 1000 > LM_GRAMMAR_ELEMENTS || r->rules->sets.n >= LM_GRAMMAR_SETS ||
        r->rules->rules.n >= LM_GRAMMAR_ELEMENTS)
        return too_large(r);
    if (!r->status)
        r->status = eng_fail_code(EU_NO_MEMORY("a grammar"));
    return false;
}

static bool expected(reader *r, const char *what)
{
    char got[32];
    size_t length = r->at < r->end ? eu_utf8_length(r->at, (size_t)(r->end - r->at)) : 0;
    if (r->at == r->end)
        snprintf(got, sizeof got, "the end");
    else if (*r->at == '\n' || *r->at == '\r')
        snprintf(got, sizeof got, "the end of the line");
    else
        snprintf(got, sizeof got, "'%.*s'", length ? (int)length : 1, r->at);
    if (!r->status)
        r->status = eng_fail(ENG_ERR_FORMAT, "grammar, line %u" ENG_CAUSE "expected %s, got %s", r->line, what, got);
    return false;
}

/* -- words ---------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static char look(const reader *r)
{
    return r->at < r->end ? *r->at : 0;
}

/* Spaces and comments; line ends only where a sequence may go on behind them. */
static void skip(reader *r, bool lines)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
                r->at++;
        if (r->at == r->end || (*r->at != ' ' && *r->at != '\t' && (!lines || (*r->at != '\n' && *r->at != '\r'))))
            return;
        r->line += *r->at == '\n';
    }
}

static eu_key key_of(const void *owner, uint32_t entry)
{
    const lm_rules *rules = owner;
    return (eu_key){rules->names.at[entry], strlen(rules->names.at[entry])};
}

/* The number of the name that is read here, and its rule. */
static bool read_name(reader *r, uint32_t *name, uint32_t *rule)
{
    const char *begin = r->at;
    uint32_t first;
    while (is_name(look(r)))
        r->at++;
    if (r->at == begin)
        return expected(r, "the name of a rule");
    char *copy = strndup(begin, (size_t)(r->at - begin));
    if (!copy)
        return limit(r);
    *name = eu_map_find(&r->names, r->rules, copy, strlen(copy));
    if (*name != EU_NONE) {
        free(copy);
        *rule = r->rule_of.at[*name];
        return true;
    }
    *name = (uint32_t)r->rules->names.n;
    if (!eu_array_add(&r->rules->names, copy)) {
        free(copy);
        return limit(r);
    }
    if (!eu_map_add(&r->names, r->rules, *name, &first) || !lm_rules_add(r->rules, *name, r->line, rule) ||
        !eu_array_add(&r->rule_of, *rule))
        return limit(r);
    return true;
}

/* -- characters -------------------------------------------------------------------------------- */

static bool read_hex(reader *r, int digits, uint32_t *c)
{
    *c = 0;
    for (int i = 0; i < digits; i++, r->at++) {
        const char *hex = "0123456789abcdef0123456789ABCDEF", *found = look(r) ? strchr(hex, *r->at) : NULL;
        if (!found)
            return expected(r, "a hexadecimal digit");
        *c = *c * 16 + (uint32_t)(found - hex) % 16;
    }
    if (*c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000))
        return expected(r, "digits of a character before this");
    return true;
}

static bool read_escape(reader *r, uint32_t *c)
{
    static const char from[] = "nrt\\\"[]", to[] = "\n\r\t\\\"[]";
    const char *known = look(r) ? strchr(from, *r->at) : NULL;
    if (known) {
        *c = (uint8_t)to[known - from];
        r->at++;
        return true;
    }
    int digits = look(r) == 'x' ? 2 : look(r) == 'u' ? 4 : look(r) == 'U' ? 8 : 0;
    if (!digits)
        return expected(r, "n, r, t, x, u, U, a quote, a backslash or a bracket behind \\");
    r->at++;
    return read_hex(r, digits, c);
}

static bool read_character(reader *r, uint32_t *c)
{
    size_t length = r->at < r->end ? eu_utf8_length(r->at, (size_t)(r->end - r->at)) : 0;
    if (length == 0)
        return expected(r, "a character in UTF-8");
    if (*r->at == '\\') {
        r->at++;
        return read_escape(r, c);
    }
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    *c = (uint8_t)*r->at & masks[length];
    for (size_t i = 1; i < length; i++)
        *c = *c << 6 | ((uint8_t)r->at[i] & 0x3f);
    r->line += *r->at == '\n';
    r->at += length;
    return true;
}

/* Behind the quote. */
static bool read_literal(reader *r, lm_sequence_of *s)
{
    while (look(r) != '"' || r->at == r->end) {
        uint32_t c, element;
        if (r->at == r->end)
            return expected(r, "a quote that ends the text");
        if (!read_character(r, &c))
            return false;
        uint8_t bytes[4] = {(uint8_t)c};
        int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        for (int i = n - 1; n > 1 && i > 0; i--, c >>= 6)
            bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
        if (n > 1)
            bytes[0] = (uint8_t)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
        for (int i = 0; i < n; i++)
            if (!lm_rules_byte(r->rules, bytes[i], &element) || !eu_array_add(s, element))
                return limit(r);
    }
    r->at++;
    return true;
}

/* Behind the bracket. */
static bool read_class(reader *r, lm_sequence_of *s)
{
    lm_ranges ranges = {0};
    uint32_t line = r->line, element;
    bool negated = look(r) == '^', good = true;
    r->at += negated;
    while (good && look(r) != ']') {
        uint32_t first, last;
        good = r->at < r->end ? read_character(r, &first) : expected(r, "] that ends the class");
        last = first;
        if (good && look(r) == '-' && r->at + 1 < r->end && r->at[1] != ']') {
            r->at++;
            good = read_character(r, &last);
            if (good && last < first)
                good = expected(r, "a range whose end is not before its beginning, before this");
        }
        if (good && (!eu_array_add(&ranges, first) || !eu_array_add(&ranges, last)))
            good = limit(r);
    }
    r->at += good;
    if (good && (!lm_rules_class(r->rules, &ranges, negated, r->name, line, &element) || !eu_array_add(s, element)))
        good = limit(r);
    eu_array_free(&ranges);
    return good;
}

static bool read_any(reader *r, lm_sequence_of *s)
{
    lm_ranges none = {0};
    uint32_t element;
    r->at++;
    bool good = lm_rules_class(r->rules, &none, true, r->name, r->line, &element) && eu_array_add(s, element);
    eu_array_free(&none);
    return good || limit(r);
}

/* -- sequences ------------------------------------------------------------------------------------ */

static bool read_count(reader *r, uint32_t *n)
{
    if (look(r) < '0' || look(r) > '9')
        return expected(r, "a number");
    for (*n = 0; look(r) >= '0' && look(r) <= '9'; r->at++)
        if ((*n = *n * 10 + (uint32_t)(*r->at - '0')) > LM_GRAMMAR_TIMES)
            return expected(r, "a number of at most 100000");
    return true;
}

/* {3}, {3,} or {3,5} behind its bracket. */
static bool read_counts(reader *r, uint32_t *least, uint32_t *most)
{
    skip(r, true);
    if (!read_count(r, least))
        return false;
    *most = *least;
    skip(r, true);
    if (look(r) == ',') {
        r->at++;
        skip(r, true);
        *most = UINT32_MAX;
        if (look(r) != '}' && !read_count(r, most))
            return false;
        skip(r, true);
    }
    if (look(r) != '}')
        return expected(r, "}");
    if (*most < *least)
        return expected(r, "a second number that is not less than the first, before this");
    r->at++;
    return true;
}

/* What is behind the last thing: *, +, ? or a number of times; as often as they come. */
static bool read_times(reader *r, lm_sequence_of *s, size_t begin, bool nested)
{
    for (bool any = true; any;) {
        uint32_t least = look(r) == '+', most = look(r) == '?' ? 1 : UINT32_MAX;
        any = look(r) && strchr("*+?{", look(r)) != NULL;
        if (!any)
            return true;
        bool counted = *r->at++ == '{';
        if (counted && !read_counts(r, &least, &most))
            return false;
        if ((most != UINT32_MAX ? most : least) > LM_GRAMMAR_ELEMENTS / 8 || begin + least > LM_GRAMMAR_ELEMENTS)
            return too_large(r);
        if (!lm_rules_repeat(r->rules, s, begin, least, most, r->name, r->line))
            return limit(r);
        skip(r, nested);
    }
    return true;
}

static bool read_alternatives(reader *r, uint32_t rule, bool nested);

static bool read_thing(reader *r, lm_sequence_of *s)
{
    uint32_t name, rule;
    const char c = *r->at;
    if (c == '"' || c == '[') {
        r->at++;
        return c == '"' ? read_literal(r, s) : read_class(r, s);
    }
    if (c == '.')
        return read_any(r, s);
    if (c != '(')
        return read_name(r, &name, &rule) && (eu_array_add(s, LM_ELEMENT_CALL | rule) || limit(r));
    r->at++;
    if (++r->depth > LM_GRAMMAR_DEPTH)
        return expected(r, "fewer than 200 groups within one another");
    skip(r, true);
    if (!lm_rules_add(r->rules, r->name, r->line, &rule))
        return limit(r);
    if (!read_alternatives(r, rule, true))
        return false;
    if (look(r) != ')')
        return expected(r, ")");
    r->at++;
    r->depth--;
    return eu_array_add(s, LM_ELEMENT_CALL | rule) || limit(r);
}

static bool read_sequence(reader *r, bool nested, uint32_t *start)
{
    lm_sequence_of s = {0};
    bool good = true;
    while (good && r->at < r->end && (is_name(*r->at) || (*r->at && strchr("\"[(.", *r->at)))) {
        size_t begin = s.n;
        good = read_thing(r, &s);
        if (good)
            skip(r, nested);
        good = good && read_times(r, &s, begin, nested);
    }
    if (good && look(r) == '<')
        good = expected(r, "characters: tokens (<...>) are not known here");
    good = good && (lm_rules_sequence(r->rules, s.at, s.n, start) || limit(r));
    eu_array_free(&s);
    return good;
}

static bool read_alternatives(reader *r, uint32_t rule, bool nested)
{
    EU_ARRAY(uint32_t) starts = {0};
    bool good = true, more = true;
    while (good && more) {
        uint32_t start;
        good = read_sequence(r, nested, &start) && (eu_array_add(&starts, start) || limit(r));
        more = good && look(r) == '|';
        if (more) {
            r->at++;
            skip(r, true);
        }
    }
    good = good && (lm_rules_define(r->rules, rule, starts.at, starts.n) || limit(r));
    eu_array_free(&starts);
    return good;
}

/* -- rules ------------------------------------------------------------------------------------------ */

static bool read_rule(reader *r)
{
    uint32_t rule;
    const uint32_t line = r->line;
    if (!read_name(r, &r->name, &rule))
        return false;
    if (r->rules->rules.at[rule].defined) {
        r->status = eng_fail(ENG_ERR_FORMAT, "grammar, line %u" ENG_CAUSE "the rule %s is there a second time", line,
                             r->rules->names.at[r->name]);
        return false;
    }
    skip(r, false);
    if (r->end - r->at < 3 || strncmp(r->at, "::=", 3) != 0)
        return expected(r, "::=");
    r->at += 3;
    skip(r, true);
    if (!read_alternatives(r, rule, false))
        return false;
    if (r->at < r->end && *r->at != '\n' && *r->at != '\r')
        return expected(r, "the end of the rule");
    skip(r, true);
    return true;
}

static int fault(const reader *r, uint32_t rule, const char *what)
{
    const lm_rule *found = &r->rules->rules.at[rule];
    return eng_fail(ENG_ERR_FORMAT, "grammar, line %u" ENG_CAUSE "the rule %s %s", found->line,
                    r->rules->names.at[found->name], what);
}

/* What only the whole grammar tells. */
static int check(const reader *r, const char *root)
{
    uint32_t found, name = eu_map_find(&r->names, r->rules, root, strlen(root));
    if (name == EU_NONE || !r->rules->rules.at[r->rule_of.at[name]].defined)
        return eng_fail(ENG_ERR_FORMAT, "grammar" ENG_CAUSE "there is no rule %s, which a text would be", root);
    r->rules->root = r->rule_of.at[name];
    for (uint32_t i = 0; i < r->rules->rules.n; i++)
        if (!r->rules->rules.at[i].defined)
            return fault(r, i, "is used here and nowhere defined");
    if (!lm_rules_left_recursion(r->rules, &found))
        return eng_fail_code(EU_NO_MEMORY("a grammar"));
    return found == UINT32_MAX ? ENG_OK : fault(r, found, "begins with itself: left recursion is not possible");
}

int lm_rules_read(const char *text, size_t length, const char *root, lm_rules *rules)
{
    reader r = {.text = text, .at = text, .end = text + length, .line = 1, .rules = rules, .names = {.key_of = key_of}};
    *rules = (lm_rules){0};
    if (length > LM_GRAMMAR_BYTES)
        return eng_fail(ENG_ERR_UNSUPPORTED, "a grammar of %zu bytes" ENG_CAUSE "at most %u are possible", length,
                        LM_GRAMMAR_BYTES);
    skip(&r, true);
    while (!r.status && r.at < r.end && read_rule(&r))
        ;
    if (!r.status)
        r.status = check(&r, root ? root : "root");
    if (!r.status)
        lm_rules_classes(rules);
    eu_map_free(&r.names);
    eu_array_free(&r.rule_of);
    if (r.status)
        lm_rules_free(rules);
    return r.status;
}
