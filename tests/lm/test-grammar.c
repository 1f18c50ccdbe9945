/*
 * Grammars: what they let through, against an oracle that finds where parts of drawn grammars end; masks of tokens
 * against each token read by itself; taking back, giving up memory, refusals.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar.h"
#include "libengine-lm/grammar/constraint.h"
#include "libengine-lm/grammar/matcher.h"

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

/* -- texts and grammars by hand -------------------------------------------------------------- */

/* 'y': a text of the grammar, 'n': none begins so, 'm': one may go on from it. */
static char verdict(const lm_rules *rules, const char *text, size_t n)
{
    lm_matcher m;
    ck_assert_int_eq(lm_matcher_init(&m, rules), ENG_OK);
    uint32_t s = lm_matcher_text(&m, lm_matcher_begin(&m), text, n);
    ck_assert_uint_ne(s, LM_STATE_FAILED);
    char answer = s == LM_STATE_DEAD ? 'n' : lm_matcher_may_end(&m, s) ? 'y' : 'm';
    lm_matcher_free(&m);
    return answer;
}

static void judge(const char *grammar, const char *const *yes, const char *const *begun, const char *const *no)
{
    lm_rules rules;
    ck_assert_msg(lm_rules_read(grammar, strlen(grammar), NULL, &rules) == ENG_OK, "%s: %s", grammar, eng_last_error());
    const struct {
        const char *const *list;
        char answer;
    } lists[] = {{yes, 'y'}, {begun, 'm'}, {no, 'n'}};
    for (int k = 0; k < 3; k++)
        for (const char *const *t = lists[k].list; *t; t++)
            ck_assert_msg(verdict(&rules, *t, strlen(*t)) == lists[k].answer, "%s: '%s' is %c, expected %c", grammar,
                          *t, verdict(&rules, *t, strlen(*t)), lists[k].answer);
    lm_rules_free(&rules);
}
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(language)
{
    judge("root ::= \"yes\" | \"no\"", LIST("yes", "no"), LIST("", "y", "ye", "n"), LIST("yesno", "x", "yn"));
    judge("root ::= [a-c-]+ \"\\x21\"? # a comment\n\n# another", LIST("a", "abc", "a-c!"), LIST(""),
          LIST("d", "!", "a!!"));
    judge("root ::= ( \"a\" |\n  # within\n \"b\" )* \"\\u00e9\"", LIST("\xc3\xa9", "aba\xc3\xa9"),
          LIST("", "ab", "\xc3"), LIST("\xc3\xaa", "\xe2", "c"));
    judge("root ::= x{2} y{1,} z{0,2}\nx ::= \"x\"\ny ::= \"y\"\nz ::= \"z\"", LIST("xxy", "xxyyyy", "xxyzz"),
          LIST("", "x", "xx"), LIST("xxx", "xxz", "xxyzzz", "xxyzy"));
    judge("root ::= \"\" | \"a\" root \"b\"", LIST("", "ab", "aaabbb"), LIST("a", "aab"), LIST("b", "aba", "abb"));
    judge("root ::= \"a\" |\n \"b\"\r\n", LIST("a", "b"), LIST(""), LIST("ab"));
    judge("root ::= (\"\")* \"a\" ((\"b\"?)*)+", LIST("a", "abbb"), LIST(""), LIST("b"));
    judge("root ::= \"ab\"{2,2} [^a]?", LIST("abab", "ababc"), LIST("", "aba"), LIST("aa", "ababa", "ababcd"));
}
END_TEST

START_TEST(characters)
{
    judge("root ::= .",
          LIST("a", "\n", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80"),
          LIST("", "\xf0\x9f", "\xe2\x82", "\xed"),
          LIST("\x80", "\xc0\x80", "\xc1", "\xed\xa0", "\xf4\x90", "\xf5", "\xe0\x80", "ab"));
    judge("root ::= [\\u00e9-\\u20AC\\U0001F600]",
          LIST("\xc3\xa9", "\xc3\xbf", "\xdf\xbf", "\xe0\xa0\x80", "\xe2\x82\xac", "\xf0\x9f\x98\x80"),
          LIST("\xc3", "\xe2\x82", "\xf0\x9f\x98"), LIST("\xc3\xa8", "\xe2\x82\xad", "\xf0\x9f\x98\x81", "a"));
    judge("root ::= [^\\]\"\\\\\xc3\xa9]", LIST("a", "[", "\xc3\xa8"), LIST("\xc3"), LIST("]", "\"", "\\", "\xc3\xa9"));
}
END_TEST

/* Every character of a class is let through, and no other. */
START_TEST(classes)
{
    state = 5;
    for (int round = 0; round < 30; round++) {
        char grammar[200] = "root ::= [";
        uint32_t ranges[8], n = 1 + below(4);
        bool negated = below(2);
        strcat(grammar, negated ? "^" : "");
        for (uint32_t i = 0; i < n; i++) {
            static const uint32_t planes[] = {0x100, 0x900, 0x3000, 0x11000, 0x110000};
            do {
                uint32_t plane = planes[below(5)];
                ranges[2 * i] = below(plane);
                ranges[2 * i + 1] = ranges[2 * i] + below(plane - ranges[2 * i]);
            } while ((ranges[2 * i] >= 0xd800 && ranges[2 * i] < 0xe000) ||
                     (ranges[2 * i + 1] >= 0xd800 && ranges[2 * i + 1] < 0xe000));
            sprintf(grammar + strlen(grammar), "\\U%08X-\\U%08x", ranges[2 * i], ranges[2 * i + 1]);
        }
        strcat(grammar, "]");
        lm_rules rules;
        lm_matcher m;
        ck_assert_msg(lm_rules_read(grammar, strlen(grammar), NULL, &rules) == ENG_OK, "%s: %s", grammar,
                      eng_last_error());
        ck_assert_int_eq(lm_matcher_init(&m, &rules), ENG_OK);
        const uint32_t begin = lm_matcher_begin(&m);
        for (uint32_t c = 0; c < 0x110000; c += c > 0x3100 ? 1 + below(60) : 1) {
            bool inside = false;
            for (uint32_t i = 0; i < n; i++)
                inside |= c >= ranges[2 * i] && c <= ranges[2 * i + 1];
            char text[4];
            size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            for (size_t i = length, rest = c; i-- > 1; rest >>= 6)
                text[i] = (char)(0x80 | (rest & 0x3f));
            text[0] = (char)(length == 1 ? c : (0xf00u >> length & 0xff) | c >> 6 * (length - 1));
            bool expected = inside != negated && (c < 0xd800 || c > 0xdfff);
            uint32_t s = lm_matcher_text(&m, begin, text, length);
            ck_assert_msg((s != LM_STATE_DEAD) == expected, "%s: U+%04X", grammar, c);
        }
        lm_matcher_free(&m);
        lm_rules_free(&rules);
    }
}
END_TEST

/* -- drawn grammars ------------------------------------------------------------------------------- */

#define RULES 4
#define PARTS 200
#define LETTERS 4
static const char *const letters[LETTERS] = {"a", "b", "\xc3\xa9", "\xe2\x82\xac"};

typedef struct part {
    enum { LETTER, CLASS, ANY, REF, ROW, CHOICE, TIMES } kind;
    uint32_t letter; /* or the class' bits, or the rule        */
    uint32_t n, parts[3];
    uint32_t least, most;
} part;

static part parts[PARTS];
static uint32_t n_parts, rule_parts[RULES];
static uint32_t known[RULES][16]; /* bits of the ends of a rule from a place */

static uint32_t draw(uint32_t rule, uint32_t depth)
{
    const uint32_t own = n_parts++;
    part p = {.kind = depth > 3 || n_parts > PARTS - 20 ? below(3) : below(7)};
    if (p.kind == CLASS)
        p.letter = 1 + below((1u << LETTERS) - 1);
    else if (p.kind == LETTER)
        p.letter = below(LETTERS);
    else if (p.kind == REF)
        p.letter = rule + 1 < RULES && below(4) ? rule + 1 + below(RULES - rule - 1) : below(RULES);
    p.n = p.kind == TIMES                   ? 1 :
          p.kind == ROW || p.kind == CHOICE ? below(p.kind == ROW ? 4 : 3) + (p.kind == CHOICE) :
                                              0;
    p.least = below(3);
    p.most = below(2) ? UINT32_MAX : p.least + below(3);
    for (uint32_t i = 0; i < p.n; i++)
        p.parts[i] = draw(rule, depth + 1);
    parts[own] = p;
    return own;
}

static void print(uint32_t k, char *to)
{
    const part *p = &parts[k];
    to += strlen(to);
    if (p->kind == LETTER)
        sprintf(to, "\"%s\"", letters[p->letter]);
    else if (p->kind == ANY)
        strcpy(to, ".");
    else if (p->kind == REF)
        sprintf(to, p->letter ? "r%u" : "root", p->letter);
    else if (p->kind == CLASS) {
        strcpy(to, "[");
        for (uint32_t i = 0; i < LETTERS; i++)
            strcat(to, p->letter >> i & 1 ? letters[i] : "");
        strcat(to, "]");
    } else {
        strcpy(to, "(");
        for (uint32_t i = 0; i < p->n; i++) {
            strcat(to, i ? (p->kind == CHOICE ? " | " : " ") : "");
            print(p->parts[i], to);
        }
        strcat(to, ")");
        if (p->kind == TIMES && p->most == UINT32_MAX)
            sprintf(to + strlen(to), p->least == 0 ? "*" : p->least == 1 ? "+" : "{%u,}", p->least);
        else if (p->kind == TIMES)
            sprintf(to + strlen(to), "{%u,%u}", p->least, p->most);
    }
}

/* Where a part ends that begins at one of these places of the text. */
static uint32_t ends_of(uint32_t k, uint32_t from, const uint8_t *text, uint32_t n)
{
    const part *p = &parts[k];
    uint32_t to = 0;
    for (uint32_t i = 0; i < n && p->kind <= ANY; i++)
        if ((from >> i & 1) &&
            (p->kind == ANY || (p->kind == LETTER ? text[i] == p->letter : (p->letter >> text[i] & 1) != 0)))
            to |= 1u << (i + 1);
    if (p->kind == REF)
        for (uint32_t i = 0; i <= n; i++)
            to |= from >> i & 1 ? known[p->letter][i] : 0;
    if (p->kind == ROW)
        for (uint32_t i = to = 0; i < p->n || (to = from, false); i++)
            from = ends_of(p->parts[i], from, text, n);
    for (uint32_t i = 0; i < p->n && p->kind == CHOICE; i++)
        to |= ends_of(p->parts[i], from, text, n);
    if (p->kind == TIMES)
        for (uint32_t i = 0; i <= p->most && i <= p->least + 2 * n + 2; i++) {
            to |= i >= p->least ? from : 0;
            from = ends_of(p->parts[0], from, text, n);
        }
    return to;
}

static bool oracle(const uint8_t *text, uint32_t n)
{
    memset(known, 0, sizeof known);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t r = 0; r < RULES; r++)
            for (uint32_t i = 0; i <= n; i++) {
                uint32_t found = ends_of(rule_parts[r], 1u << i, text, n);
                more |= found != known[r][i];
                known[r][i] |= found;
            }
    }
    return known[0][0] >> n & 1;
}

START_TEST(drawn)
{
    uint32_t read = 0, whole = 0, recursive = 0, judged = 0;
    state = 3;
    for (int round = 0; round < 400; round++) {
        static char grammar[20000];
        lm_rules rules;
        grammar[0] = 0;
        n_parts = 0;
        for (uint32_t r = 0; r < RULES; r++) {
            rule_parts[r] = draw(r, 0);
            sprintf(grammar + strlen(grammar), r ? "r%u ::= " : "root ::= ", r);
            print(rule_parts[r], grammar);
            strcat(grammar, "\n");
        }
        if (lm_rules_read(grammar, strlen(grammar), NULL, &rules)) {
            ck_assert_msg(strstr(eng_last_error(), "left recursion") != NULL, "%s%s", grammar, eng_last_error());
            recursive++;
            continue;
        }
        read++;
        for (int t = 0; t < 40; t++) {
            uint8_t text[12];
            char bytes[64] = "";
            uint32_t n = below(9);
            for (uint32_t i = 0; i < n; i++) {
                text[i] = (uint8_t)below(LETTERS);
                strcat(bytes, letters[text[i]]);
            }
            bool expected = oracle(text, n);
            char got = verdict(&rules, bytes, strlen(bytes));
            ck_assert_msg((got == 'y') == expected, "%s'%s' is %c, but %s", grammar, bytes, got,
                          expected ? "it is one" : "it is none");
            for (size_t i = 0; expected && i < strlen(bytes); i++)
                ck_assert_msg(verdict(&rules, bytes, i) != 'n', "%s'%s' is refused after %zu bytes", grammar, bytes, i);
            whole += expected;
            judged++;
        }
        lm_rules_free(&rules);
    }
    printf("# %u grammars read, %u with left recursion; %u texts, %u of them theirs\n", read, recursive, judged, whole);
    ck_assert(read > 150 && recursive > 20 && whole > judged / 20 && whole < judged / 2);
}
END_TEST

/* -- tokens ------------------------------------------------------------------------------------------ */

static const char *const words[] = {"",     "a",   "b",  "ab", "aab",  "abb",   "bb",       "{",     "}",
                                    "\"",   "\":", ": ", ",",  "\xc3", "\xa9",  "\xc3\xa9", "a\xc3", "\xe2\x82",
                                    "\xac", "12",  "3",  "[",  "]",    "[]",    "{}",       "true",  "tr",
                                    "ue",   " ",   "  ", "\n", "{\"",  "a\":1", "ab",       "</s>"};
#define N_WORDS (sizeof words / sizeof *words)
#define END ((int32_t)N_WORDS - 1)

static const char *spell(const void *owner, int32_t token, size_t *length)
{
    (void)owner;
    *length = strlen(words[token]);
    return words[token];
}

static bool ends(const void *owner, int32_t token)
{
    return !owner && token == END;
}

static const char
    json[] = "root ::= object\nvalue ::= object | array | string | number | \"true\"\n"
             "object ::= \"{\" ws (member (\",\" ws member)*)? \"}\" ws\nmember ::= string \":\" ws value\n"
             "array ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\nstring ::= \"\\\"\" [^\"\\\\]{0,9} \"\\\"\" ws\n"
             "number ::= [0-9]+ ws\nws ::= [ \\n]*\n";
static const char *const grammars[] = {json, "root ::= \"a\"* \"b\"",
                                       "root ::= (\"a\" | \"\xc3\xa9\" | \"\xe2\x82\xac\")+",
                                       "root ::= \"ab\" root | \"\"", "root ::= \"a\""};
#define N_GRAMMARS (sizeof grammars / sizeof *grammars)

/* The mask against each token by itself. */
static void check_mask(const lm_rules *rules, lm_constraint *c, const char *text)
{
    const uint64_t *bits;
    int status = lm_constraint_allowed(c, &bits);
    bool any = false;
    for (uint32_t i = 0; i < N_WORDS; i++) {
        char longer[600];
        snprintf(longer, sizeof longer, "%s%s", text, words[i]);
        bool expected = (int32_t)i == END ? verdict(rules, text, strlen(text)) == 'y' :
                                            words[i][0] && verdict(rules, longer, strlen(longer)) != 'n';
        any |= expected;
        ck_assert_msg(status || lm_bit(bits, i) == expected, "'%s' and token '%s': %d", text, words[i], expected);
    }
    ck_assert_msg(any == !status, "'%s': %s", text, status ? eng_last_error() : "no token");
}

START_TEST(tokens)
{
    lm_spellings spellings;
    ck_assert(lm_spellings_init(&spellings, N_WORDS, spell, ends, NULL));
    state = 9;
    for (uint32_t round = 0; round < 60; round++) {
        lm_rules rules;
        lm_constraint *c = NULL;
        char text[500] = "";
        size_t at[100] = {0};
        uint32_t n = 0;
        const char *grammar = grammars[round % N_GRAMMARS];
        ck_assert_int_eq(lm_rules_read(grammar, strlen(grammar), NULL, &rules), ENG_OK);
        ck_assert_int_eq(lm_constraint_create(&rules, &spellings, &c), ENG_OK);
        for (int step = 0; step < 60; step++) {
            const uint64_t *bits;
            check_mask(&rules, c, text);
            if (n > 0 && below(4) == 0) { /* taken back: the same masks as before */
                uint32_t back = 1 + below(n);
                lm_constraint_rollback(c, back);
                n -= back;
                text[at[n]] = 0;
                continue;
            }
            ck_assert_int_eq(lm_constraint_allowed(c, &bits), ENG_OK);
            uint32_t token = below(N_WORDS), tries = 0;
            while (tries++ < 500 && (!lm_bit(bits, token) || token == (uint32_t)END))
                token = below(N_WORDS);
            if (tries > 500 || n == 90) { /* only its end is left */
                lm_constraint_accept(c, END);
                ck_assert_uint_eq(lm_constraint_state(c),
                                  lm_bit(bits, END) ? ENG_LM_GRAMMAR_MUST_END : ENG_LM_GRAMMAR_LEFT);
                lm_constraint_rollback(c, 1);
                break;
            }
            at[n++] = strlen(text);
            strcat(text, words[token]);
            lm_constraint_accept(c, (int32_t)token);
        }
        lm_constraint_accept(c, 8); /* a bracket that is never right in the end of all of these */
        lm_constraint_accept(c, 8);
        lm_constraint_destroy(c);
        lm_rules_free(&rules);
    }
    lm_spellings_free(&spellings);
}
END_TEST

START_TEST(no_way_on)
{
    static const struct {
        const char *grammar, *about;
        int32_t token;
    } cases[] = {{"root ::= \"a\"", "does not follow", 2}, {"root ::= \"ax\"", "no token of the vocabulary", 1}};
    lm_spellings spellings;
    const uint64_t *bits;
    ck_assert(lm_spellings_init(&spellings, N_WORDS, spell, ends, NULL));
    for (int i = 0; i < 2; i++) {
        lm_rules rules;
        lm_constraint *c = NULL;
        ck_assert_int_eq(lm_rules_read(cases[i].grammar, strlen(cases[i].grammar), NULL, &rules), ENG_OK);
        ck_assert_int_eq(lm_constraint_create(&rules, &spellings, &c), ENG_OK);
        lm_constraint_accept(c, cases[i].token);
        ck_assert_int_eq(lm_constraint_allowed(c, &bits), ENG_ERR_STATE);
        ck_assert_msg(strstr(eng_last_error(), cases[i].about) != NULL, "%s", eng_last_error());
        lm_constraint_rollback(c, 1);
        ck_assert_int_eq(lm_constraint_allowed(c, &bits), ENG_OK);
        lm_constraint_destroy(c);
        lm_rules_free(&rules);
    }
    lm_spellings_free(&spellings);
    /* a vocabulary without an end */
    lm_rules rules;
    lm_constraint *c = NULL;
    ck_assert(lm_spellings_init(&spellings, N_WORDS - 1, spell, ends, &spellings));
    ck_assert_int_eq(lm_rules_read("root ::= \"a\"", 12, NULL, &rules), ENG_OK);
    ck_assert_int_eq(lm_constraint_create(&rules, &spellings, &c), ENG_OK);
    lm_constraint_accept(c, 1);
    ck_assert_uint_eq(lm_constraint_state(c), ENG_LM_GRAMMAR_MUST_END);
    ck_assert_int_eq(lm_constraint_allowed(c, &bits), ENG_ERR_STATE);
    ck_assert_msg(strstr(eng_last_error(), "is complete") != NULL, "%s", eng_last_error());
    lm_constraint_destroy(c);
    lm_rules_free(&rules);
    lm_spellings_free(&spellings);
}
END_TEST

/* What is given up and made again is the same. */
START_TEST(trimmed)
{
    lm_rules rules;
    lm_matcher m;
    static const char text[] = "{\"a\":[1,[2,{\"b\":{\"\xe2\x82\xac\":true}}]],\"c\":\"dd\"}";
    ck_assert_int_eq(lm_rules_read(json, strlen(json), NULL, &rules), ENG_OK);
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        ck_assert_int_eq(lm_matcher_init(&m, &rules), ENG_OK);
        uint32_t states[3] = {lm_matcher_begin(&m)};
        states[1] = states[2] = lm_matcher_text(&m, states[0], text, cut);
        size_t before = m.stacks.n;
        ck_assert_int_eq(lm_matcher_trim(&m, states, 3), ENG_OK);
        ck_assert(m.stacks.n <= before && states[1] == states[2]);
        uint32_t end = lm_matcher_text(&m, states[1], text + cut, sizeof text - 1 - cut);
        ck_assert(end > LM_STATE_DEAD && lm_matcher_must_end(&m, end) == false && lm_matcher_may_end(&m, end));
        ck_assert_uint_eq(lm_matcher_text(&m, states[0], text, sizeof text - 1), end);
        lm_matcher_free(&m);
    }
    lm_rules_free(&rules);
}
END_TEST

/* Stacks that grow with the text are given up, all but those that are in use. */
START_TEST(deep)
{
    lm_rules rules;
    lm_spellings spellings;
    lm_constraint *c = NULL;
    const uint64_t *bits;
    ck_assert(lm_spellings_init(&spellings, N_WORDS, spell, ends, NULL));
    ck_assert_int_eq(lm_rules_read("root ::= \"a\" root \"b\" | \"\"", 26, NULL, &rules), ENG_OK);
    ck_assert_int_eq(lm_constraint_create(&rules, &spellings, &c), ENG_OK);
    const uint32_t n = 300000;
    for (uint32_t i = 0; i < n; i++)
        lm_constraint_accept(c, 1);
    lm_constraint_rollback(c, n / 3);
    for (uint32_t i = 0; i < n - n / 3; i++) {
        ck_assert_uint_ne(lm_constraint_state(c), ENG_LM_GRAMMAR_LEFT);
        lm_constraint_accept(c, 2);
    }
    ck_assert_int_eq(lm_constraint_allowed(c, &bits), ENG_OK);
    ck_assert_uint_eq(lm_constraint_state(c), ENG_LM_GRAMMAR_MUST_END);
    lm_constraint_accept(c, 2);
    ck_assert_uint_eq(lm_constraint_state(c), ENG_LM_GRAMMAR_LEFT);
    lm_constraint_destroy(c);
    lm_rules_free(&rules);
    lm_spellings_free(&spellings);
}
END_TEST

/* -- refusals ----------------------------------------------------------------------------------------- */

START_TEST(refusals)
{
    static const struct {
        const char *grammar, *about;
    } cases[] = {
        {"", "no rule root"},
        {"rot ::= \"a\"", "no rule root"},
        {"root = \"a\"", "line 1: expected ::=, got '='"},
        {"root ::= \"a\"\n\nroot ::= \"b\"", "line 3: the rule root is there a second time"},
        {"root ::= \"a", "line 1: expected a quote that ends the text, got the end"},
        {"root ::= [a", "expected ] that ends the class, got the end"},
        {"root ::= [b-a]", "expected a range whose end"},
        {"root ::= (\"a\"", "expected ), got the end"},
        {"root ::= \"a\")", "expected the end of the rule, got ')'"},
        {"root ::= \"a\"{2,1}", "second number"},
        {"root ::= \"a\"{x}", "expected a number, got 'x'"},
        {"root ::= \"a\"{1000001}", "at most 100000"},
        {"root ::= \"\\q\"", "behind \\, got 'q'"},
        {"root ::= \"\\u12\"", "hexadecimal"},
        {"root ::= \"\\ud800\"", "digits of a character"},
        {"root ::= \"\xc3\"", "a character in UTF-8"},
        {"root ::= <think>", "tokens (<...>)"},
        {"root ::= \"a\"\n | \"b\"", "line 2: expected the name of a rule, got '|'"},
        {"root ::= * \"b\"", "expected the end of the rule, got '*'"},
        {"root ::= a\n\n", "line 1: the rule a is used here and nowhere defined"},
        {"root ::= root \"a\"", "line 1: the rule root begins with itself"},
        {"root ::= a \"a\"\na ::= (\"b\")? b\nb ::= a | \"c\"", "left recursion"},
        {"root ::= root", "left recursion"},
        {"root ::= (root)* \"a\"", "left recursion"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lm_rules rules;
        ck_assert_msg(lm_rules_read(cases[i].grammar, strlen(cases[i].grammar), NULL, &rules) == ENG_ERR_FORMAT, "%s",
                      cases[i].grammar);
        ck_assert_msg(strstr(eng_last_error(), cases[i].about) != NULL, "%s: %s", cases[i].grammar, eng_last_error());
    }
}
END_TEST

START_TEST(limits)
{
    lm_rules rules;
    char *many = malloc(4000);
    memset(strcpy(many, "root ::= ") + 9, '(', 300);
    strcpy(many + 309, "\"a\"");
    ck_assert_int_eq(lm_rules_read(many, strlen(many), NULL, &rules), ENG_ERR_FORMAT);
    ck_assert_msg(strstr(eng_last_error(), "fewer than 200") != NULL, "%s", eng_last_error());
    free(many);
    const char *large =
        "root ::= ((\"a\"{0,99999}){0,99999}){0,99999} ([ab]{99999,99999}){9} [^a]{90000} [^b]{90000,90000} "
        "\"c\"{100000}\n"
        "a ::= \"d\"{90000,} \"e\"{90000} \"f\"{90000} \"g\"{0,90000} \"h\"{0,90000} \"i\"{0,90000} \"j\"{0,90000}";
    ck_assert_int_eq(lm_rules_read(large, strlen(large), NULL, &rules), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), "too large") != NULL, "%s", eng_last_error());
    /* one sequence, before it is a rule */
    char *long_one = malloc(100 * 16 + 16), *end = stpcpy(long_one, "root ::=");
    for (int i = 0; i < 100; i++)
        end = stpcpy(end, " \"a\"{100000}");
    ck_assert_int_eq(lm_rules_read(long_one, strlen(long_one), NULL, &rules), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), "too large") != NULL, "%s", eng_last_error());
    free(long_one);
    ck_assert_int_eq(lm_rules_read("root ::= \"a\"{0,5000}", 20, NULL, &rules), ENG_OK);
    lm_rules_free(&rules);
    ck_assert_int_eq(lm_rules_read("other ::= \"a\"", 13, "other", &rules), ENG_OK);
    ck_assert_int_eq(verdict(&rules, "a", 1), 'y');
    lm_rules_free(&rules);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grammar");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, language);
    tcase_add_test(all, characters);
    tcase_add_test(all, classes);
    tcase_add_test(all, drawn);
    tcase_add_test(all, tokens);
    tcase_add_test(all, no_way_on);
    tcase_add_test(all, trimmed);
    tcase_add_test(all, deep);
    tcase_add_test(all, refusals);
    tcase_add_test(all, limits);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
