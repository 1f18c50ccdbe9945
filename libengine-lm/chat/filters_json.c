/* The filter tojson, as transformers has it in the place of jinja2's. */
#include "config.h"

#include "evaluate.h"
#include "filters.h"
#include "print.h"

/* (between entries, between key and value) */
static bool separators(tpl_run *r, const tpl_value *v, tpl_json *how)
{
    tpl_list parts;
    if (v->kind == TPL_MISSING || v->kind == TPL_NONE)
        return true;
    if (!tpl_entries(r, v, &parts))
        return false;
    if (parts.n != 2 || parts.at[0].kind != TPL_STRING || parts.at[1].kind != TPL_STRING)
        return tpl_fail(r, "tojson() needs two texts as separators");
    how->item = parts.at[0].s;
    how->key = parts.at[1].s;
    return true;
}

bool tpl_filter_json(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value indent = tpl_word("");
    tpl_text t = {0};
    tpl_json how = {.ascii = tpl_arg_bool(&v[1], false),
                    .sorted = tpl_arg_bool(&v[4], false),
                    .item = {", ", 2, NULL},
                    .key = {": ", 2, NULL}};
    if (v[2].kind != TPL_MISSING && v[2].kind != TPL_NONE) {
        const tpl_value space = tpl_word(" ");
        if (v[2].kind == TPL_STRING)
            indent = v[2];
        else if (!tpl_is_whole(&v[2]))
            return tpl_fail(r, "tojson() needs a number as indent, got %s", tpl_type(&v[2]));
        else if (!tpl_binary(r, TPL_TIMES, &space, &v[2], &indent))
            return false;
        how.indent = &indent.s;
        how.item.n = 1;
    }
    bool good = separators(r, &v[3], &how) && tpl_to_json(r, &t, &v[0], &how);
    *result = tpl_text_value(&t);
    return good;
}
