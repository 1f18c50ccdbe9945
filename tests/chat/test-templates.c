/*
 * Templates of conversations: small ones with their texts, those of tests/data/templates with what jinja2 makes of them, what is
 * refused and with which line, limits, and memory that ends at each request.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/chat.h"
#include "libengine/util/util.h"

#include "../meta/count.h"
#include "../tap.h"
#include "files.h"

static bool marked; /* with what was given                                  */

/* The text of a template, or NULL and *status. */
static char *render(const char *source, const char *json, int *status)
{
    eng_lm_template *t = NULL;
    eng_lm_range *given = NULL;
    char *text = NULL;
    size_t length, n;
    *status = eng_lm_template_create(source, strlen(source), &t);
    if (!*status)
        *status = marked ? eng_lm_template_render_given(t, NULL, json, &text, &length, &given, &n) :
                           eng_lm_template_render(t, NULL, json, &text, NULL);
    eng_lm_free(given);
    eng_lm_template_destroy(t);
    return text;
}

#define M "{\"m\": [{\"role\": \"user\", \"content\": \" Hi \"}, {\"role\": \"bot\", \"content\": \"Yo\"}], \"d\": {\"b\": 1, \"a\": [true, null, 1.5]}}"

/* Texts as Python's jinja2 3.1 gives them. */
static const struct {
    const char *template, *text;
} small[] = {
    {"a\n{% if true %}\n  b\n{% endif %}\nc\n", "a\n  b\nc"},
    {"a  {%- if 1 -%}  b  {%- endif %} c", "ab c"},
    {"  {%+ if 1 %}b{% endif %}\n", "  b"},
    {"  {# c #}\nx{{ '{{' }}{% raw %}{{ x }}{% endraw %}", "x{{{{ x }}"},
    {"{{ 7 // -2 }} {{ 7 % -2 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ -2 ** 2 }} {{ 1e22 }} {{ 0.1 + 0.2 }} {{ 1e16 }} {{ 123456789012345.0 }}",
     "-4 -1 3.5 1024 4 1e+22 0.30000000000000004 1e+16 123456789012345.0"},
    {"{{ 1 < 2 < 3 }} {{ not 1 == 1 }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }} {{ none is none }} {{ x is defined }} {{ 4 is divisibleby 2 }}",
     "True False True True True False True"},
    {"{{ [1, 'a', \"it's\", none, true, 2.0, (1,), {'k': []}] }}", "[1, 'a', \"it's\", None, True, 2.0, (1,), {'k': []}]"},
    {"{{ 'abcdef'[1:-1:2] }}{{ 'abc'[::-1] }}{{ [1, 2, 3][-1] }}{{ 'h\xc3\xa9llo'[1] }}", "bdcba3\xc3\xa9"},
    {"{% for x in m %}{{ loop.index }}{{ x.role }}:{{ x['content'] | trim }}{{ ',' if not loop.last }}{% else %}none{% endfor %}", "1user:Hi,2bot:Yo"},
    {"{% set ns = namespace(n=0) %}{% for x in m if x.role != 'bot' %}{% set ns.n = ns.n + loop.length %}{% endfor %}{{ ns.n }}", "1"},
    {"{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}", "023"},
    {"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "21"},
    {"{% macro f(a, b='B') %}<{{ a }}{{ b }}>{% endmacro %}{{ f(1) }}{{ f(b=2, a=3) }}{{ f('x', 'y') | upper }}", "<1B><32><XY>"},
    {"{% macro f() %}[{{ caller(2) }}]{% endmacro %}{% call(n) f() %}{{ n * 'ab' }}{% endcall %}", "[abab]"},
    {"{% set t %} a {% endset %}{{ t | trim ~ '!' }}{% filter upper %}b{% endfilter %}{% with q = 3 %}{{ q }}{% endwith %}", "a!B3"},
    {"{{ d | tojson }} {{ d | tojson(indent=2) }}", "{\"b\": 1, \"a\": [true, null, 1.5]} {\n  \"b\": 1,\n  \"a\": [\n    true,\n    null,\n    1.5\n  ]\n}"},
    {"{{ '\xc3\xa9\\n\"' | tojson }}{{ '\xc3\xa9' | tojson(ensure_ascii=true) }}{{ [1, 2] | tojson(separators=(',', ':')) }}", "\"\xc3\xa9\\n\\\"\"\"\\u00e9\"[1,2]"},
    {"{{ m | map(attribute='role') | join('+') }} {{ m | selectattr('role', 'equalto', 'bot') | list | length }} {{ d | dictsort | first }}",
     "user+bot 1 ('a', [True, None, 1.5])"},
    {"{{ ' x '.strip() }}{{ 'a-b-c'.split('-', 1) }}{{ 'ab'.startswith(('x', 'a')) }}{{ 'a,b'.replace(',', ';') }}{{ 'the king'.title() }}",
     "x['a', 'b-c']Truea;bThe King"},
    {"{{ d.get('z', 5) }}{% for k, v in d.items() %}{{ k }}{% endfor %}{{ d.b }}{{ d['b'] }}{{ d.zz.yy if d.zz }}", "5ba11"},
    {"{{ '%s is %05.1f and %d%%' % ('pi', 3.14159, 7) }}{{ 'x' ~ 1 ~ none }}{{ '<b>' | safe + '<' }}", "pi is 003.1 and 7%x1None<b>&lt;"},
    {"{% generation %}g{% endgeneration %}{{ 'a' 'b' }}{{ [3, 1, 2] | sort | last }}{{ 'x' | default('y') }}{{ u | default('y') }}", "gab3xy"},
};

static void check_small(void)
{
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        int status;
        char *text = render(small[i].template, M, &status);
        bool good = text && strcmp(text, small[i].text) == 0;
        if (!good)
            printf("# got '%s', expected '%s'\n", text ? text : eng_last_error(), small[i].text);
        tap_check(good, "template %zu", i + 1);
        eng_lm_free(text);
    }
}

/* -- what is refused ----------------------------------------------------------------------------- */

static const struct {
    const char *template;
    int status;
    const char *word; /* in the error */
} wrong[] = {
    {"a\n\n{% include 'x' %}", ENG_ERR_UNSUPPORTED, "line 3: tag 'include' is not understood"},
    {"{{ 1 }}\n{{ 2 | frobnicate }}", ENG_ERR_UNSUPPORTED, "line 2: filter 'frobnicate' is not understood"},
    {"{% if 0 %}{{ x | map('frob') }}{% endif %}", ENG_ERR_UNSUPPORTED, "filter 'frob' is not understood"},
    {"{{ 1 is frob }}", ENG_ERR_UNSUPPORTED, "test 'frob' is not understood"},
    {"{% for x in y recursive %}{% endfor %}", ENG_ERR_UNSUPPORTED, "recursive"},
    {"x\n{{ (1 }}", ENG_ERR_FORMAT, "line 2"},
    {"{% if x %}", ENG_ERR_FORMAT, "no end"},
    {"{% endif %}", ENG_ERR_FORMAT, "ends nothing"},
    {"{% break %}", ENG_ERR_FORMAT, "loops"},
    {"{{ 'abc }}", ENG_ERR_FORMAT, "a string has no end"},
    {"{# abc", ENG_ERR_FORMAT, "comment"},
    {"\xff", ENG_ERR_FORMAT, "UTF-8"},
    {"\n{{ raise_exception('Roles must alternate') }}", ENG_ERR_INVALID, "line 2: Roles must alternate"},
    {"{{ x.y }}", ENG_ERR_INVALID, "'x' is undefined"},
    {"{{ 'a' + 1 }}", ENG_ERR_INVALID, "unsupported operand"},
    {"{{ [].append(1) }}", ENG_ERR_UNSUPPORTED, "method 'append'"},
    {"{{ 9223372036854775807 + 1 }}", ENG_ERR_UNSUPPORTED, "64 bits"},
    {"{{ lipsum() }}", ENG_ERR_UNSUPPORTED, "function 'lipsum'"},
    {"{{ {}.__class__ }}", ENG_ERR_INVALID, "unsafe"},
    /* limits */
    {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", ENG_ERR_STATE, "macros call one another more than"},
    {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", ENG_ERR_STATE, "its values take more than"},
    {"{% set ns = namespace(t='0123456789') %}{% for i in range(40) %}{% set ns.t = ns.t + ns.t %}{% endfor %}", ENG_ERR_STATE, "bytes"},
    {"{{ 'x' * 99999999999 }}", ENG_ERR_STATE, "steps"},
    {"{% set s = 'x' * 4000 %}{% for i in range(90000) %}{{ s }}{% endfor %}", ENG_ERR_STATE, "its text is longer"},
    {"{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}", ENG_ERR_STATE, "nested"},
    {"{% set ns = namespace(t=()) %}{% for i in range(5000) %}{% set ns.t = (((ns.t,),),) %}{% endfor %}{{ {}.get(ns.t) }}", ENG_ERR_STATE, "nested"},
    {"{{ ('a' * 900000).rfind('a' * 900 ~ 'b') }}", ENG_ERR_STATE, "steps"},
    {"{{ ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1", ENG_ERR_STATE, "nested"},
};

static void check_wrong(void)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int status;
        char *text = render(wrong[i].template, "{}", &status);
        bool good = !text && status == wrong[i].status && strstr(eng_last_error(), wrong[i].word);
        tap_check(good, "refused (%s): %s", eng_status_name(status), text ? text : eng_last_error());
        eng_lm_free(text);
    }
    /* what is in what is in a sum of texts is looked at once: 40 levels would take longer than anybody lives */
    char nested[512] = "{% macro m() %}{{ ", *end = nested + strlen(nested);
    for (int i = 0; i < 40; i++)
        *end++ = '[';
    *end++ = '1';
    for (int i = 0; i < 40; i++)
        end = stpcpy(end, "~1]");
    strcpy(end, " }}{% endmacro %}x");
    int as;
    char *made = render(nested, "{}", &as);
    tap_check(made && strcmp(made, "x") == 0, "forty sums within one another: %s", made ? made : eng_last_error());
    eng_lm_free(made);
    static const char *const jsons[] = {"", "[1]", "{\"a\": 1", "{\"a\": 123456789012345678901234567890}"};
    for (size_t i = 0; i < sizeof jsons / sizeof *jsons; i++) {
        int status;
        char *text = render("x", jsons[i], &status);
        tap_check(!text && status == ENG_ERR_FORMAT, "variables '%s' are refused: %s", jsons[i], eng_last_error());
        eng_lm_free(text);
    }
}

/* -- templates of models ----------------------------------------------------------------------------- */

static uint64_t hash(const char *text)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return value;
}

/* The text of line n, in memory of its own. */
static char *line_of(const char *text, int n)
{
    while (--n > 0 && (text = strchr(text, '\n')) != NULL)
        text++;
    return text ? strndup(text, strcspn(text, "\n")) : NULL;
}

/* One line of expected.txt. */
static bool as_expected(const char *line, const char *conversations)
{
    char name[64], file[80], number[32];
    uint64_t value = 0;
    int n, status, fields = sscanf(line, "%63s %d %31s %" SCNx64, name, &n, number, &value);
    if (fields < 3)
        return false;
    snprintf(file, sizeof file, "%s.jinja", name);
    char *source = template_file(file), *json = line_of(conversations, n), *text = render(source, json ? json : "", &status);
    bool good = fields == 3 ? status == ENG_ERR_INVALID : text && strlen(text) == strtoull(number, NULL, 10) && hash(text) == value;
    if (!good)
        printf("# %s of line %d: %s\n", file, n, text ? text : eng_last_error());
    eng_lm_free(text);
    free(json);
    free(source);
    return good;
}

static void check_models(void)
{
    char *expected = template_file("expected.txt"), *conversations = template_file("conversations.jsonl");
    unsigned done = 0, bad = 0;
    for (char *line = strtok(expected, "\n"); line; line = strtok(NULL, "\n"), done++)
        bad += !as_expected(line, conversations);
    tap_check(done >= 300 && bad == 0, "%u texts of templates of models are those of jinja2, %u are not", done, bad);
    free(expected);
    free(conversations);
}

/* -- memory ---------------------------------------------------------------------------------------------- */

static const char all_kinds[] =
    "{%- macro f(a, b=[1]) %}{{ a | tojson }}{{ varargs }}{{ kwargs }}{% endmacro %}{% for x in m[::-1] if x %}{{ x.content | trim | upper }}"
    "{{ f(x, 2, 3, k={'z': 1.5}) }}{% endfor %}{% set t %}{{ d | dictsort }}{% endset %}{{ t.split(',') | map('title') | join('|') }}"
    "{{ m | selectattr('role', 'in', ['user']) | map(attribute='content') | list | sort }}{{ '%s' % t }}{{ range(5) | list | tojson(indent=3) }}";

static bool run_without(uint64_t nth, bool all, const char *right)
{
    int status;
    char said[300] = "";
    count_refuse(nth, all);
    count_start();
    char *text = render(all_kinds, M, &status);
    if (status)
        snprintf(said, sizeof said, "%s", eng_last_error());
    bool good = text ? !right || strcmp(text, right) == 0 : nth && status == ENG_ERR_NOMEM && said[0];
    if (!good)
        printf("# request %" PRIu64 ": %s, '%s'\n", nth, eng_status_name(status), said);
    eng_lm_free(text);
    count_refuse(0, false);
    count_stop();
    if (count_kept() > 0)
        printf("# request %" PRIu64 ": %" PRId64 " pieces kept\n", nth, count_kept());
    return good && count_kept() <= 0;
}

static void check_memory(void)
{
    int status;
    char *right = render(all_kinds, M, &status);
    uint64_t tried = 0, bad = 0;
    if (!count_possible()) {
        tap_check(right != NULL, "this build cannot refuse memory");
        eng_lm_free(right);
        return;
    }
    bool good = right && run_without(0, false, right);
    for (bool more = good; more && bad < 5; tried += more) {
        bad += !run_without(tried + 1, tried % 2, right);
        more = count_refused();
    }
    tap_check(good && tried > 20 && !bad, "%" PRIu64 " requests for memory refused, %" PRIu64 " runs go wrong", tried, bad);
    eng_lm_free(right);
}

int main(void)
{
    check_small();
    check_wrong();
    check_models();
    check_memory();
    marked = true;
    check_memory();
    return tap_end(NULL);
}
