/* Escapes of strings in templates, and of HTML. */
#include "config.h"

#include <string.h>

#include "escape.h"
#include "marks.h"
#include "print.h"
#include "../tokenizer/unicode.h"

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' :
           c >= 'a' && c <= 'f' ? c - 'a' + 10 :
           c >= 'A' && c <= 'F' ? c - 'A' + 10 :
                                  -1;
}

/* A number of so many digits (at most, where base is 8) at from; its bytes, 0: there is none. */
static size_t number(const char *from, size_t n, size_t digits, int base, uint32_t *c)
{
    size_t i = 0;
    for (*c = 0; i < digits && i < n && hex(from[i]) >= 0 && hex(from[i]) < base; i++)
        *c = *c * (uint32_t)base + (uint32_t)hex(from[i]);
    return base == 16 && i < digits ? 0 : i;
}

/* What stands behind a backslash: the bytes that it takes, and those that it gives; *why: it cannot be. */
static size_t escape(const char *from, size_t n, char *to, size_t *given, const char **why)
{
    static const char names[] = "\\'\"abfnrtv", meant[] = "\\'\"\a\b\f\n\r\t\v";
    const char *name = n && from[0] ? strchr(names, from[0]) : NULL;
    uint32_t c;
    size_t taken;
    if (n && from[0] == '\n') {
        *given = 0;
        return 1;
    }
    if (name) {
        *to = meant[name - names];
        *given = 1;
        return 1;
    }
    if (n && from[0] == 'N')
        *why = "an escape \\N{...} is not understood";
    if (n && strchr("xuU", from[0]) && from[0]) {
        taken = number(from + 1, n - 1, from[0] == 'x' ? 2 : from[0] == 'u' ? 4 : 8, 16, &c);
        taken += taken > 0;
    } else {
        taken = number(from, n, 3, 8, &c);
        if (taken == 0) {
            *to = '\\';
            *given = 1;
            return 0;
        }
    }
    if (taken == 0)
        *why = "an escape in a string is cut short";
    else if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        *why = "an escape in a string is no character";
    else
        *given = eng_utf8_encode(c, to);
    return taken;
}

const char *tpl_unescape(const char *from, size_t n, char *to, size_t *length)
{
    const char *why = NULL;
    size_t used = 0;
    for (size_t i = 0; i < n && !why;) {
        size_t given = 1;
        if (from[i] != '\\') {
            to[used++] = from[i++];
            continue;
        }
        i += 1 + escape(from + i + 1, n - i - 1, to + used, &given, &why);
        used += given;
    }
    *length = used;
    return why;
}

bool tpl_escape(tpl_run *r, const tpl_value *v, tpl_value *escaped)
{
    static const char special[] = "&<>'\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    tpl_value s;
    tpl_text t = {0};
    if (!tpl_as_string(r, v, &s))
        return false;
    for (size_t i = 0; i < s.s.n && !s.safe; i++) {
        const char *found = s.s.at[i] ? strchr(special, s.s.at[i]) : NULL;
        const size_t before = t.n;
        if (!(found ? tpl_add_word(r, &t, names[found - special]) : tpl_add(r, &t, s.s.at + i, 1)))
            return false;
        tpl_mark_as(r, &t, before, s.s.at + i, 1);
    }
    *escaped = s.safe ? s : tpl_text_value(&t);
    escaped->safe = true;
    return true;
}
