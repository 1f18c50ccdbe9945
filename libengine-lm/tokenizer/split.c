/*
 * Pre-tokenizers: where BPE cuts text before it merges.  Each vocabulary was
 * trained with a regular expression; these are matchers written by hand, which
 * take the first alternative that matches, as the expressions do.
 *
 *   gpt-2   's|'t|'re|'ve|'m|'ll|'d| ?L+| ?N+| ?[^sLN]+|s+(?!S)|s+
 *   smollm  N first, each apart; gpt-2's in what is between them
 *   llama   contraction|[^rnLN]?L+|N{1,3}| ?[^sLN]+[rn]*|s*[rn]+|s+(?!S)|s+
 *   qwen2   the same with N for N{1,3}
 *   qwen35  the same with [LM] for L, but for the optional character before words
 *   lines   [^n]+|n+
 *
 * (L, N, M letters, numbers, marks; s white space; r and n the line ends; a
 * contraction is one of gpt-2's in either case.)
 */
#include "config.h"

#include "inner.h"
#include "unicode.h"

typedef struct view {
    const uint32_t *c;
    const uint8_t *classes;
    size_t n;
} view;

static bool is_space(const view *v, size_t i)
{
    return (v->classes[i] & CLASS_SPACE) != 0;
}

static bool is_line_end(const view *v, size_t i)
{
    return v->c[i] == '\r' || v->c[i] == '\n';
}

static bool is_number(const view *v, size_t i)
{
    return (v->classes[i] & CLASS_OF) == ENG_CHAR_NUMBER;
}

static bool is_letter(const view *v, size_t i)
{
    return (v->classes[i] & CLASS_OF) == ENG_CHAR_LETTER;
}

static bool in_word(const view *v, size_t i, bool marks)
{
    return is_letter(v, i) || (marks && (v->classes[i] & CLASS_OF) == ENG_CHAR_MARK);
}

/* Neither white space nor number nor part of a word. */
static bool is_symbol(const view *v, size_t i, bool marks)
{
    return !is_space(v, i) && !is_number(v, i) && !in_word(v, i, marks);
}

/* Length of the contraction at `at`, 0 if there is none. */
static size_t contraction(const view *v, size_t at, bool any_case)
{
    static const char pairs[] = "revell";
    uint32_t fold = any_case ? 0x20 : 0;

    if (v->c[at] != '\'' || at + 1 >= v->n)
        return 0;
    uint32_t a = v->c[at + 1];
    a = a < 0x80 ? a | fold : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if (at + 2 >= v->n)
        return 0;
    uint32_t b = v->c[at + 2];
    b = b < 0x80 ? b | fold : 0;
    for (size_t i = 0; i + 1 < sizeof pairs; i += 2)
        if (a == (unsigned char)pairs[i] && b == (unsigned char)pairs[i + 1])
            return 3;
    return 0;
}

/*
 * White space at `at`: a space before what follows is left to it, unless it is
 * alone (s+(?!S), then s+).  apart: numbers follow nothing.
 */
static size_t space_end(const view *v, size_t at, bool apart)
{
    size_t end = at;

    while (end < v->n && is_space(v, end))
        end++;
    return end < v->n && !(apart && is_number(v, end)) && end - at > 1 ? end - 1 : end;
}

static size_t next_gpt2(const view *v, size_t at, bool apart)
{
    size_t length = contraction(v, at, false);

    if (length)
        return at + length;
    if (apart && is_number(v, at))
        return at + 1;
    bool leads = v->c[at] == ' ' && at + 1 < v->n && !(apart && is_number(v, at + 1));
    size_t first = leads ? at + 1 : at, end = first;
    if (is_letter(v, first)) {
        while (end < v->n && is_letter(v, end))
            end++;
    } else if (is_number(v, first)) {
        while (end < v->n && is_number(v, end))
            end++;
    } else if (is_symbol(v, first, false)) {
        while (end < v->n && is_symbol(v, end, false))
            end++;
    }
    return end > first ? end : space_end(v, at, apart);
}

/* White space that the other alternatives did not take: up to the last line end, if any. */
static size_t blank_end(const view *v, size_t at)
{
    size_t last = at;

    for (size_t i = at; i < v->n && is_space(v, i); i++)
        if (is_line_end(v, i))
            last = i + 1;
    return last > at ? last : space_end(v, at, false);
}

static size_t next_modern(const view *v, size_t at, size_t digits, bool marks)
{
    size_t length = contraction(v, at, true);

    if (length)
        return at + length;
    /* One character that is no line end, letter or number may lead a word. */
    bool leads = !is_line_end(v, at) && !is_letter(v, at) && !is_number(v, at);
    size_t first = leads && at + 1 < v->n && in_word(v, at + 1, marks) ? at + 1 : at, end = first;
    while (end < v->n && in_word(v, end, marks))
        end++;
    if (end > first)
        return end;
    if (is_number(v, at)) {
        for (end = at; end < v->n && end - at < digits && is_number(v, end);)
            end++;
        return end;
    }
    first = end = v->c[at] == ' ' && at + 1 < v->n ? at + 1 : at;
    while (end < v->n && is_symbol(v, end, marks))
        end++;
    if (end > first) {
        while (end < v->n && is_line_end(v, end))
            end++;
        return end;
    }
    return blank_end(v, at);
}

/* Line ends, or what is between them. */
static size_t next_line(const view *v, size_t at)
{
    size_t end = at + 1;

    while (end < v->n && (v->c[end] == '\n') == (v->c[at] == '\n'))
        end++;
    return end;
}

uint8_t eng_split_class(uint32_t c)
{
    return (uint8_t)(eng_unicode_class(c) | (eng_unicode_space(c) ? CLASS_SPACE : 0) |
                     eng_unicode_category(c) << CLASS_CATEGORY);
}

size_t eng_split_next(uint32_t split, const uint32_t *c, const uint8_t *classes, size_t n, size_t at)
{
    view v = {c, classes, n};

    switch (split) {
    case SPLIT_GPT2: return next_gpt2(&v, at, false);
    case SPLIT_SMOLLM: return next_gpt2(&v, at, true);
    case SPLIT_QWEN2: return next_modern(&v, at, 1, false);
    case SPLIT_QWEN35: return next_modern(&v, at, 1, true);
    case SPLIT_LINES: return next_line(&v, at);
    default: return next_modern(&v, at, 3, false);
    }
}
