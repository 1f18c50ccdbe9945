/* Upper and lower case.  A letter that becomes several is refused where it would. */
#include "config.h"

#include "case_table.h"
#include "marks.h"
#include "methods.h"
#include "print.h"
#include "../tokenizer/unicode.h"

static uint32_t changed(uint32_t c, const case_row *rows, size_t n)
{
    for (size_t low = 0, high = n; low < high;) {
        size_t middle = (low + high) / 2;
        if (c < rows[middle].first)
            high = middle;
        else if (c > rows[middle].last)
            low = middle + 1;
        else if ((c - rows[middle].first) % (uint32_t)rows[middle].step == 0)
            return (uint32_t)((int32_t)c + rows[middle].delta);
        else /* rows of every second letter may hold others' */
            break;
    }
    for (size_t i = 0; i < n && rows[i].first <= c; i++)
        if (c <= rows[i].last && (c - rows[i].first) % (uint32_t)rows[i].step == 0)
            return (uint32_t)((int32_t)c + rows[i].delta);
    return c;
}

static uint32_t upper(uint32_t c)
{
    if (c < 128)
        return c >= 'a' && c <= 'z' ? c - 32 : c;
    return changed(c, upper_rows, sizeof upper_rows / sizeof *upper_rows);
}

static uint32_t lower(uint32_t c)
{
    if (c < 128)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return changed(c, lower_rows, sizeof lower_rows / sizeof *lower_rows);
}

/* Letters whose other case is several, or depends on where they stand. */
static bool difficult(uint32_t c)
{
    return c == 0xdf || c == 0x130 || c == 0x149 || c == 0x1f0 || c == 0x390 || c == 0x3a3 || c == 0x3b0 ||
           c == 0x587 || (c >= 0x1c4 && c <= 0x1cc) || (c >= 0x1f1 && c <= 0x1f3) || (c >= 0x10d0 && c <= 0x10ff) ||
           (c >= 0x1e96 && c <= 0x1e9e) || (c >= 0x1f50 && c <= 0x1ffc) || (c >= 0xfb00 && c <= 0xfb17);
}

static bool is_cased(uint32_t c)
{
    return upper(c) != c || lower(c) != c || c == 0xdf;
}

static bool add_character(tpl_run *r, tpl_text *t, uint32_t c)
{
    char at[4];
    return tpl_add(r, t, at, eng_utf8_encode(c, at));
}

/* `cased`: the character before was a letter with a case. */
static uint32_t other(uint32_t c, int how, bool first, bool cased)
{
    switch (how) {
    case TPL_UPPER: return upper(c);
    case TPL_LOWER: return lower(c);
    case TPL_CAPITAL: return first ? upper(c) : lower(c);
    case TPL_TITLE: return cased ? lower(c) : upper(c);
    default: return upper(c) != c ? upper(c) : lower(c);
    }
}

static bool change(tpl_run *r, tpl_text *t, const tpl_string *s, int how)
{
    bool cased = false;
    for (size_t i = 0, n; i < s->n; i += n) {
        uint32_t c;
        n = eng_utf8_decode(s->at + i, s->n - i, &c);
        if (c >= 128 && difficult(c))
            return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "the other case of character U+%04X is not understood", c);
        const size_t before = t->n;
        if (!add_character(r, t, other(c, how, i == 0, cased)))
            return false;
        tpl_mark_as(r, t, before, s->at + i, n);
        cased = is_cased(c);
    }
    return true;
}

bool tpl_change_case(tpl_run *r, const tpl_value *of, int how, tpl_value *result)
{
    tpl_text t = {0};
    bool good = tpl_step(r, of->s.n) && change(r, &t, &of->s, how);
    *result = tpl_text_value(&t);
    result->safe = of->safe;
    return good;
}

/* Between words: white space and these; a word is a piece without them, or a run of them. */
static size_t between(const char *at, size_t n)
{
    return n && (*at == '-' || *at == '(' || *at == '{' || *at == '[' || *at == '<') ? 1 : tpl_space_at(at, n);
}

bool tpl_title_words(tpl_run *r, const tpl_value *of, tpl_value *result)
{
    const tpl_string *s = &of->s;
    tpl_text t = {0};
    for (size_t i = 0; i < s->n;) {
        size_t end = i, n;
        const bool gap = between(s->at + i, s->n - i) > 0;
        while (end < s->n && (between(s->at + end, s->n - end) > 0) == gap) {
            n = eu_utf8_length(s->at + end, s->n - end);
            end += n ? n : 1;
        }
        tpl_string word = {s->at + i, end - i, NULL};
        if (!tpl_step(r, end - i) || !change(r, &t, &word, TPL_CAPITAL))
            return false;
        i = end;
    }
    *result = tpl_text_value(&t);
    return true;
}

bool tpl_is_case(const tpl_string *s, int how)
{
    bool any = false;
    for (size_t i = 0, n; i < s->n; i += n) {
        uint32_t c;
        n = eng_utf8_decode(s->at + i, s->n - i, &c);
        if (how == TPL_UPPER ? upper(c) != c : lower(c) != c)
            return false;
        any = any || is_cased(c);
    }
    return any;
}
