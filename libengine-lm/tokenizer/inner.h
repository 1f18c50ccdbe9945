/* Inside the tokenizer. */
#ifndef ENGINE_LM_TOKENIZER_INNER_H
#define ENGINE_LM_TOKENIZER_INNER_H

#include "libengine/util/util.h"
#include "charsmap.h"
#include "rules.h"
#include "tokenizer.h"
#include "trie.h"

enum { TOKENIZER_BPE = 1, TOKENIZER_SPM, TOKENIZER_UNIGRAM, TOKENIZER_WORDPIECE, TOKENIZER_GREEDY };
/* Pre-tokenizers: how BPE cuts text into pieces. */
enum { SPLIT_GPT2 = 1, SPLIT_LLAMA = 2, SPLIT_QWEN2 = 3, SPLIT_QWEN35 = 4, SPLIT_SMOLLM = 5, SPLIT_RULE = 6, SPLIT_LINES = 7 };
/* tokenizer.ggml.token_type */
enum { TOKEN_UNDEFINED, TOKEN_NORMAL, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE };

#define NO_SYMBOL UINT32_MAX

/* Strings end to end; string i is at text + start[i], terminated. */
typedef struct string_table {
    char *text;
    size_t used, room;
    size_t *start; /* n + 1 entries */
    size_t start_room;
    uint32_t n;
} string_table;

typedef struct merge {
    uint32_t left, right; /* symbols: together, the merge's key */
    uint32_t rank;
    uint32_t result;
} merge;

/*
 * A symbol is a spelling: a token (its id), or from `n` on a part that merges
 * mention but the vocabulary lacks.
 */
struct eng_tokenizer {
    uint32_t kind, split;
    split_rule *rule; /* of SPLIT_RULE */
    bool whole_words; /* BPE: a piece that is a token is not merged; if plain, a run of line ends */
    bool plain;       /* BPE over characters of lines, spaces as U+2581, instead of bytes */
    bool add_bos, add_eos, add_space;
    uint32_t n; /* vocabulary */
    int32_t bos, eos, unknown;
    string_table symbols;
    eu_map symbol_index;
    EU_ARRAY(merge) merges;
    eu_map merge_index;
    float *scores;
    uint8_t *types; /* n entries */
    uint8_t *ends;  /* n entries: ends a generation */
    uint32_t byte_symbol[256];
    string_table pieces; /* what the tokens stand for, in bytes */
    uint32_t *special;   /* tokens looked for before all else, by what they stand for (special.c) */
    uint32_t n_special;
    uint32_t special_first[257]; /* of each first byte */
    trie words;                  /* unigram, WordPiece, greedy: pieces that text is made of */
    uint64_t *joined; /* SPM: which characters some piece has side by side (spm.c) */
    /* unigram */
    trie user; /* what the model's maker has defined: never normalised */
    charsmap charsmap;
    bool fewer_spaces;
    float least_score; /* of normal pieces */
};

/* -- table.c ------------------------------------------------------------- */
int eng_strings_add(string_table *table, const char *text, size_t length);
void eng_strings_free(string_table *table);
static inline size_t string_length(const string_table *table, uint32_t i)
{
    return table->start[i + 1] - table->start[i] - 1;
}
static inline const char *string_text(const string_table *table, uint32_t i)
{
    return table->text + table->start[i];
}
/* Makes the tables, with room for n symbols and n_merges merges to begin with. */
int eng_tokenizer_reserve(eng_tokenizer *t, uint64_t n, uint64_t n_merges);
void eng_tokenizer_tables_free(eng_tokenizer *t);
/* NO_SYMBOL if it is none. */
uint32_t eng_tokenizer_symbol(const eng_tokenizer *t, const char *text, size_t length);
/* What text can become: control tokens are never made of their letters, only cut out (encode.c). */
static inline bool is_word(const eng_tokenizer *t, uint32_t symbol)
{
    return symbol < t->n && t->types[symbol] != TOKEN_CONTROL && t->types[symbol] != TOKEN_UNKNOWN;
}
/* Adds the spelling; the first of equal ones is found later. */
int eng_tokenizer_intern(eng_tokenizer *t, const char *text, size_t length, uint32_t *symbol);
int eng_tokenizer_add_merge(eng_tokenizer *t, uint32_t left, uint32_t right, uint32_t rank);
/* NULL: the two do not merge. */
const merge *eng_tokenizer_merge(const eng_tokenizer *t, uint32_t left, uint32_t right);

/* The byte alphabet of BPE: the character that stands for a byte, and back (-1: none). */
uint32_t eng_byte_character(uint8_t byte);
int eng_character_byte(uint32_t c);

/* -- special.c ------------------------------------------------------------- */
int eng_special_collect(eng_tokenizer *t); /* when `pieces` are there */
enum { SPECIAL_USER = 1, SPECIAL_CONTROL = 2 };
typedef struct special_search {
    uint32_t which;
    const eng_tokenizer_range *plain; /* where control tokens are letters; those passed are taken off */
    size_t n_plain;
} special_search;
/* The first in a text from a place on, and where it is (-1: none, the end). */
int32_t eng_special_next(const eng_tokenizer *t, const char *text, size_t length, size_t from, special_search *search,
                         size_t *at);

/* -- encoder.c, bpe.c, spm.c, split.c --------------------------------------------------- */
typedef EU_ARRAY(int32_t) id_list;
int eng_ids_add(id_list *list, int32_t id);

/* Memory of one call of encode, reused from piece to piece. */
typedef struct encoder {
    const eng_tokenizer *t;
    id_list *out;
    EU_ARRAY(uint32_t) characters; /* of a fragment */
    EU_ARRAY(uint8_t) classes;     /* as many */
    end_list ends, other_ends;     /* of its pieces, by a rule */
    EU_ARRAY(char) spelling;       /* of a piece, in the byte alphabet */
    struct node *nodes; /* each kind of tokenizer has its own, and candidates of its own */
    void *heap;
    size_t node_room, heap_room;
} encoder;

int eng_bpe_encode(encoder *e, const char *text, size_t length);
int eng_bpe_encode_plain(encoder *e, const char *text, size_t length);
int eng_spm_prepare(eng_tokenizer *t);
int eng_spm_encode(encoder *e, const char *text, size_t length, bool space_before);
/* -- unigram.c, wordpiece.c, greedy.c: prepare when the vocabulary and what its tokens stand for are there ------ */
int eng_unigram_prepare(eng_tokenizer *t);
int eng_unigram_encode(encoder *e, const char *text, size_t length);
int eng_wordpiece_prepare(eng_tokenizer *t);
int eng_wordpiece_encode(encoder *e, const char *text, size_t length);
int eng_greedy_prepare(eng_tokenizer *t);
int eng_greedy_encode(encoder *e, const char *text, size_t length);
/* The bytes that a spelling stands for, at most as many; how many. */
size_t eng_greedy_bytes(const char *text, size_t length, char *out);

/* Of a character, for the pre-tokenizers: its class, whether it is white space, its category (unicode.h). */
enum { CLASS_OF = 3, CLASS_SPACE = 4, CLASS_CATEGORY = 3 /* shifted by so many bits */ };
uint8_t eng_split_class(uint32_t c);
/* The end of the piece that begins at `at` < n. */
/* SPLIT_RULE: by eng_rule_split. */
size_t eng_split_next(uint32_t split, const uint32_t *c, const uint8_t *classes, size_t n, size_t at);

/* -- names.c ---------------------------------------------------------------- */
typedef struct split_name {
    const char *name;
    uint32_t split;
    const char *const *rule; /* expressions of SPLIT_RULE */
    bool whole_words, add_bos;
} split_name;
/* NULL: there is none of that name, or no i-th one. */
const split_name *eng_split_named(const char *name, size_t length);
const split_name *eng_split_nth(size_t i);

#endif
