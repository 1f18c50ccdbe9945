/* Templates and their variables (behind a byte 1): text, or an error with a word. */
#include "config.h"

#include <string.h>

#include "engine/chat.h"

#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "{%- for m in messages %}{{ '<|' + m.role + '|>' ~ m['content'] | trim }}{% if not loop.last -%}, {%- endif %}{% endfor %}"
    "\1{\"messages\": [{\"role\": \"user\", \"content\": \" Hi \"}, {\"role\": \"tool\", \"content\": [1, {\"a\": null}]}]}",
    "{% macro f(a, b='x') %}{{ a }}{{ caller() if caller else varargs }}{% endmacro %}{% call f(x[1:-1:2], *y) %}{{ y | tojson(indent=2) }}"
    "{% endcall %}\1{\"x\": \"abcdefg\\u00e9\", \"y\": [1.5, true, {\"k\": [\"v\"]}]}",
    "{% set ns = namespace(n=0) %}{% for k, v in d.items() if v is not none %}{% set ns.n = ns.n + v | int %}{% break %}{% else %}e{% endfor %}"
    "{{ ns.n }}{{ d | dictsort | map('first') | list }}\1{\"d\": {\"b\": \"2\", \"a\": 1e3, \"c\": null}}",
    "{# c #}{% raw %}{{ {% endraw %}{% filter upper %}{{ 'a' if u else \"b\\n\" }}{% endfilter %}{{ '%s-%5.2f' % (s, 2.5) }}{{ s.split('-')[::-1] | join }}"
    "{{ l | selectattr('n', 'gt', 1) | map(attribute='n') | sort(reverse=true) }}\1{\"s\": \"a-b\", \"l\": [{\"n\": 2}, {\"n\": 0}]}",
    NULL};

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n ? memchr(data, 1, n) : NULL;
    const size_t length = end ? (size_t)(end - data) : n;
    char *json = fuzz_text(end ? end + 1 : (const uint8_t *)"{}", end ? n - length - 1 : 2), *text = NULL;
    eng_lm_template *t = NULL;
    size_t bytes = 0;
    int status = eng_lm_template_create((const char *)data, length, &t);
    MUST(status == ENG_OK ? t != NULL : t == NULL && eng_last_error()[0], "status %d without a word", status);
    if (t) {
        status = eng_lm_template_render(t, NULL, json, &text, &bytes);
        MUST(status == ENG_OK ? text && text[bytes] == 0 : !text && eng_last_error()[0], "status %d without a word",
             status);
    }
    if (text) { /* the same again, with what was given */
        eng_lm_range *given = NULL;
        char *again = NULL;
        size_t again_bytes = 0, ranges = 0;
        status = eng_lm_template_render_given(t, NULL, json, &again, &again_bytes, &given, &ranges);
        MUST(status == ENG_OK && again_bytes == bytes, "status %d, %zu bytes and %zu", status, again_bytes, bytes);
        for (size_t i = 0; i < ranges; i++)
            MUST(given[i].from < given[i].to && given[i].to <= bytes && (i == 0 || given[i - 1].to < given[i].from),
                 "range %zu", i);
        eng_lm_free(given);
        eng_lm_free(again);
    }
    eng_lm_free(text);
    eng_lm_template_destroy(t);
    free(json);
    return 0;
}
