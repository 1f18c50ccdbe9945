/*
 * Grammars of JSON schemas, for schemas.py.  A line of standard input each: "S SCHEMA" takes a schema ("ok" or
 * "refused: WHY"), "W SEED" walks through its grammar ("LENGTH", and a document of so many bytes), "T DOCUMENT" tests
 * one (y, m or n).
 */
#define _POSIX_C_SOURCE 200809L
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "libengine-lm/grammar/matcher.h"
#include "libengine-lm/grammar/schema.h"

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

/* The fewest bytes from each place of a sequence to its end. */
static uint64_t *costs;
#define MANY ((uint64_t)1 << 40)

static uint64_t rule_cost(const lm_rules *r, uint32_t rule)
{
    uint64_t least = MANY;
    for (uint32_t i = 0; i < r->rules.at[rule].n; i++) {
        uint64_t own = costs[r->starts.at[r->rules.at[rule].first + i]];
        least = own < least ? own : least;
    }
    return least;
}

static void find_costs(const lm_rules *r)
{
    free(costs);
    costs = malloc(r->elements.n * sizeof *costs);
    for (size_t i = 0; i < r->elements.n; i++)
        costs[i] = r->elements.at[i] == LM_ELEMENT_END ? 0 : MANY;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = r->elements.n; i-- > 0;) {
            const uint32_t e = r->elements.at[i];
            if (e == LM_ELEMENT_END)
                continue;
            uint64_t own = costs[i + 1] +
                           (LM_ELEMENT_KIND(e) == LM_ELEMENT_SET ? 1 : rule_cost(r, LM_ELEMENT_INDEX(e)));
            more |= own < costs[i];
            costs[i] = own < costs[i] ? own : costs[i];
        }
    }
}

static uint64_t state_cost(const lm_matcher *m, uint32_t s)
{
    uint64_t least = m->states.at[s].whole ? 0 : MANY;
    for (uint32_t i = 0; i < m->states.at[s].n; i++) {
        uint64_t own = 0;
        for (uint32_t k = m->items.at[m->states.at[s].first + i]; k; k = m->stacks.at[k].below)
            own += costs[m->stacks.at[k].at];
        least = own < least ? own : least;
    }
    return least;
}

/* The byte that a walk which is long enough takes: on the shortest way to its end. */
static int nearest(lm_matcher *m, uint32_t s)
{
    uint64_t least = MANY;
    int best = -1;
    for (int b = 0; b < 256; b++) {
        uint32_t next = lm_matcher_step(m, s, (uint8_t)b);
        uint64_t own = next > LM_STATE_DEAD ? state_cost(m, next) : MANY;
        best = own < least ? b : best;
        least = own < least ? own : least;
    }
    return best;
}

static int any(lm_matcher *m, uint32_t s)
{
    int bytes[256], n = 0, plain = 0;
    for (int b = 0; b < 256; b++)
        if (lm_matcher_step(m, s, (uint8_t)b) > LM_STATE_DEAD)
            bytes[n++] = b;
    while (plain < n && bytes[plain] < 0x80)
        plain++;
    return !n ? -1 : plain && below(8) ? bytes[below((uint32_t)plain)] : bytes[below((uint32_t)n)];
}

static void walk(const lm_rules *rules, uint32_t seed)
{
    lm_matcher m;
    eu_text text = {0};
    state = seed * 77777u + 5;
    if (lm_matcher_init(&m, rules))
        exit(1);
    uint32_t s = lm_matcher_begin(&m), enough = 1 + below(150);
    for (size_t i = 0; i < 20000; i++) {
        int b = lm_matcher_may_end(&m, s) && (i > enough || below(4) == 0) ? -1 :
                i > enough                                                 ? nearest(&m, s) :
                                                                             any(&m, s);
        if (b < 0)
            break;
        eu_text_add_bytes(&text, &(char){(char)b}, 1);
        s = lm_matcher_step(&m, s, (uint8_t)b);
    }
    printf("%zu\n%s\n", text.n, eu_text_get(&text));
    eu_text_free(&text);
    lm_matcher_free(&m);
}

static void test(const lm_rules *rules, const char *text, size_t n)
{
    lm_matcher m;
    if (lm_matcher_init(&m, rules))
        exit(1);
    uint32_t s = lm_matcher_text(&m, lm_matcher_begin(&m), text, n);
    puts(s <= LM_STATE_DEAD ? "n" : lm_matcher_may_end(&m, s) ? "y" : "m");
    lm_matcher_free(&m);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    lm_rules rules = {0};
    while ((n = getline(&line, &room, stdin)) > 2) {
        line[--n] = 0;
        if (line[0] == 'S') {
            char *gbnf = NULL;
            lm_rules_free(&rules);
            rules = (lm_rules){0};
            int status = lm_schema_to_gbnf(line + 2, (size_t)n - 2, &gbnf);
            if (status)
                printf("refused: %s\n", eng_last_error());
            else if (lm_rules_read(gbnf, strlen(gbnf), NULL, &rules))
                printf("bad: %s\n", eng_last_error());
            else
                find_costs(&rules), puts("ok");
            if (getenv("WALK_SHOW") && gbnf)
                fputs(gbnf, stderr);
            free(gbnf);
        } else if (line[0] == 'W') {
            walk(&rules, (uint32_t)strtoul(line + 2, NULL, 10));
        } else {
            test(&rules, line + 2, (size_t)n - 2);
        }
        fflush(stdout);
    }
    lm_rules_free(&rules);
    free(costs);
    free(line);
    return 0;
}
