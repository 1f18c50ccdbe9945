/* The tree of a template: made by the parser, never changed. */
#ifndef ENGINE_LM_CHAT_SYNTAX_H
#define ENGINE_LM_CHAT_SYNTAX_H

#include "value.h"

/* -- words (lex.c) ------------------------------------------------------------------------ */

typedef enum tpl_token_kind {
    TPL_T_END, TPL_T_DATA, TPL_T_VARIABLE, TPL_T_VARIABLE_END, TPL_T_BLOCK, TPL_T_BLOCK_END, TPL_T_NAME, TPL_T_STRING,
    TPL_T_INT, TPL_T_FLOAT, TPL_T_OPERATOR
} tpl_token_kind;

typedef struct tpl_token {
    tpl_token_kind kind;
    uint32_t line;
    const char *at; /* of operators: as they are written                     */
    size_t n;
    tpl_value value; /* of numbers                                           */
} tpl_token;

typedef struct tpl_tokens {
    tpl_token *at;
    size_t n, room;
} tpl_tokens;

/* All words of a text, ended by TPL_T_END; what they point to lies in the arena. */
int tpl_lex(eu_arena *memory, const char *source, size_t n, tpl_tokens *tokens);

/* -- the tree (parse.c, expression.c) ------------------------------------------------------- */

typedef enum tpl_node_kind {
    TPL_CONST, TPL_NAME, TPL_MAKE_LIST, TPL_MAKE_TUPLE, TPL_MAKE_DICT, TPL_ATTRIBUTE, TPL_ITEM, TPL_SLICE, TPL_CALL, TPL_FILTER,
    TPL_TEST, TPL_UNARY, TPL_BINARY, TPL_COMPARE, TPL_AND, TPL_OR, TPL_NOT, TPL_CHOICE, TPL_CONCAT, TPL_NS_REF,
    /* statements */
    TPL_DATA, TPL_OUTPUT, TPL_IF, TPL_FOR, TPL_SET, TPL_SET_BLOCK, TPL_MACRO_DEF, TPL_CALL_BLOCK, TPL_FILTER_BLOCK, TPL_WITH,
    TPL_LEAVE, TPL_GENERATION
} tpl_node_kind;

typedef struct tpl_nodes {
    tpl_node **at;
    size_t n, room;
} tpl_nodes;

/*
 * What a kind uses of it:
 *     CONST value; NAME name; MAKE_* list (of dicts key, value, key, ...); ATTRIBUTE a.name; ITEM a[b]; SLICE a:b:c;
 *     CALL a(list, ...); FILTER a|name(list, ...), a NULL: what is captured; TEST a is name(list, ...);
 *     UNARY op a; BINARY a op b; COMPARE a, then list, each a BINARY without its left; AND, OR a, b; NOT a;
 *     CHOICE b if a else c; CONCAT list; NS_REF name.attribute (value);
 *     DATA value; OUTPUT a; IF list of conditions, bodies (other), more; FOR a in b if c: body, more; SET a = b;
 *     SET_BLOCK a, filter b, body; MACRO_DEF name, list of parameters, other: their defaults from the last one back,
 *     body; CALL_BLOCK the same, call a; FILTER_BLOCK filter b, body; WITH list = other, body; LEAVE op;
 *     GENERATION body
 */
struct tpl_node {
    uint8_t kind, op;
    uint16_t depth;
    uint32_t line;
    const char *name;
    size_t name_n;
    tpl_node *a, *b, *c;
    tpl_nodes list, other, body, more;
    /* of calls: name = value; * and ** */
    tpl_nodes named; /* CONST name, value, ...                                */
    tpl_node *rest, *rest_named;
    tpl_value value;
};

/* Operators of UNARY, BINARY and COMPARE. */
enum { TPL_PLUS, TPL_MINUS, TPL_TIMES, TPL_DIVIDE, TPL_FLOOR, TPL_MODULO, TPL_POWER, TPL_EQ, TPL_NE, TPL_LT, TPL_LE, TPL_GT, TPL_GE,
       TPL_IN, TPL_NOT_IN };

/* What a macro is given beyond its parameters, and uses: op of MACRO_DEF and CALL_BLOCK. */
enum { TPL_USES_CALLER = 1, TPL_USES_VARARGS = 2, TPL_USES_KWARGS = 4 };

typedef struct tpl_parser {
    eu_arena *memory;
    tpl_tokens tokens;
    size_t next;
    unsigned depth, loops;
    int status;
    bool (*has_filter)(const char *name, size_t n); /* is it known? */
    bool (*has_test)(const char *name, size_t n);
} tpl_parser;

/* expression.c.  NULL: the failure has been told. */
#define TPL_ANY 0u
#define TPL_SIMPLE 1u      /* names and literals                              */
#define TPL_NO_CHOICE 2u   /* no "a if b else c"                               */
#define TPL_PARENTHESES 4u /* may be empty                                    */
#define TPL_UNTIL_IN 8u    /* ends before `in`                                */
#define TPL_UNTIL_RECURSIVE 16u
#define TPL_NS 32u         /* name.attribute is a place                       */
tpl_node *tpl_parse_tuple(tpl_parser *p, unsigned flags);
tpl_node *tpl_parse_expression(tpl_parser *p);
/* Filters of a block: a|b|c from the name of the first on, applied to what is captured. */
tpl_node *tpl_parse_filters(tpl_parser *p, tpl_node *of, bool begun);
tpl_node *tpl_parse_target(tpl_parser *p, unsigned flags);

/* atoms.c */
tpl_node *tpl_parse_name(tpl_parser *p);
tpl_node *tpl_parse_constant(tpl_parser *p, uint32_t line, tpl_value value);
tpl_node *tpl_parse_string(tpl_parser *p); /* those side by side are one */
tpl_node *tpl_parse_word(tpl_parser *p, unsigned flags);

/* parse.c */
int tpl_parse(tpl_parser *p, tpl_nodes *body);

/* The parser's own tools (tokens.c). */
tpl_node *tpl_node_new(tpl_parser *p, tpl_node_kind kind, uint32_t line);
bool tpl_nodes_add(tpl_parser *p, tpl_nodes *list, tpl_node *node);
const tpl_token *tpl_now(const tpl_parser *p);
const tpl_token *tpl_ahead(const tpl_parser *p);
bool tpl_is_op(const tpl_parser *p, const char *op);
bool tpl_is_name(const tpl_parser *p, const char *name);
bool tpl_skip_op(tpl_parser *p, const char *op);
bool tpl_skip_name(tpl_parser *p, const char *name);
bool tpl_expect_op(tpl_parser *p, const char *op);
bool tpl_expect_name(tpl_parser *p, const char *name);
bool tpl_expect_kind(tpl_parser *p, tpl_token_kind kind, const char *what);
/* false */
bool tpl_refuse(tpl_parser *p, int status, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool tpl_unexpected(tpl_parser *p, const char *expected);
bool tpl_enter(tpl_parser *p); /* leave with p->depth-- */
bool tpl_deep_enough(tpl_parser *p, tpl_node *n); /* notes how deep it is; false: too deep */

#endif
