/* Methods of texts. */
#include "config.h"

#include <string.h>

#include "methods.h"
#include "print.h"
#include "../tokenizer/unicode.h"

/* Arguments that must be texts; one that is not there, or None where that may be, is left alone. */
static bool need_text(tpl_run *r, const tpl_value *v)
{
    return v->kind == TPL_STRING || v->kind == TPL_MISSING || tpl_fail(r, "a str is needed, got %s", tpl_type(v));
}

static bool given(const tpl_value *v)
{
    return v->kind != TPL_MISSING && v->kind != TPL_NONE;
}

static tpl_value part(const tpl_value *of, size_t from, size_t to)
{
    tpl_value v = tpl_string_of(of->s.at + from, to - from);
    v.safe = of->safe;
    return v;
}

/* -- strip ------------------------------------------------------------------------------------ */

/* The bytes of a character at the beginning (back: at the end) that is one of these, or white space; 0: it is none. */
static size_t strippable(const tpl_string *s, const tpl_value *chars, bool back)
{
    if (s->n == 0)
        return 0;
    if (!given(chars))
        return back ? tpl_space_before(s->at, s->n) : tpl_space_at(s->at, s->n);
    size_t n = 1;
    if (back)
        while (n < s->n && n < 4 && (s->at[s->n - n] & 0xc0) == 0x80)
            n++;
    else
        n = eu_utf8_length(s->at, s->n);
    tpl_string c = {back ? s->at + s->n - n : s->at, n, NULL};
    return tpl_find(&chars->s, &c, 0) != SIZE_MAX ? n : 0;
}

bool tpl_strip(tpl_run *r, const tpl_value *of, const tpl_value *chars, int sides, tpl_value *result)
{
    tpl_string s = of->s;
    if (given(chars) && !need_text(r, chars))
        return false;
    for (size_t n; (sides & 1) && (n = strippable(&s, chars, false)) > 0;) {
        s.at += n;
        s.n -= n;
    }
    for (size_t n; (sides & 2) && (n = strippable(&s, chars, true)) > 0;)
        s.n -= n;
    *result = tpl_string_of(s.at, s.n);
    result->safe = of->safe;
    return tpl_step(r, of->s.n / 16);
}

static bool strip(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return tpl_strip(r, &v[0], &v[1], 3, result);
}

static bool lstrip(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return tpl_strip(r, &v[0], &v[1], 1, result);
}

static bool rstrip(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return tpl_strip(r, &v[0], &v[1], 2, result);
}

/* -- split -------------------------------------------------------------------------------------- */

static bool split_at_space(tpl_run *r, const tpl_value *of, int64_t most, tpl_value *list)
{
    const tpl_string *s = &of->s;
    size_t i = 0, n;
    for (;;) {
        while ((n = tpl_space_at(s->at + i, s->n - i)) > 0)
            i += n;
        if (i == s->n)
            return true;
        size_t end = i;
        if (most == 0) {
            for (end = s->n; (n = tpl_space_before(s->at, end)) > 0;)
                end -= n;
            return tpl_list_add(r, list, part(of, i, end));
        }
        while (end < s->n && tpl_space_at(s->at + end, s->n - end) == 0)
            end++;
        if (!tpl_list_add(r, list, part(of, i, end)))
            return false;
        most--;
        i = end;
    }
}

static bool split(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_string *s = &v[0].s, *by = &v[1].s;
    int64_t most;
    size_t from = 0, found;
    if (!tpl_arg_int(r, &v[2], -1, &most) || !tpl_list_new(r, TPL_LIST, 0, result) || !tpl_step(r, s->n / 16))
        return false;
    if (!given(&v[1]))
        return split_at_space(r, &v[0], most, result);
    if (!need_text(r, &v[1]))
        return false;
    if (by->n == 0)
        return tpl_fail(r, "empty separator");
    for (; most != 0 && (found = tpl_find(s, by, from)) != SIZE_MAX; from = found + by->n, most--)
        if (!tpl_list_add(r, result, part(&v[0], from, found)))
            return false;
    return tpl_list_add(r, result, part(&v[0], from, s->n));
}

/* The last place that ends at `end` at most; SIZE_MAX: none, or it took too many steps.  Texts that are alike for long are
 * compared for long, again and again. */
static size_t find_last(tpl_run *r, const tpl_string *s, const tpl_string *what, size_t end)
{
    for (size_t i = end >= what->n ? end - what->n + 1 : 0; i-- > 0;) {
        size_t n = 0;
        while (n < what->n && s->at[i + n] == what->at[n])
            n++;
        if (n == what->n)
            return i;
        if (!tpl_step(r, n / 16))
            return SIZE_MAX;
    }
    return SIZE_MAX;
}

static bool turn(tpl_list *l)
{
    for (size_t i = 0; i < l->n / 2; i++) {
        tpl_value v = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = v;
    }
    return true;
}

static bool rsplit(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_string *s = &v[0].s, *by = &v[1].s;
    int64_t most;
    size_t end = s->n, found;
    if (!tpl_arg_int(r, &v[2], -1, &most))
        return false;
    if (most < 0)
        return split(r, v, result);
    if (!given(&v[1]))
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "rsplit() at white space with a limit is not understood");
    if (!need_text(r, &v[1]) || !tpl_list_new(r, TPL_LIST, 0, result) || !tpl_step(r, s->n))
        return false;
    if (by->n == 0)
        return tpl_fail(r, "empty separator");
    for (; most != 0 && (found = find_last(r, s, by, end)) != SIZE_MAX; end = found, most--)
        if (!tpl_list_add(r, result, part(&v[0], found + by->n, end)))
            return false;
    return !r->status && tpl_list_add(r, result, part(&v[0], 0, end)) && turn(result->list);
}

/* The bytes of a line's end at i. */
static size_t line_end(const tpl_string *s, size_t i)
{
    const unsigned char *c = (const unsigned char *)s->at + i;
    const size_t n = s->n - i;
    if (c[0] == '\r')
        return n > 1 && c[1] == '\n' ? 2 : 1;
    if ((c[0] >= 10 && c[0] <= 12) || (c[0] >= 0x1c && c[0] <= 0x1e))
        return 1;
    if (n > 1 && c[0] == 0xc2 && c[1] == 0x85)
        return 2;
    return n > 2 && c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9) ? 3 : 0;
}

bool tpl_split_lines(tpl_run *r, const tpl_value *of, bool keep, tpl_value *result)
{
    const tpl_string *s = &of->s;
    size_t from = 0;
    if (!tpl_list_new(r, TPL_LIST, 0, result))
        return false;
    for (size_t i = 0; i < s->n;) {
        size_t n = line_end(s, i);
        if (n && !tpl_list_add(r, result, part(of, from, keep ? i + n : i)))
            return false;
        i += n ? n : 1;
        from = n ? i : from;
    }
    return from == s->n || tpl_list_add(r, result, part(of, from, s->n));
}

static bool splitlines(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return tpl_split_lines(r, &v[0], tpl_arg_bool(&v[1], false), result);
}

static bool partition_at(tpl_run *r, tpl_value *v, size_t found, bool last, tpl_value *result)
{
    const size_t n = v[0].s.n, none = found == SIZE_MAX;
    size_t a = none ? (last ? 0 : n) : found, b = none ? a : found + v[1].s.n;
    return tpl_list_new(r, TPL_TUPLE, 3, result) && tpl_list_add(r, result, part(&v[0], 0, a)) &&
           tpl_list_add(r, result, part(&v[0], a, b)) && tpl_list_add(r, result, part(&v[0], b, n));
}

static bool partition(tpl_run *r, tpl_value *v, tpl_value *result)
{
    if (!need_text(r, &v[1]) || v[1].s.n == 0)
        return r->status ? false : tpl_fail(r, "empty separator");
    return partition_at(r, v, tpl_find(&v[0].s, &v[1].s, 0), false, result);
}

static bool rpartition(tpl_run *r, tpl_value *v, tpl_value *result)
{
    if (!need_text(r, &v[1]) || v[1].s.n == 0)
        return r->status ? false : tpl_fail(r, "empty separator");
    return tpl_step(r, v[0].s.n) && partition_at(r, v, find_last(r, &v[0].s, &v[1].s, v[0].s.n), true, result);
}

/* -- beginnings, ends, places ----------------------------------------------------------------------- */

static bool touches(const tpl_string *s, const tpl_string *what, bool end)
{
    return what->n <= s->n && (what->n == 0 || memcmp(end ? s->at + s->n - what->n : s->at, what->at, what->n) == 0);
}

/* One text, or any of a tuple. */
static bool touches_any(tpl_run *r, tpl_value *v, bool end, tpl_value *result)
{
    bool is = false;
    if (v[2].kind != TPL_MISSING || v[3].kind != TPL_MISSING)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "startswith() and endswith() of a part are not understood");
    if (v[1].kind != TPL_TUPLE && !need_text(r, &v[1]))
        return false;
    if (v[1].kind != TPL_TUPLE)
        is = touches(&v[0].s, &v[1].s, end);
    for (size_t i = 0; v[1].kind == TPL_TUPLE && i < v[1].list->n && !is; i++) {
        if (!need_text(r, &v[1].list->at[i]))
            return false;
        is = touches(&v[0].s, &v[1].list->at[i].s, end);
    }
    *result = tpl_bool(is);
    return true;
}

static bool startswith(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return touches_any(r, v, false, result);
}

static bool endswith(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return touches_any(r, v, true, result);
}

/* From a character on; a last one is not understood. */
static bool found_place(tpl_run *r, tpl_value *v, bool last, int64_t *place)
{
    const tpl_string *s = &v[0].s;
    int64_t from;
    if (!need_text(r, &v[1]) || !tpl_arg_int(r, &v[2], 0, &from) || !tpl_step(r, s->n))
        return false;
    if (v[3].kind != TPL_MISSING || (last && v[2].kind != TPL_MISSING))
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "looking in a part of a text is not understood: take a slice of it");
    const int64_t chars = (int64_t)tpl_chars(s->at, s->n);
    from = from < 0 ? from + chars : from;
    from = from < 0 ? 0 : from;
    size_t found = SIZE_MAX;
    if (last)
        found = find_last(r, s, &v[1].s, s->n);
    else if (from <= chars)
        found = tpl_find(s, &v[1].s, tpl_char_at(s->at, s->n, (size_t)from));
    *place = found == SIZE_MAX ? -1 : (int64_t)tpl_chars(s->at, found);
    return !r->status;
}

static bool find(tpl_run *r, tpl_value *v, tpl_value *result)
{
    int64_t place = -1;
    bool good = found_place(r, v, false, &place);
    *result = tpl_int(place);
    return good;
}

static bool rfind(tpl_run *r, tpl_value *v, tpl_value *result)
{
    int64_t place = -1;
    bool good = found_place(r, v, true, &place);
    *result = tpl_int(place);
    return good;
}

static bool place_of(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return find(r, v, result) && (result->i >= 0 || tpl_fail(r, "substring not found"));
}

static bool rplace_of(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return rfind(r, v, result) && (result->i >= 0 || tpl_fail(r, "substring not found"));
}

static bool count(tpl_run *r, tpl_value *v, tpl_value *result)
{
    int64_t n = 0;
    if (!need_text(r, &v[1]) || !tpl_step(r, v[0].s.n))
        return false;
    if (v[1].s.n == 0)
        n = (int64_t)tpl_chars(v[0].s.at, v[0].s.n) + 1;
    for (size_t i = 0; v[1].s.n && (i = tpl_find(&v[0].s, &v[1].s, i)) != SIZE_MAX; i += v[1].s.n)
        n++;
    *result = tpl_int(n);
    return true;
}

/* -- replace, join --------------------------------------------------------------------------------------- */

bool tpl_replace(tpl_run *r, const tpl_value *of, const tpl_string *old, const tpl_string *with, int64_t most,
                 tpl_value *result)
{
    const tpl_string *s = &of->s;
    tpl_text t = {0};
    size_t i = 0;
    for (; most != 0 && i <= s->n; most--) {
        size_t found = tpl_find(s, old, i), end = found + old->n;
        if (found == SIZE_MAX || !tpl_step(r, 1))
            break;
        if (old->n == 0) /* between all characters */
            end = found < s->n ? found + eu_utf8_length(s->at + found, s->n - found) : s->n + 1;
        if (!tpl_add(r, &t, s->at + i, found - i) || !tpl_add(r, &t, with->at, with->n) ||
            (old->n == 0 && found < s->n && !tpl_add(r, &t, s->at + found, end - found)))
            return false;
        i = end;
    }
    if (r->status || (i < s->n && !tpl_add(r, &t, s->at + i, s->n - i)))
        return false;
    *result = tpl_text_value(&t);
    result->safe = of->safe;
    return true;
}

static bool replace(tpl_run *r, tpl_value *v, tpl_value *result)
{
    int64_t most;
    return need_text(r, &v[1]) && need_text(r, &v[2]) && tpl_arg_int(r, &v[3], -1, &most) &&
           tpl_replace(r, &v[0], &v[1].s, &v[2].s, most, result);
}

static bool join(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_list entries;
    tpl_text t = {0};
    if (!tpl_entries(r, &v[1], &entries))
        return false;
    for (size_t i = 0; i < entries.n; i++) {
        if (entries.at[i].kind != TPL_STRING)
            return tpl_fail(r, "sequence item %zu: expected str instance, %s found", i, tpl_type(&entries.at[i]));
        if ((i && !tpl_add(r, &t, v[0].s.at, v[0].s.n)) || !tpl_add(r, &t, entries.at[i].s.at, entries.at[i].s.n))
            return false;
    }
    *result = tpl_text_value(&t);
    return true;
}

static bool removeprefix(tpl_run *r, tpl_value *v, tpl_value *result)
{
    bool good = need_text(r, &v[1]);
    *result = good ? part(&v[0], touches(&v[0].s, &v[1].s, false) ? v[1].s.n : 0, v[0].s.n) : v[0];
    return good;
}

static bool removesuffix(tpl_run *r, tpl_value *v, tpl_value *result)
{
    bool good = need_text(r, &v[1]);
    *result = good ? part(&v[0], 0, v[0].s.n - (touches(&v[0].s, &v[1].s, true) ? v[1].s.n : 0)) : v[0];
    return good;
}

/* -- case, widths, kinds of characters ------------------------------------------------------------------------ */

#define CHANGE(name, how)                                                                                            \
    static bool name(tpl_run *r, tpl_value *v, tpl_value *result)                                                    \
    {                                                                                                                \
        return tpl_change_case(r, &v[0], how, result);                                                               \
    }
CHANGE(upper, TPL_UPPER)
CHANGE(lower, TPL_LOWER)
CHANGE(title, TPL_TITLE)
CHANGE(capitalize, TPL_CAPITAL)
CHANGE(swapcase, TPL_SWAP)

/* where: 1 left, 2 right, 3 both: the spaces. */
bool tpl_center(tpl_run *r, const tpl_value *of, int64_t width, const tpl_string *fill, int where, tpl_value *result)
{
    tpl_text t = {0};
    const int64_t chars = (int64_t)tpl_chars(of->s.at, of->s.n), missing = width > chars ? width - chars : 0;
    int64_t left = where == 1 ? missing : where == 2 ? 0 : missing / 2 + (missing & width & 1);
    if (tpl_chars(fill->at, fill->n) != 1)
        return tpl_fail(r, "The fill character must be exactly one character long");
    for (int64_t i = 0; i < left; i++)
        if (!tpl_step(r, 1) || !tpl_add(r, &t, fill->at, fill->n))
            return false;
    if (!tpl_add(r, &t, of->s.at, of->s.n))
        return false;
    for (int64_t i = left; i < missing; i++)
        if (!tpl_step(r, 1) || !tpl_add(r, &t, fill->at, fill->n))
            return false;
    *result = tpl_text_value(&t);
    result->safe = of->safe;
    return true;
}

static bool justify(tpl_run *r, tpl_value *v, int where, tpl_value *result)
{
    int64_t width;
    const tpl_string space = {" ", 1, NULL};
    if (!tpl_arg_int(r, &v[1], 0, &width) || !need_text(r, &v[2]))
        return false;
    return tpl_center(r, &v[0], width, v[2].kind == TPL_STRING ? &v[2].s : &space, where, result);
}

static bool ljust(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return justify(r, v, 2, result);
}

static bool rjust(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return justify(r, v, 1, result);
}

static bool center(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return justify(r, v, 3, result);
}

/* All characters, of which there is one at least, are such: bits of 1 << ENG_CATEGORY_*. */
static bool all_of(const tpl_string *s, uint32_t categories, bool space)
{
    for (size_t i = 0, n; i < s->n; i += n) {
        uint32_t c;
        n = eng_utf8_decode(s->at + i, s->n - i, &c);
        if (space ? tpl_space_at(s->at + i, s->n - i) == 0 : !(categories >> eng_unicode_category(c) & 1))
            return false;
    }
    return s->n > 0;
}

#define KIND(name, condition)                                                                                        \
    static bool name(tpl_run *r, tpl_value *v, tpl_value *result)                                                    \
    {                                                                                                                \
        *result = tpl_bool(condition);                                                                               \
        return tpl_step(r, v[0].s.n);                                                                                \
    }
KIND(is_digit, all_of(&v[0].s, 1u << ENG_CATEGORY_ND, false))
KIND(is_alpha, all_of(&v[0].s, ENG_CATEGORY_LETTERS, false))
KIND(is_alnum, all_of(&v[0].s, ENG_CATEGORY_LETTERS | ENG_CATEGORY_NUMBERS, false))
KIND(is_space, all_of(&v[0].s, 0, true))
KIND(is_upper, tpl_is_case(&v[0].s, TPL_UPPER))
KIND(is_lower, tpl_is_case(&v[0].s, TPL_LOWER))

const tpl_builtin tpl_text_methods[] = {
    {"strip", "self chars", 1, strip, NULL},
    {"lstrip", "self chars", 1, lstrip, NULL},
    {"rstrip", "self chars", 1, rstrip, NULL},
    {"split", "self sep maxsplit", 1, split, NULL},
    {"rsplit", "self sep maxsplit", 1, rsplit, NULL},
    {"splitlines", "self keepends", 1, splitlines, NULL},
    {"partition", "self sep", 2, partition, NULL},
    {"rpartition", "self sep", 2, rpartition, NULL},
    {"startswith", "self prefix start end", 2, startswith, NULL},
    {"endswith", "self suffix start end", 2, endswith, NULL},
    {"find", "self sub start end", 2, find, NULL},
    {"rfind", "self sub start end", 2, rfind, NULL},
    {"index", "self sub start end", 2, place_of, NULL},
    {"rindex", "self sub start end", 2, rplace_of, NULL},
    {"count", "self sub", 2, count, NULL},
    {"replace", "self old new count", 3, replace, NULL},
    {"join", "self iterable", 2, join, NULL},
    {"removeprefix", "self prefix", 2, removeprefix, NULL},
    {"removesuffix", "self suffix", 2, removesuffix, NULL},
    {"upper", "self", 1, upper, NULL},
    {"lower", "self", 1, lower, NULL},
    {"title", "self", 1, title, NULL},
    {"capitalize", "self", 1, capitalize, NULL},
    {"swapcase", "self", 1, swapcase, NULL},
    {"ljust", "self width fillchar", 2, ljust, NULL},
    {"rjust", "self width fillchar", 2, rjust, NULL},
    {"center", "self width fillchar", 2, center, NULL},
    {"isdigit", "self", 1, is_digit, NULL},
    {"isalpha", "self", 1, is_alpha, NULL},
    {"isalnum", "self", 1, is_alnum, NULL},
    {"isspace", "self", 1, is_space, NULL},
    {"isupper", "self", 1, is_upper, NULL},
    {"islower", "self", 1, is_lower, NULL},
};
const size_t tpl_n_text_methods = sizeof tpl_text_methods / sizeof *tpl_text_methods;
