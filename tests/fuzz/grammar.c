/*
 * Grammars and JSON schemas from anywhere, and texts that are read by them.  The first byte says which: a grammar in
 * GBNF, or 'J' and a schema. Behind a line of its own with % alone is a text.
 */
#include "config.h"

#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/grammar/matcher.h"
#include "libengine-lm/grammar/schema.h"

#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "root ::= \"a\" (b | [^x-z\\u00e9]{2,5} .)* \"\\x21\" # comment\nb ::= \"b\"? root | \"\"\n%\naabbcd!",
    "root ::= ws obj\nws ::= [ \\t\\n]*\nobj ::= \"{\" (ws s \":\" v (\",\" s \":\" v)*)? \"}\"\ns ::= \"\\\"\" [^\"]* \"\\\"\"\nv ::= obj | s | [0-9]+\n%\n {\"a\":{\"b\":12}}",
    "J{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-5,\"maximum\":1234},\"b\":{\"$ref\":\"#/$defs/x\"}},"
    "\"required\":[\"a\"],\"additionalProperties\":{\"type\":[\"null\",\"string\"],\"maxLength\":3},\"$defs\":{\"x\":{\"enum\":[1,\"q\",null]}}}\n%\n{\"a\":7}",
    "J{\"anyOf\":[{\"type\":\"array\",\"prefixItems\":[{\"pattern\":\"^[a-c]+\\\\d{2}(x|y)?$\"}],\"items\":{\"$ref\":\"#\"},\"minItems\":1},"
    "{\"allOf\":[{\"format\":\"date\"},{\"title\":\"t\"}]}]}\n%\n[\"a12\",\"2024-02-29\"]",
    NULL};

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

/* The same answer at once, and with all that is not in use given up on the way. */
static void read_text(const lm_rules *rules, const char *text, size_t n)
{
    lm_matcher m;
    MUST(lm_matcher_init(&m, rules) == ENG_OK, "no matcher: %s", eng_last_error());
    uint32_t s = lm_matcher_begin(&m), states[2] = {s, s};
    for (size_t i = 0; i < n && s != LM_STATE_FAILED; i++) {
        s = lm_matcher_step(&m, s, (uint8_t)text[i]);
        states[1] = s;
        if (s != LM_STATE_FAILED && i % 7 == 3)
            MUST(lm_matcher_trim(&m, states, 2) == ENG_OK, "nothing can be given up: %s", eng_last_error());
        s = states[1];
    }
    if (s != LM_STATE_FAILED) {
        uint32_t again = lm_matcher_text(&m, states[0], text, n);
        MUST(again == s || again == LM_STATE_FAILED, "a text comes to two states");
    }
    MUST(s != LM_STATE_FAILED || m.status == ENG_ERR_UNSUPPORTED, "status %d of a text", m.status);
    lm_matcher_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *input = fuzz_text(data, n), *gbnf = NULL;
    char *end = strstr(input, "\n%\n"), *text = end ? end + 3 : input + n;
    lm_rules rules;
    if (end)
        *end = 0;
    const bool schema = input[0] == 'J';
    int status = schema ? lm_schema_to_gbnf(input + 1, strlen(input + 1), &gbnf) : ENG_OK;
    MUST(!status || eng_last_error()[0], "status %d without a word", status);
    if (!status) {
        const char *grammar = schema ? gbnf : input;
        status = lm_rules_read(grammar, strlen(grammar), NULL, &rules);
        MUST(!status || eng_last_error()[0], "status %d without a word", status);
        MUST(!status || !schema || status == ENG_ERR_UNSUPPORTED, "a schema became no grammar: %s\n%s",
             eng_last_error(), grammar);
        if (!status) {
            read_text(&rules, text, (size_t)(input + n - text));
            lm_rules_free(&rules);
        }
    }
    free(gbnf);
    free(input);
    return 0;
}
