/* Which bytes may come next. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "engine/lm.h"
#include "matcher.h"

/* What is kept before it is given up, and what there may be at most. */
#define STACKS (1u << 20)
#define NEXTS (1u << 22)
#define MOST 4u
#define STATE_ITEMS (1u << 16)

int lm_matcher_init(lm_matcher *m, const lm_rules *rules)
{
    *m = (lm_matcher){.rules = rules};
    return lm_matcher_trim(m, NULL, 0);
}

void lm_matcher_free(lm_matcher *m)
{
    eu_array_free(&m->stacks);
    eu_array_free(&m->stack_slots);
    eu_array_free(&m->states);
    eu_array_free(&m->state_slots);
    eu_array_free(&m->items);
    eu_array_free(&m->nexts);
    eu_array_free(&m->seen);
    eu_array_free(&m->work);
    eu_array_free(&m->found);
}

static uint32_t fail(lm_matcher *m, bool limit)
{
    if (!m->status)
        m->status = limit ? eng_fail(ENG_ERR_UNSUPPORTED,
                                     "the grammar can be read in too many ways at once" ENG_CAUSE
                                     "more than %u stacks are in use" ENG_ADVICE "make its rules less ambiguous",
                                     STACKS * MOST) :
                            eng_fail_code(EU_NO_MEMORY("the states of a grammar"));
    return LM_STATE_FAILED;
}

/* -- hashing ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_stack(const lm_stack *s)
{
    return mix(mix(1, s->at), s->below);
}

static uint64_t hash_items(const uint32_t *items, size_t n, bool whole)
{
    uint64_t h = mix(2, whole);
    for (size_t i = 0; i < n; i++)
        h = mix(h, items[i]);
    return h;
}

static bool grow_stacks(lm_matcher *m)
{
    size_t n = m->stack_slots.n ? 2 * m->stack_slots.n : 256;
    if (!eu_array_resize(&m->stack_slots, n))
        return false;
    memset(m->stack_slots.at, 0, n * sizeof *m->stack_slots.at);
    for (uint32_t i = 1; i < m->stacks.n; i++) {
        size_t slot = hash_stack(&m->stacks.at[i]) & (n - 1);
        while (m->stack_slots.at[slot])
            slot = (slot + 1) & (n - 1);
        m->stack_slots.at[slot] = i;
    }
    return true;
}

static bool grow_states(lm_matcher *m)
{
    size_t n = m->state_slots.n ? 2 * m->state_slots.n : 64;
    if (!eu_array_resize(&m->state_slots, n))
        return false;
    memset(m->state_slots.at, 0, n * sizeof *m->state_slots.at);
    for (uint32_t i = 1; i < m->states.n; i++) {
        const lm_state *s = &m->states.at[i];
        size_t slot = hash_items(m->items.at + s->first, s->n, s->whole) & (n - 1);
        while (m->state_slots.at[slot])
            slot = (slot + 1) & (n - 1);
        m->state_slots.at[slot] = i;
    }
    return true;
}

/* The stack's number, a new one if it was not there; 0: failed. */
static uint32_t stack_of(lm_matcher *m, lm_stack s)
{
    size_t slot = hash_stack(&s) & (m->stack_slots.n - 1);
    for (uint32_t k; (k = m->stack_slots.at[slot]) != 0; slot = (slot + 1) & (m->stack_slots.n - 1))
        if (m->stacks.at[k].at == s.at && m->stacks.at[k].below == s.below)
            return k;
    if (m->stacks.n >= STACKS * MOST)
        return fail(m, true);
    if (2 * m->stacks.n >= m->stack_slots.n) {
        if (!grow_stacks(m))
            return fail(m, false);
        slot = hash_stack(&s) & (m->stack_slots.n - 1);
        while (m->stack_slots.at[slot])
            slot = (slot + 1) & (m->stack_slots.n - 1);
    }
    if (!eu_array_add(&m->stacks, s) || !eu_array_add(&m->seen, 0))
        return fail(m, false);
    m->stack_slots.at[slot] = (uint32_t)m->stacks.n - 1;
    return (uint32_t)m->stacks.n - 1;
}

/* The state of these stacks, ascending. */
static uint32_t state_of(lm_matcher *m, const uint32_t *items, size_t n, bool whole)
{
    size_t slot = hash_items(items, n, whole) & (m->state_slots.n - 1);
    for (uint32_t k; (k = m->state_slots.at[slot]) != 0; slot = (slot + 1) & (m->state_slots.n - 1)) {
        const lm_state *s = &m->states.at[k];
        if (s->n == n && s->whole == whole && (n == 0 || memcmp(m->items.at + s->first, items, n * sizeof *items) == 0))
            return k;
    }
    if (m->items.n + n > (size_t)NEXTS * MOST || m->nexts.n + m->rules->n_classes > (size_t)NEXTS * MOST)
        return fail(m, true);
    if (2 * m->states.n >= m->state_slots.n && !grow_states(m))
        return fail(m, false);
    const lm_state s = {(uint32_t)m->items.n, (uint32_t)n, UINT32_MAX, whole};
    if (!eu_array_reserve(&m->items, m->items.n + n) || !eu_array_add(&m->states, s))
        return fail(m, false);
    for (size_t i = 0; i < n; i++)
        m->items.at[m->items.n++] = items[i];
    slot = hash_items(items, n, whole) & (m->state_slots.n - 1);
    while (m->state_slots.at[slot])
        slot = (slot + 1) & (m->state_slots.n - 1);
    m->state_slots.at[slot] = (uint32_t)m->states.n - 1;
    return (uint32_t)m->states.n - 1;
}

/* -- closures ------------------------------------------------------------------------------- */

static bool meet(lm_matcher *m, uint32_t at, uint32_t below)
{
    uint32_t k = stack_of(m, (lm_stack){at, below});
    if (!k)
        return false;
    if (m->seen.at[k] == m->closure)
        return true;
    m->seen.at[k] = m->closure;
    return eu_array_add(&m->work, k) || fail(m, false);
}

static bool meet_rule(lm_matcher *m, uint32_t rule, uint32_t below)
{
    const lm_rule *r = &m->rules->rules.at[rule];
    for (uint32_t i = 0; i < r->n; i++)
        if (!meet(m, m->rules->starts.at[r->first + i], below))
            return false;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* All that the stacks in `work` come to without a byte: those that wait for one, as a state. */
static uint32_t close(lm_matcher *m)
{
    bool whole = false;
    m->found.n = 0;
    while (m->work.n) {
        const uint32_t k = m->work.at[--m->work.n];
        const lm_stack s = m->stacks.at[k];
        const uint32_t e = m->rules->elements.at[s.at];
        bool good = true;
        if (LM_ELEMENT_KIND(e) == LM_ELEMENT_SET) {
            good = m->found.n < STATE_ITEMS ? eu_array_add(&m->found, k) || fail(m, false) : fail(m, true);
        } else if (LM_ELEMENT_KIND(e) == LM_ELEMENT_CALL) {
            /* what ends a sequence leaves no place to come back to: lists by recursion need no stack */
            const bool last = m->rules->elements.at[s.at + 1] == LM_ELEMENT_END;
            const uint32_t below = last ? s.below : stack_of(m, (lm_stack){s.at + 1, s.below});
            good = (last || below) && meet_rule(m, LM_ELEMENT_INDEX(e), below);
        } else if (s.below) {
            const lm_stack back = m->stacks.at[s.below];
            good = meet(m, back.at, back.below);
        } else {
            whole = true;
        }
        if (!good)
            return LM_STATE_FAILED;
    }
    if (m->found.n > 1)
        qsort(m->found.at, m->found.n, sizeof *m->found.at, ascending);
    return state_of(m, m->found.at, m->found.n, whole);
}

static void begin_closure(lm_matcher *m)
{
    m->work.n = 0;
    m->status = 0;
    if (++m->closure == 0) {
        memset(m->seen.at, 0, m->seen.n * sizeof *m->seen.at);
        m->closure = 1;
    }
}

uint32_t lm_matcher_begin(lm_matcher *m)
{
    begin_closure(m);
    return meet_rule(m, m->rules->root, 0) ? close(m) : LM_STATE_FAILED;
}

uint32_t lm_matcher_end(lm_matcher *m)
{
    m->status = 0;
    return state_of(m, NULL, 0, true);
}

uint32_t lm_matcher_step(lm_matcher *m, uint32_t state, uint8_t byte)
{
    const uint32_t class = m->rules->class_of[byte], n = m->rules->n_classes;
    lm_state s = m->states.at[state];
    if (s.next == UINT32_MAX) {
        s.next = (uint32_t)m->nexts.n;
        if (!eu_array_resize(&m->nexts, m->nexts.n + n))
            return fail(m, false);
        memset(m->nexts.at + s.next, 0, n * sizeof *m->nexts.at);
        m->states.at[state].next = s.next;
    }
    if (m->nexts.at[s.next + class])
        return m->nexts.at[s.next + class];
    begin_closure(m);
    for (uint32_t i = 0; i < s.n; i++) {
        const lm_stack k = m->stacks.at[m->items.at[s.first + i]];
        const lm_byte_set *set = &m->rules->sets.at[LM_ELEMENT_INDEX(m->rules->elements.at[k.at])];
        if ((set->bits[byte / 64] >> byte % 64 & 1) && !meet(m, k.at + 1, k.below))
            return LM_STATE_FAILED;
    }
    const uint32_t next = close(m);
    if (next)
        m->nexts.at[s.next + class] = next;
    return next;
}

uint32_t lm_matcher_text(lm_matcher *m, uint32_t state, const char *text, size_t n)
{
    for (size_t i = 0; i < n && state > LM_STATE_DEAD; i++)
        state = lm_matcher_step(m, state, (uint8_t)text[i]);
    return state;
}

/* -- giving up what is kept -------------------------------------------------------------------- */

bool lm_matcher_full(const lm_matcher *m)
{
    return m->stacks.n > m->enough_stacks || m->nexts.n > NEXTS || m->items.n > m->enough_items;
}

/* The same stacks in another matcher.  Below a stack are older ones, so that ascending order has them first. */
static bool move(lm_matcher *to, const lm_matcher *from, uint32_t *states, size_t n)
{
    uint32_t *map = eu_zeroed(from->stacks.n, sizeof *map), *moved = eu_zeroed(from->states.n, sizeof *moved);
    bool good = map && moved;
    for (size_t i = 0; i < n && good; i++)
        for (uint32_t k = 0; k < from->states.at[states[i]].n; k++)
            map[from->items.at[from->states.at[states[i]].first + k]] = 1;
    for (size_t k = from->stacks.n; good && k-- > 1;)
        if (map[k])
            map[from->stacks.at[k].below] = 1;
    for (size_t k = 1; k < from->stacks.n && good; k++)
        if (map[k])
            good = (map[k] = stack_of(to, (lm_stack){from->stacks.at[k].at,
                                                     from->stacks.at[k].below ? map[from->stacks.at[k].below] : 0})) !=
                   0;
    for (size_t i = 0; i < n && good; i++) {
        const lm_state *s = &from->states.at[states[i]];
        if (!moved[states[i]]) {
            to->found.n = 0;
            good = eu_array_reserve(&to->found, s->n);
            for (uint32_t k = 0; k < s->n && good; k++)
                to->found.at[to->found.n++] = map[from->items.at[s->first + k]];
            /* the order is as it was */
            moved[states[i]] = good ? state_of(to, to->found.at, to->found.n, s->whole) : 0;
            good = moved[states[i]] != 0;
        }
    }
    for (size_t i = 0; i < n && good; i++)
        states[i] = moved[states[i]];
    free(map);
    free(moved);
    return good;
}

int lm_matcher_trim(lm_matcher *m, uint32_t *states, size_t n)
{
    lm_matcher fresh = {.rules = m->rules};
    bool good = eu_array_add(&fresh.stacks, (lm_stack){0, 0}) && eu_array_add(&fresh.seen, 0) && grow_stacks(&fresh) &&
                grow_states(&fresh) && eu_array_add(&fresh.states, (lm_state){0, 0, UINT32_MAX, false}) &&
                state_of(&fresh, NULL, 0, false) == LM_STATE_DEAD;
    good = good && (n == 0 || move(&fresh, m, states, n));
    if (!good) {
        int status = fresh.status ? fresh.status : eng_fail_code(EU_NO_MEMORY("the states of a grammar"));
        lm_matcher_free(&fresh);
        return status;
    }
    lm_matcher_free(m);
    *m = fresh;
    m->enough_stacks = STACKS + 2 * m->stacks.n; /* what is in use must not be copied again and again */
    m->enough_items = NEXTS + 2 * m->items.n;
    return ENG_OK;
}
