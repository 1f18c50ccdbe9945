/* Values of templates: made, and looked at. */
#include "config.h"

#include <string.h>

#include "value.h"

tpl_value tpl_none(void)
{
    return (tpl_value){.kind = TPL_NONE};
}

tpl_value tpl_bool(bool b)
{
    return (tpl_value){.kind = TPL_BOOL, .i = b};
}

tpl_value tpl_int(int64_t i)
{
    return (tpl_value){.kind = TPL_INT, .i = i};
}

tpl_value tpl_float(double f)
{
    return (tpl_value){.kind = TPL_FLOAT, .f = f};
}

tpl_value tpl_string_of(const char *at, size_t n)
{
    return (tpl_value){.kind = TPL_STRING, .s = {at, n, NULL}};
}

tpl_value tpl_word(const char *word)
{
    return tpl_string_of(word, strlen(word));
}

tpl_value tpl_text_value(const tpl_text *t)
{
    return tpl_string_of(t->n ? t->at : "", t->n);
}

tpl_value tpl_undefined(const char *name, size_t n, const char *of)
{
    return (tpl_value){.kind = TPL_UNDEFINED, .s = {name, n, of}};
}

bool tpl_list_new(tpl_run *r, tpl_kind kind, size_t n, tpl_value *v)
{
    tpl_list *list = tpl_alloc(r, 1, sizeof *list);
    if (!list)
        return false;
    if (n && !(list->at = tpl_alloc(r, n, sizeof *list->at)))
        return false;
    list->room = n;
    *v = (tpl_value){.kind = kind, .list = list};
    return tpl_step(r, n / 8);
}

bool tpl_list_add(tpl_run *r, tpl_value *v, tpl_value entry)
{
    tpl_list *list = v->list;
    if (list->n == list->room) {
        size_t room = 2 * list->room + 4;
        tpl_value *more = tpl_alloc(r, room, sizeof *more);
        if (!more)
            return false;
        if (list->n)
            memcpy(more, list->at, list->n * sizeof *more);
        list->at = more;
        list->room = room;
    }
    list->at[list->n++] = entry;
    return tpl_step(r, 1);
}

bool tpl_tuple2(tpl_run *r, tpl_value a, tpl_value b, tpl_value *v)
{
    return tpl_list_new(r, TPL_TUPLE, 2, v) && tpl_list_add(r, v, a) && tpl_list_add(r, v, b);
}

bool tpl_dict_new(tpl_run *r, tpl_kind kind, tpl_value *v)
{
    tpl_dict *dict = tpl_alloc(r, 1, sizeof *dict);
    *v = (tpl_value){.kind = kind, .dict = dict};
    return dict != NULL;
}

bool tpl_dict_append(tpl_run *r, tpl_dict *d, tpl_value key, tpl_value value)
{
    if (d->n == d->room) {
        size_t room = 2 * d->room + 4;
        tpl_pair *more = tpl_alloc(r, room, sizeof *more);
        if (!more)
            return false;
        if (d->n)
            memcpy(more, d->at, d->n * sizeof *more);
        d->at = more;
        d->room = room;
    }
    d->at[d->n++] = (tpl_pair){key, value};
    return tpl_step(r, 1);
}

/* As many as the sandbox of jinja2 allows. */
#define MOST_RANGE 100000

bool tpl_range_new(tpl_run *r, int64_t from, int64_t to, int64_t step, tpl_value *v)
{
    if (step == 0)
        return tpl_fail(r, "range() arg 3 must not be zero");
    double span = step > 0 ? (double)to - (double)from : (double)from - (double)to;
    double size = step > 0 ? (double)step : -(double)step;
    double count = span <= 0 ? 0 : (span - 1) / size + 1;
    if (count > MOST_RANGE + 1)
        return tpl_fail(r, "a range has more than %d entries", MOST_RANGE);
    if (!tpl_list_new(r, TPL_RANGE, 0, v))
        return false;
    int64_t range[3] = {from, to, step};
    memcpy(v->list->range, range, sizeof range);
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
        if (!tpl_list_add(r, v, tpl_int(i)))
            return false;
        if (step > 0 ? i > INT64_MAX - step : i < INT64_MIN - step)
            break;
    }
    return v->list->n <= MOST_RANGE || tpl_fail(r, "a range has more than %d entries", MOST_RANGE);
}

/* -- looking ------------------------------------------------------------------------------- */

const char *tpl_type(const tpl_value *v)
{
    switch (v->kind) {
    case TPL_MISSING: return "missing";
    case TPL_UNDEFINED: return "Undefined";
    case TPL_NONE: return "NoneType";
    case TPL_BOOL: return "bool";
    case TPL_INT: return "int";
    case TPL_FLOAT: return "float";
    case TPL_STRING: return v->safe ? "Markup" : "str";
    case TPL_LIST: return "list";
    case TPL_TUPLE: return "tuple";
    case TPL_RANGE: return "range";
    case TPL_DICT: return "dict";
    case TPL_VIEW: return v->list->what;
    case TPL_ITERATOR: return "generator";
    case TPL_NAMESPACE: return "Namespace";
    case TPL_LOOP: return "LoopContext";
    case TPL_MACRO: return "Macro";
    case TPL_METHOD: return "method";
    case TPL_FUNCTION: return "function";
    }
    return "object";
}

bool tpl_same(const char *a, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(a, word, n) == 0;
}

bool tpl_is_text(const tpl_value *v, const char *word)
{
    return v->kind == TPL_STRING && tpl_same(v->s.at, v->s.n, word);
}

bool tpl_truth(const tpl_value *v)
{
    switch (v->kind) {
    case TPL_MISSING:
    case TPL_UNDEFINED:
    case TPL_NONE: return false;
    case TPL_BOOL:
    case TPL_INT: return v->i != 0;
    case TPL_FLOAT: return v->f != 0;
    case TPL_STRING: return v->s.n != 0;
    case TPL_LIST:
    case TPL_TUPLE:
    case TPL_RANGE:
    case TPL_VIEW: return v->list->n != 0;
    case TPL_DICT: return v->dict->n != 0;
    default: return true;
    }
}

bool tpl_is_whole(const tpl_value *v)
{
    return v->kind == TPL_INT || v->kind == TPL_BOOL;
}

bool tpl_is_number(const tpl_value *v)
{
    return tpl_is_whole(v) || v->kind == TPL_FLOAT;
}

double tpl_number(const tpl_value *v)
{
    return v->kind == TPL_FLOAT ? v->f : (double)v->i;
}

bool tpl_is_sequence(const tpl_value *v)
{
    return v->kind == TPL_LIST || v->kind == TPL_TUPLE || v->kind == TPL_RANGE;
}

size_t tpl_chars(const char *at, size_t n)
{
    size_t chars = 0;
    for (size_t i = 0; i < n; i++)
        chars += (at[i] & 0xc0) != 0x80;
    return chars;
}

size_t tpl_char_at(const char *at, size_t n, size_t index)
{
    for (size_t i = 0; i < n; i++)
        if ((at[i] & 0xc0) != 0x80 && index-- == 0)
            return i;
    return n;
}

bool tpl_length(tpl_run *r, const tpl_value *v, size_t *n)
{
    switch (v->kind) {
    case TPL_UNDEFINED: *n = 0; return true;
    case TPL_STRING: *n = tpl_chars(v->s.at, v->s.n); return tpl_step(r, v->s.n / 16);
    case TPL_LIST:
    case TPL_TUPLE:
    case TPL_RANGE:
    case TPL_VIEW: *n = v->list->n; return true;
    case TPL_DICT: *n = v->dict->n; return true;
    default: return tpl_fail(r, "object of type '%s' has no len()", tpl_type(v));
    }
}

bool tpl_iterable(const tpl_value *v)
{
    return v->kind == TPL_UNDEFINED || v->kind == TPL_STRING || tpl_is_sequence(v) || v->kind == TPL_DICT ||
           v->kind == TPL_VIEW || v->kind == TPL_ITERATOR || v->kind == TPL_LOOP;
}

static bool characters(tpl_run *r, const tpl_string *s, tpl_value *v)
{
    if (!tpl_list_new(r, TPL_LIST, tpl_chars(s->at, s->n), v))
        return false;
    for (size_t i = 0; i < s->n;) {
        size_t length = eu_utf8_length(s->at + i, s->n - i);
        if (!tpl_list_add(r, v, tpl_string_of(s->at + i, length ? length : 1)))
            return false;
        i += length ? length : 1;
    }
    return true;
}

bool tpl_entries(tpl_run *r, const tpl_value *v, tpl_list *entries)
{
    tpl_value made;
    *entries = (tpl_list){0};
    if (v->kind == TPL_UNDEFINED)
        return true;
    if (tpl_is_sequence(v) || v->kind == TPL_VIEW) {
        *entries = *v->list;
        return true;
    }
    if (v->kind == TPL_ITERATOR) {
        *entries = (tpl_list){.at = v->list->at + v->list->next, .n = v->list->n - v->list->next};
        v->list->next = v->list->n;
        return true;
    }
    if (v->kind == TPL_STRING) {
        if (!characters(r, &v->s, &made))
            return false;
    } else if (v->kind == TPL_DICT) {
        if (!tpl_list_new(r, TPL_LIST, v->dict->n, &made))
            return false;
        for (size_t i = 0; i < v->dict->n; i++)
            if (!tpl_list_add(r, &made, v->dict->at[i].key))
                return false;
    } else {
        return tpl_fail(r, "'%s' object is not iterable", tpl_type(v));
    }
    *entries = *made.list;
    return true;
}

/* -- white space --------------------------------------------------------------------------- */

static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

size_t tpl_space_at(const char *at, size_t n)
{
    const unsigned char *s = (const unsigned char *)at;
    size_t length = eu_utf8_length(at, n);
    uint32_t c = length == 1 ? s[0] :
                 length == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu) :
                 length == 3 ? (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu) : 0;
    return length && is_space(c) ? length : 0;
}

size_t tpl_space_before(const char *at, size_t n)
{
    for (size_t length = 1; length <= 3 && length <= n; length++)
        if ((at[n - length] & 0xc0) != 0x80)
            return tpl_space_at(at + n - length, length) == length ? length : 0;
    return 0;
}
