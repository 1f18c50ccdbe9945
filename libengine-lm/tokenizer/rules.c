/* Regular expressions of pre-tokenizers: reading them, and cutting by them. */
#include "config.h"

#include "rules.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "unicode.h"

#define NONE UINT32_MAX
#define FAIL SIZE_MAX
#define SPACE (1u << 16) /* beside the bits of categories */

enum { MOST_PASSES = 8, MOST_ITEMS = 160 };

/* Characters: of some categories or ranges, or all but these. */
typedef struct char_set {
    uint32_t categories;
    bool negated, no_han;
    uint32_t first, n; /* ranges */
} char_set;

typedef struct char_range {
    uint32_t first, last;
} char_range;

enum kind { SET, GROUP, AHEAD, NOT_AHEAD, AT_END };

/* One of a sequence; `what` is a set, or the first of the alternatives. */
typedef struct item {
    enum kind kind;
    uint32_t what, min, max, next;
} item;

typedef struct alternative {
    uint32_t first, next; /* its first item, the next alternative */
} alternative;

/* What no expression says: digits in groups of three, counted from the right. */
enum digits { NO_DIGITS, DIGITS_OF_ANY, DIGITS_BEFORE_NO_WORD, DIGITS_CUT };

typedef struct pass {
    enum digits digits;
    uint32_t alternatives;
} pass;

struct split_rule {
    pass passes[MOST_PASSES];
    uint32_t n_passes;
    EU_ARRAY(char_set) sets;
    EU_ARRAY(char_range) ranges;
    EU_ARRAY(item) items;
    EU_ARRAY(alternative) alternatives;
};

/* -- reading ------------------------------------------------------------------------ */

typedef struct reader {
    split_rule *rule;
    const char *at;
    bool wrong;
} reader;

static uint32_t take(reader *r)
{
    uint32_t c = 0;
    if (*r->at == 0)
        r->wrong = true;
    else
        r->at += eng_utf8_decode(r->at, strlen(r->at), &c);
    return c;
}

static bool takes(reader *r, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

static void add_range(reader *r, uint32_t first, uint32_t last)
{
    r->wrong |= !eu_array_add(&r->rule->ranges, ((char_range){first, last}));
}

static uint32_t category_named(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } known[] = {
        {"L", ENG_CATEGORY_LETTERS},      {"Lu", 1u << ENG_CATEGORY_LU}, {"Ll", 1u << ENG_CATEGORY_LL},
        {"Lt", 1u << ENG_CATEGORY_LT},    {"Lm", 1u << ENG_CATEGORY_LM}, {"Lo", 1u << ENG_CATEGORY_LO},
        {"M", 1u << ENG_CATEGORY_M},      {"N", ENG_CATEGORY_NUMBERS},   {"Nd", 1u << ENG_CATEGORY_ND},
        {"P", ENG_CATEGORY_PUNCTUATION},  {"S", 1u << ENG_CATEGORY_S},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0)
            return known[i].bits;
    return 0;
}

/* After a backslash: categories to *set, or a character, which is returned; NONE: categories. */
static uint32_t read_escape(reader *r, char_set *set)
{
    const uint32_t c = take(r);
    switch (c) {
    case 'r': return '\r';
    case 'n': return '\n';
    case 't': return '\t';
    case 's': set->categories |= SPACE; return NONE;
    case 'S': set->categories |= SPACE; set->negated = true; return NONE; /* alone only */
    case 'd': set->categories |= 1u << ENG_CATEGORY_ND; return NONE;
    case 'p': break;
    default: return c;
    }
    const char *end = *r->at == '{' ? strchr(r->at, '}') : NULL;
    if (!end) {
        r->wrong = true;
        return NONE;
    }
    const char *name = r->at + 1;
    const size_t length = (size_t)(end - name);
    r->at = end + 1;
    if (length == 3 && memcmp(name, "Han", 3) == 0) {
        for (size_t i = 0; i < eng_unicode_n_han; i++)
            add_range(r, eng_unicode_han[i][0], eng_unicode_han[i][1]);
        return NONE;
    }
    const uint32_t bits = category_named(name, length);
    r->wrong |= bits == 0;
    set->categories |= bits;
    return NONE;
}

/* Behind the bracket. */
static void read_set(reader *r, char_set *set)
{
    set->negated = takes(r, "^");
    while (*r->at != ']' && !r->wrong) {
        if (takes(r, "&&[^\\p{Han}]")) {
            set->no_han = true;
            continue;
        }
        uint32_t first = take(r);
        if (first == '\\' && (first = read_escape(r, set)) == NONE)
            continue;
        uint32_t last = first;
        if (r->at[0] == '-' && r->at[1] != ']') {
            r->at++;
            last = take(r);
            if (last == '\\')
                last = read_escape(r, set);
        }
        add_range(r, first, last);
    }
    r->wrong |= !takes(r, "]");
}

static uint32_t read_alternatives(reader *r);

static bool read_group(reader *r, item *it)
{
    it->kind = takes(r, "?=") ? AHEAD : takes(r, "?!") ? NOT_AHEAD : GROUP;
    if (it->kind == GROUP)
        takes(r, "?:");
    it->what = read_alternatives(r);
    return takes(r, ")");
}

static void read_count(reader *r, item *it)
{
    it->min = it->max = 1;
    if (takes(r, "?")) {
        it->min = 0;
    } else if (takes(r, "*")) {
        it->min = 0;
        it->max = NONE;
    } else if (takes(r, "+")) {
        it->max = NONE;
    } else if (takes(r, "{")) {
        char *end;
        it->min = it->max = (uint32_t)strtoul(r->at, &end, 10);
        if (*end == ',')
            it->max = (uint32_t)strtoul(end + 1, &end, 10);
        r->at = end;
        r->wrong |= !takes(r, "}") || it->max < it->min;
    }
}

/* One item; its index. */
static uint32_t read_item(reader *r)
{
    item it = {.next = NONE};
    if (takes(r, "$")) {
        it.kind = AT_END;
    } else if (takes(r, "(")) {
        r->wrong |= !read_group(r, &it);
    } else {
        char_set set = {.first = (uint32_t)r->rule->ranges.n};
        const uint32_t c = take(r);
        if (c == '[') {
            read_set(r, &set);
        } else {
            const uint32_t own = c == '\\' ? read_escape(r, &set) : c;
            if (own != NONE)
                add_range(r, own, own);
        }
        set.n = (uint32_t)r->rule->ranges.n - set.first;
        it.what = (uint32_t)r->rule->sets.n;
        r->wrong |= !eu_array_add(&r->rule->sets, set);
    }
    read_count(r, &it);
    const uint32_t index = (uint32_t)r->rule->items.n;
    r->wrong |= index >= MOST_ITEMS || !eu_array_add(&r->rule->items, it);
    return index;
}

/* A sequence up to | ) or the end; its first item. */
static uint32_t read_sequence(reader *r)
{
    uint32_t first = NONE, last = NONE;
    while (*r->at && *r->at != '|' && *r->at != ')' && !r->wrong) {
        const uint32_t index = read_item(r);
        if (r->wrong)
            break;
        if (last == NONE)
            first = index;
        else
            r->rule->items.at[last].next = index;
        last = index;
    }
    return first;
}

static uint32_t read_alternatives(reader *r)
{
    uint32_t first = NONE, last = NONE;
    do {
        const alternative one = {read_sequence(r), NONE};
        const uint32_t index = (uint32_t)r->rule->alternatives.n;
        r->wrong |= one.first == NONE || !eu_array_add(&r->rule->alternatives, one);
        if (r->wrong)
            break;
        if (last == NONE)
            first = index;
        else
            r->rule->alternatives.at[last].next = index;
        last = index;
    } while (takes(r, "|"));
    return first;
}

split_rule *eng_rule_create(const char *const *expressions)
{
    split_rule *rule = calloc(1, sizeof *rule);
    bool good = rule != NULL;
    for (; good && *expressions; expressions++) {
        pass p = {.digits = !strcmp(*expressions, "<digits>")                ? DIGITS_OF_ANY
                            : !strcmp(*expressions, "<digits before no word>") ? DIGITS_BEFORE_NO_WORD
                            : !strcmp(*expressions, "<cuts between digits>")   ? DIGITS_CUT
                                                                               : NO_DIGITS};
        reader r = {rule, *expressions, rule->n_passes >= MOST_PASSES};
        if (!p.digits && !r.wrong) {
            p.alternatives = read_alternatives(&r);
            r.wrong |= *r.at != 0;
        }
        good = !r.wrong;
        if (good)
            rule->passes[rule->n_passes++] = p;
    }
    if (good)
        return rule;
    eng_rule_free(rule);
    return NULL;
}

void eng_rule_free(split_rule *rule)
{
    if (!rule)
        return;
    eu_array_free(&rule->sets);
    eu_array_free(&rule->ranges);
    eu_array_free(&rule->items);
    eu_array_free(&rule->alternatives);
    free(rule);
}

/* -- matching ------------------------------------------------------------------------- */

/* What is known of a repeated set in the piece: a run of its characters, and from where on the rest of the sequence was
 * looked for behind each of them in vain.  Without it a run would be walked again from each of its characters. */
typedef struct memory {
    size_t piece, run, run_end, vain;
} memory;

typedef struct matcher {
    const split_rule *rule;
    const uint32_t *c;
    const uint8_t *classes;
    size_t end, piece; /* of the piece; its number */
    memory memories[MOST_ITEMS];
} matcher;

static bool is_han(uint32_t c)
{
    for (size_t i = 0; c >= 0x2e80 && i < eng_unicode_n_han; i++)
        if (c >= eng_unicode_han[i][0] && c <= eng_unicode_han[i][1])
            return true;
    return false;
}

static bool holds(const matcher *m, uint32_t what, size_t at)
{
    const char_set *set = &m->rule->sets.at[what];
    const uint32_t c = m->c[at], class = m->classes[at];
    bool in = (set->categories >> (class >> CLASS_CATEGORY) & 1) ||
              ((class & CLASS_SPACE) && (set->categories & SPACE));
    for (uint32_t i = 0; i < set->n && !in; i++)
        in = c >= m->rule->ranges.at[set->first + i].first && c <= m->rule->ranges.at[set->first + i].last;
    return in != set->negated && !(set->no_han && is_han(c));
}

static size_t match_items(matcher *m, uint32_t i, size_t at);

static size_t match_alternatives(matcher *m, uint32_t a, size_t at)
{
    for (; a != NONE; a = m->rule->alternatives.at[a].next) {
        const size_t end = match_items(m, m->rule->alternatives.at[a].first, at);
        if (end != FAIL)
            return end;
    }
    return FAIL;
}

/* How many characters of the set there are. */
static size_t run_of(matcher *m, const item *it, memory *known, size_t at)
{
    size_t end = at;
    const bool all = it->max == NONE;
    if (all && known->piece == m->piece && at >= known->run && at < known->run_end)
        return known->run_end - at;
    while (end < m->end && end - at < it->max && holds(m, it->what, end))
        end++;
    if (all)
        *known = (memory){m->piece, at, end, FAIL};
    return end - at;
}

/* A repeated set, as often as it can be so that the rest of the sequence matches, too. */
static size_t match_run(matcher *m, uint32_t i, size_t at)
{
    const item *it = &m->rule->items.at[i];
    memory *known = &m->memories[i];
    const size_t n = run_of(m, it, known, at);
    if (n < it->min)
        return FAIL;
    if (it->next == NONE)
        return at + n;
    if (it->max == NONE && n > 0 && known->vain != FAIL && at >= known->vain)
        return FAIL;
    for (size_t k = n + 1; k-- > it->min;) {
        const size_t end = match_items(m, it->next, at + k);
        if (end != FAIL)
            return end;
    }
    if (it->max == NONE && n > 0)
        known->vain = at;
    return FAIL;
}

static size_t match_group(matcher *m, const item *it, size_t at)
{
    uint32_t n = 0;
    for (size_t end; n < it->max && (end = match_alternatives(m, it->what, at)) != FAIL && end > at; n++)
        at = end;
    return n < it->min ? FAIL : at;
}

static size_t match_items(matcher *m, uint32_t i, size_t at)
{
    for (; i != NONE; i = m->rule->items.at[i].next) {
        const item *it = &m->rule->items.at[i];
        switch (it->kind) {
        case SET:
            if (it->min != 1 || it->max != 1)
                return match_run(m, i, at);
            if (at >= m->end || !holds(m, it->what, at))
                return FAIL;
            at++;
            break;
        case GROUP:
            if ((at = match_group(m, it, at)) == FAIL)
                return FAIL;
            break;
        case AHEAD:
        case NOT_AHEAD:
            if ((match_alternatives(m, it->what, at) != FAIL) != (it->kind == AHEAD))
                return FAIL;
            break;
        case AT_END:
            if (at != m->end)
                return FAIL;
            break;
        }
    }
    return at;
}

/* -- cutting --------------------------------------------------------------------------- */

static bool add_end(end_list *ends, size_t end)
{
    return eu_array_add(ends, (uint32_t)end);
}

static bool cut_piece(matcher *m, const pass *p, size_t begin, end_list *ends)
{
    size_t from = begin;
    m->piece++;
    for (size_t at = begin; at < m->end;) {
        const size_t end = match_alternatives(m, p->alternatives, at);
        if (end == FAIL || end == at) {
            at++;
            continue;
        }
        if ((from < at && !add_end(ends, at)) || !add_end(ends, end))
            return false;
        at = from = end;
    }
    return from == m->end || add_end(ends, m->end);
}

static bool counts(const matcher *m, const pass *p, size_t at)
{
    const uint32_t bit = 1u << (m->classes[at] >> CLASS_CATEGORY);
    return (bit & (p->digits == DIGITS_OF_ANY ? ENG_CATEGORY_NUMBERS : 1u << ENG_CATEGORY_ND)) != 0;
}

static bool in_word(const matcher *m, size_t at)
{
    const uint32_t bit = 1u << (m->classes[at] >> CLASS_CATEGORY);
    const uint32_t c = m->c[at];
    if (bit == 1u << ENG_CATEGORY_NO)
        return c < 0x100;
    /* letters in circles and the like are symbols that words have, too */
    return (bit & (ENG_CATEGORY_LETTERS | ENG_CATEGORY_NUMBERS | 1u << ENG_CATEGORY_M | 1u << ENG_CATEGORY_PC)) != 0 ||
           (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
           (c >= 0x1f170 && c <= 0x1f189);
}

/* Runs of digits: the first one, two or three of each are a piece, and every three that follow. */
static bool cut_digits(const matcher *m, const pass *p, size_t begin, end_list *ends)
{
    size_t from = begin;
    for (size_t at = begin, end; at < m->end; at = end) {
        for (end = at; end < m->end && counts(m, p, end);)
            end++;
        if (end == at) {
            end++;
            continue;
        }
        if (p->digits == DIGITS_BEFORE_NO_WORD && end < m->end && in_word(m, end))
            continue;
        const bool whole = p->digits == DIGITS_CUT && (end - at) % 3 != 0; /* the run's begin is no cut */
        if (from < at && !whole && !add_end(ends, at))
            return false;
        for (size_t cut = at + ((end - at) % 3 ? (end - at) % 3 : 3); cut < end; cut += 3)
            if (!add_end(ends, cut))
                return false;
        from = end;
        if (p->digits == DIGITS_CUT) /* nor is its end */
            from = end - at > 3 ? end - 3 : at;
        else if (!add_end(ends, end))
            return false;
    }
    return from == m->end || (ends->n && ends->at[ends->n - 1] == m->end) || add_end(ends, m->end);
}

bool eng_rule_split(const split_rule *rule, const uint32_t *c, const uint8_t *classes, size_t n, end_list *ends,
                    end_list *other)
{
    matcher m = {.rule = rule, .c = c, .classes = classes};
    ends->n = 0;
    bool good = n == 0 || add_end(ends, n);
    for (uint32_t i = 0; i < rule->n_passes && good; i++) {
        const end_list pieces = *ends;
        *ends = *other;
        *other = pieces;
        ends->n = 0;
        size_t begin = 0;
        for (size_t k = 0; k < other->n && good; k++) {
            m.end = other->at[k];
            good = rule->passes[i].digits ? cut_digits(&m, &rule->passes[i], begin, ends)
                                          : cut_piece(&m, &rule->passes[i], begin, ends);
            begin = m.end;
        }
    }
    return good;
}
