/* The parser of expressions: a function for each level of precedence, the loosest last. */
#include "config.h"

#include <string.h>

#include "syntax.h"

static tpl_node *parse_unary(tpl_parser *p, bool with_filters);
static tpl_node *parse_or(tpl_parser *p);

static uint32_t line_now(const tpl_parser *p)
{
    return tpl_now(p)->line;
}

static tpl_node *finish(tpl_parser *p, tpl_node *n)
{
    return n && !p->status && tpl_deep_enough(p, n) ? n : NULL;
}

static tpl_node *join(tpl_parser *p, tpl_node_kind kind, int op, uint32_t line, tpl_node *a, tpl_node *b)
{
    tpl_node *n = a && b ? tpl_node_new(p, kind, line) : NULL;
    if (!n)
        return NULL;
    n->op = (uint8_t)op;
    n->a = a;
    n->b = b;
    return finish(p, n);
}

/* -- what stands for itself ------------------------------------------------------------------ */

/* A comma before each but the first, one allowed after the last. */
static bool more_entries(tpl_parser *p, bool first, const char *close)
{
    if (tpl_is_op(p, close) || p->status)
        return false;
    return (first || tpl_expect_op(p, ",")) && !tpl_is_op(p, close);
}

static tpl_node *parse_list(tpl_parser *p)
{
    tpl_node *n = tpl_node_new(p, TPL_MAKE_LIST, line_now(p));
    p->next++;
    while (n && more_entries(p, n->list.n == 0, "]"))
        tpl_nodes_add(p, &n->list, tpl_parse_expression(p));
    return !p->status && tpl_expect_op(p, "]") ? n : NULL;
}

static tpl_node *parse_dict(tpl_parser *p)
{
    tpl_node *n = tpl_node_new(p, TPL_MAKE_DICT, line_now(p));
    p->next++;
    while (n && more_entries(p, n->list.n == 0, "}"))
        if (!tpl_nodes_add(p, &n->list, tpl_parse_expression(p)) || !tpl_expect_op(p, ":") ||
            !tpl_nodes_add(p, &n->list, tpl_parse_expression(p)))
            return NULL;
    return !p->status && tpl_expect_op(p, "}") ? n : NULL;
}

static tpl_node *parse_primary(tpl_parser *p, unsigned flags)
{
    const tpl_token *t = tpl_now(p);
    if (p->status)
        return NULL;
    switch (t->kind) {
    case TPL_T_NAME: return tpl_parse_word(p, flags);
    case TPL_T_STRING: return tpl_parse_string(p);
    case TPL_T_INT:
    case TPL_T_FLOAT: p->next++; return tpl_parse_constant(p, t->line, t->value);
    default: break;
    }
    if (tpl_is_op(p, "["))
        return parse_list(p);
    if (tpl_is_op(p, "{"))
        return parse_dict(p);
    if (!tpl_skip_op(p, "(")) {
        tpl_unexpected(p, "an expression");
        return NULL;
    }
    tpl_node *n = tpl_parse_tuple(p, TPL_PARENTHESES);
    return n && tpl_expect_op(p, ")") ? n : NULL;
}

/* -- what follows ------------------------------------------------------------------------------- */

static bool parse_argument(tpl_parser *p, tpl_node *n)
{
    const tpl_token *t = tpl_now(p);
    const bool plain = !n->rest && !n->rest_named && n->named.n == 0;
    const tpl_token *ahead = tpl_ahead(p);
    bool good = true;
    if (tpl_skip_op(p, "*")) {
        good = !n->rest && !n->rest_named;
        n->rest = tpl_parse_expression(p);
    } else if (tpl_skip_op(p, "**")) {
        good = !n->rest_named;
        n->rest_named = tpl_parse_expression(p);
    } else if (t->kind == TPL_T_NAME && ahead->kind == TPL_T_OPERATOR && tpl_same(ahead->at, ahead->n, "=")) {
        good = !n->rest_named;
        p->next += 2;
        if (!tpl_nodes_add(p, &n->named, tpl_parse_constant(p, t->line, tpl_string_of(t->at, t->n))))
            return false;
        tpl_nodes_add(p, &n->named, tpl_parse_expression(p));
    } else {
        good = plain;
        tpl_nodes_add(p, &n->list, tpl_parse_expression(p));
    }
    return !p->status && (good || tpl_refuse(p, ENG_ERR_FORMAT, t->line, "an argument stands where none can"));
}

/* Keywords that come twice are refused as Python does. */
static bool distinct(tpl_parser *p, const tpl_node *n)
{
    for (size_t i = 0; i < n->named.n; i += 2)
        for (size_t j = 0; j < i; j += 2) {
            const tpl_string *a = &n->named.at[i]->value.s, *b = &n->named.at[j]->value.s;
            if (a->n == b->n && memcmp(a->at, b->at, a->n) == 0)
                return tpl_refuse(p, ENG_ERR_FORMAT, n->line, "argument '%.*s' is given twice",
                                  (int)(a->n < 80 ? a->n : 80), a->at);
        }
    return true;
}

static bool parse_arguments(tpl_parser *p, tpl_node *n)
{
    if (!tpl_expect_op(p, "("))
        return false;
    for (bool first = true; more_entries(p, first, ")"); first = false)
        if (!parse_argument(p, n))
            return false;
    return !p->status && tpl_expect_op(p, ")") && distinct(p, n);
}

static tpl_node *parse_call(tpl_parser *p, tpl_node *of)
{
    tpl_node *n = tpl_node_new(p, TPL_CALL, line_now(p));
    if (!n)
        return NULL;
    n->a = of;
    return parse_arguments(p, n) ? finish(p, n) : NULL;
}

static bool ends_part(const tpl_parser *p)
{
    return tpl_is_op(p, "]") || tpl_is_op(p, ",");
}

static tpl_node *parse_index(tpl_parser *p)
{
    const uint32_t line = line_now(p);
    tpl_node *parts[3] = {NULL, NULL, NULL};
    if (!tpl_is_op(p, ":") && (!(parts[0] = tpl_parse_expression(p)) || !tpl_is_op(p, ":")))
        return parts[0];
    p->next++;
    if (!tpl_is_op(p, ":") && !ends_part(p) && !(parts[1] = tpl_parse_expression(p)))
        return NULL;
    if (tpl_skip_op(p, ":") && !ends_part(p) && !(parts[2] = tpl_parse_expression(p)))
        return NULL;
    tpl_node *n = tpl_node_new(p, TPL_SLICE, line);
    if (!n)
        return NULL;
    n->a = parts[0];
    n->b = parts[1];
    n->c = parts[2];
    return finish(p, n);
}

static tpl_node *parse_item(tpl_parser *p, tpl_node *of)
{
    const uint32_t line = line_now(p);
    tpl_node *index;
    p->next++;
    if (tpl_is_op(p, "]")) {
        tpl_unexpected(p, "an index");
        return NULL;
    }
    index = parse_index(p);
    if (index && tpl_is_op(p, ",")) {
        tpl_refuse(p, ENG_ERR_UNSUPPORTED, line, "an index of several parts is not understood");
        return NULL;
    }
    return index && tpl_expect_op(p, "]") ? join(p, TPL_ITEM, 0, line, of, index) : NULL;
}

static tpl_node *parse_attribute(tpl_parser *p, tpl_node *of)
{
    const tpl_token *t = &p->tokens.at[++p->next];
    if (t->kind == TPL_T_INT) {
        p->next++;
        return join(p, TPL_ITEM, 0, t->line, of, tpl_parse_constant(p, t->line, t->value));
    }
    if (!tpl_expect_kind(p, TPL_T_NAME, "a name or a number"))
        return NULL;
    tpl_node *n = tpl_node_new(p, TPL_ATTRIBUTE, t->line);
    if (!n)
        return NULL;
    n->a = of;
    n->name = t->at;
    n->name_n = t->n;
    return finish(p, n);
}

static tpl_node *parse_postfix(tpl_parser *p, tpl_node *n)
{
    while (n && !p->status) {
        if (tpl_is_op(p, "."))
            n = parse_attribute(p, n);
        else if (tpl_is_op(p, "["))
            n = parse_item(p, n);
        else if (tpl_is_op(p, "("))
            n = parse_call(p, n);
        else
            return n;
    }
    return NULL;
}

/* -- filters and tests ----------------------------------------------------------------------------- */

static tpl_node *named(tpl_parser *p, tpl_node_kind kind, tpl_node *of)
{
    const tpl_token *t = tpl_now(p);
    const char *what = kind == TPL_FILTER ? "a filter's name" : "a test's name";
    if (!tpl_expect_kind(p, TPL_T_NAME, what))
        return NULL;
    if (!(kind == TPL_FILTER ? p->has_filter : p->has_test)(t->at, t->n)) {
        tpl_refuse(p, ENG_ERR_UNSUPPORTED, t->line, "%s '%.*s' is not understood",
                   kind == TPL_FILTER ? "filter" : "test", (int)(t->n < 80 ? t->n : 80), t->at);
        return NULL;
    }
    if (tpl_is_op(p, ".")) {
        tpl_refuse(p, ENG_ERR_UNSUPPORTED, t->line, "a name of a filter or test with a point in it is not understood");
        return NULL;
    }
    tpl_node *n = tpl_node_new(p, kind, t->line);
    if (!n)
        return NULL;
    n->a = of;
    n->name = t->at;
    n->name_n = t->n;
    return n;
}

/* Filters that take the name of a filter or test: where it stands in the template, it must be known. */
static bool inner_name(tpl_parser *p, const tpl_node *n)
{
    const bool map = tpl_same(n->name, n->name_n, "map");
    const bool attribute = tpl_same(n->name, n->name_n, "selectattr") || tpl_same(n->name, n->name_n, "rejectattr");
    if (!map && !attribute && !tpl_same(n->name, n->name_n, "select") && !tpl_same(n->name, n->name_n, "reject"))
        return true;
    const tpl_node *name = n->list.n > attribute ? n->list.at[attribute] : NULL;
    if (!name || name->kind != TPL_CONST || name->value.kind != TPL_STRING)
        return true;
    const tpl_string *s = &name->value.s;
    return (map ? p->has_filter : p->has_test)(s->at, s->n) ||
           tpl_refuse(p, ENG_ERR_UNSUPPORTED, n->line, "%s '%.*s' is not understood", map ? "filter" : "test",
                      (int)(s->n < 80 ? s->n : 80), s->at);
}

tpl_node *tpl_parse_filters(tpl_parser *p, tpl_node *of, bool begun)
{
    while (begun || tpl_skip_op(p, "|")) {
        begun = false;
        tpl_node *n = named(p, TPL_FILTER, of);
        if (!n || (tpl_is_op(p, "(") && !parse_arguments(p, n)) || !inner_name(p, n))
            return NULL;
        of = finish(p, n);
        if (!of)
            return NULL;
    }
    return of;
}

/* "x is even 2" has its argument without parentheses. */
static bool plain_argument(const tpl_parser *p)
{
    const tpl_token *t = tpl_now(p);
    if (t->kind == TPL_T_NAME)
        return !tpl_is_name(p, "else") && !tpl_is_name(p, "or") && !tpl_is_name(p, "and");
    return t->kind == TPL_T_STRING || t->kind == TPL_T_INT || t->kind == TPL_T_FLOAT || tpl_is_op(p, "[") ||
           tpl_is_op(p, "{");
}

static tpl_node *parse_test(tpl_parser *p, tpl_node *of)
{
    const uint32_t line = line_now(p);
    p->next++;
    const bool negated = tpl_skip_name(p, "not");
    tpl_node *n = named(p, TPL_TEST, of);
    if (!n)
        return NULL;
    if (tpl_is_op(p, "(")) {
        if (!parse_arguments(p, n))
            return NULL;
    } else if (plain_argument(p)) {
        if (tpl_is_name(p, "is")) {
            tpl_refuse(p, ENG_ERR_FORMAT, line, "tests cannot be chained with is");
            return NULL;
        }
        if (!tpl_nodes_add(p, &n->list, parse_postfix(p, parse_primary(p, 0))))
            return NULL;
    }
    n = finish(p, n);
    if (!n || !negated)
        return n;
    tpl_node *not = tpl_node_new(p, TPL_NOT, line);
    if (!not)
        return NULL;
    not->a = n;
    return finish(p, not);
}

static tpl_node *parse_filtered(tpl_parser *p, tpl_node *n)
{
    while (n && !p->status) {
        if (tpl_is_op(p, "|"))
            n = tpl_parse_filters(p, n, false);
        else if (tpl_is_name(p, "is"))
            n = parse_test(p, n);
        else if (tpl_is_op(p, "("))
            n = parse_call(p, n);
        else
            return n;
    }
    return NULL;
}

/* -- operators ---------------------------------------------------------------------------------------- */

static tpl_node *parse_sign(tpl_parser *p)
{
    const uint32_t line = line_now(p);
    const int op = tpl_is_op(p, "-") ? TPL_MINUS : TPL_PLUS;
    p->next++;
    tpl_node *a = parse_unary(p, false), *n = a ? tpl_node_new(p, TPL_UNARY, line) : NULL;
    if (!n)
        return NULL;
    n->op = (uint8_t)op;
    n->a = a;
    return finish(p, n);
}

static tpl_node *parse_unary(tpl_parser *p, bool with_filters)
{
    if (!tpl_enter(p))
        return NULL;
    tpl_node *n = tpl_is_op(p, "-") || tpl_is_op(p, "+") ? parse_sign(p) : parse_primary(p, 0);
    n = parse_postfix(p, n);
    n = with_filters ? parse_filtered(p, n) : n;
    p->depth--;
    return n;
}

/* One of these words, and which. */
typedef struct sign {
    const char *word;
    int op;
} sign;

static bool take_sign(tpl_parser *p, const sign *signs, size_t n, int *op)
{
    for (size_t i = 0; i < n; i++)
        if (tpl_skip_op(p, signs[i].word)) {
            *op = signs[i].op;
            return true;
        }
    return false;
}

static tpl_node *parse_power(tpl_parser *p)
{
    uint32_t line = line_now(p);
    tpl_node *n = parse_unary(p, true);
    while (n && tpl_skip_op(p, "**"))
        n = join(p, TPL_BINARY, TPL_POWER, line, n, parse_unary(p, true));
    return n;
}

static tpl_node *parse_product(tpl_parser *p)
{
    static const sign signs[] = {{"*", TPL_TIMES}, {"/", TPL_DIVIDE}, {"//", TPL_FLOOR}, {"%", TPL_MODULO}};
    uint32_t line = line_now(p);
    int op;
    tpl_node *n = parse_power(p);
    while (n && take_sign(p, signs, 4, &op))
        n = join(p, TPL_BINARY, op, line, n, parse_power(p));
    return n;
}

static tpl_node *parse_concat(tpl_parser *p)
{
    uint32_t line = line_now(p);
    tpl_node *first = parse_product(p);
    if (!first || !tpl_is_op(p, "~"))
        return first;
    tpl_node *n = tpl_node_new(p, TPL_CONCAT, line);
    if (!n || !tpl_nodes_add(p, &n->list, first))
        return NULL;
    n->a = first; /* for its depth */
    while (tpl_skip_op(p, "~"))
        if (!tpl_nodes_add(p, &n->list, parse_product(p)))
            return NULL;
    tpl_node *whole = finish(p, n);
    n->a = NULL; /* or whoever walks it would see the first one twice, and what is in it four times */
    return whole;
}

static tpl_node *parse_sum(tpl_parser *p)
{
    static const sign signs[] = {{"+", TPL_PLUS}, {"-", TPL_MINUS}};
    uint32_t line = line_now(p);
    int op;
    tpl_node *n = parse_concat(p);
    while (n && take_sign(p, signs, 2, &op))
        n = join(p, TPL_BINARY, op, line, n, parse_concat(p));
    return n;
}

static bool take_comparison(tpl_parser *p, int *op)
{
    static const sign signs[] = {{"==", TPL_EQ}, {"!=", TPL_NE}, {"<", TPL_LT},
                                 {"<=", TPL_LE}, {">", TPL_GT},  {">=", TPL_GE}};
    const tpl_token *ahead = tpl_ahead(p);
    if (take_sign(p, signs, 6, op))
        return true;
    if (tpl_is_name(p, "not") && ahead->kind == TPL_T_NAME && tpl_same(ahead->at, ahead->n, "in")) {
        p->next += 2;
        *op = TPL_NOT_IN;
        return true;
    }
    *op = TPL_IN;
    return tpl_skip_name(p, "in");
}

static tpl_node *parse_comparison(tpl_parser *p)
{
    uint32_t line = line_now(p);
    tpl_node *first = parse_sum(p), *n = NULL;
    for (int op; first && take_comparison(p, &op);) {
        tpl_node *right = tpl_node_new(p, TPL_BINARY, line);
        if (!n && !(n = tpl_node_new(p, TPL_COMPARE, line)))
            return NULL;
        n->a = first;
        if (!right || !(right->b = parse_sum(p)))
            return NULL;
        right->op = (uint8_t)op;
        if (!tpl_nodes_add(p, &n->list, right))
            return NULL;
    }
    return n ? finish(p, n) : first;
}

static tpl_node *parse_not(tpl_parser *p)
{
    const uint32_t line = line_now(p);
    if (!tpl_skip_name(p, "not"))
        return parse_comparison(p);
    if (!tpl_enter(p))
        return NULL;
    tpl_node *a = parse_not(p), *n = a ? tpl_node_new(p, TPL_NOT, line) : NULL;
    p->depth--;
    if (!n)
        return NULL;
    n->a = a;
    return finish(p, n);
}

static tpl_node *parse_and(tpl_parser *p)
{
    uint32_t line = line_now(p);
    tpl_node *n = parse_not(p);
    while (n && tpl_skip_name(p, "and"))
        n = join(p, TPL_AND, 0, line, n, parse_not(p));
    return n;
}

static tpl_node *parse_or(tpl_parser *p)
{
    uint32_t line = line_now(p);
    tpl_node *n = parse_and(p);
    while (n && tpl_skip_name(p, "or"))
        n = join(p, TPL_OR, 0, line, n, parse_and(p));
    return n;
}

static tpl_node *parse_choice(tpl_parser *p)
{
    uint32_t line = line_now(p);
    tpl_node *value = parse_or(p);
    while (value && tpl_skip_name(p, "if")) {
        tpl_node *n = tpl_node_new(p, TPL_CHOICE, line);
        if (!n || !(n->a = parse_or(p)))
            return NULL;
        n->b = value;
        if (tpl_skip_name(p, "else") && !(n->c = tpl_parse_expression(p)))
            return NULL;
        value = finish(p, n);
    }
    return value;
}

tpl_node *tpl_parse_expression(tpl_parser *p)
{
    if (p->status || !tpl_enter(p))
        return NULL;
    tpl_node *n = parse_choice(p);
    p->depth--;
    return p->status ? NULL : n;
}

/* -- tuples and targets ---------------------------------------------------------------------------------- */

static bool tuple_ends(const tpl_parser *p, unsigned flags)
{
    const tpl_token *t = tpl_now(p);
    return t->kind == TPL_T_VARIABLE_END || t->kind == TPL_T_BLOCK_END || tpl_is_op(p, ")") ||
           ((flags & TPL_UNTIL_IN) && tpl_is_name(p, "in")) ||
           ((flags & TPL_UNTIL_RECURSIVE) && tpl_is_name(p, "recursive"));
}

static tpl_node *tuple_entry(tpl_parser *p, unsigned flags)
{
    if (flags & TPL_SIMPLE)
        return parse_primary(p, flags & TPL_NS);
    return flags & TPL_NO_CHOICE ? parse_or(p) : tpl_parse_expression(p);
}

tpl_node *tpl_parse_tuple(tpl_parser *p, unsigned flags)
{
    tpl_node *n = tpl_node_new(p, TPL_MAKE_TUPLE, line_now(p));
    bool commas = false;
    if (!n || !tpl_enter(p))
        return NULL;
    while (!tuple_ends(p, flags)) {
        if (!tpl_nodes_add(p, &n->list, tuple_entry(p, flags)))
            return NULL;
        if (!tpl_skip_op(p, ","))
            break;
        commas = true;
    }
    p->depth--;
    if (!commas && n->list.n)
        return n->list.at[0];
    if (!commas && !(flags & TPL_PARENTHESES)) {
        tpl_unexpected(p, "an expression");
        return NULL;
    }
    return n;
}

static bool can_be_set(tpl_parser *p, const tpl_node *n)
{
    bool good = n->kind == TPL_NAME || n->kind == TPL_NS_REF || n->kind == TPL_MAKE_TUPLE;
    for (size_t i = 0; n->kind == TPL_MAKE_TUPLE && i < n->list.n && good; i++)
        good = can_be_set(p, n->list.at[i]);
    return good;
}

tpl_node *tpl_parse_target(tpl_parser *p, unsigned flags)
{
    tpl_node *n = tpl_parse_tuple(p, flags | TPL_SIMPLE);
    if (n && !can_be_set(p, n)) {
        tpl_refuse(p, ENG_ERR_FORMAT, n->line, "what is no name cannot be set");
        return NULL;
    }
    return n;
}
