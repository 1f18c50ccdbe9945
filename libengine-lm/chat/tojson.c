/* Values as JSON, as Python's json.dumps writes them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "lists.h"
#include "marks.h"
#include "print.h"
#include "../tokenizer/unicode.h"

static bool write_unit(tpl_run *r, tpl_text *t, uint32_t c)
{
    if (c < 0x10000)
        return tpl_format(r, t, "\\u%04x", c);
    return tpl_format(r, t, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
}

static bool write_character(tpl_run *r, tpl_text *t, const char *at, size_t n, bool ascii)
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    uint32_t c;
    eng_utf8_decode(at, n, &c);
    const char *name = c && c < 128 ? strchr(named, (int)c) : NULL;
    if (name)
        return tpl_format(r, t, "\\%c", letters[name - named]);
    return c < 32 || (ascii && c > 126) ? write_unit(r, t, c) : tpl_add(r, t, at, n);
}

static bool write_text(tpl_run *r, tpl_text *t, const tpl_string *s, bool ascii)
{
    bool good = tpl_add_word(r, t, "\"");
    for (size_t i = 0; i < s->n && good;) {
        size_t n = eu_utf8_length(s->at + i, s->n - i);
        n = n ? n : 1;
        const size_t before = t->n;
        good = write_character(r, t, s->at + i, n, ascii);
        tpl_mark_as(r, t, before, s->at + i, n);
        i += n;
    }
    return good && tpl_add_word(r, t, "\"");
}

static bool write_scalar(tpl_run *r, tpl_text *t, const tpl_value *v, bool ascii)
{
    switch (v->kind) {
    case TPL_NONE: return tpl_add_word(r, t, "null");
    case TPL_BOOL: return tpl_add_word(r, t, v->i ? "true" : "false");
    case TPL_STRING: return write_text(r, t, &v->s, ascii);
    case TPL_FLOAT:
        if (isnan(v->f) || isinf(v->f))
            return tpl_add_word(r, t, isnan(v->f) ? "NaN" : v->f < 0 ? "-Infinity" : "Infinity");
        return tpl_print_float(r, t, v->f);
    case TPL_INT: return tpl_repr(r, t, v);
    default: return tpl_fail(r, "Object of type %s is not JSON serializable", tpl_type(v));
    }
}

static bool new_line(tpl_run *r, tpl_text *t, const tpl_json *how, unsigned level)
{
    if (!how->indent)
        return true;
    bool good = tpl_add_word(r, t, "\n");
    for (unsigned i = 0; i < level && good; i++)
        good = tpl_add(r, t, how->indent->at, how->indent->n);
    return good;
}

static bool write_value(tpl_run *r, tpl_text *t, const tpl_value *v, const tpl_json *how, unsigned level);

static bool write_list(tpl_run *r, tpl_text *t, const tpl_list *l, const tpl_json *how, unsigned level)
{
    if (l->n == 0)
        return tpl_add_word(r, t, "[]");
    bool good = tpl_add_word(r, t, "[");
    for (size_t i = 0; i < l->n && good; i++)
        good = (i == 0 || tpl_add(r, t, how->item.at, how->item.n)) && new_line(r, t, how, level + 1) &&
               write_value(r, t, &l->at[i], how, level + 1);
    return good && new_line(r, t, how, level) && tpl_add_word(r, t, "]");
}

static bool write_key(tpl_run *r, tpl_text *t, const tpl_value *key, const tpl_json *how)
{
    if (key->kind == TPL_STRING)
        return write_text(r, t, &key->s, how->ascii);
    if (key->kind != TPL_NONE && !tpl_is_number(key))
        return tpl_fail(r, "keys must be str, int, float, bool or None, not %s", tpl_type(key));
    return tpl_add_word(r, t, "\"") && write_scalar(r, t, key, how->ascii) && tpl_add_word(r, t, "\"");
}

static bool write_members(tpl_run *r, tpl_text *t, const tpl_pair *pairs, size_t n, const tpl_json *how, unsigned level)
{
    bool good = tpl_add_word(r, t, "{");
    for (size_t i = 0; i < n && good; i++)
        good = (i == 0 || tpl_add(r, t, how->item.at, how->item.n)) && new_line(r, t, how, level + 1) &&
               write_key(r, t, &pairs[i].key, how) && tpl_add(r, t, how->key.at, how->key.n) &&
               write_value(r, t, &pairs[i].value, how, level + 1);
    return good && new_line(r, t, how, level) && tpl_add_word(r, t, "}");
}

static bool write_dict(tpl_run *r, tpl_text *t, const tpl_dict *d, const tpl_json *how, unsigned level)
{
    if (d->n == 0)
        return tpl_add_word(r, t, "{}");
    if (!how->sorted)
        return write_members(r, t, d->at, d->n, how, level);
    tpl_pair *sorted = tpl_alloc(r, d->n, sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, d->at, d->n * sizeof *sorted);
    return tpl_sort_pairs(r, sorted, d->n) && write_members(r, t, sorted, d->n, how, level);
}

static bool write_value(tpl_run *r, tpl_text *t, const tpl_value *v, const tpl_json *how, unsigned level)
{
    const bool list = v->kind == TPL_LIST || v->kind == TPL_TUPLE;
    if (!list && v->kind != TPL_DICT)
        return tpl_step(r, 1) && write_scalar(r, t, v, how->ascii);
    if (!tpl_step(r, 1) || !tpl_deeper(r))
        return false;
    bool good = list ? write_list(r, t, v->list, how, level) : write_dict(r, t, v->dict, how, level);
    r->depth--;
    return good;
}

bool tpl_to_json(tpl_run *r, tpl_text *t, const tpl_value *v, const tpl_json *how)
{
    return write_value(r, t, v, how, 0);
}
