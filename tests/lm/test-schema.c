/*
 * JSON schemas as grammars: documents that PyPI's jsonschema has judged (tests/peers/schemas.py --write), bounds of
 * whole numbers one by one, refusals by JSON pointer.
 */
#define _POSIX_C_SOURCE 200809L
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/grammar/matcher.h"
#include "libengine-lm/grammar/schema.h"

static void take(const char *schema, lm_rules *rules)
{
    char *gbnf = NULL;
    ck_assert_msg(lm_schema_to_gbnf(schema, strlen(schema), &gbnf) == ENG_OK, "%s: %s", schema, eng_last_error());
    ck_assert_msg(lm_rules_read(gbnf, strlen(gbnf), NULL, rules) == ENG_OK, "%s: %s\n%s", schema, eng_last_error(),
                  gbnf);
    free(gbnf);
}

static bool is_one(const lm_rules *rules, const char *text)
{
    lm_matcher m;
    ck_assert_int_eq(lm_matcher_init(&m, rules), ENG_OK);
    uint32_t s = lm_matcher_text(&m, lm_matcher_begin(&m), text, strlen(text));
    ck_assert_uint_ne(s, LM_STATE_FAILED);
    bool one = s != LM_STATE_DEAD && lm_matcher_may_end(&m, s);
    lm_matcher_free(&m);
    return one;
}

START_TEST(vectors)
{
    char path[600], *line = NULL;
    size_t room = 0, n_yes = 0, n_no = 0, n_schemas = 0;
    const char *top = getenv("top_srcdir");
    lm_rules rules = {0};
    snprintf(path, sizeof path, "%s/tests/data/schemas.txt", top ? top : ".");
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    for (ssize_t n; (n = getline(&line, &room, f)) > 2;) {
        line[n - 1] = 0;
        if (line[0] == 'S') {
            lm_rules_free(&rules);
            take(line + 2, &rules);
            n_schemas++;
            continue;
        }
        ck_assert_msg(is_one(&rules, line + 2) == (line[0] == '+'), "%s", line);
        n_yes += line[0] == '+';
        n_no += line[0] == '-';
    }
    fclose(f);
    free(line);
    lm_rules_free(&rules);
    printf("# %zu schemas, %zu documents of them, %zu of none\n", n_schemas, n_yes, n_no);
    ck_assert(n_schemas > 30 && n_yes > 100 && n_no > 100);
}
END_TEST

static void check_bounds(int64_t least, int64_t most, int64_t from, int64_t to)
{
    char schema[120], text[32];
    lm_rules rules;
    snprintf(schema, sizeof schema, "{\"type\":\"integer\",\"minimum\":%lld,\"maximum\":%lld}", (long long)least,
             (long long)most);
    take(schema, &rules);
    for (int64_t i = from; i <= to; i++) {
        snprintf(text, sizeof text, "%lld", (long long)i);
        ck_assert_msg(is_one(&rules, text) == (i >= least && i <= most), "%s: %s", schema, text);
    }
    ck_assert(!is_one(&rules, "007") && !is_one(&rules, "-0") && !is_one(&rules, ""));
    lm_rules_free(&rules);
}

START_TEST(bounds)
{
    static const int64_t ends[] = {-1200, -1000, -999, -101, -100, -99, -11, -10, -9,  -2,  -1,  0,    1,
                                   5,     9,     10,   11,   19,   20,  99,  100, 101, 340, 999, 1000, 1234};
    const size_t n = sizeof ends / sizeof *ends;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k += 1 + (i + k) % 3)
            check_bounds(ends[i], ends[k], -1300, 1300);
    check_bounds(123456789012345, 123456789098765, 123456789012300, 123456789012400);
    check_bounds(123456789012345, 123456789098765, 123456789098700, 123456789098800);
}
END_TEST

/* Texts of x, with so many digits behind the point: those within are let through, others are not. */
static void check_decimal(const lm_rules *rules, const char *schema, const double limits[2], const bool open[2],
                          double x, int places)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", places, x);
    x = strtod(text, NULL);
    if (strtod(text, NULL) == 0 && text[0] == '-')
        return;
    const bool within = (open[0] ? x > limits[0] : x >= limits[0]) && (open[1] ? x < limits[1] : x <= limits[1]);
    /* of 1.50 one spelling is enough */
    const bool plain = places == 0 || (text[strlen(text) - 1] != '0' && fabs(x) < 1e7);
    const bool one = is_one(rules, text);
    ck_assert_msg(within ? one || !plain : !one, "%s: %s", schema, text);
}

static void check_decimals(double least, double most, int open)
{
    char schema[200];
    const double limits[2] = {least, most};
    const bool opens[2] = {open & 1, open & 2};
    static const double steps[] = {0, 1e-8, 1e-3, 0.01, 0.1, 0.5, 0.09, 1, 9, 10, 123.25};
    lm_rules rules;
    snprintf(schema, sizeof schema, "{\"type\":\"number\",\"%s\":%.12g,\"%s\":%.12g}",
             opens[0] ? "exclusiveMinimum" : "minimum", least, opens[1] ? "exclusiveMaximum" : "maximum", most);
    take(schema, &rules);
    for (int end = 0; end < 2; end++)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            for (int sign = -1; sign <= 1; sign += 2)
                for (int places = 0; places <= 8; places += places < 4 ? 1 : 4)
                    check_decimal(&rules, schema, limits, opens, limits[end] + sign * steps[i], places);
    for (int i = 0; i < 40; i++)
        check_decimal(&rules, schema, limits, opens, least + (most - least) * i / 39, i % 9);
    ck_assert(!is_one(&rules, "") && !is_one(&rules, ".5") && !is_one(&rules, "1.") && !is_one(&rules, "01") &&
              !is_one(&rules, "--1"));
    lm_rules_free(&rules);
}

START_TEST(decimals)
{
    static const double ends[] = {-123456789, -10.5, -1,   -0.99, -0.25,     -0.009,     0,
                                  0.00000001, 0.05,  0.07, 0.5,   0.55,      0.99999999, 1,
                                  1.5,        9.99,  10,   99.01, 9999999.5, 10000000,   123456789012.0};
    const size_t n = sizeof ends / sizeof *ends;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            for (int open = 0; open < 4; open++)
                if (i < k && !(ends[k] - ends[i] < 2e-8 && open == 3))
                    check_decimals(ends[i], ends[k], open);
    for (size_t i = 0; i < n; i++)
        check_decimals(ends[i], ends[i], 0);
}
END_TEST

/* A schema, and documents that are of it and that are not. */
typedef struct judged {
    const char *schema, *yes[4], *no[4];
} judged;

static void judge(const judged *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lm_rules rules;
        take(cases[i].schema, &rules);
        for (int k = 0; k < 4; k++) {
            ck_assert_msg(is_one(&rules, cases[i].yes[k]), "%s: %s", cases[i].schema, cases[i].yes[k]);
            ck_assert_msg(!is_one(&rules, cases[i].no[k]), "%s: not %s", cases[i].schema, cases[i].no[k]);
        }
        lm_rules_free(&rules);
    }
}

START_TEST(one_bound)
{
    static const judged cases[] = {
        {"{\"type\":\"number\",\"minimum\":0}", {"0", "0.5", "7", "123456789"}, {"-1", "-0.1", "1e3", "1."}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0}", {"0.1", "0.00000001", "1", "20.25"}, {"0", "0.0", "-1", "0.000"}},
        {"{\"type\":\"number\",\"maximum\":-1.5}", {"-1.5", "-2", "-1.51", "-100.125"}, {"-1.4", "0", "-1", "1.5"}},
        {"{\"type\":\"integer\",\"multipleOf\":7}", {"0", "-7", "49", "7000000014"}, {"1", "-8", "50", "07"}},
        {"{\"type\":\"number\",\"multipleOf\":25,\"minimum\":1}", {"25", "50", "1000", "99975"}, {"0", "-25", "26", "10"}},
        {"{\"multipleOf\":10,\"minimum\":-20,\"maximum\":20}", {"-20", "-10", "0", "20"}, {"-30", "30", "5", "-0"}},
        {"{\"type\":\"integer\",\"multipleOf\":5,\"minimum\":0}", {"0", "5", "10", "123455"}, {"-5", "1", "-0", "05"}},
        {"{\"type\":\"string\",\"format\":\"email\"}", {"\"a@b\"", "\"a.b+c@mail.example.org\"", "\"x_1@a-b.c\"", "\"Z@z9\""}, {"\"a\"", "\"a@\"", "\".a@b\"", "\"a@-b\""}},
        {"{\"type\":\"string\",\"format\":\"ipv4\"}", {"\"0.0.0.0\"", "\"255.249.199.99\"", "\"10.1.2.3\"", "\"127.0.0.1\""}, {"\"256.0.0.0\"", "\"1.2.3\"", "\"01.2.3.4\"", "\"1.2.3.4.5\""}},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}", {"\"0:0:0:0:0:0:0:1\"", "\"fe80:0:0:0:1:2:3:4\"", "\"2001:0db8:0:0:0:0:0:ABCD\"", "\"1:2:3:4:5:6:7:8\""}, {"\"::1x\"", "\"1:2:3\"", "\"12345:0:0:0:0:0:0:0\"", "\"g:0:0:0:0:0:0:0\""}},
        {"{\"type\":\"string\",\"format\":\"uri\"}", {"\"https://example.org\"", "\"http://a.b:80/c?d=e#f\"", "\"ftp://h/x%20y\"", "\"a://b\""}, {"\"example.org\"", "\"http://\"", "\"http://a b\"", "\"1://a\""}},
        {"{\"type\":\"string\",\"format\":\"duration\"}", {"\"P1D\"", "\"PT5M\"", "\"P1Y2M3DT4H5M6S\"", "\"P3W\""}, {"\"P\"", "\"PT\"", "\"1D\"", "\"P1H\""}},
        {"{\"type\":\"string\",\"format\":\"hostname\"}", {"\"a\"", "\"a-b.c9\"", "\"example.org\"", "\"x.y.z\""}, {"\"\"", "\"-a\"", "\"a.\"", "\"a_b\""}},
    };
    judge(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(forms)
{
    static const judged cases[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"ab\":{\"type\":\"null\"}},\"additionalProperties\":{\"type\":\"boolean\"}}",
         {"{}", "{\"a\":1,\"ab\":null,\"b\":true}", "{ \"abc\": true, \"\": false }", "{\"ab\":null}"},
         {"{\"a\":true}", "{\"ab\":true}", "{\"b\":1}", "{\"\\u0061\":true}"}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":{\"const\":3},\"minItems\":1,\"maxItems\":4}",
         {"[1]", "[1, 2]", "[1,2,3]", "[1,2,3,3]"}, {"[]", "[2]", "[1,2,3,3,3]", "[1,3]"}},
        {"{\"$ref\":\"#/$defs/x~1y\",\"$defs\":{\"x/y\":{\"type\":[\"string\",\"null\"],\"maxLength\":2}}}",
         {"null", "\"\"", "\"\\n\xf0\x9f\x98\x80\"", "\"\\u20ac.\""}, {"\"abc\"", "\"\\ud83d\"", "1", "\"\n\""}},
        {"{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}",
         {"{\"v\":1}", "{\"v\":1,\"next\":{\"v\":2}}", "{\n  \"v\": 1\n}", "{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":3}}}"},
         {"{}", "{\"next\":{\"v\":1}}", "{\"v\":1,\"next\":{}}", "{\"v\":1,}"}},
        {"{\"type\":\"string\",\"pattern\":\"^[a-c]+(?:-\\\\d{2})?$\"}", {"\"a\"", "\"abc-12\"", "\"b\"", "\"cc-00\""}, {"\"\"", "\"a-1\"", "\"d\"", "\"a-123\""}},
        {"{\"type\":\"string\",\"format\":\"date\"}", {"\"2024-02-29\"", "\"2023-02-28\"", "\"1999-12-31\"", "\"2000-04-30\""},
         {"\"2023-02-29\"", "\"2024-13-01\"", "\"2024-04-31\"", "\"2024-1-1\""}},
        {"{\"allOf\":[{\"properties\":{\"a\":{\"minimum\":3}}},{\"properties\":{\"a\":{\"type\":\"integer\",\"maximum\":5}},\"required\":[\"a\"]}]}",
         {"{\"a\":3}", "{\"a\":5}", "{\"a\":4}", "{ \"a\": 4 }"}, {"{\"a\":2}", "{\"a\":6}", "{}", "{\"a\":3.5}"}},
        {"{\"enum\":[1,\"\\u00e9\",{\"a\":[]}],\"type\":[\"string\",\"object\"]}", {"\"\xc3\xa9\"", "{\"a\":[]}", "\"\xc3\xa9\"", "{\"a\":[]}"}, {"1", "\"e\"", "{}", ""}},
        {"{\"type\":\"object\",\"required\":[\"p\"],\"allOf\":[{\"properties\":{\"p\":{\"type\":\"integer\"}}},{\"properties\":{\"p\":{\"minimum\":2}}},"
         "{\"properties\":{\"p\":{\"maximum\":5}}},{\"properties\":{\"p\":{\"minimum\":4}}}]}",
         {"{\"p\":4}", "{\"p\":5}", "{\"p\":4}", "{ \"p\": 5 }"}, {"{\"p\":3}", "{\"p\":6}", "{}", "{\"p\":\"4\"}"}},
        {"true", {"1", "[{}, \"\"]", "{\"a\": null}", "-1.5e-3"}, {"", "01", "{a:1}", "[1,]"}},
    };
    judge(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(refusals)
{
    static const struct {
        const char *schema, *about;
        int status;
    } cases[] = {
        {"{", "line 1", ENG_ERR_FORMAT},
        {"{\"a\":1,\"a\":2}", "duplicate", ENG_ERR_FORMAT},
        {"{\"properties\":{\"x\":{\"not\":{}}}}", "#/properties/x/not: this keyword", ENG_ERR_UNSUPPORTED},
        {"{\"items\":{\"uniqueItems\":true}}", "#/items: uniqueItems", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"number\",\"minimum\":\"1\"}", "#/minimum: a number", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"number\",\"minimum\":1,\"exclusiveMaximum\":1}", "no number with at most 8", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":0.00000001}", "no number with at most 8", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"number\",\"minimum\":2,\"maximum\":1}", "no number is within", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"number\",\"minimum\":0.123456789}", "more than 8 digits", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"number\",\"minimum\":1e15}", "no number with at most 8", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"integer\",\"multipleOf\":0.5}", "#/multipleOf: a whole number", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":50}", "#/multipleOf: within bounds", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":50,\"maximum\":55}", "no multiple of 7", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}", "no whole number", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"string\",\"format\":\"color\"}", "#/format: 'color'", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"string\",\"pattern\":\"a(?=b)\"}", "#/pattern: the expression", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}", "this escape", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"string\",\"pattern\":\"^a|b$\"}", "one of several alternatives", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"string\",\"pattern\":\"a\",\"minLength\":3}", "one at a time", ENG_ERR_UNSUPPORTED},
        {"{\"type\":\"strin\"}", "no type 'strin'", ENG_ERR_UNSUPPORTED},
        {"{\"$ref\":\"#/$defs/none\"}", "leads to nothing", ENG_ERR_UNSUPPORTED},
        {"{\"$ref\":\"other.json\"}", "not within the document", ENG_ERR_UNSUPPORTED},
        {"{\"$ref\":\"#\"}", "nothing but itself", ENG_ERR_UNSUPPORTED},
        {"{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}}},{\"$ref\":\"#\"}]}", "#: it is nothing but itself", ENG_ERR_UNSUPPORTED},
        {"{\"allOf\":[{\"$ref\":\"#\"}]}", "lead to themselves", ENG_ERR_UNSUPPORTED},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "#/oneOf/1: a document may be of this", ENG_ERR_UNSUPPORTED},
        {"{\"oneOf\":[{\"type\":\"object\"},{\"type\":\"object\",\"required\":[\"a\"]}]}", "#/oneOf/1", ENG_ERR_UNSUPPORTED},
        {"{\"properties\":{\"a\":false},\"required\":[\"a\"]}", "#/properties/a: nothing is valid", ENG_ERR_UNSUPPORTED},
        {"{\"enum\":[1],\"type\":\"string\"}", "no value is possible", ENG_ERR_UNSUPPORTED},
        {"{\"const\":1,\"minimum\":0}", "#/minimum: this keyword is not understood beside", ENG_ERR_UNSUPPORTED},
        {"{\"allOf\":[{\"properties\":{\"a\":{}},\"additionalProperties\":false},{\"properties\":{\"b\":{}}}]}", "additionalProperties closes", ENG_ERR_UNSUPPORTED},
        {"{\"required\":[\"a\"],\"properties\":{},\"additionalProperties\":false}", "'a' is required", ENG_ERR_UNSUPPORTED},
        {"{\"minItems\":3,\"prefixItems\":[{}],\"items\":false}", "fewer elements", ENG_ERR_UNSUPPORTED},
        {"{\"minLength\":2.5}", "#/minLength: a whole number", ENG_ERR_UNSUPPORTED},
        {"[]", "a schema is an object", ENG_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *gbnf = NULL;
        int status = lm_schema_to_gbnf(cases[i].schema, strlen(cases[i].schema), &gbnf);
        ck_assert_msg(status == cases[i].status && !gbnf, "%s: %d\n%s", cases[i].schema, status, gbnf ? gbnf : "");
        ck_assert_msg(strstr(eng_last_error(), cases[i].about) != NULL, "%s: %s", cases[i].schema, eng_last_error());
    }
    /* more than there is memory for: each of thirty is the next one, twice; and a hundred thousand together */
    char *many = malloc(100000 * 40 + 100), *end = stpcpy(many, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{");
    for (int i = 0; i < 30; i++)
        end += sprintf(end, "\"a%d\":{\"allOf\":[{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":\"#/$defs/a%d\"}]},", i, i + 1, i + 1);
    strcpy(end, "\"a30\":{\"type\":\"null\"}}}");
    ck_assert_int_eq(lm_schema_to_gbnf(many, strlen(many), &(char *){NULL}), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), "too large") != NULL, "%s", eng_last_error());
    end = stpcpy(many, "{\"allOf\":[true");
    for (int i = 0; i < 100000; i++)
        end = stpcpy(end, ",{\"properties\":{\"p\":{\"minimum\":0}}}");
    strcpy(end, "]}");
    ck_assert_int_eq(lm_schema_to_gbnf(many, strlen(many), &(char *){NULL}), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), "too large") != NULL, "%s", eng_last_error());
    free(many);
    /* too deep, for the reader of JSON and for this */
    char *deep = calloc(1, 40000);
    for (int i = 0; i < 3000; i++)
        strcat(deep + (i ? 10 * (i - 1) : 0), "{\"items\":");
    ck_assert_int_eq(lm_schema_to_gbnf(deep, strlen(deep), &(char *){NULL}), ENG_ERR_FORMAT);
    free(deep);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, vectors);
    tcase_add_test(all, bounds);
    tcase_add_test(all, decimals);
    tcase_add_test(all, one_bound);
    tcase_add_test(all, forms);
    tcase_add_test(all, refusals);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
