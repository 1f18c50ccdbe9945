/* The parser's tools: the word where it stands, failures, nodes. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "syntax.h"

bool tpl_refuse(tpl_parser *p, int status, uint32_t line, const char *format, ...)
{
    char text[400];
    eu_text cause = EU_TEXT_IN(text);
    va_list args;
    if (p->status)
        return false;
    va_start(args, format);
    eu_text_vformat(&cause, format, args);
    va_end(args);
    p->status = eng_fail(status, "the template, line %u" ENG_CAUSE "%s", line, text);
    return false;
}

static bool no_memory(tpl_parser *p)
{
    if (!p->status)
        p->status = eng_fail_code(EU_NO_MEMORY("a template"));
    return false;
}

tpl_node *tpl_node_new(tpl_parser *p, tpl_node_kind kind, uint32_t line)
{
    tpl_node *n = p->status ? NULL : eu_arena_alloc(p->memory, sizeof *n);
    if (!n) {
        no_memory(p);
        return NULL;
    }
    n->kind = (uint8_t)kind;
    n->line = line;
    return n;
}

bool tpl_nodes_add(tpl_parser *p, tpl_nodes *list, tpl_node *node)
{
    if (!node)
        return false;
    if (list->n == list->room) {
        size_t room = 2 * list->room + 2;
        tpl_node **more = eu_arena_array(p->memory, room, sizeof *more);
        if (!more)
            return no_memory(p);
        if (list->n)
            memcpy(more, list->at, list->n * sizeof *more);
        list->at = more;
        list->room = room;
    }
    list->at[list->n++] = node;
    return true;
}

const tpl_token *tpl_now(const tpl_parser *p)
{
    return &p->tokens.at[p->next];
}

const tpl_token *tpl_ahead(const tpl_parser *p)
{
    return &p->tokens.at[p->next + (tpl_now(p)->kind != TPL_T_END)];
}

bool tpl_is_op(const tpl_parser *p, const char *op)
{
    const tpl_token *t = tpl_now(p);
    return t->kind == TPL_T_OPERATOR && tpl_same(t->at, t->n, op);
}

bool tpl_is_name(const tpl_parser *p, const char *name)
{
    const tpl_token *t = tpl_now(p);
    return t->kind == TPL_T_NAME && tpl_same(t->at, t->n, name);
}

bool tpl_skip_op(tpl_parser *p, const char *op)
{
    bool is = tpl_is_op(p, op);
    p->next += is;
    return is;
}

bool tpl_skip_name(tpl_parser *p, const char *name)
{
    bool is = tpl_is_name(p, name);
    p->next += is;
    return is;
}

static const char *kind_name(tpl_token_kind kind)
{
    switch (kind) {
    case TPL_T_END: return "the end of the template";
    case TPL_T_DATA: return "text";
    case TPL_T_VARIABLE: return "{{";
    case TPL_T_VARIABLE_END: return "}}";
    case TPL_T_BLOCK: return "{%";
    case TPL_T_BLOCK_END: return "%}";
    case TPL_T_STRING: return "a string";
    default: return NULL;
    }
}

bool tpl_unexpected(tpl_parser *p, const char *expected)
{
    const tpl_token *t = tpl_now(p);
    const char *kind = kind_name(t->kind);
    if (kind)
        return tpl_refuse(p, ENG_ERR_FORMAT, t->line, "expected %s, got %s", expected, kind);
    return tpl_refuse(p, ENG_ERR_FORMAT, t->line, "expected %s, got '%.*s'", expected, (int)(t->n < 80 ? t->n : 80),
                      t->at);
}

bool tpl_expect_op(tpl_parser *p, const char *op)
{
    char word[16] = "'";
    if (tpl_skip_op(p, op))
        return true;
    eu_copy(word + 1, sizeof word - 2, op);
    strcat(word, "'");
    return tpl_unexpected(p, word);
}

bool tpl_expect_name(tpl_parser *p, const char *name)
{
    return tpl_skip_name(p, name) || tpl_unexpected(p, name);
}

bool tpl_expect_kind(tpl_parser *p, tpl_token_kind kind, const char *what)
{
    if (tpl_now(p)->kind != kind)
        return tpl_unexpected(p, what);
    p->next++;
    return true;
}

bool tpl_enter(tpl_parser *p)
{
    if (p->depth >= ENG_LM_TEMPLATE_NESTING)
        return tpl_refuse(p, ENG_ERR_STATE, tpl_now(p)->line, "expressions or blocks are nested more than %u deep",
                          ENG_LM_TEMPLATE_NESTING);
    p->depth++;
    return true;
}

static unsigned deeper(unsigned depth, const tpl_node *n)
{
    return n && n->depth > depth ? n->depth : depth;
}

/* Chains, as of sums, are as deep as they are long. */
#define MOST_CHAIN 400

bool tpl_deep_enough(tpl_parser *p, tpl_node *n)
{
    unsigned depth = deeper(deeper(deeper(0, n->a), n->b), n->c);
    if (depth >= MOST_CHAIN)
        return tpl_refuse(p, ENG_ERR_STATE, n->line, "an expression is more than %d operators deep", MOST_CHAIN);
    n->depth = (uint16_t)(depth + 1);
    return true;
}
