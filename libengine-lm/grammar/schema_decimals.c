/*
 * Decimals within bounds, as a grammar: whole parts between those of the bounds with any fraction, and those of the
 * bounds with fractions on the right side.  No text has an exponent, and none more than 15 digits, so that what it says
 * and the number that is made of it are on the same side of a bound.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

#define PLACES 8              /* behind the point                                     */
#define LARGE INT64_C(10000000) /* from here on there is nothing behind the point      */
#define LARGEST INT64_C(999999999999999)

/* A bound that is not below 0. */
typedef struct edge {
    int64_t whole;
    char places[PLACES + 2]; /* without zeros at the end                              */
    bool open;               /* it is itself outside                                  */
} edge;

typedef struct choices {
    eu_text *to;
    size_t n; /* so far                                                               */
} choices;

static eu_text *next_choice(choices *c)
{
    eu_text_add(c->to, c->n++ ? " | " : "");
    return c->to;
}

/* Choices of their own as one of these, if there are any. */
static void add_inner(choices *c, const char *before, choices *inner, const char *behind)
{
    if (inner->n)
        eu_text_format(next_choice(c), "%s(%s)%s", before, eu_text_get(inner->to), behind);
    c->to->failed |= inner->to->failed;
    eu_text_free(inner->to);
}

static void any(eu_text *to, size_t n)
{
    if (n)
        eu_text_format(to, " [0-9]{0,%zu}", n);
}

/* -- behind the point ----------------------------------------------------------------------- */

/* The first i digits, then one of a range, then whatever follows. */
static void branch(choices *c, const char *digits, size_t i, int from, int to)
{
    if (from > to)
        return;
    eu_text_format(next_choice(c), "\"%.*s\" [%c-%c]", (int)i, digits, from, to);
    any(c->to, PLACES - 1 - i);
}

/* At least a, from where digit `from` is the first that may be larger. */
static void upwards(choices *c, const char *a, bool open, size_t from)
{
    const size_t n = strlen(a);
    for (size_t i = from; i < n; i++)
        branch(c, a, i, a[i] + 1, '9');
    char more[PLACES + 2];
    snprintf(more, sizeof more, "%s00000000", a);
    for (size_t i = n; open && i < PLACES; i++)
        branch(c, more, i, '1', '9');
    if (open)
        return;
    eu_text_format(next_choice(c), "\"%s\"", a);
    any(c->to, PLACES - n);
}

/* At most b, from where digit `from` is the first that may be smaller, or not be there. */
static void downwards(choices *c, const char *b, bool open, size_t from)
{
    const size_t n = strlen(b);
    for (size_t i = from; i < n; i++) {
        branch(c, b, i, '0', b[i] - 1);
        if (i)
            eu_text_format(next_choice(c), "\"%.*s\"", (int)i, b);
    }
    if (!open)
        eu_text_format(next_choice(c), "\"%s\"", b);
}

/* From a to b, which is more. */
static void among(choices *c, const edge *a, const edge *b)
{
    char low[PLACES + 2];
    size_t same = 0;
    snprintf(low, sizeof low, "%s", a->places);
    for (;; same++) {
        if (!low[same]) {
            low[same] = '0';
            low[same + 1] = 0;
        }
        if (low[same] != b->places[same])
            break;
    }
    branch(c, low, same, low[same] + 1, b->places[same] - 1);
    upwards(c, low, a->open, same + 1);
    downwards(c, b->places, b->open, same + 1);
}

/* -- the whole ------------------------------------------------------------------------------- */

/* Both have the same whole part. */
static void within_one(choices *c, const edge *a, const edge *b)
{
    const int order = strcmp(a->places, b->places); /* of fractions, too: none ends with zeros */
    if (order > 0 || (order == 0 && (a->open || b->open)))
        return;
    if (!a->open)
        eu_text_format(next_choice(c), *a->places ? "\"%lld.%s\"" : "\"%lld%s\"", (long long)a->whole, a->places);
    if (order == 0)
        return;
    eu_text text = {0};
    choices inner = {&text, 0};
    char before[32];
    among(&inner, a, b);
    snprintf(before, sizeof before, "\"%lld.\" ", (long long)a->whole);
    add_inner(c, before, &inner, "");
}

/* From a on, below its next whole number. */
static void lowest(choices *c, const edge *a)
{
    if (!a->open && !*a->places) {
        eu_text_format(next_choice(c), "\"%lld\" (\".\" [0-9]{1,%d})?", (long long)a->whole, PLACES);
        return;
    }
    eu_text text = {0};
    choices inner = {&text, 0};
    char before[32];
    upwards(&inner, a->places, a->open, 0);
    snprintf(before, sizeof before, "\"%lld.\" ", (long long)a->whole);
    add_inner(c, before, &inner, "");
}

/* Up to b, from its whole number on. */
static void highest(choices *c, const edge *b)
{
    if (b->open && !*b->places)
        return;
    eu_text_format(next_choice(c), "\"%lld\"", (long long)b->whole);
    if (!*b->places)
        return;
    eu_text text = {0};
    choices inner = {&text, 0};
    char before[32];
    downwards(&inner, b->places, b->open, 0);
    snprintf(before, sizeof before, "\"%lld.\" ", (long long)b->whole);
    add_inner(c, before, &inner, "");
}

/* From a to b, with fractions below LARGE. */
static void positive(choices *c, const edge *a, const edge *b)
{
    const edge large = {LARGE, "", true}, *end = b->whole < LARGE ? b : &large;
    if (a->whole < LARGE && a->whole == end->whole)
        within_one(c, a, end);
    if (a->whole < LARGE && a->whole < end->whole) {
        lowest(c, a);
        if (end->whole - a->whole > 1) {
            lm_schema_integers(next_choice(c), a->whole + 1, end->whole - 1);
            eu_text_format(c->to, " (\".\" [0-9]{1,%d})?", PLACES);
        }
        highest(c, end);
    }
    int64_t first = a->whole + (*a->places || a->open), last = b->whole - (b->open && !*b->places);
    first = first < LARGE ? LARGE : first;
    if (first <= last)
        lm_schema_integers(next_choice(c), first, last);
}

/* Of |x|; false: it has more digits than are understood. */
static bool edge_of(double x, bool open, edge *e)
{
    char text[64];
    x = fabs(x);
    *e = (edge){.whole = LARGEST, .open = true};
    if (x > (double)LARGEST)
        return true;
    int n = snprintf(text, sizeof text, "%.*f", PLACES, x);
    if (strtod(text, NULL) != x)
        return false;
    memcpy(e->places, text + n - PLACES, PLACES + 1);
    for (size_t i = PLACES; i > 0 && e->places[i - 1] == '0'; i--)
        e->places[i - 1] = 0;
    e->whole = (int64_t)floor(x);
    e->open = open;
    return true;
}

const char *lm_schema_decimals(eu_text *to, double least, bool open_least, double most, bool open_most)
{
    const edge zero = {0, "", false}, beyond_zero = {0, "", true};
    edge low, high;
    if (!edge_of(least, open_least, &low) || !edge_of(most, open_most, &high))
        return "a bound has more than 8 digits behind the point, or more than 15";
    eu_text text = {0};
    choices all = {to, 0}, below = {&text, 0};
    eu_text_add(to, "(");
    if (least < 0)
        positive(&below, most < 0 ? &high : &beyond_zero, &low);
    add_inner(&all, "\"-\" ", &below, "");
    if (most > 0 || (most == 0 && !open_most))
        positive(&all, least > 0 || (least == 0 && open_least) ? &low : &zero, &high);
    eu_text_add(to, ")");
    return all.n ? NULL : "no number with at most 8 digits behind the point is within the bounds";
}
