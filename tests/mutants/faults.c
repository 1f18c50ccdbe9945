/* See scan.h: which faults a file can have. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

const char *const operator_names[OPERATORS] = {"negate", "bound",  "equal", "sum",  "logic",  "bits", "constant",
                                               "real",   "truth", "status", "call", "assign", "lock"};

typedef struct finder {
    const source *s;
    size_t name, begin, end; /* of the function: its name, its first and last brace */
    fault *faults;
    size_t n, room;
    bool failed;
} finder;


static bool is(const finder *f, size_t i, const char *text)
{
    return source_is(f->s, i, text);
}

static bool one_of(const finder *f, size_t i, const char *const *texts)
{
    for (; *texts; texts++)
        if (is(f, i, *texts))
            return true;
    return false;
}

/* The token that closes the bracket that token i opens. */
static size_t closing(const source *s, size_t i)
{
    int depth = 0;
    for (; i < s->n; i++) {
        char c = s->tokens[i].kind == TOKEN_SIGN && s->tokens[i].length == 1 ? s->data[s->tokens[i].at] : 0;
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth == 0)
            return i;
    }
    return s->n - 1;
}

static fault *add(finder *f, operator kind, size_t first)
{
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 256;
        fault *more = realloc(f->faults, room * sizeof *more);
        f->failed = f->failed || !more;
        if (!more)
            return NULL;
        f->faults = more;
        f->room = room;
    }
    f->faults[f->n] = (fault){.kind = kind, .function = f->name, .first = first};
    return &f->faults[f->n++];
}

static void change(fault *f, size_t at, size_t length, const char *text)
{
    if (!f || f->n_edits == (int)(sizeof f->edits / sizeof *f->edits))
        return;
    edit *e = &f->edits[f->n_edits++];
    e->at = at;
    e->length = length;
    snprintf(e->text, sizeof e->text, "%s", text);
}

static void replace(finder *f, operator kind, size_t i, const char *text)
{
    change(add(f, kind, i), f->s->tokens[i].at, f->s->tokens[i].length, text);
}

/* -- signs --------------------------------------------------------------------------- */

/* A sign with blanks on both sides is one between two operands: `a * b`, not `type *p` or `-x`. */
static bool between(const finder *f, size_t i)
{
    const token *t = &f->s->tokens[i];
    return isspace((unsigned char)f->s->data[t->at - 1]) && isspace((unsigned char)f->s->data[t->at + t->length]);
}

static void sign(finder *f, size_t i)
{
    static const struct {
        const char *from, *to;
        operator kind;
    } signs[] = {
        {"<", "<=", BOUND}, {"<=", "<", BOUND},   {">", ">=", BOUND},   {">=", ">", BOUND},   {"==", "!=", EQUAL},
        {"!=", "==", EQUAL}, {"+", "-", SUM},     {"-", "+", SUM},      {"*", "+", SUM},      {"/", "*", SUM},
        {"+=", "-=", SUM},  {"-=", "+=", SUM},    {"&&", "||", LOGIC},  {"||", "&&", LOGIC},  {"&", "|", BITS},
        {"|", "&", BITS},   {"<<", ">>", BITS},   {">>", "<<", BITS},
    };
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (is(f, i, signs[k].from) && between(f, i))
            replace(f, signs[k].kind, i, signs[k].to);
}

/* -- numbers ------------------------------------------------------------------------- */

/* `char text[256]`: an array that is longer is no fault. */
static bool extent(const finder *f, size_t i)
{
    return is(f, i - 1, "[") && is(f, i + 1, "]") && f->s->tokens[i - 2].kind == TOKEN_WORD &&
           (f->s->tokens[i - 3].kind == TOKEN_WORD || is(f, i - 3, "*") || is(f, i - 3, ","));
}

static void number(finder *f, size_t i)
{
    const token *t = &f->s->tokens[i];
    const char *text = f->s->data + t->at;
    char *rest, changed[64];
    unsigned long long n = strtoull(text, &rest, 0);
    if (extent(f, i) || t->length > 30)
        return;
    size_t whole = (size_t)(rest - text), suffix = strspn(rest, "uUlL");
    if (whole + suffix == t->length) {
        bool less = n > 0 && t->at % 2;
        snprintf(changed, sizeof changed, "%llu%.*s", less ? n - 1 : n + 1, (int)suffix, rest);
        replace(f, CONSTANT, i, changed);
    } else {
        snprintf(changed, sizeof changed, "(1.5f * %.*s)", (int)t->length, text);
        if (strtod(text, NULL) != 0)
            replace(f, REAL, i, changed);
    }
}

/* -- words --------------------------------------------------------------------------- */

static void negate(finder *f, size_t i)
{
    if (!is(f, i + 1, "("))
        return;
    fault *made = add(f, NEGATE, i);
    change(made, f->s->tokens[i + 1].at, 1, "(!(");
    change(made, f->s->tokens[closing(f->s, i + 1)].at, 1, "))");
}

static void word(finder *f, size_t i)
{
    const token *t = &f->s->tokens[i];
    bool returned = is(f, i - 1, "return") && is(f, i + 1, ";");
    if (is(f, i, "if"))
        negate(f, i);
    else if (is(f, i, "true"))
        replace(f, TRUTH, i, "false");
    else if (is(f, i, "false"))
        replace(f, TRUTH, i, "true");
    else if (is(f, i, "ENG_OK") && returned)
        replace(f, STATUS, i, "ENG_ERR_IO");
    else if (is(f, i, "status") && returned)
        replace(f, STATUS, i, "ENG_OK");
    else if (t->length > 8 && strncmp(f->s->data + t->at, "ENG_ERR_", 8) == 0)
        replace(f, STATUS, i, is(f, i, "ENG_ERR_INVALID") ? "ENG_ERR_STATE" : "ENG_ERR_INVALID");
}

/* -- statements ---------------------------------------------------------------------- */

static bool starts_statement(const finder *f, size_t i)
{
    static const char *const before[] = {";", "{", "}", "else", "do", NULL};
    if (one_of(f, i - 1, before))
        return true;
    if (!is(f, i - 1, ")"))
        return false;
    int depth = 0; /* if (...) statement */
    for (size_t k = i - 1; k > f->begin; k--) {
        depth += is(f, k, ")") - is(f, k, "(");
        if (depth == 0) {
            static const char *const heads[] = {"if", "for", "while", NULL};
            return one_of(f, k - 1, heads);
        }
    }
    return false;
}

/* Where the statement ends that begins with token i: its semicolon. */
static size_t statement_end(const finder *f, size_t i)
{
    while (i < f->end && !is(f, i, ";"))
        i = is(f, i, "(") || is(f, i, "[") || is(f, i, "{") ? closing(f->s, i) + 1 : i + 1;
    return i;
}

static void drop(finder *f, operator kind, size_t i)
{
    size_t at = f->s->tokens[i].at, end = f->s->tokens[statement_end(f, i)].at;
    change(add(f, kind, i), at, end - at, "(void)0");
}

/* What is not freed is check-valgrind's to find. */
static void statement(finder *f, size_t i)
{
    static const char *const no_call[] = {"if", "for", "while", "switch", "return", "sizeof", "va_start", "va_end",
                                          "free", "pthread_mutex_lock", "pthread_mutex_unlock", NULL};
    static const char *const assigns[] = {"=",  "+=",  "-=",  "*=", "/=", "|=", "&=",
                                          "^=", "<<=", ">>=", "++", "--", NULL};
    if (f->s->tokens[i].kind != TOKEN_WORD || !starts_statement(f, i) || one_of(f, i, no_call))
        return;
    size_t end = i + 1;
    while (is(f, end, ".") || is(f, end, "->") || is(f, end, "["))
        end = is(f, end, "[") ? closing(f->s, end) + 1 : end + 2;
    if (is(f, end, "(") && is(f, closing(f->s, end) + 1, ";"))
        drop(f, CALL, i);
    else if (one_of(f, end, assigns) && is(f, statement_end(f, i), ";"))
        drop(f, ASSIGN, i);
}

/* The locks that a function takes: dropped together, with what gives them back. */
static void locks(finder *f)
{
    static const char *const calls[] = {"pthread_mutex_lock", "pthread_mutex_unlock", NULL};
    size_t first = 0;
    for (size_t i = f->begin; i < f->end && !first; i++)
        first = is(f, i, calls[0]) ? i : 0;
    fault *made = first ? add(f, LOCK, first) : NULL;
    for (size_t i = f->begin; i < f->end && made; i++)
        if (one_of(f, i, calls) && is(f, i + 1, "("))
            change(made, f->s->tokens[i].at, f->s->tokens[closing(f->s, i + 1)].at + 1 - f->s->tokens[i].at, "(void)0");
}

/* -- functions ----------------------------------------------------------------------- */

static void look_at_function(finder *f)
{
    int round = 0; /* in how many round brackets: no statements there */
    for (size_t i = f->begin + 1; i < f->end; i++) {
        round += is(f, i, "(") - is(f, i, ")");
        if (round == 0)
            statement(f, i);
        if (f->s->tokens[i].kind == TOKEN_SIGN)
            sign(f, i);
        else if (f->s->tokens[i].kind == TOKEN_NUMBER)
            number(f, i);
        else if (f->s->tokens[i].kind == TOKEN_WORD)
            word(f, i);
    }
    locks(f);
}

/* The name of the function whose body the brace at `brace` opens; false: it opens none. */
static bool name_before(const source *s, size_t brace, size_t *name)
{
    size_t i = brace;
    while (i > 1 && source_is(s, i - 1, ")")) {
        int depth = 0;
        for (i--; i > 0; i--) {
            depth += source_is(s, i, ")") - source_is(s, i, "(");
            if (depth == 0)
                break;
        }
        if (i == 0 || s->tokens[i - 1].kind != TOKEN_WORD)
            return false;
        *name = i - 1;
        if (strncmp(s->data + s->tokens[*name].at, "__attribute__", 13) != 0)
            return true;
        i = *name;
    }
    return false;
}

long faults_find(const source *s, fault **faults)
{
    finder f = {.s = s};
    for (size_t i = 0; i < s->n; i++) {
        if (!source_is(s, i, "{"))
            continue;
        f.begin = i;
        f.end = closing(s, i);
        if (name_before(s, i, &f.name))
            look_at_function(&f);
        i = f.end;
    }
    if (f.failed) {
        free(f.faults);
        return -1;
    }
    *faults = f.faults;
    return (long)f.n;
}

void fault_print(const source *s, const fault *f)
{
    size_t at = 0;
    for (int i = 0; i < f->n_edits; i++) {
        fwrite(s->data + at, 1, f->edits[i].at - at, stdout);
        fputs(f->edits[i].text, stdout);
        at = f->edits[i].at + f->edits[i].length;
    }
    fwrite(s->data + at, 1, s->bytes - at, stdout);
}
