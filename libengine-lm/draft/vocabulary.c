/* Tokens of two vocabularies that stand for the same bytes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "vocabulary.h"

typedef struct word {
    const char *bytes;
    size_t length;
    int32_t token;
} word;

static int by_bytes(const word *a, const word *b)
{
    size_t n = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, n);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int in_order(const void *a, const void *b)
{
    int order = by_bytes(a, b);
    return order ? order : ((const word *)a)->token - ((const word *)b)->token;
}

static size_t words(const eng_lm_model *m, word *list)
{
    size_t n = 0;
    for (uint32_t i = 0; i < eng_tokenizer_count(m->tokenizer); i++) {
        word w = {.token = (int32_t)i};
        w.bytes = eng_tokenizer_piece(m->tokenizer, w.token, true, &w.length);
        if (w.bytes && w.length)
            list[n++] = w;
    }
    qsort(list, n, sizeof *list, in_order);
    return n;
}

/* Both lists sorted: what is in both is joined. */
static size_t join(lm_vocabulary_map *map, const word *a, size_t n_a, const word *b, size_t n_b)
{
    size_t joined = 0;
    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        int order = by_bytes(&a[i], &b[k]);
        if (order == 0) {
            map->there[a[i].token] = b[k].token;
            map->here[b[k].token] = a[i].token;
            joined++;
        }
        i += order <= 0;
        k += order >= 0;
    }
    return joined;
}

/* Are tokens of one number the same bytes wherever both have one?  The longer one's last are not in the other. */
static bool numbered_alike(const eng_lm_model *a, const eng_lm_model *b)
{
    uint32_t n = eng_tokenizer_count(a->tokenizer), most = eng_tokenizer_count(b->tokenizer);
    for (uint32_t i = 0; i < n && i < most; i++) {
        size_t la = 0, lb = 0;
        const char *x = eng_tokenizer_piece(a->tokenizer, (int32_t)i, true, &la);
        const char *y = eng_tokenizer_piece(b->tokenizer, (int32_t)i, true, &lb);
        if (la != lb || (la && memcmp(x, y, la) != 0))
            return false;
    }
    return true;
}

static int identity(lm_vocabulary_map *map)
{
    map->same = true;
    for (int32_t i = 0; i < map->n_here; i++)
        map->there[i] = i < map->n_there ? i : -1;
    for (int32_t i = 0; i < map->n_there; i++)
        map->here[i] = i < map->n_here ? i : -1;
    return ENG_OK;
}

static int match(lm_vocabulary_map *map, const eng_lm_model *here, const eng_lm_model *there)
{
    word *a = lm_calloc(eng_tokenizer_count(here->tokenizer), sizeof *a);
    word *b = lm_calloc(eng_tokenizer_count(there->tokenizer), sizeof *b);
    int status = a && b ? ENG_OK : ENG_ERR_NOMEM;
    if (!status && join(map, a, words(here, a), b, words(there, b)) == 0)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "the model that guesses shares no token with the other one" ENG_ADVICE
                          "take one of the same family");
    free(a);
    free(b);
    return status;
}

int lm_vocabulary_compare(const eng_lm_model *here, const eng_lm_model *there, lm_vocabulary_map *map)
{
    *map = (lm_vocabulary_map){.n_here = (int32_t)here->n.n_vocab, .n_there = (int32_t)there->n.n_vocab};
    map->there = lm_calloc((size_t)map->n_here, sizeof *map->there);
    map->here = lm_calloc((size_t)map->n_there, sizeof *map->here);
    if (!map->there || !map->here)
        return ENG_ERR_NOMEM;
    if (!here->tokenizer && !there->tokenizer && map->n_here == map->n_there)
        return identity(map);
    if (!here->tokenizer || !there->tokenizer)
        return eng_fail(ENG_ERR_UNSUPPORTED, "the vocabularies of the two models cannot be compared" ENG_CAUSE
                        "one of the files has no tokenizer" ENG_ADVICE "take files that have theirs");
    if (numbered_alike(here, there))
        return identity(map);
    memset(map->there, 0xff, (size_t)map->n_here * sizeof *map->there);
    memset(map->here, 0xff, (size_t)map->n_there * sizeof *map->here);
    return match(map, here, there);
}

void lm_vocabulary_free(lm_vocabulary_map *map)
{
    free(map->there);
    free(map->here);
    memset(map, 0, sizeof *map);
}

int lm_vocabulary_translate(const lm_vocabulary_map *map, const eng_lm_model *here, const eng_lm_model *there,
                            int32_t token, int32_t **tokens, size_t *n, size_t *room)
{
    int32_t one = map->there[token], *ids = &one;
    size_t count = 1, length = 0;
    if (one < 0) {
        const char *bytes = here->tokenizer ? eng_tokenizer_piece(here->tokenizer, token, true, &length) : NULL;
        int status = bytes ? eng_tokenizer_encode(there->tokenizer, bytes, length, 0, &ids, &count) : ENG_OK;
        if (status)
            return status;
        count = bytes ? count : 0; /* a token without bytes: nothing stands for it */
    }
    bool enough = eu_reserve(*tokens, *room, *n + count);
    if (enough && count)
        memcpy(*tokens + *n, ids, count * sizeof *ids);
    *n += enough ? count : 0;
    if (ids != &one)
        free(ids);
    return enough ? ENG_OK : eng_fail_code(EU_NO_MEMORY("translated tokens"));
}
