/* Grammars as rules over bytes: building them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "byte_rules.h"

void lm_rules_free(lm_rules *r)
{
    for (size_t i = 0; i < r->names.n; i++)
        free(r->names.at[i]);
    eu_array_free(&r->names);
    eu_array_free(&r->elements);
    eu_array_free(&r->starts);
    eu_array_free(&r->rules);
    eu_array_free(&r->sets);
}

bool lm_rules_add(lm_rules *r, uint32_t name, uint32_t line, uint32_t *rule)
{
    *rule = (uint32_t)r->rules.n;
    return r->rules.n < LM_GRAMMAR_ELEMENTS && eu_array_add(&r->rules, (lm_rule){.name = name, .line = line});
}

bool lm_rules_sequence(lm_rules *r, const uint32_t *elements, size_t n, uint32_t *start)
{
    *start = (uint32_t)r->elements.n;
    if (r->elements.n + n + 1 > LM_GRAMMAR_ELEMENTS || !eu_array_reserve(&r->elements, r->elements.n + n + 1))
        return false;
    for (size_t i = 0; i < n; i++)
        r->elements.at[r->elements.n++] = elements[i];
    r->elements.at[r->elements.n++] = LM_ELEMENT_END;
    return true;
}

bool lm_rules_define(lm_rules *r, uint32_t rule, const uint32_t *starts, size_t n)
{
    if (!eu_array_reserve(&r->starts, r->starts.n + n))
        return false;
    r->rules.at[rule].first = (uint32_t)r->starts.n;
    r->rules.at[rule].n = (uint32_t)n;
    r->rules.at[rule].defined = true;
    for (size_t i = 0; i < n; i++)
        r->starts.at[r->starts.n++] = starts[i];
    return true;
}

/* A rule of one or two alternatives; b NULL: of one. */
static bool small_rule(lm_rules *r, uint32_t rule, const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    uint32_t starts[2] = {0, 0};
    return lm_rules_sequence(r, a, n_a, &starts[0]) && (!b || lm_rules_sequence(r, b, n_b, &starts[1])) &&
           lm_rules_define(r, rule, starts, b ? 2 : 1);
}

/* -- sets of bytes ---------------------------------------------------------------------- */

static bool add_set(lm_rules *r, const lm_byte_set *set, uint32_t *element)
{
    size_t i = 0;
    while (i < r->sets.n && memcmp(&r->sets.at[i], set, sizeof *set) != 0)
        i++;
    *element = LM_ELEMENT_SET | (uint32_t)i;
    return i < r->sets.n || (r->sets.n < LM_GRAMMAR_SETS && eu_array_add(&r->sets, *set));
}

static bool add_range(lm_rules *r, uint32_t first, uint32_t last, uint32_t *element)
{
    lm_byte_set set = {{0}};
    for (uint32_t b = first; b <= last; b++)
        set.bits[b / 64] |= (uint64_t)1 << b % 64;
    return add_set(r, &set, element);
}

bool lm_rules_byte(lm_rules *r, uint8_t byte, uint32_t *element)
{
    return add_range(r, byte, byte, element);
}

void lm_rules_classes(lm_rules *r)
{
    memset(r->class_of, 0, sizeof r->class_of);
    r->n_classes = 1;
    for (size_t s = 0; s < r->sets.n; s++) {
        int16_t within[256];
        memset(within, -1, sizeof within);
        bool outside[256] = {false};
        for (int b = 0; b < 256; b++)
            outside[r->class_of[b]] |= !(r->sets.at[s].bits[b / 64] >> b % 64 & 1);
        for (int b = 0; b < 256; b++) {
            uint8_t old = r->class_of[b];
            if (!(r->sets.at[s].bits[b / 64] >> b % 64 & 1) || !outside[old])
                continue;
            if (within[old] < 0)
                within[old] = (int16_t)r->n_classes++;
            r->class_of[b] = (uint8_t)within[old];
        }
    }
}

/* -- characters --------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Sorted, apart, without surrogates, and the others if negated. */
static bool normalise(lm_ranges *r, bool negated)
{
    lm_ranges out = {0};
    uint32_t next = 0; /* the first character that is not yet dealt with */
    if (!negated && !eu_array_add(r, 0x110000)) /* so that one loop does */
        return false;
    if (negated && (!eu_array_add(r, 0x110000) || !eu_array_add(r, 0x110000)))
        return false;
    r->n -= r->n % 2;
    qsort(r->at, r->n / 2, 2 * sizeof *r->at, by_first);
    bool good = true;
    for (size_t i = 0; i < r->n && good; i += 2) {
        uint32_t first = r->at[i], last = r->at[i + 1];
        if (negated && first > next)
            good = eu_array_add(&out, next) && eu_array_add(&out, first - 1);
        else if (!negated && last + 1 > next && first < 0x110000)
            good = eu_array_add(&out, first > next ? first : next) && eu_array_add(&out, last);
        next = last + 1 > next ? last + 1 : next;
    }
    r->n = 0;
    for (size_t i = 0; i < out.n && good; i += 2) {
        uint32_t first = out.at[i], last = out.at[i + 1];
        if (first < 0xd800)
            good = eu_array_add(r, first) && eu_array_add(r, last < 0xd800 ? last : 0xd7ff);
        if (good && last > 0xdfff)
            good = eu_array_add(r, first > 0xdfff ? first : 0xe000) && eu_array_add(r, last);
    }
    eu_array_free(&out);
    return good;
}

typedef struct alternatives {
    lm_rules *rules;
    lm_byte_set ascii;
    lm_sequence_of starts;
    bool failed;
} alternatives;

static int encode(uint32_t c, uint8_t *bytes)
{
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6)
        bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
    bytes[0] = (uint8_t)(marks[n] | c);
    return n;
}

/* Characters whose bytes differ in ranges that are independent of one another. */
static void add_product(alternatives *a, uint32_t first, uint32_t last)
{
    uint8_t from[4], to[4];
    uint32_t elements[4], start;
    int n = encode(first, from);
    encode(last, to);
    for (int i = 0; i < n; i++)
        if (!add_range(a->rules, from[i], to[i], &elements[i]))
            a->failed = true;
    if (a->failed || !lm_rules_sequence(a->rules, elements, (size_t)n, &start) || !eu_array_add(&a->starts, start))
        a->failed = true;
}

/* Cuts a range where the length or a leading byte changes (as R. Cox's RE2 and others do). */
static void add_characters(alternatives *a, uint32_t first, uint32_t last)
{
    static const uint32_t ends[] = {0x7f, 0x7ff, 0xffff};
    for (int i = 0; i < 3; i++)
        if (first <= ends[i] && ends[i] < last) {
            add_characters(a, first, ends[i]);
            add_characters(a, ends[i] + 1, last);
            return;
        }
    if (last < 0x80) {
        for (uint32_t b = first; b <= last; b++)
            a->ascii.bits[b / 64] |= (uint64_t)1 << b % 64;
        return;
    }
    for (int i = 1; i < 4; i++) {
        uint32_t low = (1u << 6 * i) - 1;
        if ((first & ~low) == (last & ~low))
            continue;
        uint32_t cut = first & low ? first | low : (last & low) != low ? (last & ~low) - 1 : last;
        if (cut == last)
            continue;
        add_characters(a, first, cut);
        add_characters(a, cut + 1, last);
        return;
    }
    add_product(a, first, last);
}

bool lm_rules_class(lm_rules *r, lm_ranges *ranges, bool negated, uint32_t name, uint32_t line, uint32_t *element)
{
    alternatives a = {.rules = r};
    uint32_t rule, start;
    if (!normalise(ranges, negated))
        return false;
    for (size_t i = 0; i < ranges->n && !a.failed; i += 2)
        add_characters(&a, ranges->at[i], ranges->at[i + 1]);
    bool good = !a.failed && add_set(r, &a.ascii, element);
    if (good && a.starts.n) {
        const lm_byte_set none = {{0}};
        if (memcmp(&none, &a.ascii, sizeof none) != 0)
            good = lm_rules_sequence(r, element, 1, &start) && eu_array_add(&a.starts, start);
        good = good && lm_rules_add(r, name, line, &rule) && lm_rules_define(r, rule, a.starts.at, a.starts.n);
        if (good)
            *element = LM_ELEMENT_CALL | rule;
    }
    eu_array_free(&a.starts);
    return good;
}

/* -- repetitions ---------------------------------------------------------------------------- */

/* The same as one element. */
static bool as_element(lm_rules *r, const uint32_t *elements, size_t n, uint32_t name, uint32_t line, uint32_t *element)
{
    uint32_t rule;
    *element = n == 1 ? elements[0] : 0;
    if (n == 1)
        return true;
    bool good = lm_rules_add(r, name, line, &rule) && small_rule(r, rule, elements, n, NULL, 0);
    *element = LM_ELEMENT_CALL | rule;
    return good;
}

/* x, maybe, and behind it what `then` says, if anything. */
static bool optional(lm_rules *r, uint32_t x, const uint32_t *then, uint32_t name, uint32_t line, uint32_t *rule)
{
    const uint32_t elements[] = {x, then ? LM_ELEMENT_CALL | *then : 0};
    return lm_rules_add(r, name, line, rule) && small_rule(r, *rule, elements, then ? 2 : 1, elements, 0);
}

bool lm_rules_repeat(lm_rules *r, lm_sequence_of *sequence, size_t begin, uint32_t least, uint32_t most, uint32_t name,
                     uint32_t line)
{
    uint32_t x, rule = 0, before = 0;
    if (sequence->n == begin) /* nothing, however often */
        return true;
    if (!as_element(r, sequence->at + begin, sequence->n - begin, name, line, &x))
        return false;
    sequence->n = begin;
    for (uint32_t i = 0; i < least; i++)
        if (!eu_array_add(sequence, x))
            return false;
    if (most == least)
        return true;
    if (most == UINT32_MAX) {
        if (!lm_rules_add(r, name, line, &rule))
            return false;
        r->rules.at[rule].repetition = true;
        const uint32_t elements[] = {x, LM_ELEMENT_CALL | rule};
        return small_rule(r, rule, elements, 2, elements, 0) && eu_array_add(sequence, LM_ELEMENT_CALL | rule);
    }
    for (uint32_t i = 0; i < most - least; i++, before = rule)
        if (!optional(r, x, i ? &before : NULL, name, line, &rule))
            return false;
    return eu_array_add(sequence, LM_ELEMENT_CALL | rule);
}
