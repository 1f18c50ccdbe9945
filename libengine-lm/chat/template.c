/* Templates of conversations, as hosts see them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "execute.h"
#include "filters.h"
#include "marks.h"
#include "syntax.h"
#include "variables.h"
#include "../files/model.h"

struct eng_lm_template {
    eu_arena memory;
    tpl_nodes body;
};

static int parse(eng_lm_template *t, const char *source, size_t length)
{
    tpl_parser p = {.memory = &t->memory, .has_filter = tpl_filter_known, .has_test = tpl_test_known};
    int status = tpl_lex(&t->memory, source, length, &p.tokens);
    if (!status)
        status = tpl_parse(&p, &t->body);
    eu_array_free(&p.tokens);
    return status;
}

static int check_source(const char *source, size_t length)
{
    uint32_t line = 1;
    if (length > ENG_LM_TEMPLATE_BYTES)
        return eng_fail(ENG_ERR_STATE, "the template" ENG_CAUSE "it has %zu bytes, expected %u at most", length,
                        ENG_LM_TEMPLATE_BYTES);
    for (size_t i = 0, n; i < length; i += n) {
        n = eu_utf8_length(source + i, length - i);
        if (n == 0)
            return eng_fail(ENG_ERR_FORMAT, "the template, line %u" ENG_CAUSE "it is not UTF-8", line);
        line += source[i] == '\n';
    }
    return ENG_OK;
}

int eng_lm_template_create(const char *source, size_t length, eng_lm_template **template)
{
    if ((!source && length) || !template)
        return eng_fail(ENG_ERR_INVALID,
                        "eng_lm_template_create" ENG_CAUSE "a text and a place for the template are needed");
    int status = check_source(source, length);
    if (status)
        return status;
    eng_lm_template *t = lm_calloc(1, sizeof *t);
    if (!t)
        return ENG_ERR_NOMEM;
    status = parse(t, source, length);
    if (status) {
        eng_lm_template_destroy(t);
        return status;
    }
    *template = t;
    return ENG_OK;
}

void eng_lm_template_destroy(eng_lm_template *t)
{
    if (!t)
        return;
    eu_arena_end(&t->memory);
    free(t);
}

/* -- rendering ---------------------------------------------------------------------------------- */

/* A token's spelling under a name that the caller gave nothing for. */
static bool set_token(tpl_run *r, tpl_scope *scope, const eng_lm_model *m, const char *name, int32_t id)
{
    size_t n = 0;
    const char *text = id >= 0 ? eng_tokenizer_piece(m->tokenizer, id, true, &n) : NULL;
    tpl_text copy = {0};
    if (!text || tpl_scope_find(scope, name, strlen(name)))
        return true;
    return tpl_add(r, &copy, text, n) && tpl_scope_set(r, scope, name, strlen(name), tpl_text_value(&copy));
}

static bool set_tokens(tpl_run *r, tpl_scope *scope, const eng_lm_model *m)
{
    return !m || !m->tokenizer ||
           (set_token(r, scope, m, "bos_token", eng_tokenizer_bos(m->tokenizer)) &&
            set_token(r, scope, m, "eos_token", eng_tokenizer_eos(m->tokenizer)) &&
            set_token(r, scope, m, "unk_token", eng_tokenizer_unknown(m->tokenizer)));
}

/* The text as memory for free(). */
static bool copy_out(tpl_run *r, const tpl_text *from, char **text, size_t *length)
{
    char *copy = malloc(from->n + 1);
    if (!copy)
        return tpl_fail_as(r, ENG_ERR_NOMEM, "out of memory for its text");
    if (from->n)
        memcpy(copy, from->at, from->n);
    copy[from->n] = 0;
    *text = copy;
    *length = from->n;
    return true;
}

/* What of the text was given, as memory for free(); NULL: nothing. */
static bool copy_marked(tpl_run *r, const tpl_text *from, eng_lm_range **given, size_t *n)
{
    const size_t ranges = tpl_marked(r, from, NULL);
    eng_lm_range *copy = ranges ? malloc(ranges * sizeof *copy) : NULL;
    if (ranges && !copy)
        return tpl_fail_as(r, ENG_ERR_NOMEM, "out of memory for what was given of its text");
    *n = tpl_marked(r, from, copy);
    *given = copy;
    return true;
}

typedef struct rendering {
    char *text;
    size_t length;
    bool marked; /* what was given is asked for                              */
    eng_lm_range *given;
    size_t n_given;
} rendering;

static int render(const eng_lm_template *t, const eng_lm_model *model, const char *json, rendering *x)
{
    static const tpl_hooks hooks = {.call = tpl_call_value, .filter = tpl_filter_run, .test = tpl_test_run};
    tpl_run r = {.hooks = &hooks, .line = 1};
    tpl_text out = {0};
    tpl_scope *given, *own;
    bool good = (!x->marked || tpl_marks_begin(&r)) && tpl_scope_new(&r, NULL, &given) &&
                tpl_variables(&r, json, given) && set_tokens(&r, given, model) && tpl_scope_new(&r, given, &own);
    if (good) {
        r.scope = own;
        r.out = &out;
        good = tpl_execute(&r, &t->body) && copy_out(&r, &out, &x->text, &x->length) &&
               (!x->marked || copy_marked(&r, &out, &x->given, &x->n_given));
    }
    eu_arena_end(&r.memory);
    if (!good)
        free(x->text);
    return good ? ENG_OK : r.status;
}

int eng_lm_template_render(const eng_lm_template *t, const eng_lm_model *model, const char *json, char **text,
                           size_t *length)
{
    rendering x = {0};
    if (!t || !json || !text)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_template_render" ENG_CAUSE
                        "a template, its variables as JSON and a place for the text are needed");
    int status = render(t, model, json, &x);
    if (status)
        return status;
    *text = x.text;
    if (length)
        *length = x.length;
    return ENG_OK;
}

int eng_lm_template_render_given(const eng_lm_template *t, const eng_lm_model *model, const char *json, char **text,
                                 size_t *length, eng_lm_range **given, size_t *n_given)
{
    rendering x = {.marked = true};
    if (!t || !json || !text || !length || !given || !n_given)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_template_render_given" ENG_CAUSE
                        "a template, its variables as JSON and places for the text and its ranges are needed");
    int status = render(t, model, json, &x);
    if (status)
        return status;
    *text = x.text;
    *length = x.length;
    *given = x.given;
    *n_given = x.n_given;
    return ENG_OK;
}
