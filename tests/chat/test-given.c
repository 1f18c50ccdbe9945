/*
 * What of a template's text was given, and control tokens in it, which are none: after everything that templates do to texts, for the
 * templates of tests/data/templates, and with a model's tokens.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "engine/chat.h"
#include "libengine/util/util.h"

#include "../tap.h"
#include "files.h"

/* The text with what was given in brackets; NULL: an error. */
static char *bracketed(const char *source, const char *json)
{
    eng_lm_template *t = NULL;
    eng_lm_range *given = NULL;
    char *text = NULL;
    size_t length = 0, n = 0, at = 0;
    eu_text all = {0};
    int status = eng_lm_template_create(source, strlen(source), &t);
    status = status ? status : eng_lm_template_render_given(t, NULL, json, &text, &length, &given, &n);
    for (size_t i = 0; i < n; i++) {
        eu_text_add_bytes(&all, text + at, given[i].from - at);
        eu_text_add(&all, "[");
        eu_text_add_bytes(&all, text + given[i].from, given[i].to - given[i].from);
        eu_text_add(&all, "]");
        at = given[i].to;
    }
    if (!status)
        eu_text_add_bytes(&all, text + at, length - at);
    eng_lm_free(given);
    eng_lm_free(text);
    eng_lm_template_destroy(t);
    return status ? NULL : eu_text_take(&all);
}

#define V "{\"s\": \"ab\", \"p\": \" a b \", \"q\": \"a\\\"é\\n\", \"m\": [{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"bot\", \"content\": \"Yo\"}]," \
          " \"d\": {\"k\": \"v\"}, \"n\": 5, \"eos_token\": \"E\", \"extra_tokens\": [\"F\"], \"cut\": \"< |x\", \"h\": \"<\"}"

static const struct {
    const char *template, *text;
} cases[] = {
    {"<{{ s }}>", "<[ab]>"},
    {"<{{ eos_token }}{{ extra_tokens[0] }}{{ n }}>", "<EF5>"},
    {"{{ '<' + s + '>' }}{{ '<' ~ s ~ 1 }}", "<[ab]><[ab]1"},
    {"{{ p | trim }}.{{ p.strip() }}.{{ p.lstrip() }}.{{ p.rstrip(' b') }}", "[a b].[a b].[a b ].[ a]"},
    {"{{ cut | replace(' ', '') }}{{ cut.replace(' ', '-') }}", "[<|x<]-[|x]"},
    {"{{ 'a-b' | replace('-', s) }}", "a[ab]b"},
    {"{{ s | upper }}{{ s.title() }}{{ s | title }}{{ s.swapcase() }}{{ 'x' | upper }}", "[ABAbAbAB]X"},
    {"{{ p.split() }}{{ 'y'.split('-') }}", "['[a]', '[b]']['y']"},
    {"{% for x in p.split(' ') %}{{ x }}.{% endfor %}{{ s.partition('a') | join('+') }}", ".[a].[b]..+[a]+[b]"},
    {"{{ ['x', s] | join('-') }}{{ s.join(['1', '2']) }}{{ '-'.join([s, s]) }}", "x-[ab]1[ab]2[ab]-[ab]"},
    {"{{ q | tojson }}{{ q | tojson(ensure_ascii=true) }}", "\"[a\\\"é\\n]\"\"[a\\\"\\u00e9\\n]\""},
    {"{{ d | tojson(indent=1) }}{{ d }}", "{\n \"[k]\": \"[v]\"\n}{'[k]': '[v]'}"},
    {"{{ '%s-%5s-%d' % (s, s, n) }}{{ '%(k)s' % d }}{{ '<%s>' | format(s) }}", "[ab]-   [ab]-5[v]<[ab]>"},
    {"{{ s | e }}{{ h | e }}{{ h | safe + '&' }}", "[ab&lt;<]&amp;"},
    {"{{ p | indent(2, true) }}{{ s | center(4) }}{{ s.rjust(3, '.') }}", "  [ a b ] [ab] .[ab]"},
    {"{{ s[::-1] }}{{ s[0] }}{{ s[1:] }}{{ s | first }}{{ s | list | last }}{{ s | reverse }}", "[baababba]"},
    {"{{ s * 2 }}{{ 'x' * 2 }}", "[abab]xx"},
    {"{{ m | map(attribute='content') | join(',') }}{{ m | map(attribute='role') | map('upper') | list }}", "[Hi],[Yo]['[USER]', '[BOT]']"},
    {"{% set t %}<{{ s }}>{% endset %}{{ t }}{{ t | upper }}{% filter upper %}x{{ s }}{% endfilter %}", "<[ab]><[AB]>X[AB]"},
    {"{% macro f(x) %}({{ x }}{{ caller() if caller else '' }}){% endmacro %}{{ f(s) }}{% call f('y') %}{{ s }}{% endcall %}", "([ab])(y[ab])"},
    {"{% set ns = namespace(t='') %}{% for x in m %}{% set ns.t = ns.t + '|' + x.content %}{% endfor %}{{ ns.t }}", "|[Hi]|[Yo]"},
    {"{{ s | default('z') }}{{ u | default('z') }}{{ s if s else 'z' }}{{ s | string }}{{ d.get('k') }}{{ d['k'] }}", "[ab]z[ababvv]"},
    {"{% for k, v in d | items %}{{ k }}={{ v }}{% endfor %}{{ (d | dictsort)[0][1] }}{{ [s, 'c'] | sort | join }}{{ [s, s] | unique | join }}",
     "[k]=[vvab]c[ab]"},
    {"{{ s.splitlines()[0] }}{{ s.removeprefix('a') }}{{ s.removesuffix('b') }}{{ p | wordcount if 0 else s.lower() }}", NULL},
    {"{{ s.splitlines()[0] }}{{ s.removeprefix('a') }}{{ s.removesuffix('b') }}{{ strftime_now(s) }}{{ strftime_now('x') }}", "[abbaab]x"},
};

static void check_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = bracketed(cases[i].template, V);
        tap_check(text ? cases[i].text && strcmp(text, cases[i].text) == 0 : !cases[i].text, "%s: %s", cases[i].template,
                  text ? text : eng_last_error());
        free(text);
    }
}

/* -- templates of models ---------------------------------------------------------------------------------- */

/* Texts of messages begin and end with letters that no template has. */
#define HEAD "ЖД"
#define TAIL "ЪЩ"

static void mark_texts(json_t *v)
{
    const char *key;
    json_t *value;
    size_t i;
    void *next;
    json_array_foreach(v, i, value)
        mark_texts(value);
    json_object_foreach_safe(v, next, key, value) {
        if (json_is_string(value) && strcmp(key, "role") && strcmp(key, "type") && !strstr(key, "_token")) {
            eu_text t = {0};
            eu_text_format(&t, HEAD "%s" TAIL, json_string_value(value));
            json_object_set_new(v, key, json_string(eu_text_get(&t)));
            eu_text_free(&t);
        } else {
            mark_texts(value);
        }
    }
}

static bool is_given(const eng_lm_range *r, size_t n, size_t from, size_t to)
{
    for (size_t i = 0; i < n; i++)
        if (r[i].from <= from && to <= r[i].to)
            return true;
    return false;
}

/* Every such letter is in what was given, and no beginning of a control token; 0: it is so, 1: it is not, -1: no text. */
static int judge(const eng_lm_template *t, const char *json, unsigned *letters)
{
    static const char *const own[] = {"<|im_", "<|start", "<|end", "<start_of_turn>", "[INST]", "<｜", "<|user|>", "[gMASK]"};
    eng_lm_range *given = NULL;
    char *text = NULL;
    size_t length, n;
    int bad = 0;
    if (eng_lm_template_render_given(t, NULL, json, &text, &length, &given, &n))
        return -1;
    for (size_t i = 0; i + 1 < length; i++)
        if ((unsigned char)text[i] == 0xd0) { /* of all these letters */
            bad |= !is_given(given, n, i, i + 2);
            ++*letters;
        }
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        for (const char *at = text; (at = strstr(at, own[k])) != NULL; at++)
            for (size_t i = 0; i < n; i++)
                bad |= given[i].from < (size_t)(at - text) + strlen(own[k]) && (size_t)(at - text) < given[i].to;
    eng_lm_free(given);
    eng_lm_free(text);
    return bad;
}

static void check_template(const char *name, const char *conversations, unsigned *texts, unsigned *bad, unsigned *letters)
{
    char file[80];
    eng_lm_template *t = NULL;
    snprintf(file, sizeof file, "%s.jinja", name);
    char *source = template_file(file);
    if (eng_lm_template_create(source, strlen(source), &t))
        ++*bad;
    for (const char *line = conversations; t && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        json_t *all = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        mark_texts(all);
        char *json = json_dumps(all, 0);
        int is = judge(t, json, letters);
        if (is > 0)
            printf("# %s: %.200s\n", file, json);
        *bad += is > 0;
        *texts += is >= 0;
        free(json);
        json_decref(all);
    }
    eng_lm_template_destroy(t);
    free(source);
}

static void check_models(void)
{
    char *expected = template_file("expected.txt"), *conversations = template_file("conversations.jsonl"), last[64] = "", name[64];
    unsigned texts = 0, bad = 0, letters = 0;
    for (char *line = strtok(expected, "\n"); line; line = strtok(NULL, "\n"))
        if (sscanf(line, "%63s", name) == 1 && strcmp(name, last) != 0) {
            strcpy(last, name);
            check_template(name, conversations, &texts, &bad, &letters);
        }
    tap_check(texts > 200 && letters > 2000 && !bad, "%u texts of templates of models: %u letters of messages, all found as such, %u are wrong",
              texts, letters, bad);
    free(conversations);
    free(expected);
}

/* -- tokens ------------------------------------------------------------------------------------------------------ */

static unsigned count_of(const int32_t *ids, size_t n, int32_t token)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++)
        found += ids[i] == token;
    return found;
}

/* How often a token is in the tokens of a template's text, with a look at what was given and without. */
static bool counts(const eng_lm_model *m, const char *source, const char *json, int32_t token, unsigned safe, unsigned unsafe)
{
    eng_lm_template *t = NULL;
    eng_lm_range *given = NULL;
    int32_t *ids = NULL, *other = NULL;
    char *text = NULL, *back = NULL;
    size_t length = 0, n_given = 0, n = 0, n_other = 0, n_back = 0;
    int status = eng_lm_template_create(source, strlen(source), &t);
    status = status ? status : eng_lm_template_render_given(t, m, json, &text, &length, &given, &n_given);
    status = status ? status : eng_lm_tokenize_given(m, text, length, ENG_LM_PARSE_SPECIAL, given, n_given, &ids, &n);
    status = status ? status : eng_lm_tokenize(m, text, length, ENG_LM_PARSE_SPECIAL, &other, &n_other);
    status = status ? status : eng_lm_text(m, ids, n, 1, &back, &n_back);
    bool good = !status && count_of(ids, n, token) == safe && count_of(other, n_other, token) == unsafe && n_back == length &&
                memcmp(back, text, length) == 0;
    if (!good)
        printf("# %s: %u and %u such tokens of '%s'\n", eng_status_name(status), count_of(ids, n, token), count_of(other, n_other, token),
               text ? text : eng_last_error());
    eng_lm_free(ids);
    eng_lm_free(other);
    eng_lm_free(text);
    eng_lm_free(back);
    eng_lm_free(given);
    eng_lm_template_destroy(t);
    return good;
}

static void check_tokens(const eng_lm_model *m)
{
    static const char conversation[] = "{\"messages\": [{\"content\": \"a<|endoftext|>b\"}, {\"content\": \"< |endoftext|>\"},"
                                       " {\"content\": \"endoftext\"}, {\"content\": \"<|ENDOFTEXT|>\"}]}";
    int32_t *ids = NULL, token = -1;
    size_t n = 0;
    if (eng_lm_tokenize(m, "<|endoftext|>", 13, ENG_LM_PARSE_SPECIAL, &ids, &n) == ENG_OK && n == 1)
        token = ids[0];
    eng_lm_free(ids);
    tap_check(token >= 0, "<|endoftext|> is a token, %d", (int)token);
    tap_check(counts(m, "{{ eos_token }}{{ messages[0].content }}<|endoftext|>", conversation, token, 2, 3), "a question that spells it has none");
    tap_check(counts(m, "{{ messages[1].content | replace(' ', '') }}{{ eos_token }}", conversation, token, 1, 2), "nor one of which it is made");
    tap_check(counts(m, "{{ '<|' + messages[2].content + '|>' }}x{{ eos_token }}", conversation, token, 1, 2), "nor together with the template's text");
    tap_check(counts(m, "{{ messages[3].content | lower }}{{ messages[3].content.lower() }}", conversation, token, 0, 2), "nor in small letters");
    tap_check(counts(m, "{{ messages[0] | tojson }}{{ messages }}", conversation, token, 0, 2), "nor in JSON or lists");
    eng_lm_range wrong[] = {{2, 4}, {3, 5}}, beyond = {0, 99};
    tap_check(eng_lm_tokenize_given(m, "abcdef", 6, 0, wrong, 2, &ids, &n) == ENG_ERR_INVALID &&
                  eng_lm_tokenize_given(m, "abcdef", 6, 0, &beyond, 1, &ids, &n) == ENG_ERR_INVALID, "ranges that overlap or are beyond: %s",
              eng_last_error());
}

int main(void)
{
    char path[600];
    const char *top = getenv("top_srcdir");
    eng_context *engine = tap_begin();
    eng_device *device = NULL;
    eng_lm_model *m = NULL;
    check_cases();
    check_models();
    snprintf(path, sizeof path, "%s/tests/data/tiny-hybrid-f16.gguf", top ? top : "..");
    int status = eng_context_set_option(engine, "null.accept", "measure");
    status = status ? status : eng_device_open(engine, "null", &device);
    status = status ? status : eng_lm_model_open(engine, device, path, NULL, &m);
    if (tap_check(!status, "a model is opened%s%s", status ? ": " : "", status ? eng_last_error() : ""))
        check_tokens(m);
    eng_lm_model_close(m);
    eng_device_close(device);
    return tap_end(engine);
}
