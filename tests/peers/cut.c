/*
 * Cuts texts as pre-tokenizers do, for splits.py: for each line "NAME HEX HEX .." of its input, characters,
 * the lengths of the pieces in characters.  --rules: each name with its expressions, a line each.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/tokenizer/inner.h"

enum { MOST = 1 << 16 };

static void print_rules(void)
{
    for (size_t i = 0; eng_split_nth(i); i++) {
        const split_name *named = eng_split_nth(i);
        printf("%s\t%u", named->name, (unsigned)named->split);
        for (const char *const *e = named->rule; e && *e; e++)
            printf("\t%s", *e);
        putchar('\n');
    }
}

static void cut(const split_name *named, const uint32_t *c, const uint8_t *classes, size_t n)
{
    end_list ends = {0}, other = {0};
    split_rule *rule = named->rule ? eng_rule_create(named->rule) : NULL;
    if (rule && !eng_rule_split(rule, c, classes, n, &ends, &other))
        exit(EXIT_FAILURE);
    for (size_t at = 0, end, i = 0; at < n; at = end, i++) {
        end = rule ? ends.at[i] : eng_split_next(named->split, c, classes, n, at);
        printf("%s%zu", at ? " " : "", end - at);
    }
    putchar('\n');
    eng_rule_free(rule);
    eu_array_free(&ends);
    eu_array_free(&other);
}

int main(int argc, char **argv)
{
    static char line[8 * MOST];
    static uint32_t c[MOST];
    static uint8_t classes[MOST];
    if (argc > 1 && strcmp(argv[1], "--rules") == 0) {
        print_rules();
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        size_t n = 0;
        char *at = strchr(line, ' ');
        const split_name *named = at ? eng_split_named(line, (size_t)(at - line)) : NULL;
        if (!named)
            return EXIT_FAILURE;
        for (at++; *at && *at != '\n' && n < MOST; n++) {
            c[n] = (uint32_t)strtoul(at, &at, 16);
            at += *at == ' ';
            classes[n] = eng_split_class(c[n]);
        }
        cut(named, c, classes, n);
    }
    return 0;
}
