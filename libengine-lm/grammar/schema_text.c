/* Pieces of grammars that schemas become. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema.h"

/* Strings have no escapes of surrogates, so that every character counts as one; numbers stay within what is exact. */
const char lm_schema_basis[] =
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n"
    "char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))\n"
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})\n"
    "number ::= integer (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?\n"
    "object ::= \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws value)*)? ws \"}\"\n"
    "array ::= \"[\" ws (value (\",\" ws value)*)? ws \"]\"\n"
    "value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n";

void lm_schema_literal(eu_text *to, const char *text, size_t n)
{
    eu_text_add(to, "\"");
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            eu_text_format(to, "\\%c", text[i]);
        else if ((unsigned char)text[i] < 0x20)
            eu_text_format(to, "\\x%02x", (unsigned char)text[i]);
        else
            eu_text_add_bytes(to, &text[i], 1);
    }
    eu_text_add(to, "\"");
}

/* -- whole numbers -------------------------------------------------------------------------- */

static void digits(eu_text *to, size_t n)
{
    if (n)
        eu_text_format(to, " [0-9]{%zu}", n);
}

/* Numbers of as many digits, not less than x (or not more). */
static void bounded(eu_text *to, const char *x, bool upwards)
{
    const size_t rest = strlen(x) - 1;
    const char limit = upwards ? '9' : '0';
    if (strspn(x, upwards ? "0" : "9") == rest + 1) {
        digits(to, rest + 1);
        return;
    }
    eu_text_format(to, " (\"%c\"", x[0]);
    if (rest)
        bounded(to, x + 1, upwards);
    if (x[0] != limit) {
        eu_text_format(to, upwards ? " | [%c-9]" : " | [0-%c]", upwards ? x[0] + 1 : x[0] - 1);
        digits(to, rest);
    }
    eu_text_add(to, ")");
}

/* From x to y, both of as many digits. */
static void between(eu_text *to, const char *x, const char *y)
{
    size_t same = 0;
    while (x[same] && x[same] == y[same])
        same++;
    lm_schema_literal(to, x, same);
    if (!x[same])
        return;
    const size_t rest = strlen(x + same) - 1;
    eu_text_format(to, " (\"%c\"", x[same]);
    if (rest)
        bounded(to, x + same + 1, true);
    if (y[same] - x[same] > 1) {
        eu_text_format(to, " | [%c-%c]", x[same] + 1, y[same] - 1);
        digits(to, rest);
    }
    eu_text_format(to, " | \"%c\"", y[same]);
    if (rest)
        bounded(to, y + same + 1, false);
    eu_text_add(to, ")");
}

/* From a to b, neither below 0: those of one digit, of two, ... */
static void positive(eu_text *to, uint64_t a, uint64_t b)
{
    uint64_t first = 0, last = 9;
    const char *before = "";
    for (int n = 1; n <= 19 && first <= b; n++, first = last + 1, last = last * 10 + 9) {
        char x[24], y[24];
        if (last < a)
            continue;
        snprintf(x, sizeof x, "%" PRIu64, a > first ? a : first);
        snprintf(y, sizeof y, "%" PRIu64, b < last ? b : last);
        eu_text_add(to, before);
        between(to, x, y);
        before = " | ";
    }
}

void lm_schema_integers(eu_text *to, int64_t least, int64_t most)
{
    eu_text_add(to, "(");
    if (least < 0) {
        eu_text_add(to, "\"-\" (");
        positive(to, most < 0 ? (uint64_t)-most : 1, (uint64_t)-least);
        eu_text_add(to, ")");
    }
    if (least < 0 && most >= 0)
        eu_text_add(to, " | ");
    if (most >= 0)
        positive(to, least > 0 ? (uint64_t)least : 0, (uint64_t)most);
    eu_text_add(to, ")");
}

/* -- formats ---------------------------------------------------------------------------------- */

#define LEAP "(\"0\" [48] | [2468] [048] | [13579] [26])"
#define DATE                                                                                                             \
    "([1-9] [0-9]{3} \"-\" ((\"0\" [13578] | \"10\" | \"12\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01])"            \
    " | (\"0\" [469] | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"30\") | \"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8]))"  \
    " | [1-9] [0-9] " LEAP " \"-02-29\")"
#define TIME "(([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{1,6})? (\"Z\" | [+-] ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9]))"

#define DURATION_TIME "\"T\" ([0-9]{1,6} \"H\" ([0-9]{1,6} \"M\" ([0-9]{1,6} \"S\")?)? | [0-9]{1,6} \"M\" ([0-9]{1,6} \"S\")? | [0-9]{1,6} \"S\")"
#define DURATION                                                                                                        \
    "\"P\" ([0-9]{1,6} \"W\" | " DURATION_TIME " | ([0-9]{1,6} \"Y\" ([0-9]{1,6} \"M\" ([0-9]{1,6} \"D\")?)? | [0-9]{1,6} \"M\" ([0-9]{1,6} \"D\")?" \
    " | [0-9]{1,6} \"D\") (" DURATION_TIME ")?)"
#define LABEL "[a-z] ([a-z0-9-]{0,30} [a-z0-9])?"
#define HOST LABEL " (\".\" " LABEL "){0,5}"
#define BYTE "(\"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9]{2} | [1-9]? [0-9])"
#define LETTERS "([a-zA-Z0-9._~!$&'()*+,;=:@/-] | \"%\" [0-9A-F]{2})"

const char *lm_schema_format(const char *name)
{
    static const char *const formats[][2] = {
        {"date", "\"\\\"\" " DATE " \"\\\"\""},
        {"time", "\"\\\"\" " TIME " \"\\\"\""},
        {"date-time", "\"\\\"\" " DATE " \"T\" " TIME " \"\\\"\""},
        {"duration", "\"\\\"\" " DURATION " \"\\\"\""},
        {"email", "\"\\\"\" [a-zA-Z0-9_+-]{1,30} (\".\" [a-zA-Z0-9_+-]{1,30}){0,3} \"@\" " HOST " \"\\\"\""},
        {"hostname", "\"\\\"\" " HOST " \"\\\"\""},
        {"ipv4", "\"\\\"\" " BYTE " (\".\" " BYTE "){3} \"\\\"\""},
        {"ipv6", "\"\\\"\" [0-9a-fA-F]{1,4} (\":\" [0-9a-fA-F]{1,4}){7} \"\\\"\""},
        {"uri", "\"\\\"\" [a-z] [a-z0-9+.-]{0,15} \"://\" " HOST " (\":\" [1-9] [0-9]{0,3})? (\"/\" " LETTERS "*)? (\"?\" " LETTERS "*)? (\"#\" " LETTERS "*)? \"\\\"\""},
        {"uuid", "\"\\\"\" [0-9a-fA-F]{8} (\"-\" [0-9a-fA-F]{4}){3} \"-\" [0-9a-fA-F]{12} \"\\\"\""},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i][0], name) == 0)
            return formats[i][1];
    return NULL;
}
