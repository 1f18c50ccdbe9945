/*
 * Tokens of two vocabularies that stand for the same bytes.
 */
#ifndef ENGINE_LM_VOCABULARY_H
#define ENGINE_LM_VOCABULARY_H

#include "../files/model.h"

typedef struct lm_vocabulary_map {
    bool same;       /* the tokens that both have are the same in both: nothing to translate */
    int32_t *there;  /* [tokens here] the token of the other vocabulary; -1: none   */
    int32_t *here;   /* [tokens there] and back                                     */
    int32_t n_here, n_there;
} lm_vocabulary_map;

/* ENG_ERR_UNSUPPORTED if nothing can be translated, and the sentence says why. */
int lm_vocabulary_compare(const eng_lm_model *here, const eng_lm_model *there, lm_vocabulary_map *map);
void lm_vocabulary_free(lm_vocabulary_map *map);
/* Appends the other vocabulary's tokens for one of ours: one, or several that spell its bytes. */
int lm_vocabulary_translate(const lm_vocabulary_map *map, const eng_lm_model *here, const eng_lm_model *there,
                            int32_t token, int32_t **tokens, size_t *n, size_t *room);

#endif
