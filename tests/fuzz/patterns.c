/* Patterns, and names in which they are looked for (the second line): found, not found, or given up soon. */
#include "config.h"

#include <string.h>

#include "libengine/util/util.h"
#include "libengine/util/pattern.h"

#include "fuzz.h"

const char *const fuzz_seeds[] = {"^blk\\.(1|2)\\.ffn_(up|down|gate)_exps\nblk.2.ffn_up_exps.7.weight",
                                  "\\d+(?:a|b)*?\\b[^x-z]{2,5}\nblk.12.ab",
                                  "((a{1,20}){1,20})+$\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
                                  "(?<n>.)\\k<n>(?!x)(?i:q)\nccq", NULL};

const void *fuzz_sample(size_t *n)
{
    *n = 0;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char why[300] = "", *text = fuzz_text(data, n), *name = strchr(text, '\n');
    if (name)
        *name++ = 0;
    eu_pattern *p = eu_pattern_create(text, why, sizeof why);
    MUST(p || why[0], "a pattern is refused without a word");
    if (p)
        eu_pattern_found(p, name ? name : "blk.0.attn_q.weight");
    eu_pattern_destroy(p);
    free(text);
    return 0;
}
