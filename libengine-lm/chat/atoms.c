/* The parser of names, strings and words that stand for values. */
#include "config.h"

#include <string.h>

#include "syntax.h"

tpl_node *tpl_parse_constant(tpl_parser *p, uint32_t line, tpl_value value)
{
    tpl_node *n = tpl_node_new(p, TPL_CONST, line);
    if (n)
        n->value = value;
    return n;
}

tpl_node *tpl_parse_name(tpl_parser *p)
{
    const tpl_token *t = tpl_now(p);
    if (!tpl_expect_kind(p, TPL_T_NAME, "a name"))
        return NULL;
    tpl_node *n = tpl_node_new(p, TPL_NAME, t->line);
    if (n) {
        n->name = t->at;
        n->name_n = t->n;
    }
    return n;
}

tpl_node *tpl_parse_string(tpl_parser *p)
{
    const tpl_token *first = tpl_now(p);
    size_t n = 0, used = 0, last = p->next;
    for (; p->tokens.at[last].kind == TPL_T_STRING; last++)
        n += p->tokens.at[last].n;
    if (last == p->next + 1) {
        p->next++;
        return tpl_parse_constant(p, first->line, tpl_string_of(first->at, first->n));
    }
    char *text = eu_arena_alloc(p->memory, n);
    if (!text) {
        p->status = eng_fail_code(EU_NO_MEMORY("a template"));
        return NULL;
    }
    for (; p->next < last; p->next++) {
        memcpy(text + used, tpl_now(p)->at, tpl_now(p)->n);
        used += tpl_now(p)->n;
    }
    return tpl_parse_constant(p, first->line, tpl_string_of(text, n));
}

tpl_node *tpl_parse_word(tpl_parser *p, unsigned flags)
{
    const tpl_token *t = tpl_now(p);
    static const struct {
        const char *word;
        tpl_value value;
    } words[] = {{"true", {.kind = TPL_BOOL, .i = 1}}, {"True", {.kind = TPL_BOOL, .i = 1}},
                 {"false", {.kind = TPL_BOOL}},        {"False", {.kind = TPL_BOOL}},
                 {"none", {.kind = TPL_NONE}},         {"None", {.kind = TPL_NONE}}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tpl_skip_name(p, words[i].word))
            return tpl_parse_constant(p, t->line, words[i].value);
    tpl_node *n = tpl_parse_name(p);
    if (n && (flags & TPL_NS) && tpl_skip_op(p, ".")) {
        const tpl_token *attribute = tpl_now(p);
        if (!tpl_expect_kind(p, TPL_T_NAME, "a name"))
            return NULL;
        n->kind = TPL_NS_REF;
        n->value = tpl_string_of(attribute->at, attribute->n);
    }
    return n;
}
