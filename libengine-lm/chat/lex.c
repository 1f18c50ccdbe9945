/*
 * Words of a template: what stands outside of tags, and what stands in them, with the white space that tags take along
 * as trim_blocks and lstrip_blocks have it.
 */
#include "config.h"

#include <string.h>

#include "escape.h"
#include "numbers.h"
#include "syntax.h"

typedef struct lexer {
    eu_arena *memory;
    tpl_tokens *tokens;
    const char *at;  /* line breaks are \n                                     */
    size_t n, i, counted;
    uint32_t line;
    bool line_starts; /* the last word ended a line                             */
    char open[ENG_LM_TEMPLATE_NESTING];
    size_t n_open;
} lexer;

static int fail(const lexer *l, const char *what)
{
    return eng_fail(ENG_ERR_FORMAT, "the template, line %u" ENG_CAUSE "%s", l->line, what);
}

static uint32_t line_of(lexer *l, size_t i)
{
    for (; l->counted < i; l->counted++)
        l->line += l->at[l->counted] == '\n';
    return l->line;
}

static int add(lexer *l, tpl_token_kind kind, size_t from, const char *at, size_t n)
{
    tpl_token token = {.kind = kind, .line = line_of(l, from), .at = at, .n = n};
    if (!eu_array_add(l->tokens, token))
        return eng_fail_code(EU_NO_MEMORY("a template"));
    return ENG_OK;
}

static bool is(const lexer *l, size_t i, const char *word)
{
    size_t n = strlen(word);
    return n <= l->n - i && memcmp(l->at + i, word, n) == 0;
}

static size_t skip_space(const lexer *l, size_t i)
{
    for (size_t n; i < l->n && (n = tpl_space_at(l->at + i, l->n - i)) > 0;)
        i += n;
    return i;
}

/* Line breaks become \n, and one at the end is left out. */
static int normalise(lexer *l, const char *source, size_t n)
{
    char *text = eu_arena_alloc(l->memory, n + 1);
    if (!text)
        return eng_fail_code(EU_NO_MEMORY("a template"));
    l->at = text;
    for (size_t i = 0; i < n; i++) {
        if (source[i] == '\n' && i && source[i - 1] == '\r')
            continue;
        text[l->n++] = source[i] == '\r' ? '\n' : source[i];
    }
    l->n -= l->n && text[l->n - 1] == '\n';
    return ENG_OK;
}

/* -- outside of tags ----------------------------------------------------------------------- */

/* How a tag begins at i: its sign behind the two characters. */
static char sign_at(const lexer *l, size_t i)
{
    return i < l->n && (l->at[i] == '-' || l->at[i] == '+') ? l->at[i] : 0;
}

/* Text before a tag, which may take white space along. */
static int add_data(lexer *l, size_t from, size_t to, char sign, bool variable)
{
    const size_t begin = from;
    if (sign == '-') {
        for (size_t n; to > from && (n = tpl_space_before(l->at + from, to - from)) > 0;)
            to -= n;
    } else if (sign != '+' && !variable) {
        size_t line = to;
        while (line > from && l->at[line - 1] != '\n')
            line--;
        if ((line > from || l->line_starts) && skip_space(l, line) >= to)
            to = line;
    }
    return to > from ? add(l, TPL_T_DATA, begin, l->at + from, to - from) : ENG_OK;
}

/* The end of a tag that is in the text at i: "%}", "-%}" with what white space follows, "+%}"; 0: there is none. */
static size_t tag_end(const lexer *l, size_t i, const char *close, bool plus, bool trim)
{
    if (is(l, i, close)) {
        i += 2;
        return trim && i < l->n && l->at[i] == '\n' ? i + 1 : i;
    }
    if (i < l->n && l->at[i] == '-' && is(l, i + 1, close))
        return skip_space(l, i + 3);
    return plus && i < l->n && l->at[i] == '+' && is(l, i + 1, close) ? i + 3 : 0;
}

static void moved(lexer *l, size_t to)
{
    l->line_starts = to > l->i && l->at[to - 1] == '\n';
    l->i = to;
}

static int skip_comment(lexer *l, size_t i)
{
    for (; i < l->n; i++) {
        size_t end = tag_end(l, i, "#}", true, true);
        if (end) {
            moved(l, end);
            return ENG_OK;
        }
    }
    line_of(l, l->i);
    return fail(l, "a comment {# has no end #}");
}

/* Behind "{% raw %}" at i, or 0. */
static size_t raw_begin(const lexer *l, size_t i)
{
    i = skip_space(l, i + 2 + (sign_at(l, i + 2) != 0));
    if (!is(l, i, "raw"))
        return 0;
    i = skip_space(l, i + 3);
    return tag_end(l, i, "%}", false, false);
}

static int take_raw(lexer *l, size_t i)
{
    const size_t from = i;
    for (moved(l, i); i < l->n; i++) {
        if (!is(l, i, "{%"))
            continue;
        char sign = sign_at(l, i + 2);
        size_t word = skip_space(l, i + 2 + (sign != 0));
        size_t end = is(l, word, "endraw") ? tag_end(l, skip_space(l, word + 6), "%}", true, true) : 0;
        if (end) {
            int status = add_data(l, from, i, sign, false);
            moved(l, end);
            return status;
        }
    }
    line_of(l, from);
    return fail(l, "a block raw has no end");
}

/* -- in tags ----------------------------------------------------------------------------------- */

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool word_char(char c)
{
    return digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Digits with single _ between them; where they end. */
static size_t digits(const lexer *l, size_t i)
{
    while (i < l->n &&
           (digit(l->at[i]) || (l->at[i] == '_' && i && digit(l->at[i - 1]) && i + 1 < l->n && digit(l->at[i + 1]))))
        i++;
    return i;
}

static int take_number(lexer *l)
{
    const size_t from = l->i;
    size_t end = digits(l, from), fraction = end;
    char text[64];
    size_t n = 0;
    int64_t whole = 0;
    bool real = false;
    if (from == 0 || l->at[from - 1] != '.') {
        if (end < l->n && l->at[end] == '.' && (fraction = digits(l, end + 1)) > end + 1 && digit(l->at[end + 1]))
            real = true, end = fraction;
        size_t e = end + (end < l->n && (l->at[end] == 'e' || l->at[end] == 'E'));
        e += e > end && e < l->n && (l->at[e] == '+' || l->at[e] == '-');
        if (e > end && e < l->n && digit(l->at[e]))
            real = true, end = digits(l, e);
    }
    for (size_t i = from; i < end && n + 1 < sizeof text; i++)
        if (l->at[i] != '_')
            text[n++] = l->at[i];
    text[n] = 0;
    int status = add(l, real ? TPL_T_FLOAT : TPL_T_INT, from, l->at + from, end - from);
    if (status)
        return status;
    if (n + 1 == sizeof text || (!real && !tpl_read_int(text, n, &whole)))
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "the template, line %u" ENG_CAUSE "a number of so many digits is not understood", l->line);
    if (!real && n > 1 && text[0] == '0' && strspn(text, "0") != n)
        return fail(l, "a number begins with 0");
    if (!real && end < l->n && word_char(l->at[end]))
        return fail(l, "a number is followed by a letter");
    double f = 0;
    if (real && !tpl_read_float(text, n, &f))
        return fail(l, "a number cannot be read");
    l->tokens->at[l->tokens->n - 1].value = real ? tpl_float(f) : tpl_int(whole);
    l->i = end;
    return ENG_OK;
}

static int take_string(lexer *l)
{
    const char quote = l->at[l->i];
    size_t end = l->i + 1, n;
    while (end < l->n && l->at[end] != quote)
        end += l->at[end] == '\\' ? 2 : 1;
    if (end >= l->n) {
        line_of(l, l->i);
        return fail(l, "a string has no end");
    }
    char *text = eu_arena_alloc(l->memory, end - l->i + 1);
    if (!text)
        return eng_fail_code(EU_NO_MEMORY("a template"));
    line_of(l, l->i);
    const char *why = tpl_unescape(l->at + l->i + 1, end - l->i - 1, text, &n);
    if (why)
        return fail(l, why);
    int status = add(l, TPL_T_STRING, l->i, text, n);
    l->i = end + 1;
    return status;
}

/* Brackets must match, and a tag ends only where none is open. */
static int balance(lexer *l, char c)
{
    const char *pair = strchr("{}()[]", c);
    if (!pair || !c)
        return ENG_OK;
    if (strchr("{([", c)) {
        if (l->n_open == sizeof l->open)
            return eng_fail(ENG_ERR_STATE, "the template, line %u" ENG_CAUSE "brackets are nested more than %u deep",
                            l->line, ENG_LM_TEMPLATE_NESTING);
        l->open[l->n_open++] = pair[1];
        return ENG_OK;
    }
    if (l->n_open == 0 || l->open[--l->n_open] != c)
        return eng_fail(ENG_ERR_FORMAT, "the template, line %u" ENG_CAUSE "'%c' closes nothing that is open", l->line,
                        c);
    return ENG_OK;
}

static int take_operator(lexer *l)
{
    static const char *const known[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (is(l, l->i, known[k])) {
            size_t n = strlen(known[k]);
            int status = add(l, TPL_T_OPERATOR, l->i, known[k], n);
            if (!status && n == 1)
                status = balance(l, known[k][0]);
            l->i += n;
            return status;
        }
    line_of(l, l->i);
    if ((unsigned char)l->at[l->i] >= 128)
        return eng_fail(ENG_ERR_UNSUPPORTED,
                        "the template, line %u" ENG_CAUSE "a name with other than ASCII letters is not understood",
                        l->line);
    return eng_fail(ENG_ERR_FORMAT, "the template, line %u" ENG_CAUSE "unexpected character '%c'", l->line,
                    l->at[l->i]);
}

static int take_word(lexer *l)
{
    const char c = l->at[l->i];
    size_t end = l->i;
    if (digit(c))
        return take_number(l);
    if (c == '\'' || c == '"')
        return take_string(l);
    if (!word_char(c))
        return take_operator(l);
    while (end < l->n && word_char(l->at[end]))
        end++;
    int status = add(l, TPL_T_NAME, l->i, l->at + l->i, end - l->i);
    l->i = end;
    return status;
}

static int take_tag(lexer *l, bool variable)
{
    int status = ENG_OK;
    l->n_open = 0;
    while (!status) {
        size_t at = l->i, end = l->n_open ? 0 : tag_end(l, at, variable ? "}}" : "%}", !variable, !variable);
        if (end) {
            status = add(l, variable ? TPL_T_VARIABLE_END : TPL_T_BLOCK_END, at, "", 0);
            moved(l, end);
            return status;
        }
        l->i = skip_space(l, l->i);
        if (l->i == l->n) {
            line_of(l, l->i);
            return fail(l, variable ? "{{ has no end }}" : "{% has no end %}");
        }
        if (l->i == at)
            status = take_word(l);
    }
    return status;
}

/* The next tag from i on, or the end. */
static size_t next_tag(const lexer *l, size_t i)
{
    for (; i + 1 < l->n; i++)
        if (l->at[i] == '{' && strchr("{%#", l->at[i + 1]) && l->at[i + 1])
            return i;
    return l->n;
}

static int take(lexer *l)
{
    const size_t tag = next_tag(l, l->i);
    if (tag == l->n) {
        int status = tag > l->i ? add(l, TPL_T_DATA, l->i, l->at + l->i, tag - l->i) : ENG_OK;
        l->i = tag;
        return status;
    }
    const char kind = l->at[tag + 1], sign = sign_at(l, tag + 2);
    const size_t inside = tag + 2 + (sign != 0), raw = kind == '%' ? raw_begin(l, tag) : 0;
    int status = add_data(l, l->i, tag, sign, kind == '{');
    if (status)
        return status;
    if (raw)
        return take_raw(l, raw);
    l->i = tag;
    if (kind == '#')
        return skip_comment(l, inside);
    status = add(l, kind == '{' ? TPL_T_VARIABLE : TPL_T_BLOCK, tag, "", 0);
    moved(l, inside);
    return status ? status : take_tag(l, kind == '{');
}

int tpl_lex(eu_arena *memory, const char *source, size_t n, tpl_tokens *tokens)
{
    lexer l = {.memory = memory, .tokens = tokens, .line = 1, .line_starts = true};
    int status = normalise(&l, source, n);
    while (!status && l.i < l.n)
        status = take(&l);
    return status ? status : add(&l, TPL_T_END, l.n, "", 0);
}
