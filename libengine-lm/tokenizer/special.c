/*
 * Tokens that are looked for in the text before all else: control tokens and those that a model's maker has defined.
 * The longest one that begins at a place counts, the first place first.
 *
 * They lie sorted by what they stand for, so that those that go on as the text does are a range, which each further
 * character makes smaller: a text of whatever characters costs its length times that of the longest of them at worst.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "inner.h"

int eng_texts_in_order(const void *a, const void *b)
{
    const trie_text *x = a, *y = b;
    const size_t n = x->length < y->length ? x->length : y->length;
    const int order = memcmp(x->text, y->text, n);
    if (order != 0)
        return order;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool is_special(const eng_tokenizer *t, uint32_t id)
{
    const uint32_t type = t->types[id];
    return (type == TOKEN_CONTROL || type == TOKEN_UNKNOWN || type == TOKEN_USER) && string_length(&t->pieces, id) > 0;
}

int eng_special_collect(eng_tokenizer *t)
{
    trie_text *order = malloc(t->n * sizeof *order);

    t->special = malloc(t->n * sizeof *t->special);
    if (!order || !t->special) {
        free(order);
        return eng_fail_code(EU_NO_MEMORY("the tokenizer"));
    }
    for (uint32_t i = 0; i < t->n; i++)
        if (is_special(t, i))
            order[t->n_special++] = (trie_text){string_text(&t->pieces, i), string_length(&t->pieces, i), i};
    qsort(order, t->n_special, sizeof *order, eng_texts_in_order);
    for (uint32_t i = 0, byte = 0; i <= t->n_special; i++) {
        const uint32_t first = i < t->n_special ? (uint8_t)order[i].text[0] : 256;
        for (; byte <= first; byte++)
            t->special_first[byte] = i;
        if (i < t->n_special)
            t->special[i] = order[i].id;
    }
    free(order);
    return ENG_OK;
}

/* Of special tokens lo .. hi - 1, which agree before byte number `at` and have it: the first whose byte is not less. */
static uint32_t lower(const eng_tokenizer *t, uint32_t lo, uint32_t hi, size_t at, unsigned byte)
{
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if ((uint8_t)string_text(&t->pieces, t->special[middle])[at] < byte)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* How many bytes from a place on may be a control token's. */
static size_t reach(special_search *s, size_t at)
{
    if (!(s->which & SPECIAL_CONTROL))
        return 0;
    while (s->n_plain > 0 && s->plain->to <= at) {
        s->plain++;
        s->n_plain--;
    }
    return s->n_plain == 0 ? SIZE_MAX : s->plain->from > at ? s->plain->from - at : 0;
}

/* The longest that a text of at least one byte begins with; of control tokens those of at most so many bytes. */
static int32_t longest_at(const eng_tokenizer *t, const char *text, size_t length, uint32_t which, size_t control)
{
    uint32_t lo = t->special_first[(uint8_t)text[0]], hi = t->special_first[(uint8_t)text[0] + 1];
    int32_t found = -1;

    for (size_t n = 1; lo < hi; n++) {
        bool any = false;
        for (; lo < hi && string_length(&t->pieces, t->special[lo]) == n; lo++) { /* several may stand for the same */
            const bool user = t->types[t->special[lo]] == TOKEN_USER;
            if (!any && (user ? (which & SPECIAL_USER) != 0 : n <= control)) {
                found = (int32_t)t->special[lo];
                any = true;
            }
        }
        if (n == length)
            break;
        lo = lower(t, lo, hi, n, (uint8_t)text[n]);
        hi = lower(t, lo, hi, n, (uint8_t)text[n] + 1u);
    }
    return found;
}

int32_t eng_special_next(const eng_tokenizer *t, const char *text, size_t length, size_t from, special_search *search,
                         size_t *at)
{
    for (*at = from; *at < length; ++*at) {
        if (t->special_first[(uint8_t)text[*at]] == t->special_first[(uint8_t)text[*at] + 1])
            continue;
        const int32_t token = longest_at(t, text + *at, length - *at, search->which, reach(search, *at));
        if (token >= 0)
            return token;
    }
    return -1;
}
