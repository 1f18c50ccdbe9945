/*
 * SentencePiece's normalisation as its models carry it (tokenizer.ggml.precompiled_charsmap): which texts are replaced,
 * and by what, as a double-array trie (Aoe 1989; the packed form of Yata's darts-clone) and strings.
 */
#ifndef ENGINE_LM_CHARSMAP_H
#define ENGINE_LM_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct charsmap {
    uint32_t *units; /* NULL: nothing is replaced */
    size_t n_units;
    char *strings; /* each ends with NUL, the last one too */
    size_t n_strings;
} charsmap;

/* A copy of the bytes of a file.  ENG_ERR_FORMAT if they are none. */
int eng_charsmap_create(charsmap *map, const uint8_t *bytes, size_t n);
void eng_charsmap_free(charsmap *map);
/* What the longest text that is replaced, and that this one begins with, becomes; its length.  0: none. */
size_t eng_charsmap_longest(const charsmap *map, const char *text, size_t length, const char **becomes);

#endif
