/*
 * The tokens of a vocabulary in the order of their bytes: those that begin alike are side by side, so that what they
 * have in common is read once.
 */
#ifndef ENGINE_LM_SPELLINGS_H
#define ENGINE_LM_SPELLINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lm_spelling {
    const char *bytes;
    uint32_t length;
    uint32_t alike; /* bytes that it begins with as the one before does */
    int32_t token;
} lm_spelling;

/* The bytes of a token, which must stay where they are; none of a control token. */
typedef const char *(*lm_spell_func)(const void *owner, int32_t token, size_t *length);
typedef bool (*lm_ends_func)(const void *owner, int32_t token);

typedef struct lm_spellings {
    lm_spelling *list; /* of tokens with bytes, but for those that end a text */
    uint32_t n, n_vocab, longest;
    uint64_t *ends;    /* bits: tokens that end a text                        */
    uint32_t n_ends;
    lm_spell_func spell;
    const void *owner;
} lm_spellings;

#define LM_BIT_WORDS(n) (((size_t)(n) + 63) / 64)
static inline bool lm_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

/* false: no memory. */
bool lm_spellings_init(lm_spellings *s, uint32_t n_vocab, lm_spell_func spell, lm_ends_func ends, const void *owner);
void lm_spellings_free(lm_spellings *s);

#endif
