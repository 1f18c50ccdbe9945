/* The tokens of a vocabulary in the order of their bytes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "libengine/util/util.h"
#include "spellings.h"

static int by_bytes(const void *a, const void *b)
{
    const lm_spelling *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
    if (order == 0)
        order = x->length < y->length ? -1 : x->length > y->length;
    return order ? order : x->token < y->token ? -1 : 1;
}

bool lm_spellings_init(lm_spellings *s, uint32_t n_vocab, lm_spell_func spell, lm_ends_func ends, const void *owner)
{
    *s = (lm_spellings){.n_vocab = n_vocab, .spell = spell, .owner = owner};
    s->list = eu_zeroed(n_vocab, sizeof *s->list);
    s->ends = eu_zeroed(LM_BIT_WORDS(n_vocab), sizeof *s->ends);
    if (!s->list || !s->ends) {
        lm_spellings_free(s);
        return false;
    }
    for (uint32_t i = 0; i < n_vocab; i++) {
        size_t length = 0;
        const char *bytes = spell(owner, (int32_t)i, &length);
        if (ends(owner, (int32_t)i)) {
            s->ends[i / 64] |= (uint64_t)1 << i % 64;
            s->n_ends++;
        } else if (bytes && length > 0) {
            s->list[s->n++] = (lm_spelling){bytes, (uint32_t)length, 0, (int32_t)i};
            s->longest = length > s->longest ? (uint32_t)length : s->longest;
        }
    }
    qsort(s->list, s->n, sizeof *s->list, by_bytes);
    for (uint32_t i = 1; i < s->n; i++) {
        const lm_spelling *before = &s->list[i - 1];
        lm_spelling *own = &s->list[i];
        while (own->alike < own->length && own->alike < before->length &&
               own->bytes[own->alike] == before->bytes[own->alike])
            own->alike++;
    }
    return true;
}

void lm_spellings_free(lm_spellings *s)
{
    free(s->list);
    free(s->ends);
    *s = (lm_spellings){0};
}
