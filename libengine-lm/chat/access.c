/* Parts of values: attributes, items, slices. */
#include "config.h"

#include <string.h>

#include "evaluate.h"
#include "loop.h"
#include "methods.h"
#include "print.h"

static bool bound(tpl_run *r, const tpl_value *of, const tpl_method *row, tpl_value *result)
{
    tpl_value *self = tpl_alloc(r, 1, sizeof *self);
    if (!self)
        return false;
    *self = *of;
    *result = (tpl_value){.kind = TPL_METHOD, .method = {row, self}};
    return true;
}

/* What Python finds by getattr; *found: there is such a thing. */
static bool own_attribute(tpl_run *r, const tpl_value *of, const char *name, size_t n, bool *found, tpl_value *result)
{
    const tpl_method *row = tpl_method_find(of->kind, name, n);
    *found = true;
    if (row)
        return bound(r, of, row, result);
    if (of->kind == TPL_LOOP && tpl_loop_field(of->loop, name, n, result))
        return true;
    if (of->kind == TPL_NAMESPACE) {
        const tpl_value *value = tpl_dict_name(of->dict, name, n);
        *found = value != NULL;
        if (value)
            *result = *value;
        return true;
    }
    *found = false;
    return true;
}

/* What begins so is Python's own, and not for templates. */
static bool hidden(tpl_run *r, const tpl_value *of, const char *name, size_t n)
{
    if (n < 2 || memcmp(name, "__", 2) != 0)
        return true;
    return tpl_fail(r, "access to attribute '%.*s' of '%s' object is unsafe", (int)(n < 80 ? n : 80), name,
                    tpl_type(of));
}

bool tpl_attribute(tpl_run *r, const tpl_value *of, const char *name, size_t n, tpl_value *result)
{
    bool found;
    if (of->kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, of);
    if (!own_attribute(r, of, name, n, &found, result) || found)
        return found && !r->status;
    const tpl_value *value = of->kind == TPL_DICT ? tpl_dict_name(of->dict, name, n) : NULL;
    *result = value ? *value : tpl_undefined(name, n, tpl_type(of));
    return value || hidden(r, of, name, n);
}

/* -- items ---------------------------------------------------------------------------------- */

static bool list_item(const tpl_list *l, int64_t i, tpl_value *result)
{
    if (i < 0)
        i += (int64_t)l->n;
    if (i < 0 || (size_t)i >= l->n)
        return false;
    *result = l->at[i];
    return true;
}

static bool text_item(const tpl_value *of, int64_t i, tpl_value *result)
{
    const tpl_string *s = &of->s;
    if (i < 0)
        i += (int64_t)tpl_chars(s->at, s->n);
    if (i < 0)
        return false;
    size_t at = tpl_char_at(s->at, s->n, (size_t)i);
    if (at >= s->n)
        return false;
    *result = tpl_string_of(s->at + at, tpl_char_at(s->at + at, s->n - at, 1));
    result->safe = of->safe;
    return true;
}

/* What Python finds by []. */
static bool found_item(tpl_run *r, const tpl_value *of, const tpl_value *index, bool *found, tpl_value *result)
{
    bool good = true, hashable;
    *found = false;
    if (of->kind == TPL_DICT) {
        good = tpl_hashable(r, index, &hashable);
        const tpl_value *value = good && hashable ? tpl_dict_find(r, of->dict, index, &good) : NULL;
        *found = value != NULL;
        if (value)
            *result = *value;
    } else if (tpl_is_whole(index) && tpl_is_sequence(of)) {
        *found = list_item(of->list, index->i, result);
    } else if (tpl_is_whole(index) && of->kind == TPL_STRING) {
        good = tpl_step(r, of->s.n / 16);
        *found = text_item(of, index->i, result);
    }
    return good;
}

bool tpl_item(tpl_run *r, const tpl_value *of, const tpl_value *index, tpl_value *result)
{
    bool found;
    tpl_value name;
    if (of->kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, of);
    if (!found_item(r, of, index, &found, result))
        return false;
    if (found)
        return true;
    if (index->kind == TPL_STRING) {
        if (!own_attribute(r, of, index->s.at, index->s.n, &found, result))
            return false;
        if (found)
            return true;
        *result = tpl_undefined(index->s.at, index->s.n, tpl_type(of));
        return hidden(r, of, index->s.at, index->s.n);
    }
    /* only numbers have a name that is cheap */
    if (!tpl_is_number(index))
        name = tpl_word("item");
    else if (!tpl_as_string(r, index, &name))
        return false;
    *result = tpl_undefined(name.s.at, name.s.n, tpl_type(of));
    return true;
}

/* -- slices ------------------------------------------------------------------------------------ */

static bool slice_number(tpl_run *r, const tpl_value *v, int64_t otherwise, int64_t *number)
{
    *number = otherwise;
    if (v->kind == TPL_NONE)
        return true;
    *number = v->i;
    return tpl_is_whole(v) || tpl_fail(r, "slice indices must be integers or None or have an __index__ method");
}

static int64_t clamp(int64_t i, int64_t n, int64_t least, int64_t most)
{
    if (i < 0)
        i += n;
    return i < least ? least : i > most ? most : i;
}

/* First, how many, step. */
static bool bounds(tpl_run *r, const tpl_value part[3], size_t length, int64_t slice[3])
{
    const int64_t n = (int64_t)length;
    int64_t from, to, step;
    if (!slice_number(r, &part[2], 1, &step))
        return false;
    if (step == 0)
        return tpl_fail(r, "slice step cannot be zero");
    const bool back = step < 0;
    if (!slice_number(r, &part[0], back ? INT64_MAX : 0, &from) ||
        !slice_number(r, &part[1], back ? INT64_MIN : INT64_MAX, &to))
        return false;
    from = clamp(from, n, back ? -1 : 0, back ? n - 1 : n);
    to = part[1].kind == TPL_NONE ? (back ? -1 : n) : clamp(to, n, back ? -1 : 0, back ? n - 1 : n);
    if (step > n + 1)
        step = n + 1;
    if (step < -n - 1)
        step = -n - 1;
    slice[0] = from;
    slice[1] = back ? (from > to ? (from - to - 1) / -step + 1 : 0) : (to > from ? (to - from - 1) / step + 1 : 0);
    slice[2] = step;
    return true;
}

static bool slice_text(tpl_run *r, const tpl_value *of, const int64_t slice[3], tpl_value *result)
{
    tpl_list chars;
    tpl_text t = {0};
    const tpl_string *s = &of->s;
    if (slice[2] == 1) {
        size_t from = tpl_char_at(s->at, s->n, (size_t)slice[0]);
        *result = tpl_string_of(s->at + from, tpl_char_at(s->at + from, s->n - from, (size_t)slice[1]));
        result->safe = of->safe;
        return tpl_step(r, s->n / 16);
    }
    if (!tpl_entries(r, of, &chars))
        return false;
    for (int64_t i = 0; i < slice[1]; i++) {
        const tpl_string *c = &chars.at[slice[0] + i * slice[2]].s;
        if (!tpl_add(r, &t, c->at, c->n))
            return false;
    }
    *result = tpl_text_value(&t);
    result->safe = of->safe;
    return true;
}

static bool slice_list(tpl_run *r, const tpl_value *of, const int64_t slice[3], tpl_value *result)
{
    const tpl_list *l = of->list;
    if (!tpl_list_new(r, of->kind, (size_t)slice[1], result))
        return false;
    for (int64_t i = 0; i < slice[1]; i++)
        if (!tpl_list_add(r, result, l->at[slice[0] + i * slice[2]]))
            return false;
    if (of->kind == TPL_RANGE) {
        int64_t step = l->range[2] * slice[2], from = l->range[0] + slice[0] * l->range[2];
        int64_t range[3] = {from, from + slice[1] * step, step};
        memcpy(result->list->range, range, sizeof range);
    }
    return true;
}

bool tpl_slice(tpl_run *r, const tpl_value *of, const tpl_value part[3], tpl_value *result)
{
    size_t n = 0;
    int64_t slice[3] = {0, 0, 1};
    if (of->kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, of);
    if (of->kind != TPL_STRING && !tpl_is_sequence(of))
        return tpl_fail(r, "'%s' object has no slices", tpl_type(of));
    if (of->kind == TPL_RANGE && (part[0].kind != TPL_NONE || part[1].kind != TPL_NONE || part[2].kind != TPL_NONE) &&
        of->list->range[2] != 1)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "a part of a range with steps is not understood: make a list of it");
    if (!tpl_length(r, of, &n) || !bounds(r, part, n, slice))
        return false;
    return of->kind == TPL_STRING ? slice_text(r, of, slice, result) : slice_list(r, of, slice, result);
}

/* -- paths ---------------------------------------------------------------------------------------- */

static bool step_into(tpl_run *r, const tpl_value *of, const char *name, size_t n, tpl_value *result)
{
    int64_t number = 0;
    size_t i = 0;
    for (; i < n && i < 18 && name[i] >= '0' && name[i] <= '9'; i++)
        number = 10 * number + name[i] - '0';
    tpl_value index = n && i == n ? tpl_int(number) : tpl_string_of(name, n);
    return tpl_item(r, of, &index, result);
}

bool tpl_path(tpl_run *r, const tpl_value *of, const tpl_value *path, tpl_value *result)
{
    *result = *of;
    if (path->kind != TPL_STRING)
        return path->kind == TPL_INT ? tpl_item(r, of, path, result) : tpl_fail(r, "an attribute's name is no text");
    for (size_t i = 0; i <= path->s.n;) {
        const char *dot = i < path->s.n ? memchr(path->s.at + i, '.', path->s.n - i) : NULL;
        size_t end = dot ? (size_t)(dot - path->s.at) : path->s.n;
        tpl_value of_it = *result;
        if (!step_into(r, &of_it, path->s.at + i, end - i, result))
            return false;
        i = end + 1;
    }
    return true;
}
