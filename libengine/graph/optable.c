/*
 * The op table: rows of ops.def, their rules parsed once into the form that the
 * shape check, the meta plugin and the documentation use.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "../base/base.h"
#include "columns.h"

typedef struct op_row {
    uint32_t op;
    const char *name, *rule, *types, *linear;
    uint32_t flags;
    const char *params, *work, *expression, *sample, *doc;
} op_row;

static const op_row rows[] = {
#define ENG_OP(id, number, name, rule, types, linear, flags, params, work, sample, doc)                                \
    {number, #name, rule, types, linear, flags, params, work, NULL, sample, doc},
#define ENG_OP_EACH(id, number, name, rule, types, linear, flags, params, work, expression, sample, doc)               \
    {number, #name, rule, types, linear, flags, params, work, #expression, sample, doc},
#include "engine/ops.def"
};

static eng_op_info table[ENG_OP_LIMIT];
static bool broken[ENG_OP_LIMIT]; /* rows that do not parse: a unit test insists that there are none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* -- the rule language ------------------------------------------------------ */

typedef struct parser {
    const char *at;
    eng_op_info *info;
    int rest_first; /* number of the first letter that "..." stands for, -1 before it was met */
    int rest_n;
    bool failed;
} parser;

static void skip_space(parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

static bool take(parser *p, const char *word)
{
    size_t n = strlen(word);
    skip_space(p);
    if (strncmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static size_t word_length(const char *at)
{
    size_t n = 0;
    while ((at[n] >= 'a' && at[n] <= 'z') || (at[n] >= '0' && at[n] <= '9') || at[n] == '_')
        n++;
    return n;
}

static uint8_t letter_number(parser *p, const char *name, size_t length)
{
    eng_op_info *info = p->info;
    if (length == 1 && name[0] == '_')
        return ENG_LETTER_PRIVATE;
    for (uint8_t i = 0; i < info->n_letters; i++)
        if (strlen(info->letter_name[i]) == length && memcmp(info->letter_name[i], name, length) == 0)
            return i;
    if (info->n_letters == ENG_MAX_LETTERS || length == 0 || length >= sizeof info->letter_name[0]) {
        p->failed = true;
        return ENG_LETTER_PRIVATE;
    }
    memcpy(info->letter_name[info->n_letters], name, length);
    return info->n_letters++;
}

static uint8_t take_letter(parser *p)
{
    skip_space(p);
    size_t n = word_length(p->at);
    uint8_t letter = letter_number(p, p->at, n);
    p->at += n;
    return letter;
}

/* "...": the letters of the dimensions that follow, the same in every operand. */
static int take_rest(parser *p, eng_rule_operand *operand, int dim, bool broadcast)
{
    if (p->rest_first < 0) {
        p->rest_first = p->info->n_letters;
        p->rest_n = ENG_MAX_RANK - dim;
        for (int i = 0; i < p->rest_n; i++) {
            char name[3] = {'.', (char)('1' + i), 0};
            letter_number(p, name, 2);
        }
    }
    for (int i = 0; i < p->rest_n && dim < ENG_MAX_RANK; i++, dim++) {
        operand->dims[dim].n_letters = 1;
        operand->dims[dim].broadcast = broadcast;
        operand->dims[dim].letters[0] = (uint8_t)(p->rest_first + i);
    }
    return dim;
}

static int take_dim(parser *p, eng_rule_operand *operand, int dim)
{
    bool broadcast = take(p, "~");
    if (take(p, "..."))
        return take_rest(p, operand, dim, broadcast);
    eng_rule_dim *d = &operand->dims[dim];
    d->broadcast = broadcast;
    if (take(p, "(")) {
        while (!take(p, ")") && !p->failed) {
            if (d->n_letters == sizeof d->letters)
                p->failed = true;
            else
                d->letters[d->n_letters++] = take_letter(p);
        }
    } else {
        d->n_letters = 1;
        d->letters[0] = take_letter(p);
    }
    return dim + 1;
}

static void take_operand(parser *p, eng_rule_operand *operand)
{
    skip_space(p);
    size_t n = word_length(p->at);
    if (n == 0 || n >= sizeof operand->name) {
        p->failed = true;
        return;
    }
    memcpy(operand->name, p->at, n);
    p->at += n;
    operand->n_dims = ENG_MAX_RANK;
    operand->optional = take(p, "?");
    operand->inout = take(p, "!");
    if (!take(p, "["))
        p->failed = true;
    for (int dim = 0; !take(p, "]") && !p->failed;) {
        if (dim >= ENG_MAX_RANK || *p->at == 0)
            p->failed = true;
        else
            dim = take_dim(p, operand, dim);
        take(p, ",");
    }
}

static void take_classes(parser *p)
{
    static const char *const names[] = {"pass", "reduce", "lse", "sumsq", "index", "whole"};
    while (!p->failed) {
        skip_space(p);
        if (*p->at == 0)
            return;
        uint8_t letter = take_letter(p);
        bool found = false;
        if (letter == ENG_LETTER_PRIVATE || !take(p, ":")) {
            p->failed = true;
            return;
        }
        for (uint8_t c = 0; c < sizeof names / sizeof *names && !found; c++)
            if (take(p, names[c])) {
                p->info->letter_class[letter] = c;
                found = true;
            }
        p->failed = !found;
    }
}

static void parse_linear(eng_op_info *info, const char *linear)
{
    const char *plus = strchr(linear, '+');
    info->linear_together = plus != NULL;
    for (const char *at = linear; plus == NULL && *at;) {
        size_t n = word_length(at);
        for (int i = 0; i < info->n_in; i++)
            if (strlen(info->in[i].name) == n && memcmp(info->in[i].name, at, n) == 0)
                info->in[i].linear = 1;
        at += n;
        while (*at == ' ')
            at++;
    }
}

static bool parse_rule(eng_op_info *info, const char *rule)
{
    parser p = {.at = rule, .info = info, .rest_first = -1};
    while (!take(&p, "->") && !take(&p, ";") && !p.failed) {
        if (*p.at == 0)
            return true;
        if (info->n_in == ENG_MAX_INPUTS)
            return false;
        take_operand(&p, &info->in[info->n_in++]);
    }
    while (!p.failed && p.at[-1] != ';' && *p.at != 0 && !take(&p, ";")) {
        if (info->n_out == ENG_MAX_OUTPUTS)
            return false;
        take_operand(&p, &info->out[info->n_out++]);
    }
    take_classes(&p);
    return !p.failed;
}

static void build(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const op_row *r = &rows[i];
        eng_op_info *info = &table[r->op];
        *info = (eng_op_info){.size = sizeof *info, .op = r->op, .flags = r->flags, .name = r->name, .rule = r->rule,
                              .types = r->types, .params = r->params, .expression = r->expression,
                              .sample = r->sample, .doc = r->doc};
        broken[r->op] = !parse_rule(info, r->rule) || !eng_columns_parse(info, r->work);
        parse_linear(info, r->linear);
    }
}

const eng_op_info *eng_op_get(uint32_t op)
{
    pthread_once(&once, build);
    if (op >= ENG_OP_LIMIT || table[op].name == NULL || broken[op])
        return NULL;
    return &table[op];
}

const eng_op_info *eng_op_find(const char *name)
{
    for (uint32_t op = 1; name != NULL && op < ENG_OP_LIMIT; op++) {
        const eng_op_info *info = eng_op_get(op);
        if (info != NULL && strcmp(info->name, name) == 0)
            return info;
    }
    return NULL;
}

const char *eng_unary_name(int64_t kind)
{
    static const char *const names[ENG_UNARY_LIMIT] = {
#define ENG_UNARY(id, number, name, ...) [number] = #name,
#include "engine/ops.def"
    };
    return kind >= 0 && kind < ENG_UNARY_LIMIT ? names[kind] : "";
}

const char *eng_glu_name(int64_t kind)
{
    static const char *const names[ENG_GLU_KINDS] = {
#define ENG_GLU(id, number, name, ...) [number] = #name,
#include "engine/ops.def"
    };
    return kind >= 0 && kind < ENG_GLU_KINDS ? names[kind] : "";
}
