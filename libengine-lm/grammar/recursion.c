/* Is there a rule that begins with itself?  Reading would go round in it without a byte. */
#include "config.h"

#include <stdlib.h>

#include "byte_rules.h"

/* Which rules may be nothing: until no more are found. */
static void find_empty(const lm_rules *r, bool *empty)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t k = r->rules.n; k-- > 0;) /* parts come before what they are parts of */
            for (uint32_t i = 0; i < r->rules.at[k].n && !empty[k]; i++) {
                const uint32_t *e = &r->elements.at[r->starts.at[r->rules.at[k].first + i]];
                while (LM_ELEMENT_KIND(*e) == LM_ELEMENT_CALL && empty[LM_ELEMENT_INDEX(*e)])
                    e++;
                empty[k] = *e == LM_ELEMENT_END;
                more |= empty[k];
            }
    }
}

/* Where the walk is in a rule. */
typedef struct place {
    uint32_t rule, alternative, at;
} place;

/* The next rule that the place's rule may begin with; UINT32_MAX: there are no more. */
static uint32_t next_first(const lm_rules *r, const bool *empty, place *p)
{
    const lm_rule *rule = &r->rules.at[p->rule];
    for (; p->alternative < rule->n; p->alternative++, p->at = 0) {
        const uint32_t *e = &r->elements.at[r->starts.at[rule->first + p->alternative]];
        if (p->at && !empty[LM_ELEMENT_INDEX(e[p->at - 1])])
            continue;
        if (LM_ELEMENT_KIND(e[p->at]) != LM_ELEMENT_CALL)
            continue;
        uint32_t callee = LM_ELEMENT_INDEX(e[p->at++]);
        if (callee != p->rule || !rule->repetition)
            return callee;
        p->at--; /* the end of a repetition is itself */
    }
    return UINT32_MAX;
}

bool lm_rules_left_recursion(const lm_rules *r, uint32_t *found)
{
    enum { NEW, OPEN, DONE };
    bool *empty = eu_zeroed(r->rules.n, sizeof *empty);
    uint8_t *state = eu_zeroed(r->rules.n, 1);
    EU_ARRAY(place) stack = {0};
    bool good = empty && state;
    *found = UINT32_MAX;
    if (good)
        find_empty(r, empty);
    for (uint32_t k = 0; k < r->rules.n && good && *found == UINT32_MAX; k++) {
        if (state[k] != NEW)
            continue;
        state[k] = OPEN;
        good = eu_array_add(&stack, (place){k, 0, 0});
        while (stack.n && good && *found == UINT32_MAX) {
            uint32_t callee = next_first(r, empty, &stack.at[stack.n - 1]);
            if (callee == UINT32_MAX) {
                state[stack.at[--stack.n].rule] = DONE;
            } else if (state[callee] == OPEN) {
                *found = callee;
            } else if (state[callee] == NEW) {
                state[callee] = OPEN;
                good = eu_array_add(&stack, (place){callee, 0, 0});
            }
        }
    }
    free(empty);
    free(state);
    eu_array_free(&stack);
    return good;
}
