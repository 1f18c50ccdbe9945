/* Grammars and schemas whose requests for memory are refused, one after the other: a failure with words, and nothing is
 * kept. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/grammar/matcher.h"
#include "libengine-lm/grammar/schema.h"

#include "../meta/count.h"
#include "../tap.h"

static const char gbnf[] =
    "# all that there is\n"
    "root ::= \"a\\n\\x41\" [^b-d\\u00e9]{2,4} (item | \"\") list* .?\n"
    "item ::= [0-9]+ \"-\"? (\"x\" | [\\U0001F600-\\U0001F64F]){3}\n"
    "list ::= item (\",\" list)* | \"end\"\n";

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\",\"minimum\":-1.5,\"exclusiveMaximum\":12.75},\"b\":{\"multipleOf\":3},"
    "\"c\":{\"type\":\"string\",\"pattern\":\"^[a-c]+(?:-\\\\d{2})?$\"},\"d\":{\"$ref\":\"#/$defs/x\"},\"e\":{\"format\":\"uri\"},"
    "\"i\":{\"format\":\"ipv6\"},\"j\":{\"format\":\"email\"},\"k\":{\"type\":\"integer\",\"exclusiveMinimum\":-12,\"maximum\":1e3},"
    "\"l\":{\"type\":\"number\",\"minimum\":0.125,\"maximum\":3},\"m\":{\"type\":\"number\",\"multipleOf\":7},"
    "\"f\":{\"allOf\":[{\"properties\":{\"q\":{\"minimum\":3}}},{\"properties\":{\"q\":{\"type\":\"integer\",\"maximum\":5}}}]},"
    "\"g\":{\"oneOf\":[{\"type\":\"string\"},{\"type\":[\"null\",\"boolean\"]}]},\"h\":{\"enum\":[1,\"x\",{\"k\":[null]}]}},"
    "\"required\":[\"a\",\"z\"],\"additionalProperties\":{\"type\":\"array\",\"prefixItems\":[{\"minLength\":2}],\"maxItems\":4},"
    "\"$defs\":{\"x\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/x\"}}}}";

static int read_grammar(void)
{
    lm_rules rules = {0};
    int status = lm_rules_read(gbnf, strlen(gbnf), NULL, &rules);
    if (!status)
        lm_rules_free(&rules);
    return status;
}

static int convert(void)
{
    char *text = NULL;
    int status = lm_schema_to_gbnf(schema, strlen(schema), &text);
    free(text);
    return status;
}

static int both(void)
{
    char *text = NULL;
    lm_rules rules = {0};
    int status = lm_schema_to_gbnf(schema, strlen(schema), &text);
    if (!status)
        status = lm_rules_read(text, strlen(text), NULL, &rules);
    free(text);
    if (!status)
        lm_rules_free(&rules);
    return status;
}

static bool run_without(int (*run)(void), uint64_t nth, bool all)
{
    char said[300] = "";
    count_refuse(nth, all);
    count_start();
    int status = run();
    if (status)
        snprintf(said, sizeof said, "%s", eng_last_error());
    const bool refused = count_refused();
    count_refuse(0, false);
    count_stop();
    const bool good = status == (refused ? ENG_ERR_NOMEM : ENG_OK) || (refused && !status);
    if (!good)
        printf("# request %" PRIu64 ": %s, '%s'\n", nth, eng_status_name(status), said);
    if (count_kept() > 0)
        printf("# request %" PRIu64 ": %" PRId64 " pieces kept\n", nth, count_kept());
    return good && count_kept() <= 0;
}

static void check(const char *what, int (*run)(void))
{
    uint64_t tried = 0, bad = 0;
    bool good = run() == ENG_OK, more = good && count_possible();
    for (; more && bad < 5; tried += more) {
        count_refuse(tried + 1, tried % 2);
        count_start();
        run();
        more = count_refused();
        count_refuse(0, false);
        count_stop();
        bad += more && !run_without(run, tried + 1, tried % 2);
    }
    tap_check(good && !bad && (tried > 5 || !count_possible()),
              "%s: %" PRIu64 " requests for memory refused, %" PRIu64 " runs go wrong%s%s", what, tried, bad,
              good ? "" : ": ", good ? "" : eng_last_error());
}

int main(void)
{
    check("a grammar", read_grammar);
    check("a schema", convert);
    check("a schema's grammar", both);
    return tap_end(NULL);
}
