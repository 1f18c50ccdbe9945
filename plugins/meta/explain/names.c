/*
 * Many names in few words.  Tensors of equal layers differ in one number, those of
 * one layer in one part of the name: blk.{0-2}.ffn_{...}.weight says it once.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

#define LONG_WORD 70 /* one that is longer takes in no more names */

/* head NUMBER tail; n 0: a name without a number. */
typedef struct meta_name {
    const char *head, *tail; /* of a name that lives longer                       */
    size_t head_length;
    uint32_t *numbers; /* ascending                                            */
    uint32_t n;
    size_t capacity;
    bool said;
} meta_name;

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number of a name: a whole part of it, behind a dot or #. */
static bool parse(const char *name, meta_name *part, uint32_t *number)
{
    for (const char *s = name; *s; s++) {
        char *end;
        if ((*s != '.' && *s != '#') || !digit(s[1]))
            continue;
        unsigned long value = strtoul(s + 1, &end, 10);
        if ((*end && *end != '.') || value > 1000000000)
            continue;
        *part = (meta_name){.head = name, .head_length = (size_t)(s + 1 - name), .tail = end};
        *number = (uint32_t)value;
        return true;
    }
    *part = (meta_name){.head = name, .head_length = strlen(name), .tail = ""};
    return false;
}

static bool same_head(const meta_name *a, const meta_name *b)
{
    return a->head_length == b->head_length && memcmp(a->head, b->head, a->head_length) == 0;
}

static bool insert(meta_name *item, uint32_t number)
{
    uint32_t at = item->n;

    while (at > 0 && item->numbers[at - 1] > number)
        at--;
    if (at > 0 && item->numbers[at - 1] == number)
        return true;
    if (!eu_reserve(item->numbers, item->capacity, (size_t)item->n + 1))
        return false;
    memmove(item->numbers + at + 1, item->numbers + at, (item->n - at) * sizeof *item->numbers);
    item->numbers[at] = number;
    item->n++;
    return true;
}

void meta_names_add(meta_names *names, const char *name)
{
    meta_name part;
    uint32_t number = 0;
    bool numbered = parse(name, &part, &number);

    for (uint32_t i = 0; i < names->n; i++) {
        meta_name *item = &names->items[i];
        if (!same_head(item, &part) || strcmp(item->tail, part.tail) != 0 || (item->n > 0) != numbered)
            continue;
        if (numbered && !insert(item, number))
            names->failed = true;
        return;
    }
    if (!eu_reserve(names->items, names->capacity, (size_t)names->n + 1) ||
        (numbered && !insert(&part, number))) {
        names->failed = true;
        return;
    }
    names->items[names->n++] = part;
}

void meta_names_end(meta_names *names)
{
    for (uint32_t i = 0; i < names->n; i++)
        free(names->items[i].numbers);
    free(names->items);
    memset(names, 0, sizeof *names);
}

/* -- words --------------------------------------------------------------------------- */

/* How many numbers from `at` on are equally far apart. */
static uint32_t progression(const meta_name *item, uint32_t at, uint32_t *step)
{
    uint32_t n = 1;
    *step = at + 1 < item->n ? item->numbers[at + 1] - item->numbers[at] : 0;
    while (at + n < item->n && item->numbers[at + n] - item->numbers[at + n - 1] == *step)
        n++;
    return n;
}

/* 7, {0-2,5} or {3,7..63} */
static void append_numbers(eu_text *w, const meta_name *item)
{
    if (item->n > 1)
        eu_text_add(w, "{");
    for (uint32_t i = 0, step, n; i < item->n; i += n) {
        n = progression(item, i, &step);
        if (i)
            eu_text_add(w, ",");
        eu_text_format(w, "%" PRIu32, item->numbers[i]);
        if (step == 1 && n > 1) {
            eu_text_add(w, n > 2 ? "-" : ",");
            eu_text_format(w, "%" PRIu32, item->numbers[i + n - 1]);
        } else if (n > 3) {
            eu_text_add(w, ",");
            eu_text_format(w, "%" PRIu32, item->numbers[i + 1]);
            eu_text_add(w, "..");
            eu_text_format(w, "%" PRIu32, item->numbers[i + n - 1]);
        } else {
            n = 1;
        }
    }
    if (item->n > 1)
        eu_text_add(w, "}");
}

/* ".ffn_up.weight": the part that may differ and the rest. */
static const char *rest_of(const meta_name *item)
{
    const char *dot = strrchr(item->tail, '.');
    return dot && dot > item->tail ? dot : item->tail + strlen(item->tail);
}

/* Do two names differ in the part behind the number alone? */
static bool alike(const meta_name *a, const meta_name *b)
{
    return a->n > 0 && a->n == b->n && a->tail[0] == '.' && b->tail[0] == '.' && same_head(a, b) &&
           strcmp(rest_of(a), rest_of(b)) == 0 && memcmp(a->numbers, b->numbers, a->n * sizeof *a->numbers) == 0;
}

/* The item and all that are like it, as one word. */
static void append_item(eu_text *w, const meta_names *names, uint32_t at)
{
    meta_name *item = &names->items[at];
    uint32_t n = 0;

    eu_text_add_bytes(w, item->head, item->head_length);
    if (item->n)
        append_numbers(w, item);
    for (uint32_t i = at; i < names->n; i++)
        n += !names->items[i].said && alike(item, &names->items[i]);
    item->said = true;
    if (n < 2) {
        eu_text_add(w, item->tail);
        return;
    }
    const char *between = ".{";
    for (uint32_t i = at; i < names->n; i++) {
        meta_name *other = &names->items[i];
        if (i != at && (other->said || !alike(item, other) || w->n > LONG_WORD))
            continue;
        eu_text_add(w, between);
        eu_text_add_bytes(w, other->tail + 1, (size_t)(rest_of(other) - other->tail - 1));
        other->said = true;
        between = ",";
    }
    eu_text_add(w, "}");
    eu_text_add(w, rest_of(item));
}

void meta_names_say(const meta_report *report, const meta_names *names, uint32_t column, uint32_t indent,
                    uint32_t width)
{
    eu_text w = {.failed = names->failed};

    for (uint32_t i = 0; i < names->n; i++)
        names->items[i].said = false;
    for (uint32_t i = 0; i < names->n && !w.failed; i++) {
        if (names->items[i].said)
            continue;
        w.n = 0;
        append_item(&w, names, i);
        if (w.failed)
            break;
        if (i && column + w.n + 1 > width) {
            meta_say(report, "\n%*s", (int)indent, "");
            column = indent;
        } else if (i) {
            meta_say_text(report, " ");
            column++;
        }
        meta_say_name(report, w.at);
        column += w.n;
    }
    if (w.failed)
        meta_say_text(report, " ...");
    eu_text_free(&w);
}
