/* The parser of statements. */
#include "config.h"

#include <string.h>

#include "syntax.h"

static bool parse_statement(tpl_parser *p, tpl_nodes *into);

/* Up to one of these tags (words with spaces around), which is the current word then; NULL: to the end. */
static bool parse_until(tpl_parser *p, const char *ends, tpl_nodes *into);

static bool ends_with(const tpl_parser *p, const char *ends)
{
    char word[32];
    const tpl_token *t = tpl_now(p);
    if (!ends || t->kind != TPL_T_NAME || t->n + 3 > sizeof word)
        return false;
    word[0] = ' ';
    memcpy(word + 1, t->at, t->n);
    memcpy(word + 1 + t->n, " ", 2);
    return strstr(ends, word) != NULL;
}

static bool add_output(tpl_parser *p, tpl_nodes *into, uint32_t line)
{
    tpl_node *n = tpl_node_new(p, TPL_OUTPUT, line);
    if (!n || !(n->a = tpl_parse_tuple(p, TPL_ANY)))
        return false;
    return tpl_expect_kind(p, TPL_T_VARIABLE_END, "}}") && tpl_nodes_add(p, into, n);
}

static bool add_data(tpl_parser *p, tpl_nodes *into, const tpl_token *t)
{
    tpl_node *n = tpl_node_new(p, TPL_DATA, t->line);
    if (n)
        n->value = tpl_string_of(t->at, t->n);
    return tpl_nodes_add(p, into, n);
}

static bool parse_until(tpl_parser *p, const char *ends, tpl_nodes *into)
{
    const uint32_t begun = tpl_now(p)->line;
    while (!p->status) {
        const tpl_token *t = tpl_now(p);
        if (t->kind == TPL_T_END)
            return !ends || tpl_refuse(p, ENG_ERR_FORMAT, begun, "a block has no end: expected one of%s", ends);
        p->next++;
        if (t->kind == TPL_T_DATA)
            add_data(p, into, t);
        else if (t->kind == TPL_T_VARIABLE)
            add_output(p, into, t->line);
        else if (ends_with(p, ends))
            return true;
        else if (parse_statement(p, into))
            tpl_expect_kind(p, TPL_T_BLOCK_END, "%}");
    }
    return false;
}

/* The rest of a tag, and what follows up to another. */
static bool parse_body(tpl_parser *p, const char *ends, tpl_nodes *into)
{
    tpl_skip_op(p, ":");
    if (p->status || !tpl_expect_kind(p, TPL_T_BLOCK_END, "%}") || !tpl_enter(p))
        return false;
    bool good = parse_until(p, ends, into);
    p->depth--;
    return good;
}

static bool parse_whole_body(tpl_parser *p, const char *end, tpl_nodes *into)
{
    if (!parse_body(p, end, into))
        return false;
    p->next++;
    return true;
}

/* -- statements, from behind their words on ------------------------------------------------------ */

/* Conditions and bodies: a GENERATION node that holds the statements of each. */
static bool parse_if(tpl_parser *p, tpl_node *n)
{
    do {
        if (!tpl_nodes_add(p, &n->list, tpl_parse_tuple(p, TPL_NO_CHOICE)))
            return false;
        tpl_node *body = tpl_node_new(p, TPL_GENERATION, n->line);
        if (!tpl_nodes_add(p, &n->other, body) || !parse_body(p, " elif else endif ", &body->body))
            return false;
    } while (tpl_skip_name(p, "elif"));
    if (tpl_skip_name(p, "else"))
        return parse_whole_body(p, " endif ", &n->more);
    p->next++;
    return true;
}

static bool parse_for(tpl_parser *p, tpl_node *n)
{
    if (!(n->a = tpl_parse_target(p, TPL_UNTIL_IN)) || !tpl_expect_name(p, "in") ||
        !(n->b = tpl_parse_tuple(p, TPL_NO_CHOICE | TPL_UNTIL_RECURSIVE)))
        return false;
    if (tpl_skip_name(p, "if") && !(n->c = tpl_parse_expression(p)))
        return false;
    if (tpl_is_name(p, "recursive"))
        return tpl_refuse(p, ENG_ERR_UNSUPPORTED, n->line, "a recursive loop is not understood");
    if (n->a->kind == TPL_NAME && tpl_same(n->a->name, n->a->name_n, "loop"))
        return tpl_refuse(p, ENG_ERR_FORMAT, n->line, "a loop's variable cannot be called loop");
    p->loops++;
    bool good = parse_body(p, " else endfor ", &n->body);
    p->loops--;
    if (good && tpl_skip_name(p, "else"))
        return parse_whole_body(p, " endfor ", &n->more);
    p->next += good;
    return good;
}

static bool parse_set(tpl_parser *p, tpl_node *n)
{
    if (!(n->a = tpl_parse_target(p, TPL_NS)))
        return false;
    if (tpl_skip_op(p, "="))
        return (n->b = tpl_parse_tuple(p, TPL_ANY)) != NULL;
    n->kind = TPL_SET_BLOCK;
    if (tpl_is_op(p, "|") && !(n->b = tpl_parse_filters(p, NULL, false)))
        return false;
    return parse_whole_body(p, " endset ", &n->body);
}

static bool parse_parameters(tpl_parser *p, tpl_node *n)
{
    if (!tpl_expect_op(p, "("))
        return false;
    while (!tpl_is_op(p, ")")) {
        if ((n->list.n && !tpl_expect_op(p, ",")) || !tpl_nodes_add(p, &n->list, tpl_parse_name(p)))
            return false;
        if (tpl_skip_op(p, "=")) {
            if (!tpl_nodes_add(p, &n->other, tpl_parse_expression(p)))
                return false;
        } else if (n->other.n) {
            return tpl_refuse(p, ENG_ERR_FORMAT, n->line, "a parameter without a default follows one that has it");
        }
    }
    return tpl_expect_op(p, ")");
}

/* Does the body use this name? */
static bool uses(const tpl_nodes *nodes, const char *name);

static bool node_uses(const tpl_node *n, const char *name)
{
    if (!n)
        return false;
    if (n->kind == TPL_NAME && tpl_same(n->name, n->name_n, name))
        return true;
    return node_uses(n->a, name) || node_uses(n->b, name) || node_uses(n->c, name) || node_uses(n->rest, name) ||
           node_uses(n->rest_named, name) || uses(&n->list, name) || uses(&n->other, name) || uses(&n->body, name) ||
           uses(&n->more, name) || uses(&n->named, name);
}

static bool uses(const tpl_nodes *nodes, const char *name)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (node_uses(nodes->at[i], name))
            return true;
    return false;
}

static uint8_t used_by(const tpl_node *n)
{
    return (uint8_t)((uses(&n->body, "caller") ? TPL_USES_CALLER : 0) |
                     (uses(&n->body, "varargs") ? TPL_USES_VARARGS : 0) |
                     (uses(&n->body, "kwargs") ? TPL_USES_KWARGS : 0));
}

/* A body that is called from elsewhere: loops around it are not its own. */
static bool parse_callable(tpl_parser *p, const char *end, tpl_nodes *into)
{
    unsigned loops = p->loops;
    p->loops = 0;
    bool good = parse_whole_body(p, end, into);
    p->loops = loops;
    return good;
}

static bool parse_macro(tpl_parser *p, tpl_node *n)
{
    tpl_node *name = tpl_parse_name(p);
    if (!name || !parse_parameters(p, n))
        return false;
    n->name = name->name;
    n->name_n = name->name_n;
    if (!parse_callable(p, " endmacro ", &n->body))
        return false;
    n->op = used_by(n);
    return true;
}

static bool parse_call_block(tpl_parser *p, tpl_node *n)
{
    if (tpl_is_op(p, "(") && !parse_parameters(p, n))
        return false;
    n->name = "caller";
    n->name_n = 6;
    if (!(n->a = tpl_parse_expression(p)))
        return false;
    if (n->a->kind != TPL_CALL)
        return tpl_refuse(p, ENG_ERR_FORMAT, n->line, "a block call is of a call");
    if (!parse_callable(p, " endcall ", &n->body))
        return false;
    n->op = used_by(n);
    return true;
}

static bool parse_filter_block(tpl_parser *p, tpl_node *n)
{
    n->b = tpl_parse_filters(p, NULL, true);
    return n->b && parse_whole_body(p, " endfilter ", &n->body);
}

static bool parse_with(tpl_parser *p, tpl_node *n)
{
    while (tpl_now(p)->kind != TPL_T_BLOCK_END) {
        if ((n->list.n && !tpl_expect_op(p, ",")) || !tpl_nodes_add(p, &n->list, tpl_parse_target(p, TPL_ANY)) ||
            !tpl_expect_op(p, "=") || !tpl_nodes_add(p, &n->other, tpl_parse_expression(p)))
            return false;
    }
    return parse_whole_body(p, " endwith ", &n->body);
}

static bool parse_generation(tpl_parser *p, tpl_node *n)
{
    return parse_callable(p, " endgeneration ", &n->body);
}

static bool parse_leave(tpl_parser *p, tpl_node *n)
{
    n->op = tpl_same(p->tokens.at[p->next - 1].at, p->tokens.at[p->next - 1].n, "break") ? 1 : 2;
    return p->loops || tpl_refuse(p, ENG_ERR_FORMAT, n->line, "break and continue stand in loops");
}


static const struct {
    const char *word;
    tpl_node_kind kind;
    bool (*parse)(tpl_parser *p, tpl_node *n);
} statements[] = {
    {"if", TPL_IF, parse_if}, {"for", TPL_FOR, parse_for}, {"set", TPL_SET, parse_set}, {"macro", TPL_MACRO_DEF, parse_macro},
    {"call", TPL_CALL_BLOCK, parse_call_block}, {"filter", TPL_FILTER_BLOCK, parse_filter_block}, {"with", TPL_WITH, parse_with},
    {"generation", TPL_GENERATION, parse_generation}, {"break", TPL_LEAVE, parse_leave}, {"continue", TPL_LEAVE, parse_leave},
};

static bool parse_statement(tpl_parser *p, tpl_nodes *into)
{
    const tpl_token *t = tpl_now(p);
    if (!tpl_expect_kind(p, TPL_T_NAME, "a tag's name"))
        return false;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (!tpl_same(t->at, t->n, statements[i].word))
            continue;
        tpl_node *n = tpl_node_new(p, statements[i].kind, t->line);
        return n && statements[i].parse(p, n) && tpl_nodes_add(p, into, n);
    }
    if (t->n > 3 && memcmp(t->at, "end", 3) == 0)
        return tpl_refuse(p, ENG_ERR_FORMAT, t->line, "tag '%.*s' ends nothing that is open here",
                          (int)(t->n < 80 ? t->n : 80), t->at);
    return tpl_refuse(p, ENG_ERR_UNSUPPORTED, t->line, "tag '%.*s' is not understood", (int)(t->n < 80 ? t->n : 80),
                      t->at);
}

int tpl_parse(tpl_parser *p, tpl_nodes *body)
{
    parse_until(p, NULL, body);
    return p->status;
}
